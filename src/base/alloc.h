/* SPDX-License-Identifier: MIT */
/* The caller's allocator, with the two calls that the core makes of it. */
#ifndef LOCUS_ALLOC_H
#define LOCUS_ALLOC_H

#include <stdint.h>
#include <string.h>

#include <locus/status.h>

static inline void *alloc_bytes(const struct locus_allocator *allocator, size_t size)
{
    return allocator->alloc(allocator->ctx, size);
}

static inline void *alloc_zeroed(const struct locus_allocator *allocator, size_t size)
{
    void *ptr = allocator->alloc(allocator->ctx, size);

    if (ptr != NULL) {
        memset(ptr, 0, size);
    }
    return ptr;
}

/* NULL is fine. */
static inline void release(const struct locus_allocator *allocator, void *ptr,
                           size_t size)
{
    if (ptr != NULL) {
        allocator->free(allocator->ctx, ptr, size);
    }
}

#endif
