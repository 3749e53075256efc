/* SPDX-License-Identifier: MIT */
/*
 * Redis Cluster: which node has a slot, as far as it is known.
 */
#include "redis_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 16384 };

unsigned locus_redis_slot(const char *key, size_t length)
{
    const char *open = memchr(key, '{', length);
    unsigned crc = 0;

    if (open != NULL) {
        size_t rest = length - (size_t)(open - key) - 1;
        const char *close = memchr(open + 1, '}', rest);
        if (close != NULL && close != open + 1) {
            key = open + 1;
            length = (size_t)(close - key);
        }
    }
    for (size_t i = 0; i < length; i++) { /* CRC-16/XMODEM, as the cluster spec says */
        crc ^= (unsigned)(unsigned char)key[i] << 8;
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc & 0x8000) != 0 ? (crc << 1 ^ 0x1021) & 0xffff : crc << 1;
        }
    }
    return crc % SLOTS;
}

static bool read_port(const char *text, size_t length, char out[8])
{
    if (length == 0 || length > 5 || strspn(text, "0123456789") < length ||
        strtoul(text, NULL, 10) - 1 >= 65535) {
        return false;
    }
    memcpy(out, text, length);
    out[length] = '\0';
    return true;
}

size_t locus_redis_redirected(struct locus_redis *redis, const redisReply *reply,
                              const struct node *from, unsigned *slot)
{
    const char *number = strchr(reply->str, ' ');
    const char *where = number != NULL ? strchr(number + 1, ' ') : NULL;
    const char *colon = where != NULL ? strrchr(where, ':') : NULL;
    char port[8];

    if (colon == NULL || !read_port(colon + 1, strlen(colon + 1), port)) {
        return NO_NODE;
    }
    unsigned long parsed = strtoul(number + 1, NULL, 10);
    if (parsed >= SLOTS) {
        return NO_NODE;
    }
    *slot = (unsigned)parsed;
    const char *host = where + 1;
    size_t length = (size_t)(colon - host);
    if (length == 0) {
        host = from->host;
        length = strlen(host);
    }
    pthread_mutex_lock(&redis->lock);
    size_t node = locus_redis_node_add(redis, host, length, port);
    pthread_mutex_unlock(&redis->lock);
    return node;
}

void locus_redis_map_set(struct locus_redis *redis, unsigned slot, size_t node)
{
    if (redis->slots == NULL) {
        redis->slots = calloc(SLOTS, sizeof(*redis->slots));
    }
    if (redis->slots != NULL) { /* without memory, each command is redirected */
        redis->slots[slot] = (uint16_t)(node + 1);
    }
}

/* One row of CLUSTER SLOTS: first, last, [host, port, ...] of the master, then replicas. */
static void map_row(struct locus_redis *redis, const struct locus_redis_reply *row,
                    const struct node *from)
{
    int64_t first, last, port;
    char digits[8];

    if (!locus_reply_integer(locus_reply_at(row, 0), &first) ||
        !locus_reply_integer(locus_reply_at(row, 1), &last) || first < 0 ||
        last >= SLOTS || first > last) {
        return;
    }
    for (size_t i = 2; i < locus_reply_count(row); i++) {
        const struct locus_redis_reply *at = locus_reply_at(row, i);
        size_t length = 0;
        const char *host = locus_reply_text(locus_reply_at(at, 0), &length);
        if (!locus_reply_integer(locus_reply_at(at, 1), &port) || port < 1 ||
            port > 65535) {
            continue;
        }
        if (host == NULL || length == 0) {
            host = from->host;
            length = strlen(host);
        }
        snprintf(digits, sizeof(digits), "%d", (int)port);
        size_t node = locus_redis_node_add(redis, host, length, digits);
        for (int64_t slot = first; i == 2 && node != NO_NODE && slot <= last; slot++) {
            locus_redis_map_set(redis, (unsigned)slot, node);
        }
    }
}

bool locus_redis_map_ask(struct locus_redis *redis, const struct node *from,
                         struct connection *connection, uint64_t deadline_ns)
{
    const char *argv[] = {"CLUSTER", "SLOTS"};
    uint64_t now_ns = clock_now_ns();

    pthread_mutex_lock(&redis->lock);
    bool due = redis->map_asked_ns == 0 || now_ns - redis->map_asked_ns > NS_PER_S;
    if (due) {
        redis->map_asked_ns = now_ns;
    }
    pthread_mutex_unlock(&redis->lock);
    if (!due) {
        return true;
    }
    if (redisAppendCommandArgv(connection->context, 2, argv, NULL) != REDIS_OK) {
        return false;
    }
    redisReply *reply = locus_redis_next_reply(connection, deadline_ns);
    if (reply == NULL) {
        return false;
    }
    const struct locus_redis_reply *rows =
        (const struct locus_redis_reply *)(const void *)reply;
    pthread_mutex_lock(&redis->lock);
    for (size_t i = 0; i < locus_reply_count(rows); i++) {
        map_row(redis, locus_reply_at(rows, i), from);
    }
    pthread_mutex_unlock(&redis->lock);
    freeReplyObject(reply);
    return true;
}

size_t locus_redis_node_for(struct locus_redis *redis, bool keyed, unsigned slot)
{
    size_t best = 0;

    pthread_mutex_lock(&redis->lock);
    if (keyed && redis->slots != NULL && redis->slots[slot] != 0) {
        size_t mapped = redis->slots[slot] - 1u;
        const struct node *node = redis->nodes[mapped];
        if (node->failures == 0 || clock_now_ns() >= node->retry_at_ns) {
            pthread_mutex_unlock(&redis->lock);
            return mapped;
        }
    }
    for (size_t i = 1; i < redis->node_count; i++) {
        if (redis->nodes[i]->failures < redis->nodes[best]->failures) {
            best = i;
        }
    }
    pthread_mutex_unlock(&redis->lock);
    return best;
}
