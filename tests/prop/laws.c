/* SPDX-License-Identifier: MIT */
/*
 * Laws that hold whatever the rules in detail are: two services that differ in one respect
 * which must not matter hear the same random events and have to answer alike. No model is
 * involved.
 */
#include <stdio.h>
#include <string.h>

#include <locus/locus.h>

#include "../support/random.h"
#include "../support/snapshot.h"
#include "../support/suite.h"
#include "stream.h"

enum { ADDRESSES = 90, CONNS_MAX = 1 << 16, HZ = 250, TICK_NS = 4000000 };

/* What may differ between two worlds. */
struct world_config {
    const char *scheduler;
    const char *rules;
    uint64_t seed;
    uint64_t start_ns;
    uint32_t expected_entries, map_load_percent;
    uint32_t scale;  /* of weights; 0: 1 */
    uint32_t rename; /* xor of destinations */
    size_t budget;   /* of ticks; 0: no bound */
    bool one_by_one; /* batches are taken apart */
};

struct world {
    struct world_config config;
    struct locus_service *svc;
    uint64_t now_ns;
    uint32_t handles[ADDRESSES];
    struct {
        uint32_t server;
        enum locus_conn_state state;
    } conns[CONNS_MAX];
    uint32_t conn_count;
};

static const struct profile profile = {
    .addresses = ADDRESSES,
    .destinations = 500,
    .threshold_percent = 20,
    .mix = {[OP_CONNECT] = 50,
            [OP_BATCH] = 5,
            [OP_MOVE] = 15,
            [OP_CLOSE] = 40,
            [OP_ADD] = 8,
            [OP_EDIT] = 2,
            [OP_WEIGHT] = 4,
            [OP_REMOVE] = 3,
            [OP_TIME] = 10,
            [OP_SCHED] = 0,
            [OP_EXPIRE] = 1},
};

static struct world *world_create(const struct world_config *config)
{
    struct world *w = calloc(1, sizeof(*w));
    ck_assert_ptr_nonnull(w);
    w->config = *config;
    w->now_ns = config->start_ns;
    for (int i = 0; i < ADDRESSES; i++) {
        w->handles[i] = LOCUS_NO_SERVER;
    }
    struct locus_service_config service = {
        .scheduler = config->scheduler,
        .rules = locus_rules_find(config->rules),
        .seed = config->seed,
        .now_ns = config->start_ns,
        .tick_ns = TICK_NS,
        .expected_entries = config->expected_entries,
        .map_load_percent = config->map_load_percent,
    };
    MUST(locus_service_create(&service, &w->svc) == LOCUS_OK);
    return w;
}

static void world_destroy(struct world *w)
{
    locus_service_destroy(w->svc);
    free(w);
}

static uint32_t scale(const struct world *w)
{
    return w->config.scale ? w->config.scale : 1;
}

/* The tag of a server says who it is in every world. */
static uint64_t name_of(const struct world *w, uint32_t server)
{
    struct locus_server_info info;
    if (locus_server_get(w->svc, server, &info) != LOCUS_OK) {
        return UINT64_MAX;
    }
    return info.tag;
}

static void remember(struct world *w, uint32_t server, enum locus_conn_state state)
{
    if (w->conn_count == CONNS_MAX) {
        MUST(locus_conn_unbind(w->svc, server, state) == LOCUS_OK);
        return;
    }
    w->conns[w->conn_count].server = server;
    w->conns[w->conn_count++].state = state;
}

static struct locus_request request_for(const struct world *w, uint32_t dst,
                                        uint32_t src, uint32_t port)
{
    struct locus_request request = {.src_port = (uint16_t)port};
    request.dst.ipv4 = (dst % profile.destinations + 0x0a010000) ^ w->config.rename;
    request.src.ipv4 = src + 0xac100000;
    return request;
}

/* A newcomer's lower threshold is above its upper one at times: refused everywhere. */
static void world_add(struct world *w, const struct op *op)
{
    struct locus_server_config config = {
        .weight = op->b % 1000 * scale(w),
        .upper_threshold = op->c,
        .lower_threshold = (uint32_t)op->n,
        .tag = op->a,
    };
    config.address.family = LOCUS_IPV4;
    config.address.port = 80;
    config.address.key.ipv4 = 0x0a000000 + op->a;
    uint32_t handle = LOCUS_NO_SERVER;
    if (locus_server_add(w->svc, &config, w->now_ns, &handle) == LOCUS_OK) {
        w->handles[op->a] = handle;
    }
}

/* The index-th server in service. */
static uint32_t world_server(const struct world *w, uint32_t index)
{
    struct locus_service_stats stats;
    locus_service_get_stats(w->svc, &stats);
    uint32_t server = locus_server_next(w->svc, LOCUS_NO_SERVER);
    for (uint32_t i = stats.servers ? index % stats.servers : 0; i > 0; i--) {
        server = locus_server_next(w->svc, server);
    }
    return server;
}

static void world_edit(struct world *w, const struct op *op)
{
    struct locus_server_config config = {
        .weight = op->b % 1000 * scale(w),
        .upper_threshold = op->c,
        .lower_threshold = (uint32_t)op->n,
    };
    (void)!locus_server_edit(w->svc, world_server(w, op->a), &config);
}

static uint64_t world_connect(struct world *w, const struct op *op)
{
    struct locus_request request = request_for(w, op->a, op->b, op->c);
    struct locus_pick pick;
    enum locus_conn_state state =
        op->small & OP_CONNECT_ACTIVE ? LOCUS_ACTIVE : LOCUS_INACTIVE;
    if (locus_connect(w->svc, &request, w->now_ns, state, &pick) != LOCUS_OK) {
        return UINT64_MAX;
    }
    remember(w, pick.server, state);
    return name_of(w, pick.server);
}

static uint64_t world_batch(struct world *w, const struct op *op)
{
    struct locus_request requests[64];
    uint32_t servers[64];
    uint32_t count = op->c % 64 + 1;
    uint64_t names = 0;
    for (uint32_t i = 0; i < count; i++) {
        requests[i] = request_for(w, op->a + i * 3, op->b, i);
        if (w->config.one_by_one) {
            struct locus_pick pick;
            (void)!locus_connect(w->svc, &requests[i], w->now_ns, LOCUS_ACTIVE, &pick);
            servers[i] = pick.server;
        }
    }
    if (!w->config.one_by_one) {
        locus_connect_batch(w->svc, requests, count, w->now_ns, LOCUS_ACTIVE, servers);
    }
    for (uint32_t i = 0; i < count; i++) {
        names = names * 31 + name_of(w, servers[i]);
        if (servers[i] != LOCUS_NO_SERVER) {
            remember(w, servers[i], LOCUS_ACTIVE);
        }
    }
    return names;
}

static void world_tick(struct world *w)
{
    if (w->config.budget == 0) {
        MUST(locus_tick(w->svc, w->now_ns, SIZE_MAX));
        return;
    }
    while (!locus_tick(w->svc, w->now_ns, w->config.budget)) {
    }
}

static void world_time(struct world *w, const struct op *op)
{
    uint64_t until_ns = w->now_ns + (uint64_t)op->n * TICK_NS;
    while (locus_tick_due(w->svc) <= until_ns) {
        w->now_ns = locus_tick_due(w->svc);
        world_tick(w);
    }
    w->now_ns = until_ns;
    world_tick(w);
}

static void world_move(struct world *w, const struct op *op)
{
    if (w->conn_count == 0) {
        return;
    }
    uint32_t at = op->a % w->conn_count;
    enum locus_conn_state to = op->small & 1 ? LOCUS_ACTIVE : LOCUS_INACTIVE;
    MUST(locus_conn_move(w->svc, w->conns[at].server, w->conns[at].state, to) ==
         LOCUS_OK);
    w->conns[at].state = to;
}

static void world_close(struct world *w, const struct op *op)
{
    if (w->conn_count == 0) {
        return;
    }
    uint32_t at = op->a % w->conn_count;
    MUST(locus_conn_unbind(w->svc, w->conns[at].server, w->conns[at].state) ==
         LOCUS_OK);
    w->conns[at] = w->conns[--w->conn_count];
}

/* What the event had to say: names of servers, or 0. */
static uint64_t world_apply(struct world *w, const struct op *op)
{
    switch ((int)op->kind) {
    case OP_CONNECT:
        return world_connect(w, op);
    case OP_BATCH:
        return world_batch(w, op);
    case OP_MOVE:
        world_move(w, op);
        break;
    case OP_CLOSE:
        world_close(w, op);
        break;
    case OP_ADD:
        world_add(w, op);
        break;
    case OP_EDIT:
        world_edit(w, op);
        break;
    case OP_WEIGHT:
        (void)!locus_server_set_weight(w->svc, world_server(w, op->a),
                                       op->b % 1000 * scale(w));
        break;
    case OP_REMOVE:
        (void)!locus_server_remove(w->svc, world_server(w, op->a), w->now_ns);
        break;
    case OP_TIME:
        world_time(w, op);
        break;
    case OP_EXPIRE:
        locus_service_set_expiration(w->svc, op->n * TICK_NS);
        break;
    default:
        break;
    }
    return 0;
}

static const char *const rule_names[] = {"kernel", "kernel-classic", "article",
                                         "locus"};
enum { RULE_NAMES = sizeof(rule_names) / sizeof(rule_names[0]) };

/* Both hear 6,000 events; state: they must end up in the same state, too. */
static void expect_alike(struct world_config *a, struct world_config *b, uint64_t seed,
                         bool state)
{
    for (size_t i = 0; i < RULE_NAMES; i++) {
        a->rules = b->rules = rule_names[i];
        struct world *one = world_create(a);
        struct world *other = world_create(b);
        uint64_t random = seed * 977 + i;
        for (int step = 0; step < 6000; step++) {
            struct op op = stream_op(&random, &profile, MODEL_WLC, HZ);
            uint64_t said = world_apply(one, &op);
            uint64_t answered = world_apply(other, &op);
            if (said != answered) {
                ck_abort_msg("%s, %s, seed %u: event %d differs", a->scheduler,
                             a->rules, (unsigned)seed, step + 1);
            }
        }
        if (state) {
            char *left = snapshot(one->svc, LOCUS_IPV4);
            char *right = snapshot(other->svc, LOCUS_IPV4);
            ck_assert_msg(strcmp(left, right) == 0, "%s, %s, seed %u: states differ",
                          a->scheduler, a->rules, (unsigned)seed);
            free(left);
            free(right);
        }
        world_destroy(one);
        world_destroy(other);
    }
}

static const char *scheduler_at(int index)
{
    return locus_scheduler_name((size_t)index, NULL);
}

enum { SCHEDULERS = 17 };

START_TEST(size_and_seed_of_the_map_change_no_decision)
{
    struct world_config a = {.scheduler = scheduler_at(_i)};
    struct world_config b = a;
    b.expected_entries = 100000;
    b.map_load_percent = 20;
    /* twos and p2c throw their dice with the seed. */
    bool dice = strcmp(a.scheduler, "twos") == 0 || strcmp(a.scheduler, "p2c") == 0;
    b.seed = dice ? 0 : UINT64_C(0x123456789abcdef);
    expect_alike(&a, &b, 1, true);
    a.map_load_percent = 85;
    expect_alike(&a, &b, 2, true);
}
END_TEST

START_TEST(ticks_in_slices_of_one_do_what_a_whole_tick_does)
{
    struct world_config a = {.scheduler = scheduler_at(_i)};
    struct world_config b = a;
    b.budget = 1;
    expect_alike(&a, &b, 3, true);
    b.budget = 97;
    expect_alike(&a, &b, 4, true);
}
END_TEST

START_TEST(a_batch_decides_as_its_connections_one_by_one)
{
    struct world_config a = {.scheduler = scheduler_at(_i)};
    struct world_config b = a;
    b.one_by_one = true;
    expect_alike(&a, &b, 5, true);
}
END_TEST

START_TEST(the_origin_of_the_clock_changes_no_decision)
{
    struct world_config a = {.scheduler = scheduler_at(_i), .start_ns = TICK_NS};
    struct world_config b = a;
    /* The 32 bits of the ticks end in the middle of the stream. */
    b.start_ns = ((UINT64_C(1) << 32) - 400000) * TICK_NS;
    expect_alike(&a, &b, 6, false);
    b.start_ns = UINT64_C(0x7000000000000000) / TICK_NS * TICK_NS;
    expect_alike(&a, &b, 7, false);
}
END_TEST

START_TEST(scaling_all_weights_changes_no_pick_by_load)
{
    static const char *const schedulers[] = {"wlc", "sed", "nq", "fo", "lc", "chbl"};
    struct world_config a = {.scheduler = schedulers[_i]};
    struct world_config b = a;
    b.scale = 1000;
    expect_alike(&a, &b, 8, false);
    b.scale = 2149000;
    expect_alike(&a, &b, 9, false);
}
END_TEST

START_TEST(renaming_destinations_changes_no_pick_of_a_map_scheduler)
{
    static const char *const schedulers[] = {"lblc", "lblcr"};
    struct world_config a = {.scheduler = schedulers[_i]};
    struct world_config b = a;
    b.rename = 0x5a5a5a5a;
    expect_alike(&a, &b, 10, false);
}
END_TEST

/* A kernel's lblc stays with a server at its threshold; nobody else does, and it under no other
 * rules. */
static void expect_available(const struct world *w, uint32_t server, uint32_t why)
{
    struct locus_server_info before;
    MUST(locus_server_get(w->svc, server, &before) == LOCUS_OK);
    MUST(before.in_service);
    MUST(before.weight > 0);
    bool sticky = strcmp(w->config.scheduler, "lblc") == 0 &&
                  !locus_rules_find(w->config.rules)->lblc_checks_threshold &&
                  (why & LOCUS_WHY_HIT);
    MUST(!before.overloaded || sticky);
}

START_TEST(quiesced_removed_and_overloaded_servers_get_nothing_new)
{
    for (size_t i = 0; i < RULE_NAMES; i++) {
        struct world_config config = {.scheduler = scheduler_at(_i),
                                      .rules = rule_names[i]};
        struct world *w = world_create(&config);
        uint64_t random = 11 + i;
        for (int step = 0; step < 20000; step++) {
            struct op op = stream_op(&random, &profile, MODEL_WLC, HZ);
            struct locus_request request = request_for(w, op.a, op.b, op.c);
            struct locus_pick pick;
            if (op.kind == OP_CONNECT &&
                locus_schedule(w->svc, &request, w->now_ns, &pick) == LOCUS_OK) {
                expect_available(w, pick.server, pick.why);
            }
            world_apply(w, &op);
        }
        world_destroy(w);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("laws");
    TCase *tcase = suite_case(suite, "laws");
    tcase_add_loop_test(tcase, size_and_seed_of_the_map_change_no_decision, 0,
                        SCHEDULERS);
    tcase_add_loop_test(tcase, ticks_in_slices_of_one_do_what_a_whole_tick_does, 0,
                        SCHEDULERS);
    tcase_add_loop_test(tcase, a_batch_decides_as_its_connections_one_by_one, 0,
                        SCHEDULERS);
    tcase_add_loop_test(tcase, the_origin_of_the_clock_changes_no_decision, 0,
                        SCHEDULERS);
    tcase_add_loop_test(tcase, scaling_all_weights_changes_no_pick_by_load, 0, 6);
    tcase_add_loop_test(tcase, renaming_destinations_changes_no_pick_of_a_map_scheduler,
                        0, 2);
    tcase_add_loop_test(tcase, quiesced_removed_and_overloaded_servers_get_nothing_new,
                        0, SCHEDULERS);
    return suite_run(suite);
}
