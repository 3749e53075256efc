/* SPDX-License-Identifier: MIT */
/* chbl: who comes first and for how many, what moves when servers change, what the bound does. */
#include <string.h>

#include "../support/fleet.h"
#include "../support/random.h"

enum { SERVERS_MAX = 4000, DESTINATIONS = 20000 };

static struct locus_service *create(void)
{
    return fleet_service("chbl", NULL, 0);
}

static void set_bound(struct locus_service *svc, uint32_t percent)
{
    ck_assert_int_eq(locus_service_set_load_bound(svc, percent), LOCUS_OK);
}

/* Whom each destination is sent to when nobody has a connection. */
static void homes(struct locus_service *svc, uint32_t *servers)
{
    for (uint32_t i = 0; i < DESTINATIONS; i++) {
        struct locus_pick pick = fleet_ask(svc, i);
        MUST(pick.why == LOCUS_WHY_HIT);
        servers[i] = pick.server;
    }
}

/* ---- who comes first -------------------------------------------------------------- */

START_TEST(without_a_server_nobody_is_picked_and_a_lone_one_takes_all)
{
    struct locus_service *svc = create();
    ck_assert_uint_eq(fleet_ask(svc, 1).server, LOCUS_NO_SERVER);
    uint32_t server = fleet_add(svc, 1, 1);
    for (uint32_t i = 0; i < 1000; i++) {
        struct locus_pick pick = fleet_connect(svc, i % 3);
        ck_assert_uint_eq(pick.server, server);
        ck_assert_uint_eq(pick.why, LOCUS_WHY_HIT);
    }
    ck_assert_int_eq(locus_server_set_weight(svc, server, 0), LOCUS_OK);
    ck_assert_uint_eq(fleet_ask(svc, 1).why, LOCUS_WHY_REFUSED);
    ck_assert_int_eq(locus_server_remove(svc, server, 0), LOCUS_OK);
    ck_assert_uint_eq(fleet_ask(svc, 1).server, LOCUS_NO_SERVER);
    locus_service_destroy(svc);
}
END_TEST

/* Five standard deviations, of a known sequence. */
START_TEST(a_server_comes_first_for_its_share_of_the_destinations)
{
    static const uint32_t weights[] = {1, 1, 2, 3, 10, 33, 50};
    struct locus_service *svc = create();
    uint32_t *home = malloc(DESTINATIONS * sizeof(*home));
    uint32_t counts[7] = {0};
    for (uint32_t i = 0; i < 7; i++) {
        fleet_add(svc, i, weights[i]);
    }
    homes(svc, home);
    for (uint32_t i = 0; i < DESTINATIONS; i++) {
        counts[fleet_info(svc, home[i]).tag]++;
    }
    for (uint32_t i = 0; i < 7; i++) {
        double share = weights[i] / 100.0, mean = share * DESTINATIONS;
        double off = counts[i] - mean;
        ck_assert_double_le(off * off, 25 * mean * (1 - share));
    }
    free(home);
    locus_service_destroy(svc);
}
END_TEST

START_TEST(services_of_equal_servers_agree_whatever_their_history)
{
    struct locus_service *one = create(), *other = fleet_service("wlc", NULL, 99);
    for (uint32_t i = 0; i < 50; i++) {
        fleet_add(one, i, 1 + i % 4);
        uint32_t server = fleet_add(other, 77 * i % 50, 1 + 77 * i % 50 % 4);
        if (i % 3 == 0) {
            MUST(locus_server_remove(other, server, 0) == LOCUS_OK);
            fleet_add(other, 1000, 1);
            fleet_add(other, 77 * i % 50, 1 + 77 * i % 50 % 4);
            MUST(locus_server_remove(other, fleet_add(other, 1001, 1), 0) == LOCUS_OK);
            struct locus_address address = fleet_info(other, server).address;
            address.key.ipv4 = 1000;
            MUST(locus_server_remove(other, locus_server_find(other, &address), 0) ==
                 LOCUS_OK);
        }
    }
    ck_assert_int_eq(locus_service_set_scheduler(other, "chbl", 0, 0), LOCUS_OK);
    for (uint32_t i = 0; i < DESTINATIONS; i++) {
        MUST(fleet_info(one, fleet_ask(one, i).server).tag ==
             fleet_info(other, fleet_ask(other, i).server).tag);
    }
    locus_service_destroy(one);
    locus_service_destroy(other);
}
END_TEST

/* Directors of different versions share destinations: these never change. */
START_TEST(orders_are_the_same_in_every_version)
{
    static const char *const keys[] = {"2001:db8::1", "2001:db8::2", "2001:db8::3",
                                       "2001:db8:0:1::"};
    static const char wanted4[] = "14467759316085493789";
    static const char wanted6[] = "8667";
    struct locus_service_config config = {.scheduler = "chbl", .family = LOCUS_IPV6};
    struct locus_service *four = create(), *six = NULL;
    char got4[21] = "", got6[5] = "";
    ck_assert_int_eq(locus_service_create(&config, &six), LOCUS_OK);
    for (uint32_t i = 0; i < 10; i++) {
        fleet_add(four, 0x0a000000 + i, 1 + i);
        fleet_add(six, 0x0a000000 + i, 1 + i);
    }
    for (uint32_t i = 0; i < 20; i++) {
        got4[i] = (char)('0' + fleet_ask(four, 0xc0000200 + i).server);
    }
    for (uint32_t i = 0; i < 4; i++) {
        struct locus_request request = {0};
        struct locus_address address;
        struct locus_pick pick;
        MUST(locus_address_parse(keys[i], strlen(keys[i]), &address) == LOCUS_OK);
        request.dst = address.key;
        MUST(locus_schedule(six, &request, 0, &pick) == LOCUS_OK);
        got6[i] = (char)('0' + pick.server);
    }
    ck_assert_str_eq(got4, wanted4);
    ck_assert_str_eq(got6, wanted6);
    locus_service_destroy(four);
    locus_service_destroy(six);
}
END_TEST

/* ---- what moves ------------------------------------------------------------------- */

enum change { REMOVED, QUIESCED, OVERLOADED, ADDED, HEAVIER, LIGHTER, CHANGES };

static void make_change(struct locus_service *svc, enum change change, uint32_t server,
                        uint32_t weight)
{
    switch (change) {
    case REMOVED:
        MUST(locus_server_remove(svc, server, 0) == LOCUS_OK);
        break;
    case QUIESCED:
        MUST(locus_server_set_weight(svc, server, 0) == LOCUS_OK);
        break;
    case OVERLOADED:
        fleet_set_threshold(svc, server, weight, 1);
        MUST(locus_conn_bind(svc, server, LOCUS_INACTIVE) == LOCUS_OK);
        break;
    case ADDED:
        fleet_add(svc, 1 << 20, weight);
        break;
    case HEAVIER:
        MUST(locus_server_set_weight(svc, server, 3 * weight) == LOCUS_OK);
        break;
    case LIGHTER:
    case CHANGES:
        MUST(locus_server_set_weight(svc, server, (weight + 2) / 3) == LOCUS_OK);
        break;
    }
}

/* With three servers and with thousands. */
START_TEST(a_server_that_changes_moves_its_own_destinations_only)
{
    enum change change = (enum change)(_i % CHANGES);
    uint32_t count = _i < CHANGES ? 3 : 2000;
    struct locus_service *svc = create();
    uint32_t *before = malloc(DESTINATIONS * sizeof(*before));
    uint32_t *after = malloc(DESTINATIONS * sizeof(*after));
    for (uint32_t i = 0; i < count; i++) {
        fleet_add(svc, i, 4 + i % 7);
    }
    homes(svc, before);
    make_change(svc, change, 1, 5);
    homes(svc, after);
    uint32_t changed = change == ADDED ? count : 1, moved = 0;
    bool gains = change == ADDED || change == HEAVIER;
    for (uint32_t i = 0; i < DESTINATIONS; i++) {
        if (before[i] != after[i]) {
            MUST((gains ? after[i] : before[i]) == changed);
            moved++;
        }
        MUST(change > OVERLOADED || after[i] != changed);
    }
    ck_assert_uint_gt(moved, 0);
    ck_assert_uint_lt(moved, count == 3 ? DESTINATIONS / 2 : DESTINATIONS / 500);
    free(before);
    free(after);
    locus_service_destroy(svc);
}
END_TEST

/* ---- the bound -------------------------------------------------------------------- */

/* What the article's bound is before a pick: ceil(c * (T + 1) * weight / W). */
static uint64_t bound_of(struct locus_service *svc, uint32_t server, uint32_t percent)
{
    uint64_t load = 0, weight = 0;
    for (uint32_t i = locus_server_next(svc, LOCUS_NO_SERVER); i != LOCUS_NO_SERVER;
         i = locus_server_next(svc, i)) {
        struct locus_server_info info = fleet_info(svc, i);
        if (info.weight > 0 && !info.overloaded) {
            load += info.active;
            weight += info.weight;
        }
    }
    uint64_t part = percent * (load + 1) * fleet_info(svc, server).weight;
    return (part + 100 * weight - 1) / (100 * weight);
}

START_TEST(no_pick_takes_a_server_above_its_bound)
{
    static const uint32_t percents[] = {101, 110, 125, 200, 400};
    static const uint32_t counts[] = {2, 3, 17, 300};
    uint32_t percent = percents[_i % 5], count = counts[_i / 5];
    uint64_t random = 7 + (uint64_t)_i;
    struct locus_service *svc = create();
    uint32_t open[1024], opened = 0, spilled = 0;
    set_bound(svc, percent);
    for (uint32_t i = 0; i < count; i++) {
        fleet_add(svc, i, 1 + random_below(&random, 9));
    }
    for (uint32_t step = 0; step < 4000; step++) {
        if (opened == 1024 || (opened > 0 && random_percent(&random, 30))) {
            uint32_t at = random_below(&random, opened);
            MUST(locus_conn_unbind(svc, open[at], LOCUS_ACTIVE) == LOCUS_OK);
            open[at] = open[--opened];
        } else if (random_percent(&random, 5)) {
            (void)!locus_server_set_weight(svc, random_below(&random, count),
                                           random_below(&random, 9));
        } else {
            struct locus_pick pick = fleet_ask(svc, random_below(&random, 10));
            MUST(pick.server == LOCUS_NO_SERVER ||
                 fleet_info(svc, pick.server).active <
                     bound_of(svc, pick.server, percent));
            if (pick.server != LOCUS_NO_SERVER) {
                MUST(locus_conn_bind(svc, pick.server, LOCUS_ACTIVE) == LOCUS_OK);
                open[opened++] = pick.server;
                spilled += (pick.why & LOCUS_WHY_SPILLED) != 0;
            }
        }
    }
    ck_assert_uint_gt(spilled, 0);
    locus_service_destroy(svc);
}
END_TEST

/* L14: one destination that would overload its server is spread as far as it must be, and in
 * its own order: who is in it stays in it. */
START_TEST(a_hot_destination_gets_as_many_servers_as_it_needs)
{
    struct locus_service *svc = create();
    uint32_t first = LOCUS_NO_SERVER;
    for (uint32_t i = 0; i < 10; i++) {
        fleet_add(svc, i, 1);
    }
    set_bound(svc, 200);
    for (uint32_t i = 0; i < 1000; i++) {
        struct locus_pick pick = fleet_connect(svc, 42);
        first = i == 0 ? pick.server : first;
        MUST((pick.why == LOCUS_WHY_HIT) == (pick.server == first));
    }
    uint32_t busy = 0;
    for (uint32_t i = 0; i < 10; i++) {
        uint32_t active = fleet_info(svc, i).active;
        busy += active > 0;
        MUST(active <= 200);
    }
    ck_assert_uint_ge(busy, 5);
    ck_assert_uint_le(busy, 6);
    ck_assert_uint_eq(fleet_info(svc, first).active, 200);
    locus_service_destroy(svc);
}
END_TEST

START_TEST(what_one_server_cannot_take_goes_to_all_others)
{
    struct locus_service *svc = create();
    uint32_t *home = malloc(DESTINATIONS * sizeof(*home));
    bool helped[20] = {false};
    uint32_t helpers = 0;
    for (uint32_t i = 0; i < 20; i++) {
        fleet_add(svc, i, 1);
    }
    homes(svc, home);
    for (uint32_t i = 0; i < 100; i++) {
        MUST(locus_conn_bind(svc, 3, LOCUS_ACTIVE) == LOCUS_OK);
    }
    for (uint32_t i = 0; i < DESTINATIONS; i++) {
        struct locus_pick pick = fleet_ask(svc, i);
        MUST(home[i] == 3 ? pick.why == LOCUS_WHY_SPILLED : pick.server == home[i]);
        helpers += home[i] == 3 && !helped[pick.server];
        helped[pick.server] |= home[i] == 3;
    }
    ck_assert_uint_eq(helpers, 19);
    free(home);
    locus_service_destroy(svc);
}
END_TEST

START_TEST(inactive_connections_count_where_the_spill_test_counts_them)
{
    struct locus_rules rules = *locus_rules_find(NULL);
    for (int total = 0; total < 2; total++) {
        rules.spill_counts_total = total != 0;
        struct locus_service *svc = fleet_service("chbl", &rules, 0);
        fleet_add(svc, 1, 1);
        fleet_add(svc, 2, 1);
        uint32_t home = fleet_ask(svc, 5).server;
        for (uint32_t i = 0; i < 10; i++) {
            MUST(locus_conn_bind(svc, home, LOCUS_INACTIVE) == LOCUS_OK);
        }
        ck_assert_int_eq(fleet_ask(svc, 5).server == home, total == 0);
        locus_service_destroy(svc);
    }
}
END_TEST

START_TEST(connections_of_unavailable_servers_do_not_raise_the_bound)
{
    struct locus_service *svc = create();
    for (uint32_t i = 0; i < 4; i++) {
        fleet_add(svc, i, 1);
    }
    for (uint32_t i = 0; i < 1000; i++) {
        MUST(locus_conn_bind(svc, 0, LOCUS_ACTIVE) == LOCUS_OK);
        MUST(locus_conn_bind(svc, 1, LOCUS_ACTIVE) == LOCUS_OK);
    }
    ck_assert_int_eq(locus_server_set_weight(svc, 0, 0), LOCUS_OK);
    ck_assert_int_eq(locus_server_remove(svc, 1, 0), LOCUS_OK);
    for (uint32_t i = 0; i < 100; i++) {
        fleet_connect(svc, 42);
    }
    ck_assert_uint_le(fleet_info(svc, 2).active, 63);
    ck_assert_uint_le(fleet_info(svc, 3).active, 63);
    locus_service_destroy(svc);
}
END_TEST

START_TEST(a_bound_out_of_range_is_refused_and_changes_nothing)
{
    static const uint32_t bad[] = {0, 1, 100, 10001, UINT32_MAX};
    struct locus_service *svc = create();
    fleet_add(svc, 1, 1);
    fleet_add(svc, 2, 1);
    set_bound(svc, 150);
    for (size_t i = 0; i < 5; i++) {
        ck_assert_int_eq(locus_service_set_load_bound(svc, bad[i]), LOCUS_ERANGE);
    }
    for (uint32_t i = 0; i < 100; i++) {
        fleet_connect(svc, 42);
    }
    uint32_t most = fleet_info(svc, fleet_ask(svc, 42).server).active;
    ck_assert(most == 75 || most == 25);
    set_bound(svc, 10000);
    for (uint32_t i = 0; i < 100; i++) {
        ck_assert_uint_eq(fleet_connect(svc, 42).why, LOCUS_WHY_HIT);
    }
    locus_service_destroy(svc);
}
END_TEST

START_TEST(thousands_of_servers_that_all_are_busy_still_have_one_below_its_bound)
{
    struct locus_service *svc = create();
    set_bound(svc, 101);
    for (uint32_t i = 0; i < SERVERS_MAX; i++) {
        fleet_add(svc, i, 1 + i % 3);
        for (uint32_t n = 0; n < 1 + i % 3; n++) {
            MUST(locus_conn_bind(svc, i, LOCUS_ACTIVE) == LOCUS_OK);
        }
    }
    for (uint32_t i = 0; i < 500; i++) {
        struct locus_pick pick = fleet_connect(svc, 1);
        MUST(pick.server != LOCUS_NO_SERVER);
        MUST(fleet_info(svc, pick.server).active <= 2 + pick.server % 3 + 1);
    }
    locus_service_destroy(svc);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("chbl");
    TCase *tcase = suite_case(suite, "chbl");
    tcase_add_test(tcase, without_a_server_nobody_is_picked_and_a_lone_one_takes_all);
    tcase_add_test(tcase, a_server_comes_first_for_its_share_of_the_destinations);
    tcase_add_test(tcase, services_of_equal_servers_agree_whatever_their_history);
    tcase_add_test(tcase, orders_are_the_same_in_every_version);
    tcase_add_loop_test(tcase, a_server_that_changes_moves_its_own_destinations_only, 0,
                        2 * CHANGES);
    tcase_add_loop_test(tcase, no_pick_takes_a_server_above_its_bound, 0, 20);
    tcase_add_test(tcase, a_hot_destination_gets_as_many_servers_as_it_needs);
    tcase_add_test(tcase, what_one_server_cannot_take_goes_to_all_others);
    tcase_add_test(tcase, inactive_connections_count_where_the_spill_test_counts_them);
    tcase_add_test(tcase, connections_of_unavailable_servers_do_not_raise_the_bound);
    tcase_add_test(tcase, a_bound_out_of_range_is_refused_and_changes_nothing);
    tcase_add_test(
        tcase, thousands_of_servers_that_all_are_busy_still_have_one_below_its_bound);
    return suite_run(suite);
}
