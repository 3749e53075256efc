/* SPDX-License-Identifier: MIT */
/*
 * The registry and its guard: the same tests in memory and on a real redis-server, random
 * changes against a plain model, and races of threads and processes for the last endpoints
 * above the floor. What is Redis' alone (round trips, foreign data, a server that is away)
 * comes last.
 */
#include <check.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <locus/registry.h>

#include "../support/suite.h"
#include "counted.h"
#include "redis_server.h"

static struct redis_server server;
static bool with_redis;
static int homes; /* how many of the two */

/* Tests of both homes are loops over these. */
enum { MEM, REDIS, HOMES };

/* ---- helpers --------------------------------------------------------------------- */

static struct locus_registry *open_home(int home, struct locus_registry_config config)
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
static struct locus_registry *fresh(int home)
{
    live_bytes = 0;
    if (home == REDIS) {
        redis_server_cli(&server, "flushall");
    }
    return open_home(home, (struct locus_registry_config){0});
}

static void close_all(struct locus_registry *registry)
{
    locus_registry_close(registry);
    ck_assert_int_eq(live_bytes, 0);
}

static void put(struct locus_registry *r, const char *cluster, const char *address,
                uint32_t weight, bool healthy)
{
    ck_assert_int_eq(locus_registry_put(r, cluster, address, weight, healthy),
                     LOCUS_OK);
}

/* "10.0.0.1:80" and so on, n live ones. */
static void put_many(struct locus_registry *r, const char *cluster, unsigned n)
{
    char address[32];

    for (unsigned i = 0; i < n; i++) {
        snprintf(address, sizeof(address), "10.0.%u.%u:80", i / 250, i % 250);
        put(r, cluster, address, 1, true);
    }
}

/* The list in words: "a 1 up, b 0 down (1 live of 2)". */
static const char *listed(struct locus_registry *r, const char *cluster)
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

static uint32_t live_of(struct locus_registry *r, const char *cluster)
{
    struct locus_endpoints list;

    ck_assert_int_eq(locus_registry_list_endpoints(r, cluster, 0, &list), LOCUS_OK);
    uint32_t live = list.live;
    locus_endpoints_release(&list);
    return live;
}

static int take_out(struct locus_registry *r, enum locus_registry_op op,
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

/* ---- lists ----------------------------------------------------------------------- */

START_TEST(what_is_put_is_listed_in_order)
{
    struct locus_registry *r = fresh(_i);

    put(r, "web", "b:80", 5, true);
    put(r, "web", "a:80", 2147483647, false);
    put(r, "web", "\xff:1", 0, true);
    put(r, "db", "a:80", 1, true);
    ck_assert_str_eq(listed(r, "web"),
                     "a:80 2147483647 down, b:80 5 up, \xff:1 0 up (1 live of 3)");
    ck_assert_str_eq(listed(r, "db"), "a:80 1 up (1 live of 1)");
    ck_assert_str_eq(listed(r, "none"), "not found");
    put(r, "web", "a:80", 7, true);
    ck_assert_str_eq(listed(r, "web"),
                     "a:80 7 up, b:80 5 up, \xff:1 0 up (2 live of 3)");
    close_all(r);
}
END_TEST

START_TEST(a_cluster_goes_with_its_last_endpoint)
{
    struct locus_registry *r = fresh(_i);
    struct locus_clusters clusters;

    ck_assert_int_eq(locus_registry_list_clusters(r, &clusters), LOCUS_OK);
    ck_assert_uint_eq(clusters.count, 0);
    locus_clusters_release(&clusters);
    put(r, "web", "a", 1, true);
    put(r, "db", "a", 1, true);
    put(r, "db", "b", 1, true);
    ck_assert_int_eq(locus_registry_list_clusters(r, &clusters), LOCUS_OK);
    ck_assert_uint_eq(clusters.count, 2);
    ck_assert_str_eq(clusters.names[0], "db");
    ck_assert_str_eq(clusters.names[1], "web");
    locus_clusters_release(&clusters);
    ck_assert_int_eq(locus_registry_remove(r, "db", "a", NULL), LOCUS_OK);
    ck_assert_int_eq(locus_registry_remove(r, "db", "a", NULL), LOCUS_ENOENT);
    ck_assert_int_eq(locus_registry_remove(r, "db", "b", NULL), LOCUS_OK);
    ck_assert_int_eq(locus_registry_remove(r, "db", "b", NULL), LOCUS_ENOENT);
    ck_assert_int_eq(locus_registry_list_clusters(r, &clusters), LOCUS_OK);
    ck_assert_uint_eq(clusters.count, 1);
    locus_clusters_release(&clusters);
    /* Its size is forgotten. */
    put(r, "db", "c", 1, true);
    ck_assert_str_eq(listed(r, "db"), "c 1 up (1 live of 1)");
    close_all(r);
}
END_TEST

static uint64_t since_of(struct locus_registry *r)
{
    struct locus_endpoints list;

    ck_assert_int_eq(locus_registry_list_endpoints(r, "web", 0, &list), LOCUS_OK);
    uint64_t since_ns = list.items[0].since_ns;
    locus_endpoints_release(&list);
    return since_ns;
}

START_TEST(since_tells_when_health_changed)
{
    struct locus_registry *r = fresh(_i);
    const struct timespec pause = {.tv_nsec = 2000000};

    put(r, "web", "a", 1, true);
    uint64_t added_ns = since_of(r);
    ck_assert_uint_gt(added_ns, 1600000000000000000u);
    nanosleep(&pause, NULL);
    put(r, "web", "a", 2, true);
    ck_assert_uint_eq(since_of(r), added_ns);
    put(r, "web", "a", 2, false);
    uint64_t down_ns = since_of(r);
    ck_assert_uint_gt(down_ns, added_ns);
    nanosleep(&pause, NULL);
    ck_assert_int_eq(take_out(r, LOCUS_REGISTRY_DOWN, "a", (struct locus_guard){0}),
                     LOCUS_OK);
    ck_assert_uint_eq(since_of(r), down_ns);
    close_all(r);
}
END_TEST

START_TEST(malformed_names_and_numbers_are_refused)
{
    struct locus_registry *r = fresh(_i);
    struct locus_endpoints list;
    char long_cluster[LOCUS_CLUSTER_MAX + 2], long_address[LOCUS_ENDPOINT_MAX + 2];

    memset(long_cluster, 'c', sizeof(long_cluster));
    memset(long_address, 'a', sizeof(long_address));
    long_cluster[LOCUS_CLUSTER_MAX + 1] = '\0';
    long_address[LOCUS_ENDPOINT_MAX + 1] = '\0';
    const char *const bad[] = {"", "a b", "a\n", "\x7f", long_address};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ck_assert_int_eq(locus_registry_put(r, "web", bad[i], 1, true), LOCUS_EINVAL);
    }
    ck_assert_int_eq(locus_registry_put(r, "", "a", 1, true), LOCUS_EINVAL);
    ck_assert_int_eq(locus_registry_put(r, NULL, "a", 1, true), LOCUS_EINVAL);
    ck_assert_int_eq(locus_registry_put(r, "web", NULL, 1, true), LOCUS_EINVAL);
    ck_assert_int_eq(locus_registry_put(r, long_cluster, "a", 1, true), LOCUS_EINVAL);
    ck_assert_int_eq(locus_registry_put(r, "web", "a", 2147483648u, true),
                     LOCUS_ERANGE);
    ck_assert_int_eq(locus_registry_list_endpoints(r, "\t", 0, &list), LOCUS_EINVAL);
    ck_assert_int_eq(take_out(r, LOCUS_REGISTRY_REMOVE, "a",
                              (struct locus_guard){.min_percent = 101}),
                     LOCUS_ERANGE);
    long_cluster[LOCUS_CLUSTER_MAX] = '\0';
    long_address[LOCUS_ENDPOINT_MAX] = '\0';
    put(r, long_cluster, long_address, 1, true);
    ck_assert_uint_eq(live_of(r, long_cluster), 1);
    put(r, "{a b}", "a", 1, true);
    ck_assert_uint_eq(live_of(r, "{a b}"), 1);
    close_all(r);
}
END_TEST

START_TEST(wrong_uris_names_and_configurations_are_refused)
{
    struct locus_registry *r;
    char why[200];
    const struct locus_registry_config config = {.max_batch = 1025};

    ck_assert_int_eq(locus_registry_open("mem", "x", NULL, &r, why, sizeof(why)),
                     LOCUS_EINVAL);
    ck_assert_ptr_nonnull(strstr(why, "expected mem:"));
    ck_assert_int_eq(locus_registry_open("mem:", "x{", NULL, &r, why, sizeof(why)),
                     LOCUS_EINVAL);
    ck_assert_int_eq(locus_registry_open("mem:", "", NULL, &r, NULL, 0), LOCUS_EINVAL);
    ck_assert_int_eq(locus_registry_open("mem:", "x", &config, &r, why, sizeof(why)),
                     LOCUS_ERANGE);
    ck_assert_ptr_null(r);
    locus_registry_close(NULL);
}
END_TEST

/* ---- the guard ------------------------------------------------------------------- */

START_TEST(a_guard_stops_exactly_at_its_floor)
{
    static const struct {
        unsigned count;
        struct locus_guard guard;
        uint32_t floor;
    } rows[] = {
        {5, {0, 0}, 0},     {5, {2, 0}, 2},
        {5, {5, 0}, 5},     {5, {9, 0}, 9},
        {5, {0, 50}, 3},    {4, {0, 50}, 2},
        {10, {0, 33}, 4},   {3, {0, 1}, 1},
        {3, {0, 100}, 3},   {7, {3, 50}, 4},
        {7, {6, 50}, 6},    {20, {0, 50}, 10},
        {100, {0, 99}, 99}, {101, {0, 99}, 100},
        {1, {0, 1}, 1},     {1, {4294967295u, 0}, 4294967295u},
    };
    int home = _i % homes;
    unsigned row = (unsigned)(_i / homes);
    struct locus_registry *r = fresh(home);
    uint32_t live = rows[row].count;

    put_many(r, "web", live);
    for (unsigned i = 0; i < rows[row].count; i++) {
        char address[32];
        snprintf(address, sizeof(address), "10.0.%u.%u:80", i / 250, i % 250);
        struct locus_registry_change change = {
            .op = i % 3 == 0   ? LOCUS_REGISTRY_REMOVE
                  : i % 3 == 1 ? LOCUS_REGISTRY_QUIESCE
                               : LOCUS_REGISTRY_DOWN,
            .cluster = "web",
            .address = address,
            .guard = rows[row].guard,
        };
        int expected = live - 1 < rows[row].floor ? LOCUS_EREFUSED : LOCUS_OK;
        ck_assert_int_eq(locus_registry_change(r, &change), expected);
        live -= expected == LOCUS_OK;
        ck_assert_uint_eq(change.live, live);
        ck_assert_uint_eq(change.floor, rows[row].floor);
    }
    close_all(r);
}
END_TEST

START_TEST(what_is_not_live_may_always_go)
{
    struct locus_registry *r = fresh(_i);
    const struct locus_guard all = {.min_percent = 100};

    put(r, "web", "a", 1, true);
    put(r, "web", "b", 0, true);
    put(r, "web", "c", 1, false);
    put(r, "web", "d", 1, false);
    ck_assert_int_eq(take_out(r, LOCUS_REGISTRY_REMOVE, "b", all), LOCUS_OK);
    ck_assert_int_eq(take_out(r, LOCUS_REGISTRY_QUIESCE, "c", all), LOCUS_OK);
    ck_assert_int_eq(take_out(r, LOCUS_REGISTRY_DOWN, "d", all), LOCUS_OK);
    ck_assert_int_eq(take_out(r, LOCUS_REGISTRY_REMOVE, "d", all), LOCUS_OK);
    ck_assert_int_eq(take_out(r, LOCUS_REGISTRY_REMOVE, "a", all), LOCUS_EREFUSED);
    ck_assert_int_eq(take_out(r, LOCUS_REGISTRY_REMOVE, "x", all), LOCUS_ENOENT);
    ck_assert_str_eq(listed(r, "web"), "a 1 up, c 0 down (1 live of 4)");
    /* The only one of a size of one. */
    ck_assert_int_eq(take_out(r, LOCUS_REGISTRY_REMOVE, "c", all), LOCUS_OK);
    close_all(r);
}
END_TEST

START_TEST(a_smaller_size_lowers_the_floor)
{
    struct locus_registry *r = fresh(_i);
    const struct locus_guard half = {.min_percent = 50};
    struct locus_registry_change resize = {
        .op = LOCUS_REGISTRY_RESIZE,
        .cluster = "web",
        .size = 2,
    };

    ck_assert_int_eq(locus_registry_change(r, &resize), LOCUS_ENOENT);
    put_many(r, "web", 4);
    ck_assert_int_eq(take_out(r, LOCUS_REGISTRY_REMOVE, "10.0.0.0:80", half), LOCUS_OK);
    ck_assert_int_eq(take_out(r, LOCUS_REGISTRY_REMOVE, "10.0.0.1:80", half), LOCUS_OK);
    ck_assert_int_eq(take_out(r, LOCUS_REGISTRY_REMOVE, "10.0.0.2:80", half),
                     LOCUS_EREFUSED);
    ck_assert_int_eq(locus_registry_change(r, &resize), LOCUS_OK);
    ck_assert_int_eq(take_out(r, LOCUS_REGISTRY_REMOVE, "10.0.0.2:80", half), LOCUS_OK);
    ck_assert_int_eq(take_out(r, LOCUS_REGISTRY_REMOVE, "10.0.0.3:80", half),
                     LOCUS_EREFUSED);
    /* A size below what is there grows with the next addition. */
    put(r, "web", "a", 1, true);
    put(r, "web", "b", 1, true);
    ck_assert_str_eq(listed(r, "web"),
                     "10.0.0.3:80 1 up, a 1 up, b 1 up (3 live of 3)");
    resize.size = LOCUS_CLUSTER_ENDPOINTS + 1;
    ck_assert_int_eq(locus_registry_change(r, &resize), LOCUS_ERANGE);
    close_all(r);
}
END_TEST

START_TEST(changes_are_applied_in_order_and_each_for_itself)
{
    struct locus_registry *r = fresh(_i);
    const struct locus_guard one = {.min_healthy = 1};
    struct locus_registry_change changes[] = {
        {.op = LOCUS_REGISTRY_PUT,
         .cluster = "web",
         .address = "a",
         .weight = 1,
         .healthy = true},
        {.op = LOCUS_REGISTRY_PUT, .cluster = "web", .address = "", .weight = 1},
        {.op = LOCUS_REGISTRY_REMOVE, .cluster = "web", .address = "a", .guard = one},
        {.op = LOCUS_REGISTRY_PUT,
         .cluster = "web",
         .address = "b",
         .weight = 1,
         .healthy = true},
        {.op = LOCUS_REGISTRY_REMOVE, .cluster = "web", .address = "a", .guard = one},
        {.op = LOCUS_REGISTRY_REMOVE, .cluster = "web", .address = "a", .guard = one},
        {.op = LOCUS_REGISTRY_REMOVE, .cluster = "db", .address = "a", .guard = one},
        {.op = LOCUS_REGISTRY_REMOVE, .cluster = "web", .address = "b"},
        {.op = LOCUS_REGISTRY_PUT, .cluster = "web", .address = "c", .weight = 2},
        {.op = (enum locus_registry_op)9, .cluster = "web", .address = "c"},
    };
    static const int expected[] = {LOCUS_OK, LOCUS_EINVAL, LOCUS_EREFUSED, LOCUS_OK,
                                   LOCUS_OK, LOCUS_ENOENT, LOCUS_ENOENT,   LOCUS_OK,
                                   LOCUS_OK, LOCUS_EINVAL};

    ck_assert_int_eq(locus_registry_apply(r, changes, 10), LOCUS_EINVAL);
    for (size_t i = 0; i < 10; i++) {
        ck_assert_msg(changes[i].status == expected[i], "change %zu: %s", i,
                      locus_strerror(changes[i].status));
    }
    ck_assert_uint_eq(changes[2].live, 1);
    ck_assert_uint_eq(changes[2].floor, 1);
    ck_assert_uint_eq(changes[3].live, 2);
    ck_assert_str_eq(listed(r, "web"), "c 2 down (0 live of 1)");
    ck_assert_int_eq(locus_registry_apply(r, NULL, 0), LOCUS_OK);
    struct locus_registry_stats stats;
    locus_registry_get_stats(r, &stats);
    ck_assert_uint_eq(stats.changes, 5);
    ck_assert_uint_eq(stats.refused, 1);
    close_all(r);
}
END_TEST

START_TEST(a_cluster_takes_ten_thousand_endpoints_and_no_more)
{
    struct locus_registry *r = fresh(_i);
    enum { LIMIT = LOCUS_CLUSTER_ENDPOINTS };
    static char addresses[LIMIT + 1][16];
    static struct locus_registry_change changes[LIMIT + 1];

    for (int i = 0; i <= LIMIT; i++) {
        snprintf(addresses[i], sizeof(addresses[i]), "h%05d", i);
        changes[i] = (struct locus_registry_change){
            .op = LOCUS_REGISTRY_PUT,
            .cluster = "web",
            .address = addresses[i],
            .weight = 1,
            .healthy = true,
        };
    }
    ck_assert_int_eq(locus_registry_apply(r, changes, LIMIT + 1), LOCUS_EFULL);
    ck_assert_int_eq(changes[LIMIT - 1].status, LOCUS_OK);
    ck_assert_int_eq(changes[LIMIT].status, LOCUS_EFULL);
    ck_assert_uint_eq(live_of(r, "web"), LIMIT);
    /* One that is there may still change. */
    put(r, "web", "h00000", 0, true);
    ck_assert_uint_eq(live_of(r, "web"), LIMIT - 1);
    close_all(r);
}
END_TEST

/* ---- a model --------------------------------------------------------------------- */

enum { MODEL_CLUSTERS = 3, MODEL_ENDPOINTS = 8 };

struct model {
    struct {
        bool there, healthy;
        uint32_t weight;
    } endpoints[MODEL_CLUSTERS][MODEL_ENDPOINTS];
    uint32_t size[MODEL_CLUSTERS];
};

static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static uint32_t model_count(const struct model *m, unsigned c, bool only_live)
{
    uint32_t count = 0;

    for (unsigned e = 0; e < MODEL_ENDPOINTS; e++) {
        count +=
            m->endpoints[c][e].there &&
            (!only_live || (m->endpoints[c][e].healthy && m->endpoints[c][e].weight));
    }
    return count;
}

static int model_apply(struct model *m, unsigned c, unsigned e,
                       const struct locus_registry_change *change)
{
    if (change->op == LOCUS_REGISTRY_PUT) {
        m->endpoints[c][e].there = true;
        m->endpoints[c][e].healthy = change->healthy;
        m->endpoints[c][e].weight = change->weight;
        uint32_t count = model_count(m, c, false);
        m->size[c] = count > m->size[c] ? count : m->size[c];
        return LOCUS_OK;
    }
    if (model_count(m, c, false) == 0) {
        return LOCUS_ENOENT;
    }
    if (change->op == LOCUS_REGISTRY_RESIZE) {
        m->size[c] = change->size;
        return LOCUS_OK;
    }
    if (!m->endpoints[c][e].there) {
        return LOCUS_ENOENT;
    }
    struct model after = *m;
    if (change->op == LOCUS_REGISTRY_REMOVE) {
        after.endpoints[c][e].there = false;
    } else if (change->op == LOCUS_REGISTRY_QUIESCE) {
        after.endpoints[c][e].weight = 0;
    } else {
        after.endpoints[c][e].healthy = false;
    }
    uint32_t left = model_count(&after, c, true);
    if (left < model_count(m, c, true) &&
        (left < change->guard.min_healthy ||
         left * 100 < m->size[c] * change->guard.min_percent)) {
        return LOCUS_EREFUSED;
    }
    if (model_count(&after, c, false) == 0) {
        after.size[c] = 0;
    }
    *m = after;
    return LOCUS_OK;
}

static const char *model_listed(const struct model *m, unsigned c)
{
    static char text[4096];
    size_t used = 0;

    if (model_count(m, c, false) == 0) {
        return "not found";
    }
    for (unsigned e = 0; e < MODEL_ENDPOINTS; e++) {
        if (m->endpoints[c][e].there) {
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%se%u %u %s",
                                     used > 0 ? ", " : "", e, m->endpoints[c][e].weight,
                                     m->endpoints[c][e].healthy ? "up" : "down");
        }
    }
    snprintf(text + used, sizeof(text) - used, " (%u live of %u)",
             model_count(m, c, true), m->size[c]);
    return text;
}

START_TEST(random_changes_agree_with_a_plain_model)
{
    enum { STEPS = 3000, CHUNK = 7 };
    static const char *const clusters[] = {"c0", "c1", "c2"};
    struct locus_registry *r = fresh(_i);
    struct model m = {0};
    uint64_t random = 20260101;

    for (int step = 0; step < STEPS; step += CHUNK) {
        struct locus_registry_change changes[CHUNK];
        char addresses[CHUNK][8];
        unsigned which[CHUNK][2];
        int expected[CHUNK];
        uint32_t live[CHUNK];
        for (int i = 0; i < CHUNK; i++) {
            unsigned c = which[i][0] =
                (unsigned)(random_next(&random) % MODEL_CLUSTERS);
            unsigned e = which[i][1] =
                (unsigned)(random_next(&random) % MODEL_ENDPOINTS);
            unsigned dice = (unsigned)(random_next(&random) % 20);
            snprintf(addresses[i], sizeof(addresses[i]), "e%u", e);
            changes[i] = (struct locus_registry_change){
                .op = dice < 9    ? LOCUS_REGISTRY_PUT
                      : dice < 14 ? LOCUS_REGISTRY_REMOVE
                      : dice < 16 ? LOCUS_REGISTRY_QUIESCE
                      : dice < 19 ? LOCUS_REGISTRY_DOWN
                                  : LOCUS_REGISTRY_RESIZE,
                .cluster = clusters[c],
                .address = addresses[i],
                .weight = (uint32_t)(random_next(&random) % 4),
                .healthy = random_next(&random) % 4 > 0,
                .size = (uint32_t)(random_next(&random) % 12),
                .guard = {(uint32_t)(random_next(&random) % 4),
                          (uint32_t)(random_next(&random) % 101)},
            };
            expected[i] = model_apply(&m, c, e, &changes[i]);
            live[i] = model_count(&m, c, true);
        }
        (void)!locus_registry_apply(r, changes, CHUNK);
        for (int i = 0; i < CHUNK; i++) {
            ck_assert_msg(changes[i].status == expected[i], "step %d: %s, not %s",
                          step + i, locus_strerror(changes[i].status),
                          locus_strerror(expected[i]));
            ck_assert_uint_eq(changes[i].live, live[i]);
        }
        unsigned c = (unsigned)step % MODEL_CLUSTERS;
        ck_assert_str_eq(listed(r, clusters[c]), model_listed(&m, c));
    }
    close_all(r);
}
END_TEST

/* ---- races ----------------------------------------------------------------------- */

enum { RACERS = 64, RACE_ENDPOINTS = 192 };

static struct {
    struct locus_registry *registry;
    uint32_t floor;
    struct locus_guard guard;
    _Atomic uint32_t done, refused;
    _Atomic bool over;
    unsigned first, step;
} race;

static void *racer(void *arg)
{
    char address[32];

    for (unsigned i = race.first + (unsigned)(uintptr_t)arg; i < RACE_ENDPOINTS;
         i += race.step) {
        snprintf(address, sizeof(address), "10.0.%u.%u:80", i / 250, i % 250);
        struct locus_registry_change change = {
            .op = LOCUS_REGISTRY_REMOVE,
            .cluster = "web",
            .address = address,
            .guard = race.guard,
        };
        int status = locus_registry_change(race.registry, &change);
        ck_assert(status == LOCUS_OK || status == LOCUS_EREFUSED);
        ck_assert_uint_eq(change.floor, race.floor);
        ck_assert_uint_ge(change.live, race.floor);
        /* Refused: because the floor is reached, not for anything else. */
        ck_assert(status == LOCUS_OK || change.live == race.floor);
        atomic_fetch_add(status == LOCUS_OK ? &race.done : &race.refused, 1);
    }
    return NULL;
}

static void *watcher(void *arg)
{
    (void)arg;
    while (!atomic_load(&race.over)) {
        ck_assert_uint_ge(live_of(race.registry, "web"), race.floor);
    }
    return NULL;
}

START_TEST(sixty_four_racing_threads_stop_exactly_at_the_floor)
{
    pthread_t threads[RACERS], watching;
    struct locus_registry *r = fresh(_i % homes);

    put_many(r, "web", RACE_ENDPOINTS);
    memset(&race, 0, sizeof(race));
    race.registry = r;
    race.step = RACERS;
    if (_i / homes == 0) {
        race.guard.min_healthy = race.floor = 17;
    } else {
        race.guard.min_percent = 34;
        race.floor = 66; /* 65.28 */
    }
    ck_assert_int_eq(pthread_create(&watching, NULL, watcher, NULL), 0);
    for (uintptr_t i = 0; i < RACERS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, racer, (void *)i), 0);
    }
    for (int i = 0; i < RACERS; i++) {
        pthread_join(threads[i], NULL);
    }
    atomic_store(&race.over, true);
    pthread_join(watching, NULL);
    ck_assert_uint_eq(race.done, RACE_ENDPOINTS - race.floor);
    ck_assert_uint_eq(race.refused, race.floor);
    ck_assert_uint_eq(live_of(r, "web"), race.floor);
    close_all(r);
}
END_TEST

/* A process of its own: eight of its threads, each eighth endpoint. Starts when the other end
 * of gate is closed. */
static void race_in_child(unsigned which, int gate)
{
    pthread_t threads[8];
    char nothing;

    (void)!read(gate, &nothing, 1);
    race.registry = open_home(REDIS, (struct locus_registry_config){0});
    race.first = which * 8;
    race.step = RACERS;
    for (uintptr_t i = 0; i < 8; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, racer, (void *)i), 0);
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
    }
    locus_registry_close(race.registry);
    _exit((int)race.done);
}

START_TEST(eight_racing_processes_stop_exactly_at_the_floor)
{
    pid_t children[8];
    uint32_t done = 0;
    int gate[2];

    memset(&race, 0, sizeof(race));
    race.guard.min_healthy = race.floor = 50;
    ck_assert_int_eq(pipe(gate), 0);
    /* Before this process has threads: TSan does not like them forked. */
    for (unsigned i = 0; i < 8; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            close(gate[1]);
            race_in_child(i, gate[0]);
        }
    }
    struct locus_registry *r = fresh(REDIS);
    put_many(r, "web", RACE_ENDPOINTS);
    close(gate[1]);
    for (unsigned i = 0; i < 8; i++) {
        int status;
        ck_assert_int_eq(waitpid(children[i], &status, 0), children[i]);
        ck_assert(WIFEXITED(status));
        done += (uint32_t)WEXITSTATUS(status);
        ck_assert_uint_ge(live_of(r, "web"), race.floor);
    }
    close(gate[0]);
    ck_assert_uint_eq(done, RACE_ENDPOINTS - race.floor);
    ck_assert_uint_eq(live_of(r, "web"), race.floor);
    close_all(r);
}
END_TEST

/* ---- readers --------------------------------------------------------------------- */

enum { READERS = 16, READ_CLUSTERS = 40 };

static void *reader(void *arg)
{
    struct locus_registry *r = arg;
    uint64_t random = (uint64_t)(uintptr_t)&random | 1;
    char cluster[16];

    for (int i = 0; i < 300; i++) {
        struct locus_endpoints list;
        unsigned c = (unsigned)(random_next(&random) % READ_CLUSTERS);
        int64_t timeout_ns = i % 2 == 0 ? 0 : 60000000000;
        snprintf(cluster, sizeof(cluster), "c%u", c);
        ck_assert_int_eq(locus_registry_list_endpoints(r, cluster, timeout_ns, &list),
                         LOCUS_OK);
        ck_assert_uint_eq(list.count, 1 + c % 3);
        ck_assert_uint_eq(list.items[0].weight, c);
        locus_endpoints_release(&list);
    }
    return NULL;
}

START_TEST(concurrent_readers_get_their_own_clusters)
{
    struct locus_registry *r = fresh(_i);
    pthread_t threads[READERS];
    char cluster[16], address[16];

    for (unsigned c = 0; c < READ_CLUSTERS; c++) {
        snprintf(cluster, sizeof(cluster), "c%u", c);
        for (unsigned e = 0; e < 1 + c % 3; e++) {
            snprintf(address, sizeof(address), "e%u", e);
            put(r, cluster, address, c, true);
        }
    }
    for (int i = 0; i < READERS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, reader, r), 0);
    }
    for (int i = 0; i < READERS; i++) {
        pthread_join(threads[i], NULL);
    }
    struct locus_registry_stats stats;
    locus_registry_get_stats(r, &stats);
    ck_assert_uint_eq(stats.lists, READERS * 300);
    close_all(r);
}
END_TEST

/* ---- memory ---------------------------------------------------------------------- */

/* Every call once; the first status that is not as it should be. */
static int use_everything(struct locus_registry *r)
{
    struct locus_endpoints list;
    struct locus_clusters clusters;

    int status = locus_registry_put(r, "web", "a", 1, true);
    if (status == LOCUS_OK) {
        status = locus_registry_put(r, "web", "b", 1, true);
    }
    if (status == LOCUS_OK) {
        status = locus_registry_list_endpoints(r, "web", 0, &list);
        locus_endpoints_release(&list);
    }
    if (status == LOCUS_OK) {
        status = locus_registry_list_clusters(r, &clusters);
        locus_clusters_release(&clusters);
    }
    if (status == LOCUS_OK) {
        status = locus_registry_remove(r, "web", "a", NULL);
    }
    return status;
}

START_TEST(every_allocation_may_fail)
{
    int status = LOCUS_ENOMEM;

    for (int64_t n = 0; status != LOCUS_OK; n++) {
        struct locus_registry_config config = {.allocator = &counted, .max_batch = 2};
        struct locus_registry *r;
        char why[100];
        close_all(fresh(_i));
        allocations_left = n;
        status = locus_registry_open(_i == MEM ? "mem:" : server.uri, "test", &config,
                                     &r, why, sizeof(why));
        if (status == LOCUS_OK) {
            status = use_everything(r);
            allocations_left = -1;
            /* Whatever failed left it whole. */
            ck_assert_int_eq(use_everything(r), LOCUS_OK);
            ck_assert_str_eq(listed(r, "web"), "b 1 up (1 live of 2)");
        }
        allocations_left = -1;
        ck_assert(status == LOCUS_OK || status == LOCUS_ENOMEM);
        close_all(status == LOCUS_OK || r != NULL ? r : NULL);
    }
}
END_TEST

/* ---- Redis ----------------------------------------------------------------------- */

static unsigned calls_of(const char *command)
{
    char name[64];
    unsigned calls = 0;

    snprintf(name, sizeof(name), "cmdstat_%s:calls=", command);
    const char *found = strstr(redis_server_cli(&server, "info commandstats"), name);
    if (found != NULL) {
        ck_assert_int_eq(sscanf(found + strlen(name), "%u", &calls), 1);
    }
    return calls;
}

enum { STAMPEDE = 300, STAMPEDE_BATCH = 25 };

static void *one_read(void *arg)
{
    struct locus_endpoints list;
    char cluster[16];

    snprintf(cluster, sizeof(cluster), "c%u", (unsigned)(uintptr_t)arg);
    ck_assert_int_eq(locus_registry_list_endpoints(race.registry, cluster, 0, &list),
                     LOCUS_ENOENT);
    return NULL;
}

START_TEST(reads_that_wait_go_to_redis_in_full_batches)
{
    pthread_t threads[STAMPEDE];
    struct locus_registry_stats stats;

    close_all(fresh(REDIS));
    race.registry = open_home(REDIS, (struct locus_registry_config){
                                         .concurrency = 2,
                                         .max_batch = STAMPEDE_BATCH,
                                     });
    /* The script is known after the first call; what follows is EVALSHA alone. */
    one_read(NULL);
    redis_server_cli(&server, "config resetstat");
    kill(server.pid, SIGSTOP);
    for (uintptr_t i = 0; i < STAMPEDE; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, one_read, (void *)i), 0);
    }
    do {
        locus_registry_get_stats(race.registry, &stats);
    } while (stats.reads.queued + stats.reads.inflight < STAMPEDE);
    kill(server.pid, SIGCONT);
    for (int i = 0; i < STAMPEDE; i++) {
        pthread_join(threads[i], NULL);
    }
    ck_assert_uint_le(calls_of("evalsha"), STAMPEDE / STAMPEDE_BATCH + 2);
    ck_assert_uint_eq(calls_of("eval"), 0);
    ck_assert_uint_eq(calls_of("hgetall"), STAMPEDE);
    close_all(race.registry);
}
END_TEST

static _Atomic unsigned tickets;

static void *many_reads(void *arg)
{
    (void)arg;
    for (;;) {
        unsigned ticket = atomic_fetch_add(&tickets, 1);
        if (ticket >= 10000) {
            return NULL;
        }
        /* All names differ: none is shared. */
        one_read((void *)(uintptr_t)ticket);
    }
}

START_TEST(ten_thousand_single_reads_become_few_commands)
{
    enum { THREADS = 200, BATCH = 64, CONCURRENCY = 2 };
    pthread_t threads[THREADS];

    close_all(fresh(REDIS));
    race.registry = open_home(REDIS, (struct locus_registry_config){
                                         .concurrency = CONCURRENCY,
                                         .max_batch = BATCH,
                                         .linger_ns = 2000000000,
                                     });
    tickets = 0;
    redis_server_cli(&server, "config resetstat");
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, many_reads, NULL), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    unsigned commands = calls_of("evalsha") + calls_of("eval");
    ck_assert_uint_le(commands, 10000 / BATCH + CONCURRENCY);
    ck_assert_uint_eq(calls_of("hgetall"), 10000);
    close_all(race.registry);
}
END_TEST

START_TEST(foreign_data_is_an_error_of_its_cluster_alone)
{
    static const char *const values[] = {"junk",
                                         "''",
                                         "'1 1'",
                                         "'1 2 3'",
                                         "'-1 1 1'",
                                         "'1 1 1 1'",
                                         "'99999999999 1 1'",
                                         "'1 1 99999999999999999999'"};
    struct locus_registry *r = fresh(REDIS);
    char command[256];

    put(r, "good", "a", 1, true);
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        snprintf(command, sizeof(command),
                 "hset '{locus-registry:test}:bad%zu' x %s '' 1", i, values[i]);
        redis_server_cli(&server, command);
        snprintf(command, sizeof(command), "bad%zu", i);
        ck_assert_str_eq(listed(r, command), locus_strerror(LOCUS_EFORMAT));
    }
    redis_server_cli(&server, "hset '{locus-registry:test}:size' x '1 1 1' '' x");
    ck_assert_str_eq(listed(r, "size"), locus_strerror(LOCUS_EFORMAT));
    ck_assert_int_eq(locus_registry_put(r, "size", "b", 1, true), LOCUS_EFORMAT);
    ck_assert_int_eq(locus_registry_put(r, "bad0", "b", 1, true), LOCUS_EFORMAT);
    ck_assert_int_eq(locus_registry_remove(r, "bad0", "x", NULL), LOCUS_EFORMAT);
    redis_server_cli(&server, "set '{locus-registry:test}:string' x");
    ck_assert_int_eq(locus_registry_put(r, "string", "b", 1, true), LOCUS_EFORMAT);
    ck_assert_str_eq(listed(r, "good"), "a 1 up (1 live of 1)");
    close_all(r);
}
END_TEST

START_TEST(a_server_that_is_away_is_an_error_until_it_is_back)
{
    struct locus_registry *r;
    struct locus_endpoints list;
    struct locus_registry_change change = {
        .op = LOCUS_REGISTRY_PUT,
        .cluster = "web",
        .address = "a",
        .weight = 1,
    };
    char words[200];

    close_all(fresh(REDIS));
    r = open_home(REDIS, (struct locus_registry_config){.total_timeout_ns = 300000000});
    put(r, "web", "a", 1, true);
    redis_server_kill(&server);
    int status = locus_registry_list_endpoints(r, "web", 0, &list);
    ck_assert(status == LOCUS_EIO || status == LOCUS_ETIMEDOUT);
    status = locus_registry_change(r, &change);
    ck_assert(status == LOCUS_EIO || status == LOCUS_ETIMEDOUT ||
              status == LOCUS_EAMBIGUOUS);
    ck_assert_int_eq(change.status, status);
    locus_registry_error(r, words, sizeof(words));
    ck_assert_str_ne(words, "");
    /* Here the reads' deadline is the caller's own. */
    ck_assert_int_lt(locus_registry_list_endpoints(r, "web", 1000000, &list), 0);
    ck_assert(redis_server_restart(&server, NULL));
    do {
        status = locus_registry_put(r, "web", "a", 1, true);
    } while (status != LOCUS_OK);
    close_all(r);
}
END_TEST

START_TEST(a_forgotten_script_is_sent_again)
{
    struct locus_registry *r = fresh(REDIS);

    put(r, "web", "a", 1, true);
    redis_server_cli(&server, "script flush");
    put(r, "web", "b", 1, true);
    redis_server_cli(&server, "script flush");
    ck_assert_uint_eq(live_of(r, "web"), 2);
    close_all(r);
}
END_TEST

static int collect(void *ctx, const char *text, size_t length)
{
    size_t used = strlen(ctx);

    ck_assert_uint_lt(used + length, 65536);
    memcpy((char *)ctx + used, text, length);
    ((char *)ctx)[used + length] = '\0';
    return 0;
}

START_TEST(metrics_are_those_of_both_coalescers)
{
    static char text[65536];
    struct locus_registry *r = fresh(REDIS);

    put(r, "web", "a", 1, true);
    ck_assert_int_eq(locus_registry_write_metrics(r, collect, text), LOCUS_OK);
    ck_assert_ptr_nonnull(strstr(
        text, "calls_total{coalescer=\"registry_changes\",outcome=\"answered\"} 1\n"));
    ck_assert_ptr_nonnull(strstr(
        text, "calls_total{coalescer=\"registry_reads\",outcome=\"answered\"} 0\n"));
    close_all(r);
}
END_TEST

static void start_server(void)
{
    if (with_redis) {
        ck_assert(redis_server_start(&server, 0, NULL));
    }
}

static void stop_server(void)
{
    if (with_redis) {
        redis_server_stop(&server);
    }
}

static Suite *suite(void)
{
    Suite *s = suite_create("registry");
    TCase *t = suite_case(s, "both homes");

    tcase_add_unchecked_fixture(t, start_server, stop_server);
    tcase_add_loop_test(t, what_is_put_is_listed_in_order, 0, homes);
    tcase_add_loop_test(t, a_cluster_goes_with_its_last_endpoint, 0, homes);
    tcase_add_loop_test(t, since_tells_when_health_changed, 0, homes);
    tcase_add_loop_test(t, malformed_names_and_numbers_are_refused, 0, homes);
    tcase_add_test(t, wrong_uris_names_and_configurations_are_refused);
    tcase_add_loop_test(t, what_is_not_live_may_always_go, 0, homes);
    tcase_add_loop_test(t, a_smaller_size_lowers_the_floor, 0, homes);
    tcase_add_loop_test(t, changes_are_applied_in_order_and_each_for_itself, 0, homes);
    tcase_add_loop_test(t, a_cluster_takes_ten_thousand_endpoints_and_no_more, 0,
                        homes);
    tcase_add_loop_test(t, random_changes_agree_with_a_plain_model, 0, homes);
    tcase_add_loop_test(t, concurrent_readers_get_their_own_clusters, 0, homes);
    tcase_add_loop_test(t, every_allocation_may_fail, 0, homes);
    tcase_add_loop_test(t, a_guard_stops_exactly_at_its_floor, 0, 16 * homes);
    tcase_add_loop_test(t, sixty_four_racing_threads_stop_exactly_at_the_floor, 0,
                        2 * homes);
    if (with_redis) {
        tcase_add_test(t, eight_racing_processes_stop_exactly_at_the_floor);
        tcase_add_test(t, reads_that_wait_go_to_redis_in_full_batches);
        tcase_add_test(t, ten_thousand_single_reads_become_few_commands);
        tcase_add_test(t, foreign_data_is_an_error_of_its_cluster_alone);
        tcase_add_test(t, a_forgotten_script_is_sent_again);
        tcase_add_test(t, metrics_are_those_of_both_coalescers);
        tcase_add_test(t, a_server_that_is_away_is_an_error_until_it_is_back);
    }
    return s;
}

int main(void)
{
    with_redis = redis_server_installed();
    homes = with_redis ? HOMES : 1;
    if (!with_redis) {
        fprintf(stderr, "no redis-server: only mem: is tested\n");
    }
    return suite_run(suite());
}
