/* SPDX-License-Identifier: MIT */
/* What every Check binary does around its tests with one redis-server for all of them. */
#ifndef LOCUS_TESTS_REDIS_SUITE_H
#define LOCUS_TESTS_REDIS_SUITE_H

#include <stdio.h>

#include "../support/suite.h"
#include "redis_server.h"

static struct redis_server server;

static inline void start_server(void)
{
    redis_server_must_start(&server);
}

static inline void stop_server(void)
{
    redis_server_stop(&server);
}

/* A case whose tests share the server. */
static inline TCase *redis_case(Suite *suite, const char *name)
{
    TCase *tcase = suite_case(suite, name);

    tcase_add_unchecked_fixture(tcase, start_server, stop_server);
    return tcase;
}

/* Skips them all where no redis-server is installed. */
static inline int redis_suite_run(Suite *suite)
{
    if (!redis_server_installed()) {
        printf("1..0 # SKIP no redis-server\n");
        return EXIT_SUCCESS;
    }
    return suite_run(suite);
}

#endif
