/* SPDX-License-Identifier: MIT */
/*
 * locus/pool.h - an allocation pool that many workers share, and leases on its members.
 *
 * WHAT IT IS. Workers share a pool of members. Each pick returns the *live* member that has
 * been picked least often so far; the order of the names' bytes breaks ties. The pick and
 * its count are one step, in this process (mem:) or on a Redis server. So any number of
 * threads, processes and machines together allocate evenly: the counts of members that stay
 * differ by at most one.
 *
 *     locus_pool_open("redis://cache.example/0", "proxies", NULL, &pool, why, sizeof(why));
 *     locus_pool_add(pool, names, count, LOCUS_POOL_START_MIN, 0, NULL);
 *     char member[LOCUS_POOL_MEMBER_SIZE];
 *     if (locus_pool_pick(pool, member) == LOCUS_OK) ... use member
 *
 * WHAT IT IS NOT. It counts allocations, whether the request succeeds later or not. It does
 * not measure latency, success or work in progress, and it reserves nothing. Where the
 * number of requests in progress matters, take *leases* (below) instead. Leases work on the
 * same members; picks and leases do not touch each other's counts.
 *
 * WORDS. member: any word of 1 to 255 bytes without control characters. live: may be
 * picked. removed: taken out by hand; its count is kept. unhealthy: taken out by reports of
 * failure; its count is kept. count: the count that a member started at, plus its picks,
 * less what a rebase took off all members. held: live leases of a member.
 *
 * WHERE IT LIVES. "mem:" is private to the handle. In Redis, the pool NAME is one sorted
 * set, locus:{NAME}, from member to count. A pick touches no other key. Members that are
 * out, health and leases are in companion keys (locus:{NAME}:kept and so on). All keys have
 * the same hash tag, so that Redis Cluster works. One step costs one script of bounded work:
 * at most LOCUS_POOL_PICKS_MAX picks, LOCUS_POOL_MEMBERS_MAX members.
 *
 * URIS. mem: | redis://[[user]:password@]host[:port][,host[:port]...][/db] |
 * rediss://...[?cacert=FILE&cert=FILE&key=FILE] (TLS, in a build with OpenSSL) |
 * redis+unix://[[user]:password@]/path/to.sock[?db=N]. Percent escapes are allowed in user,
 * password, path and files. No message ever shows the password. Redis 7, Valkey, Cluster and
 * replicated pairs work; Sentinel does not. Of several hosts, the first that takes writes is
 * used; calls that only read may be answered by a replica, from what it knows.
 *
 * TLS. The server's certificate must name the host, and must be signed by an authority of
 * the file cacert. Without cacert, the authorities are the system's, or those that
 * SSL_CERT_FILE or SSL_CERT_DIR of the environment name. The same goes for each node of a
 * Cluster, under the name or address that the other nodes give it. If the server asks for a
 * certificate, it gets the one in the file cert, followed there by those that signed it; its
 * key is in the file key, or in cert as well. All files are PEM without a password, and
 * are read when the pool is opened.
 *
 * THREADS. A handle may be used by any number of threads at once; each Redis call takes
 * one of config.connections connections. Closing waits for nobody: no call may be running.
 * A Redis handle does not survive fork(): the child opens its own.
 *
 * WHEN REDIS IS AWAY. Opening needs no server. A handle connects on first use, and again
 * after a failure, with growing and jittered pauses. Every call returns by
 * config.total_timeout_ns. (locus_pool_add() has that time for each 256 members; a pick that
 * refreshes what failing open needs, or that rebases, has it twice.)
 *
 *   - A call that did nothing returns LOCUS_EIO (no connection) or LOCUS_ETIMEDOUT.
 *   - A pick that was sent and not answered returns LOCUS_EAMBIGUOUS. It was counted once or
 *     not at all, and is never sent again. So each such pick puts the sum of counts at most
 *     one above the picks that the workers know of. A report of health is sent only once, too.
 *   - All other calls may be repeated without harm, and they are, until the deadline. One that
 *     was sent and not answered ends in LOCUS_ETIMEDOUT, done or not. If a repetition is
 *     answered, you get that answer: ENOENT for a member that the first try dropped.
 *   - After EIO, ETIMEDOUT and EAMBIGUOUS, config.fail decides what a pick does. Closed: it
 *     returns the status. Open: it picks from the members last seen, by counts of this handle
 *     alone. These counts never reach Redis; stats.local_picks has their number.
 *
 * No call raises SIGPIPE.
 *
 * ERRORS. See status.h; each function names its own. Any call on a Redis pool may also
 * return EIO, ETIMEDOUT, EAMBIGUOUS; EREFUSED (the server said no: wrong password, no
 * permission; or its certificate is not trusted); EFORMAT (the key holds something else, or
 * the reply is malformed: done or not is unknown); EFULL (the server is out of memory). Any
 * call may return ENOMEM. locus_pool_error() has the server's words.
 */
#ifndef LOCUS_POOL_H
#define LOCUS_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <locus/status.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LOCUS_POOL_MEMBER_SIZE 256    /* of a member's name, with its NUL */
#define LOCUS_POOL_NAME_MAX 200       /* bytes of a pool's name, without NUL */
#define LOCUS_POOL_PICKS_MAX 1024     /* in one call */
#define LOCUS_POOL_MEMBERS_MAX 100000 /* of one pool, those that are out included */
#define LOCUS_POOL_START_LIMIT (UINT64_C(1) << 52) /* the highest count to start at */

struct locus_pool;

/* ---- opening --------------------------------------------------------------------- */

enum locus_pool_fail {
    LOCUS_POOL_FAIL_CLOSED, /* no Redis, no pick */
    LOCUS_POOL_FAIL_OPEN, /* no Redis: this handle's own counts of the members last seen */
};

/* Zero-initialise; zero means the default. */
struct locus_pool_config {
    uint64_t connect_timeout_ns; /* 1 s; for one connection with its AUTH. The addresses
                                    of a host share it */
    uint64_t command_timeout_ns; /* 1 s; from sending a command to its answer */
    uint64_t total_timeout_ns;   /* 3 s; for a call with all that it tries */
    size_t connections;          /* 8; at most, per Redis node */
    enum locus_pool_fail fail;   /* LOCUS_POOL_FAIL_CLOSED */
    uint64_t snapshot_ns;   /* 5 s; fail open: how old "last seen" may be while Redis
                                    answers */
    uint32_t fail_after;    /* 3; failures in a row that take a member out */
    uint32_t restore_after; /* 2; successes in a row that bring it back */
    uint32_t min_live;      /* 0; reports take nobody out below this many live ones */
    uint32_t lease_limit;   /* leases per member at a time; 0: no limit */
    uint32_t coalesce;      /* 0: each single pick is a round trip. n: those of many
                                    threads go together, in at most n script calls at
                                    once; 1 serves best. mem: needs none */
    uint64_t lifetime_ns;   /* 0: a pool in Redis stays until it is cleared. Else 1 s to
                                    30 days, in whole ms: the server deletes the pool
                                    once no handle with this setting has called for that
                                    long (or up to a quarter less). For pools that nobody
                                    would clear if their maker were killed */
    uint64_t (*now_ns)(void *arg); /* mem: leases' clock; NULL: CLOCK_MONOTONIC */
    void *now_arg;
};

/*
 * Opens the pool of that name; config is copied and may be NULL. EINVAL: the URI is
 * malformed, the name is (1 to 200 bytes, no braces, no control characters), or a file that
 * the URI names cannot be used; EIO: the system's authorities cannot be used; ENOTSUP: a
 * Redis URI in a build without hiredis, or rediss: without OpenSSL. The reason goes to
 * error, cut to error_size (error may be NULL with size 0).
 */
LOCUS_API int locus_pool_open(const char *uri, const char *name,
                              const struct locus_pool_config *config,
                              struct locus_pool **out, char *error,
                              size_t error_size) LOCUS_NODISCARD;
/* Members and counts in Redis stay; those of mem: are gone. NULL is fine. */
LOCUS_API void locus_pool_close(struct locus_pool *pool);

/* ---- picks ----------------------------------------------------------------------- */

/* Picks one member. It is written to member, which has LOCUS_POOL_MEMBER_SIZE bytes, or ""
 * on failure. ENOSERVER: no member is live; make no request. With config.coalesce, the picks
 * of a batch share its status. A pick may then wait for the batch before its own, and so for
 * twice config.total_timeout_ns; in a child of fork(), picks return ECLOSED. */
LOCUS_API int locus_pool_pick(struct locus_pool *pool, char *member) LOCUS_NODISCARD;

/*
 * Makes n picks in one round trip; they count as n picks one after the other. *picked is n
 * on success, 0 on failure. ERANGE: n is 0 or above LOCUS_POOL_PICKS_MAX. An ambiguous call
 * was counted n times or not at all.
 */
LOCUS_API int locus_pool_pick_many(struct locus_pool *pool, size_t n,
                                   char (*members)[LOCUS_POOL_MEMBER_SIZE],
                                   size_t *picked) LOCUS_NODISCARD;

/* ---- members --------------------------------------------------------------------- */

/* The count that an added member starts at. A member that starts below the live minimum gets
 * every pick until it has caught up. */
enum locus_pool_start {
    LOCUS_POOL_START_MIN,  /* the lowest count of the live ones; 0 when there is none */
    LOCUS_POOL_START_MEAN, /* their mean, rounded down */
    LOCUS_POOL_START_ZERO,
    LOCUS_POOL_START_AT, /* the value given */
};

/*
 * Adds members, as to a set. One that is in the pool, live or unhealthy, stays as it is; one
 * that was removed is restored as by locus_pool_restore(). *added (may be NULL) is how many
 * became live. Minimum and mean are taken at the time of the call (or, for more than 256
 * members, at each 256). EINVAL: a malformed name, and nothing was added; ERANGE: value above
 * LOCUS_POOL_START_LIMIT; EFULL: beyond LOCUS_POOL_MEMBERS_MAX. When it ends early, for
 * lack of memory too, the members before that point were added.
 */
LOCUS_API int locus_pool_add(struct locus_pool *pool, const char *const *members,
                             size_t count, enum locus_pool_start start, uint64_t value,
                             size_t *added) LOCUS_NODISCARD;

/* Takes a member out. Its count is kept for a restore; with drop, nothing is kept. Its
 * leases go on. ENOENT: not in the pool (with drop: nor removed before). Removing a removed
 * member is no error. */
LOCUS_API int locus_pool_remove(struct locus_pool *pool, const char *member,
                                bool drop) LOCUS_NODISCARD;

/* Makes a removed or unhealthy member live again, at its kept count or at the live minimum,
 * whichever is higher; with exact, always at its kept count. Restoring a live member is no
 * error. ENOENT: neither in the pool nor kept. */
LOCUS_API int locus_pool_restore(struct locus_pool *pool, const char *member,
                                 bool exact) LOCUS_NODISCARD;

enum locus_pool_state {
    LOCUS_POOL_LIVE,
    LOCUS_POOL_REMOVED,
    LOCUS_POOL_UNHEALTHY,
};

/*
 * Tells how a request to a member went. All workers' reports count together:
 * config.fail_after failures in a row take a live member out, config.restore_after
 * successes in a row bring an unhealthy one back, as by locus_pool_restore(). Reports on a
 * removed one change nothing. *state (may be NULL) is the member's state afterwards. ENOENT.
 */
LOCUS_API int locus_pool_report(struct locus_pool *pool, const char *member,
                                bool success,
                                enum locus_pool_state *state) LOCUS_NODISCARD;

struct locus_pool_member {
    char name[LOCUS_POOL_MEMBER_SIZE];
    uint64_t count;
    enum locus_pool_state state;
    uint32_t streak; /* live: failures in a row; unhealthy: successes in a row */
    uint64_t held;   /* leases, as far as reaped: see locus_lease_acquire() */
};
struct locus_pool_list {
    size_t count;
    struct locus_pool_member *members;
};
/* All members at one moment: the live ones in the order in which they would be picked, then
 * the others by name. Release it with locus_pool_list_free(). */
LOCUS_API int locus_pool_list(struct locus_pool *pool,
                              struct locus_pool_list **out) LOCUS_NODISCARD;
LOCUS_API void locus_pool_list_free(struct locus_pool_list *list);

/* One of them. ENOENT. */
LOCUS_API int locus_pool_get(struct locus_pool *pool, const char *member,
                             struct locus_pool_member *out) LOCUS_NODISCARD;

/* Takes the lowest live count off every member, kept ones included (not below zero). This
 * keeps counts exact: Redis stores them as doubles, which are exact up to 2^53. Picks do it
 * by themselves once the lowest count has reached 2^52. */
LOCUS_API int locus_pool_rebase(struct locus_pool *pool) LOCUS_NODISCARD;

/* Deletes the pool: members, counts, health, leases. */
LOCUS_API int locus_pool_clear(struct locus_pool *pool) LOCUS_NODISCARD;

/* ---- leases ---------------------------------------------------------------------- */

#define LOCUS_LEASE_ID_SIZE 33 /* 32 hexadecimal digits and a NUL */

struct locus_lease {
    char id
        [LOCUS_LEASE_ID_SIZE]; /* random, 128 bits; whoever knows it may release the lease */
    char member[LOCUS_POOL_MEMBER_SIZE];
    uint64_t held; /* leases of the member, this one included */
};

/*
 * Takes a lease on the live member with the fewest leases among those below their limits;
 * among equals, on the one whose turn was longest ago. It lasts for ttl_ns by the clock of
 * the Redis server (mem: config.now_ns), 1 ms to 30 days, in whole ms. A lease ends by
 * release or at its deadline, whether its holder lives or not. Ended leases are removed
 * before the choice, up to 1024 per call. ENOSERVER: no member is live; EFULL: all are at
 * their limits; ERANGE: ttl_ns. On failure *out is cleared. Where it is unknown whether a
 * lease was taken (EAMBIGUOUS, ETIMEDOUT, EFORMAT), out->id stays set, and the caller may
 * release it.
 */
LOCUS_API int locus_lease_acquire(struct locus_pool *pool, uint64_t ttl_ns,
                                  struct locus_lease *out) LOCUS_NODISCARD;
/* Puts the deadline ttl_ns from now. ENOENT: no such lease, or it has ended; ERANGE. */
LOCUS_API int locus_lease_renew(struct locus_pool *pool, const char *id,
                                uint64_t ttl_ns) LOCUS_NODISCARD;
/* Ends a lease. Ending one that has ended or never existed changes nothing and returns
 * LOCUS_OK; *was_held (may be NULL) says whether it was held. EINVAL: not an id. */
LOCUS_API int locus_lease_release(struct locus_pool *pool, const char *id,
                                  bool *was_held) LOCUS_NODISCARD;
/* Sets a limit for one member, live or not; 0: the config's limit again. It is kept until
 * the member is dropped. ENOENT; ERANGE: above 1,048,576, which also bounds members without
 * a limit. */
LOCUS_API int locus_lease_set_limit(struct locus_pool *pool, const char *member,
                                    uint32_t limit) LOCUS_NODISCARD;

/* ---- figures --------------------------------------------------------------------- */

struct locus_pool_stats {
    /* of this handle */
    uint64_t picks;       /* members handed out, local ones included */
    uint64_t empty;       /* calls that found no live member */
    uint64_t ambiguous;   /* picks (not calls) sent and not answered */
    uint64_t failures;    /* calls that returned EIO, ETIMEDOUT or EAMBIGUOUS */
    uint64_t local_picks; /* fail open: picks that Redis does not know of */
    uint64_t commands, round_trips, connects, connect_failures, retries, redirects,
        noscript; /* of the Redis client */
};
LOCUS_API void locus_pool_get_stats(struct locus_pool *pool,
                                    struct locus_pool_stats *out);

/* The words of the last failure of any thread on this handle; "" if there was none. */
LOCUS_API void locus_pool_error(struct locus_pool *pool, char *text, size_t size);

/* ---- eligibility ----------------------------------------------------------------- */

/*
 * Who may enter a pool. Candidates come from lists that others write; rules decide, and give
 * the reason for each refusal. Addresses that are not public (private, loopback, link-local,
 * multicast, documentation and others) are refused unless an allow range names them. So are
 * IPv6 addresses that embed such an IPv4 address. Host names are refused as well, unless
 * config.names allows them, since they would have to be resolved to be judged.
 */
struct locus_eligibility;

struct locus_candidate {
    const char *scheme; /* "http"; NULL or "": none given */
    const char *host;   /* an address, IPv6 with or without brackets, or a name */
    uint32_t port;      /* 0: none given */
    const char *labels; /* free text, for the predicate alone; NULL: none */
};

/* Return false to refuse, with the reason (static text) in *reason. */
typedef bool locus_candidate_fn(void *arg, const struct locus_candidate *candidate,
                                const char **reason);

/* Zero-initialise. Texts are lists with commas; NULL: the default. Copied. */
struct locus_eligibility_config {
    const char *schemes; /* "http,https,socks5"; NULL: any or none */
    const char *ports;   /* "80,443,8000-8999"; NULL: 1-65535 */
    const char *allow;   /* "10.1.0.0/16,2001:db8::/32": also these; see only_allowed */
    const char *deny;    /* these never, whatever allow says */
    bool only_allowed;   /* nothing but what allow names */
    bool names;          /* host names are let in, unresolved; localhost is not */
    locus_candidate_fn *predicate; /* asked last; NULL */
    void *predicate_arg;
};

/* EINVAL: a malformed list, the reason in error (may be NULL with size 0); ENOMEM. */
LOCUS_API int locus_eligibility_create(const struct locus_eligibility_config *config,
                                       struct locus_eligibility **out, char *error,
                                       size_t error_size) LOCUS_NODISCARD;
LOCUS_API void locus_eligibility_destroy(struct locus_eligibility *rules);

/*
 * Judges a candidate. LOCUS_OK: it is new and may enter under the name that is written to
 * member: "scheme://host:port" without the parts that were not given, addresses in their
 * canonical form. EREFUSED: *reason (static text) says why. EEXIST: this name was let in
 * before. ENOMEM. member has LOCUS_POOL_MEMBER_SIZE bytes. One thread at a time.
 */
LOCUS_API int locus_eligibility_judge(struct locus_eligibility *rules,
                                      const struct locus_candidate *candidate,
                                      char *member,
                                      const char **reason) LOCUS_NODISCARD;

/* Splits "[scheme://]host[:port]" into its parts, which are kept in storage (size bytes);
 * what follows a blank is labels. EFORMAT: *reason (static text) says why. */
LOCUS_API int locus_candidate_parse(const char *text, char *storage, size_t size,
                                    struct locus_candidate *out,
                                    const char **reason) LOCUS_NODISCARD;

#ifdef __cplusplus
}
#endif

#endif
