/* SPDX-License-Identifier: MIT */
/* Slow start: how shares grow, and what newcomers and old servers get meanwhile. */
#include <string.h>

#include <locus/locus.h>

#include "../support/poke.h"
#include "../support/random.h"
#include "../support/suite.h"

static const uint64_t second_ns = 1000000000;
static const uint64_t tick_ns = 1000000;

struct slow {
    const char *scheduler;
    uint64_t window_ns;
    uint32_t exponent, floor_percent; /* 0: as named rule sets have them */
    uint64_t start_ns;
};

static struct locus_service *create(struct slow slow)
{
    struct locus_rules rules = *locus_rules_find(NULL);
    struct locus_service_config config = {
        .scheduler = slow.scheduler, .rules = &rules, .now_ns = slow.start_ns};
    struct locus_service *svc = NULL;
    rules.slow_start_ns = slow.window_ns;
    if (slow.exponent != 0) {
        rules.slow_start_exponent = slow.exponent;
    }
    if (slow.floor_percent != 0) {
        rules.slow_start_floor_percent = slow.floor_percent;
    }
    ck_assert_int_eq(locus_service_create(&config, &svc), LOCUS_OK);
    return svc;
}

static struct locus_server_config server_at(uint32_t ip, uint32_t weight)
{
    struct locus_server_config config = {.weight = weight};
    config.address.family = LOCUS_IPV4;
    config.address.key.ipv4 = ip;
    return config;
}

static uint32_t add(struct locus_service *svc, uint32_t ip, uint32_t weight,
                    uint64_t now_ns)
{
    struct locus_server_config config = server_at(ip, weight);
    uint32_t server = LOCUS_NO_SERVER;
    MUST(locus_server_add(svc, &config, now_ns, &server) == LOCUS_OK);
    return server;
}

static uint32_t add_warm(struct locus_service *svc, uint32_t ip, uint32_t weight)
{
    struct locus_server_config config = server_at(ip, weight);
    uint32_t server = LOCUS_NO_SERVER;
    config.warm = true;
    MUST(locus_server_add(svc, &config, 0, &server) == LOCUS_OK);
    return server;
}

static void set_weight(struct locus_service *svc, uint32_t server, uint32_t weight)
{
    ck_assert_int_eq(locus_server_set_weight(svc, server, weight), LOCUS_OK);
}

static uint64_t share_of(const struct locus_service *svc, uint32_t server)
{
    struct locus_server_info info;
    MUST(locus_server_get(svc, server, &info) == LOCUS_OK);
    return info.weight_256ths;
}

static void tick(struct locus_service *svc, uint64_t now_ns)
{
    MUST(locus_tick(svc, now_ns, SIZE_MAX));
}

/* Does the work at the very times at which it is due, up to and with that one. */
static void pass(struct locus_service *svc, uint64_t until_ns)
{
    while (locus_tick_due(svc) <= until_ns) {
        tick(svc, locus_tick_due(svc));
    }
    tick(svc, until_ns);
}

/* The manual's formula, of an increase. */
static double grown(double increase, double x, uint32_t exponent, double floor)
{
    double power = 1;
    for (uint32_t i = 0; i < exponent; i++) {
        power *= x;
    }
    return increase * (floor + (1 - floor) * power);
}

static void expect_near(uint64_t share, double wanted, double within)
{
    ck_assert_double_ge((double)share, wanted - within);
    ck_assert_double_le((double)share, wanted + within);
}

/* ---- rules ----------------------------------------------------------------------- */

START_TEST(it_is_off_under_every_rule_set)
{
    const char *name;
    for (size_t i = 0; (name = locus_rules_name(i)) != NULL; i++) {
        const struct locus_rules *rules = locus_rules_find(name);
        struct locus_service_config config = {.rules = rules};
        struct locus_service *svc = NULL;
        ck_assert_uint_eq(rules->slow_start_ns, 0);
        ck_assert_int_eq(locus_service_create(&config, &svc), LOCUS_OK);
        uint32_t server = add(svc, 1, 3, 0);
        ck_assert_uint_eq(share_of(svc, server), 3 * 256);
        set_weight(svc, server, 4);
        ck_assert_uint_eq(share_of(svc, server), 4 * 256);
        ck_assert_uint_eq(locus_tick_due(svc), LOCUS_NEVER);
        locus_service_destroy(svc);
    }
}
END_TEST

START_TEST(rules_outside_their_ranges_are_refused)
{
    static const struct {
        uint64_t window_ns;
        uint32_t exponent, floor_percent;
        int status;
    } cases[] = {
        {UINT64_C(86400000000000), 8, 100, LOCUS_OK},
        {1, 1, 1, LOCUS_OK},
        {0, 0, 0, LOCUS_OK}, /* off: nobody asks */
        {0, 99, 101, LOCUS_OK},
        {UINT64_C(86400000000001), 1, 10, LOCUS_ERANGE},
        {UINT64_MAX, 1, 10, LOCUS_ERANGE},
        {1, 0, 10, LOCUS_ERANGE},
        {1, 9, 10, LOCUS_ERANGE},
        {1, 1, 0, LOCUS_ERANGE},
        {1, 1, 101, LOCUS_ERANGE},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct locus_rules rules = *locus_rules_find(NULL);
        struct locus_service_config config = {.rules = &rules};
        struct locus_service *svc = NULL;
        rules.slow_start_ns = cases[i].window_ns;
        rules.slow_start_exponent = cases[i].exponent;
        rules.slow_start_floor_percent = cases[i].floor_percent;
        ck_assert_int_eq(locus_service_create(&config, &svc), cases[i].status);
        locus_service_destroy(svc);
    }
}
END_TEST

/* ---- shares ---------------------------------------------------------------------- */

START_TEST(a_newcomer_grows_from_the_floor_to_its_weight_along_the_curve)
{
    const uint32_t exponent = 1 + (uint32_t)_i % 4, percent = _i < 4 ? 10 : 1;
    struct locus_service *svc = create((struct slow){
        .window_ns = 100 * second_ns, .exponent = exponent, .floor_percent = percent});
    uint32_t server = add(svc, 1, 40, 5 * second_ns);
    for (uint32_t s = 0; s < 100; s++) {
        pass(svc, (5 + s) * second_ns);
        /* As of the last of 256 steps, at most one of them behind. */
        double now = grown(40 * 256, s / 100.0, exponent, percent / 100.0);
        double behind =
            s == 0 ? now
                   : grown(40 * 256, s / 100.0 - 1 / 256.0, exponent, percent / 100.0);
        ck_assert_double_le((double)share_of(svc, server), now + 1);
        ck_assert_double_ge((double)share_of(svc, server), behind - 2);
    }
    pass(svc, 105 * second_ns + second_ns / 2);
    ck_assert_uint_eq(share_of(svc, server), 40 * 256);
    ck_assert_uint_eq(locus_tick_due(svc), LOCUS_NEVER);
    locus_service_destroy(svc);
}
END_TEST

START_TEST(a_share_is_never_nothing)
{
    struct locus_service *svc = create((struct slow){
        .window_ns = 86400 * second_ns, .exponent = 8, .floor_percent = 1});
    uint32_t small = add(svc, 1, 1, 0);
    ck_assert_uint_ge(share_of(svc, small), 1);
    struct locus_request request = {.dst.ipv4 = 1};
    struct locus_pick pick;
    /* Beside the highest weight there is, divisors are a 128th as fine. */
    uint32_t large = add_warm(svc, 2, INT32_MAX);
    set_weight(svc, large, 0);
    ck_assert_int_eq(locus_schedule(svc, &request, 0, &pick), LOCUS_OK);
    ck_assert_uint_eq(pick.server, small);
    locus_service_destroy(svc);
}
END_TEST

START_TEST(of_a_raised_weight_only_the_increase_grows)
{
    struct locus_service *svc = create((struct slow){.window_ns = 10 * second_ns});
    uint32_t server = add_warm(svc, 1, 100);
    set_weight(svc, server, 200);
    expect_near(share_of(svc, server), (100 + 10) * 256, 1);
    pass(svc, 5 * second_ns);
    expect_near(share_of(svc, server), (100 + 55) * 256, 100);
    /* Raised again: from where it is, for a whole window. */
    uint64_t before = share_of(svc, server);
    set_weight(svc, server, 300);
    expect_near(share_of(svc, server),
                (double)before + 0.1 * (double)(300 * 256 - before), 1);
    pass(svc, 14 * second_ns);
    ck_assert_uint_lt(share_of(svc, server), 300 * 256);
    pass(svc, 15 * second_ns + second_ns / 10);
    ck_assert_uint_eq(share_of(svc, server), 300 * 256);
    locus_service_destroy(svc);
}
END_TEST

START_TEST(a_lower_weight_counts_at_once_and_ends_what_it_cuts_off)
{
    struct locus_service *svc = create((struct slow){.window_ns = 10 * second_ns});
    uint32_t server = add(svc, 1, 100, 0);
    pass(svc, 5 * second_ns);
    uint64_t half_way = share_of(svc, server);
    /* Above its share: it goes on as it did, up to there. */
    set_weight(svc, server, 60);
    ck_assert_uint_eq(share_of(svc, server), half_way);
    pass(svc, 7 * second_ns);
    ck_assert_uint_eq(share_of(svc, server), 60 * 256);
    ck_assert_uint_eq(locus_tick_due(svc), LOCUS_NEVER);
    set_weight(svc, server, 59);
    ck_assert_uint_eq(share_of(svc, server), 59 * 256);
    set_weight(svc, server, 1000);
    set_weight(svc, server, 20);
    ck_assert_uint_eq(share_of(svc, server), 20 * 256);
    ck_assert_uint_eq(locus_tick_due(svc), LOCUS_NEVER);
    locus_service_destroy(svc);
}
END_TEST

/* A configuration that is read again sets what there is already. */
START_TEST(the_same_weight_again_changes_nothing)
{
    struct locus_service *svc = create((struct slow){.window_ns = 10 * second_ns});
    struct locus_service *other = create((struct slow){.window_ns = 10 * second_ns});
    uint32_t server = add(svc, 1, 100, 0);
    add(other, 1, 100, 0);
    for (uint64_t s = 0; s < 12; s++) {
        pass(svc, s * second_ns);
        pass(other, s * second_ns);
        set_weight(svc, server, 50 + 50 * (s != 1));
        ck_assert_uint_eq(share_of(svc, server), share_of(other, server));
        ck_assert_uint_eq(locus_tick_due(svc), locus_tick_due(other));
    }
    ck_assert_uint_eq(share_of(svc, server), 100 * 256);
    locus_service_destroy(svc);
    locus_service_destroy(other);
}
END_TEST

START_TEST(a_quiesced_server_comes_back_slowly)
{
    struct locus_service *svc = create((struct slow){.window_ns = 10 * second_ns});
    uint32_t server = add_warm(svc, 1, 100);
    set_weight(svc, server, 0);
    ck_assert_uint_eq(share_of(svc, server), 0);
    set_weight(svc, server, 100);
    expect_near(share_of(svc, server), 10 * 256, 1);
    /* Quiesced in between, too. */
    pass(svc, 9 * second_ns);
    set_weight(svc, server, 0);
    set_weight(svc, server, 100);
    expect_near(share_of(svc, server), 10 * 256, 1);
    locus_service_destroy(svc);
}
END_TEST

START_TEST(a_revived_server_starts_slowly_and_a_removed_one_counts_nothing)
{
    struct locus_service *svc = create((struct slow){.window_ns = 10 * second_ns});
    uint32_t server = add(svc, 1, 100, 0);
    ck_assert_int_eq(locus_conn_bind(svc, server, LOCUS_ACTIVE), LOCUS_OK);
    pass(svc, 5 * second_ns);
    ck_assert_int_eq(locus_server_remove(svc, server, 5 * second_ns), LOCUS_OK);
    ck_assert_uint_eq(share_of(svc, server), 0);
    pass(svc, 6 * second_ns);
    ck_assert_uint_eq(share_of(svc, server), 0);
    ck_assert_uint_eq(add(svc, 1, 100, 7 * second_ns), server);
    expect_near(share_of(svc, server), 10 * 256, 1);
    pass(svc, 12 * second_ns);
    expect_near(share_of(svc, server), 55 * 256, 100);
    locus_service_destroy(svc);
}
END_TEST

START_TEST(a_warm_server_counts_at_once)
{
    struct locus_service *svc = create((struct slow){.window_ns = 10 * second_ns});
    uint32_t server = add_warm(svc, 1, 100);
    struct locus_server_config config = server_at(1, 200);
    ck_assert_uint_eq(share_of(svc, server), 100 * 256);
    ck_assert_uint_eq(locus_tick_due(svc), LOCUS_NEVER);
    set_weight(svc, server, 200);
    config.warm = true;
    ck_assert_int_eq(locus_server_edit(svc, server, &config), LOCUS_OK);
    ck_assert_uint_eq(share_of(svc, server), 200 * 256);
    ck_assert_uint_eq(locus_tick_due(svc), LOCUS_NEVER);
    locus_service_destroy(svc);
}
END_TEST

/* ---- time ------------------------------------------------------------------------ */

START_TEST(a_window_begins_with_the_first_tick_after_an_edit)
{
    struct locus_service *svc = create((struct slow){.window_ns = 10 * second_ns});
    uint32_t server = add_warm(svc, 1, 100);
    /* An hour passes of which the service has not heard. */
    set_weight(svc, server, 200);
    ck_assert_uint_eq(locus_tick_due(svc), 0);
    tick(svc, 3600 * second_ns);
    expect_near(share_of(svc, server), 110 * 256, 1);
    pass(svc, 3605 * second_ns);
    expect_near(share_of(svc, server), 155 * 256, 100);
    locus_service_destroy(svc);
}
END_TEST

START_TEST(a_clock_that_steps_back_or_far_ahead_harms_nothing)
{
    struct locus_service *svc = create((struct slow){.window_ns = 10 * second_ns});
    uint32_t server = add(svc, 1, 100, 20 * second_ns);
    pass(svc, 25 * second_ns);
    uint64_t half_way = share_of(svc, server);
    tick(svc, 0);
    tick(svc, 24 * second_ns);
    ck_assert_uint_eq(share_of(svc, server), half_way);
    pass(svc, 26 * second_ns);
    ck_assert_uint_gt(share_of(svc, server), half_way);
    tick(svc, UINT64_MAX);
    ck_assert_uint_eq(share_of(svc, server), 100 * 256);
    ck_assert_uint_eq(locus_tick_due(svc), LOCUS_NEVER);
    tick(svc, 0);
    ck_assert_uint_eq(share_of(svc, server), 100 * 256);
    locus_service_destroy(svc);
}
END_TEST

START_TEST(ticks_that_leave_32_bits_are_as_any_others)
{
    uint64_t start_ns = ((UINT64_C(1) << 32) - 5000) * tick_ns;
    struct locus_service *svc =
        create((struct slow){.window_ns = 10 * second_ns, .start_ns = start_ns});
    struct locus_service *other = create((struct slow){.window_ns = 10 * second_ns});
    uint32_t server = add(svc, 1, 100, start_ns);
    add(other, 1, 100, 0);
    for (uint64_t s = 0; s <= 11; s++) {
        pass(svc, start_ns + s * second_ns);
        pass(other, s * second_ns);
        ck_assert_uint_eq(share_of(svc, server), share_of(other, server));
    }
    locus_service_destroy(svc);
    locus_service_destroy(other);
}
END_TEST

START_TEST(a_window_below_a_tick_is_one_tick)
{
    struct locus_service *svc = create((struct slow){.window_ns = 1});
    uint32_t server = add(svc, 1, 100, 0);
    tick(svc, 0);
    expect_near(share_of(svc, server), 10 * 256, 1);
    ck_assert_uint_eq(locus_tick_due(svc), tick_ns);
    tick(svc, tick_ns);
    ck_assert_uint_eq(share_of(svc, server), 100 * 256);
    locus_service_destroy(svc);
}
END_TEST

START_TEST(a_window_is_at_most_256_steps_and_their_times_are_told)
{
    struct locus_service *svc = create((struct slow){.window_ns = 256 * second_ns});
    unsigned steps = 0;
    add(svc, 1, 1000, 0);
    for (uint64_t due_ns; (due_ns = locus_tick_due(svc)) != LOCUS_NEVER; steps++) {
        ck_assert_uint_eq(due_ns, steps * second_ns);
        tick(svc, due_ns);
    }
    ck_assert_uint_eq(steps, 257); /* the first one only begins it */
    locus_service_destroy(svc);
}
END_TEST

START_TEST(a_tick_looks_at_no_more_servers_than_its_budget)
{
    enum { SERVERS = 5000 };
    struct locus_service *svc = create((struct slow){.window_ns = 10 * second_ns});
    uint64_t floor = 0;
    for (uint32_t i = 0; i < SERVERS; i++) {
        add(svc, i, 7, 0);
    }
    tick(svc, 0);
    floor = share_of(svc, 0);
    ck_assert(!locus_tick(svc, second_ns, 0));
    for (uint32_t i = 0; i < SERVERS; i++) {
        MUST(share_of(svc, i) == floor);
    }
    for (uint32_t grown_before = 0; grown_before < SERVERS;) {
        uint32_t now_grown = 0;
        /* The clock goes on; the step is as of when it began. */
        locus_tick(svc, second_ns + grown_before, 7);
        for (uint32_t i = 0; i < SERVERS; i++) {
            now_grown += share_of(svc, i) > floor;
        }
        MUST(now_grown - grown_before == 7 || now_grown == SERVERS);
        grown_before = now_grown;
    }
    for (uint32_t i = 0; i < SERVERS; i++) {
        MUST(share_of(svc, i) == share_of(svc, 0));
    }
    pass(svc, 11 * second_ns);
    for (uint32_t i = 0; i < SERVERS; i++) {
        MUST(share_of(svc, i) == 7 * 256);
    }
    ck_assert_uint_eq(locus_tick_due(svc), LOCUS_NEVER);
    locus_service_destroy(svc);
}
END_TEST

START_TEST(the_server_that_a_slice_stopped_at_may_leave_or_be_warm)
{
    struct locus_service *svc = create((struct slow){.window_ns = 10 * second_ns});
    struct locus_server_config config = server_at(2, 100);
    for (uint32_t ip = 0; ip < 4; ip++) {
        add(svc, ip, 100, 0);
    }
    tick(svc, 0);
    /* The one added last is looked at first; then, one each call, what comes after. */
    ck_assert(!locus_tick(svc, 5 * second_ns, 1));
    ck_assert_uint_gt(share_of(svc, 3), share_of(svc, 2));
    config.warm = true;
    ck_assert_int_eq(locus_server_edit(svc, 2, &config), LOCUS_OK);
    ck_assert_int_eq(locus_server_remove(svc, 1, 5 * second_ns), LOCUS_OK);
    ck_assert(locus_tick(svc, 5 * second_ns, 1));
    ck_assert_uint_eq(share_of(svc, 1), 0);
    ck_assert_uint_eq(share_of(svc, 2), 100 * 256);
    ck_assert_uint_eq(share_of(svc, 0), share_of(svc, 3));
    /* All leave in the middle of a step; the next one begins with who comes. */
    pass(svc, 6 * second_ns);
    ck_assert(!locus_tick(svc, 7 * second_ns, 1));
    ck_assert_int_eq(locus_server_remove(svc, 0, 7 * second_ns), LOCUS_OK);
    ck_assert_int_eq(locus_server_remove(svc, 3, 7 * second_ns), LOCUS_OK);
    uint32_t server = add(svc, 9, 100, 7 * second_ns);
    pass(svc, 12 * second_ns);
    expect_near(share_of(svc, server), 55 * 256, 100);
    locus_service_destroy(svc);
}
END_TEST

/* ---- picks ----------------------------------------------------------------------- */

/* Divisors 256 times as large are compared as exactly. */
START_TEST(with_a_floor_of_100_percent_every_pick_is_as_without)
{
    enum { SERVERS = 40 };
    static const char *const schedulers[] = {"wlc", "sed", "nq", "lblc", "lblcr"};
    struct locus_service *with = create((struct slow){
        .scheduler = schedulers[_i], .window_ns = second_ns, .floor_percent = 100});
    struct locus_service *without = create((struct slow){.scheduler = schedulers[_i]});
    uint64_t random = 5;
    for (uint32_t i = 0; i < SERVERS; i++) {
        add(with, i, 1, 0);
        add(without, i, 1, 0);
    }
    for (uint32_t round = 0; round < 3000; round++) {
        /* The highest weight goes up, through all widths of products. */
        uint32_t bits = 1 + round / 100, server = random_below(&random, SERVERS);
        uint32_t weight = (1u << bits) - 1 - random_below(&random, 3) % (1u << bits);
        uint32_t active = (uint32_t)random_next(&random) >> 1;
        uint32_t inactive = INT32_MAX - active;
        active >>= random_percent(&random, 30) ? random_below(&random, 31) : 0;
        struct locus_request request = {.dst.ipv4 = random_below(&random, 50)};
        struct locus_pick pick, wanted;
        set_weight(with, server, weight);
        set_weight(without, server, weight);
        poke_counts(with, server, active, inactive);
        poke_counts(without, server, active, inactive);
        int status = locus_schedule(with, &request, 0, &pick);
        MUST(status == locus_schedule(without, &request, 0, &wanted));
        MUST(pick.server == wanted.server && pick.why == wanted.why);
    }
    locus_service_destroy(with);
    locus_service_destroy(without);
}
END_TEST

/* A stream of connections of the same length through a few servers of different weights,
 * and one more that comes later. */
enum { OLD = 8, LIFE_MS = 2000, SPAN_MS = 80000, JOIN_MS = 20000, WINDOW_MS = 40000 };

struct stream {
    struct locus_service *svc;
    uint32_t weights[OLD + 1];
    uint32_t conns[OLD + 1];
    uint32_t taken[SPAN_MS]; /* the server of each arrival, one a millisecond */
    uint32_t newcomer;
};

static const uint32_t weight_sum = 8 * 9 / 2 + 4; /* of the old */

static struct stream *begin_stream(struct slow slow)
{
    struct stream *s = calloc(1, sizeof(*s));
    ck_assert_ptr_nonnull(s);
    s->svc = create(slow);
    for (uint32_t i = 0; i < OLD; i++) {
        s->weights[i] = i == 0 ? 5 : i + 1;
        ck_assert_uint_eq(add_warm(s->svc, i, s->weights[i]), i);
    }
    s->newcomer = LOCUS_NO_SERVER;
    return s;
}

static void end_stream(struct stream *s)
{
    locus_service_destroy(s->svc);
    free(s);
}

/* One millisecond: a departure, what is due, an arrival. */
static uint32_t step(struct stream *s, uint32_t ms)
{
    uint64_t now_ns = ms * tick_ns;
    struct locus_request request = {.dst.ipv4 = ms};
    struct locus_pick pick;
    if (ms >= LIFE_MS) {
        uint32_t server = s->taken[ms - LIFE_MS];
        MUST(locus_conn_unbind(s->svc, server, LOCUS_ACTIVE) == LOCUS_OK);
        s->conns[server]--;
    }
    if (ms == JOIN_MS) {
        s->weights[OLD] = 4;
        s->newcomer = add(s->svc, OLD, 4, now_ns);
        ck_assert_uint_eq(s->newcomer, OLD);
    }
    if (locus_tick_due(s->svc) <= now_ns) {
        tick(s->svc, now_ns);
    }
    MUST(locus_connect(s->svc, &request, now_ns, LOCUS_ACTIVE, &pick) == LOCUS_OK);
    s->taken[ms] = pick.server;
    s->conns[pick.server]++;
    return pick.server;
}

/* What the newcomer would have for its weight if it were loaded as the others are. */
static double fair(const struct stream *s)
{
    uint32_t conns = 0;
    for (uint32_t i = 0; i < OLD; i++) {
        conns += s->conns[i];
    }
    return (double)conns * s->weights[OLD] / weight_sum;
}

static double ramp_at(uint32_t ms, uint32_t exponent)
{
    uint32_t since = ms - JOIN_MS;
    return since >= WINDOW_MS ? 1 : grown(1, (double)since / WINDOW_MS, exponent, 0.1);
}

/* W1 of the cases known from the field. */
START_TEST(a_newcomers_connections_never_exceed_the_ramp_times_its_fair_share_and_one)
{
    static const char *const schedulers[] = {"wlc", "sed", "nq"};
    const uint32_t exponent = 1 + (uint32_t)_i / 3;
    struct stream *s = begin_stream((struct slow){.scheduler = schedulers[_i % 3],
                                                  .window_ns = WINDOW_MS * tick_ns,
                                                  .exponent = exponent});
    for (uint32_t ms = 0; ms < SPAN_MS; ms++) {
        if (step(s, ms) == OLD) {
            /* A share is rounded up to 1/256 of weight 1. */
            double most = (ramp_at(ms, exponent) + 1 / 1024.0) * (fair(s) + 1) + 1;
            MUST(s->conns[OLD] <= most);
        }
    }
    /* In the end it has its share. */
    MUST(s->conns[OLD] + 1 >= fair(s) && s->conns[OLD] <= fair(s) + 2);
    end_stream(s);
}
END_TEST

/* Picks of a server within a second. */
static uint32_t rate(const struct stream *s, uint32_t server, uint32_t from_ms)
{
    uint32_t picks = 0;
    for (uint32_t ms = from_ms; ms < from_ms + 1000; ms++) {
        picks += s->taken[ms] == server;
    }
    return picks;
}

/* W10 and W11, for every second from the join on, with a window of 20 connections' lives. No
 * old server gets more than before the join but for one that is due to rounding, none more
 * than a tenth less than after it; the newcomer gets something, and at most a fifth more
 * than its share. */
START_TEST(a_join_neither_surges_the_old_nor_starves_anybody)
{
    static const char *const schedulers[] = {"wlc", "sed", "nq", "lblc", "lblcr"};
    struct stream *s = begin_stream(
        (struct slow){.scheduler = schedulers[_i], .window_ns = WINDOW_MS * tick_ns});
    for (uint32_t ms = 0; ms < SPAN_MS; ms++) {
        step(s, ms);
    }
    for (uint32_t ms = JOIN_MS; ms < SPAN_MS; ms += 1000) {
        for (uint32_t i = 0; i < OLD; i++) {
            double before = 1000.0 * s->weights[i] / weight_sum;
            double after = 1000.0 * s->weights[i] / (weight_sum + 4);
            ck_assert_double_le(rate(s, i, ms), before + 1);
            ck_assert_double_ge(rate(s, i, ms), after * 0.9);
        }
        ck_assert_uint_gt(rate(s, OLD, ms), 0);
        ck_assert_double_le(rate(s, OLD, ms), 1000.0 * 4 / (weight_sum + 4) * 1.2);
    }
    end_stream(s);
}
END_TEST

/* The same without it, as the kernel does: the contrast which shows that the above can fail. */
START_TEST(without_it_a_newcomer_takes_all_until_it_is_on_par)
{
    struct stream *s = begin_stream((struct slow){.scheduler = "wlc"});
    uint32_t in_a_row = 0;
    for (uint32_t ms = 0; ms < JOIN_MS; ms++) {
        step(s, ms);
    }
    while (step(s, JOIN_MS + in_a_row) == OLD) {
        in_a_row++;
    }
    ck_assert_uint_gt(in_a_row, 150);
    end_stream(s);
}
END_TEST

/* lblc and lblcr ask for the least loaded server for new destinations only; what they have
 * given to a newcomer then comes again. */
START_TEST(new_destinations_come_to_a_newcomer_little_by_little)
{
    struct locus_service *svc = create((struct slow){
        .scheduler = _i == 0 ? "lblc" : "lblcr", .window_ns = 10 * second_ns});
    struct locus_request request = {.dst.ipv4 = 0};
    struct locus_pick pick;
    struct locus_server_info info;
    add_warm(svc, 1, 1000);
    add_warm(svc, 2, 1000);
    for (uint32_t i = 0; i < 800; i++, request.dst.ipv4++) {
        MUST(locus_connect(svc, &request, 0, LOCUS_ACTIVE, &pick) == LOCUS_OK);
    }
    uint32_t newcomer = add(svc, 3, 1000, 0);
    for (uint64_t second = 0; second < 10; second++) {
        pass(svc, second * second_ns);
        for (uint32_t i = 0; i < 20; i++, request.dst.ipv4++) {
            MUST(locus_connect(svc, &request, second * second_ns, LOCUS_ACTIVE,
                               &pick) == LOCUS_OK);
        }
        ck_assert_int_eq(locus_server_get(svc, newcomer, &info), LOCUS_OK);
        uint32_t time = (uint32_t)second;
        ck_assert_double_le((double)info.destinations,
                            grown(1, time / 10.0, 1, 0.1) * (800 + 20 * time) / 2 + 1);
        ck_assert_uint_gt(info.destinations, second == 0 ? 10 : 0);
    }
    locus_service_destroy(svc);
}
END_TEST

/* Servers above their capacity spill while another is under half of its own; a newcomer is,
 * but may not have their connections yet. */
START_TEST(others_do_not_spill_to_a_newcomer_that_may_not_have_more_yet)
{
    struct locus_service *svc = create((struct slow){
        .scheduler = _i == 0 ? "lblc" : "lblcr", .window_ns = 10 * second_ns});
    struct locus_request request = {.dst.ipv4 = 0};
    struct locus_pick pick;
    uint32_t old = add_warm(svc, 1, 100);
    for (; request.dst.ipv4 < 20; request.dst.ipv4++) {
        ck_assert_int_eq(locus_schedule(svc, &request, 0, &pick), LOCUS_OK);
    }
    poke_counts(svc, old, 101, 0);
    uint32_t newcomer = add(svc, 2, 100, 0);
    /* It may have 10 for now, and is under half of that up to 4. */
    for (uint32_t active = 0; active < 20; active++) {
        request.dst.ipv4 = active;
        poke_counts(svc, newcomer, active, 0);
        ck_assert_int_eq(locus_schedule(svc, &request, 0, &pick), LOCUS_OK);
        ck_assert_uint_eq(pick.server, active < 5 ? newcomer : old);
        ck_assert_uint_eq((pick.why & LOCUS_WHY_SPILLED) != 0, active < 5);
    }
    locus_service_destroy(svc);
}
END_TEST

START_TEST(nq_takes_an_idle_newcomer_at_once)
{
    struct locus_service *svc = create(
        (struct slow){.scheduler = "nq", .window_ns = 100 * second_ns, .exponent = 8});
    struct locus_request request = {.dst.ipv4 = 1};
    struct locus_pick pick;
    uint32_t old = add_warm(svc, 1, 100);
    ck_assert_int_eq(locus_conn_bind(svc, old, LOCUS_ACTIVE), LOCUS_OK);
    uint32_t newcomer = add(svc, 2, 1, 0);
    ck_assert_int_eq(locus_connect(svc, &request, 0, LOCUS_ACTIVE, &pick), LOCUS_OK);
    ck_assert_uint_eq(pick.server, newcomer);
    ck_assert_int_eq(locus_connect(svc, &request, 0, LOCUS_ACTIVE, &pick), LOCUS_OK);
    ck_assert_uint_eq(pick.server, old);
    locus_service_destroy(svc);
}
END_TEST

/* twos draws by shares. */
START_TEST(twos_draws_a_newcomer_as_often_as_its_share_says)
{
    struct locus_service *svc = create((struct slow){
        .scheduler = "twos", .window_ns = 100 * second_ns, .floor_percent = 1});
    struct locus_request request = {.dst.ipv4 = 1};
    uint32_t picks[2] = {0, 0};
    add_warm(svc, 1, 50);
    add(svc, 2, 50, 0);
    for (uint32_t i = 0; i < 10000; i++) {
        struct locus_pick pick;
        MUST(locus_schedule(svc, &request, 0, &pick) == LOCUS_OK);
        picks[pick.server]++;
    }
    /* Without connections the first draw decides: a hundredth. */
    ck_assert_uint_gt(picks[1], 50);
    ck_assert_uint_lt(picks[1], 200);
    locus_service_destroy(svc);
}
END_TEST

/* Loads that are no shares, and a server's own bounds, stay what they are. */
START_TEST(what_does_not_go_by_shares_is_left_alone)
{
    static const char *const schedulers[] = {"rr",  "wrr", "lc", "fo",
                                             "ovf", "dh",  "sh", "mh"};
    for (size_t n = 0; n < sizeof(schedulers) / sizeof(schedulers[0]); n++) {
        struct locus_service *with = create(
            (struct slow){.scheduler = schedulers[n], .window_ns = 86400 * second_ns});
        struct locus_service *without =
            create((struct slow){.scheduler = schedulers[n]});
        for (uint32_t ip = 1; ip <= 5; ip++) {
            add(with, ip, ip, 0);
            add(without, ip, ip, 0);
        }
        for (uint32_t i = 0; i < 500; i++) {
            struct locus_request request = {.dst.ipv4 = i, .src.ipv4 = 7 * i};
            struct locus_pick pick, wanted;
            int status = locus_connect(with, &request, 0, LOCUS_ACTIVE, &pick);
            MUST(status == locus_connect(without, &request, 0, LOCUS_ACTIVE, &wanted));
            MUST(pick.server == wanted.server);
        }
        locus_service_destroy(with);
        locus_service_destroy(without);
    }
}
END_TEST

START_TEST(a_change_of_scheduler_finds_shares_as_far_as_they_have_come)
{
    struct locus_service *svc =
        create((struct slow){.scheduler = "rr", .window_ns = 10 * second_ns});
    struct locus_request request = {.dst.ipv4 = 1};
    struct locus_pick pick;
    add_warm(svc, 1, 10);
    uint32_t newcomer = add(svc, 2, 10, 0);
    pass(svc, 5 * second_ns);
    expect_near(share_of(svc, newcomer), 5.5 * 256, 10);
    ck_assert_int_eq(locus_service_set_scheduler(svc, "wlc", 0, 5 * second_ns),
                     LOCUS_OK);
    /* 10 and 6 connections: 1 and 6 / 5.5 for a weight of 10. */
    poke_counts(svc, 0, 10, 0);
    poke_counts(svc, newcomer, 6, 0);
    ck_assert_int_eq(locus_schedule(svc, &request, 5 * second_ns, &pick), LOCUS_OK);
    ck_assert_uint_eq(pick.server, 0);
    poke_counts(svc, newcomer, 5, 0);
    ck_assert_int_eq(locus_schedule(svc, &request, 5 * second_ns, &pick), LOCUS_OK);
    ck_assert_uint_eq(pick.server, newcomer);
    locus_service_destroy(svc);
}
END_TEST

/* A server that the threshold takes out of reach for a while grows meanwhile. */
START_TEST(an_overloaded_newcomer_grows_on)
{
    struct locus_service *svc = create((struct slow){.window_ns = 10 * second_ns});
    struct locus_server_config config = server_at(1, 100);
    uint32_t server;
    config.upper_threshold = 1;
    ck_assert_int_eq(locus_server_add(svc, &config, 0, &server), LOCUS_OK);
    ck_assert_int_eq(locus_conn_bind(svc, server, LOCUS_ACTIVE), LOCUS_OK);
    pass(svc, 5 * second_ns);
    expect_near(share_of(svc, server), 55 * 256, 100);
    ck_assert_int_eq(locus_conn_unbind(svc, server, LOCUS_ACTIVE), LOCUS_OK);
    expect_near(share_of(svc, server), 55 * 256, 100);
    locus_service_destroy(svc);
}
END_TEST

static void add_share_tests(TCase *tcase)
{
    tcase_add_test(tcase, it_is_off_under_every_rule_set);
    tcase_add_test(tcase, rules_outside_their_ranges_are_refused);
    tcase_add_loop_test(
        tcase, a_newcomer_grows_from_the_floor_to_its_weight_along_the_curve, 0, 8);
    tcase_add_test(tcase, a_share_is_never_nothing);
    tcase_add_test(tcase, of_a_raised_weight_only_the_increase_grows);
    tcase_add_test(tcase, a_lower_weight_counts_at_once_and_ends_what_it_cuts_off);
    tcase_add_test(tcase, the_same_weight_again_changes_nothing);
    tcase_add_test(tcase, a_quiesced_server_comes_back_slowly);
    tcase_add_test(tcase,
                   a_revived_server_starts_slowly_and_a_removed_one_counts_nothing);
    tcase_add_test(tcase, a_warm_server_counts_at_once);
}

static void add_time_tests(TCase *tcase)
{
    tcase_add_test(tcase, a_window_begins_with_the_first_tick_after_an_edit);
    tcase_add_test(tcase, a_clock_that_steps_back_or_far_ahead_harms_nothing);
    tcase_add_test(tcase, ticks_that_leave_32_bits_are_as_any_others);
    tcase_add_test(tcase, a_window_below_a_tick_is_one_tick);
    tcase_add_test(tcase, a_window_is_at_most_256_steps_and_their_times_are_told);
    tcase_add_test(tcase, a_tick_looks_at_no_more_servers_than_its_budget);
    tcase_add_test(tcase, the_server_that_a_slice_stopped_at_may_leave_or_be_warm);
}

static void add_pick_tests(TCase *tcase)
{
    tcase_add_loop_test(tcase, with_a_floor_of_100_percent_every_pick_is_as_without, 0,
                        5);
    tcase_add_loop_test(
        tcase,
        a_newcomers_connections_never_exceed_the_ramp_times_its_fair_share_and_one, 0,
        9);
    tcase_add_loop_test(tcase, a_join_neither_surges_the_old_nor_starves_anybody, 0, 5);
    tcase_add_test(tcase, without_it_a_newcomer_takes_all_until_it_is_on_par);
    tcase_add_loop_test(tcase, new_destinations_come_to_a_newcomer_little_by_little, 0,
                        2);
    tcase_add_loop_test(
        tcase, others_do_not_spill_to_a_newcomer_that_may_not_have_more_yet, 0, 2);
    tcase_add_test(tcase, nq_takes_an_idle_newcomer_at_once);
    tcase_add_test(tcase, twos_draws_a_newcomer_as_often_as_its_share_says);
    tcase_add_test(tcase, what_does_not_go_by_shares_is_left_alone);
    tcase_add_test(tcase, a_change_of_scheduler_finds_shares_as_far_as_they_have_come);
    tcase_add_test(tcase, an_overloaded_newcomer_grows_on);
}

int main(void)
{
    Suite *suite = suite_create("slow start");
    add_share_tests(suite_case(suite, "shares"));
    add_time_tests(suite_case(suite, "time"));
    add_pick_tests(suite_case(suite, "picks"));
    return suite_run(suite);
}
