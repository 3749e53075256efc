/* SPDX-License-Identifier: MIT */
/*
 * Services: create and destroy, the scheduler's life, picks, the clock and periodic work,
 * introspection.
 */
#include "clock.h"
#include "counters.h"
#include "derived.h"
#include "locality.h"
#include "schedulers.h"
#include "slowstart.h"

#include <stdlib.h>

#define TICK_NS_DEFAULT 1000000u
#define EXPIRATION_NS_DEFAULT (24 * 3600 * INT64_C(1000000000))
#define EXPIRATION_NS_MAX (INT64_C(1) << 62)
#define NEAR_BYTES (1 << 20) /* a map that the second cache holds: nothing to fetch */

/* ---- memory ---- */

static void *heap_alloc(void *ctx, size_t size)
{
    (void)ctx;
    return malloc(size);
}

static void heap_free(void *ctx, void *ptr, size_t size)
{
    (void)ctx;
    (void)size;
    free(ptr);
}

/* ---- the scheduler's life ---- */

static struct load_rule load_of(const struct locus_service *svc,
                                const struct sched_ops *ops)
{
    if (ops->load != NULL) {
        return ops->load(&svc->rules);
    }
    return (struct load_rule){
        .per_active = svc->rules.active_cost, .per_inactive = 1, .weighted = true};
}

/* What a scheduler has memory for: itself, and each slot. NULL where that takes no bytes. */
struct sched_memory {
    void *state, *slots;
};

static int make_state(const struct locus_allocator *allocator,
                      const struct sched_ops *ops, uint32_t capacity,
                      struct sched_memory *out)
{
    size_t slots_size = capacity * ops->slot_size;

    out->state = ops->state_size > 0 ? alloc_zeroed(allocator, ops->state_size) : NULL;
    out->slots = slots_size > 0 ? alloc_zeroed(allocator, slots_size) : NULL;
    if ((out->state == NULL && ops->state_size > 0) ||
        (out->slots == NULL && slots_size > 0)) {
        release(allocator, out->state, ops->state_size);
        release(allocator, out->slots, slots_size);
        return LOCUS_ENOMEM;
    }
    return LOCUS_OK;
}

static void stop_scheduler(struct locus_service *svc)
{
    if (svc->ops->fini != NULL) {
        svc->ops->fini(svc);
    }
    release(&svc->allocator, svc->state, svc->ops->state_size);
    release(&svc->allocator, svc->slot_state, svc->capacity * svc->ops->slot_size);
    svc->state = svc->slot_state = NULL;
}

static void start_scheduler(struct locus_service *svc, const struct sched_ops *ops,
                            const struct sched_memory *memory)
{
    svc->ops = &locus_sched_none; /* init() is the first that ops hears of servers */
    svc->load_rule = load_of(svc, ops);
    svc->cost_of[LOCUS_INACTIVE] = svc->load_rule.per_inactive;
    svc->cost_of[LOCUS_ACTIVE] = svc->load_rule.per_active;
    locus_servers_refresh(svc);
    locus_select_reset(svc);
    svc->ops = ops;
    svc->state = memory->state;
    svc->slot_state = memory->slots;
    if (ops->init != NULL) {
        ops->init(svc);
    }
}

int locus_service_set_scheduler(struct locus_service *svc, const char *name,
                                uint32_t flags, uint64_t now_ns)
{
    const struct sched_ops *ops = name != NULL ? locus_sched_find(name) : NULL;
    struct sched_memory memory;

    if (ops == NULL) {
        return LOCUS_ENOENT;
    }
    if (flags & ~(LOCUS_FLAG_FALLBACK | LOCUS_FLAG_PORT)) {
        return LOCUS_EINVAL;
    }
    if (ops != svc->ops) {
        int status = make_state(&svc->allocator, ops, svc->capacity, &memory);
        if (status != LOCUS_OK) {
            return status;
        }
        clock_set(svc, now_ns);
        stop_scheduler(svc);
        start_scheduler(svc, ops, &memory);
    }
    svc->flags = flags;
    return LOCUS_OK;
}

const char *locus_service_scheduler(const struct locus_service *svc, uint32_t *flags)
{
    if (flags != NULL) {
        *flags = svc->flags;
    }
    return svc->ops->name;
}

/* ---- services ---- */

static bool slow_start_in_range(const struct locus_rules *rules)
{
    return rules->slow_start_ns == 0 ||
           (rules->slow_start_ns <= LOCUS_SLOW_START_NS_MAX &&
            rules->slow_start_exponent >= 1 && rules->slow_start_exponent <= 8 &&
            rules->slow_start_floor_percent >= 1 &&
            rules->slow_start_floor_percent <= 100);
}

static bool is_load_bound(uint32_t percent)
{
    return percent >= LOCUS_LOAD_BOUND_PERCENT_MIN &&
           percent <= LOCUS_LOAD_BOUND_PERCENT_MAX;
}

static int check_config(const struct locus_service_config *config,
                        const struct locus_rules *rules)
{
    if ((unsigned)config->family > LOCUS_NAME ||
        (config->scheduler_flags & ~(LOCUS_FLAG_FALLBACK | LOCUS_FLAG_PORT)) ||
        (unsigned)rules->threshold > LOCUS_THRESHOLD_PLAIN ||
        (unsigned)rules->tie_break > LOCUS_TIE_OLDEST ||
        (unsigned)rules->no_server > LOCUS_NO_SERVER_ANY ||
        (rules->evict && rules->leak_entries)) {
        return LOCUS_EINVAL;
    }
    if (rules->active_cost < 1 || rules->active_cost > 65536 ||
        rules->gc_full_every < 1 || !is_load_bound(rules->load_bound_percent) ||
        config->max_entries > 1u << 27 || config->expected_entries > 1u << 27 ||
        (config->map_load_percent != 0 &&
         (config->map_load_percent < 20 || config->map_load_percent > 85)) ||
        !slow_start_in_range(rules)) {
        return LOCUS_ERANGE;
    }
    return LOCUS_OK;
}

static void configure(struct locus_service *svc,
                      const struct locus_service_config *config)
{
    svc->family = config->family != 0 ? config->family : LOCUS_IPV4;
    svc->wide = svc->family != LOCUS_IPV4;
    svc->seed = svc->rng = config->seed;
    svc->tick_ns = config->tick_ns != 0 ? config->tick_ns : TICK_NS_DEFAULT;
    set_tick(svc, config->now_ns);
    locus_service_set_expiration(svc, config->expiration_ns != 0
                                          ? config->expiration_ns
                                          : EXPIRATION_NS_DEFAULT);
    svc->set_decay = svc->rules.set_decay_ns > INT64_MAX
                         ? INT64_MAX
                         : locus_ticks_of(svc, (int64_t)svc->rules.set_decay_ns);
    if (config->max_entries != 0) {
        svc->rules.max_entries = config->max_entries;
        svc->rules.soft_entries = config->max_entries - config->max_entries / 3;
    }
    svc->expected_entries = config->expected_entries;
    svc->map_load_percent = config->map_load_percent;
    svc->unused = svc->trash_cursor = LOCUS_NO_SERVER;
    svc->list = svc->trash = (struct server_list){LOCUS_NO_SERVER, 0};
    svc->next_rank = 1; /* above that of nobody */
    svc->spills_by[LOCUS_ACTIVE] = true;
    svc->spills_by[LOCUS_INACTIVE] = svc->rules.spill_counts_total;
    svc->trash_timer.due = LOCUS_NEVER;
    locus_slowstart_init(svc);
    svc->flags = config->scheduler_flags;
}

int locus_service_create(const struct locus_service_config *config,
                         struct locus_service **out)
{
    static const struct locus_allocator heap = {heap_alloc, heap_free, NULL};
    const struct locus_allocator *allocator =
        config->allocator != NULL ? config->allocator : &heap;
    const struct locus_rules *rules =
        config->rules != NULL ? config->rules : locus_rules_find(NULL);
    const struct sched_ops *ops =
        locus_sched_find(config->scheduler != NULL ? config->scheduler : "wlc");
    int status = check_config(config, rules);
    struct sched_memory memory;

    *out = NULL;
    if (status != LOCUS_OK || ops == NULL) {
        return status != LOCUS_OK ? status : LOCUS_ENOENT;
    }
    struct locus_service *svc = alloc_zeroed(allocator, sizeof(*svc));
    if (svc == NULL) {
        return LOCUS_ENOMEM;
    }
    status = make_state(allocator, ops, 0, &memory);
    if (status != LOCUS_OK) {
        release(allocator, svc, sizeof(*svc));
        return status;
    }
    svc->allocator = *allocator;
    svc->rules = *rules;
    configure(svc, config);
    start_scheduler(svc, ops, &memory);
    *out = svc;
    return LOCUS_OK;
}

void locus_service_destroy(struct locus_service *svc)
{
    if (svc == NULL) {
        return;
    }
    struct locus_allocator allocator = svc->allocator;
    stop_scheduler(svc);
    locus_servers_fini(svc);
    release(&allocator, svc, sizeof(*svc));
}

void locus_service_set_expiration(struct locus_service *svc, int64_t expiration_ns)
{
    if (expiration_ns > EXPIRATION_NS_MAX) {
        expiration_ns = EXPIRATION_NS_MAX;
    } else if (expiration_ns < -EXPIRATION_NS_MAX) {
        expiration_ns = -EXPIRATION_NS_MAX;
    }
    svc->expiration = locus_ticks_of(svc, expiration_ns);
}

void locus_service_set_seed(struct locus_service *svc, uint64_t seed)
{
    svc->rng = seed;
}

int locus_service_set_load_bound(struct locus_service *svc, uint32_t percent)
{
    if (!is_load_bound(percent)) {
        return LOCUS_ERANGE;
    }
    svc->rules.load_bound_percent = percent;
    return LOCUS_OK;
}

void locus_service_set_timer_wheel(struct locus_service *svc, bool on)
{
    svc->rules.timer_wheel = on;
}

/* ---- picks ---- */

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

/* ---- periodic work ---- */

static bool at_work(const struct locus_service *svc)
{
    return svc->trash_running || svc->slow.running ||
           (svc->locality != NULL && svc->locality->job != JOB_NONE);
}

static size_t work(struct locus_service *svc, size_t budget)
{
    if (svc->slow.running) {
        return locus_slowstart_run(svc, budget);
    }
    return svc->trash_running ? locus_trash_run(svc, budget)
                              : locus_locality_run(svc, budget);
}

static bool fires_before(const struct timer *a, const struct timer *b)
{
    return a->due != b->due ? a->due < b->due : a->order < b->order;
}

/* The timer that fires next; due may be LOCUS_NEVER. */
static const struct timer *next_timer(const struct locus_service *svc)
{
    const struct timer *next = &svc->trash_timer;

    if (fires_before(&svc->slow.timer, next)) {
        next = &svc->slow.timer;
    }
    if (svc->locality != NULL && fires_before(&svc->locality->gc, next)) {
        next = &svc->locality->gc;
    }
    return next;
}

static void begin_trash(struct locus_service *svc)
{
    svc->trash_running = true;
    svc->trash_now = svc->tick;
    svc->trash_cursor = svc->trash.head;
    locus_timer_arm(svc, &svc->trash_timer, svc->rules.trash_ns);
}

/* Begins what is due; false: nothing is. */
static bool begin_work(struct locus_service *svc)
{
    const struct timer *next = next_timer(svc);

    if (svc->locality != NULL && svc->locality->purge_wanted) {
        locus_locality_purge(svc);
    } else if (next->due > svc->tick) {
        return false;
    } else if (next == &svc->trash_timer) {
        begin_trash(svc);
    } else if (next == &svc->slow.timer) {
        locus_slowstart_begin(svc);
    } else {
        locus_locality_collect(svc);
    }
    return true;
}

bool locus_tick(struct locus_service *svc, uint64_t now_ns, size_t budget)
{
    clock_set(svc, now_ns);
    do {
        while (at_work(svc)) {
            if (budget == 0) {
                return false;
            }
            budget -= work(svc, budget);
        }
    } while (begin_work(svc));
    return true;
}

uint64_t locus_tick_due(const struct locus_service *svc)
{
    uint64_t due = next_timer(svc)->due;

    if (at_work(svc) || (svc->locality != NULL && svc->locality->purge_wanted)) {
        due = svc->tick;
    }
    return due > UINT64_MAX / svc->tick_ns ? LOCUS_NEVER : due * svc->tick_ns;
}

/* ---- introspection ---- */

void locus_service_get_stats(const struct locus_service *svc,
                             struct locus_service_stats *out)
{
    *out = svc->stats;
    out->picks += svc->easy_hits;
    out->hits += svc->easy_hits;
    out->servers = svc->list.count;
    out->trash = svc->trash.count;
    if (svc->locality != NULL) {
        const struct destmap *map = &svc->locality->map;
        out->destinations = (uint32_t)map->count;
        out->entries = svc->locality->entries;
        out->map_bytes = map->bytes + map->sets.bytes + svc->locality->queue.bytes;
    }
}

void locus_scheduler_describe(const struct locus_service *svc, locus_value_fn *visit,
                              void *arg)
{
    if (svc->ops->describe != NULL) {
        svc->ops->describe(svc, visit, arg);
    }
}

/* 0: before the clock began, as a snapshot may say. */
static uint64_t moment_ns(const struct locus_service *svc, uint32_t tick)
{
    uint64_t age = (uint64_t)tick_age(svc, tick);

    return age < svc->tick ? (svc->tick - age) * svc->tick_ns : 0;
}

static struct locus_destination destination_of(const struct locus_service *svc,
                                               const struct dest *dest,
                                               uint32_t servers)
{
    return (struct locus_destination){
        .key = locus_dest_key(&svc->locality->map, dest),
        .lastuse_ns = moment_ns(svc, dest->lastuse),
        .lastmod_ns = moment_ns(svc, dest->lastmod),
        .servers = servers,
    };
}

/* Members that were not purged, newest first, up to capacity of them; how many in all. */
static uint32_t copy_members(const struct locus_service *svc, const struct dest *dest,
                             uint32_t *servers, size_t capacity)
{
    const uint32_t *members;
    uint32_t single, copied = 0;

    for (uint32_t i = dest_members(svc->locality, dest, &single, &members); i-- > 0;) {
        if (!server_purged(svc, members[i])) {
            if (copied < capacity) {
                servers[copied] = members[i];
            }
            copied++;
        }
    }
    return copied;
}

bool locus_destination_get(const struct locus_service *svc, const union locus_key *key,
                           struct locus_destination *out, uint32_t *servers,
                           size_t capacity)
{
    if (svc->locality == NULL) {
        return false;
    }
    const struct destmap *map = &svc->locality->map;
    const struct dest *dest = destmap_find(map, key, destmap_hash(map, key));
    uint32_t count = dest != NULL ? copy_members(svc, dest, servers, capacity) : 0;
    if (count == 0) {
        return false;
    }
    *out = destination_of(svc, dest, count);
    return true;
}

struct each {
    const struct locus_service *svc;
    locus_destination_fn *visit;
    void *arg;
    uint32_t *servers;
    size_t capacity;
};

/* The buffer grows to the largest set there is. */
static int visit_one(struct each *each, const struct dest *dest)
{
    const struct locus_allocator *allocator = &each->svc->allocator;
    uint32_t count = copy_members(each->svc, dest, each->servers, each->capacity);

    if (count > each->capacity) {
        uint32_t *grown = alloc_bytes(allocator, 2 * count * sizeof(*grown));
        if (grown == NULL) {
            return LOCUS_ENOMEM;
        }
        release(allocator, each->servers, each->capacity * sizeof(*grown));
        each->servers = grown;
        each->capacity = 2 * (size_t)count;
        copy_members(each->svc, dest, grown, each->capacity);
    }
    if (count > 0) {
        struct locus_destination destination = destination_of(each->svc, dest, count);
        each->visit(each->arg, &destination, each->servers);
    }
    return LOCUS_OK;
}

int locus_destinations_visit(const struct locus_service *svc,
                             locus_destination_fn *visit, void *arg)
{
    struct each each = {.svc = svc, .visit = visit, .arg = arg};
    struct destmap_place place = {0, 0};
    const struct dest *dest;
    int status = LOCUS_OK;

    if (svc->locality == NULL) {
        return LOCUS_OK;
    }
    while (status == LOCUS_OK &&
           (dest = locus_destmap_next(&svc->locality->map, &place)) != NULL) {
        status = visit_one(&each, dest);
    }
    release(&svc->allocator, each.servers, each.capacity * sizeof(*each.servers));
    return status;
}
