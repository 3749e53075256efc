/* SPDX-License-Identifier: MIT */
/*
 * Pools in memory, under one lock. The live members are a binary heap by (count, name), so
 * that a pick costs O(log n) and no search; every member, live or not, is found by name in
 * a hash table. Leases are found by id in another, and end in the order of a second heap.
 *
 * It must decide as the scripts of pool_scripts.h do; the tests run on both.
 */
#include "pool_ops.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "names.h"

#define NOT_LIVE SIZE_MAX

struct member {
    UT_hash_handle hh;
    uint64_t count;
    size_t at; /* in the heap, or NOT_LIVE */
    enum locus_pool_state state;
    uint32_t streak;
    uint32_t held;  /* leases */
    uint32_t limit; /* its own; 0: the pool's */
    uint64_t turn;  /* of its last lease */
    bool gone;      /* dropped, and only remembered for the sake of its leases */
    char name[];
};

struct lease {
    UT_hash_handle hh;
    struct member *member; /* dropped or not: see forget() */
    uint64_t deadline_ms;
    size_t at; /* in the heap */
    char id[LOCUS_LEASE_ID_SIZE];
};

struct mem_pool {
    struct locus_pool_config config;
    pthread_mutex_t lock;
    struct member *members; /* by name, dropped ones that are held too */
    struct member **live; /* heap; room for all members, so that entering cannot fail */
    size_t live_count, live_room;
    struct lease *leases; /* by id */
    struct lease **ends;  /* heap by deadline */
    size_t lease_count, lease_room;
    uint64_t turns;
};

/* ---- the heap of live members ---------------------------------------------------- */

static bool before(const struct member *a, const struct member *b)
{
    return locus_pool_compare(a->count, a->name, b->count, b->name) < 0;
}

static void place(struct mem_pool *pool, struct member *member, size_t at)
{
    pool->live[at] = member;
    member->at = at;
}

static void sift_up(struct mem_pool *pool, struct member *member, size_t at)
{
    while (at > 0 && before(member, pool->live[(at - 1) / 2])) {
        place(pool, pool->live[(at - 1) / 2], at);
        at = (at - 1) / 2;
    }
    place(pool, member, at);
}

static void sift_down(struct mem_pool *pool, struct member *member, size_t at)
{
    for (;;) {
        size_t child = 2 * at + 1;
        if (child + 1 < pool->live_count &&
            before(pool->live[child + 1], pool->live[child])) {
            child++;
        }
        if (child >= pool->live_count || !before(pool->live[child], member)) {
            break;
        }
        place(pool, pool->live[child], at);
        at = child;
    }
    place(pool, member, at);
}

static uint64_t lowest(const struct mem_pool *pool)
{
    return pool->live_count > 0 ? pool->live[0]->count : 0;
}

static void enter(struct mem_pool *pool, struct member *member, uint64_t count)
{
    member->count = count;
    member->state = LOCUS_POOL_LIVE;
    member->streak = 0;
    member->turn = 0;
    sift_up(pool, member, pool->live_count++);
}

static void revive(struct mem_pool *pool, struct member *member, bool exact)
{
    uint64_t floor = exact ? 0 : lowest(pool);

    enter(pool, member, member->count > floor ? member->count : floor);
}

static void leave(struct mem_pool *pool, struct member *member,
                  enum locus_pool_state state)
{
    if (member->at != NOT_LIVE) {
        struct member *last = pool->live[--pool->live_count];
        size_t hole = member->at;
        if (last != member) {
            sift_up(pool, last, hole);
            sift_down(pool, last, last->at);
        }
        member->at = NOT_LIVE;
    }
    member->state = state;
    member->streak = 0;
}

/* ---- members --------------------------------------------------------------------- */

static struct member *lookup(struct mem_pool *pool, const char *name)
{
    struct member *member;

    HASH_FIND(hh, pool->members, name, strlen(name), member);
    return member;
}

static struct member *find(struct mem_pool *pool, const char *name)
{
    struct member *member = lookup(pool, name);

    return member != NULL && !member->gone ? member : NULL;
}

static int make_room(struct mem_pool *pool)
{
    size_t needed = HASH_COUNT(pool->members) + 1u;

    if (needed <= pool->live_room) {
        return LOCUS_OK;
    }
    size_t room = pool->live_room < 8 ? 16 : pool->live_room * 2;
    struct member **grown = realloc(pool->live, room * sizeof(*grown));
    if (grown == NULL) {
        return LOCUS_ENOMEM;
    }
    pool->live = grown;
    pool->live_room = room;
    return LOCUS_OK;
}

static int create(struct mem_pool *pool, const char *name, uint64_t count)
{
    struct member *member = lookup(pool, name);
    size_t length = strlen(name);

    if (member != NULL) {
        member->gone = false;
        enter(pool, member, count);
        return LOCUS_OK;
    }
    if (HASH_COUNT(pool->members) >= LOCUS_POOL_MEMBERS_MAX) {
        return LOCUS_EFULL;
    }
    if (make_room(pool) != LOCUS_OK) {
        return LOCUS_ENOMEM;
    }
    member = calloc(1, sizeof(*member) + length + 1);
    if (member == NULL) {
        return LOCUS_ENOMEM;
    }
    memcpy(member->name, name, length + 1);
    HASH_ADD_KEYPTR(hh, pool->members, member->name, length, member);
    if (member->hh.tbl == NULL) { /* uthash had no memory */
        free(member);
        return LOCUS_ENOMEM;
    }
    enter(pool, member, count);
    return LOCUS_OK;
}

static void erase(struct mem_pool *pool, struct member *member)
{
    HASH_DELETE(hh, pool->members, member); /* NOLINT(clang-analyzer-*): uthash */
    free(member);
}

/* Drops a member. Its leases go on, and count again should it be added again. */
static void forget(struct mem_pool *pool, struct member *member)
{
    leave(pool, member, LOCUS_POOL_REMOVED);
    member->limit = 0;
    member->gone = true;
    if (member->held == 0) {
        erase(pool, member);
    }
}

static uint64_t start_count(const struct mem_pool *pool, enum locus_pool_start start,
                            uint64_t value)
{
    uint64_t base = lowest(pool);
    uint64_t n = pool->live_count;
    uint64_t whole = 0, rest = 0;

    switch (start) {
    case LOCUS_POOL_START_MIN:
        return base;
    case LOCUS_POOL_START_MEAN:
        for (size_t i = 0; i < n; i++) { /* the sum itself might not fit: 10^5 * 2^53 */
            whole += (pool->live[i]->count - base) / n;
            rest += (pool->live[i]->count - base) % n;
        }
        return n > 0 ? base + whole + rest / n : 0;
    case LOCUS_POOL_START_AT:
        return value;
    case LOCUS_POOL_START_ZERO:
    default:
        return 0;
    }
}

static int add_one(struct mem_pool *pool, const char *name, uint64_t count,
                   size_t *added)
{
    struct member *member = find(pool, name);

    if (member == NULL) {
        int status = create(pool, name, count);
        *added += status == LOCUS_OK;
        return status;
    }
    if (member->state == LOCUS_POOL_REMOVED) {
        revive(pool, member, false);
        *added += 1;
    }
    return LOCUS_OK;
}

static int mem_add(void *self, const char *const *members, size_t count,
                   enum locus_pool_start start, uint64_t value, size_t *added)
{
    struct mem_pool *pool = self;
    int status = LOCUS_OK;
    uint64_t at = 0;

    pthread_mutex_lock(&pool->lock);
    for (size_t i = 0; i < count && status == LOCUS_OK; i++) {
        if (i % POOL_ADD_CHUNK == 0) {
            at = start_count(pool, start, value);
        }
        status = add_one(pool, members[i], at, added);
    }
    pthread_mutex_unlock(&pool->lock);
    return status;
}

static int mem_remove(void *self, const char *name, bool drop)
{
    struct mem_pool *pool = self;

    pthread_mutex_lock(&pool->lock);
    struct member *member = find(pool, name);
    if (member != NULL && drop) {
        forget(pool, member);
    } else if (member != NULL) {
        leave(pool, member, LOCUS_POOL_REMOVED);
    }
    pthread_mutex_unlock(&pool->lock);
    return member != NULL ? LOCUS_OK : LOCUS_ENOENT;
}

static int mem_restore(void *self, const char *name, bool exact)
{
    struct mem_pool *pool = self;

    pthread_mutex_lock(&pool->lock);
    struct member *member = find(pool, name);
    if (member != NULL && member->state != LOCUS_POOL_LIVE) {
        revive(pool, member, exact);
    }
    pthread_mutex_unlock(&pool->lock);
    return member != NULL ? LOCUS_OK : LOCUS_ENOENT;
}

/* A report that the state was not expecting: a failure of a live one, a success of an
 * unhealthy one. */
static void unexpected(struct mem_pool *pool, struct member *member)
{
    const struct locus_pool_config *config = &pool->config;

    member->streak += member->streak < UINT32_MAX;
    if (member->state == LOCUS_POOL_UNHEALTHY) {
        if (member->streak >= config->restore_after) {
            revive(pool, member, false);
        }
    } else if (member->streak >= config->fail_after &&
               pool->live_count > config->min_live) {
        leave(pool, member, LOCUS_POOL_UNHEALTHY);
    }
}

static int mem_report(void *self, const char *name, bool success,
                      enum locus_pool_state *state)
{
    struct mem_pool *pool = self;
    int status = LOCUS_ENOENT;

    pthread_mutex_lock(&pool->lock);
    struct member *member = find(pool, name);
    if (member != NULL) {
        if (member->state != LOCUS_POOL_REMOVED) {
            if (success == (member->state == LOCUS_POOL_LIVE)) {
                member->streak = 0;
            } else {
                unexpected(pool, member);
            }
        }
        *state = member->state;
        status = LOCUS_OK;
    }
    pthread_mutex_unlock(&pool->lock);
    return status;
}

static void describe(const struct member *member, struct locus_pool_member *out)
{
    memcpy(out->name, member->name, strlen(member->name) + 1);
    out->count = member->count;
    out->state = member->state;
    out->streak = member->streak;
    out->held = member->held;
}

static int mem_list(void *self, struct locus_pool_list *out)
{
    struct mem_pool *pool = self;
    int status = LOCUS_ENOMEM;

    pthread_mutex_lock(&pool->lock);
    out->members = calloc(HASH_COUNT(pool->members) + 1u, sizeof(*out->members));
    if (out->members != NULL) {
        for (struct member *m = pool->members; m != NULL; m = m->hh.next) {
            if (!m->gone) {
                describe(m, &out->members[out->count++]);
            }
        }
        status = LOCUS_OK;
    }
    pthread_mutex_unlock(&pool->lock);
    return status;
}

static int mem_get(void *self, const char *name, struct locus_pool_member *out)
{
    struct mem_pool *pool = self;

    pthread_mutex_lock(&pool->lock);
    struct member *member = find(pool, name);
    if (member != NULL) {
        describe(member, out);
    }
    pthread_mutex_unlock(&pool->lock);
    return member != NULL ? LOCUS_OK : LOCUS_ENOENT;
}

/* The lock is held. Everybody loses as much, so the heap stays one. */
static void rebase(struct mem_pool *pool)
{
    uint64_t by = lowest(pool);

    for (struct member *m = pool->members; m != NULL; m = m->hh.next) {
        m->count = m->count > by ? m->count - by : 0;
    }
}

static int mem_rebase(void *self)
{
    struct mem_pool *pool = self;

    pthread_mutex_lock(&pool->lock);
    rebase(pool);
    pthread_mutex_unlock(&pool->lock);
    return LOCUS_OK;
}

static int mem_pick(void *self, size_t n, char (*members)[LOCUS_POOL_MEMBER_SIZE])
{
    struct mem_pool *pool = self;

    pthread_mutex_lock(&pool->lock);
    if (pool->live_count == 0) {
        pthread_mutex_unlock(&pool->lock);
        return LOCUS_ENOSERVER;
    }
    for (size_t i = 0; i < n; i++) {
        struct member *least = pool->live[0];
        memcpy(members[i], least->name, least->hh.keylen + 1u);
        least->count++;
        sift_down(pool, least, 0);
    }
    if (lowest(pool) >= LOCUS_POOL_START_LIMIT) {
        rebase(pool);
    }
    pthread_mutex_unlock(&pool->lock);
    return LOCUS_OK;
}

/* ---- leases ---------------------------------------------------------------------- */

static uint64_t now_ms(const struct mem_pool *pool)
{
    uint64_t now_ns = pool->config.now_ns != NULL
                          ? pool->config.now_ns(pool->config.now_arg)
                          : clock_now_ns();
    return now_ns / NS_PER_MS;
}

static void place_end(struct mem_pool *pool, struct lease *lease, size_t at)
{
    pool->ends[at] = lease;
    lease->at = at;
}

static void sift_end(struct mem_pool *pool, struct lease *lease, size_t at)
{
    struct lease **ends = pool->ends;

    while (at > 0 && lease->deadline_ms < ends[(at - 1) / 2]->deadline_ms) {
        place_end(pool, ends[(at - 1) / 2], at);
        at = (at - 1) / 2;
    }
    for (;;) {
        size_t child = 2 * at + 1;
        if (child + 1 < pool->lease_count &&
            ends[child + 1]->deadline_ms < ends[child]->deadline_ms) {
            child++;
        }
        if (child >= pool->lease_count ||
            ends[child]->deadline_ms >= lease->deadline_ms) {
            break;
        }
        place_end(pool, ends[child], at);
        at = child;
    }
    place_end(pool, lease, at);
}

static void let_go(struct mem_pool *pool, struct lease *lease)
{
    struct lease *last = pool->ends[--pool->lease_count];
    struct member *member = lease->member;

    if (last != lease) {
        sift_end(pool, last, lease->at);
    }
    HASH_DELETE(hh, pool->leases, lease); /* NOLINT(clang-analyzer-*): uthash */
    free(lease);
    if (--member->held == 0 && member->gone) {
        erase(pool, member);
    }
}

static void reap(struct mem_pool *pool, uint64_t now)
{
    for (int i = 0; i < POOL_REAP_MAX && pool->lease_count > 0 &&
                    pool->ends[0]->deadline_ms <= now;
         i++) {
        let_go(pool, pool->ends[0]);
    }
}

static uint32_t limit_of(const struct mem_pool *pool, const struct member *member)
{
    if (member->limit != 0) {
        return member->limit;
    }
    return pool->config.lease_limit != 0 ? pool->config.lease_limit : POOL_HELD_MAX;
}

/* Fewest leases, then the turn longest ago, then by name. NULL: all are at their limits. */
static struct member *least_held(const struct mem_pool *pool)
{
    struct member *best = NULL;

    for (size_t i = 0; i < pool->live_count; i++) {
        struct member *m = pool->live[i];
        if (m->held >= limit_of(pool, m)) {
            continue;
        }
        if (best == NULL || m->held < best->held ||
            (m->held == best->held &&
             locus_pool_compare(m->turn, m->name, best->turn, best->name) < 0)) {
            best = m;
        }
    }
    return best;
}

static int lease_room(struct mem_pool *pool)
{
    if (pool->lease_count < pool->lease_room) {
        return LOCUS_OK;
    }
    size_t room = pool->lease_room < 8 ? 16 : pool->lease_room * 2;
    struct lease **grown = realloc(pool->ends, room * sizeof(*grown));
    if (grown == NULL) {
        return LOCUS_ENOMEM;
    }
    pool->ends = grown;
    pool->lease_room = room;
    return LOCUS_OK;
}

static int hold(struct mem_pool *pool, struct member *member, uint64_t deadline_ms,
                const char *id)
{
    struct lease *lease = calloc(1, sizeof(*lease));

    if (lease == NULL || lease_room(pool) != LOCUS_OK) {
        free(lease);
        return LOCUS_ENOMEM;
    }
    memcpy(lease->id, id, LOCUS_LEASE_ID_SIZE);
    HASH_ADD(hh, pool->leases, id, LOCUS_LEASE_ID_SIZE - 1, lease);
    if (lease->hh.tbl == NULL) {
        free(lease);
        return LOCUS_ENOMEM;
    }
    lease->member = member;
    lease->deadline_ms = deadline_ms;
    member->held++;
    member->turn = ++pool->turns;
    sift_end(pool, lease, pool->lease_count++);
    return LOCUS_OK;
}

static int mem_acquire(void *self, uint64_t ttl_ms, struct locus_lease *out)
{
    struct mem_pool *pool = self;
    int status = LOCUS_ENOSERVER;

    pthread_mutex_lock(&pool->lock);
    uint64_t now = now_ms(pool);
    reap(pool, now);
    struct member *member = least_held(pool);
    if (member != NULL) {
        status = hold(pool, member, now + ttl_ms, out->id);
    } else if (pool->live_count > 0) {
        status = LOCUS_EFULL;
    }
    if (status == LOCUS_OK) {
        memcpy(out->member, member->name, strlen(member->name) + 1);
        out->held = member->held;
    }
    pthread_mutex_unlock(&pool->lock);
    return status;
}

static struct lease *find_lease(struct mem_pool *pool, const char *id)
{
    struct lease *lease;

    HASH_FIND(hh, pool->leases, id, LOCUS_LEASE_ID_SIZE - 1, lease);
    return lease;
}

static int mem_renew(void *self, const char *id, uint64_t ttl_ms)
{
    struct mem_pool *pool = self;
    int status = LOCUS_ENOENT;

    pthread_mutex_lock(&pool->lock);
    uint64_t now = now_ms(pool);
    struct lease *lease = find_lease(pool, id);
    if (lease != NULL && lease->deadline_ms > now) {
        lease->deadline_ms = now + ttl_ms;
        sift_end(pool, lease, lease->at);
        status = LOCUS_OK;
    }
    reap(pool, now);
    pthread_mutex_unlock(&pool->lock);
    return status;
}

static int mem_release(void *self, const char *id, bool *was_held)
{
    struct mem_pool *pool = self;

    pthread_mutex_lock(&pool->lock);
    uint64_t now = now_ms(pool);
    struct lease *lease = find_lease(pool, id);
    *was_held = lease != NULL && lease->deadline_ms > now;
    if (lease != NULL) {
        let_go(pool, lease);
    }
    reap(pool, now);
    pthread_mutex_unlock(&pool->lock);
    return LOCUS_OK;
}

static int mem_set_limit(void *self, const char *name, uint32_t limit)
{
    struct mem_pool *pool = self;

    pthread_mutex_lock(&pool->lock);
    struct member *member = find(pool, name);
    if (member != NULL) {
        member->limit = limit;
    }
    pthread_mutex_unlock(&pool->lock);
    return member != NULL ? LOCUS_OK : LOCUS_ENOENT;
}

/* ---- the whole ------------------------------------------------------------------- */

/* The lock is held, or nobody else is there. */
static void empty(struct mem_pool *pool)
{
    while (pool->lease_count > 0) {
        let_go(pool, pool->ends[pool->lease_count - 1]);
    }
    struct member *member, *next;
    HASH_ITER(hh, pool->members, member, next) {
        forget(pool, member);
    }
}

static int mem_clear(void *self)
{
    struct mem_pool *pool = self;

    pthread_mutex_lock(&pool->lock);
    empty(pool);
    pthread_mutex_unlock(&pool->lock);
    return LOCUS_OK;
}

static int mem_open(const char *uri, const char *name,
                    const struct locus_pool_config *config, void **out, char *error,
                    size_t error_size)
{
    struct mem_pool *pool = calloc(1, sizeof(*pool));

    (void)uri;
    (void)name;
    (void)error;
    (void)error_size;
    if (pool == NULL || pthread_mutex_init(&pool->lock, NULL) != 0) {
        free(pool);
        return LOCUS_ENOMEM;
    }
    pool->config = *config;
    *out = pool;
    return LOCUS_OK;
}

static void mem_close(void *self)
{
    struct mem_pool *pool = self;

    empty(pool);
    free(pool->live);
    free(pool->ends);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

const struct pool_ops locus_pool_mem_ops = {
    .scheme = "mem:",
    .open = mem_open,
    .close = mem_close,
    .pick = mem_pick,
    .add = mem_add,
    .remove = mem_remove,
    .restore = mem_restore,
    .report = mem_report,
    .list = mem_list,
    .get = mem_get,
    .rebase = mem_rebase,
    .clear = mem_clear,
    .acquire = mem_acquire,
    .renew = mem_renew,
    .release = mem_release,
    .set_limit = mem_set_limit,
};
