/* SPDX-License-Identifier: MIT */
/*
 * What lblc and lblcr share: the map from destinations to servers, the count of entries and
 * its bounds, and the collector. A struct locality is the whole of their state; the service
 * runs its periodic work.
 *
 * The collector, by the kernel's rules (lblc and lblcr alike), every gc_interval:
 *
 *     counter % gc_full_every == 0: take every entry that has expired; counter = 1
 *     else entries <= soft_entries: counter + 1
 *     else: take stale entries bucket by bucket (the kernel's 1,024 hash buckets) from
 *         behind the rover until the goal of min((entries - soft) * 4/3, soft / 2) is
 *         met; the rover stays at the last bucket
 *
 * Buckets exist in the rules only. To take the same entries from a map that has none, one
 * pass counts the stale entries per bucket and finds where the rover stops, a second
 * pass takes them.
 *
 * With rules->evict the destinations stand in a queue too, each once, in the order in which
 * they came; which one a full map forgets then depends neither on the size of its table nor
 * on its seed. The queue holds keys, since entries move. So that none is left of a
 * destination that is gone, whoever takes destinations out goes by the queue: each job has
 * it go round once, and the table has only its memory given back, behind.
 */
#ifndef LOCUS_LOCALITY_H
#define LOCUS_LOCALITY_H

#include "../state/clock.h"
#include "destmap_walk.h"
#include "keyqueue.h"

enum { GC_BUCKET_BITS = 10, GC_BUCKETS = 1 << GC_BUCKET_BITS };

enum locality_job { JOB_NONE, JOB_EXPIRE, JOB_COUNT, JOB_TAKE, JOB_PURGE, JOB_SHRINK };

/* A destination as it was looked for: what an insert needs if it is not there. */
struct looked_up {
    const union locus_key *key;
    uint64_t hash;
    struct dest *dest; /* NULL: not there */
};

struct locality {
    struct destmap map;
    struct keyqueue queue; /* with rules->evict; ticks: lastuse when it was put in */
    uint32_t entries;      /* destinations, plus what the rules leak */
    uint32_t rover, counter;
    struct timer gc;
    bool purge_wanted; /* a removed server has destinations left */

    enum locality_job job;
    struct destmap_walk walk;
    uint64_t job_tick; /* when the job began: ages are as of then */
    uint64_t job_left; /* keys of the queue that the job has not seen */
    bool job_removed;  /* it took something out by the queue */
    uint32_t job_span; /* JOB_TAKE: buckets behind the rover that are taken from */
    uint32_t stale[GC_BUCKETS];
};

/* The hooks of lblc and lblcr; see struct sched_ops. */
void locus_locality_init(struct locus_service *svc);
void locus_locality_fini(struct locus_service *svc);
void locus_locality_server_event(struct locus_service *svc, uint32_t server,
                                 enum server_event event);
void locus_locality_describe(const struct locus_service *svc, locus_value_fn *value,
                             void *arg);

/* Begins the collector's run. */
void locus_locality_collect(struct locus_service *svc);
/* Begins to take purged servers out. */
void locus_locality_purge(struct locus_service *svc);
/* Goes on with the job, at most budget slots; how many. svc->locality->job is JOB_NONE when
 * it is done. */
size_t locus_locality_run(struct locus_service *svc, size_t budget);

static inline bool dest_is_set(const struct dest *dest)
{
    return dest->ref >> 31 != 0;
}

static inline uint32_t dest_server(const struct dest *dest)
{
    return dest->ref - 1;
}

static inline bool age_has_expired(const struct locus_service *svc, int64_t age)
{
    return svc->rules.gc_strict ? age > svc->expiration : age >= svc->expiration;
}

static inline uint32_t locality_hit(struct locus_service *svc, struct dest *dest,
                                    uint32_t server, struct locus_pick *pick)
{
    dest->lastuse = tick32(svc);
    svc->stats.hits++;
    pick->why |= LOCUS_WHY_HIT;
    return server;
}

/* Remembers a new destination, if the rules and memory have room for it; says so in
 * pick->why and the counters. */
void locus_locality_add(struct locus_service *svc, const struct looked_up *what,
                        uint32_t server, struct locus_pick *pick);
/* Remembers a destination of a snapshot, that must not be there, with one server; used:
 * looked up since the queue took it in. NULL: no memory. */
struct dest *locus_locality_restore(struct locus_service *svc,
                                    const union locus_key *key, uint32_t server,
                                    uint32_t lastuse, bool used);
/* Forgets all destinations. No job may be in hand. */
void locus_locality_clear(struct locus_service *svc);
/* Forgets a destination and lets go of its servers. With rules->evict it must be
 * out of the queue. */
void locus_locality_forget(struct locus_service *svc, struct dest *dest);
/* Gives a destination that only purged servers had another one, as if it were new. */
void locus_locality_renew(struct locus_service *svc, struct dest *dest, uint32_t server,
                          struct locus_pick *pick);

/* The members of a destination, oldest first; single is where a lone one is put. */
static inline uint32_t dest_members(const struct locality *loc, const struct dest *dest,
                                    uint32_t *single, const uint32_t **members)
{
    if (!dest_is_set(dest)) {
        *single = dest_server(dest);
        *members = single;
        return 1;
    }
    const struct server_set *set = locus_set_get(&loc->map.sets, dest->ref);
    *members = set->members;
    return set->size;
}

/* Adds the newest member. false: no memory, nothing changed. */
bool locus_dest_push(struct locus_service *svc, struct dest *dest, uint32_t server);
/* Takes the index-th of two or more members out. */
void locus_dest_drop(struct locus_service *svc, struct dest *dest, uint32_t index);
/* Takes purged servers out. false: none is left, and dest is as it was. */
bool locus_dest_purge(struct locus_service *svc, struct dest *dest);

#endif
