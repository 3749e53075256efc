/* SPDX-License-Identifier: MIT */
/*
 * The Redis client of a build without hiredis: opening says so, and since no handle ever
 * exists, nothing else is reached. It keeps the rest free of conditions.
 */
#include "redis.h"

#include <stdio.h>

int locus_redis_open(const char *uri, const struct locus_redis_options *options,
                     struct locus_redis **out, char *error, size_t error_size)
{
    (void)uri;
    (void)options;
    *out = NULL;
    snprintf(error, error_size,
             "this build has no Redis (it was made without hiredis)");
    return LOCUS_ENOTSUP;
}

void locus_redis_close(struct locus_redis *redis)
{
    (void)redis;
}

int locus_redis_run(struct locus_redis *redis,
                    const struct locus_redis_command *commands, size_t count,
                    uint64_t timeout_ns, struct locus_redis_result *results)
{
    (void)redis;
    (void)commands;
    (void)timeout_ns;
    for (size_t i = 0; i < count; i++) {
        results[i] = (struct locus_redis_result){.status = LOCUS_ENOTSUP};
    }
    return LOCUS_ENOTSUP;
}

int locus_redis_run_one(struct locus_redis *redis,
                        const struct locus_redis_command *command, uint64_t timeout_ns,
                        struct locus_redis_reply **reply)
{
    (void)redis;
    (void)command;
    (void)timeout_ns;
    *reply = NULL;
    return LOCUS_ENOTSUP;
}

void locus_redis_results_clear(struct locus_redis_result *results, size_t count)
{
    (void)results;
    (void)count;
}

enum locus_reply_kind locus_reply_kind(const struct locus_redis_reply *reply)
{
    (void)reply;
    return LOCUS_REPLY_NONE;
}

const char *locus_reply_text(const struct locus_redis_reply *reply, size_t *length)
{
    (void)reply;
    (void)length;
    return NULL;
}

bool locus_reply_integer(const struct locus_redis_reply *reply, int64_t *out)
{
    (void)reply;
    (void)out;
    return false;
}

size_t locus_reply_count(const struct locus_redis_reply *reply)
{
    (void)reply;
    return 0;
}

const struct locus_redis_reply *locus_reply_at(const struct locus_redis_reply *reply,
                                               size_t index)
{
    (void)reply;
    (void)index;
    return NULL;
}

void locus_reply_free(struct locus_redis_reply *reply)
{
    (void)reply;
}

void locus_redis_get_stats(struct locus_redis *redis, struct locus_redis_stats *out)
{
    (void)redis;
    *out = (struct locus_redis_stats){0};
}

void locus_redis_error(struct locus_redis *redis, char *text, size_t size)
{
    (void)redis;
    snprintf(text, size, "%s", "");
}

const char *locus_redis_name(const struct locus_redis *redis)
{
    (void)redis;
    return "";
}
