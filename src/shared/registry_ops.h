/* SPDX-License-Identifier: MIT */
/*
 * What a home of registries provides: one table, one file each (registry_mem.c,
 * registry_redis.c). registry.c has checked names and numbers.
 */
#ifndef LOCUS_SHARED_REGISTRY_OPS_H
#define LOCUS_SHARED_REGISTRY_OPS_H

#include <locus/registry.h>

#include "listing.h"

enum { REGISTRY_BATCH_MAX = 1024 };

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
