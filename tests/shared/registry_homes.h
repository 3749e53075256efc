/* SPDX-License-Identifier: MIT */
/* A registry in memory and on a real redis-server: most tests run on both. */
#ifndef LOCUS_TESTS_REGISTRY_HOMES_H
#define LOCUS_TESTS_REGISTRY_HOMES_H

#include <locus/registry.h>

#include <stdio.h>

#include "../support/suite.h"
#include "counted.h"
#include "redis_server.h"

static struct redis_server server;
static bool with_redis;
static int homes; /* how many of the two */

/* Tests of both homes are loops over these. */
enum { MEM, REDIS, HOMES };

static inline struct locus_registry *open_home(int home,
                                               struct locus_registry_config config)
{
    struct locus_registry *registry;
    char why[256] = "";

    config.allocator = &counted;
    /* Sanitizers and valgrind are slow: no deadline is to pass but where it is tested. */
    if (config.total_timeout_ns == 0) {
        config.total_timeout_ns = 120000000000;
        config.command_timeout_ns = 120000000000;
    }
    int status = locus_registry_open(home == MEM ? "mem:" : server.uri, "test", &config,
                                     &registry, why, sizeof(why));
    ck_assert_msg(status == LOCUS_OK, "%s", why);
    return registry;
}

/* An empty registry. */
static inline struct locus_registry *fresh(int home)
{
    live_bytes = 0;
    if (home == REDIS) {
        redis_server_cli(&server, "flushall");
    }
    return open_home(home, (struct locus_registry_config){0});
}

static inline void close_all(struct locus_registry *registry)
{
    locus_registry_close(registry);
    ck_assert_int_eq(live_bytes, 0);
}

static inline void put(struct locus_registry *r, const char *cluster,
                       const char *address, uint32_t weight, bool healthy)
{
    ck_assert_int_eq(locus_registry_put(r, cluster, address, weight, healthy),
                     LOCUS_OK);
}

/* "10.0.0.1:80" and so on, n live ones. */
static inline void put_many(struct locus_registry *r, const char *cluster, unsigned n)
{
    char address[32];

    for (unsigned i = 0; i < n; i++) {
        snprintf(address, sizeof(address), "10.0.%u.%u:80", i / 250, i % 250);
        put(r, cluster, address, 1, true);
    }
}

/* The list in words: "a 1 up, b 0 down (1 live of 2)". */
static inline const char *listed(struct locus_registry *r, const char *cluster)
{
    static char text[4096];
    struct locus_endpoints list;
    size_t used = 0;

    int status = locus_registry_list_endpoints(r, cluster, 0, &list);
    if (status != LOCUS_OK) {
        return locus_strerror(status);
    }
    for (size_t i = 0; i < list.count; i++) {
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %u %s",
                                 i > 0 ? ", " : "", list.items[i].address,
                                 list.items[i].weight,
                                 list.items[i].healthy ? "up" : "down");
    }
    snprintf(text + used, sizeof(text) - used, " (%u live of %u)", list.live,
             list.size);
    locus_endpoints_release(&list);
    return text;
}

static inline uint32_t live_of(struct locus_registry *r, const char *cluster)
{
    struct locus_endpoints list;

    ck_assert_int_eq(locus_registry_list_endpoints(r, cluster, 0, &list), LOCUS_OK);
    uint32_t live = list.live;
    locus_endpoints_release(&list);
    return live;
}

static inline int take_out(struct locus_registry *r, enum locus_registry_op op,
                           const char *address, struct locus_guard guard)
{
    struct locus_registry_change change = {
        .op = op,
        .cluster = "web",
        .address = address,
        .guard = guard,
    };

    return locus_registry_change(r, &change);
}

static inline void start_server(void)
{
    if (with_redis) {
        redis_server_must_start(&server);
    }
}

static inline void stop_server(void)
{
    if (with_redis) {
        redis_server_stop(&server);
    }
}

/* The case for all tests; it must be made first, as it finds out whether there is Redis. */
static inline TCase *homes_case(Suite *suite)
{
    TCase *tcase = suite_case(suite, "both homes");

    with_redis = redis_server_installed();
    homes = with_redis ? HOMES : 1;
    if (!with_redis) {
        fprintf(stderr, "no redis-server: only mem: is tested\n");
    }
    tcase_add_unchecked_fixture(tcase, start_server, stop_server);
    return tcase;
}

#endif
