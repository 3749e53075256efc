/* SPDX-License-Identifier: MIT */
/*
 * What a kind of pool provides: one table, one file each (pool_mem.c, pool_redis.c). The
 * callers have checked all arguments: names are well-formed, pointers not NULL, numbers in range.
 */
#ifndef LOCUS_SHARED_POOL_OPS_H
#define LOCUS_SHARED_POOL_OPS_H

#include <locus/pool.h>

#include <string.h>

enum {
    POOL_ADD_CHUNK = 256,    /* members of one script */
    POOL_REAP_MAX = 1024,    /* ended leases taken off in one call */
    POOL_HELD_MAX = 1 << 20, /* leases of one member, where nothing else limits them */
};

struct pool_ops {
    const char *scheme; /* what the URI begins with */
    int (*open)(const char *uri, const char *name,
                const struct locus_pool_config *config, void **out, char *error,
                size_t error_size);
    void (*close)(void *self);
    /* LOCUS_OK: n members, no fewer. */
    int (*pick)(void *self, size_t n, char (*members)[LOCUS_POOL_MEMBER_SIZE]);
    int (*add)(void *self, const char *const *members, size_t count,
               enum locus_pool_start start, uint64_t value, size_t *added);
    int (*remove)(void *self, const char *member, bool drop);
    int (*restore)(void *self, const char *member, bool exact);
    int (*report)(void *self, const char *member, bool success,
                  enum locus_pool_state *state);
    /* In any order. */
    int (*list)(void *self, struct locus_pool_list *out);
    int (*get)(void *self, const char *member, struct locus_pool_member *out);
    int (*rebase)(void *self);
    int (*clear)(void *self);
    /* lease->id is set. */
    int (*acquire)(void *self, uint64_t ttl_ms, struct locus_lease *lease);
    int (*renew)(void *self, const char *id, uint64_t ttl_ms);
    int (*release)(void *self, const char *id, bool *was_held);
    int (*set_limit)(void *self, const char *member, uint32_t limit);
    /* Adds its own; may be NULL. */
    void (*stats)(void *self, struct locus_pool_stats *out);
    void (*error)(void *self, char *text, size_t size);
};

extern const struct pool_ops locus_pool_mem_ops;
extern const struct pool_ops locus_pool_redis_ops;

/* The order of picks: by count, then as Redis orders bytes. */
static inline int pool_compare(uint64_t count_a, const char *a, uint64_t count_b,
                               const char *b)
{
    if (count_a != count_b) {
        return count_a < count_b ? -1 : 1;
    }
    return strcmp(a, b);
}

#endif
