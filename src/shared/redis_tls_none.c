/* SPDX-License-Identifier: MIT */
/* A build without OpenSSL: opening says so, and nothing else is reached. */
#include "redis_internal.h"

#include <stdio.h>

int locus_redis_tls_start(struct locus_redis *redis, char *error, size_t error_size)
{
    (void)redis;
    snprintf(error, error_size, "this build has no TLS (it was made without OpenSSL)");
    return LOCUS_ENOTSUP;
}

void locus_redis_tls_stop(struct locus_redis *redis)
{
    (void)redis;
}

int locus_redis_tls_secure(struct locus_redis *redis, const struct node *node,
                           struct connection *connection, uint64_t deadline_ns)
{
    (void)redis;
    (void)node;
    (void)connection;
    (void)deadline_ns;
    return LOCUS_ENOTSUP;
}

void locus_redis_tls_free(struct connection *connection)
{
    (void)connection;
}

ssize_t locus_redis_tls_write(struct connection *connection, const char *bytes,
                              size_t length)
{
    (void)connection;
    (void)bytes;
    (void)length;
    return -1;
}

ssize_t locus_redis_tls_read(struct connection *connection, char *bytes, size_t size)
{
    (void)connection;
    (void)bytes;
    (void)size;
    return -1;
}
