/* SPDX-License-Identifier: MIT */
/* Memory through the caller's hooks, or malloc and free where there are none. */
#ifndef LOCUS_SHARED_MEMORY_H
#define LOCUS_SHARED_MEMORY_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <locus/status.h>

static inline void *memory_default_alloc(void *ctx, size_t size)
{
    (void)ctx;
    return malloc(size);
}

static inline void memory_default_free(void *ctx, void *ptr, size_t size)
{
    (void)ctx;
    (void)size;
    free(ptr);
}

static inline struct locus_allocator memory_hooks(const struct locus_allocator *given)
{
    return given != NULL ? *given
                         : (struct locus_allocator){.alloc = memory_default_alloc,
                                                    .free = memory_default_free};
}

/* Zeroed; NULL when there is none. */
static inline void *memory_zalloc(const struct locus_allocator *hooks, size_t size)
{
    void *ptr = hooks->alloc(hooks->ctx, size);
    return ptr != NULL ? memset(ptr, 0, size) : NULL;
}

/* NULL is fine. */
static inline void memory_release(const struct locus_allocator *hooks, void *ptr,
                                  size_t size)
{
    if (ptr != NULL) {
        hooks->free(hooks->ctx, ptr, size);
    }
}

#endif
