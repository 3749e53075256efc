/* SPDX-License-Identifier: MIT */
/*
 * A synchronous Redis client for the shared parts: the only face that hiredis has here.
 *
 *     locus_redis_open("redis://user:secret@cache.example:6379/2", NULL, &redis, ...)
 *     locus_redis_run(redis, commands, count, timeout_ns, results)
 *
 * THREADS. A handle may be used by any number of threads at once; each call takes one of at
 * most options.connections connections per node, and waits for one when all are taken.
 * A handle does not survive fork(): the child opens its own.
 *
 * DEADLINES. Three apply: connect_timeout_ns to each connection being made (AUTH and SELECT
 * included; a host's addresses share it), command_timeout_ns to each exchange on a
 * connection, and the call's timeout_ns to all together, with waits, reconnects,
 * redirects and retries. Only the look-up of a host name has no deadline of ours: give
 * addresses where that matters.
 *
 * WHAT IS KNOWN AFTER A FAILURE. A command that cannot have reached the server (no
 * connection, or not written whole), and one to which the server answered that it did
 * nothing yet (LOADING, BUSY, TRYAGAIN, CLUSTERDOWN, MASTERDOWN, READONLY, MOVED, ASK,
 * NOSCRIPT), is tried again until the deadline, and then ends in LOCUS_EIO or
 * LOCUS_ETIMEDOUT: it was not done. A command that was written and not answered is tried
 * again only when the caller calls it repeatable, and ends in LOCUS_ETIMEDOUT where no
 * answer comes at all: done or not; otherwise it ends at once, in LOCUS_EAMBIGUOUS: it was
 * done once or not at all, and never twice.
 *
 * RECONNECTING. A node that fails, to connect or to answer, is left alone for a time that
 * doubles from 10 ms to 2 s with each failure in a row, less up to half of it by chance;
 * then one thread tries, whatever their number.
 *
 * CLUSTER. MOVED and ASK are followed and the slot map is learnt; a command needs to tell
 * its first key for that. A URI may name several hosts (redis://a,b:6380,c/0): others stand
 * in for one that fails or takes no writes, which is connected to anew the next time: its
 * name may lead elsewhere by then.
 *
 * SIGPIPE is never raised by a call.
 */
#ifndef LOCUS_SHARED_REDIS_H
#define LOCUS_SHARED_REDIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <locus/status.h>

struct locus_redis;
struct locus_redis_reply;

/* Zero means the default. */
struct locus_redis_options {
    uint64_t connect_timeout_ns; /* 1 s */
    uint64_t command_timeout_ns; /* 1 s */
    uint64_t total_timeout_ns;   /* 3 s; for calls that give none */
    size_t connections;          /* at most, per node: 8 */
};

/*
 * Reads redis://[[user]:password@]host[:port][,host[:port]...][/db], rediss:// for TLS (with
 * [?cacert=FILE&cert=FILE&key=FILE] behind), or redis+unix://[[user]:password@]/path[?db=N];
 * percent escapes allowed in user, password, path and files. Makes no connection. EINVAL:
 * not such a URI, or no use in one of its files; EIO: nor in the system's authorities;
 * ENOTSUP: this build has no TLS; ENOMEM. The reason goes to error (cut to
 * error_size; never with a password).
 */
int locus_redis_open(const char *uri, const struct locus_redis_options *options,
                     struct locus_redis **out, char *error,
                     size_t error_size) LOCUS_NODISCARD;
/* No call may be running. NULL is fine. */
void locus_redis_close(struct locus_redis *redis);

/* A script is known by the address of its source, which must outlive the handle. Sent as
 * EVALSHA, its SHA asked for once; as EVAL where the server does not know it (any more). */
struct locus_redis_script {
    const char *source;
};

#define LOCUS_REDIS_NO_KEY SIZE_MAX

struct locus_redis_command {
    const struct locus_redis_script *script; /* NULL: argv is the command, whole */
    const char *const *argv; /* with a script: its keys, then its arguments */
    const size_t *lengths;   /* NULL: strlen of each */
    size_t argc;
    size_t keys;  /* with a script: how many keys argv begins with */
    size_t route; /* index in argv of the key that decides the cluster node */
    bool
        repeatable; /* doing it twice is as good as once: may be retried after a loss */
};

struct locus_redis_result {
    int status;                      /* LOCUS_OK: reply is there and is no error */
    struct locus_redis_reply *reply; /* owned by the caller; NULL without LOCUS_OK */
};

/*
 * Sends the commands in one round trip per node and reads all answers. Commands of one call
 * run in order on a node as long as nothing has to be tried again, and do not depend on
 * each other's success. timeout_ns 0: the handle's total_timeout_ns.
 * Returns the first status that is not LOCUS_OK:
 *   EIO, ETIMEDOUT   not done; but what is repeatable may have been with ETIMEDOUT
 *   EAMBIGUOUS       sent, not answered
 *   EREFUSED         the server said no; locus_redis_error() has its words
 *   EFORMAT          the key holds another type, or the reply is no reply
 *   EFULL            the server is out of memory
 *   ENOMEM, EINVAL   nothing was sent
 * Every result must be released with locus_redis_results_clear(), whatever the return.
 */
int locus_redis_run(struct locus_redis *redis,
                    const struct locus_redis_command *commands, size_t count,
                    uint64_t timeout_ns,
                    struct locus_redis_result *results) LOCUS_NODISCARD;
/* One command. *reply is NULL unless LOCUS_OK. */
int locus_redis_run_one(struct locus_redis *redis,
                        const struct locus_redis_command *command, uint64_t timeout_ns,
                        struct locus_redis_reply **reply) LOCUS_NODISCARD;
void locus_redis_results_clear(struct locus_redis_result *results, size_t count);

/* ---- replies: any accessor may be handed any reply, or NULL ---------------------- */

enum locus_reply_kind {
    LOCUS_REPLY_NONE, /* NULL, or a type that this client does not expect */
    LOCUS_REPLY_NIL,
    LOCUS_REPLY_TEXT, /* strings and states such as OK; bytes of any value */
    LOCUS_REPLY_INTEGER,
    LOCUS_REPLY_ARRAY,
    LOCUS_REPLY_ERROR, /* inside an array only */
};

enum locus_reply_kind locus_reply_kind(const struct locus_redis_reply *reply);
/* The bytes of a text, borrowed from the reply and NUL-terminated; NULL for others. */
const char *locus_reply_text(const struct locus_redis_reply *reply, size_t *length);
/* An integer, or a text that is one in plain decimal ("-12"); false for all else. */
bool locus_reply_integer(const struct locus_redis_reply *reply, int64_t *out);
/* Elements of an array; 0 for all else. */
size_t locus_reply_count(const struct locus_redis_reply *reply);
/* NULL when there is no such element. */
const struct locus_redis_reply *locus_reply_at(const struct locus_redis_reply *reply,
                                               size_t index);
void locus_reply_free(struct locus_redis_reply *reply);

/* ---- what happened --------------------------------------------------------------- */

struct locus_redis_stats {
    uint64_t commands;    /* answered */
    uint64_t round_trips; /* exchanges on a connection */
    uint64_t connects;
    uint64_t connect_failures;
    uint64_t retries;   /* commands sent or tried again, redirects not counted */
    uint64_t redirects; /* MOVED and ASK followed */
    uint64_t noscript;  /* scripts sent whole because the server had forgotten them */
    uint64_t ambiguous;
    uint64_t timeouts; /* exchanges that ran into a deadline */
};
void locus_redis_get_stats(struct locus_redis *redis, struct locus_redis_stats *out);

/* The words of the last failure of any thread on this handle, "" if there was none. */
void locus_redis_error(struct locus_redis *redis, char *text, size_t size);
/* Where the handle leads, without the password: "cache.example:6379/2". */
const char *locus_redis_name(const struct locus_redis *redis);

/* ---- for the fuzzer and the tests ------------------------------------------------ */

/* The first reply of bytes, as they would come from a server; NULL when it is incomplete.
 * LOCUS_EFORMAT when it is none. */
int locus_redis_parse(const char *bytes, size_t length,
                      struct locus_redis_reply **out) LOCUS_NODISCARD;
/* The cluster slot of a key: CRC16 of the part in braces, if there is one. */
unsigned locus_redis_slot(const char *key, size_t length);

#endif
