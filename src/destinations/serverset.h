/* SPDX-License-Identifier: MIT */
/*
 * Small arrays of server slots, two members or more, for destinations with several
 * servers. A handle fits the 31 bits that an entry of the map has for it. Arrays of
 * one size class lie in common chunks, so that a set costs no allocation of its own;
 * members stand in one piece, oldest first. Freed arrays are used again; chunks stay
 * until the end.
 */
#ifndef LOCUS_SERVERSET_H
#define LOCUS_SERVERSET_H

#include <stdbool.h>

#include "../base/alloc.h"

enum { SET_CLASSES = 16 }; /* 3, 7, 15, ... 131,071 members */

struct set_class {
    uint32_t **chunks;
    uint32_t chunk_count, chunk_capacity;
    uint32_t unused; /* first free array + 1, 0: none; linked through the first word */
};

struct setpool {
    struct set_class classes[SET_CLASSES];
    uint64_t bytes;
    const struct locus_allocator *allocator; /* borrowed */
};

struct server_set {
    uint32_t size;
    uint32_t members[]; /* server slots, oldest first */
};

void locus_setpool_init(struct setpool *pool, const struct locus_allocator *allocator);
void locus_setpool_fini(struct setpool *pool);

/* A set of two, 0 without memory (no handle is 0). */
uint32_t locus_set_create(struct setpool *pool, uint32_t older, uint32_t newer);
void locus_set_free(struct setpool *pool, uint32_t handle);
/* Adds the newest member; the handle may change. 0: no memory, nothing changed. */
uint32_t locus_set_push(struct setpool *pool, uint32_t handle, uint32_t server);
/* Takes the member at that place out; the others keep their order. */
void locus_set_remove(struct setpool *pool, uint32_t handle, uint32_t index);
/* Borrowed until the next push or free. */
struct server_set *locus_set_get(const struct setpool *pool, uint32_t handle);

#endif
