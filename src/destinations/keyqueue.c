/* SPDX-License-Identifier: MIT */
/*
 * There is always one chunk more than the items would fill: then a pop and a push, which is
 * how a key goes round, never asks for memory, wherever in their chunks both ends are.
 */
#include "keyqueue.h"

#include "../base/alloc.h"

enum { CHUNK_ITEMS = 256 };

struct keyqueue_chunk {
    struct keyqueue_chunk *next;
    unsigned char items[];
};

static size_t key_size(const struct keyqueue *queue)
{
    return queue->wide ? sizeof(union locus_key) : sizeof(uint32_t);
}

static size_t item_size(const struct keyqueue *queue)
{
    return sizeof(uint32_t) + key_size(queue);
}

static size_t chunk_bytes(const struct keyqueue *queue)
{
    return sizeof(struct keyqueue_chunk) + CHUNK_ITEMS * item_size(queue);
}

void locus_keyqueue_init(struct keyqueue *queue, bool wide,
                         const struct locus_allocator *allocator)
{
    *queue = (struct keyqueue){.wide = wide, .allocator = allocator};
}

static void free_chunks(struct keyqueue *queue, struct keyqueue_chunk *chunk)
{
    while (chunk != NULL) {
        struct keyqueue_chunk *next = chunk->next;
        release(queue->allocator, chunk, chunk_bytes(queue));
        chunk = next;
    }
}

void locus_keyqueue_fini(struct keyqueue *queue)
{
    free_chunks(queue, queue->head);
    free_chunks(queue, queue->spare);
    locus_keyqueue_init(queue, queue->wide, queue->allocator);
}

static void put_aside(struct keyqueue *queue, struct keyqueue_chunk *chunk)
{
    chunk->next = queue->spare;
    queue->spare = chunk;
}

/* How many chunks that many items take, wherever they begin. */
static uint64_t chunks_for(uint64_t length)
{
    return (length + CHUNK_ITEMS - 1) / CHUNK_ITEMS + 1;
}

bool locus_keyqueue_reserve(struct keyqueue *queue)
{
    while (queue->chunks < chunks_for(queue->length + 1)) {
        struct keyqueue_chunk *chunk =
            alloc_bytes(queue->allocator, chunk_bytes(queue));
        if (chunk == NULL) {
            return false;
        }
        put_aside(queue, chunk);
        queue->chunks++;
        queue->bytes += chunk_bytes(queue);
    }
    return true;
}

static void append_chunk(struct keyqueue *queue)
{
    struct keyqueue_chunk *chunk = queue->spare;

    queue->spare = chunk->next;
    chunk->next = NULL;
    if (queue->tail != NULL) {
        queue->tail->next = chunk;
    } else {
        queue->head = chunk;
        queue->first = 0;
    }
    queue->tail = chunk;
    queue->end = 0;
}

void locus_keyqueue_push(struct keyqueue *queue, const struct keyqueue_item *item)
{
    if (queue->tail == NULL || queue->end == CHUNK_ITEMS) {
        append_chunk(queue);
    }
    unsigned char *at = queue->tail->items + queue->end++ * item_size(queue);
    memcpy(at, &item->tick, sizeof(item->tick));
    memcpy(at + sizeof(item->tick), &item->key, key_size(queue));
    queue->length++;
}

/* All items of head are out. */
static void drop_head(struct keyqueue *queue)
{
    struct keyqueue_chunk *chunk = queue->head;

    queue->head = chunk->next;
    queue->first = 0;
    if (queue->head == NULL) {
        queue->tail = NULL;
    }
    if (queue->chunks > chunks_for(queue->length) + 1) {
        release(queue->allocator, chunk, chunk_bytes(queue));
        queue->chunks--;
        queue->bytes -= chunk_bytes(queue);
    } else {
        put_aside(queue, chunk);
    }
}

bool locus_keyqueue_peek(const struct keyqueue *queue, uint32_t ahead,
                         union locus_key *key)
{
    uint32_t at = queue->first + ahead;

    if (ahead >= queue->length || at >= CHUNK_ITEMS) {
        return false;
    }
    memcpy(key, queue->head->items + at * item_size(queue) + sizeof(uint32_t),
           key_size(queue));
    return true;
}

static struct keyqueue_item item_at(const struct keyqueue *queue,
                                    const struct keyqueue_chunk *chunk, uint32_t index)
{
    const unsigned char *at = chunk->items + index * item_size(queue);
    struct keyqueue_item item = {.key = {.words = {0, 0}}};

    memcpy(&item.tick, at, sizeof(item.tick));
    memcpy(&item.key, at + sizeof(item.tick), key_size(queue));
    return item;
}

struct keyqueue_item locus_keyqueue_pop(struct keyqueue *queue)
{
    struct keyqueue_item item = item_at(queue, queue->head, queue->first++);

    queue->length--;
    if (queue->first == CHUNK_ITEMS || queue->length == 0) {
        drop_head(queue);
    }
    return item;
}

bool locus_keyqueue_next(const struct keyqueue *queue, struct keyqueue_place *place,
                         struct keyqueue_item *item)
{
    if (!place->begun) {
        *place = (struct keyqueue_place){queue->head, queue->first, true};
    } else if (place->at == CHUNK_ITEMS) {
        *place = (struct keyqueue_place){place->chunk->next, 0, true};
    }
    if (place->chunk == NULL ||
        (place->chunk == queue->tail && place->at == queue->end)) {
        return false;
    }
    *item = item_at(queue, place->chunk, place->at++);
    return true;
}
