/* SPDX-License-Identifier: MIT */
/*
 * The face of locus/pool.h. These files check arguments, keep the figures, and stand in for a
 * Redis that is away when told to fail open. From the top down:
 *
 *   pool_life.c      a pool is opened, read and closed
 *   pool_picks.c     picks, one by one or coalesced; failing open
 *   pool_members.c   members come, go and are listed
 *   pool_leases.c    leases
 *
 * What a pool does is behind pool_ops.h, in pool_mem.c and pool_redis.c.
 */
#ifndef LOCUS_SHARED_POOL_INTERNAL_H
#define LOCUS_SHARED_POOL_INTERNAL_H

#include <pthread.h>

#include "clock.h"
#include "pool_ops.h"
#include "text.h"

struct locus_pool {
    const struct pool_ops *ops;
    void *self;
    struct locus_pool_config config;
    pthread_mutex_t lock; /* of what follows; never held over a call of ops */
    struct locus_pool_stats stats;
    void *local; /* fail open: a memory pool with the members last seen, or NULL */
    uint64_t looked_ns;            /* when it was last made, or could not be */
    bool refreshing;               /* one thread is at it */
    pthread_rwlock_t local_lock;   /* readers use local, the writer changes it */
    struct locus_coalescer *picks; /* NULL: single picks go one by one */
    char (*batches)[LOCUS_POOL_MEMBER_SIZE]; /* 256 for each call at once */
};

enum { POOL_TTL_DAYS_MAX = 30 };

/* Whole milliseconds; false: none, or more than 30 days. */
static inline bool pool_ttl_ms(uint64_t ttl_ns, uint64_t *out)
{
    *out = ttl_ns / NS_PER_MS;
    return *out >= 1 && *out <= UINT64_C(86400000) * POOL_TTL_DAYS_MAX;
}

static inline bool pool_is_member(const char *text)
{
    return text_is_name(text, LOCUS_POOL_MEMBER_SIZE - 1, "");
}

static inline bool pool_is_away(int status)
{
    return status == LOCUS_EIO || status == LOCUS_ETIMEDOUT ||
           status == LOCUS_EAMBIGUOUS;
}

/* Counts a failure of so many calls; passes every status on. */
static inline int pool_noted_calls(struct locus_pool *pool, int status, size_t calls)
{
    if (pool_is_away(status)) {
        pthread_mutex_lock(&pool->lock);
        pool->stats.failures += calls;
        pthread_mutex_unlock(&pool->lock);
    }
    return status;
}

static inline int pool_noted(struct locus_pool *pool, int status)
{
    return pool_noted_calls(pool, status, 1);
}

/* ---- pool_picks.c ---------------------------------------------------------------- */

/* From now on single picks are coalesced. ENOMEM; what was made is locus_pool_close()'s. */
int locus_pool_coalesce(struct locus_pool *pool);

#endif
