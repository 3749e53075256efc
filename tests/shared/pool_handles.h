/* SPDX-License-Identifier: MIT */
/* Handles of pools for tests: patient ones for what must not fail, hasty ones for what must. */
#ifndef LOCUS_TESTS_POOL_HANDLES_H
#define LOCUS_TESTS_POOL_HANDLES_H

#include <locus/pool.h>

#include <time.h>

#include "redis_suite.h"

#define MS UINT64_C(1000000)

static inline struct locus_pool *open_with(const char *uri, const char *name,
                                           const struct locus_pool_config *config)
{
    struct locus_pool *pool;
    char why[200] = "";

    if (locus_pool_open(uri, name, config, &pool, why, sizeof(why)) != LOCUS_OK) {
        ck_abort_msg("%s", why);
    }
    return pool;
}

/* For what must not fail, however slow the machine. */
static const struct locus_pool_config patient_config = {
    .total_timeout_ns = 60000 * MS,
    .command_timeout_ns = 30000 * MS,
    .connect_timeout_ns = 30000 * MS};

static inline struct locus_pool *open_patient(const char *name)
{
    struct locus_pool *pool = open_with(server.uri, name, &patient_config);

    ck_assert_int_eq(locus_pool_clear(pool), LOCUS_OK);
    return pool;
}

static inline struct locus_pool *open_hasty(const char *uri)
{
    const struct locus_pool_config config = {.total_timeout_ns = 100 * MS,
                                             .command_timeout_ns = 50 * MS,
                                             .connect_timeout_ns = 50 * MS};
    return open_with(uri, "hasty", &config);
}

static inline void add_to(struct locus_pool *pool, const char *member)
{
    ck_assert_int_eq(locus_pool_add(pool, &member, 1, LOCUS_POOL_START_ZERO, 0, NULL),
                     LOCUS_OK);
}

static inline void pause_ms(uint64_t ms)
{
    const struct timespec pause = {.tv_sec = (time_t)(ms / 1000),
                                   .tv_nsec = (long)(ms % 1000 * MS)};
    nanosleep(&pause, NULL);
}

#endif
