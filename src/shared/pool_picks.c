/* SPDX-License-Identifier: MIT */
/*
 * Picks, one by one or coalesced. When told to fail open, a handle picks from the members that
 * it has last seen while Redis is away.
 */
#include "pool_internal.h"

#include <locus/coalesce.h>

#include <stdlib.h>
#include <string.h>

enum { COALESCED_MAX = 256 };

/* ---- failing open ---------------------------------------------------------------- */

/* A memory pool with the live members of a list, at their counts. NULL: no memory. */
static void *copy_of(const struct locus_pool *pool, const struct locus_pool_list *list)
{
    char unused[1];
    void *copy = NULL;
    size_t added = 0;

    if (locus_pool_mem_ops.open("", "", &pool->config, &copy, unused, 0) != LOCUS_OK) {
        return NULL;
    }
    for (size_t i = 0; i < list->count; i++) {
        const struct locus_pool_member *m = &list->members[i];
        const char *const name = m->name;
        if (m->state == LOCUS_POOL_LIVE &&
            locus_pool_mem_ops.add(copy, &name, 1, LOCUS_POOL_START_AT, m->count,
                                   &added) != LOCUS_OK) {
            locus_pool_mem_ops.close(copy);
            return NULL;
        }
    }
    return copy;
}

/* Sees who is live while Redis answers, so that it is known when it does not. */
static void see(struct locus_pool *pool)
{
    struct locus_pool_list list = {0};
    void *seen = NULL;

    pthread_mutex_lock(&pool->lock);
    bool due = !pool->refreshing &&
               (pool->looked_ns == 0 ||
                clock_now_ns() - pool->looked_ns >= pool->config.snapshot_ns);
    pool->refreshing = pool->refreshing || due;
    pthread_mutex_unlock(&pool->lock);
    if (!due) {
        return;
    }
    if (pool->ops->list(pool->self, &list) == LOCUS_OK) {
        seen = copy_of(pool, &list);
    }
    free(list.members);
    pthread_rwlock_wrlock(&pool->local_lock);
    pthread_mutex_lock(&pool->lock);
    void *old = seen != NULL ? pool->local : NULL;
    if (seen != NULL) {
        pool->local = seen;
    }
    pool->looked_ns = clock_now_ns();
    pool->refreshing = false;
    pthread_mutex_unlock(&pool->lock);
    pthread_rwlock_unlock(&pool->local_lock);
    if (old != NULL) {
        locus_pool_mem_ops.close(old);
    }
}

/* The status stands when nothing has ever been seen. */
static int pick_local(struct locus_pool *pool, int status, size_t n,
                      char (*members)[LOCUS_POOL_MEMBER_SIZE])
{
    pthread_rwlock_rdlock(&pool->local_lock);
    if (pool->local != NULL &&
        locus_pool_mem_ops.pick(pool->local, n, members) == LOCUS_OK) {
        status = LOCUS_OK;
    }
    pthread_rwlock_unlock(&pool->local_lock);
    if (status == LOCUS_OK) {
        pthread_mutex_lock(&pool->lock);
        pool->stats.local_picks += n;
        pthread_mutex_unlock(&pool->lock);
    }
    return status;
}

/* ---- picks ----------------------------------------------------------------------- */

static void count_picks(struct locus_pool *pool, int first, int status, size_t n,
                        size_t calls)
{
    pthread_mutex_lock(&pool->lock);
    pool->stats.picks += status == LOCUS_OK ? n : 0;
    pool->stats.empty += first == LOCUS_ENOSERVER ? calls : 0;
    pool->stats.ambiguous += first == LOCUS_EAMBIGUOUS ? n : 0;
    pthread_mutex_unlock(&pool->lock);
}

/* n members for so many calls of the user. */
static int pick(struct locus_pool *pool, size_t n, size_t calls,
                char (*members)[LOCUS_POOL_MEMBER_SIZE])
{
    int first = pool_noted_calls(pool, pool->ops->pick(pool->self, n, members), calls);
    int status = first;

    if (pool->config.fail == LOCUS_POOL_FAIL_OPEN && pool->ops != &locus_pool_mem_ops) {
        if (pool_is_away(first)) {
            status = pick_local(pool, first, n, members);
        } else {
            see(pool);
        }
    }
    count_picks(pool, first, status, n, calls);
    if (status != LOCUS_OK) {
        members[0][0] = '\0';
    }
    return status;
}

int locus_pool_pick_many(struct locus_pool *pool, size_t n,
                         char (*members)[LOCUS_POOL_MEMBER_SIZE], size_t *picked)
{
    *picked = 0;
    if (n == 0 || n > LOCUS_POOL_PICKS_MAX) {
        return LOCUS_ERANGE;
    }
    int status = pick(pool, n, 1, members);
    if (status == LOCUS_OK) {
        *picked = n;
    }
    return status;
}

/* ---- coalesced picks -------------------------------------------------------------- */

/*
 * A locus_batch_fn: the keys are pointers to the callers' own buffers. They stay valid
 * since these callers wait for ever, and a pool is closed only when nobody waits.
 */
static int pick_batch(void *ctx, struct locus_batch *batch)
{
    struct locus_pool *pool = ctx;
    char(*members)[LOCUS_POOL_MEMBER_SIZE] =
        pool->batches + (size_t)batch->slot * COALESCED_MAX;
    int status = pick(pool, batch->count, batch->count, members);

    for (size_t i = 0; i < batch->count; i++) {
        char *member;
        memcpy(&member, batch->items[i].key, sizeof(member));
        batch->items[i].status = status;
        if (status == LOCUS_OK) {
            memcpy(member, members[i], strlen(members[i]) + 1);
        }
    }
    return LOCUS_OK;
}

int locus_pool_coalesce(struct locus_pool *pool)
{
    const struct locus_coalescer_config config = {
        .batch = pick_batch,
        .ctx = pool,
        .concurrency = pool->config.coalesce,
        .max_batch = COALESCED_MAX,
        .share = LOCUS_SHARE_NONE,
    };

    pool->batches =
        calloc(pool->config.coalesce, COALESCED_MAX * sizeof(*pool->batches));
    return pool->batches != NULL ? locus_coalescer_create(&config, &pool->picks)
                                 : LOCUS_ENOMEM;
}

static int pick_coalesced(struct locus_pool *pool, char *member)
{
    struct locus_result *result;

    member[0] = '\0';
    int status = locus_coalescer_get(pool->picks, &member, sizeof(member), 0, &result);
    locus_result_release(result);
    return status;
}

int locus_pool_pick(struct locus_pool *pool, char *member)
{
    if (pool->picks != NULL) {
        return pick_coalesced(pool, member);
    }
    /* An array of one; the caller's buffer has that size by contract. */
    return pick(pool, 1, 1, (char(*)[LOCUS_POOL_MEMBER_SIZE])(void *)member);
}
