/* SPDX-License-Identifier: MIT */
/*
 * A binary heap of items that know where in it they are, so that any of them can leave or
 * move. An item has a struct heap_item as its first member. The functions are inline, and so is
 * the comparison that is handed to them.
 */
#ifndef LOCUS_SHARED_HEAP_H
#define LOCUS_SHARED_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define HEAP_OUTSIDE SIZE_MAX

struct heap_item {
    size_t at; /* or HEAP_OUTSIDE */
};

struct heap {
    struct heap_item **items; /* the first one is before all others */
    size_t count, room;
};

typedef bool heap_before_fn(const struct heap_item *a, const struct heap_item *b);

/* Room for so many items; false: no memory. */
static inline bool heap_reserve(struct heap *heap, size_t count)
{
    if (count <= heap->room) {
        return true;
    }
    size_t room = heap->room < 8 ? 16 : heap->room * 2;
    struct heap_item **grown = realloc(heap->items, room * sizeof(struct heap_item *));
    if (grown == NULL) {
        return false;
    }
    heap->items = grown;
    heap->room = room;
    return true;
}

static inline void heap_place(struct heap *heap, struct heap_item *item, size_t at)
{
    heap->items[at] = item;
    item->at = at;
}

/* Puts an item where it belongs, starting from a place that is free. */
static inline void heap_sift(struct heap *heap, struct heap_item *item, size_t at,
                             heap_before_fn *before)
{
    while (at > 0 && before(item, heap->items[(at - 1) / 2])) {
        heap_place(heap, heap->items[(at - 1) / 2], at);
        at = (at - 1) / 2;
    }
    for (;;) {
        size_t child = 2 * at + 1;
        if (child + 1 < heap->count &&
            before(heap->items[child + 1], heap->items[child])) {
            child++;
        }
        if (child >= heap->count || !before(heap->items[child], item)) {
            break;
        }
        heap_place(heap, heap->items[child], at);
        at = child;
    }
    heap_place(heap, item, at);
}

/* After what an item is compared by has changed. */
static inline void heap_update(struct heap *heap, struct heap_item *item,
                               heap_before_fn *before)
{
    heap_sift(heap, item, item->at, before);
}

/* There must be room. */
static inline void heap_add(struct heap *heap, struct heap_item *item,
                            heap_before_fn *before)
{
    heap->count++;
    heap_sift(heap, item, heap->count - 1, before);
}

static inline void heap_remove(struct heap *heap, struct heap_item *item,
                               heap_before_fn *before)
{
    struct heap_item *last = heap->items[--heap->count];

    if (last != item) {
        heap_sift(heap, last, item->at, before);
    }
    item->at = HEAP_OUTSIDE;
}

#endif
