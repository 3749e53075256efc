/* SPDX-License-Identifier: MIT */
/*
 * What has happened on a handle: its counters, and the words of its last failure.
 */
#include "redis_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

void locus_redis_say(struct locus_redis *redis, const char *format, ...)
{
    char text[sizeof(redis->error)];
    va_list ap;

    va_start(ap, format);
    /* NOLINTNEXTLINE(clang-analyzer-valist.*): it is, by the line above */
    vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    for (char *c = text; *c != '\0'; c++) {
        if (text_is_control(*c)) {
            *c = '?';
        }
    }
    pthread_mutex_lock(&redis->lock);
    memcpy(redis->error, text, sizeof(text));
    pthread_mutex_unlock(&redis->lock);
}

void locus_redis_error(struct locus_redis *redis, char *text, size_t size)
{
    pthread_mutex_lock(&redis->lock);
    snprintf(text, size, "%s", redis->error);
    pthread_mutex_unlock(&redis->lock);
}

void locus_redis_count(struct locus_redis *redis, uint64_t *counter, uint64_t by)
{
    pthread_mutex_lock(&redis->lock);
    *counter += by;
    pthread_mutex_unlock(&redis->lock);
}

void locus_redis_get_stats(struct locus_redis *redis, struct locus_redis_stats *out)
{
    pthread_mutex_lock(&redis->lock);
    *out = redis->stats;
    pthread_mutex_unlock(&redis->lock);
}
