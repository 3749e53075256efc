/* SPDX-License-Identifier: MIT */
/* Picks, and the connections that come with them. What every request passes is in here. */
#include "../destinations/locality.h"
#include "../load/counters.h"
#include "../load/load.h"
#include "../load/select.h"
#include "../sched/schedulers.h"
#include "../state/clock.h"

#define NEAR_BYTES (1 << 20) /* a map that the second cache holds: nothing to fetch */

/* The scheduler has found no server: what the rules say to that. */
static NOINLINE uint32_t decide_without(struct locus_service *svc,
                                        struct locus_pick *pick)
{
    uint32_t server = LOCUS_NO_SERVER;

    if (svc->rules.no_server == LOCUS_NO_SERVER_ANY && svc->ops != &locus_sched_none) {
        server = locus_any_server(svc);
    }
    if (server != LOCUS_NO_SERVER) {
        svc->stats.any++;
        pick->why |= LOCUS_WHY_ANY;
    } else if (svc->rules.no_server == LOCUS_NO_SERVER_BYPASS) {
        svc->stats.bypasses++;
        pick->why |= LOCUS_WHY_BYPASS;
    } else {
        svc->stats.refusals++;
        pick->why |= LOCUS_WHY_REFUSED;
    }
    return server;
}

enum { NO_BIND = 2 }; /* in place of a connection's state: decide only */

/* What the scheduler has decided, and the connection; or what the rules say to nobody. */
static inline int settle(struct locus_service *svc, uint32_t server, unsigned at,
                         struct locus_pick *pick)
{
    svc->stats.picks++;
    if (UNLIKELY(server == LOCUS_NO_SERVER)) {
        server = decide_without(svc, pick);
    }
    pick->server = server;
    if (server == LOCUS_NO_SERVER) {
        return LOCUS_ENOSERVER;
    }
    return at == NO_BIND ? LOCUS_OK : server_bind(svc, &svc->servers[server], at);
}

static NOINLINE int pick_scheduled(struct locus_service *svc,
                                   const struct locus_request *request, unsigned at,
                                   struct locus_pick *pick)
{
    pick->why = 0;
    pick->trimmed = LOCUS_NO_SERVER;
    return settle(svc, svc->ops->schedule(svc, request, pick), at, pick);
}

static NOINLINE int pick_placed(struct locus_service *svc, const union locus_key *key,
                                uint64_t hash, struct dest *dest, unsigned at,
                                struct locus_pick *pick)
{
    const struct looked_up what = {key, hash, dest};

    pick->why = 0;
    pick->trimmed = LOCUS_NO_SERVER;
    return settle(svc, svc->ops->place(svc, &what, pick), at, pick);
}

/*
 * What nearly every pick of lblc and lblcr comes to is settled here: the destination is known
 * and has one server, which serves it. All else is in functions of its own and the last
 * thing done, so that this needs no stack.
 */
static ALWAYS_INLINE int pick_from_map(struct locus_service *svc,
                                       const union locus_key *key, unsigned at,
                                       struct locus_pick *pick, bool wide)
{
    const struct destmap *map = &svc->locality->map;
    uint64_t hash = hash_key(&map->seed, key, wide);
    struct dest *dest = destmap_probe(destmap_segment(map, hash), key, hash, wide);

    if (UNLIKELY(dest == NULL || dest_is_set(dest))) {
        return pick_placed(svc, key, hash, dest, at, pick);
    }
    struct server *own = &svc->servers[(size_t)dest->ref - 1];
    if (UNLIKELY(!serves_easily(svc, own))) {
        return pick_placed(svc, key, hash, dest, at, pick);
    }
    dest->lastuse = tick32(svc);
    svc->easy_hits++;
    *pick = (struct locus_pick){dest_server(dest), LOCUS_WHY_HIT, LOCUS_NO_SERVER};
    return at == NO_BIND ? LOCUS_OK : server_bind(svc, own, at);
}

static NOINLINE int pick_from_wide_map(struct locus_service *svc,
                                       const union locus_key *key, unsigned at,
                                       struct locus_pick *pick)
{
    return pick_from_map(svc, key, at, pick, true);
}

/* A decision, and a connection of that state (or NO_BIND). */
static ALWAYS_INLINE int pick_one(struct locus_service *svc,
                                  const struct locus_request *request, unsigned at,
                                  struct locus_pick *pick)
{
    if (UNLIKELY(svc->locality == NULL)) {
        return pick_scheduled(svc, request, at, pick);
    }
    return UNLIKELY(svc->wide) ? pick_from_wide_map(svc, &request->dst, at, pick)
                               : pick_from_map(svc, &request->dst, at, pick, false);
}

int locus_schedule(struct locus_service *svc, const struct locus_request *request,
                   uint64_t now_ns, struct locus_pick *pick)
{
    clock_set(svc, now_ns);
    return pick_one(svc, request, NO_BIND, pick);
}

int locus_connect(struct locus_service *svc, const struct locus_request *request,
                  uint64_t now_ns, enum locus_conn_state state, struct locus_pick *pick)
{
    clock_set(svc, now_ns);
    return pick_one(svc, request, index_of(state), pick);
}

/* Has the memory fetched that the pick for a request needs first. */
static ALWAYS_INLINE void prefetch(const struct locus_service *svc,
                                   const struct locus_request *request)
{
    const struct destmap *map = &svc->locality->map;

    destmap_prefetch(map, destmap_hash(map, &request->dst));
}

size_t locus_connect_batch(struct locus_service *svc,
                           const struct locus_request *requests, size_t count,
                           uint64_t now_ns, enum locus_conn_state state,
                           uint32_t *servers)
{
    enum { AHEAD = 16 };
    bool fetch = svc->locality != NULL && svc->locality->map.bytes > NEAR_BYTES;
    size_t fetched = fetch ? 0 : count;
    struct locus_pick pick;
    size_t bound = 0;

    clock_set(svc, now_ns);
    for (size_t i = 0; i < count; i++) {
        for (; fetched < count && fetched <= i + AHEAD; fetched++) {
            prefetch(svc, &requests[fetched]);
        }
        bool ok = pick_one(svc, &requests[i], index_of(state), &pick) == LOCUS_OK;
        servers[i] = ok ? pick.server : LOCUS_NO_SERVER;
        bound += ok;
    }
    return bound;
}
