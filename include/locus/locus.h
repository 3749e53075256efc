/* SPDX-License-Identifier: MIT */
/*
 * locus/locus.h - IPVS-style connection scheduling as a library.
 *
 * WHAT IT IS. A *virtual service* spreads connections over *real servers*. A scheduler
 * picks the server of each new connection; locus has those of Linux IPVS and decides
 * as a kernel does, one for one. For comparison it has two more, chbl and p2c. The
 * library keeps the counters the schedulers need and the map destination -> server (LBLC)
 * or server set (LBLCR). It forwards nothing.
 *
 *     locus_service_create(&config, &svc);
 *     locus_server_add(svc, &server, now_ns, &handle);     ... for each real server
 *     locus_connect(svc, &request, now_ns, LOCUS_ACTIVE, &pick);
 *     locus_conn_move(svc, pick.server, LOCUS_ACTIVE, LOCUS_INACTIVE);    on FIN
 *     locus_conn_unbind(svc, pick.server, LOCUS_INACTIVE);                when gone
 *     locus_tick(svc, now_ns, 10000);                      ... from time to time
 *
 * WORDS. destination: what a request is for; the key of the map. weight: a server's share;
 * 0 quiesces (nothing new). capacity: the connections that fill it; its weight, unless given
 * apart. active, inactive: connection counts. overhead: cost number of
 * a server's connections. load: overhead / weight. overloaded: flag set at the upper
 * threshold, cleared below the lower. spill: LBLC's reason to leave a bound server
 * (active > capacity while some server has 2 * active < capacity). lastuse, lastmod: when a
 * destination was last looked up, when its set last changed. trash: removed servers
 * that something still refers to.
 *
 * THREADS. A service is used by one thread at a time (the caller's lock, if any).
 * Services are independent of each other. No globals, no thread-locals, no locks.
 * Allocator hooks and visitors run on the calling thread and must not re-enter the
 * service.
 *
 * TIME is an argument: nanoseconds on one monotonic clock of the caller's choice. A step
 * back counts as no time passed. Inside, time is counted in ticks of tick_ns, 32 bits
 * wide; a destination idle for longer than 2^31 ticks (24 days at 1 ms) is held
 * at that age by the periodic work.
 *
 * OWNERSHIP. Configurations, keys and names are copied. A service owns its servers. A
 * server handle is a small integer; it is valid from the add until the server is
 * freed, which happens only after its removal and after the last connection and the
 * last destination that refer to it are gone.
 *
 * NOT MODELLED. Persistence (ipvsadm -p): every connection is scheduled, where a kernel sends
 * a client's later ones after its first, even to a quiesced server. Port reuse: every
 * connection is new, where a kernel may take a SYN for an old one that lingers. Expiry on
 * removal (expire_nodest_conn): a connection counts until its caller unbinds it. Who has a
 * connection table keeps these habits there.
 *
 * ERRORS. See status.h. A failed call leaves the service as it was. One exception: a
 * pick never fails for lack of memory; the destination is then not remembered, and
 * locus_service_stats.forgotten counts it.
 */
#ifndef LOCUS_LOCUS_H
#define LOCUS_LOCUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <locus/status.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LOCUS_NO_SERVER UINT32_MAX        /* a server handle that names none */
#define LOCUS_NEVER UINT64_MAX            /* a time that does not come */
#define LOCUS_WEIGHT_MAX INT32_MAX        /* weights and connection counts: 0..2^31-1 */
#define LOCUS_LOAD_BOUND_PERCENT_MIN 101u /* of chbl's factor */
#define LOCUS_LOAD_BOUND_PERCENT_MAX 10000u
#define LOCUS_SLOW_START_NS_MAX UINT64_C(86400000000000) /* 24 h */

/* ---- addresses ------------------------------------------------------------------- */

enum locus_family {
    LOCUS_IPV4 = 1,
    LOCUS_IPV6 = 2,
    LOCUS_NAME = 3, /* any byte string (host, URL, cache key), hashed to 128 bits */
};

/* A key of the family that its service or address has. */
union locus_key {
    uint32_t ipv4;     /* LOCUS_IPV4: host order, 10.0.0.1 is 0x0a000001 */
    uint8_t bytes[16]; /* LOCUS_IPV6: network order */
    uint64_t words[2]; /* LOCUS_NAME: as locus_key_from_name() made it */
};

struct locus_address {
    enum locus_family family;
    uint16_t port; /* 0: none */
    union locus_key key;
};

/*
 * The 128-bit key of a name: SipHash-1-3 with a fixed key, so that it is the same in every
 * process and version. Names are compared by key alone.
 */
LOCUS_API union locus_key locus_key_from_name(const void *name, size_t length);

/*
 * Reads "192.0.2.1", "192.0.2.1:80", "2001:db8::1" or "[2001:db8::1]:80", strictly: no
 * blanks, no leading zeros in IPv4, no zone. length is strlen(text) if the caller has no
 * better. LOCUS_EINVAL when it is anything else; *out is then untouched.
 */
LOCUS_API int locus_address_parse(const char *text, size_t length,
                                  struct locus_address *out) LOCUS_NODISCARD;

/*
 * Writes the text form, IPv6 as RFC 5952, ":port" only when the port is not 0, a name's
 * key as 32 hexadecimal digits. Returns the length without the final NUL; the text is cut
 * to fit size (LOCUS_ADDRESS_TEXT always suffices) and NUL-terminated when size > 0.
 */
#define LOCUS_ADDRESS_TEXT 56
LOCUS_API size_t locus_address_format(const struct locus_address *address, char *text,
                                      size_t size);

/* ---- rules ----------------------------------------------------------------------- */

enum locus_threshold_rule {
    LOCUS_THRESHOLD_EDGE,    /* stable kernels since mid-2026: set when total becomes u,
                                cleared when it drops below l (l 0: u - u/4) */
    LOCUS_THRESHOLD_CLASSIC, /* before: set when total >= u at a bind, cleared at an unbind
                                below l (l 0: below 3/4 of u), or when u is raised */
    LOCUS_THRESHOLD_PLAIN, /* overloaded exactly while u > 0 and total >= u */
};

enum locus_tie_break {
    LOCUS_TIE_NEWEST, /* equal load: the server added last (the kernel's list order) */
    LOCUS_TIE_OLDEST, /* equal load: the server added first */
};

enum locus_no_server {
    LOCUS_NO_SERVER_REFUSE, /* the connection gets no server (the kernel) */
    LOCUS_NO_SERVER_BYPASS, /* neither, but the caller is to go past the servers, to the
                               destination itself: LOCUS_WHY_BYPASS in place of _REFUSED */
    LOCUS_NO_SERVER_ANY, /* it gets any server in service, with LOCUS_WHY_ANY: one that is
                            available (where a hash names one that is not), else an
                            overloaded, else a quiesced one; of these the one with the
                            fewest connections for its weight, then as tie_break says */
};

/*
 * What a rule set decides, as data. Take one with locus_rules_find(), change what you
 * want, hand it to locus_service_create(). Every departure from the kernel is off in
 * "kernel" and "kernel-classic".
 */
struct locus_rules {
    /* overhead = active_cost * active + inactive. kernel 257, kernel-classic 256 (what
     * the kernel calls 256 * active + total or inactive), article 1. 1..65536. */
    uint32_t active_cost;
    enum locus_threshold_rule threshold;
    enum locus_tie_break
        tie_break; /* where loads are compared: lc wlc sed lblc lblcr; the
                                       others go by the list itself */

    /* A full map remembers no new destination (picks go on). kernel 24,576; UINT32_MAX:
     * unbounded (kernel-classic, article). */
    uint32_t max_entries;
    /* A full map forgets an old destination for a new one: of those that it has, in the
     * order in which they came, the first that was not looked up (in a later tick) since
     * that was last asked; whoever was is asked again after the others. A pick asks 16 at
     * most and takes the last. 8 bytes more per destination for IPv4, 20 for others. On
     * in locus alone. Not with leak_entries (EINVAL). */
    bool evict;
    /* Above this many entries the collector takes the stale ones (idle for
     * gc_stale_ns) instead of checking expiry. kernel 16,384. UINT32_MAX: never. */
    uint32_t soft_entries;
    bool leak_entries; /* kernel-classic: each re-homing by lblc counts one entry
                                more that never existed */
    uint32_t
        gc_full_every; /* every n-th quiet run checks expiry. kernel 30, article 1 */
    bool gc_strict;    /* article: collect when idle > expiration, kernel: >= */
    uint64_t gc_interval_ns; /* between runs: 60 s */
    uint64_t gc_stale_ns;    /* 360 s */

    bool
        spill_counts_total; /* article: spill compares active + inactive with capacity */
    bool spill_eligible_only;   /* only servers that could take the connection make
                                   others spill (kernel: overloaded ones do too) */
    bool lblc_checks_threshold; /* article: lblc leaves an overloaded server (kernel: a
                                   cached destination stays with it) */
    bool trim_on_every_hit;     /* kernel: lblcr trims before the spill test, on every
                                   hit; article: only when the pick stays in the set */
    bool return_member_only; /* lblcr never returns the server that it has just trimmed
                                   (kernel: it does) */
    bool lastuse_on_failure; /* kernel: a lookup that found no server renews lastuse */
    uint64_t set_decay_ns;   /* age of lastmod at which lblcr trims; UINT64_MAX: same as
                                   the entry expiration (kernel) */

    /* chbl: its factor c in percent, LOCUS_LOAD_BOUND_PERCENT_MIN to _MAX; 125 in all named
     * rule sets. See BOUNDED LOADS below. */
    uint32_t load_bound_percent;

    /* When a scheduler ("none" apart) finds no server. Nothing of it is remembered. All
     * named rule sets refuse. */
    enum locus_no_server no_server;

    /*
     * Slow start: least-connection floods a server that comes, until it has as many
     * connections as the others. With a window, a server that was added (revived ones too) or
     * whose weight was raised does not have its whole share at once, but at a part x of the
     * window this part of the increase, never nothing:
     *     floor + (1 - floor) * x ^ exponent
     * Under wlc, when it gets a connection, it then has no more than that part of the
     * connections that the others' load would make for its weight, and one. What others'
     * weights are compared by does not change, so that nobody has more than before it came.
     * New connections come to it faster than its part says where they last longer than the
     * window: take one that is some times as long. 0: off, as in the kernel and in all named
     * rule sets; 24 h at most.
     *
     * For wlc sed lblc lblcr twos p2c, for chbl (a newcomer then gets its destinations little
     * by little), and for nq among busy servers (an idle one is taken at once: that is its
     * point). Not for rr lc dh, which know no shares; fo and ovf, which ask
     * who comes first; sh and mh, whose tables would change at every step; wrr, which floods
     * nobody, and whose round would begin anew at every step. For lblc and lblcr a server
     * counts as under half by that part of its capacity: else all others would spill to a
     * server that is not to have their connections yet. When it spills itself, thresholds,
     * lblcr's trimming and LOCUS_NO_SERVER_ANY go by what was configured.
     *
     * It proceeds in locus_tick() alone, so that picks pay nothing, in 256 steps if ticks are
     * fine enough; the window begins with the first tick after the change. Raised again
     * meanwhile, a weight begins a new window from where it is; lowered, it ends this one where
     * that is met; given again, it changes nothing. Weights above 2^24 - 1 make all steps
     * coarser, weights above 130,560 (at active_cost 257) comparisons slower.
     */
    uint32_t slow_start_floor_percent; /* 1..100; all named sets: 10 */
    uint64_t slow_start_ns;            /* the window */
    uint32_t slow_start_exponent;      /* 1 (linear) to 8 (late); all named sets: 1 */

    bool purge_removed; /* a removed server leaves every destination at once, and the
                                same address added later is a new server. kernel: it
                                lingers, and comes back with its counters */
    uint64_t trash_ns;  /* how often the trash is looked through: 60 s */
    uint64_t trash_idle_ns; /* how long an unreferenced server stays in it: 120 s */
    bool timer_wheel;       /* round periodic work up as the kernel's timer wheel does:
                                at HZ 250 (tick_ns 4,000,000) 60 s become 61.44 s */
};

/*
 * The rules called "kernel" (Linux stable since mid-2026), "kernel-classic" (before that:
 * what most machines run), "article" (LBLC and LBLCR as published: W. Zhang, "Linux
 * Virtual Server for Scalable Network Services", OLS 2000, after the locality-aware request
 * distribution of Pai et al., ASPLOS 1998) or "locus" (what we would run); NULL: "kernel".
 * NULL when there is none.
 *
 * "locus" is "kernel" with these changes. Figures are of locus replay --servers 8 --policy
 * lblc,lblcr --rules kernel and --rules locus; warm: repeat connections to a server that
 * knows their destination.
 *   max_entries 1,048,576, soft_entries two thirds of it: some 40 MB at most for IPv4. With
 *     49,000 blocks (libCacheSim's CloudPhysics sample) warm rises from 73.9 % to 100 %, with
 *     37,000 objects (AdaptSize's) from 95.3 % to 99.98 %; imbalance stays within 2 %.
 *   evict: a map that is full goes on learning. lblc's warm, --rules kernel without --replace
 *     and with it: AdaptSize's from 73.6 % to 84.0 % with --max-entries 5000, from 92.6 %
 *     to 97.4 % with 20000; the lab's from 91.0 % to 96.2 % with 84. Loops longer than the
 *     map outrun any such order: CloudPhysics' from 47.5 % to 47.3 %, from 70.1 % to 69.2 %.
 *   purge_removed: who comes back is cold, and is not found in sets from before. With a
 *     server failing for 10 s of traces/demo.squid.log and --cache 1MiB, lblcr's hits rise
 *     from 85.2 % to 86.8 %.
 *   spill_eligible_only: an idle server at its upper threshold makes nobody move. With one
 *     of eight at 2 connections lblcr's warm rises from 99.25 % to 99.41 % (a lab's Zeek
 *     log) and from 99.47 % to 99.70 % (the demo).
 *   lblc_checks_threshold, return_member_only, not lastuse_on_failure: a bound is kept, a
 *     pick is a member, a refusal keeps nothing alive. No difference to speak of above.
 * Left as in the kernel, since what helps one trace harms another: active_cost (1: lblcr's
 * imbalance from 1.62 to 1.49 in the lab, from 2.70 to 3.27 on a scanned host), tie_break,
 * spill_counts_total; slow_start_ns, which depends on how long connections last: one server of
 * eight that comes back at 33 s of AdaptSize's (and failed at 20 s) has hits as they are and
 * raises lblc's imbalance from then on from 1.14 to 1.17 with --slow-start 1m, while one that
 * comes to eight overloaded ones lowers it from 2.40 to 1.32 (docs/slow-start.md); and set_decay_ns,
 * since sets trimmed after 10 minutes instead of 24 hours raise lblcr's imbalance from 1.62 to
 * 1.79 and from 2.70 to 3.76.
 */
LOCUS_API const struct locus_rules *locus_rules_find(const char *name);
/* The index-th name, NULL past the end. */
LOCUS_API const char *locus_rules_name(size_t index);

/* ---- services -------------------------------------------------------------------- */

struct locus_service;

#define LOCUS_FLAG_FALLBACK \
    0x1u                     /* sh, mh: try other buckets when the hashed one is down */
#define LOCUS_FLAG_PORT 0x2u /* sh, mh: hash the client's port too */

/* Zero-initialise; zero or NULL means the default. */
struct locus_service_config {
    const char *scheduler; /* "wlc"; see locus_scheduler_name(); "none" refuses all */
    uint32_t scheduler_flags;        /* LOCUS_FLAG_* */
    enum locus_family family;        /* of destinations and clients; LOCUS_IPV4 */
    const struct locus_rules *rules; /* copied; NULL: "kernel" */
    const struct locus_allocator *allocator; /* copied; NULL: malloc and free */
    /* Placement in the map, and twos' and p2c's dice. It changes no decision of any other
     * scheduler; let it be unpredictable where clients choose destinations. */
    uint64_t seed;
    uint64_t now_ns;  /* the clock at creation: periodic work is due from here */
    uint64_t tick_ns; /* 1 ms; the resolution of lastuse and lastmod, >= 1 */
    /* Destinations idle for this long are collected; LBLCR sets unchanged for longer
     * are trimmed. 0 means 24 h; see locus_service_set_expiration() for any value. Above
     * 2^31 ticks nothing ever expires: take larger ticks for longer times. */
    int64_t expiration_ns;
    /* Bound on destinations, 1..2^27, overrides rules->max_entries and puts soft_entries
     * at two thirds of it, rounded up. 0: as the rules say. */
    uint32_t max_entries;
    /* Room made at once, so that no growth happens below it. Maps of millions gain from huge
     * pages, which are the allocator's: glibc 2.35 and later gives them to a program started
     * with GLIBC_TUNABLES=glibc.malloc.hugetlb=1, where the system has them. */
    uint32_t expected_entries;
    /* Percent of the map's slots in use before it grows, 20..85. 0: 35 while the map is
     * below 1 MiB, then 60. 80 needs at most 24 bytes per IPv4 destination. */
    uint32_t map_load_percent;
};

/* Makes a service. EINVAL, ERANGE: the configuration; ENOENT: no such scheduler; ENOMEM. */
LOCUS_API int locus_service_create(const struct locus_service_config *config,
                                   struct locus_service **out) LOCUS_NODISCARD;
/* Frees a service, its servers and its map. NULL is fine. Its handles become invalid. */
LOCUS_API void locus_service_destroy(struct locus_service *svc);

/*
 * Changes the scheduler of a live service. The same name keeps the state (only the flags
 * change); another drops it (LBLC and LBLCR forget their destinations) and starts afresh
 * with the servers there are. ENOENT: no such scheduler; ENOMEM: everything as before.
 */
LOCUS_API int locus_service_set_scheduler(struct locus_service *svc, const char *name,
                                          uint32_t flags,
                                          uint64_t now_ns) LOCUS_NODISCARD;

/* Takes effect at once, as the sysctls lblc_expiration and lblcr_expiration do. Any value:
 * 0 and below mean that everything has expired. Rounded down to ticks, clamped to
 * +-2^62 ns. */
LOCUS_API void locus_service_set_expiration(struct locus_service *svc,
                                            int64_t expiration_ns);

/* Starts twos' and p2c's dice anew from a seed (splitmix64, its high 32 bits scaled). The
 * map's placement stays as config.seed made it. */
LOCUS_API void locus_service_set_seed(struct locus_service *svc, uint64_t seed);
/* rules->load_bound_percent of a live service, from the next pick on. ERANGE. */
LOCUS_API int locus_service_set_load_bound(struct locus_service *svc,
                                           uint32_t percent) LOCUS_NODISCARD;
/* rules->timer_wheel of a live service; for what is armed from now on. */
LOCUS_API void locus_service_set_timer_wheel(struct locus_service *svc, bool on);

/*
 * Two schedulers that no kernel has.
 *
 * BOUNDED LOADS. chbl (V. Mirrokni, M. Thorup, M. Zadimoghaddam, "Consistent hashing with
 * bounded loads", 2016) sends a destination to the first server, in the destination's own order,
 * that is available and has fewer connections than
 *     c * (all connections + 1) * its weight / all weights
 * where "all" are those of the available servers: no quiesced, overloaded or removed one. One
 * of them is always below. Connections are active ones, as in proxies that know this
 * scheduler; with rules->spill_counts_total inactive ones too, without which UDP, never
 * active, is not bounded. A c of 1.25 lets a server have a quarter more than its share; a large
 * one is consistent hashing alone.
 * Each server is the first for its exact share, by weight, of the destinations. One that is
 * added, removed, quiesced or given another weight moves destinations to or from itself only,
 * bounds apart. The order depends on addresses and ports alone: services of equal servers agree,
 * in any process and version, on who comes first. Why: LOCUS_WHY_HIT, the first available
 * one; LOCUS_WHY_SPILLED, another, since that was at its bound. No memory per destination; a
 * pick takes time in proportion to the number of servers.
 *
 * TWO CHOICES. p2c (M. Mitzenmacher, "The power of two choices in randomized load balancing",
 * 2001) draws two different available servers, by weight, and takes the one of lower load. twos,
 * which is the kernel's, may draw one server twice, favours the first in the list a little, and
 * takes time in proportion to the number of servers, p2c to its logarithm. Both throw the
 * seed's dice.
 */

/* The index-th scheduler's name, its one-line description through *about (NULL: not
 * wanted). NULL past the end. "none" comes last. */
LOCUS_API const char *locus_scheduler_name(size_t index, const char **about);

struct locus_service_stats {
    uint64_t picks;        /* decisions asked for */
    uint64_t refusals;     /* ... that found no server */
    uint64_t bypasses;     /* ... the same, see LOCUS_NO_SERVER_BYPASS */
    uint64_t any;          /* ... the same, but got one by LOCUS_NO_SERVER_ANY */
    uint64_t hits;         /* lblc, lblcr: served from the map */
    uint64_t added;        /* ... destinations remembered */
    uint64_t moved;        /* lblc: destinations given another server */
    uint64_t grown;        /* lblcr: members added to a set that had one */
    uint64_t trimmed;      /* lblcr: members taken out of a set */
    uint64_t forgotten;    /* destinations not remembered: map full, or no memory */
    uint64_t expired;      /* destinations collected */
    uint64_t evicted;      /* destinations forgotten for new ones, see rules->evict */
    uint32_t servers;      /* in service */
    uint32_t trash;        /* removed, not yet freed */
    uint32_t destinations; /* in the map now */
    uint32_t entries;      /* as the rules count them: destinations plus leaks */
    uint64_t map_bytes;    /* memory of the map, sets included */
};
LOCUS_API void locus_service_get_stats(const struct locus_service *svc,
                                       struct locus_service_stats *out);

/* ---- real servers ---------------------------------------------------------------- */

/* Zero-initialise; weight 0 is a quiesced server, not a default. */
struct locus_server_config {
    struct locus_address address; /* unique in the service; mh hashes it */
    uint32_t weight;              /* 0..2^31-1, else ERANGE */
    uint32_t upper_threshold;     /* total connections; 0: none; above 2^31-1: EINVAL,
                                     except under LOCUS_THRESHOLD_CLASSIC */
    uint32_t lower_threshold;     /* 0: 3/4 of upper; above upper: ERANGE */
    /* lblc, lblcr: what the spill test compares the server's connections with, 0: its
     * weight (the kernel). Weights can then say shares alone: lblc moves a destination of a
     * server of weight 1 as soon as that has two connections, the default of ipvsadm, but
     * with a capacity of 100 not before it has 101. A quiesced server has none. Above
     * 2^31-1: ERANGE. */
    uint32_t capacity;
    /* Its weight counts at once, whatever rules->slow_start_ns says: for servers that were in
     * service before the caller was, and when an operator knows better. */
    bool warm;
    uint64_t tag; /* the caller's own; not interpreted */
};

/*
 * Adds a server at the head of the list (ipvsadm -a). A server of the same address that is
 * still in the trash is revived: its counters, its overload flag and the destinations that
 * point to it go on (unless rules->purge_removed). EEXIST: in service already; ERANGE,
 * EINVAL: numbers as above; ENOMEM.
 */
LOCUS_API int locus_server_add(struct locus_service *svc,
                               const struct locus_server_config *config,
                               uint64_t now_ns, uint32_t *out) LOCUS_NODISCARD;
/* Changes weight, thresholds (ipvsadm -e) and capacity; address and tag of config are not looked at.
 * The place in the list stays. ENOENT: not in service; ERANGE, EINVAL; ENOMEM. */
LOCUS_API int
locus_server_edit(struct locus_service *svc, uint32_t server,
                  const struct locus_server_config *config) LOCUS_NODISCARD;
/* Changes the weight alone; 0 quiesces. Errors as locus_server_edit(). */
LOCUS_API int locus_server_set_weight(struct locus_service *svc, uint32_t server,
                                      uint32_t weight) LOCUS_NODISCARD;
/*
 * Takes a server out of service, at once (ipvsadm -d). It goes to the trash, where its
 * connections and destinations still refer to it, and is freed by locus_tick() when
 * nothing does. To drain instead: weight 0, wait for active 0, then remove. ENOENT.
 */
LOCUS_API int locus_server_remove(struct locus_service *svc, uint32_t server,
                                  uint64_t now_ns) LOCUS_NODISCARD;
/* The server in service that has this address, or LOCUS_NO_SERVER. */
LOCUS_API uint32_t locus_server_find(const struct locus_service *svc,
                                     const struct locus_address *address);

/* The servers in list order, newest first: from LOCUS_NO_SERVER to the first, from the
 * last to LOCUS_NO_SERVER. Adding or removing servers in between is allowed, except for
 * the one just returned. */
LOCUS_API uint32_t locus_server_next(const struct locus_service *svc, uint32_t server);
/* The same over the trash, the one removed last first. */
LOCUS_API uint32_t locus_trash_next(const struct locus_service *svc, uint32_t server);

struct locus_server_info {
    struct locus_address address;
    uint64_t tag;
    uint32_t weight;
    uint32_t last_weight; /* the last that was not 0; what mh uses */
    uint32_t upper_threshold, lower_threshold;
    uint32_t capacity; /* as configured; 0: its weight */
    /* The weight that loads are divided by, in 1/256 of weight 1; below 256 * weight while slow
     * start holds the server back; 0 in the trash. */
    uint64_t weight_256ths;
    uint32_t active, inactive;
    bool overloaded;
    bool in_service;       /* false: in the trash */
    uint64_t destinations; /* references from the map or a hash table */
};
/* ENOENT: no such handle. */
LOCUS_API int locus_server_get(const struct locus_service *svc, uint32_t server,
                               struct locus_server_info *out) LOCUS_NODISCARD;

/* ---- picks and connections ------------------------------------------------------- */

struct locus_request {
    union locus_key dst; /* dh, lblc, lblcr, chbl */
    union locus_key src; /* sh, mh */
    uint16_t src_port;   /* sh, mh with LOCUS_FLAG_PORT */
};

/* Why a pick came out as it did; several may hold. */
#define LOCUS_WHY_HIT 0x01u /* the destination's own server or set served */
#define LOCUS_WHY_NEW 0x02u /* destination seen for the first time, now remembered */
#define LOCUS_WHY_FORGOTTEN 0x04u /* ... but not remembered: map full, or no memory */
#define LOCUS_WHY_MOVED 0x08u     /* lblc: the destination has a new server */
#define LOCUS_WHY_GROWN 0x10u     /* lblcr: the set has a new member */
#define LOCUS_WHY_TRIMMED 0x20u   /* lblcr: the set lost pick.trimmed */
#define LOCUS_WHY_SPILLED \
    0x40u                    /* its server was above its capacity, another under half */
#define LOCUS_WHY_DOWN 0x80u /* its server or set was quiesced, removed, overloaded */
#define LOCUS_WHY_REFUSED 0x100u /* no server */
#define LOCUS_WHY_BYPASS 0x200u  /* no server: go to the destination itself */
#define LOCUS_WHY_ANY 0x400u     /* no server by the scheduler: see rules->no_server */

struct locus_pick {
    uint32_t server;  /* LOCUS_NO_SERVER with a status of LOCUS_ENOSERVER */
    uint32_t why;     /* LOCUS_WHY_* */
    uint32_t trimmed; /* with LOCUS_WHY_TRIMMED, else LOCUS_NO_SERVER */
};

/*
 * Decides, and counts no connection: what an IPVS scheduler does. ENOSERVER: nobody is
 * available. Never fails for lack of memory.
 */
LOCUS_API int locus_schedule(struct locus_service *svc,
                             const struct locus_request *request, uint64_t now_ns,
                             struct locus_pick *pick) LOCUS_NODISCARD;

enum locus_conn_state {
    LOCUS_INACTIVE = 0,
    LOCUS_ACTIVE = 1, /* TCP: from the first packet to the FIN. UDP: never */
};

/* Decides and binds a connection of that state in one step. ENOSERVER; ERANGE: the server
 * has 2^31-1 connections (nothing is bound). */
LOCUS_API int locus_connect(struct locus_service *svc,
                            const struct locus_request *request, uint64_t now_ns,
                            enum locus_conn_state state,
                            struct locus_pick *pick) LOCUS_NODISCARD;

/*
 * count picks and binds at one moment, one after the other: the same decisions as that many
 * calls of locus_connect(), at a fraction of the cost where the map does not fit the cache,
 * since its lines are fetched ahead. servers[i] is LOCUS_NO_SERVER for a refused one.
 * Returns how many were bound. Batches of 16 to 256 pay most.
 */
LOCUS_API size_t locus_connect_batch(struct locus_service *svc,
                                     const struct locus_request *requests, size_t count,
                                     uint64_t now_ns, enum locus_conn_state state,
                                     uint32_t *servers);

/*
 * A connection counts on its server from bind to unbind. The caller remembers server and
 * state; locus keeps counters only. The server may be in the trash meanwhile. ENOENT: no
 * such handle; ERANGE: more than 2^31-1, or fewer than 0: nothing is counted.
 */
LOCUS_API int locus_conn_bind(struct locus_service *svc, uint32_t server,
                              enum locus_conn_state state);
LOCUS_API int locus_conn_move(struct locus_service *svc, uint32_t server,
                              enum locus_conn_state from, enum locus_conn_state to);
LOCUS_API int locus_conn_unbind(struct locus_service *svc, uint32_t server,
                                enum locus_conn_state state);

/* ---- periodic work --------------------------------------------------------------- */

/*
 * Does what is due by now: collects expired destinations, looks through the trash, purges
 * removed servers, goes on with slow starts. Looks at no more than budget map slots, or
 * servers, per call (SIZE_MAX: no bound; a slot that is taken out counts for eight more, by
 * what it costs), so that the caller chooses the pause: 10,000 take less than 100
 * microseconds. Returns true when nothing that was due is left. Slices with
 * no event in between do together what one call does.
 */
LOCUS_API bool locus_tick(struct locus_service *svc, uint64_t now_ns, size_t budget);
/* When locus_tick() has something to do next; a time already past while work is left over;
 * LOCUS_NEVER when there is nothing. A kernel's timers fire at this very time. */
LOCUS_API uint64_t locus_tick_due(const struct locus_service *svc);

/* ---- snapshots ------------------------------------------------------------------- */

/*
 * What a restarted director needs to go on where it was: its destinations and their servers,
 * what the collector counts, the servers in service and in the trash with their connection
 * counts, whose turn it is. Rules, expiration, seed and tick_ns are configuration, which the
 * caller gives again; where they are the same, all later decisions are those of the
 * service that was saved. But for three things: mh with more servers than its 4,093 slots;
 * p2c, whose dice fall on handles, which are given anew; and slow starts under way, which are
 * over: servers that come with a snapshot have their whole weight.
 *
 * Times are saved as ages, so that the clock may start anywhere (with rules->timer_wheel
 * later periodic work is due as in the saved service only if the clock goes on, too).
 */

/* Takes all size bytes. Anything but LOCUS_OK ends the save, which then returns it. */
typedef int locus_write_fn(void *arg, const void *bytes, size_t size);
/* Gives all size bytes: exactly those of a snapshot are asked for, none beyond its end. Anything
 * but LOCUS_OK (say LOCUS_EFORMAT at the end of a file, LOCUS_EIO) ends the load, which
 * then returns it. */
typedef int locus_read_fn(void *arg, void *bytes, size_t size);

/*
 * Does what is due by now, as locus_tick() without a bound, and writes the service in pieces
 * of 4 KiB at most. An IPv4 destination of one server takes 16 bytes, another 28, each
 * server more of a set 4. The same service and seed give the same bytes. ENOMEM (it takes
 * 4 bytes per server and some 130 KB), or what write returned.
 */
LOCUS_API int locus_snapshot_save(struct locus_service *svc, uint64_t now_ns,
                                  locus_write_fn *write, void *arg) LOCUS_NODISCARD;

/* Zero-initialise. */
struct locus_snapshot_options {
    uint64_t now_ns;
    /* How long the director was away. All ages grow by it; destinations idle for the
     * expiration by now are left out. 0: nothing is left out that the collector left. */
    uint64_t away_ns;
    /* Servers that the service does not have are added, as they were saved, to service or
     * trash. false: it has the servers that it is to have, and what the map says of others
     * is left out. */
    bool add_servers;
    /* The connections go on, as where a successor takes over: counts and overload flags are
     * set as saved. false: they are gone, and servers keep the counts they have. */
    bool connections;
};

struct locus_snapshot_report {
    uint32_t servers;         /* of the snapshot that the service has now */
    uint32_t unknown_servers; /* ... that it does not have */
    uint32_t loaded;          /* destinations in the map now */
    uint32_t thinned;         /* ... of them, that lack an unknown server */
    uint32_t skipped;         /* destinations left out: all their servers are unknown */
    uint32_t expired;         /* ... since they have expired while away */
    uint32_t beyond_bound;    /* ... since max_entries is smaller now: the first ones */
};

/*
 * Loads a snapshot into a service of the same family and scheduler that has no destinations,
 * no trash and, with options->connections, no connections. Servers are matched by address;
 * those that the service has keep their configuration and their place in the list, others
 * are added before them. Counters of locus_service_stats are not part of it.
 *
 * Any bytes may come: they are checked before they are believed, and memory grows with what
 * was read only. The checksums find damage; whoever forges a snapshot decides what is in
 * it, within the ranges. All or nothing: on failure the service is as it was, report untouched
 * (NULL: not wanted). EFORMAT: not a snapshot, or damaged; ENOTSUP: of a later version;
 * EINVAL: of another family or scheduler; EBUSY: the service is not as above; ERANGE:
 * numbers of a server that the rules refuse; ENOMEM; or what read returned.
 */
LOCUS_API int locus_snapshot_load(struct locus_service *svc,
                                  const struct locus_snapshot_options *options,
                                  locus_read_fn *read, void *arg,
                                  struct locus_snapshot_report *report) LOCUS_NODISCARD;

/* ---- introspection --------------------------------------------------------------- */

struct locus_destination {
    union locus_key key;
    uint64_t lastuse_ns; /* a multiple of tick_ns; 0: before the clock began */
    uint64_t lastmod_ns; /* lblcr; for lblc when the server was given */
    uint32_t servers;    /* members of its set; 1 for lblc */
};
/*
 * What the map holds for a destination: true if it does. Up to capacity members go to
 * servers, newest first (out->servers may be more). Looking renews nothing.
 */
LOCUS_API bool locus_destination_get(const struct locus_service *svc,
                                     const union locus_key *key,
                                     struct locus_destination *out, uint32_t *servers,
                                     size_t capacity);

/* Called once per destination with its members, newest first, borrowed for the call. */
typedef void locus_destination_fn(void *arg,
                                  const struct locus_destination *destination,
                                  const uint32_t *servers);
/* Visits all, in an order that means nothing. ENOMEM only for the members' buffer. */
LOCUS_API int locus_destinations_visit(const struct locus_service *svc,
                                       locus_destination_fn *visit,
                                       void *arg) LOCUS_NODISCARD;

enum locus_value_kind { LOCUS_VALUE_NUMBER, LOCUS_VALUE_SERVER };
/* One named value of a scheduler's state; a server may be LOCUS_NO_SERVER. Tables come as
 * one call per bucket, in order, named "bucket". */
typedef void locus_value_fn(void *arg, const char *name, enum locus_value_kind kind,
                            uint64_t value);
/* The scheduler's own state: rr last; wrr cl cw mw di; dh, sh bucket...; mh gcd rshift
 * bucket...; lblc, lblcr entries linked max_size rover counter. Others have none. */
LOCUS_API void locus_scheduler_describe(const struct locus_service *svc,
                                        locus_value_fn *visit, void *arg);
/* The name and flags in force. */
LOCUS_API const char *locus_service_scheduler(const struct locus_service *svc,
                                              uint32_t *flags);

#ifdef __cplusplus
}
#endif

#endif
