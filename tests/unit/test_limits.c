/* SPDX-License-Identifier: MIT */
/* The ends of every range: weights, counts, servers, ticks. */
#include <string.h>

#include <locus/locus.h>

#include "../support/fleet.h"
#include "../support/poke.h"
#include "../support/random.h"
#include "../support/suite.h"

__extension__ typedef unsigned __int128 wide;

static const uint64_t second_ns = 1000000000;

static struct locus_service *create(const char *scheduler,
                                    const struct locus_rules *rules, uint64_t now_ns)
{
    struct locus_service_config config = {
        .scheduler = scheduler, .rules = rules, .now_ns = now_ns};
    struct locus_service *svc = NULL;
    MUST(locus_service_create(&config, &svc) == LOCUS_OK);
    return svc;
}

static uint32_t schedule(struct locus_service *svc, uint32_t dst, uint64_t now_ns)
{
    struct locus_request request = {.dst.ipv4 = dst, .src.ipv4 = dst};
    struct locus_pick pick;
    (void)!locus_schedule(svc, &request, now_ns, &pick);
    return pick.server;
}

/* ---- exact comparison ------------------------------------------------------------ */

struct load {
    uint32_t server, weight, active, inactive;
};

static wide cost_of(const struct load *l, uint32_t active_cost)
{
    return (wide)active_cost * l->active + l->inactive;
}

static uint32_t least(const struct load *loads, size_t count, uint32_t active_cost)
{
    const struct load *best = NULL;
    for (size_t i = count; i-- > 0;) {
        const struct load *l = &loads[i];
        if (l->weight > 0 && (!best || cost_of(l, active_cost) * best->weight <
                                           cost_of(best, active_cost) * l->weight)) {
            best = l;
        }
    }
    return best ? best->server : LOCUS_NO_SERVER;
}

static uint32_t edge(uint64_t *random)
{
    static const uint32_t edges[] = {
        0,     1,     2,       INT32_MAX, INT32_MAX - 1, 1u << 30, (1u << 30) - 1,
        65535, 65536, 8388607, 8388608};
    if (random_percent(random, 50)) {
        return edges[random_below(random, sizeof(edges) / sizeof(edges[0]))];
    }
    return (uint32_t)random_next(random) >> 1 >> random_below(random, 31);
}

/* Enough servers for a scan (10) or for the index (200). */
static void expect_exact(uint32_t active_cost, uint32_t servers, uint64_t seed)
{
    struct locus_rules rules = *locus_rules_find("kernel");
    rules.active_cost = active_cost;
    struct locus_service *svc = create("wlc", &rules, 0);
    struct load loads[200];
    uint64_t random = seed;
    memset(loads, 0, sizeof(loads));
    for (uint32_t i = 0; i < servers; i++) {
        loads[i].server = fleet_add(svc, i + 1, 0);
    }
    for (int round = 0; round < 20000; round++) {
        struct load *l = &loads[random_below(&random, servers)];
        l->weight = edge(&random);
        l->active = edge(&random);
        l->inactive = edge(&random);
        if (l->inactive > INT32_MAX - l->active) {
            l->inactive = INT32_MAX - l->active;
        }
        MUST(locus_server_set_weight(svc, l->server, l->weight) == LOCUS_OK);
        poke_counts(svc, l->server, l->active, l->inactive);
        MUST(schedule(svc, 1, 0) == least(loads, servers, active_cost));
    }
    locus_service_destroy(svc);
}

START_TEST(loads_compare_exactly_up_to_the_largest_numbers)
{
    static const uint32_t costs[] = {1, 256, 257, 65536};
    expect_exact(costs[_i], 10, 1);
    expect_exact(costs[_i], 64, 2);
    expect_exact(costs[_i], 65, 3);
    expect_exact(costs[_i], 200, 4);
}
END_TEST

/* Fractions whose cross products differ by one: a/b < c/d with bc - ad = 1. */
START_TEST(neighbouring_fractions_are_told_apart)
{
    struct locus_rules rules = *locus_rules_find("article");
    struct locus_service *svc = create("wlc", &rules, 0);
    uint64_t random = 9;
    uint32_t first = fleet_add(svc, 1, 1);
    uint32_t second = fleet_add(svc, 2, 1);
    for (int round = 0; round < 20000; round++) {
        /* Down the tree of all fractions (mediants of neighbours are neighbours). */
        uint64_t a = 0, b = 1, c = 1, d = 1;
        for (;;) {
            uint64_t n = a + c, w = b + d;
            if (w > INT32_MAX) {
                break;
            }
            if (random_percent(&random, 50)) {
                a = n;
                b = w;
            } else {
                c = n;
                d = w;
            }
        }
        MUST(b * c - a * d == 1);
        bool swap = random_percent(&random, 50);
        uint32_t less = swap ? second : first;
        uint32_t more = swap ? first : second;
        MUST(locus_server_set_weight(svc, less, (uint32_t)b) == LOCUS_OK);
        MUST(locus_server_set_weight(svc, more, (uint32_t)d) == LOCUS_OK);
        poke_counts(svc, less, 0, (uint32_t)a);
        poke_counts(svc, more, 0, (uint32_t)c);
        MUST(schedule(svc, 1, 0) == less);
    }
    locus_service_destroy(svc);
}
END_TEST

START_TEST(a_server_takes_two_to_the_31_less_one_connections_and_no_more)
{
    struct locus_service *svc = create("wlc", NULL, 0);
    struct locus_request request = {.dst.ipv4 = 1};
    struct locus_pick pick;
    struct locus_server_info info;
    uint32_t server = fleet_add(svc, 1, LOCUS_WEIGHT_MAX);
    poke_counts(svc, server, INT32_MAX - 2, 1);
    MUST(locus_connect(svc, &request, 0, LOCUS_ACTIVE, &pick) == LOCUS_OK);
    MUST(locus_connect(svc, &request, 0, LOCUS_ACTIVE, &pick) == LOCUS_ERANGE);
    MUST(locus_connect(svc, &request, 0, LOCUS_INACTIVE, &pick) == LOCUS_ERANGE);
    MUST(locus_conn_bind(svc, server, LOCUS_ACTIVE) == LOCUS_ERANGE);
    MUST(locus_conn_bind(svc, server, LOCUS_INACTIVE) == LOCUS_ERANGE);
    MUST(locus_server_get(svc, server, &info) == LOCUS_OK);
    MUST(info.active == INT32_MAX - 1);
    MUST(info.inactive == 1);
    MUST(locus_conn_move(svc, server, LOCUS_INACTIVE, LOCUS_ACTIVE) == LOCUS_OK);
    MUST(locus_conn_unbind(svc, server, LOCUS_ACTIVE) == LOCUS_OK);
    MUST(locus_schedule(svc, &request, 0, &pick) == LOCUS_OK);
    locus_service_destroy(svc);
}
END_TEST

START_TEST(the_spill_test_is_exact_at_the_largest_weight)
{
    struct locus_service *svc = create("lblc", NULL, 0);
    uint32_t home = fleet_add(svc, 1, INT32_MAX - 1);
    MUST(schedule(svc, 7, 0) == home);
    uint32_t other = fleet_add(svc, 2, INT32_MAX);
    poke_counts(svc, home, INT32_MAX - 1, 0);
    poke_counts(svc, other, INT32_MAX / 2, 0);
    /* active = weight: not above it. */
    MUST(schedule(svc, 7, 0) == home);
    /* Above it, but 2 * (2^30 - 1) = 2^31 - 2 < 2^31 - 1: under half by one. */
    poke_counts(svc, home, INT32_MAX, 0);
    poke_counts(svc, other, INT32_MAX / 2 + 1, 0);
    MUST(schedule(svc, 7, 0) == home);
    poke_counts(svc, other, INT32_MAX / 2, 0);
    MUST(schedule(svc, 7, 0) == other);
    locus_service_destroy(svc);
}
END_TEST

START_TEST(wrr_jumps_over_weights_that_are_far_apart)
{
    struct locus_service *svc = create("wrr", NULL, 0);
    uint32_t light = fleet_add(svc, 1, 1);
    uint32_t heavy = fleet_add(svc, 2, INT32_MAX);
    /* The current weight is still that of the time when there was only the light one. */
    MUST(schedule(svc, 1, 0) == heavy);
    MUST(schedule(svc, 1, 0) == light);
    for (int i = 0; i < 1000; i++) {
        MUST(schedule(svc, 1, 0) == heavy);
    }
    /* Nobody but the light one: 2^31 passes away, found at once all the same. */
    struct locus_server_config full = {.weight = INT32_MAX, .upper_threshold = 1};
    MUST(locus_server_edit(svc, heavy, &full) == LOCUS_OK);
    MUST(locus_conn_bind(svc, heavy, LOCUS_ACTIVE) == LOCUS_OK);
    for (int i = 0; i < 1000; i++) {
        MUST(schedule(svc, 1, 0) == light);
    }
    locus_service_destroy(svc);
}
END_TEST

/* ---- many servers ---------------------------------------------------------------- */

enum { MANY = 65535, NAMES = 17 };

START_TEST(every_scheduler_works_with_65535_servers)
{
    struct locus_service *svc = create("wlc", NULL, 0);
    const char *name = locus_scheduler_name((size_t)_i, NULL);
    uint32_t *servers = malloc(MANY * sizeof(*servers));
    ck_assert_ptr_nonnull(servers);
    for (uint32_t i = 0; i < MANY; i++) {
        servers[i] = fleet_add(svc, i, 1 + i % 5);
    }
    MUST(locus_service_set_scheduler(svc, name, 0, 0) == LOCUS_OK);
    for (uint32_t i = 0; i < 300; i++) {
        uint32_t server = schedule(svc, i * 65537, 0);
        bool expected = strcmp(name, "none") != 0 && strcmp(name, "mh") != 0;
        MUST(!expected || server != LOCUS_NO_SERVER);
        if (server != LOCUS_NO_SERVER) {
            MUST(locus_conn_bind(svc, server, LOCUS_ACTIVE) == LOCUS_OK);
        }
    }
    for (uint32_t i = 0; i < 300; i++) {
        uint32_t victim = servers[i * 211 % MANY];
        MUST(locus_server_remove(svc, victim, 0) == LOCUS_OK);
        uint32_t server = schedule(svc, i, 0);
        MUST(server != victim);
    }
    MUST(locus_service_set_scheduler(svc, "wlc", 0, 0) == LOCUS_OK);
    struct locus_service_stats stats;
    locus_service_get_stats(svc, &stats);
    MUST(stats.servers == MANY - 300);
    MUST(stats.trash == 300);
    locus_service_destroy(svc);
    free(servers);
}
END_TEST

START_TEST(wlc_finds_the_one_idle_server_among_65535)
{
    struct locus_service *svc = create("wlc", NULL, 0);
    uint64_t random = 4;
    uint32_t *servers = malloc(MANY * sizeof(*servers));
    ck_assert_ptr_nonnull(servers);
    for (uint32_t i = 0; i < MANY; i++) {
        servers[i] = fleet_add(svc, i, 1);
        MUST(locus_conn_bind(svc, servers[i], LOCUS_ACTIVE) == LOCUS_OK);
    }
    for (int i = 0; i < 5000; i++) {
        uint32_t idle = servers[random_below(&random, MANY)];
        MUST(locus_conn_unbind(svc, idle, LOCUS_ACTIVE) == LOCUS_OK);
        MUST(schedule(svc, 1, 0) == idle);
        MUST(locus_conn_bind(svc, idle, LOCUS_ACTIVE) == LOCUS_OK);
    }
    locus_service_destroy(svc);
    free(servers);
}
END_TEST

START_TEST(a_hundred_thousand_sets_grow_and_go)
{
    struct locus_rules rules = *locus_rules_find("kernel-classic");
    rules.soft_entries = UINT32_MAX;
    struct locus_service *svc = create("lblcr", &rules, 0);
    struct locus_service_stats stats;
    uint32_t full = fleet_add(svc, 1, 1);
    poke_counts(svc, full, 5, 0);
    for (int round = 0; round < 4; round++) {
        /* Round by round another idle server joins every set. */
        for (uint32_t dst = 0; dst < 100000; dst++) {
            MUST(schedule(svc, dst, 0) != LOCUS_NO_SERVER);
        }
        uint32_t idle = LOCUS_NO_SERVER;
        while ((idle = locus_server_next(svc, idle)) != LOCUS_NO_SERVER) {
            ck_assert_int_eq(locus_server_set_weight(svc, idle, 1), LOCUS_OK);
            poke_counts(svc, idle, 5, 0);
        }
        fleet_add(svc, 10 + (uint32_t)round, LOCUS_WEIGHT_MAX);
    }
    locus_service_get_stats(svc, &stats);
    ck_assert_uint_eq(stats.destinations, 100000);
    ck_assert_uint_eq(stats.grown, 300000);
    locus_service_set_expiration(svc, 0);
    for (uint64_t s = 60; s <= 1800; s += 60) {
        MUST(locus_tick(svc, s * second_ns, SIZE_MAX));
    }
    locus_service_get_stats(svc, &stats);
    ck_assert_uint_eq(stats.destinations, 0);
    locus_service_destroy(svc);
}
END_TEST

/* ---- time ------------------------------------------------------------------------ */

static void run_to(struct locus_service *svc, uint64_t now_ns)
{
    while (locus_tick_due(svc) <= now_ns) {
        MUST(locus_tick(svc, locus_tick_due(svc), SIZE_MAX));
    }
    MUST(locus_tick(svc, now_ns, SIZE_MAX));
}

static bool remembered(struct locus_service *svc, uint32_t dst,
                       struct locus_destination *out)
{
    union locus_key key = {.ipv4 = dst};
    return locus_destination_get(svc, &key, out, NULL, 0);
}

START_TEST(ticks_wrap_at_32_bits_unnoticed)
{
    const uint64_t wrap_ns = (UINT64_C(1) << 32) * 1000000;
    struct locus_service *svc = create("lblcr", NULL, wrap_ns - 600 * second_ns);
    struct locus_destination found;
    locus_service_set_expiration(svc, 3600 * (int64_t)second_ns);
    fleet_add(svc, 1, 1);
    fleet_add(svc, 2, 1);
    uint64_t now_ns = wrap_ns - 500 * second_ns;
    struct locus_request request = {.dst.ipv4 = 7};
    struct locus_pick pick;
    for (int i = 0; i < 3; i++) {
        MUST(locus_connect(svc, &request, now_ns, LOCUS_ACTIVE, &pick) == LOCUS_OK);
    }
    MUST(remembered(svc, 7, &found));
    MUST(found.servers == 2);
    /* Behind the wrap the set is 3,600 s old, not over it; then over it. */
    run_to(svc, now_ns + 3600 * second_ns);
    MUST(locus_schedule(svc, &request, now_ns + 3600 * second_ns, &pick) == LOCUS_OK);
    MUST((pick.why & LOCUS_WHY_TRIMMED) == 0);
    MUST(locus_schedule(svc, &request, now_ns + 3600 * second_ns + 1000000, &pick) ==
         LOCUS_OK);
    MUST((pick.why & LOCUS_WHY_TRIMMED) != 0);
    MUST(remembered(svc, 7, &found));
    MUST(found.lastuse_ns == now_ns + 3600 * second_ns + 1000000);
    run_to(svc, now_ns + 2 * 3600 * second_ns);
    MUST(remembered(svc, 7, &found));
    run_to(svc, now_ns + 3 * 3600 * second_ns);
    MUST(!remembered(svc, 7, &found));
    locus_service_destroy(svc);
}
END_TEST

START_TEST(ages_beyond_the_range_of_ticks_stay_old)
{
    const uint64_t day_ns = 86400 * second_ns;
    struct locus_service *svc = create("lblc", NULL, 0);
    struct locus_destination found;
    fleet_add(svc, 1, 1000);
    locus_service_set_expiration(svc, INT64_MAX);
    schedule(svc, 7, second_ns);
    for (uint64_t day = 1; day <= 130; day++) {
        run_to(svc, day * day_ns);
        MUST(remembered(svc, 7, &found));
        MUST(day * day_ns - found.lastuse_ns >= (day < 24 ? day - 1 : 23) * day_ns);
    }
    locus_service_set_expiration(svc, (int64_t)(20 * day_ns));
    run_to(svc, 131 * day_ns);
    MUST(!remembered(svc, 7, &found));
    locus_service_destroy(svc);
}
END_TEST

START_TEST(the_end_of_the_clock_is_far_but_harmless)
{
    struct locus_service *svc = create("lblcr", NULL, UINT64_MAX - 1000);
    fleet_add(svc, 1, 1);
    MUST(schedule(svc, 1, UINT64_MAX - 1) != LOCUS_NO_SERVER);
    MUST(locus_tick(svc, UINT64_MAX, SIZE_MAX));
    MUST(schedule(svc, 1, UINT64_MAX) != LOCUS_NO_SERVER);
    locus_service_destroy(svc);
}
END_TEST

START_TEST(a_tick_of_one_nanosecond_works)
{
    struct locus_service_config config = {.scheduler = "lblc", .tick_ns = 1};
    struct locus_service *svc = NULL;
    struct locus_destination found;
    MUST(locus_service_create(&config, &svc) == LOCUS_OK);
    fleet_add(svc, 1, 1);
    schedule(svc, 3, 12345);
    MUST(remembered(svc, 3, &found));
    MUST(found.lastuse_ns == 12345);
    locus_service_destroy(svc);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("limits");
    TCase *tcase = suite_case(suite, "limits");
    tcase_add_loop_test(tcase, loads_compare_exactly_up_to_the_largest_numbers, 0, 4);
    tcase_add_test(tcase, neighbouring_fractions_are_told_apart);
    tcase_add_test(tcase,
                   a_server_takes_two_to_the_31_less_one_connections_and_no_more);
    tcase_add_test(tcase, the_spill_test_is_exact_at_the_largest_weight);
    tcase_add_test(tcase, wrr_jumps_over_weights_that_are_far_apart);
    tcase_add_loop_test(tcase, every_scheduler_works_with_65535_servers, 0, NAMES);
    tcase_add_test(tcase, wlc_finds_the_one_idle_server_among_65535);
    tcase_add_test(tcase, a_hundred_thousand_sets_grow_and_go);
    tcase_add_test(tcase, ticks_wrap_at_32_bits_unnoticed);
    tcase_add_test(tcase, ages_beyond_the_range_of_ticks_stay_old);
    tcase_add_test(tcase, the_end_of_the_clock_is_far_but_harmless);
    tcase_add_test(tcase, a_tick_of_one_nanosecond_works);
    return suite_run(suite);
}
