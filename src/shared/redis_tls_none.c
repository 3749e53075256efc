/* SPDX-License-Identifier: MIT */
/* Where the installed hiredis has no TLS: opening says so. */
#include "redis_internal.h"

#include <stdio.h>

int locus_redis_tls_start(struct locus_redis *redis, char *error, size_t error_size)
{
    (void)redis;
    snprintf(error, error_size, "this build's hiredis has no TLS");
    return LOCUS_ENOTSUP;
}

void locus_redis_tls_stop(struct locus_redis *redis)
{
    (void)redis;
}

bool locus_redis_tls_secure(struct locus_redis *redis, const struct node *node,
                            redisContext *context, uint64_t deadline_ns)
{
    (void)redis;
    (void)node;
    (void)context;
    (void)deadline_ns;
    return false;
}
