/* SPDX-License-Identifier: MIT */
/*
 * The inside of a service: servers in stable slots, the list that gives them an order, the
 * clock, and the scheduler's state. All else of the core is functions on it.
 */
#ifndef LOCUS_CORE_H
#define LOCUS_CORE_H

#include "../base/hash.h"

/* uthash ends the process when memory runs out, unless told not to. Addresses come from
 * outside, so their hash is keyed; svc is in scope wherever the table is used. */
#define HASH_NONFATAL_OOM 1
#define HASH_FUNCTION(key, length, hash) \
    ((hash) = (unsigned)locus_siphash13(svc->seed, svc->seed, key, length))
#include <uthash.h>

#include "../base/alloc.h"
#include "../base/compiler.h"
#include "sched.h"

enum server_state { SERVER_FREE, SERVER_IN_SERVICE, SERVER_IN_TRASH };

/* What is compared to find the least loaded server. */
struct load {
    uint64_t cost;    /* overhead under the scheduler's load rule */
    uint64_t rank;    /* equal loads: the higher rank wins; by order of adding */
    uint32_t divisor; /* weight (1 where weights do not count), 0: not to be picked */
    uint32_t server;  /* its slot */
};

/*
 * What picks and connection events touch of a server: one cache line. Invariants:
 *   load.divisor > 0  <=>  in service, weight > 0 and not overloaded
 *   load.divisor, where weights count = weight or, with slow start, the share that is in
 *   force (see slowstart.h)
 *   load.cost = base + per_active * active + per_inactive * inactive
 *   spill_load = active, with rules->spill_counts_total inactive too
 *   limit = capacity if load.divisor > 0, else -1: what spill_load must exceed to spill
 *   half = ceil(capacity / 2), with slow start that of the part of the capacity which the
 *   share is of the weight; or 0 if the server is not to be counted in svc->under_half;
 *   svc->under_half = servers with spill_load < half
 *   watched_from = 0 with thresholds or a selection index, else INT32_MAX
 */
struct server {
    struct load load;
    uint32_t conns[2]; /* by enum locus_conn_state; INT32_MAX together at most */
    uint32_t spill_load, half;
    int32_t limit;
    uint32_t watched_from; /* from so many connections on, changes have consequences */
    uint32_t weight;       /* as configured */
    uint32_t refs;         /* destinations or buckets that name it */
    uint32_t next;         /* in svc->list or svc->trash */
    uint8_t state;         /* enum server_state */
    bool overloaded;
};

/* How much of its weight counts; shares are in 1/256 of weight 1. */
struct ramp {
    uint64_t share; /* in force; all of the weight but for slow start */
    uint64_t from,
        to;         /* while it grows: where it began, and will have come to in time */
    uint64_t begun; /* tick; LOCUS_NEVER: as of the next look at it */
    uint32_t prev, next; /* of those that grow */
    bool growing;
};

/* The rest of a server. Allocated one by one: uthash keeps pointers to it. */
struct identity {
    UT_hash_handle
        hh; /* in svc->by_address, unless the rules purge and it is in the trash */
    struct {
        uint32_t family;
        uint32_t port;
        uint8_t bytes[16];
    } key; /* the address, without padding that could differ */
    uint64_t tag;
    uint32_t slot;
    uint32_t prev; /* in svc->list or svc->trash */
    uint32_t last_weight;
    uint32_t upper, lower; /* thresholds as configured; upper 0: none */
    uint32_t capacity;     /* as configured; 0: the weight */
    bool idle;             /* the trash has found it unreferenced ... */
    uint64_t idle_since;   /* ... at this tick */
    struct ramp ramp;
};

/* A list of slots, linked through next and prev; its ends are LOCUS_NO_SERVER. */
struct server_list {
    uint32_t head;
    uint32_t count;
};

/* A kernel timer: due when the clock reaches that tick; of equals, the one armed first. */
struct timer {
    uint64_t due; /* LOCUS_NEVER: not armed */
    uint64_t order;
};

struct slow_start {
    uint64_t window; /* ticks; 0: off */
    unsigned shift;  /* from shares to divisors */
    uint32_t head;   /* the servers that grow */
    struct timer timer;
    bool running;    /* a look through them is under way */
    uint32_t cursor; /* the next server it looks at */
    uint64_t now;    /* the tick at which it began */
};

struct locality;

struct locus_service {
    struct locus_allocator allocator;
    struct locus_rules rules;
    enum locus_family family;
    bool wide; /* keys of 128 bits */
    uint64_t seed;
    uint64_t rng; /* twos' and p2c's dice */

    uint64_t tick_ns;
    uint64_t tick;        /* now_ns / tick_ns */
    uint64_t tick_end_ns; /* when the next tick begins: spares a division per pick */
    int64_t expiration;   /* ticks */
    int64_t set_decay;    /* ticks; INT64_MAX: same as expiration */

    struct server *servers; /* by slot; aligned to cache lines within servers_block */
    void *servers_block;
    struct identity **identities;
    uint32_t capacity;        /* slots allocated */
    uint32_t slots;           /* slots ever used: 0..slots-1 */
    uint32_t unused;          /* free slots, linked through next */
    struct server_list list;  /* in service, newest first */
    struct server_list trash; /* removed, latest first */
    struct identity *by_address;
    uint64_t next_rank;
    uint32_t weight_max; /* no server ever had a higher weight */
    uint32_t under_half; /* servers with spill load < half */

    struct load_index *index; /* the selection index, see select.c */
    bool indexed;             /* enough servers for it */
    bool narrow;              /* no product of cost and weight exceeds 64 bits */

    const struct sched_ops *ops;
    uint32_t flags;
    void *state;                /* ops->state_size bytes */
    void *slot_state;           /* ops->slot_size bytes per slot, capacity of them */
    struct load_rule load_rule; /* as the scheduler wants it */
    uint32_t cost_of[2];        /* of a connection, by enum locus_conn_state */
    bool spills_by[2];          /* whether it counts in spill_load, the same way */
    struct locality *locality;  /* lblc's and lblcr's part of state, else NULL */
    uint32_t expected_entries, map_load_percent;

    uint64_t timer_order;
    struct timer trash_timer;
    bool trash_running;    /* a look through the trash is under way */
    uint32_t trash_cursor; /* the next server it looks at */
    uint64_t trash_now;    /* the tick at which it began */
    struct slow_start slow;

    uint64_t easy_hits; /* picks and hits that are not in stats */
    struct locus_service_stats
        stats; /* its counters; sizes are filled in when asked for */
};

/* ---- servers ---- */

static inline void server_ref(struct locus_service *svc, uint32_t server)
{
    svc->servers[server].refs++;
}

static inline void server_unref(struct locus_service *svc, uint32_t server)
{
    svc->servers[server].refs--;
}

/* Whether a caller's number is that of a server, and of one in service. */
static inline bool server_known(const struct locus_service *svc, uint32_t server)
{
    return server < svc->slots && svc->servers[server].state != SERVER_FREE;
}

static inline bool server_in_service(const struct locus_service *svc, uint32_t server)
{
    return server < svc->slots && svc->servers[server].state == SERVER_IN_SERVICE;
}

/* A removed server that will not come back: no destination knows it any more. */
static inline bool server_purged(const struct locus_service *svc, uint32_t server)
{
    return svc->rules.purge_removed && svc->servers[server].state != SERVER_IN_SERVICE;
}

static inline uint32_t server_total(const struct server *s)
{
    return s->conns[LOCUS_INACTIVE] + s->conns[LOCUS_ACTIVE];
}

/* The connections above which it spills. */
static inline uint32_t server_capacity(const struct locus_service *svc,
                                       const struct server *s)
{
    uint32_t configured = svc->identities[s->load.server]->capacity;

    return s->weight == 0 || configured == 0 ? s->weight : configured;
}

#endif
