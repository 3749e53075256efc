/* SPDX-License-Identifier: MIT */
/*
 * The n-th allocation fails, for every n, alone or with all that follow. Calls say so and
 * have changed nothing, picks go on, and at the end every byte is back.
 */
#include <stdio.h>
#include <string.h>

#include <locus/locus.h>

#include "../support/snapshot.h"
#include "../support/suite.h"
#include "../support/testalloc.h"

static const uint64_t second_ns = 1000000000;

enum { CALLS_MAX = 512 };

struct sweep {
    struct testalloc memory;
    uint64_t *ends; /* by call: allocations up to its end in a life without failures */
    size_t call;
    struct locus_service *svc;
    enum locus_family family;
    const char *scheduler;
    bool evict;
    uint64_t now_ns;
    char *before; /* the state before the call in hand */
};

/* Looking takes memory too; it must neither fail nor count. */
static char *look(struct sweep *s)
{
    struct testalloc kept = s->memory;
    s->memory.fail_at = 0;
    char *text = snapshot(s->svc, s->family);
    s->memory.fail_at = kept.fail_at;
    s->memory.calls = kept.calls;
    return text;
}

/* Until the first failure each life is like the one before: it is known which call will
 * fail, and only its state need be looked at beforehand. */
static void begin_call(struct sweep *s)
{
    bool dry = s->memory.fail_at == 0;
    bool next_to_fail = s->memory.failed == 0 && s->memory.fail_at <= s->ends[s->call];
    s->before = !dry && next_to_fail ? look(s) : NULL;
}

/* True: the call was done; false: there was no memory, and nothing has changed. */
static bool end_call(struct sweep *s, int status)
{
    MUST(status == LOCUS_OK || status == LOCUS_ENOMEM);
    MUST(status == LOCUS_OK || s->memory.failed > 0);
    if (s->memory.fail_at == 0) {
        s->ends[s->call] = s->memory.calls;
    }
    if (status != LOCUS_OK && s->before) {
        char *after = look(s);
        ck_assert_str_eq(s->before, after);
        free(after);
    }
    free(s->before);
    s->call++;
    MUST(s->call < CALLS_MAX);
    return status == LOCUS_OK;
}

static bool create(struct sweep *s, uint32_t expected_entries)
{
    struct locus_allocator hooks = testalloc_hooks(&s->memory);
    struct locus_rules rules = *locus_rules_find(NULL);
    struct locus_service_config config = {
        .scheduler = s->scheduler,
        .family = s->family,
        .rules = &rules,
        .max_entries = s->evict ? 300 : 0,
        .allocator = &hooks,
        .expected_entries = expected_entries,
    };
    rules.evict = s->evict;
    int status = locus_service_create(&config, &s->svc);
    if (status != LOCUS_OK) {
        MUST(status == LOCUS_ENOMEM);
        MUST(s->memory.live_bytes == 0);
        MUST(s->memory.live_blocks == 0);
    }
    return status == LOCUS_OK;
}

static uint32_t add(struct sweep *s, uint32_t ip)
{
    struct locus_server_config config = {.weight = 1 + ip % 3, .tag = ip};
    uint32_t server = LOCUS_NO_SERVER;
    config.address.family = LOCUS_IPV4;
    config.address.port = 80;
    config.address.key.ipv4 = ip;
    begin_call(s);
    bool done = end_call(s, locus_server_add(s->svc, &config, s->now_ns, &server));
    MUST(done == (server != LOCUS_NO_SERVER));
    MUST(locus_server_find(s->svc, &config.address) == server);
    return server;
}

static void connect_one(struct sweep *s, uint32_t dst)
{
    struct locus_request request;
    struct locus_pick pick;
    struct locus_service_stats before;
    struct locus_service_stats after;
    memset(&request, 0, sizeof(request));
    request.dst.ipv4 = dst;
    request.src.ipv4 = dst;
    locus_service_get_stats(s->svc, &before);
    uint64_t failed = s->memory.failed;
    int status = locus_connect(s->svc, &request, s->now_ns, LOCUS_ACTIVE, &pick);
    MUST(status == LOCUS_OK || status == LOCUS_ENOSERVER);
    MUST(status == LOCUS_OK || before.servers == 0 ||
         strcmp(s->scheduler, "none") == 0 || strcmp(s->scheduler, "ovf") == 0 ||
         strlen(s->scheduler) == 2);
    locus_service_get_stats(s->svc, &after);
    if (pick.why & LOCUS_WHY_FORGOTTEN) {
        MUST(s->memory.failed > failed);
        MUST(after.forgotten == before.forgotten + 1);
    }
}

static void batch(struct sweep *s, uint32_t dst)
{
    struct locus_request requests[32];
    uint32_t servers[32];
    memset(requests, 0, sizeof(requests));
    for (uint32_t i = 0; i < 32; i++) {
        requests[i].dst.ipv4 = dst + i;
    }
    size_t bound =
        locus_connect_batch(s->svc, requests, 32, s->now_ns, LOCUS_ACTIVE, servers);
    for (uint32_t i = 0; i < 32; i++) {
        bound -= servers[i] != LOCUS_NO_SERVER;
    }
    MUST(bound == 0);
}

static void change_scheduler(struct sweep *s, const char *name)
{
    begin_call(s);
    if (end_call(s, locus_service_set_scheduler(s->svc, name, 0, s->now_ns))) {
        ck_assert_str_eq(locus_service_scheduler(s->svc, NULL), name);
    }
}

static void let_time_pass(struct sweep *s, uint64_t ns)
{
    uint64_t until_ns = s->now_ns + ns;
    while (locus_tick_due(s->svc) <= until_ns) {
        s->now_ns = locus_tick_due(s->svc);
        MUST(locus_tick(s->svc, s->now_ns, SIZE_MAX));
    }
    s->now_ns = until_ns;
}

static void ignore(void *arg, const struct locus_destination *destination,
                   const uint32_t *servers)
{
    *(uint64_t *)arg += destination->servers + servers[0];
}

static void visit(struct sweep *s)
{
    uint64_t sum = 0;
    begin_call(s);
    end_call(s, locus_destinations_visit(s->svc, ignore, &sum));
}

static void live(struct sweep *s)
{
    uint32_t servers[70];
    for (uint32_t i = 0; i < 70; i++) {
        servers[i] = add(s, i);
        connect_one(s, i % 7);
        connect_one(s, i % 7);
    }
    for (uint32_t i = 0; i < 400; i++) {
        connect_one(s, i);
        connect_one(s, 3);
    }
    batch(s, 1000);
    for (uint32_t i = 0; i < 70; i += 9) {
        if (servers[i] != LOCUS_NO_SERVER) {
            begin_call(s);
            end_call(s, locus_server_set_weight(s->svc, servers[i], 9));
            begin_call(s);
            end_call(s, locus_server_remove(s->svc, servers[i], s->now_ns));
            add(s, i);
        }
    }
    visit(s);
    change_scheduler(s, strcmp(s->scheduler, "lblcr") == 0 ? "mh" : "lblcr");
    connect_one(s, 2);
    change_scheduler(s, s->scheduler);
    batch(s, 2000);
    locus_service_set_expiration(s->svc, 60 * (int64_t)second_ns);
    let_time_pass(s, 4000 * second_ns);
    connect_one(s, 5);
}

/* One life with a failing allocation; false when none failed any more. */
static bool survive(const char *scheduler, uint64_t fail_at, bool fail_on,
                    uint32_t expected_entries, bool evict, uint64_t *ends)
{
    struct sweep s = {
        .scheduler = scheduler, .family = LOCUS_IPV4, .evict = evict, .ends = ends};
    s.memory.fail_at = fail_at;
    s.memory.fail_on = fail_on;
    if (create(&s, expected_entries)) {
        live(&s);
        locus_service_destroy(s.svc);
    }
    MUST(s.memory.live_bytes == 0);
    MUST(s.memory.live_blocks == 0);
    return s.memory.failed > 0;
}

static void sweep(int scheduler, bool fail_on, uint32_t expected_entries, bool evict)
{
    const char *name = locus_scheduler_name((size_t)scheduler, NULL);
    uint64_t ends[CALLS_MAX] = {0};
    uint64_t n = 1;
    MUST(!survive(name, 0, false, expected_entries, evict, ends));
    while (survive(name, n, fail_on, expected_entries, evict, ends)) {
        n++;
    }
    MUST(n > 10);
}

START_TEST(one_failing_allocation_is_reported_and_nothing_is_lost)
{
    sweep(_i, false, 0, false);
}
END_TEST

START_TEST(memory_that_runs_out_for_good_is_reported_and_nothing_is_lost)
{
    sweep(_i, true, 0, false);
}
END_TEST

START_TEST(room_that_cannot_be_made_at_once_is_reported_or_made_later)
{
    sweep(_i, false, 3000, false);
}
END_TEST

START_TEST(a_map_that_evicts_loses_nothing_either)
{
    for (int i = 0; locus_scheduler_name((size_t)i, NULL) != NULL; i++) {
        if (strncmp(locus_scheduler_name((size_t)i, NULL), "lblc", 4) == 0) {
            sweep(i, _i != 0, 0, true);
        }
    }
}
END_TEST

START_TEST(no_memory_at_all_makes_no_service)
{
    struct testalloc memory = {.fail_at = 1, .fail_on = true};
    struct locus_allocator hooks = testalloc_hooks(&memory);
    struct locus_service_config config = {.allocator = &hooks};
    struct locus_service *svc = NULL;
    MUST(locus_service_create(&config, &svc) == LOCUS_ENOMEM);
    ck_assert_ptr_null(svc);
}
END_TEST

enum { SCHEDULERS = 17 };

int main(void)
{
    Suite *suite = suite_create("memory");
    TCase *tcase = suite_case(suite, "memory");
    tcase_add_loop_test(tcase, one_failing_allocation_is_reported_and_nothing_is_lost,
                        0, SCHEDULERS);
    tcase_add_loop_test(tcase,
                        memory_that_runs_out_for_good_is_reported_and_nothing_is_lost,
                        0, SCHEDULERS);
    tcase_add_loop_test(tcase,
                        room_that_cannot_be_made_at_once_is_reported_or_made_later, 0,
                        SCHEDULERS);
    tcase_add_loop_test(tcase, a_map_that_evicts_loses_nothing_either, 0, 2);
    tcase_add_test(tcase, no_memory_at_all_makes_no_service);
    return suite_run(suite);
}
