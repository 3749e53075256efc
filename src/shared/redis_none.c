/* SPDX-License-Identifier: MIT */
/*
 * A build without hiredis: opening a pool or a registry in Redis says so, and nothing else of
 * them is ever reached.
 */
#include "pool_ops.h"
#include "registry_ops.h"
#include "text.h"

static int refuse(char *error, size_t size)
{
    return text_refuse(error, size, LOCUS_ENOTSUP,
                       "this build has no Redis (it was made without hiredis)");
}

static int pool_open(const char *uri, const char *name,
                     const struct locus_pool_config *config, void **out, char *error,
                     size_t error_size)
{
    (void)uri;
    (void)name;
    (void)config;
    (void)out;
    return refuse(error, error_size);
}

static int registry_open(const char *uri, const char *name,
                         const struct locus_registry_config *config, void **out,
                         char *error, size_t error_size)
{
    (void)uri;
    (void)name;
    (void)config;
    (void)out;
    return refuse(error, error_size);
}

const struct pool_ops locus_pool_redis_ops = {.scheme = "redis", .open = pool_open};
const struct registry_ops locus_registry_redis_ops = {.scheme = "redis",
                                                      .open = registry_open};
