/* SPDX-License-Identifier: MIT */
/*
 * Pools in memory, under one lock: each operation is a decision about members
 * (pool_mem_members.c) and leases (pool_mem_leases.c).
 *
 * It must decide as the scripts of pool_scripts.h do; the tests run on both.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "pool_mem_leases.h"

struct mem_pool {
    struct locus_pool_config config;
    pthread_mutex_t lock;
    struct members members;
    struct leases leases;
};

static uint64_t start_count(const struct mem_pool *pool, enum locus_pool_start start,
                            uint64_t value)
{
    uint64_t base = members_lowest(&pool->members);
    uint64_t n = pool->members.live.count;
    uint64_t whole = 0, rest = 0;

    switch (start) {
    case LOCUS_POOL_START_MIN:
        return base;
    case LOCUS_POOL_START_MEAN:
        for (size_t i = 0; i < n; i++) { /* the sum itself might not fit: 10^5 * 2^53 */
            whole += (members_live(&pool->members, i)->count - base) / n;
            rest += (members_live(&pool->members, i)->count - base) % n;
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
    struct member *member = locus_members_find(&pool->members, name);

    if (member == NULL) {
        int status = locus_members_add(&pool->members, name, count);
        *added += status == LOCUS_OK;
        return status;
    }
    if (member->state == LOCUS_POOL_REMOVED) {
        locus_members_revive(&pool->members, member, false);
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
    struct member *member = locus_members_find(&pool->members, name);
    if (member != NULL && drop) {
        locus_members_drop(&pool->members, member);
    } else if (member != NULL) {
        locus_members_leave(&pool->members, member, LOCUS_POOL_REMOVED);
    }
    pthread_mutex_unlock(&pool->lock);
    return member != NULL ? LOCUS_OK : LOCUS_ENOENT;
}

static int mem_restore(void *self, const char *name, bool exact)
{
    struct mem_pool *pool = self;

    pthread_mutex_lock(&pool->lock);
    struct member *member = locus_members_find(&pool->members, name);
    if (member != NULL && member->state != LOCUS_POOL_LIVE) {
        locus_members_revive(&pool->members, member, exact);
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
            locus_members_revive(&pool->members, member, false);
        }
    } else if (member->streak >= config->fail_after &&
               pool->members.live.count > config->min_live) {
        locus_members_leave(&pool->members, member, LOCUS_POOL_UNHEALTHY);
    }
}

static int mem_report(void *self, const char *name, bool success,
                      enum locus_pool_state *state)
{
    struct mem_pool *pool = self;
    int status = LOCUS_ENOENT;

    pthread_mutex_lock(&pool->lock);
    struct member *member = locus_members_find(&pool->members, name);
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
    out->members =
        calloc(HASH_COUNT(pool->members.by_name) + 1u, sizeof(*out->members));
    if (out->members != NULL) {
        for (struct member *m = pool->members.by_name; m != NULL; m = m->hh.next) {
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
    struct member *member = locus_members_find(&pool->members, name);
    if (member != NULL) {
        describe(member, out);
    }
    pthread_mutex_unlock(&pool->lock);
    return member != NULL ? LOCUS_OK : LOCUS_ENOENT;
}

static int mem_rebase(void *self)
{
    struct mem_pool *pool = self;

    pthread_mutex_lock(&pool->lock);
    locus_members_rebase(&pool->members);
    pthread_mutex_unlock(&pool->lock);
    return LOCUS_OK;
}

static int mem_pick(void *self, size_t n, char (*members)[LOCUS_POOL_MEMBER_SIZE])
{
    struct mem_pool *pool = self;

    pthread_mutex_lock(&pool->lock);
    if (pool->members.live.count == 0) {
        pthread_mutex_unlock(&pool->lock);
        return LOCUS_ENOSERVER;
    }
    for (size_t i = 0; i < n; i++) {
        const struct member *least = members_live(&pool->members, 0);
        memcpy(members[i], least->name, least->hh.keylen + 1u);
        locus_members_picked(&pool->members);
    }
    if (members_lowest(&pool->members) >= LOCUS_POOL_START_LIMIT) {
        locus_members_rebase(&pool->members);
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

    for (size_t i = 0; i < pool->members.live.count; i++) {
        struct member *m = members_live(&pool->members, i);
        if (m->held >= limit_of(pool, m)) {
            continue;
        }
        if (best == NULL || m->held < best->held ||
            (m->held == best->held &&
             pool_compare(m->turn, m->name, best->turn, best->name) < 0)) {
            best = m;
        }
    }
    return best;
}

static int mem_acquire(void *self, uint64_t ttl_ms, struct locus_lease *out)
{
    struct mem_pool *pool = self;
    int status = LOCUS_ENOSERVER;

    pthread_mutex_lock(&pool->lock);
    uint64_t now = now_ms(pool);
    locus_leases_reap(&pool->leases, &pool->members, now);
    struct member *member = least_held(pool);
    if (member != NULL) {
        status = locus_leases_add(&pool->leases, member, now + ttl_ms, out->id);
    } else if (pool->members.live.count > 0) {
        status = LOCUS_EFULL;
    }
    if (status == LOCUS_OK) {
        memcpy(out->member, member->name, strlen(member->name) + 1);
        out->held = member->held;
    }
    pthread_mutex_unlock(&pool->lock);
    return status;
}

static int mem_renew(void *self, const char *id, uint64_t ttl_ms)
{
    struct mem_pool *pool = self;
    int status = LOCUS_ENOENT;

    pthread_mutex_lock(&pool->lock);
    uint64_t now = now_ms(pool);
    struct lease *lease = locus_leases_find(&pool->leases, id);
    if (lease != NULL && lease->deadline_ms > now) {
        locus_leases_renew(&pool->leases, lease, now + ttl_ms);
        status = LOCUS_OK;
    }
    locus_leases_reap(&pool->leases, &pool->members, now);
    pthread_mutex_unlock(&pool->lock);
    return status;
}

static int mem_release(void *self, const char *id, bool *was_held)
{
    struct mem_pool *pool = self;

    pthread_mutex_lock(&pool->lock);
    uint64_t now = now_ms(pool);
    struct lease *lease = locus_leases_find(&pool->leases, id);
    *was_held = lease != NULL && lease->deadline_ms > now;
    if (lease != NULL) {
        locus_leases_end(&pool->leases, &pool->members, lease);
    }
    locus_leases_reap(&pool->leases, &pool->members, now);
    pthread_mutex_unlock(&pool->lock);
    return LOCUS_OK;
}

static int mem_set_limit(void *self, const char *name, uint32_t limit)
{
    struct mem_pool *pool = self;

    pthread_mutex_lock(&pool->lock);
    struct member *member = locus_members_find(&pool->members, name);
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
    struct member *member, *next;

    locus_leases_end_all(&pool->leases, &pool->members);
    HASH_ITER(hh, pool->members.by_name, member, next) {
        locus_members_drop(&pool->members, member);
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
    free(pool->members.live.items);
    free(pool->leases.ends.items);
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
