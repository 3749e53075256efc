/* SPDX-License-Identifier: MIT */
/*
 * Nodes, and the connections to each: at most so many, shared by all threads, and a pause that
 * grows after every failure to make one.
 */
#include "redis_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NODES_MAX = 1024, /* of a cluster; a server that names more is not one */
    BACKOFF_FIRST_MS = 10,
    BACKOFF_LAST_MS = 2000,
};

/* splitmix64; the lock is held. Only for spreading reconnections. */
static uint64_t dice(struct locus_redis *redis)
{
    uint64_t z = redis->random += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint64_t locus_redis_backoff_ns(struct locus_redis *redis, unsigned failures)
{
    uint64_t wait_ms = BACKOFF_FIRST_MS;

    while (failures-- > 1 && wait_ms < BACKOFF_LAST_MS) {
        wait_ms *= 2;
    }
    if (wait_ms > BACKOFF_LAST_MS) {
        wait_ms = BACKOFF_LAST_MS;
    }
    uint64_t half_ns = wait_ms * NS_PER_MS / 2;
    return half_ns + dice(redis) % (half_ns + 1);
}

static bool init_changed(struct node *node)
{
    pthread_condattr_t attributes;

    if (pthread_condattr_init(&attributes) != 0) {
        return false;
    }
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    bool made = pthread_cond_init(&node->changed, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    return made;
}

static struct node *node_new(const char *host, size_t length, const char *port)
{
    struct node *node = calloc(1, sizeof(*node));

    if (node == NULL || !init_changed(node)) {
        free(node);
        return NULL;
    }
    node->host = strndup(host, length);
    if (node->host == NULL) {
        locus_redis_node_free(node);
        return NULL;
    }
    snprintf(node->port, sizeof(node->port), "%s", port);
    return node;
}

void locus_redis_node_free(struct node *node)
{
    while (node->idle != NULL) {
        struct connection *connection = node->idle;
        node->idle = connection->next;
        locus_redis_disconnect(connection);
    }
    pthread_cond_destroy(&node->changed);
    free(node->host);
    free(node);
}

size_t locus_redis_node_add(struct locus_redis *redis, const char *host, size_t length,
                            const char *port)
{
    for (size_t i = 0; i < redis->node_count; i++) {
        const struct node *node = redis->nodes[i];
        if (strlen(node->host) == length && memcmp(node->host, host, length) == 0 &&
            strcmp(node->port, port) == 0) {
            return i;
        }
    }
    if (redis->node_count == NODES_MAX || length == 0 ||
        strnlen(host, length) < length) {
        return NO_NODE;
    }
    struct node **grown =
        realloc(redis->nodes, (redis->node_count + 1) * sizeof(*redis->nodes));
    if (grown == NULL) {
        return NO_NODE;
    }
    redis->nodes = grown;
    struct node *node = node_new(host, length, port);
    if (node == NULL) {
        return NO_NODE;
    }
    redis->nodes[redis->node_count] = node;
    return redis->node_count++;
}

/* Waits for a change, or until the time. The lock is held. */
static void wait_changed(struct locus_redis *redis, struct node *node,
                         uint64_t until_ns)
{
    const struct timespec at = clock_timespec(until_ns);

    pthread_cond_timedwait(&node->changed, &redis->lock, &at);
}

/* The lock is held. */
static void count_failure(struct locus_redis *redis, struct node *node)
{
    node->failures++;
    node->retry_at_ns =
        clock_after(clock_now_ns(), locus_redis_backoff_ns(redis, node->failures));
}

/* Makes a connection; the caller has counted it in node->open. The lock is held, but not
 * while connecting. Whether the node works shows once it has answered. */
static int node_connect(struct locus_redis *redis, struct node *node,
                        uint64_t deadline_ns, struct connection **out)
{
    if (node->failures > 0) {
        /* The others wait until this try is over. */
        node->retry_at_ns = UINT64_MAX;
    }
    pthread_mutex_unlock(&redis->lock);
    uint64_t until_ns = clock_earlier(
        deadline_ns, clock_after(clock_now_ns(), redis->options.connect_timeout_ns));
    int status = locus_redis_connect(redis, node, until_ns, out);
    pthread_mutex_lock(&redis->lock);
    if (status == LOCUS_OK) {
        redis->stats.connects++;
        (*out)->failures = node->failures;
        node->retry_at_ns = 0;
    } else {
        redis->stats.connect_failures++;
        node->open--;
        count_failure(redis, node);
    }
    pthread_cond_broadcast(&node->changed);
    return status;
}

int locus_redis_checkout(struct locus_redis *redis, struct node *node,
                         uint64_t deadline_ns, struct connection **out)
{
    struct connection *connection = NULL;
    int status = LOCUS_OK;

    pthread_mutex_lock(&redis->lock);
    while (connection == NULL) {
        if (node->idle != NULL) {
            connection = node->idle;
            node->idle = connection->next;
            if (!locus_redis_idle_alive(connection)) {
                locus_redis_disconnect(connection);
                connection = NULL;
                node->open--;
            }
            continue;
        }
        uint64_t now_ns = clock_now_ns();
        if (now_ns >= deadline_ns) {
            status = node->failures > 0 ? LOCUS_EIO : LOCUS_ETIMEDOUT;
            break;
        }
        if (node->open < redis->options.connections && now_ns >= node->retry_at_ns) {
            node->open++;
            status = node_connect(redis, node, deadline_ns, &connection);
            break;
        }
        wait_changed(redis, node,
                     now_ns < node->retry_at_ns
                         ? clock_earlier(node->retry_at_ns, deadline_ns)
                         : deadline_ns);
    }
    pthread_mutex_unlock(&redis->lock);
    *out = connection;
    return status;
}

void locus_redis_checkin(struct locus_redis *redis, struct node *node,
                         struct connection *connection, bool works)
{
    unsigned failures = connection->failures;

    if (!works) {
        locus_redis_disconnect(connection);
    }
    pthread_mutex_lock(&redis->lock);
    if (works) {
        connection->next = node->idle;
        node->idle = connection;
        if (node->failures > 0) {
            node->failures = 0;
            node->retry_at_ns = 0;
            pthread_cond_broadcast(&node->changed);
        }
    } else {
        node->open--;
        if (failures == node->failures) { /* what broke together is one failure */
            count_failure(redis, node);
        }
    }
    pthread_cond_signal(&node->changed);
    pthread_mutex_unlock(&redis->lock);
}
