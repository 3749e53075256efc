/* SPDX-License-Identifier: MIT */
/*
 * One policy's run: what counts when, what events do, and the whole against a plain replay
 * that looks through all connections at every arrival.
 */
#include "../suite.h"

#include <string.h>

#include "engine/engine.h"

#define SECOND ((uint64_t)1000000000)

static struct server_list servers;
static struct plan plan;
static struct arrival_batch batch;
static struct locus_rules rules;
static struct engine_config
    directed; /* what of it begin() takes: directors and decisions */

static void make_servers(uint32_t count, uint32_t weight)
{
    memset(&servers, 0, sizeof(servers));
    rules = *locus_rules_find("kernel");
    for (uint32_t i = 0; i < count; i++) {
        struct server_spec spec = {
            .address = {.family = LOCUS_IPV4,
                        .port = 80,
                        .key = {.ipv4 = 0x0a000001 + i}},
            .weight = weight,
        };
        ck_assert_int_eq(servers_add(&servers, &spec), 0);
    }
}

static void add_event(uint64_t at_ns, enum server_event_kind kind, uint32_t server,
                      uint32_t weight)
{
    struct server_event event = {
        .at_ns = at_ns, .kind = kind, .server = server, .weight = weight};

    ck_assert_int_eq(servers_add_event(&servers, &event), 0);
    servers_sort_events(&servers);
}

static struct engine *begin(const char *policy_text)
{
    static struct policy policy;
    struct engine *engine;
    struct engine_config config = {
        .policy = &policy,
        .rules = &rules,
        .family = LOCUS_IPV4,
        .servers = &servers,
        .tcpfin_ns = 120 * SECOND,
        .phases = true,
        .seed = 1,
        .director_by = directed.director_by,
        .stagger = directed.stagger,
        .herd = directed.herd,
        .decision = directed.decision,
        .decision_arg = directed.decision_arg,
    };

    ck_assert(policy_parse_directors(policy_text, strlen(policy_text), &policy));
    ck_assert_int_eq(engine_create(&config, &engine), 0);
    plan_init(&plan, 0, 300 * SECOND);
    return engine;
}

static struct arrival make_arrival(uint64_t start_ns, uint64_t duration_ns,
                                   uint32_t destination)
{
    return (struct arrival){
        .start_ns = start_ns,
        .duration_ns = duration_ns,
        .bytes = 10,
        .request = {.dst = {.ipv4 = 0xc0000200 + destination},
                    .src = {.ipv4 = 0x7f000001}},
        .destination = destination,
    };
}

static void run_batch(struct engine *engine, struct arrival *arrivals, size_t count)
{
    batch.arrivals = arrivals;
    batch.count = count;
    ck_assert_int_eq(plan_batch(&plan, &batch), 0);
    ck_assert_int_eq(engine_run(engine, &batch), 0);
}

static void arrive(struct engine *engine, struct arrival a)
{
    run_batch(engine, &a, 1);
}

static struct figures end(struct engine *engine)
{
    struct figures f;

    do {
        ck_assert_int_eq(plan_rest(&plan, &batch), 0);
        ck_assert_int_eq(engine_run(engine, &batch), 0);
    } while (batch.departure_count > 0);
    ck_assert_int_eq(engine_finish(engine), LOCUS_OK);
    recorder_figures(engine_recorder(engine), SIZE_MAX, &f);
    return f;
}

static void done(struct engine *engine)
{
    engine_destroy(engine);
    servers_free(&servers);
    plan_fini(&plan);
    free(batch.departures);
    memset(&batch, 0, sizeof(batch));
}

/* One server that takes one connection: who comes before the first is gone is refused. */
START_TEST(a_tcp_connection_counts_until_its_time_out_after_the_fin)
{
    make_servers(1, 5);
    servers.items[0].upper = 1;
    servers.items[0].lower = 1;
    struct engine *engine = begin("wlc");
    arrive(engine, make_arrival(0, 10 * SECOND, 0));
    arrive(engine, make_arrival(130 * SECOND - 1, 0, 1));
    arrive(engine, make_arrival(130 * SECOND, 0, 2));
    struct figures f = end(engine);
    ck_assert_uint_eq(f.connections, 2);
    ck_assert_uint_eq(f.refused, 1);
    ck_assert_uint_eq(f.destinations, 2);
    ck_assert_uint_eq(f.busy_ms, 10000);
    done(engine);
}
END_TEST

START_TEST(a_udp_flow_counts_until_its_time_out_after_the_last_packet)
{
    struct arrival a = make_arrival(0, 10 * SECOND, 0);

    make_servers(1, 5);
    servers.items[0].upper = 1;
    servers.items[0].lower = 1;
    struct engine *engine = begin("wlc");
    a.udp = true;
    arrive(engine, a);
    arrive(engine, make_arrival(310 * SECOND - 1, 0, 1));
    arrive(engine, make_arrival(310 * SECOND, 0, 2));
    struct figures f = end(engine);
    ck_assert_uint_eq(f.refused, 1);
    ck_assert_uint_eq(f.busy_ms, 310000);
    done(engine);
}
END_TEST

/* Equal times: the departure first, so that one server never has two. */
START_TEST(departures_come_before_arrivals_of_the_same_time)
{
    make_servers(2, 5);
    struct engine *engine = begin("wlc");
    for (uint64_t i = 0; i < 10; i++) {
        arrive(engine, make_arrival(i * SECOND, SECOND, (uint32_t)i));
    }
    struct figures f = end(engine);
    ck_assert_uint_eq(f.peak_active, 1);
    ck_assert_uint_eq(f.imbalance_mean_ppm, 2000000);
    ck_assert_uint_eq(f.busy_ms, 10000);
    done(engine);
}
END_TEST

START_TEST(events_take_effect_at_their_time)
{
    struct server_figures s[2];

    make_servers(2, 5);
    add_event(10 * SECOND, EVENT_WEIGHT, 0, 0);
    add_event(20 * SECOND, EVENT_WEIGHT, 0, 5);
    struct engine *engine = begin("rr");
    for (uint64_t i = 0; i < 30; i++) {
        arrive(engine, make_arrival(i * SECOND, 0, (uint32_t)i));
    }
    struct figures f = end(engine), phase;
    recorder_server_figures(engine_recorder(engine), SIZE_MAX, s);
    ck_assert_uint_eq(s[0].connections, 10);
    ck_assert_uint_eq(s[1].connections, 20);
    ck_assert_uint_eq(engine_recorder(engine)->phase_count, 3);
    recorder_figures(engine_recorder(engine), 1, &phase);
    ck_assert_uint_eq(phase.connections, 10);
    recorder_server_figures(engine_recorder(engine), 1, s);
    ck_assert_uint_eq(s[0].connections, 0);
    ck_assert_uint_eq(f.connections, 30);
    done(engine);
}
END_TEST

/* Of 22 connections at once to two servers of the same weight: 2 where a tenth counts. */
START_TEST(who_comes_meanwhile_starts_slowly_from_its_event_on)
{
    struct server_figures s[2];
    bool raised = _i == 0;

    make_servers(2, raised ? 0 : 10);
    servers.items[0].weight = 10;
    servers.items[1].later = !raised;
    add_event(3600 * SECOND, raised ? EVENT_WEIGHT : EVENT_ADD, 1, 10);
    rules.slow_start_ns = 100 * SECOND;
    struct engine *engine = begin("wlc");
    /* Nothing happens for an hour, so that the service hears of no time. */
    for (uint64_t i = 0; i < 22; i++) {
        arrive(engine, make_arrival(3600 * SECOND + i, 200 * SECOND, (uint32_t)i));
    }
    recorder_server_figures(engine_recorder(engine), SIZE_MAX, s);
    ck_assert_uint_eq(s[1].connections, 2);
    /* A tenth and nine tenths of a half: 55 % of what the other one has. */
    for (uint64_t i = 0; i < 9; i++) {
        arrive(engine, make_arrival(3650 * SECOND + i, 200 * SECOND, (uint32_t)i));
    }
    recorder_server_figures(engine_recorder(engine), SIZE_MAX, s);
    ck_assert_uint_eq(s[0].connections, 20);
    ck_assert_uint_eq(s[1].connections, 11);
    end(engine);
    done(engine);
}
END_TEST

START_TEST(who_serves_from_the_beginning_has_its_share)
{
    struct server_figures s[2];

    make_servers(2, 1);
    servers.items[1].weight = 2;
    rules.slow_start_ns = 3600 * SECOND;
    add_event(SECOND, EVENT_FAIL, 0, 0);
    add_event(2 * SECOND, EVENT_RESTORE, 0, 0);
    struct engine *engine = begin("wlc");
    for (uint32_t i = 0; i < 30; i++) {
        arrive(engine, make_arrival(i, 100 * SECOND, i));
    }
    recorder_server_figures(engine_recorder(engine), SIZE_MAX, s);
    ck_assert_uint_eq(s[0].connections, 10);
    ck_assert_uint_eq(s[1].connections, 20);
    /* Who failed and comes back has not: it is above a tenth of its share already. */
    for (uint32_t i = 0; i < 30; i++) {
        arrive(engine, make_arrival(3 * SECOND + i, 100 * SECOND, i));
    }
    recorder_server_figures(engine_recorder(engine), SIZE_MAX, s);
    ck_assert_uint_eq(s[0].connections, 10);
    end(engine);
    done(engine);
}
END_TEST

START_TEST(a_failed_server_comes_back_cold)
{
    make_servers(2, 5);
    add_event(10 * SECOND, EVENT_FAIL, 0, 0);
    add_event(20 * SECOND, EVENT_RESTORE, 0, 0);
    add_event(25 * SECOND, EVENT_FAIL, 1, 0);
    struct engine *engine = begin("wlc");
    arrive(engine, make_arrival(0, 0, 0));           /* to the newest, server 1 */
    arrive(engine, make_arrival(1, 5 * SECOND, 1));  /* server 0, which is idle */
    arrive(engine, make_arrival(12 * SECOND, 0, 1)); /* server 1: no move, 0 is away */
    arrive(engine, make_arrival(30 * SECOND, 0, 1)); /* server 0 again: not warm */
    struct figures f = end(engine);
    ck_assert_uint_eq(f.connections, 4);
    ck_assert_uint_eq(f.repeats, 2);
    ck_assert_uint_eq(f.warm_ppm, 0);
    ck_assert_uint_eq(f.moves, 0);
    done(engine);
}
END_TEST

START_TEST(a_server_that_comes_later_gets_nothing_before)
{
    struct server_figures s[2];

    make_servers(2, 5);
    servers.items[1].later = true;
    add_event(5 * SECOND, EVENT_ADD, 1, 5);
    struct engine *engine = begin("rr");
    for (uint64_t i = 0; i < 9; i++) {
        arrive(engine, make_arrival(i * SECOND, 0, (uint32_t)i));
    }
    end(engine);
    recorder_server_figures(engine_recorder(engine), SIZE_MAX, s);
    ck_assert_uint_eq(s[1].connections, 2);
    done(engine);
}
END_TEST

START_TEST(adding_who_is_in_service_changes_nothing)
{
    struct server_figures s[2];

    make_servers(2, 5);
    add_event(1 * SECOND, EVENT_ADD, 0, 0);
    add_event(2 * SECOND, EVENT_FAIL, 0, 0);
    add_event(3 * SECOND, EVENT_RESTORE, 0, 0); /* with the weight that it had */
    struct engine *engine = begin("rr");
    for (uint64_t i = 4; i < 8; i++) {
        arrive(engine, make_arrival(i * SECOND, 0, (uint32_t)i));
    }
    end(engine);
    recorder_server_figures(engine_recorder(engine), SIZE_MAX, s);
    ck_assert_uint_eq(s[0].connections, 2);
    done(engine);
}
END_TEST

/* Two connections are on the server that fails; who drains it first cuts none. */
START_TEST(connections_of_a_failed_server_are_cut)
{
    make_servers(2, 5);
    add_event(5 * SECOND, EVENT_FAIL, 0, 0);
    add_event(6 * SECOND, EVENT_RESTORE, 0, 0);
    add_event(7 * SECOND, EVENT_WEIGHT, 0, 0);
    add_event(20 * SECOND, EVENT_REMOVE, 0, 0);
    struct engine *engine = begin("rr");
    for (uint32_t i = 0; i < 4; i++) {
        arrive(engine, make_arrival(i * SECOND, 10 * SECOND, i));
    }
    arrive(engine, make_arrival(21 * SECOND, 0, 9));
    struct figures f = end(engine), phase;
    ck_assert_uint_eq(f.cut, 2);
    recorder_figures(engine_recorder(engine), 1, &phase);
    ck_assert_uint_eq(phase.cut, 2);
    recorder_figures(engine_recorder(engine), 4, &phase);
    ck_assert_uint_eq(phase.cut, 0);
    done(engine);
}
END_TEST

/* One of two servers was away and is back: rr never evens out who has the long connections,
 * wlc does with every new one. */
static void check_heals(const char *policy, uint64_t back, uint64_t other)
{
    struct server_figures s[2];

    make_servers(2, 50);
    add_event(1 * SECOND, EVENT_FAIL, 0, 0);
    add_event(10 * SECOND, EVENT_RESTORE, 0, 0);
    struct engine *engine = begin(policy);
    for (uint32_t i = 0; i < 10; i++) { /* while it is away */
        arrive(engine, make_arrival(2 * SECOND, 3600 * SECOND, i));
    }
    for (uint32_t i = 0; i < 10; i++) {
        arrive(engine, make_arrival(11 * SECOND, 3600 * SECOND, i));
    }
    recorder_server_figures(engine_recorder(engine), SIZE_MAX, s);
    ck_assert_uint_eq(s[0].connections, back);
    ck_assert_uint_eq(s[1].connections, other);
    done(engine);
}

START_TEST(wlc_heals_what_rr_leaves_uneven)
{
    check_heals("rr", 5, 15);
    check_heals("wlc", 10, 10);
}
END_TEST

START_TEST(a_threshold_changes_on_the_way)
{
    struct server_event event = {
        .at_ns = 5 * SECOND, .kind = EVENT_THRESHOLDS, .server = 0, .upper = 4};

    make_servers(1, 5);
    servers.items[0].upper = 2;
    ck_assert_int_eq(servers_add_event(&servers, &event), 0);
    struct engine *engine = begin("wlc");
    for (uint32_t i = 0; i < 4; i++) { /* two are taken */
        arrive(engine, make_arrival(i * SECOND, 100 * SECOND, i));
    }
    for (uint32_t i = 0; i < 4; i++) { /* two more */
        arrive(engine, make_arrival((6 + i) * SECOND, 100 * SECOND, i));
    }
    struct figures f = end(engine);
    ck_assert_uint_eq(f.connections, 4);
    ck_assert_uint_eq(f.refused, 4);
    done(engine);
}
END_TEST

START_TEST(a_scheduler_changes_on_the_way)
{
    struct server_event event = {
        .at_ns = SECOND, .kind = EVENT_SCHEDULER, .scheduler = "none"};

    make_servers(2, 5);
    ck_assert_int_eq(servers_add_event(&servers, &event), 0);
    struct engine *engine = begin("leastalloc");
    arrive(engine, make_arrival(0, 0, 0));
    arrive(engine, make_arrival(SECOND, 0, 0));
    ck_assert_uint_eq(end(engine).refused, 1);
    done(engine);
}
END_TEST

START_TEST(leastalloc_keeps_the_numbers_of_picks_equal)
{
    struct server_figures s[3];

    make_servers(3, 5);
    servers.items[2].weight = 0;
    struct engine *engine = begin("leastalloc");
    for (uint64_t i = 0; i < 10; i++) {
        arrive(engine, make_arrival(i, i % 2 == 0 ? 0 : 1000 * SECOND, 0));
    }
    end(engine);
    recorder_server_figures(engine_recorder(engine), SIZE_MAX, s);
    ck_assert_uint_eq(s[0].connections, 5);
    ck_assert_uint_eq(s[1].connections, 5);
    ck_assert_uint_eq(s[2].connections, 0);
    done(engine);
}
END_TEST

/* Which server the one arrival was given to, by the counts of before. */
static uint32_t given(struct engine *engine, uint64_t start_ns, uint64_t duration_ns)
{
    struct server_figures before[4], after[4];

    recorder_server_figures(engine_recorder(engine), SIZE_MAX, before);
    arrive(engine, make_arrival(start_ns, duration_ns, 0));
    recorder_server_figures(engine_recorder(engine), SIZE_MAX, after);
    for (uint32_t i = 0; i < servers.count; i++) {
        if (after[i].connections != before[i].connections) {
            return i;
        }
    }
    return LOCUS_NO_SERVER;
}

START_TEST(leastalloc_takes_the_server_added_last_among_equals)
{
    make_servers(3, 5);
    struct engine *engine = begin("leastalloc");
    ck_assert_uint_eq(given(engine, 0, 0), 2);
    ck_assert_uint_eq(given(engine, 0, 0), 1);
    ck_assert_uint_eq(given(engine, 0, 0), 0);
    ck_assert_uint_eq(given(engine, 0, 0), 2);
    done(engine);
}
END_TEST

START_TEST(leastalloc_gives_a_returning_server_its_turn_and_no_more)
{
    static const enum server_event_kind away[] = {EVENT_FAIL, EVENT_REMOVE,
                                                  EVENT_WEIGHT};
    enum server_event_kind kind = away[_i];

    make_servers(3, 5);
    add_event(1 * SECOND, kind, 1, 0);
    add_event(3 * SECOND, kind == EVENT_WEIGHT ? EVENT_WEIGHT : EVENT_RESTORE, 1, 5);
    struct engine *engine = begin("leastalloc");
    for (uint32_t i = 0; i < 20; i++) {
        ck_assert_uint_eq(given(engine, 2 * SECOND, 0), i % 2 == 0 ? 2 : 0);
    }
    ck_assert_uint_eq(given(engine, 4 * SECOND, 0), 2);
    ck_assert_uint_eq(given(engine, 4 * SECOND, 0), 1);
    ck_assert_uint_eq(given(engine, 4 * SECOND, 0), 0);
    ck_assert_uint_eq(given(engine, 4 * SECOND, 0), 2);
    done(engine);
}
END_TEST

START_TEST(leastalloc_leaves_a_full_server_until_there_is_room)
{
    make_servers(2, 5);
    servers.items[1].upper = 2;
    servers.items[1].lower = 2;
    struct engine *engine = begin("leastalloc");
    uint64_t gone_ns = 10 * SECOND + 120 * SECOND;
    ck_assert_uint_eq(given(engine, 0, 10 * SECOND), 1);
    ck_assert_uint_eq(given(engine, 0, 10 * SECOND), 0);
    ck_assert_uint_eq(given(engine, 0, 10 * SECOND), 1);
    for (int i = 0; i < 5; i++) {
        ck_assert_uint_eq(given(engine, gone_ns - 1, 0), 0);
    }
    ck_assert_uint_eq(given(engine, gone_ns, 0), 1);
    ck_assert_uint_eq(given(engine, gone_ns, 0), 0);
    ck_assert_uint_eq(given(engine, gone_ns, 0), 1);
    done(engine);
}
END_TEST

START_TEST(leastalloc_refuses_while_nobody_is_there)
{
    make_servers(1, 5);
    add_event(SECOND, EVENT_FAIL, 0, 0);
    add_event(2 * SECOND, EVENT_RESTORE, 0, 0);
    struct engine *engine = begin("leastalloc");
    ck_assert_uint_eq(given(engine, 0, 0), 0);
    ck_assert_uint_eq(given(engine, SECOND, 0), LOCUS_NO_SERVER);
    ck_assert_uint_eq(given(engine, 2 * SECOND, 0), 0);
    ck_assert_uint_eq(end(engine).refused, 1);
    done(engine);
}
END_TEST

START_TEST(connections_found_at_the_start_leave_in_the_end)
{
    make_servers(1, 5);
    servers.items[0].active = 3;
    servers.items[0].inactive = 2;
    servers.items[0].upper = 6;
    struct engine *engine = begin("wlc");
    arrive(engine, make_arrival(0, 0, 0)); /* the sixth: full */
    arrive(engine, make_arrival(1, 0, 0));
    arrive(engine, make_arrival(1000 * SECOND, 0, 0));
    struct figures f = end(engine);
    ck_assert_uint_eq(f.refused, 1);
    ck_assert_uint_eq(f.connections, 2);
    ck_assert_uint_eq(f.busy_ms, 900000);
    done(engine);
}
END_TEST

/* Those of the second server do not wait for those of the first. */
START_TEST(connections_found_inactive_leave_every_server_evenly)
{
    make_servers(2, 5);
    for (size_t i = 0; i < 2; i++) {
        servers.items[i].inactive = 4;
        servers.items[i].upper = servers.items[i].lower = 4;
    }
    struct engine *engine = begin("wlc");
    ck_assert_uint_ne(given(engine, 30 * SECOND, 0), LOCUS_NO_SERVER);
    ck_assert_uint_ne(given(engine, 31 * SECOND, 0), LOCUS_NO_SERVER);
    ck_assert_uint_eq(given(engine, 32 * SECOND, 0), LOCUS_NO_SERVER);
    ck_assert_uint_eq(end(engine).refused, 1);
    done(engine);
}
END_TEST

/* It has the fewest connections, always: wlc counts those that have ended one 256th. */
START_TEST(a_server_that_fails_fast_draws_connections_until_it_is_mended)
{
    static const struct {
        const char *policy;
        uint64_t least, most; /* of 60 */
    } cases[] = {{"wlc", 55, 59}, {"rr", 30, 30}, {"lblc", 40, 50}, {"wlc@2", 50, 59}};

    make_servers(2, 1);
    add_event(60 * SECOND, EVENT_BREAK, 1, 0);
    add_event(120 * SECOND, EVENT_MEND, 1, 0);
    struct engine *engine = begin(cases[_i].policy);
    for (uint64_t i = 0; i < 180; i++) {
        arrive(engine, make_arrival(i * SECOND, 30 * SECOND, (uint32_t)(i % 2)));
    }
    struct figures f = end(engine), phase;
    ck_assert_uint_eq(f.connections, 180);
    ck_assert_uint_ge(f.errors, cases[_i].least);
    ck_assert_uint_le(f.errors, cases[_i].most);
    recorder_figures(engine_recorder(engine), 1, &phase);
    ck_assert_uint_eq(phase.errors, f.errors);
    done(engine);
}
END_TEST

START_TEST(flows_of_a_broken_server_end_at_once)
{
    struct arrival a = make_arrival(0, 30 * SECOND, 0);

    make_servers(1, 1);
    add_event(SECOND, EVENT_BREAK, 0, 0);
    struct engine *engine = begin("wlc");
    a.udp = true;
    arrive(engine, a);
    a.start_ns = 2 * SECOND;
    arrive(engine, a);
    struct figures f = end(engine);
    ck_assert_uint_eq(f.errors, 1);
    ck_assert_uint_eq(f.busy_ms, 330000); /* the first flow */
    ck_assert_uint_eq(f.peak_active, 2);
    done(engine);
}
END_TEST

/* ---- against a plain replay ------------------------------------------------------ */

enum { ARRIVALS = 3000, SERVERS = 5, DESTINATIONS = 40 };

static struct arrival arrivals[ARRIVALS];

static void make_trace(uint64_t seed)
{
    uint64_t now = 0;

    for (size_t i = 0; i < ARRIVALS; i++) {
        /* Bursts, and now and then a gap in which everything expires. */
        uint64_t gap = next_random(&seed) % 500 == 0 ? 100000 : next_random(&seed) % 3;
        now += gap * SECOND / 4;
        uint32_t destination =
            (uint32_t)((next_random(&seed) % DESTINATIONS) * (next_random(&seed) % 2));
        arrivals[i] =
            make_arrival(now, next_random(&seed) % (20 * SECOND), destination);
    }
}

/* Every connection in an array; at each arrival those that are due are taken in order. */
static void replay_plainly(const char *scheduler, uint64_t picks[SERVERS])
{
    static uint64_t fin[ARRIVALS], gone[ARRIVALS];
    static uint32_t handle[ARRIVALS];
    struct locus_service_config config = {.scheduler = scheduler, .family = LOCUS_IPV4};
    struct locus_service *svc;
    struct locus_server_info info;
    struct locus_pick pick;

    ck_assert_int_eq(locus_service_create(&config, &svc), 0);
    for (uint32_t i = 0; i < SERVERS; i++) {
        struct locus_server_config server = {.address = servers.items[i].address,
                                             .weight = servers.items[i].weight,
                                             .tag = i};
        uint32_t ignored;
        ck_assert_int_eq(locus_server_add(svc, &server, 0, &ignored), 0);
    }
    for (size_t i = 0; i < ARRIVALS; i++) {
        uint64_t now = arrivals[i].start_ns;
        while (locus_tick_due(svc) <= now) {
            locus_tick(svc, locus_tick_due(svc), SIZE_MAX);
        }
        for (size_t k = 0; k < i; k++) {
            int status = 0;
            if (fin[k] <= now) {
                status = locus_conn_move(svc, handle[k], LOCUS_ACTIVE, LOCUS_INACTIVE);
                gone[k] = fin[k] + 120 * SECOND;
                fin[k] = UINT64_MAX;
            }
            if (gone[k] <= now) {
                status |= locus_conn_unbind(svc, handle[k], LOCUS_INACTIVE);
                gone[k] = UINT64_MAX;
            }
            if (status != 0) {
                ck_abort();
            }
        }
        ck_assert_int_eq(
            locus_connect(svc, &arrivals[i].request, now, LOCUS_ACTIVE, &pick), 0);
        handle[i] = pick.server;
        fin[i] = now + arrivals[i].duration_ns;
        gone[i] = UINT64_MAX;
        ck_assert_int_eq(locus_server_get(svc, pick.server, &info), 0);
        picks[info.tag]++;
    }
    locus_service_destroy(svc);
}

START_TEST(the_engine_agrees_with_a_plain_replay)
{
    static const char *const names[] = {"wlc", "lblc", "lblcr", "sed", "rr", "dh"};
    struct server_figures s[SERVERS];

    for (uint64_t seed = 1; seed <= 3; seed++) {
        uint64_t picks[SERVERS] = {0};
        make_servers(SERVERS, 4);
        servers.items[2].weight = 9;
        make_trace(seed);
        replay_plainly(names[_i], picks);
        struct engine *engine = begin(names[_i]);
        /* In pieces of any size. */
        for (size_t at = 0, n = 1; at < ARRIVALS; at += n) {
            n = next_random(&seed) % 50;
            n = n < ARRIVALS - at ? n : ARRIVALS - at;
            run_batch(engine, arrivals + at, n);
        }
        end(engine);
        recorder_server_figures(engine_recorder(engine), SIZE_MAX, s);
        for (uint32_t i = 0; i < SERVERS; i++) {
            ck_assert_uint_eq(s[i].connections, picks[i]);
        }
        done(engine);
    }
}
END_TEST

/* ---- directors ------------------------------------------------------------------- */

enum { CLIENTS = 3, ROOM = 4000 };

static uint32_t decided[ROOM];
static size_t decided_count;

static void note_decision(void *arg, const struct arrival *arrival, uint32_t server,
                          const struct locus_pick *pick, bool cache_hit)
{
    (void)arg;
    (void)arrival;
    (void)pick;
    (void)cache_hit;
    decided[decided_count++] = server;
}

/* Servers that come, fill up, fail and come back. */
static void make_restless_servers(void)
{
    make_servers(SERVERS, 4);
    servers.items[1].upper = 6;
    servers.items[1].lower = 4;
    add_event(300 * SECOND, EVENT_FAIL, 0, 0);
    add_event(400 * SECOND, EVENT_WEIGHT, 2, 1);
    add_event(500 * SECOND, EVENT_RESTORE, 0, 0);
    add_event(600 * SECOND, EVENT_FAIL, 1, 0);
}

/* The decisions of a run over those arrivals, of that client or (CLIENTS) of all. */
static size_t decide(const char *policy, uint32_t client, uint32_t *servers_of)
{
    static struct arrival own[ARRIVALS];
    size_t count = 0;

    make_restless_servers();
    decided_count = 0;
    struct engine *engine = begin(policy);
    for (size_t i = 0; i < ARRIVALS; i++) {
        if (client == CLIENTS || arrivals[i].request.src.ipv4 == client) {
            own[count++] = arrivals[i];
        }
    }
    run_batch(engine, own, count);
    struct figures f = end(engine);
    ck_assert_uint_eq(f.connections + f.refused, count);
    for (uint32_t i = 0; i < SERVERS; i++) {
        ck_assert_uint_eq(engine_recorder(engine)->servers[i].active, 0);
    }
    done(engine);
    memcpy(servers_of, decided, count * sizeof(*decided));
    return count;
}

START_TEST(a_director_picks_as_if_it_were_alone)
{
    static const char *const names[][2] = {
        {"wlc@256", "wlc"}, {"lblc@256", "lblc"}, {"lblcr@256", "lblcr"},
        {"sed@256", "sed"}, {"rr@256", "rr"},     {"wrr@256", "wrr"},
        {"dh@256", "dh"},   {"mh@256", "mh"},     {"chbl@256", "chbl"}};
    static uint32_t together[ARRIVALS], alone[CLIENTS][ARRIVALS];
    size_t at[CLIENTS] = {0};

    directed =
        (struct engine_config){.director_by = BY_CLIENT, .decision = note_decision};
    make_trace(7);
    for (size_t i = 0; i < ARRIVALS; i++) {
        arrivals[i].request.src.ipv4 = (uint32_t)(i * i / 5 % CLIENTS);
    }
    ck_assert_uint_eq(decide(names[_i][0], CLIENTS, together), ARRIVALS);
    for (uint32_t c = 0; c < CLIENTS; c++) {
        decide(names[_i][1], c, alone[c]);
    }
    for (size_t i = 0; i < ARRIVALS; i++) {
        uint32_t c = arrivals[i].request.src.ipv4;
        MUST(together[i] == alone[c][at[c]++]);
    }
}
END_TEST

/* The most that one server got of the first connections of 60 clients. */
static uint64_t most_of_the_first(const char *policy, bool stagger, struct figures *f)
{
    struct server_figures s[8];
    uint64_t most = 0;

    directed = (struct engine_config){
        .director_by = BY_CLIENT, .stagger = stagger, .herd = true};
    make_servers(8, 4);
    struct engine *engine = begin(policy);
    for (uint32_t client = 0; client < 60; client++) {
        struct arrival a = make_arrival(0, SECOND, client);
        a.request.src.ipv4 = client;
        arrive(engine, a);
    }
    *f = end(engine);
    recorder_server_figures(engine_recorder(engine), SIZE_MAX, s);
    for (size_t i = 0; i < 8; i++) {
        most = s[i].connections > most ? s[i].connections : most;
    }
    done(engine);
    return most;
}

START_TEST(directors_that_begin_alike_herd_and_staggered_ones_do_not)
{
    static const char *const names[][2] = {{"wlc@256", "wlc"}, {"rr@256", "rr"}};
    struct figures f;

    ck_assert_uint_eq(most_of_the_first(names[_i][1], false, &f), 8);
    ck_assert_uint_eq(f.excess, 1);
    ck_assert_uint_ge(most_of_the_first(names[_i][0], false, &f), 45);
    ck_assert_uint_ge(f.excess, 35);
    ck_assert_uint_ge(f.herd_ppm, 5000000);
    ck_assert_uint_le(most_of_the_first(names[_i][0], true, &f), 16);
    ck_assert_uint_le(f.excess, 9);
}
END_TEST

START_TEST(policies_with_directors_are_read_strictly)
{
    static const char *const bad[] = {
        "wlc@",    "wlc@0",        "wlc@1",  "wlc@257",     "wlc@8x",   "@8",
        "wlc@8@8", "leastalloc@8", "wlc@-8", "chbl@8:1.25", "mh@8:port"};
    static const struct {
        const char *text;
        uint32_t directors;
    } good[] = {{"wlc", 0}, {"wlc@2", 2}, {"mh:port@256", 256}, {"chbl:1.25@8", 8}};
    struct policy policy;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ck_assert_msg(!policy_parse_directors(bad[i], strlen(bad[i]), &policy), "%s",
                      bad[i]);
    }
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        const char *text = good[i].text;
        ck_assert_msg(policy_parse_directors(text, strlen(text), &policy), "%s", text);
        ck_assert_str_eq(policy.text, text);
        ck_assert_uint_eq(policy.directors, good[i].directors);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("engine");
    TCase *tcase = suite_case(suite, "engine");

    tcase_add_test(tcase, a_tcp_connection_counts_until_its_time_out_after_the_fin);
    tcase_add_test(tcase, a_udp_flow_counts_until_its_time_out_after_the_last_packet);
    tcase_add_test(tcase, departures_come_before_arrivals_of_the_same_time);
    tcase_add_test(tcase, events_take_effect_at_their_time);
    tcase_add_loop_test(tcase, who_comes_meanwhile_starts_slowly_from_its_event_on, 0,
                        2);
    tcase_add_test(tcase, who_serves_from_the_beginning_has_its_share);
    tcase_add_test(tcase, a_failed_server_comes_back_cold);
    tcase_add_test(tcase, a_server_that_comes_later_gets_nothing_before);
    tcase_add_test(tcase, adding_who_is_in_service_changes_nothing);
    tcase_add_test(tcase, connections_of_a_failed_server_are_cut);
    tcase_add_test(tcase, wlc_heals_what_rr_leaves_uneven);
    tcase_add_test(tcase, a_threshold_changes_on_the_way);
    tcase_add_test(tcase, a_scheduler_changes_on_the_way);
    tcase_add_test(tcase, leastalloc_keeps_the_numbers_of_picks_equal);
    tcase_add_test(tcase, leastalloc_takes_the_server_added_last_among_equals);
    tcase_add_loop_test(tcase, leastalloc_gives_a_returning_server_its_turn_and_no_more,
                        0, 3);
    tcase_add_test(tcase, leastalloc_leaves_a_full_server_until_there_is_room);
    tcase_add_test(tcase, leastalloc_refuses_while_nobody_is_there);
    tcase_add_test(tcase, connections_found_at_the_start_leave_in_the_end);
    tcase_add_loop_test(
        tcase, a_server_that_fails_fast_draws_connections_until_it_is_mended, 0, 4);
    tcase_add_test(tcase, flows_of_a_broken_server_end_at_once);
    tcase_add_test(tcase, connections_found_inactive_leave_every_server_evenly);
    tcase_add_loop_test(tcase, the_engine_agrees_with_a_plain_replay, 0, 6);
    tcase_add_loop_test(tcase, a_director_picks_as_if_it_were_alone, 0, 9);
    tcase_add_loop_test(
        tcase, directors_that_begin_alike_herd_and_staggered_ones_do_not, 0, 2);
    tcase_add_test(tcase, policies_with_directors_are_read_strictly);
    return suite_run(suite);
}
