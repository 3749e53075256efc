/* SPDX-License-Identifier: MIT */
/* One pool at a time, in memory or on a real redis-server: the same tests run on both. */
#ifndef LOCUS_TESTS_POOL_AT_HAND_H
#define LOCUS_TESTS_POOL_AT_HAND_H

#include <string.h>

#include "pool_handles.h"

enum { MEM, REDIS, BACKENDS };

static struct locus_pool *pool;

static uint64_t fake_ns = 1000000000;

static inline uint64_t fake_clock(void *arg)
{
    (void)arg;
    return fake_ns;
}

static inline const char *uri_of(int backend)
{
    return backend == MEM ? "mem:" : server.uri;
}

/* A pool of the test's own name, cleared. */
static inline void begin(int backend, const char *name,
                         const struct locus_pool_config *config)
{
    struct locus_pool_config c = {0};

    if (config != NULL) {
        c = *config;
    }
    c.total_timeout_ns = 20000000000u;
    c.command_timeout_ns = 10000000000u;
    c.now_ns = fake_clock;
    pool = open_with(uri_of(backend), name, &c);
    ck_assert_int_eq(locus_pool_clear(pool), LOCUS_OK);
}

static inline void end(void)
{
    locus_pool_close(pool);
    pool = NULL;
}

static inline void add_at(const char *member, uint64_t count)
{
    ck_assert_int_eq(locus_pool_add(pool, &member, 1, LOCUS_POOL_START_AT, count, NULL),
                     LOCUS_OK);
}

static inline void add(const char *member)
{
    ck_assert_int_eq(locus_pool_add(pool, &member, 1, LOCUS_POOL_START_MIN, 0, NULL),
                     LOCUS_OK);
}

static inline const char *pick(void)
{
    static char member[LOCUS_POOL_MEMBER_SIZE];

    ck_assert_int_eq(locus_pool_pick(pool, member), LOCUS_OK);
    return member;
}

static inline struct locus_pool_member get(const char *name)
{
    struct locus_pool_member member;

    ck_assert_int_eq(locus_pool_get(pool, name, &member), LOCUS_OK);
    ck_assert_str_eq(member.name, name);
    return member;
}

static inline void check_counts(const char *expected)
{
    struct locus_pool_list *list;
    char text[2048] = "";

    ck_assert_int_eq(locus_pool_list(pool, &list), LOCUS_OK);
    for (size_t i = 0; i < list->count; i++) {
        const struct locus_pool_member *m = &list->members[i];
        size_t used = strlen(text);
        snprintf(text + used, sizeof(text) - used, "%s%s=%llu%s", i > 0 ? " " : "",
                 m->name, (unsigned long long)m->count,
                 m->state == LOCUS_POOL_LIVE      ? ""
                 : m->state == LOCUS_POOL_REMOVED ? "(removed)"
                                                  : "(unhealthy)");
    }
    locus_pool_list_free(list);
    ck_assert_str_eq(text, expected);
}

#endif
