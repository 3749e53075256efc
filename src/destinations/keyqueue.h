/* SPDX-License-Identifier: MIT */
/*
 * Keys in the order in which they were put in, each with a tick: a queue in chunks, so that
 * it grows and shrinks without moving anything. 8 bytes for a key of IPv4, 20 for another.
 */
#ifndef LOCUS_KEYQUEUE_H
#define LOCUS_KEYQUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include <locus/locus.h>

struct keyqueue_chunk;

struct keyqueue_item {
    union locus_key key;
    uint32_t tick;
};

struct keyqueue {
    struct keyqueue_chunk *head, *tail; /* linked from head to tail */
    struct keyqueue_chunk *spare;       /* not in use */
    uint32_t first, end; /* the first item of head, the end of those of tail */
    uint32_t chunks;     /* spare ones included */
    bool wide;
    uint64_t length;
    uint64_t bytes;
    const struct locus_allocator *allocator; /* borrowed */
};

void locus_keyqueue_init(struct keyqueue *queue, bool wide,
                         const struct locus_allocator *allocator);
void locus_keyqueue_fini(struct keyqueue *queue);

/* Makes sure of room for one more. false: no memory. */
bool locus_keyqueue_reserve(struct keyqueue *queue);
/* At the end. There must be room: reserved, or left by a pop. */
void locus_keyqueue_push(struct keyqueue *queue, const struct keyqueue_item *item);
/* The oldest; the queue must not be empty. One push may follow without memory. */
struct keyqueue_item locus_keyqueue_pop(struct keyqueue *queue);
/* The items from the oldest on, from a zeroed place; false at the end. The queue must not
 * change in between. */
struct keyqueue_place {
    const struct keyqueue_chunk *chunk;
    uint32_t at;
    bool begun;
};
bool locus_keyqueue_next(const struct keyqueue *queue, struct keyqueue_place *place,
                         struct keyqueue_item *item);
/* The key that so many pops later comes, where that is cheap to say. */
bool locus_keyqueue_peek(const struct keyqueue *queue, uint32_t ahead,
                         union locus_key *key);

#endif
