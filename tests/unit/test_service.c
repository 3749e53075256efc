/* SPDX-License-Identifier: MIT */
/* The contract of the public interface: every documented status, outputs, names, handles. */
#include <string.h>

#include <locus/locus.h>

#include "../support/snapshot.h"
#include "../support/suite.h"

static const uint64_t second_ns = 1000000000;

static struct locus_service *create(const char *scheduler, const char *rules)
{
    struct locus_service_config config = {.scheduler = scheduler,
                                          .rules = locus_rules_find(rules)};
    struct locus_service *svc = NULL;
    ck_assert_int_eq(locus_service_create(&config, &svc), LOCUS_OK);
    return svc;
}

static struct locus_server_config server_at(uint32_t ip, uint32_t weight)
{
    struct locus_server_config config = {.weight = weight, .tag = ip};
    config.address.family = LOCUS_IPV4;
    config.address.port = 80;
    config.address.key.ipv4 = ip;
    return config;
}

static uint32_t add(struct locus_service *svc, uint32_t ip, uint32_t weight)
{
    struct locus_server_config config = server_at(ip, weight);
    uint32_t server = LOCUS_NO_SERVER;
    ck_assert_int_eq(locus_server_add(svc, &config, 0, &server), LOCUS_OK);
    return server;
}

static struct locus_pick connect_to(struct locus_service *svc, uint32_t dst,
                                    uint64_t now_ns)
{
    struct locus_request request = {.dst.ipv4 = dst};
    struct locus_pick pick;
    int status = locus_connect(svc, &request, now_ns, LOCUS_ACTIVE, &pick);
    ck_assert_int_eq(status,
                     pick.server == LOCUS_NO_SERVER ? LOCUS_ENOSERVER : LOCUS_OK);
    return pick;
}

static struct locus_server_info info_of(struct locus_service *svc, uint32_t server)
{
    struct locus_server_info info;
    ck_assert_int_eq(locus_server_get(svc, server, &info), LOCUS_OK);
    return info;
}

/* The service must look the same before and after a call that failed. */
#define EXPECT_REFUSED(svc, family, call, status) \
    do {                                          \
        char *before = snapshot(svc, family);     \
        ck_assert_int_eq(call, status);           \
        char *after = snapshot(svc, family);      \
        ck_assert_str_eq(before, after);          \
        free(before);                             \
        free(after);                              \
    } while (0)

/* ---- creation -------------------------------------------------------------------- */

START_TEST(a_zeroed_configuration_is_wlc_under_the_kernels_rules)
{
    struct locus_service_config config = {0};
    struct locus_service *svc = NULL;
    struct locus_service_stats stats;
    uint32_t flags = 1;
    ck_assert_int_eq(locus_service_create(&config, &svc), LOCUS_OK);
    ck_assert_str_eq(locus_service_scheduler(svc, &flags), "wlc");
    ck_assert_uint_eq(flags, 0);
    locus_service_get_stats(svc, &stats);
    ck_assert_uint_eq(stats.picks + stats.servers + stats.trash + stats.destinations,
                      0);
    ck_assert_uint_eq(connect_to(svc, 1, 0).server, LOCUS_NO_SERVER);
    locus_service_destroy(svc);
    locus_service_destroy(NULL);
}
END_TEST

static void expect_bad_config(const struct locus_service_config *config, int status)
{
    struct locus_service *svc = NULL;
    int got = locus_service_create(config, &svc);
    if (status != 0) {
        ck_assert_int_eq(got, status);
    } else {
        ck_assert_msg(got == LOCUS_EINVAL || got == LOCUS_ERANGE, "status %d", got);
    }
    ck_assert_ptr_null(svc);
}

START_TEST(a_bad_configuration_is_refused)
{
    struct locus_service_config config = {.scheduler = "wlc2"};
    expect_bad_config(&config, LOCUS_ENOENT);
    config = (struct locus_service_config){.scheduler = ""};
    expect_bad_config(&config, LOCUS_ENOENT);
    config = (struct locus_service_config){.family = (enum locus_family)4};
    expect_bad_config(&config, 0);
    config = (struct locus_service_config){.max_entries = (1u << 27) + 1};
    expect_bad_config(&config, 0);
    config = (struct locus_service_config){.map_load_percent = 19};
    expect_bad_config(&config, 0);
    config = (struct locus_service_config){.map_load_percent = 86};
    expect_bad_config(&config, 0);
    config = (struct locus_service_config){.scheduler_flags = 4};
    expect_bad_config(&config, 0);
}
END_TEST

START_TEST(bad_rules_are_refused)
{
    struct locus_rules rules = *locus_rules_find(NULL);
    struct locus_service_config config = {.rules = &rules};
    rules.active_cost = 0;
    expect_bad_config(&config, 0);
    rules.active_cost = 65537;
    expect_bad_config(&config, 0);
    rules = *locus_rules_find(NULL);
    rules.gc_full_every = 0;
    expect_bad_config(&config, 0);
    rules = *locus_rules_find(NULL);
    rules.threshold = (enum locus_threshold_rule)3;
    expect_bad_config(&config, 0);
    rules = *locus_rules_find(NULL);
    rules.tie_break = (enum locus_tie_break)2;
    expect_bad_config(&config, 0);
    rules = *locus_rules_find(NULL);
    rules.load_bound_percent = 100;
    expect_bad_config(&config, LOCUS_ERANGE);
    rules.load_bound_percent = 10001;
    expect_bad_config(&config, LOCUS_ERANGE);
}
END_TEST

START_TEST(schedulers_and_rules_have_names)
{
    static const char *const names[] = {"rr",   "wrr",   "lc",   "wlc", "sed", "nq",
                                        "fo",   "ovf",   "dh",   "sh",  "mh",  "twos",
                                        "lblc", "lblcr", "chbl", "p2c"};
    size_t count = 0;
    const char *about = NULL;
    const char *last = NULL;
    for (const char *name; (name = locus_scheduler_name(count, &about)) != NULL;
         count++) {
        ck_assert_ptr_nonnull(about);
        ck_assert_uint_gt(strlen(about), 5);
        last = name;
    }
    ck_assert_uint_eq(count, 17);
    ck_assert_str_eq(last, "none");
    for (size_t i = 0; i < 16; i++) {
        locus_service_destroy(create(names[i], "kernel"));
    }
    ck_assert_ptr_null(locus_scheduler_name(1000, NULL));
    ck_assert_str_eq(locus_rules_name(0), "kernel");
    ck_assert_str_eq(locus_rules_name(1), "kernel-classic");
    ck_assert_str_eq(locus_rules_name(2), "article");
    ck_assert_str_eq(locus_rules_name(3), "locus");
    ck_assert_ptr_null(locus_rules_name(4));
    ck_assert_ptr_eq(locus_rules_find(NULL), locus_rules_find("kernel"));
    ck_assert_ptr_null(locus_rules_find("Kernel"));
    ck_assert_ptr_null(locus_rules_find(""));
}
END_TEST

/* Timers of no length fire at the next tick; those beyond the clock never do. */
START_TEST(intervals_may_be_nothing_or_for_ever)
{
    struct locus_rules rules = *locus_rules_find(NULL);
    struct locus_service_config config = {.scheduler = "lblc", .rules = &rules};
    struct locus_service *svc = NULL;
    rules.gc_interval_ns = 0;
    ck_assert_int_eq(locus_service_create(&config, &svc), LOCUS_OK);
    ck_assert_uint_eq(locus_tick_due(svc), 1000000);
    ck_assert(locus_tick(svc, second_ns, SIZE_MAX));
    ck_assert_uint_eq(locus_tick_due(svc), second_ns + 1000000);
    locus_service_destroy(svc);
    rules.gc_interval_ns = UINT64_MAX;
    config.tick_ns = 1;
    ck_assert_int_eq(locus_service_create(&config, &svc), LOCUS_OK);
    ck_assert_uint_eq(locus_tick_due(svc), LOCUS_NEVER);
    locus_service_destroy(svc);
}
END_TEST

START_TEST(an_unknown_scheduler_changes_nothing)
{
    struct locus_service *svc = create("lblcr", "kernel");
    add(svc, 1, 1);
    connect_to(svc, 1, 0);
    EXPECT_REFUSED(svc, LOCUS_IPV4, locus_service_set_scheduler(svc, "nosuch", 0, 0),
                   LOCUS_ENOENT);
    EXPECT_REFUSED(svc, LOCUS_IPV4, locus_service_set_scheduler(svc, "lblcr", 4, 0),
                   LOCUS_EINVAL);
    EXPECT_REFUSED(svc, LOCUS_IPV4, locus_service_set_scheduler(svc, "wlc", 4, 0),
                   LOCUS_EINVAL);
    ck_assert_int_eq(locus_service_set_scheduler(svc, "lblcr", 0, 0), LOCUS_OK);
    struct locus_destination found;
    union locus_key key = {.ipv4 = 1};
    ck_assert(locus_destination_get(svc, &key, &found, NULL, 0));
    ck_assert_int_eq(locus_service_set_scheduler(svc, "lblc", 0, 0), LOCUS_OK);
    ck_assert(!locus_destination_get(svc, &key, &found, NULL, 0));
    locus_service_destroy(svc);
}
END_TEST

/* ---- servers --------------------------------------------------------------------- */

START_TEST(numbers_out_of_range_are_refused_when_adding)
{
    struct locus_service *svc = create("wlc", "kernel");
    uint32_t server = 77;
    struct locus_server_config config = server_at(1, LOCUS_WEIGHT_MAX + 1u);
    EXPECT_REFUSED(svc, LOCUS_IPV4, locus_server_add(svc, &config, 0, &server),
                   LOCUS_ERANGE);
    config = server_at(1, 1);
    config.upper_threshold = 2;
    config.lower_threshold = 3;
    EXPECT_REFUSED(svc, LOCUS_IPV4, locus_server_add(svc, &config, 0, &server),
                   LOCUS_ERANGE);
    config = server_at(1, 1);
    config.upper_threshold = 1u << 31;
    EXPECT_REFUSED(svc, LOCUS_IPV4, locus_server_add(svc, &config, 0, &server),
                   LOCUS_EINVAL);
    config = server_at(1, 1);
    config.address.family = (enum locus_family)0;
    EXPECT_REFUSED(svc, LOCUS_IPV4, locus_server_add(svc, &config, 0, &server),
                   LOCUS_EINVAL);
    ck_assert(server == 77 || server == LOCUS_NO_SERVER);
    add(svc, 1, LOCUS_WEIGHT_MAX);
    config = server_at(1, LOCUS_WEIGHT_MAX + 1u);
    EXPECT_REFUSED(svc, LOCUS_IPV4, locus_server_add(svc, &config, 0, &server),
                   LOCUS_EEXIST);
    locus_service_destroy(svc);
}
END_TEST

START_TEST(classic_rules_take_any_upper_threshold)
{
    struct locus_service *svc = create("wlc", "kernel-classic");
    struct locus_server_config config = server_at(1, 1);
    uint32_t server = LOCUS_NO_SERVER;
    config.upper_threshold = 3000000000u;
    ck_assert_int_eq(locus_server_add(svc, &config, 0, &server), LOCUS_OK);
    ck_assert_uint_eq(info_of(svc, server).upper_threshold, 3000000000u);
    locus_service_destroy(svc);
}
END_TEST

START_TEST(numbers_out_of_range_are_refused_when_editing)
{
    struct locus_service *svc = create("wlc", "kernel");
    uint32_t server = add(svc, 1, 5);
    struct locus_server_config config = {.weight = 1u << 31};
    EXPECT_REFUSED(svc, LOCUS_IPV4, locus_server_edit(svc, server, &config),
                   LOCUS_ERANGE);
    EXPECT_REFUSED(svc, LOCUS_IPV4, locus_server_set_weight(svc, server, 1u << 31),
                   LOCUS_ERANGE);
    config = (struct locus_server_config){.weight = 1, .lower_threshold = 1};
    EXPECT_REFUSED(svc, LOCUS_IPV4, locus_server_edit(svc, server, &config),
                   LOCUS_ERANGE);
    config = (struct locus_server_config){.weight = 1, .upper_threshold = 1u << 31};
    EXPECT_REFUSED(svc, LOCUS_IPV4, locus_server_edit(svc, server, &config),
                   LOCUS_EINVAL);
    config.weight = 1u << 31;
    EXPECT_REFUSED(svc, LOCUS_IPV4, locus_server_edit(svc, 4711, &config),
                   LOCUS_ENOENT);
    locus_service_destroy(svc);
}
END_TEST

START_TEST(a_server_in_the_trash_is_not_in_service)
{
    struct locus_service *svc = create("wlc", "kernel");
    struct locus_server_config config = server_at(1, 5);
    uint32_t server = add(svc, 1, 5);
    uint32_t bound = connect_to(svc, 9, 0).server;
    ck_assert_uint_eq(bound, server);
    ck_assert_int_eq(locus_server_remove(svc, server, 0), LOCUS_OK);
    EXPECT_REFUSED(svc, LOCUS_IPV4, locus_server_remove(svc, server, 0), LOCUS_ENOENT);
    EXPECT_REFUSED(svc, LOCUS_IPV4, locus_server_edit(svc, server, &config),
                   LOCUS_ENOENT);
    EXPECT_REFUSED(svc, LOCUS_IPV4, locus_server_set_weight(svc, server, 1),
                   LOCUS_ENOENT);
    ck_assert_uint_eq(locus_server_find(svc, &config.address), LOCUS_NO_SERVER);
    ck_assert_uint_eq(locus_server_next(svc, server), LOCUS_NO_SERVER);
    ck_assert_uint_eq(locus_trash_next(svc, LOCUS_NO_SERVER), server);
    ck_assert(!info_of(svc, server).in_service);
    ck_assert_int_eq(locus_conn_move(svc, server, LOCUS_ACTIVE, LOCUS_INACTIVE),
                     LOCUS_OK);
    ck_assert_int_eq(locus_conn_bind(svc, server, LOCUS_ACTIVE), LOCUS_OK);
    ck_assert_uint_eq(info_of(svc, server).active, 1);
    ck_assert_uint_eq(info_of(svc, server).inactive, 1);
    uint32_t again = add(svc, 1, 7);
    ck_assert_uint_eq(again, server);
    ck_assert_uint_eq(info_of(svc, again).inactive, 1);
    ck_assert_uint_eq(locus_trash_next(svc, LOCUS_NO_SERVER), LOCUS_NO_SERVER);
    locus_service_destroy(svc);
}
END_TEST

START_TEST(a_revived_server_has_the_tag_of_its_new_configuration)
{
    struct locus_service *svc = create("wlc", "kernel");
    struct locus_server_config config = server_at(1, 5);
    uint32_t server = LOCUS_NO_SERVER;
    uint32_t again = LOCUS_NO_SERVER;
    config.tag = 1;
    ck_assert_int_eq(locus_server_add(svc, &config, 0, &server), LOCUS_OK);
    ck_assert_int_eq(locus_server_remove(svc, server, 0), LOCUS_OK);
    config.tag = UINT64_MAX;
    ck_assert_int_eq(locus_server_add(svc, &config, 0, &again), LOCUS_OK);
    ck_assert_uint_eq(server, again);
    ck_assert_uint_eq(info_of(svc, again).tag, UINT64_MAX);
    locus_service_destroy(svc);
}
END_TEST

START_TEST(unreferenced_servers_are_freed_after_three_minutes)
{
    struct locus_service *svc = create("wlc", "kernel");
    struct locus_server_info info;
    uint32_t server = add(svc, 1, 5);
    ck_assert_uint_eq(locus_tick_due(svc), LOCUS_NEVER);
    ck_assert_int_eq(locus_server_remove(svc, server, 0), LOCUS_OK);
    ck_assert_uint_eq(locus_tick_due(svc), 60 * second_ns);
    for (uint64_t s = 1; s < 180; s++) {
        ck_assert(locus_tick(svc, s * second_ns, SIZE_MAX));
        ck_assert_int_eq(locus_server_get(svc, server, &info), LOCUS_OK);
    }
    ck_assert(locus_tick(svc, 180 * second_ns, SIZE_MAX));
    ck_assert_int_eq(locus_server_get(svc, server, &info), LOCUS_ENOENT);
    ck_assert_uint_eq(locus_tick_due(svc), LOCUS_NEVER);
    locus_service_destroy(svc);
}
END_TEST

static void run_out_of_trash(struct locus_service *svc)
{
    while (locus_tick_due(svc) != LOCUS_NEVER) {
        ck_assert(locus_tick(svc, locus_tick_due(svc), SIZE_MAX));
    }
}

START_TEST(servers_may_leave_the_trash_while_it_is_looked_through_in_slices)
{
    for (uint32_t slices = 0; slices < 12; slices++) {
        struct locus_service *svc = create("wlc", "kernel");
        struct locus_service_stats stats;
        for (uint32_t ip = 1; ip <= 10; ip++) {
            ck_assert_int_eq(locus_server_remove(svc, add(svc, ip, 1), 0), LOCUS_OK);
        }
        for (uint64_t s = 60; s <= 120; s += 60) {
            ck_assert(locus_tick(svc, s * second_ns, SIZE_MAX));
        }
        for (uint32_t i = 0; i < slices; i++) {
            bool done = locus_tick(svc, 180 * second_ns, 1);
            ck_assert(!done || i >= 9);
        }
        /* Some are freed by now, some stand before the cursor, one stands under it. */
        for (uint32_t ip = 1; ip <= 10; ip += 2) {
            add(svc, ip, 1);
        }
        ck_assert(locus_tick(svc, 180 * second_ns, SIZE_MAX));
        locus_service_get_stats(svc, &stats);
        ck_assert_uint_eq(stats.servers, 5);
        run_out_of_trash(svc);
        locus_service_get_stats(svc, &stats);
        ck_assert_uint_eq(stats.servers, 5);
        ck_assert_uint_eq(stats.trash, 0);
        ck_assert_uint_eq(locus_trash_next(svc, LOCUS_NO_SERVER), LOCUS_NO_SERVER);
        locus_service_destroy(svc);
    }
}
END_TEST

START_TEST(servers_may_be_added_and_removed_while_one_iterates)
{
    struct locus_service *svc = create("wlc", "kernel");
    for (uint32_t ip = 1; ip <= 50; ip++) {
        add(svc, ip, 1);
    }
    uint32_t seen = 0;
    uint32_t next_ip = 100;
    uint32_t server = locus_server_next(svc, LOCUS_NO_SERVER);
    uint32_t before = LOCUS_NO_SERVER;
    while (server != LOCUS_NO_SERVER) {
        seen++;
        if (before != LOCUS_NO_SERVER && seen % 3 == 0) {
            ck_assert_int_eq(locus_server_remove(svc, before, 0), LOCUS_OK);
        }
        if (seen % 5 == 0) {
            add(svc, next_ip++, 1);
        }
        before = server;
        server = locus_server_next(svc, server);
    }
    ck_assert_uint_eq(seen, 50);
    locus_service_destroy(svc);
}
END_TEST

/* ---- connections ----------------------------------------------------------------- */

START_TEST(connections_of_nobody_are_refused)
{
    static const uint32_t strays[] = {0, 1, 17, INT32_MAX, LOCUS_NO_SERVER};
    struct locus_service *svc = create("wlc", "kernel");
    struct locus_server_info info;
    for (size_t i = 0; i < sizeof(strays) / sizeof(strays[0]); i++) {
        uint32_t stray = strays[i];
        ck_assert_int_eq(locus_server_get(svc, stray, &info), LOCUS_ENOENT);
        ck_assert_int_eq(locus_conn_bind(svc, stray, LOCUS_ACTIVE), LOCUS_ENOENT);
        ck_assert_int_eq(locus_conn_move(svc, stray, LOCUS_ACTIVE, LOCUS_INACTIVE),
                         LOCUS_ENOENT);
        ck_assert_int_eq(locus_conn_unbind(svc, stray, LOCUS_ACTIVE), LOCUS_ENOENT);
        ck_assert_int_eq(locus_server_remove(svc, stray, 0), LOCUS_ENOENT);
        ck_assert_int_eq(locus_server_set_weight(svc, stray, 1), LOCUS_ENOENT);
    }
    locus_service_destroy(svc);
}
END_TEST

START_TEST(no_count_goes_below_zero)
{
    struct locus_service *svc = create("wlc", "kernel");
    uint32_t server = add(svc, 1, 1);
    EXPECT_REFUSED(svc, LOCUS_IPV4, locus_conn_unbind(svc, server, LOCUS_ACTIVE),
                   LOCUS_ERANGE);
    EXPECT_REFUSED(svc, LOCUS_IPV4, locus_conn_unbind(svc, server, LOCUS_INACTIVE),
                   LOCUS_ERANGE);
    ck_assert_int_eq(locus_conn_bind(svc, server, LOCUS_INACTIVE), LOCUS_OK);
    EXPECT_REFUSED(svc, LOCUS_IPV4, locus_conn_unbind(svc, server, LOCUS_ACTIVE),
                   LOCUS_ERANGE);
    EXPECT_REFUSED(svc, LOCUS_IPV4,
                   locus_conn_move(svc, server, LOCUS_ACTIVE, LOCUS_INACTIVE),
                   LOCUS_ERANGE);
    EXPECT_REFUSED(svc, LOCUS_IPV4,
                   locus_conn_move(svc, server, LOCUS_INACTIVE, LOCUS_INACTIVE),
                   LOCUS_OK);
    ck_assert_int_eq(locus_conn_move(svc, server, LOCUS_INACTIVE, LOCUS_ACTIVE),
                     LOCUS_OK);
    ck_assert_int_eq(locus_conn_unbind(svc, server, LOCUS_ACTIVE), LOCUS_OK);
    locus_service_destroy(svc);
}
END_TEST

START_TEST(a_refusal_names_nobody_and_says_so)
{
    struct locus_service *svc = create("lblcr", "kernel");
    struct locus_service_stats stats;
    struct locus_pick pick = connect_to(svc, 1, 0);
    ck_assert_uint_eq(pick.server, LOCUS_NO_SERVER);
    ck_assert_uint_eq(pick.trimmed, LOCUS_NO_SERVER);
    ck_assert_uint_eq(pick.why, LOCUS_WHY_REFUSED);
    locus_service_get_stats(svc, &stats);
    ck_assert_uint_eq(stats.picks, 1);
    ck_assert_uint_eq(stats.refusals, 1);
    ck_assert_uint_eq(stats.destinations, 0);
    locus_service_destroy(svc);
}
END_TEST

START_TEST(a_batch_of_nothing_binds_nothing)
{
    struct locus_service *svc = create("wlc", "kernel");
    struct locus_request requests[3];
    uint32_t servers[3] = {1, 2, 3};
    memset(requests, 0, sizeof(requests));
    ck_assert_uint_eq(locus_connect_batch(svc, requests, 0, 0, LOCUS_ACTIVE, servers),
                      0);
    ck_assert_uint_eq(servers[0], 1);
    ck_assert_uint_eq(locus_connect_batch(svc, requests, 3, 0, LOCUS_ACTIVE, servers),
                      0);
    ck_assert_uint_eq(servers[2], LOCUS_NO_SERVER);
    add(svc, 1, 1);
    ck_assert_uint_eq(locus_connect_batch(svc, requests, 3, 0, LOCUS_ACTIVE, servers),
                      3);
    locus_service_destroy(svc);
}
END_TEST

static struct locus_service *create_unbounded(enum locus_family family)
{
    struct locus_service_config config = {
        .scheduler = "lblc", .family = family, .rules = locus_rules_find("article")};
    struct locus_service *svc = NULL;
    ck_assert_int_eq(locus_service_create(&config, &svc), LOCUS_OK);
    for (uint32_t i = 1; i <= 5; i++) {
        add(svc, i, 1000 * i);
    }
    return svc;
}

/* So large that batches fetch its memory ahead; every destination comes up twice. */
START_TEST(batches_decide_as_one_by_one_in_a_large_map)
{
    enum { DESTINATIONS = 60000, BATCH = 100 };
    enum locus_family family = _i == 0 ? LOCUS_IPV4 : LOCUS_IPV6;
    struct locus_service *batched = create_unbounded(family);
    struct locus_service *single = create_unbounded(family);
    struct locus_request requests[BATCH];
    uint32_t servers[BATCH];
    memset(requests, 0, sizeof(requests));
    for (uint32_t at = 0; at < 2 * DESTINATIONS; at += BATCH) {
        for (uint32_t i = 0; i < BATCH; i++) {
            requests[i].dst.ipv4 = (at + i) % DESTINATIONS * 2654435761u;
        }
        ck_assert_uint_eq(
            locus_connect_batch(batched, requests, BATCH, at, LOCUS_ACTIVE, servers),
            BATCH);
        for (uint32_t i = 0; i < BATCH; i++) {
            struct locus_pick pick;
            ck_assert_int_eq(
                locus_connect(single, &requests[i], at, LOCUS_ACTIVE, &pick), LOCUS_OK);
            ck_assert_uint_eq(pick.server, servers[i]);
        }
    }
    struct locus_service_stats stats;
    locus_service_get_stats(batched, &stats);
    ck_assert_uint_eq(stats.destinations, DESTINATIONS);
    ck_assert_uint_gt(stats.map_bytes, 1u << 20);
    locus_service_destroy(batched);
    locus_service_destroy(single);
}
END_TEST

/* ---- destinations ---------------------------------------------------------------- */

START_TEST(destinations_that_differ_in_one_bit_are_different)
{
    struct locus_service_config config = {.scheduler = "lblc", .family = LOCUS_IPV6};
    struct locus_service *svc = NULL;
    struct locus_service_stats stats;
    ck_assert_int_eq(locus_service_create(&config, &svc), LOCUS_OK);
    add(svc, 1, 1000);
    struct locus_request request;
    struct locus_pick pick;
    memset(&request, 0, sizeof(request));
    for (int bit = -1; bit < 128; bit++) {
        memset(&request.dst, 0x5c, sizeof(request.dst));
        if (bit >= 0) {
            request.dst.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        ck_assert_int_eq(locus_schedule(svc, &request, 0, &pick), LOCUS_OK);
        ck_assert_uint_eq(pick.why, LOCUS_WHY_NEW);
    }
    locus_service_get_stats(svc, &stats);
    ck_assert_uint_eq(stats.destinations, 129);
    locus_service_destroy(svc);
}
END_TEST

START_TEST(looking_at_a_destination_renews_nothing)
{
    struct locus_service *svc = create("lblcr", "kernel");
    uint32_t server = add(svc, 1, 1);
    uint32_t members[2] = {5, 5};
    struct locus_destination found;
    union locus_key key = {.ipv4 = 42};
    connect_to(svc, 42, 7 * second_ns);
    connect_to(svc, 43, 9 * second_ns);
    EXPECT_REFUSED(svc, LOCUS_IPV4,
                   locus_destination_get(svc, &key, &found, members, 2), true);
    ck_assert_uint_eq(found.lastuse_ns, 7 * second_ns);
    ck_assert_uint_eq(found.lastmod_ns, 7 * second_ns);
    ck_assert_uint_eq(found.servers, 1);
    ck_assert_uint_eq(found.key.ipv4, 42);
    ck_assert_uint_eq(members[0], server);
    ck_assert_uint_eq(members[1], 5);
    members[0] = 5;
    ck_assert(locus_destination_get(svc, &key, &found, members, 0));
    ck_assert_uint_eq(members[0], 5);
    locus_service_destroy(svc);
}
END_TEST

START_TEST(expirations_are_rounded_down_to_ticks)
{
    struct locus_service *svc = create("lblcr", "kernel");
    add(svc, 1, 1);
    add(svc, 2, 1);
    connect_to(svc, 1, 0);
    connect_to(svc, 1, 0);
    connect_to(svc, 1, 0);
    struct locus_destination found;
    union locus_key key = {.ipv4 = 1};
    ck_assert(locus_destination_get(svc, &key, &found, NULL, 0));
    ck_assert_uint_eq(found.servers, 2);
    /* 1.9 ticks are one: now - lastmod = 1 is not over it, 2 is. */
    locus_service_set_expiration(svc, 1900000);
    ck_assert(!(connect_to(svc, 1, 1000000).why & LOCUS_WHY_TRIMMED));
    ck_assert(connect_to(svc, 1, 2000000).why & LOCUS_WHY_TRIMMED);
    locus_service_destroy(svc);
    /* Down is towards minus infinity: -0.1 ticks are -1, and 0 is over it. */
    svc = create("lblcr", "kernel");
    add(svc, 1, 1);
    add(svc, 2, 1);
    connect_to(svc, 1, 0);
    connect_to(svc, 1, 0);
    connect_to(svc, 1, 0);
    locus_service_set_expiration(svc, -100000);
    ck_assert(connect_to(svc, 1, 0).why & LOCUS_WHY_TRIMMED);
    locus_service_set_expiration(svc, INT64_MIN);
    locus_service_set_expiration(svc, INT64_MAX);
    connect_to(svc, 1, 0);
    locus_service_destroy(svc);
}
END_TEST

START_TEST(a_clock_that_steps_back_has_not_moved)
{
    struct locus_service *svc = create("lblc", "kernel");
    struct locus_destination found;
    union locus_key key = {.ipv4 = 2};
    add(svc, 1, 100);
    connect_to(svc, 1, 100 * second_ns);
    connect_to(svc, 2, 50 * second_ns);
    ck_assert(locus_destination_get(svc, &key, &found, NULL, 0));
    ck_assert_uint_eq(found.lastuse_ns, 100 * second_ns);
    ck_assert(locus_tick(svc, 0, SIZE_MAX));
    connect_to(svc, 2, 0);
    ck_assert(locus_destination_get(svc, &key, &found, NULL, 0));
    ck_assert_uint_eq(found.lastuse_ns, 100 * second_ns);
    locus_service_destroy(svc);
}
END_TEST

START_TEST(max_entries_bounds_what_is_remembered)
{
    struct locus_service_config config = {.scheduler = "lblc", .max_entries = 3};
    struct locus_service *svc = NULL;
    struct locus_service_stats stats;
    ck_assert_int_eq(locus_service_create(&config, &svc), LOCUS_OK);
    add(svc, 1, 100);
    for (uint32_t dst = 0; dst < 10; dst++) {
        unsigned why = connect_to(svc, dst, 0).why;
        ck_assert_uint_eq(why, dst < 3 ? LOCUS_WHY_NEW : LOCUS_WHY_FORGOTTEN);
    }
    locus_service_get_stats(svc, &stats);
    ck_assert_uint_eq(stats.destinations, 3);
    ck_assert_uint_eq(stats.forgotten, 7);
    locus_service_destroy(svc);
}
END_TEST

/* ---- eviction -------------------------------------------------------------------- */

static struct locus_service *create_evicting(uint32_t max_entries, uint64_t seed)
{
    struct locus_rules rules = *locus_rules_find("kernel");
    struct locus_service_config config = {
        .scheduler = "lblc", .rules = &rules, .max_entries = max_entries, .seed = seed};
    struct locus_service *svc = NULL;
    rules.evict = true;
    rules.gc_full_every = 1;
    ck_assert_int_eq(locus_service_create(&config, &svc), LOCUS_OK);
    add(svc, 1, LOCUS_WEIGHT_MAX);
    return svc;
}

static bool remembers(struct locus_service *svc, uint32_t dst)
{
    union locus_key key = {.ipv4 = dst};
    struct locus_destination found;
    return locus_destination_get(svc, &key, &found, NULL, 0);
}

START_TEST(a_full_map_forgets_who_came_first_and_never_came_again)
{
    struct locus_service *svc = create_evicting(3, 0);
    struct locus_service_stats stats;
    for (uint32_t dst = 0; dst < 3; dst++) {
        connect_to(svc, dst, dst * second_ns);
    }
    connect_to(svc, 0, 3 * second_ns);
    ck_assert_uint_eq(connect_to(svc, 3, 4 * second_ns).why, LOCUS_WHY_NEW);
    ck_assert(remembers(svc, 0) && !remembers(svc, 1) && remembers(svc, 2));
    /* Nobody came again since: 2, then 0, whose second chance is over. */
    connect_to(svc, 4, 5 * second_ns);
    ck_assert(remembers(svc, 0) && !remembers(svc, 2));
    connect_to(svc, 5, 6 * second_ns);
    ck_assert(!remembers(svc, 0) && remembers(svc, 3) && remembers(svc, 4));
    locus_service_get_stats(svc, &stats);
    ck_assert_uint_eq(stats.destinations, 3);
    ck_assert_uint_eq(stats.evicted, 3);
    ck_assert_uint_eq(stats.forgotten, 0);
    locus_service_destroy(svc);
}
END_TEST

/* Who is in use stays, whatever passes by, wherever keys are in the table. */
START_TEST(a_scan_does_not_push_out_what_is_in_use)
{
    struct locus_service *svc = create_evicting(1000, (uint64_t)_i);
    struct locus_service_stats stats;
    uint64_t now_ns = 0;
    for (uint32_t i = 0; i < 20000; i++) {
        now_ns += second_ns / 100;
        connect_to(svc, 1000000 + i, now_ns);
        connect_to(svc, i % 100, now_ns);
        locus_service_get_stats(svc, &stats);
        ck_assert_uint_le(stats.destinations, 1000);
    }
    ck_assert_uint_eq(stats.added, 20100);
    ck_assert_uint_eq(stats.evicted, 19100);
    locus_service_destroy(svc);
}
END_TEST

START_TEST(collections_and_evictions_share_one_order)
{
    struct locus_service *svc = create_evicting(600, 7);
    struct locus_service_stats stats;
    uint64_t now_ns = 0;
    locus_service_set_expiration(svc, 20 * (int64_t)second_ns);
    for (uint32_t i = 0; i < 200000; i++) {
        now_ns += second_ns / 50;
        connect_to(svc, i * 7919 % (i % 20000 < 10000 ? 2000 : 300), now_ns);
        locus_tick(svc, now_ns, 64);
    }
    locus_service_get_stats(svc, &stats);
    ck_assert_uint_gt(stats.expired, 0);
    ck_assert_uint_gt(stats.evicted, 0);
    ck_assert_uint_le(stats.destinations, 600);
    ck_assert_uint_eq(stats.added - stats.expired - stats.evicted, stats.destinations);
    /* All of it can go, and memory with it. */
    uint64_t full = stats.map_bytes;
    now_ns += 4000 * second_ns;
    for (unsigned i = 0; i < 40; i++) {
        now_ns += 60 * second_ns;
        ck_assert(locus_tick(svc, now_ns, SIZE_MAX));
    }
    locus_service_get_stats(svc, &stats);
    ck_assert_uint_eq(stats.destinations, 0);
    ck_assert_uint_lt(stats.map_bytes, full / 2);
    locus_service_destroy(svc);
}
END_TEST

START_TEST(a_map_of_no_entries_evicts_nobody)
{
    struct locus_rules rules = *locus_rules_find("kernel");
    struct locus_service_config config = {.scheduler = "lblc", .rules = &rules};
    struct locus_service *svc = NULL;
    rules.evict = true;
    rules.max_entries = 0;
    ck_assert_int_eq(locus_service_create(&config, &svc), LOCUS_OK);
    add(svc, 1, 1);
    ck_assert_uint_eq(connect_to(svc, 1, 0).why, LOCUS_WHY_FORGOTTEN);
    locus_service_destroy(svc);
    rules.leak_entries = true;
    expect_bad_config(&config, LOCUS_EINVAL);
}
END_TEST

/* ---- nobody available ------------------------------------------------------------ */

static struct locus_service *create_answering(const char *scheduler,
                                              enum locus_no_server answer)
{
    struct locus_rules rules = *locus_rules_find("kernel");
    struct locus_service_config config = {.scheduler = scheduler, .rules = &rules};
    struct locus_service *svc = NULL;
    rules.no_server = answer;
    ck_assert_int_eq(locus_service_create(&config, &svc), LOCUS_OK);
    return svc;
}

START_TEST(a_bypass_is_no_refusal)
{
    struct locus_service *svc = create_answering("lblc", LOCUS_NO_SERVER_BYPASS);
    struct locus_service_stats stats;
    add(svc, 1, 0);
    struct locus_pick pick = connect_to(svc, 1, 0);
    ck_assert_uint_eq(pick.server, LOCUS_NO_SERVER);
    ck_assert_uint_eq(pick.why, LOCUS_WHY_BYPASS);
    locus_service_get_stats(svc, &stats);
    ck_assert_uint_eq(stats.bypasses, 1);
    ck_assert_uint_eq(stats.refusals + stats.any + stats.destinations, 0);
    locus_service_destroy(svc);
}
END_TEST

START_TEST(any_server_is_the_one_that_is_harmed_least)
{
    struct locus_service *svc = create_answering("lblc", LOCUS_NO_SERVER_ANY);
    struct locus_server_config small = server_at(2, 1), large = server_at(3, 3);
    struct locus_service_stats stats;
    uint32_t quiesced, servers[2];
    ck_assert_uint_eq(connect_to(svc, 1, 0).why, LOCUS_WHY_REFUSED);
    quiesced = add(svc, 1, 0);
    ck_assert_uint_eq(connect_to(svc, 1, 0).server, quiesced);
    small.upper_threshold = large.upper_threshold = 1;
    ck_assert_int_eq(locus_server_add(svc, &small, 0, &servers[0]), LOCUS_OK);
    ck_assert_int_eq(locus_server_add(svc, &large, 0, &servers[1]), LOCUS_OK);
    for (uint32_t dst = 10; dst < 12; dst++) {
        ck_assert_uint_eq(connect_to(svc, dst, 0).why, LOCUS_WHY_NEW);
    }
    /* Both overloaded: shares by weight, 3 to 1, and nothing for the quiesced one. */
    for (uint32_t dst = 20; dst < 30; dst++) {
        ck_assert_uint_eq(connect_to(svc, dst, 0).why, LOCUS_WHY_ANY);
    }
    ck_assert_uint_eq(info_of(svc, servers[0]).active, 3);
    ck_assert_uint_eq(info_of(svc, servers[1]).active, 9);
    ck_assert_uint_eq(info_of(svc, quiesced).active, 1);
    locus_service_get_stats(svc, &stats);
    ck_assert_uint_eq(stats.any, 11);
    ck_assert_uint_eq(stats.refusals, 1);
    ck_assert_uint_eq(stats.destinations, 2);
    locus_service_destroy(svc);
}
END_TEST

START_TEST(a_hash_that_names_a_quiesced_server_gets_an_available_one)
{
    struct locus_service *svc = create_answering("dh", LOCUS_NO_SERVER_ANY);
    uint32_t quiesced = add(svc, 1, 0), available = add(svc, 2, 1);
    unsigned substitutes = 0;
    for (uint32_t dst = 0; dst < 64; dst++) {
        struct locus_pick pick = connect_to(svc, dst, 0);
        ck_assert_uint_eq(pick.server, available);
        substitutes += pick.why == LOCUS_WHY_ANY;
    }
    ck_assert_uint_gt(substitutes, 0);
    ck_assert_uint_lt(substitutes, 64);
    ck_assert_uint_eq(info_of(svc, quiesced).active, 0);
    locus_service_destroy(svc);
}
END_TEST

START_TEST(no_scheduler_picks_nobody_under_any_answer)
{
    struct locus_service *svc = create_answering("none", LOCUS_NO_SERVER_ANY);
    struct locus_rules rules = *locus_rules_find("kernel");
    struct locus_service_config config = {.rules = &rules};
    add(svc, 1, 1);
    ck_assert_uint_eq(connect_to(svc, 1, 0).why, LOCUS_WHY_REFUSED);
    locus_service_destroy(svc);
    rules.no_server = (enum locus_no_server)3;
    expect_bad_config(&config, LOCUS_EINVAL);
}
END_TEST

/* ---- capacity -------------------------------------------------------------------- */

/* Two servers of weight 1, whose one busy destination asks for each of them in turn. */
static uint64_t moves_with_capacity(uint32_t capacity, unsigned connections)
{
    struct locus_service *svc = create("lblc", "kernel");
    struct locus_service_stats stats;
    for (uint32_t ip = 1; ip <= 2; ip++) {
        struct locus_server_config config = server_at(ip, 1);
        uint32_t server;
        config.capacity = capacity;
        ck_assert_int_eq(locus_server_add(svc, &config, 0, &server), LOCUS_OK);
        ck_assert_uint_eq(info_of(svc, server).capacity, capacity);
    }
    for (unsigned i = 0; i < connections; i++) {
        connect_to(svc, 1, 0);
    }
    locus_service_get_stats(svc, &stats);
    locus_service_destroy(svc);
    return stats.moved;
}

START_TEST(a_capacity_frees_spilling_from_the_weight)
{
    /* Above capacity while the other is under half: the pick after capacity + 1. */
    ck_assert_uint_eq(moves_with_capacity(0, 2), 0);
    ck_assert_uint_eq(moves_with_capacity(0, 3), 1);
    ck_assert_uint_eq(moves_with_capacity(1, 3), 1);
    ck_assert_uint_eq(moves_with_capacity(100, 101), 0);
    ck_assert_uint_eq(moves_with_capacity(100, 102), 1);
    ck_assert_uint_eq(moves_with_capacity(LOCUS_WEIGHT_MAX, 1000), 0);
}
END_TEST

START_TEST(a_capacity_changes_no_share)
{
    struct locus_service *svc = create("wlc", "kernel");
    struct locus_server_config large = server_at(1, 2), small = server_at(2, 1);
    uint32_t servers[2];
    large.capacity = 1;
    small.capacity = 1000;
    ck_assert_int_eq(locus_server_add(svc, &large, 0, &servers[0]), LOCUS_OK);
    ck_assert_int_eq(locus_server_add(svc, &small, 0, &servers[1]), LOCUS_OK);
    for (uint32_t i = 0; i < 30; i++) {
        connect_to(svc, i, 0);
    }
    ck_assert_uint_eq(info_of(svc, servers[0]).active, 20);
    ck_assert_uint_eq(info_of(svc, servers[1]).active, 10);
    locus_service_destroy(svc);
}
END_TEST

START_TEST(a_quiesced_server_has_no_capacity)
{
    struct locus_service *svc = create("lblc", "kernel");
    struct locus_server_config idle = server_at(1, 1);
    uint32_t server;
    idle.capacity = 100;
    ck_assert_int_eq(locus_server_add(svc, &idle, 0, &server), LOCUS_OK);
    ck_assert_int_eq(locus_server_set_weight(svc, server, 0), LOCUS_OK);
    ck_assert_uint_eq(info_of(svc, server).capacity, 100);
    add(svc, 2, 1);
    for (unsigned i = 0; i < 10; i++) {
        ck_assert(!(connect_to(svc, 1, 0).why & LOCUS_WHY_SPILLED));
    }
    /* Its capacity comes back with its weight. */
    ck_assert_int_eq(locus_server_set_weight(svc, server, 1), LOCUS_OK);
    ck_assert(connect_to(svc, 1, 0).why & LOCUS_WHY_SPILLED);
    locus_service_destroy(svc);
}
END_TEST

START_TEST(a_capacity_out_of_range_is_refused)
{
    struct locus_service *svc = create("lblc", "kernel");
    uint32_t server = add(svc, 1, 1), other = LOCUS_NO_SERVER;
    struct locus_server_config config = server_at(2, 1);
    config.capacity = LOCUS_WEIGHT_MAX + 1u;
    EXPECT_REFUSED(svc, LOCUS_IPV4, locus_server_add(svc, &config, 0, &other),
                   LOCUS_ERANGE);
    EXPECT_REFUSED(svc, LOCUS_IPV4, locus_server_edit(svc, server, &config),
                   LOCUS_ERANGE);
    config.capacity = LOCUS_WEIGHT_MAX;
    ck_assert_int_eq(locus_server_edit(svc, server, &config), LOCUS_OK);
    ck_assert_uint_eq(info_of(svc, server).capacity, LOCUS_WEIGHT_MAX);
    locus_service_destroy(svc);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("service");
    TCase *tcase = suite_case(suite, "service");
    tcase_add_test(tcase, a_zeroed_configuration_is_wlc_under_the_kernels_rules);
    tcase_add_test(tcase, a_bad_configuration_is_refused);
    tcase_add_test(tcase, bad_rules_are_refused);
    tcase_add_test(tcase, schedulers_and_rules_have_names);
    tcase_add_test(tcase, intervals_may_be_nothing_or_for_ever);
    tcase_add_test(tcase, an_unknown_scheduler_changes_nothing);
    tcase_add_test(tcase, numbers_out_of_range_are_refused_when_adding);
    tcase_add_test(tcase, classic_rules_take_any_upper_threshold);
    tcase_add_test(tcase, numbers_out_of_range_are_refused_when_editing);
    tcase_add_test(tcase, a_server_in_the_trash_is_not_in_service);
    tcase_add_test(tcase, a_revived_server_has_the_tag_of_its_new_configuration);
    tcase_add_test(tcase, unreferenced_servers_are_freed_after_three_minutes);
    tcase_add_test(tcase,
                   servers_may_leave_the_trash_while_it_is_looked_through_in_slices);
    tcase_add_test(tcase, servers_may_be_added_and_removed_while_one_iterates);
    tcase_add_test(tcase, connections_of_nobody_are_refused);
    tcase_add_test(tcase, no_count_goes_below_zero);
    tcase_add_test(tcase, a_refusal_names_nobody_and_says_so);
    tcase_add_test(tcase, a_batch_of_nothing_binds_nothing);
    tcase_add_loop_test(tcase, batches_decide_as_one_by_one_in_a_large_map, 0, 2);
    tcase_add_test(tcase, destinations_that_differ_in_one_bit_are_different);
    tcase_add_test(tcase, looking_at_a_destination_renews_nothing);
    tcase_add_test(tcase, expirations_are_rounded_down_to_ticks);
    tcase_add_test(tcase, a_clock_that_steps_back_has_not_moved);
    tcase_add_test(tcase, max_entries_bounds_what_is_remembered);
    tcase_add_test(tcase, a_full_map_forgets_who_came_first_and_never_came_again);
    tcase_add_loop_test(tcase, a_scan_does_not_push_out_what_is_in_use, 0, 3);
    tcase_add_test(tcase, collections_and_evictions_share_one_order);
    tcase_add_test(tcase, a_map_of_no_entries_evicts_nobody);
    tcase_add_test(tcase, a_bypass_is_no_refusal);
    tcase_add_test(tcase, any_server_is_the_one_that_is_harmed_least);
    tcase_add_test(tcase, a_hash_that_names_a_quiesced_server_gets_an_available_one);
    tcase_add_test(tcase, no_scheduler_picks_nobody_under_any_answer);
    tcase_add_test(tcase, a_capacity_frees_spilling_from_the_weight);
    tcase_add_test(tcase, a_capacity_changes_no_share);
    tcase_add_test(tcase, a_quiesced_server_has_no_capacity);
    tcase_add_test(tcase, a_capacity_out_of_range_is_refused);
    return suite_run(suite);
}
