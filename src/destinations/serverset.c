/* SPDX-License-Identifier: MIT */
#include "serverset.h"

/*
 * handle = class << 26 | index of the array in its class, plus the top bit, which tells the
 * map that it is a handle and keeps it from being 0. An array of class c has 4 << c words,
 * the first of them the size.
 */
enum { INDEX_BITS = 26, CHUNK_BYTES = 65536 };
#define HANDLE_BIT 0x80000000u
#define INDEX_MASK ((1u << INDEX_BITS) - 1)

static size_t array_bytes(unsigned class)
{
    return (size_t)16 << class;
}

static uint32_t class_capacity(unsigned class)
{
    return (4u << class) - 1;
}

static uint32_t arrays_per_chunk(unsigned class)
{
    size_t bytes = array_bytes(class);

    return bytes < CHUNK_BYTES ? (uint32_t)(CHUNK_BYTES / bytes) : 1;
}

static size_t chunk_bytes(unsigned class)
{
    return array_bytes(class) * arrays_per_chunk(class);
}

static unsigned handle_class(uint32_t handle)
{
    return (handle & ~HANDLE_BIT) >> INDEX_BITS;
}

static struct server_set *array_at(const struct set_class *c, unsigned class,
                                   uint32_t index)
{
    uint32_t per_chunk = arrays_per_chunk(class);
    uint32_t *words =
        c->chunks[index / per_chunk] +
        (size_t)(index % per_chunk) * (array_bytes(class) / sizeof(*words));

    return (struct server_set *)words;
}

void locus_setpool_init(struct setpool *pool, const struct locus_allocator *allocator)
{
    memset(pool, 0, sizeof(*pool));
    pool->allocator = allocator;
}

void locus_setpool_fini(struct setpool *pool)
{
    for (unsigned class = 0; class < SET_CLASSES; class ++) {
        struct set_class *c = &pool->classes[class];
        for (uint32_t i = 0; i < c->chunk_count; i++) {
            release(pool->allocator, c->chunks[i], chunk_bytes(class));
        }
        release(pool->allocator, c->chunks, c->chunk_capacity * sizeof(*c->chunks));
    }
    memset(pool->classes, 0, sizeof(pool->classes));
    pool->bytes = 0;
}

static bool grow_chunk_list(struct setpool *pool, struct set_class *c)
{
    uint32_t capacity = c->chunk_capacity == 0 ? 4 : 2 * c->chunk_capacity;
    uint32_t **grown = alloc_bytes(pool->allocator, capacity * sizeof(*grown));

    if (grown == NULL) {
        return false;
    }
    if (c->chunk_count > 0) {
        memcpy(grown, c->chunks, c->chunk_count * sizeof(*grown));
    }
    release(pool->allocator, c->chunks, c->chunk_capacity * sizeof(*c->chunks));
    pool->bytes += (capacity - c->chunk_capacity) * sizeof(*grown);
    c->chunks = grown;
    c->chunk_capacity = capacity;
    return true;
}

/* One more chunk, its arrays put on the free list, lowest index first. */
static bool add_chunk(struct setpool *pool, unsigned class)
{
    struct set_class *c = &pool->classes[class];
    uint32_t per_chunk = arrays_per_chunk(class);
    uint32_t first = c->chunk_count * per_chunk;

    if (first + per_chunk > INDEX_MASK ||
        (c->chunk_count == c->chunk_capacity && !grow_chunk_list(pool, c))) {
        return false;
    }
    uint32_t *chunk = alloc_bytes(pool->allocator, chunk_bytes(class));
    if (chunk == NULL) {
        return false;
    }
    pool->bytes += chunk_bytes(class);
    c->chunks[c->chunk_count++] = chunk;
    for (uint32_t i = per_chunk; i > 0; i--) {
        array_at(c, class, first + i - 1)->size = c->unused;
        c->unused = first + i;
    }
    return true;
}

/* A handle of a fresh array, 0 without memory. */
static uint32_t take_array(struct setpool *pool, unsigned class)
{
    struct set_class *c = &pool->classes[class];

    if (c->unused == 0 && !add_chunk(pool, class)) {
        return 0;
    }
    uint32_t index = c->unused - 1;
    c->unused = array_at(c, class, index)->size;
    return HANDLE_BIT | (uint32_t) class << INDEX_BITS | index;
}

struct server_set *locus_set_get(const struct setpool *pool, uint32_t handle)
{
    unsigned class = handle_class(handle);

    return array_at(&pool->classes[class], class, handle & INDEX_MASK);
}

uint32_t locus_set_create(struct setpool *pool, uint32_t older, uint32_t newer)
{
    uint32_t handle = take_array(pool, 0);

    if (handle != 0) {
        struct server_set *set = locus_set_get(pool, handle);
        set->size = 2;
        set->members[0] = older;
        set->members[1] = newer;
    }
    return handle;
}

void locus_set_free(struct setpool *pool, uint32_t handle)
{
    unsigned class = handle_class(handle);
    struct set_class *c = &pool->classes[class];

    locus_set_get(pool, handle)->size = c->unused;
    c->unused = (handle & INDEX_MASK) + 1;
}

uint32_t locus_set_push(struct setpool *pool, uint32_t handle, uint32_t server)
{
    unsigned class = handle_class(handle);
    struct server_set *set = locus_set_get(pool, handle);

    if (set->size == class_capacity(class)) {
        uint32_t larger = class + 1 < SET_CLASSES ? take_array(pool, class + 1) : 0;
        if (larger == 0) {
            return 0;
        }
        memcpy(locus_set_get(pool, larger), set, array_bytes(class));
        locus_set_free(pool, handle);
        handle = larger;
        set = locus_set_get(pool, handle);
    }
    set->members[set->size++] = server;
    return handle;
}

void locus_set_remove(struct setpool *pool, uint32_t handle, uint32_t index)
{
    struct server_set *set = locus_set_get(pool, handle);

    set->size--;
    memmove(set->members + index, set->members + index + 1,
            (set->size - index) * sizeof(*set->members));
}
