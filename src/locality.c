/* SPDX-License-Identifier: MIT */
#include "locality.h"

void locus_locality_init(struct locus_service *svc)
{
    struct locality *loc = svc->state;

    locus_destmap_init(&loc->map, svc->wide, svc->map_load_percent, svc->seed,
                       &svc->allocator);
    locus_destmap_reserve(&loc->map, svc->expected_entries);
    loc->counter = 1;
    svc->locality = loc;
    locus_timer_arm(svc, &loc->gc, svc->rules.gc_interval_ns);
}

void locus_locality_fini(struct locus_service *svc)
{
    struct locality *loc = svc->state;

    locus_destmap_fini(&loc->map);
    svc->locality = NULL;
    /* Only the map referred to servers. */
    for (uint32_t i = 0; i < svc->slots; i++) {
        svc->servers[i].refs = 0;
    }
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

void locus_locality_add(struct locus_service *svc, const union locus_key *key,
                        uint64_t hash, uint32_t server, struct locus_pick *pick)
{
    struct locality *loc = svc->locality;

    if (loc->entries >= svc->rules.max_entries ||
        locus_destmap_insert(&loc->map, key, hash, server + 1, tick32(svc)) == NULL) {
        svc->stats.forgotten++;
        pick->why |= LOCUS_WHY_FORGOTTEN;
        return;
    }
    server_ref(svc, server);
    loc->entries++;
    svc->stats.added++;
    pick->why |= LOCUS_WHY_NEW;
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

static bool has_expired(const struct locus_service *svc, int64_t age)
{
    return svc->rules.gc_strict ? age > svc->expiration : age >= svc->expiration;
}

/* Whether the job in hand takes this destination. */
static bool job_takes(struct locus_service *svc, struct dest *dest)
{
    struct locality *loc = svc->locality;
    /* As of the job's beginning; below 0 for what was used since. */
    int64_t age = tick_age(svc, dest->lastuse) - (int64_t)(svc->tick - loc->job_tick);

    switch (loc->job) {
    case JOB_EXPIRE:
        return has_expired(svc, age);
    case JOB_COUNT:
        loc->stale[bucket_of(&loc->map, dest)] += is_stale(svc, age);
        return false;
    case JOB_TAKE:
        return is_stale(svc, age) &&
               behind_rover(loc, bucket_of(&loc->map, dest)) < loc->job_span;
    case JOB_PURGE:
        return !locus_dest_purge(svc, dest);
    case JOB_NONE:
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

static void begin(struct locus_service *svc, enum locality_job job)
{
    struct locality *loc = svc->locality;

    loc->job = job;
    loc->walk = (struct destmap_walk){0};
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
    loc->job = JOB_NONE;
}

size_t locus_locality_run(struct locus_service *svc, size_t budget)
{
    struct locality *loc = svc->locality;
    size_t looked = 0;

    while (loc->job != JOB_NONE && looked < budget) {
        looked +=
            locus_destmap_walk(&loc->map, &loc->walk, budget - looked, visit, svc);
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
