/* SPDX-License-Identifier: MIT */
/*
 * A pool is opened, read and closed.
 */
#include "pool_internal.h"

#include <locus/coalesce.h>

#include <stdlib.h>
#include <string.h>

#include "scheme.h"

static const struct pool_ops *ops_for(const char *uri)
{
    static const struct pool_ops *const kinds[] = {
        &locus_pool_mem_ops,
        &locus_pool_redis_ops,
    };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (uri_has_scheme(uri, kinds[i]->scheme)) {
            return kinds[i];
        }
    }
    return NULL;
}

static void set_defaults(struct locus_pool_config *config)
{
    config->fail_after = config->fail_after != 0 ? config->fail_after : 3;
    config->restore_after = config->restore_after != 0 ? config->restore_after : 2;
    config->snapshot_ns = config->snapshot_ns != 0 ? config->snapshot_ns : 5 * NS_PER_S;
}

/* NULL: nothing. */
static const char *wrong_with(const struct locus_pool_config *config)
{
    uint64_t unused_ms;

    if (config->lease_limit > POOL_HELD_MAX) {
        return "expected a lease limit of at most 1048576";
    }
    if (config->coalesce > LOCUS_CONCURRENCY_MAX) {
        return "expected at most 1024 coalesced calls at once";
    }
    if (config->lifetime_ns != 0 && (config->lifetime_ns < NS_PER_S ||
                                     !pool_ttl_ms(config->lifetime_ns, &unused_ms))) {
        return "expected a lifetime of 1 s to 30 days";
    }
    return NULL;
}

static int init_locks(struct locus_pool *pool)
{
    if (pthread_mutex_init(&pool->lock, NULL) != 0) {
        return LOCUS_ENOMEM;
    }
    if (pthread_rwlock_init(&pool->local_lock, NULL) != 0) {
        pthread_mutex_destroy(&pool->lock);
        return LOCUS_ENOMEM;
    }
    return LOCUS_OK;
}

int locus_pool_open(const char *uri, const char *name,
                    const struct locus_pool_config *config, struct locus_pool **out,
                    char *error, size_t error_size)
{
    const struct locus_pool_config defaults = {0};
    const struct pool_ops *ops = ops_for(uri);

    *out = NULL;
    config = config != NULL ? config : &defaults;
    if (ops == NULL) {
        return text_refuse(error, error_size, LOCUS_EINVAL, URI_FORMS " as the URI");
    }
    if (!text_is_name(name, LOCUS_POOL_NAME_MAX, "{}")) {
        return text_refuse(
            error, error_size, LOCUS_EINVAL,
            "expected a pool's name of 1 to 200 bytes without braces or control "
            "characters");
    }
    const char *wrong = wrong_with(config);
    if (wrong != NULL) {
        return text_refuse(error, error_size, LOCUS_EINVAL, wrong);
    }
    struct locus_pool *pool = calloc(1, sizeof(*pool));
    if (pool == NULL || init_locks(pool) != LOCUS_OK) {
        free(pool);
        return text_refuse(error, error_size, LOCUS_ENOMEM, "out of memory");
    }
    pool->config = *config;
    set_defaults(&pool->config);
    pool->ops = ops;
    int status = ops->open(uri, name, &pool->config, &pool->self, error, error_size);
    if (status == LOCUS_OK && pool->config.coalesce > 0 && ops != &locus_pool_mem_ops) {
        status = locus_pool_coalesce(pool);
    }
    if (status == LOCUS_ENOMEM) {
        text_refuse(error, error_size, status, "out of memory");
    }
    if (status != LOCUS_OK) {
        locus_pool_close(pool);
        return status;
    }
    *out = pool;
    return LOCUS_OK;
}

void locus_pool_close(struct locus_pool *pool)
{
    if (pool == NULL) {
        return;
    }
    locus_coalescer_destroy(pool->picks);
    free(pool->batches);
    if (pool->self != NULL) {
        pool->ops->close(pool->self);
    }
    if (pool->local != NULL) {
        locus_pool_mem_ops.close(pool->local);
    }
    pthread_rwlock_destroy(&pool->local_lock);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

/* ---- figures --------------------------------------------------------------------- */

void locus_pool_get_stats(struct locus_pool *pool, struct locus_pool_stats *out)
{
    pthread_mutex_lock(&pool->lock);
    *out = pool->stats;
    pthread_mutex_unlock(&pool->lock);
    if (pool->ops->stats != NULL) {
        pool->ops->stats(pool->self, out);
    }
}

void locus_pool_error(struct locus_pool *pool, char *text, size_t size)
{
    if (size > 0) {
        text[0] = '\0';
    }
    if (pool->ops->error != NULL) {
        pool->ops->error(pool->self, text, size);
    }
}
