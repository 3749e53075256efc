/* SPDX-License-Identifier: MIT */
/*
 * A handle is opened and closed.
 */
#include "redis_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static bool add_hosts(struct locus_redis *redis)
{
    const struct redis_uri *uri = &redis->uri;

    if (uri->path != NULL) {
        return locus_redis_node_add(redis, uri->path, strlen(uri->path), "") != NO_NODE;
    }
    for (size_t i = 0; i < uri->host_count; i++) {
        if (locus_redis_node_add(redis, uri->hosts[i].name, strlen(uri->hosts[i].name),
                                 uri->hosts[i].port) == NO_NODE) {
            return false;
        }
    }
    return true;
}

static void name_handle(struct locus_redis *redis)
{
    const struct redis_uri *uri = &redis->uri;

    if (uri->path != NULL) {
        snprintf(redis->name, sizeof(redis->name), "%.200s/%u", uri->path, uri->db);
    } else {
        snprintf(redis->name, sizeof(redis->name), "%.200s:%s/%u", uri->hosts[0].name,
                 uri->hosts[0].port, uri->db);
    }
}

static void set_options(struct locus_redis *redis,
                        const struct locus_redis_options *options)
{
    const struct locus_redis_options none = {0};
    struct locus_redis_options *o = &redis->options;

    *o = options != NULL ? *options : none;
    o->connect_timeout_ns =
        o->connect_timeout_ns != 0 ? o->connect_timeout_ns : NS_PER_S;
    o->command_timeout_ns =
        o->command_timeout_ns != 0 ? o->command_timeout_ns : NS_PER_S;
    o->total_timeout_ns = o->total_timeout_ns != 0 ? o->total_timeout_ns : 3 * NS_PER_S;
    o->connections = o->connections != 0 ? o->connections : 8;
}

int locus_redis_open(const char *uri, const struct locus_redis_options *options,
                     struct locus_redis **out, char *error, size_t error_size)
{
    struct locus_redis *redis = calloc(1, sizeof(*redis));

    *out = NULL;
    if (redis == NULL || pthread_mutex_init(&redis->lock, NULL) != 0) {
        snprintf(error, error_size, "out of memory");
        free(redis);
        return LOCUS_ENOMEM;
    }
    if (getrandom(&redis->random, sizeof(redis->random), GRND_NONBLOCK) < 0) {
        redis->random = clock_now_ns();
    }
    set_options(redis, options);
    int status = locus_redis_uri_parse(uri, &redis->uri, error, error_size);
    if (status == LOCUS_OK && redis->uri.tls) {
        status = locus_redis_tls_start(redis, error, error_size);
    }
    if (status == LOCUS_OK && !add_hosts(redis)) {
        snprintf(error, error_size, "out of memory");
        status = LOCUS_ENOMEM;
    }
    if (status != LOCUS_OK) {
        locus_redis_close(redis);
        return status;
    }
    name_handle(redis);
    *out = redis;
    return LOCUS_OK;
}

void locus_redis_close(struct locus_redis *redis)
{
    if (redis == NULL) {
        return;
    }
    for (size_t i = 0; i < redis->node_count; i++) {
        locus_redis_node_free(redis->nodes[i]);
    }
    locus_redis_tls_stop(redis);
    free(redis->nodes);
    free(redis->slots);
    pthread_mutex_destroy(&redis->lock);
    explicit_bzero(redis, sizeof(*redis));
    free(redis);
}

const char *locus_redis_name(const struct locus_redis *redis)
{
    return redis->name;
}
