/* SPDX-License-Identifier: MIT */
#include "cache.h"

#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include <locus/status.h>

#include "../base/values.h"

const char *const cache_policy_names[] = {"lru", "sieve", "s3fifo", NULL};

enum { MAIN, SMALL, GHOST, QUEUES };
enum { MOST_LIVES = 3, SMALL_PART = 10 }; /* the small queue has a tenth */

struct entry {
    UT_hash_handle hh;
    struct entry *newer, *older; /* in its queue */
    uint64_t size;
    uint32_t object;
    uint8_t queue;
    uint8_t uses; /* sieve: 0 or 1; s3fifo: lives left */
};

struct queue {
    struct entry *newest, *oldest;
    uint64_t used;
};

struct cache {
    struct cache_config config;
    struct entry *entries; /* by object */
    struct queue queues[QUEUES];
    struct entry *hand; /* sieve */
};

bool cache_capacity_parse(const char *text, struct cache_config *out)
{
    size_t length = strlen(text);
    size_t digits = strspn(text, "0123456789");
    const char *unit = text + digits;

    out->objects = strcmp(unit, "objects") == 0 || strcmp(unit, "obj") == 0;
    if (out->objects) {
        length = digits;
    }
    return (out->objects ? read_number(text, length, &out->capacity)
                         : read_bytes(text, length, &out->capacity)) &&
           out->capacity > 0;
}

int cache_create(const struct cache_config *config, struct cache **out)
{
    struct cache *cache = calloc(1, sizeof(*cache));

    if (cache != NULL) {
        cache->config = *config;
    }
    *out = cache;
    return cache != NULL ? LOCUS_OK : LOCUS_ENOMEM;
}

void cache_clear(struct cache *cache)
{
    for (int q = 0; q < QUEUES; q++) {
        struct entry *entry = cache->queues[q].newest;
        while (entry != NULL) {
            struct entry *older = entry->older;
            HASH_DEL(cache->entries, entry);
            free(entry);
            entry = older;
        }
        cache->queues[q] = (struct queue){0};
    }
    cache->hand = NULL;
}

void cache_destroy(struct cache *cache)
{
    if (cache != NULL) {
        cache_clear(cache);
    }
    free(cache);
}

uint64_t cache_used(const struct cache *cache)
{
    return cache->queues[MAIN].used + cache->queues[SMALL].used;
}

static void push(struct cache *cache, int queue, struct entry *entry)
{
    struct queue *q = &cache->queues[queue];

    entry->queue = (uint8_t)queue;
    entry->newer = NULL;
    entry->older = q->newest;
    if (q->newest != NULL) {
        q->newest->newer = entry;
    } else {
        q->oldest = entry;
    }
    q->newest = entry;
    q->used += entry->size;
}

static void pull(struct cache *cache, struct entry *entry)
{
    struct queue *q = &cache->queues[entry->queue];

    if (cache->hand == entry) {
        cache->hand = entry->newer;
    }
    if (entry->newer != NULL) {
        entry->newer->older = entry->older;
    } else {
        q->newest = entry->older;
    }
    if (entry->older != NULL) {
        entry->older->newer = entry->newer;
    } else {
        q->oldest = entry->newer;
    }
    q->used -= entry->size;
}

static void drop(struct cache *cache, struct entry *entry)
{
    pull(cache, entry);
    HASH_DEL(cache->entries, entry);
    free(entry);
}

static uint64_t main_share(const struct cache *cache)
{
    uint64_t small = cache->config.capacity / SMALL_PART;

    return cache->config.capacity - (small > 0 ? small : 1);
}

static void remember_ghost(struct cache *cache, struct entry *entry)
{
    struct queue *ghosts = &cache->queues[GHOST];

    pull(cache, entry);
    push(cache, GHOST, entry);
    while (ghosts->used > main_share(cache) && ghosts->oldest != NULL) {
        drop(cache, ghosts->oldest);
    }
}

/* The oldest of the main queue that has no life left goes; the others lose one and go round. */
static void evict_main(struct cache *cache)
{
    struct entry *entry = cache->queues[MAIN].oldest;

    while (entry->uses > 0) {
        pull(cache, entry);
        entry->uses--;
        push(cache, MAIN, entry);
        entry = cache->queues[MAIN].oldest;
    }
    drop(cache, entry);
}

static void evict_s3fifo(struct cache *cache)
{
    struct queue *small = &cache->queues[SMALL];
    uint64_t share = cache->config.capacity - main_share(cache);

    while (small->oldest != NULL &&
           (small->used > share || cache->queues[MAIN].oldest == NULL)) {
        struct entry *entry = small->oldest;
        if (entry->uses <= 1) {
            remember_ghost(cache, entry);
            return;
        }
        pull(cache, entry);
        entry->uses = 0;
        push(cache, MAIN, entry);
    }
    evict_main(cache);
}

static void evict_sieve(struct cache *cache)
{
    struct entry *entry =
        cache->hand != NULL ? cache->hand : cache->queues[MAIN].oldest;

    while (entry->uses > 0) {
        entry->uses = 0;
        entry = entry->newer != NULL ? entry->newer : cache->queues[MAIN].oldest;
    }
    cache->hand = entry->newer;
    drop(cache, entry);
}

static void evict(struct cache *cache)
{
    switch (cache->config.policy) {
    case CACHE_LRU:
        drop(cache, cache->queues[MAIN].oldest);
        break;
    case CACHE_SIEVE:
        evict_sieve(cache);
        break;
    case CACHE_S3FIFO:
        evict_s3fifo(cache);
        break;
    }
}

static void make_fit(struct cache *cache, uint64_t size)
{
    while (cache_used(cache) > cache->config.capacity - size) {
        evict(cache);
    }
}

static void use(struct cache *cache, struct entry *entry)
{
    switch (cache->config.policy) {
    case CACHE_LRU:
        pull(cache, entry);
        push(cache, MAIN, entry);
        break;
    case CACHE_SIEVE:
        entry->uses = 1;
        break;
    case CACHE_S3FIFO:
        if (entry->uses < MOST_LIVES) {
            entry->uses++;
        }
        break;
    }
}

static int admit(struct cache *cache, uint32_t object, uint64_t size, bool known)
{
    struct entry *entry = calloc(1, sizeof(*entry));

    if (entry == NULL) {
        return LOCUS_ENOMEM;
    }
    entry->object = object;
    entry->size = size;
    HASH_ADD(hh, cache->entries, object, sizeof(entry->object), entry);
    if (entry->hh.tbl == NULL) {
        free(entry);
        return LOCUS_ENOMEM;
    }
    make_fit(cache, size);
    push(cache, cache->config.policy == CACHE_S3FIFO && !known ? SMALL : MAIN, entry);
    return LOCUS_OK;
}

/* The copy is now the size of its latest transfer. */
static void resize(struct cache *cache, struct entry *entry, uint64_t size)
{
    cache->queues[entry->queue].used += size - entry->size;
    entry->size = size;
    while (cache_used(cache) > cache->config.capacity) {
        evict(cache);
    }
}

int cache_request(struct cache *cache, uint32_t object, uint64_t bytes, bool *hit)
{
    uint64_t size = cache->config.objects || bytes == 0 ? 1 : bytes;
    struct entry *entry;
    bool known = false;

    HASH_FIND(hh, cache->entries, &object, sizeof(object), entry);
    *hit = entry != NULL && entry->queue != GHOST;
    if (entry != NULL && (!*hit || size > cache->config.capacity)) {
        known = !*hit;
        drop(cache, entry);
        entry = NULL;
    }
    if (size > cache->config.capacity) {
        return LOCUS_OK;
    }
    if (entry == NULL) {
        return admit(cache, object, size, known);
    }
    use(cache, entry);
    if (entry->size != size) {
        resize(cache, entry, size);
    }
    return LOCUS_OK;
}
