/* SPDX-License-Identifier: MIT */
/*
 * A list of endpoints, or of names alone, in one block of memory: the texts lie behind the items.
 */
#ifndef LOCUS_SHARED_LISTING_H
#define LOCUS_SHARED_LISTING_H

#include <locus/registry.h>

#include "memory.h"

struct listing {
    struct locus_allocator hooks;
    size_t size_bytes;
    uint32_t live, size;
    size_t count;
    char *text; /* where the next address goes */
    struct locus_endpoint items[];
};

/* Room for count endpoints whose addresses have text_bytes in all, NULs included; NULL when
 * there is none. */
struct listing *locus_listing_make(const struct locus_allocator *hooks, size_t count,
                                   size_t text_bytes);
/* Adds one, within that room. Its address is the length bytes at address, copied. */
void locus_listing_add(struct listing *list, struct locus_endpoint endpoint,
                       const char *address, size_t length);
/* Brings it in order, and counts the live ones. */
void locus_listing_finish(struct listing *list);
/* Makes it a list of its addresses alone, in the same memory; with no items any more. */
const char *const *locus_listing_names(struct listing *list);
/* A locus_value_free_fn; NULL is fine. */
void locus_listing_free(void *ctx, void *value);

static inline bool is_live(uint32_t weight, bool healthy)
{
    return healthy && weight > 0;
}

#endif
