/* SPDX-License-Identifier: MIT */
/*
 * The registry and its guard, one call after the other; and memory may run out in any of them.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "registry_homes.h"

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

int main(void)
{
    Suite *s = suite_create("registry");
    TCase *t = homes_case(s);

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
    tcase_add_loop_test(t, every_allocation_may_fail, 0, homes);
    tcase_add_loop_test(t, a_guard_stops_exactly_at_its_floor, 0, 16 * homes);
    return suite_run(s);
}
