/* SPDX-License-Identifier: MIT */
#include "locality.h"

enum {
    EVICT_ASKED = 16,     /* destinations that a pick asks for one to forget */
    QUEUE_STEP_COST = 16, /* what a key of the queue takes, in slots of the table */
    FETCHED_AHEAD = 8,    /* keys of a round, which misses the cache */
};

static void make_map(struct locus_service *svc, struct locality *loc)
{
    locus_destmap_init(&loc->map, svc->wide, svc->map_load_percent, svc->seed,
                       &svc->allocator);
    locus_keyqueue_init(&loc->queue, svc->wide, &svc->allocator);
    locus_destmap_reserve(&loc->map, svc->expected_entries);
}

static void drop_map(struct locus_service *svc, struct locality *loc)
{
    locus_destmap_fini(&loc->map);
    locus_keyqueue_fini(&loc->queue);
    /* Only the map referred to servers. */
    for (uint32_t i = 0; i < svc->slots; i++) {
        svc->servers[i].refs = 0;
    }
}

void locus_locality_init(struct locus_service *svc)
{
    struct locality *loc = svc->state;

    make_map(svc, loc);
    loc->counter = 1;
    svc->locality = loc;
    locus_timer_arm(svc, &loc->gc, svc->rules.gc_interval_ns);
}

void locus_locality_fini(struct locus_service *svc)
{
    drop_map(svc, svc->state);
    svc->locality = NULL;
}

void locus_locality_clear(struct locus_service *svc)
{
    drop_map(svc, svc->locality);
    make_map(svc, svc->locality);
    svc->locality->entries = 0;
}

void locus_locality_server_event(struct locus_service *svc, uint32_t server,
                                 enum server_event event)
{
    if (event == SERVER_REMOVED && svc->rules.purge_removed &&
        svc->servers[server].refs > 0) {
        svc->locality->purge_wanted = true;
    }
}

/* ---- destinations and their servers ---- */

static void not_remembered(struct locus_service *svc, struct locus_pick *pick)
{
    svc->stats.forgotten++;
    pick->why |= LOCUS_WHY_FORGOTTEN;
}

/* Lets go of a destination's servers; its entry is about to go. */
static void release_members(struct locus_service *svc, struct dest *dest)
{
    struct locality *loc = svc->locality;
    const uint32_t *members;
    uint32_t single, count = dest_members(loc, dest, &single, &members);

    for (uint32_t i = 0; i < count; i++) {
        server_unref(svc, members[i]);
    }
    if (dest_is_set(dest)) {
        locus_set_free(&loc->map.sets, dest->ref);
    }
    loc->entries--;
}

void locus_locality_forget(struct locus_service *svc, struct dest *dest)
{
    release_members(svc, dest);
    locus_destmap_remove(&svc->locality->map, dest);
}

void locus_locality_renew(struct locus_service *svc, struct dest *dest, uint32_t server,
                          struct locus_pick *pick)
{
    struct locality *loc = svc->locality;

    release_members(svc, dest);
    if (loc->entries >= svc->rules.max_entries) { /* by leaks */
        locus_destmap_remove(&loc->map, dest);
        not_remembered(svc, pick);
        return;
    }
    dest->ref = server + 1;
    dest->lastuse = dest->lastmod = tick32(svc);
    server_ref(svc, server);
    loc->entries++;
    svc->stats.added++;
    pick->why |= LOCUS_WHY_NEW;
}

bool locus_dest_push(struct locus_service *svc, struct dest *dest, uint32_t server)
{
    struct setpool *sets = &svc->locality->map.sets;
    uint32_t handle = dest_is_set(dest)
                          ? locus_set_push(sets, dest->ref, server)
                          : locus_set_create(sets, dest_server(dest), server);

    if (handle == 0) {
        return false;
    }
    dest->ref = handle;
    server_ref(svc, server);
    return true;
}

void locus_dest_drop(struct locus_service *svc, struct dest *dest, uint32_t index)
{
    struct setpool *sets = &svc->locality->map.sets;
    struct server_set *set = locus_set_get(sets, dest->ref);

    server_unref(svc, set->members[index]);
    locus_set_remove(sets, dest->ref, index);
    if (set->size == 1) {
        uint32_t last = set->members[0];
        locus_set_free(sets, dest->ref);
        dest->ref = last + 1;
    }
}

bool locus_dest_purge(struct locus_service *svc, struct dest *dest)
{
    uint32_t index = 0;

    while (dest_is_set(dest)) {
        const struct server_set *set =
            locus_set_get(&svc->locality->map.sets, dest->ref);
        while (index < set->size && !server_purged(svc, set->members[index])) {
            index++;
        }
        if (index == set->size) {
            return true;
        }
        locus_dest_drop(svc, dest, index);
    }
    return !server_purged(svc, dest_server(dest));
}

/* ---- the collector ---- */

static uint32_t bucket_of(const struct destmap *map, const struct dest *dest)
{
    union locus_key key = locus_dest_key(map, dest);

    return hash_golden(key_fold(&key, map->wide), GC_BUCKET_BITS);
}

/* How far behind the rover a bucket is, 0 for the next one. */
static uint32_t behind_rover(const struct locality *loc, uint32_t bucket)
{
    return (bucket - loc->rover - 1) & (GC_BUCKETS - 1);
}

/* Ages that 32 bits could lose are held where they are safe. */
static void hold_age(const struct locus_service *svc, uint32_t *since)
{
    if (tick_age(svc, *since) > INT32_MAX) {
        *since = tick32(svc) - INT32_MAX;
    }
}

static bool is_stale(const struct locus_service *svc, int64_t age)
{
    return age >= (int64_t)(svc->rules.gc_stale_ns / svc->tick_ns);
}

/* Whether the job in hand takes this destination. */
static bool job_takes(struct locus_service *svc, struct dest *dest)
{
    struct locality *loc = svc->locality;
    /* As of the job's beginning; below 0 for what was used since. */
    int64_t age = tick_age(svc, dest->lastuse) - (int64_t)(svc->tick - loc->job_tick);

    switch (loc->job) {
    case JOB_EXPIRE:
        return age_has_expired(svc, age);
    case JOB_COUNT:
        loc->stale[bucket_of(&loc->map, dest)] += is_stale(svc, age);
        return false;
    case JOB_TAKE:
        return is_stale(svc, age) &&
               behind_rover(loc, bucket_of(&loc->map, dest)) < loc->job_span;
    case JOB_PURGE:
        return !locus_dest_purge(svc, dest);
    case JOB_NONE:
    case JOB_SHRINK:
        break;
    }
    return false;
}

static bool visit(void *arg, struct dest *dest)
{
    struct locus_service *svc = arg;

    if (job_takes(svc, dest)) {
        svc->stats.expired += svc->locality->job != JOB_PURGE;
        release_members(svc, dest);
        return true;
    }
    hold_age(svc, &dest->lastuse);
    hold_age(svc, &dest->lastmod);
    return false;
}

/* Whether the job in hand goes by the queue: those that take destinations out. */
static bool by_queue(const struct locus_service *svc)
{
    enum locality_job job = svc->locality->job;

    return svc->rules.evict &&
           (job == JOB_EXPIRE || job == JOB_TAKE || job == JOB_PURGE);
}

/* The next of the queue, out of it. */
struct queued {
    struct keyqueue_item item; /* as it is to go in again */
    struct dest *dest;         /* NULL: the job in hand has just taken it */
    bool used;                 /* looked up since it was put in */
};

static struct queued take_next(struct locus_service *svc)
{
    struct locality *loc = svc->locality;
    struct queued next = {.item = locus_keyqueue_pop(&loc->queue)};

    next.dest = destmap_find(&loc->map, &next.item.key,
                             destmap_hash(&loc->map, &next.item.key));
    next.used = next.dest->lastuse != next.item.tick;
    if (loc->job_left > 0) {
        loc->job_left--;
        if (visit(svc, next.dest)) {
            locus_destmap_remove(&loc->map, next.dest);
            loc->job_removed = true;
            next.dest = NULL;
            return next;
        }
    }
    if (!next.used) {
        next.item.tick = next.dest->lastuse; /* which visit may have held */
    }
    return next;
}

/* Makes room for a new destination, if there is any to forget. */
static void evict(struct locus_service *svc)
{
    struct locality *loc = svc->locality;

    for (unsigned asked = 1; loc->entries >= svc->rules.max_entries; asked++) {
        if (loc->queue.length == 0) {
            return;
        }
        struct queued next = take_next(svc);
        if (next.dest == NULL) {
            continue;
        }
        if (next.used && asked < EVICT_ASKED) {
            next.item.tick = next.dest->lastuse;
            locus_keyqueue_push(&loc->queue, &next.item);
        } else {
            locus_locality_forget(svc, next.dest);
            svc->stats.evicted++;
        }
    }
}

/* queued: the tick that the queue keeps with it */
static struct dest *insert(struct locus_service *svc, const union locus_key *key,
                           uint64_t hash, uint32_t server, uint32_t lastuse,
                           uint32_t queued)
{
    struct locality *loc = svc->locality;
    const struct keyqueue_item item = {.key = *key, .tick = queued};

    if (svc->rules.evict && !locus_keyqueue_reserve(&loc->queue)) {
        return NULL;
    }
    struct dest *dest = locus_destmap_insert(&loc->map, key, hash, server + 1, lastuse);
    if (dest == NULL) {
        return NULL;
    }
    if (svc->rules.evict) {
        locus_keyqueue_push(&loc->queue, &item);
    }
    server_ref(svc, server);
    loc->entries++;
    return dest;
}

struct dest *locus_locality_restore(struct locus_service *svc,
                                    const union locus_key *key, uint32_t server,
                                    uint32_t lastuse, bool used)
{
    uint64_t hash = destmap_hash(&svc->locality->map, key);

    /* Any tick but lastuse says that it was used. */
    return insert(svc, key, hash, server, lastuse, lastuse - used);
}

void locus_locality_add(struct locus_service *svc, const struct looked_up *what,
                        uint32_t server, struct locus_pick *pick)
{
    struct locality *loc = svc->locality;

    if (loc->entries >= svc->rules.max_entries && svc->rules.evict) {
        evict(svc);
    }
    if (loc->entries >= svc->rules.max_entries ||
        !insert(svc, what->key, what->hash, server, tick32(svc), tick32(svc))) {
        not_remembered(svc, pick);
        return;
    }
    svc->stats.added++;
    pick->why |= LOCUS_WHY_NEW;
}

static void begin(struct locus_service *svc, enum locality_job job)
{
    struct locality *loc = svc->locality;

    loc->job = job;
    loc->walk = (struct destmap_walk){.shrink = job == JOB_SHRINK};
    loc->job_left = by_queue(svc) ? loc->queue.length : 0;
    loc->job_removed = false;
}

/* How many buckets behind the rover hold enough stale entries for the goal. */
static uint32_t buckets_for_goal(const struct locus_service *svc)
{
    const struct locality *loc = svc->locality;
    int64_t excess = (int64_t)loc->entries - svc->rules.soft_entries;
    int64_t goal = excess * 4 / 3;
    uint32_t span = 0;

    if (goal > svc->rules.soft_entries / 2) {
        goal = svc->rules.soft_entries / 2;
    }
    do {
        goal -= loc->stale[(loc->rover + 1 + span) & (GC_BUCKETS - 1)];
        span++;
    } while (goal > 0 && span < GC_BUCKETS);
    return span;
}

void locus_locality_collect(struct locus_service *svc)
{
    struct locality *loc = svc->locality;

    locus_timer_arm(svc, &loc->gc, svc->rules.gc_interval_ns);
    loc->job_tick = svc->tick;
    if (loc->counter % svc->rules.gc_full_every == 0) {
        loc->counter = 1;
        begin(svc, JOB_EXPIRE);
    } else if (loc->entries <= svc->rules.soft_entries) {
        loc->counter++;
    } else {
        memset(loc->stale, 0, sizeof(loc->stale));
        begin(svc, JOB_COUNT);
    }
}

void locus_locality_purge(struct locus_service *svc)
{
    svc->locality->purge_wanted = false;
    begin(svc, JOB_PURGE);
}

static void finish_job(struct locus_service *svc)
{
    struct locality *loc = svc->locality;

    if (loc->job == JOB_COUNT) {
        loc->job_span = buckets_for_goal(svc);
        begin(svc, JOB_TAKE);
        return;
    }
    if (loc->job == JOB_TAKE) {
        loc->rover = (loc->rover + loc->job_span) & (GC_BUCKETS - 1);
    }
    if (loc->job_removed) {
        begin(svc, JOB_SHRINK);
        return;
    }
    loc->job = JOB_NONE;
}

/* Goes on with a job by the queue; what it cost. */
static size_t go_round(struct locus_service *svc, size_t budget)
{
    struct locality *loc = svc->locality;
    size_t looked = 0;

    while (loc->job_left > 0 && looked < budget) {
        union locus_key ahead = {.words = {0, 0}};
        if (locus_keyqueue_peek(&loc->queue, FETCHED_AHEAD, &ahead)) {
            destmap_prefetch(&loc->map, destmap_hash(&loc->map, &ahead));
        }
        struct queued next = take_next(svc);
        if (next.dest != NULL) {
            locus_keyqueue_push(&loc->queue, &next.item);
        }
        looked += QUEUE_STEP_COST;
    }
    loc->walk.finished = loc->job_left == 0;
    return looked < budget ? looked : budget;
}

/* job_takes() has no interest in a destination that was used less than so many ticks ago. */
static uint32_t spared_age(const struct locus_service *svc)
{
    const struct locality *loc = svc->locality;
    uint64_t since = svc->tick - loc->job_tick;
    int64_t age = INT32_MAX;

    if (loc->job == JOB_EXPIRE) {
        age = svc->expiration;
    } else if (loc->job == JOB_COUNT || loc->job == JOB_TAKE) {
        age = (int64_t)(svc->rules.gc_stale_ns / svc->tick_ns);
    } else if (loc->job == JOB_PURGE) {
        age = 0;
    }
    if (age <= 0) {
        return 0;
    }
    return age < INT32_MAX && since < INT32_MAX - (uint64_t)age
               ? (uint32_t)(age + (int64_t)since)
               : INT32_MAX;
}

static size_t walk_map(struct locus_service *svc, size_t budget)
{
    struct locality *loc = svc->locality;

    loc->walk.tick = tick32(svc);
    loc->walk.age = spared_age(svc);
    return locus_destmap_walk(&loc->map, &loc->walk, budget, visit, svc);
}

size_t locus_locality_run(struct locus_service *svc, size_t budget)
{
    struct locality *loc = svc->locality;
    size_t looked = 0;

    while (loc->job != JOB_NONE && looked < budget) {
        looked += by_queue(svc) ? go_round(svc, budget - looked)
                                : walk_map(svc, budget - looked);
        if (loc->walk.finished) {
            finish_job(svc);
        }
    }
    return looked;
}

void locus_locality_describe(const struct locus_service *svc, locus_value_fn *value,
                             void *arg)
{
    const struct locality *loc = svc->locality;

    value(arg, "entries", LOCUS_VALUE_NUMBER, loc->entries);
    value(arg, "linked", LOCUS_VALUE_NUMBER, loc->map.count);
    value(arg, "max_size", LOCUS_VALUE_NUMBER, svc->rules.soft_entries);
    value(arg, "rover", LOCUS_VALUE_NUMBER, loc->rover);
    value(arg, "counter", LOCUS_VALUE_NUMBER, loc->counter);
}
