/* SPDX-License-Identifier: MIT */
/*
 * What a home of registries provides: one table, one file each (registry_mem.c,
 * registry_redis.c). registry.c has checked names and numbers.
 */
#ifndef LOCUS_SHARED_REGISTRY_OPS_H
#define LOCUS_SHARED_REGISTRY_OPS_H

#include <locus/registry.h>

#include "memory.h"

enum { REGISTRY_BATCH_MAX = 1024 };

/* A list in one block of memory: the texts lie behind the items. */
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
/* A locus_value_free_fn; NULL is fine. */
void locus_listing_free(void *ctx, void *value);

static inline bool is_live(uint32_t weight, bool healthy)
{
    return healthy && weight > 0;
}

struct registry_read {
    const char *cluster;
    size_t length;
    int status;
    struct listing *list; /* with LOCUS_OK */
};

struct registry_ops {
    const char *scheme;
    bool remote; /* calls are worth coalescing */
    int (*open)(const char *uri, const char *name,
                const struct locus_registry_config *config, void **out, char *error,
                size_t error_size);
    void (*close)(void *self);
    /* Both: at most max_batch items; the status of each is set. */
    void (*read)(void *self, struct registry_read *reads, size_t count);
    void (*apply)(void *self, struct locus_registry_change *const *changes,
                  size_t count);
    /* The names as addresses, of a list in which nothing else counts. */
    int (*clusters)(void *self, struct listing **out);
    void (*stats)(void *self, struct locus_registry_stats *out); /* may be NULL */
    void (*error)(void *self, char *text, size_t size);          /* may be NULL */
};

extern const struct registry_ops locus_registry_mem_ops;
extern const struct registry_ops locus_registry_redis_ops;

#endif
