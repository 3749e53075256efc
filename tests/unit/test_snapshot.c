/* SPDX-License-Identifier: MIT */
/*
 * Snapshots: what comes back, what is left out and said so, and that nothing but a whole one
 * is believed. That all later decisions are the same is the lockstep's to show.
 */
#include <stdio.h>
#include <string.h>

#include <locus/locus.h>

#include "../support/forge.h"
#include "../support/random.h"
#include "../support/snapshot.h"
#include "../support/suite.h"
#include "../support/testalloc.h"

static const uint64_t second_ns = 1000000000;

enum { HEAD_BYTES = 12, SCHEDULER_AT = HEAD_BYTES + 4 + 2 };

/* ---- services -------------------------------------------------------------------- */

static struct locus_service *create_with(struct locus_service_config config)
{
    struct locus_service *svc = NULL;
    MUST(locus_service_create(&config, &svc) == LOCUS_OK);
    return svc;
}

static struct locus_service *create(const char *scheduler, enum locus_family family)
{
    return create_with(
        (struct locus_service_config){.scheduler = scheduler, .family = family});
}

static struct locus_server_config server_config(uint32_t n)
{
    struct locus_server_config config = {.weight = 40, .tag = n};
    config.address.family = LOCUS_IPV4;
    config.address.port = 80;
    config.address.key.ipv4 = n;
    return config;
}

static uint32_t add_config(struct locus_service *svc, struct locus_server_config config)
{
    uint32_t server = LOCUS_NO_SERVER;
    MUST(locus_server_add(svc, &config, 0, &server) == LOCUS_OK);
    return server;
}

static uint32_t add(struct locus_service *svc, uint32_t n)
{
    return add_config(svc, server_config(n));
}

static union locus_key key_of(enum locus_family family, uint32_t n)
{
    union locus_key key = {.words = {0, 0}};
    if (family == LOCUS_IPV4) {
        key.ipv4 = 0x0a000000 + n;
    } else if (family == LOCUS_NAME) {
        key = locus_key_from_name(&n, sizeof(n));
    } else {
        memcpy(key.bytes + 12, &n, sizeof(n));
        key.bytes[0] = 0x20;
    }
    return key;
}

static uint32_t connect_to(struct locus_service *svc, enum locus_family family,
                           uint32_t n, uint64_t now_ns)
{
    struct locus_request request = {.dst = key_of(family, n)};
    struct locus_pick pick;
    (void)!locus_connect(svc, &request, now_ns, LOCUS_ACTIVE, &pick);
    return pick.server;
}

static uint64_t tag_of(const struct locus_service *svc, uint32_t server)
{
    struct locus_server_info info;
    return locus_server_get(svc, server, &info) == LOCUS_OK ? info.tag : UINT64_MAX;
}

static uint32_t with_tag(const struct locus_service *svc, uint64_t tag)
{
    struct locus_address address = server_config((uint32_t)tag).address;
    return locus_server_find(svc, &address);
}

static struct locus_service_stats stats_of(const struct locus_service *svc)
{
    struct locus_service_stats stats;
    locus_service_get_stats(svc, &stats);
    return stats;
}

static void fill(struct locus_service *svc, enum locus_family family,
                 uint32_t destinations)
{
    for (uint32_t i = 0; i < destinations; i++) {
        connect_to(svc, family, i, i * second_ns / 10);
        connect_to(svc, family, 0, i * second_ns / 10); /* hot: a set of several */
    }
}

/* Servers 1 to 4; 2 is then removed, and lingers, and there are destinations. */
static struct locus_service *lived_in(const char *scheduler, enum locus_family family,
                                      uint32_t destinations)
{
    struct locus_service *svc = create(scheduler, family);
    for (uint32_t i = 1; i <= 4; i++) {
        add(svc, i);
    }
    fill(svc, family, destinations);
    MUST(locus_server_remove(svc, with_tag(svc, 2), destinations * second_ns / 10) ==
         LOCUS_OK);
    return svc;
}

/* What can be seen, without the counters of picks, which no snapshot has. */
static char *look(const struct locus_service *svc, enum locus_family family)
{
    char *text = snapshot(svc, family);
    char *stats = strchr(text, '\n') + 1;
    char *servers = strstr(stats, " servers=");
    memmove(stats, servers, strlen(servers) + 1);
    return text;
}

static void expect_same(const struct locus_service *left,
                        const struct locus_service *right, enum locus_family family)
{
    char *a = look(left, family);
    char *b = look(right, family);
    ck_assert_str_eq(a, b);
    free(a);
    free(b);
}

/* ---- saving and loading ---------------------------------------------------------- */

static const struct locus_snapshot_options whole = {.add_servers = true,
                                                    .connections = true};

static struct tape save_at(struct locus_service *svc, uint64_t now_ns)
{
    struct tape tape = {.room = 0};
    MUST(locus_snapshot_save(svc, now_ns, tape_write, &tape) == LOCUS_OK);
    return tape;
}

static struct tape save(struct locus_service *svc)
{
    return save_at(svc, 0);
}

static int load_from(struct locus_service *svc, const struct tape *tape,
                     struct locus_snapshot_options options,
                     struct locus_snapshot_report *report)
{
    struct tape copy = {.bytes = tape->bytes, .size = tape->size};
    return locus_snapshot_load(svc, &options, tape_read, &copy, report);
}

static struct locus_snapshot_report load(struct locus_service *svc,
                                         const struct tape *tape,
                                         struct locus_snapshot_options options)
{
    struct locus_snapshot_report report;
    memset(&report, 0xff, sizeof(report));
    ck_assert_int_eq(load_from(svc, tape, options, &report), LOCUS_OK);
    return report;
}

/* A load that fails leaves everything as it was, the report, too. */
static void expect_refusal(struct locus_service *svc, enum locus_family family,
                           const struct tape *tape, int status)
{
    struct locus_snapshot_report report;
    struct locus_snapshot_report untouched;
    char *before = snapshot(svc, family);
    memset(&report, 0xee, sizeof(report));
    memset(&untouched, 0xee, sizeof(untouched));
    int got = load_from(svc, tape, whole, &report);
    char *after = snapshot(svc, family);
    ck_assert_msg(got == status, "status %d, not %d", got, status);
    MUST(strcmp(before, after) == 0);
    MUST(memcmp(&report, &untouched, sizeof(report)) == 0);
    free(before);
    free(after);
}

static const char *const map_schedulers[] = {"lblc", "lblcr"};

START_TEST(everything_comes_back_in_every_family)
{
    enum locus_family family = (enum locus_family)(1 + _i % 3);
    const char *scheduler = map_schedulers[_i / 3];
    struct locus_service *svc = lived_in(scheduler, family, 300);
    struct tape tape = save_at(svc, 40 * second_ns);
    struct locus_service *again = create(scheduler, family);
    struct locus_snapshot_options options = whole;
    options.now_ns = 40 * second_ns;
    struct locus_snapshot_report report = load(again, &tape, options);
    expect_same(svc, again, family);
    ck_assert_uint_eq(report.servers, 4);
    ck_assert_uint_eq(report.loaded, stats_of(svc).destinations);
    ck_assert_uint_eq(report.unknown_servers + report.thinned + report.skipped +
                          report.expired + report.beyond_bound,
                      0);
    tape_free(&tape);
    locus_service_destroy(svc);
    locus_service_destroy(again);
}
END_TEST

START_TEST(every_scheduler_can_be_saved)
{
    const char *scheduler = locus_scheduler_name((size_t)_i, NULL);
    struct locus_service *svc = create(scheduler, LOCUS_IPV4);
    struct locus_service *again = create(scheduler, LOCUS_IPV4);
    for (uint32_t i = 1; i <= 5; i++) {
        uint32_t server = add(svc, i);
        MUST(locus_server_set_weight(svc, server, i - 1) == LOCUS_OK);
    }
    for (uint32_t i = 0; i < 50; i++) {
        connect_to(svc, LOCUS_IPV4, i, 0);
    }
    struct tape tape = save(svc);
    load(again, &tape, whole);
    expect_same(svc, again, LOCUS_IPV4);
    for (uint32_t i = 0; i < 200; i++) {
        MUST(tag_of(svc, connect_to(svc, LOCUS_IPV4, i, 0)) ==
             tag_of(again, connect_to(again, LOCUS_IPV4, i, 0)));
    }
    tape_free(&tape);
    locus_service_destroy(svc);
    locus_service_destroy(again);
}
END_TEST

START_TEST(the_clock_of_the_next_service_may_start_anywhere)
{
    static const uint64_t starts[] = {0, 5000000, UINT64_C(4294967295000000),
                                      UINT64_C(1) << 62};
    uint64_t start_ns = starts[_i % 4] / 1000000 * 1000000;
    const char *scheduler = map_schedulers[_i / 4];
    struct locus_service *svc = lived_in(scheduler, LOCUS_IPV4, 300);
    struct tape tape = save_at(svc, 40 * second_ns);
    struct locus_service *again = create(scheduler, LOCUS_IPV4);
    struct locus_snapshot_options options = whole;
    uint64_t random = 7;
    options.now_ns = start_ns;
    load(again, &tape, options);
    locus_service_set_expiration(svc, 5000 * (int64_t)second_ns);
    locus_service_set_expiration(again, 5000 * (int64_t)second_ns);
    for (uint64_t passed_ns = 0; passed_ns < 200000 * second_ns;) {
        uint32_t n = random_below(&random, 400);
        MUST(locus_tick_due(svc) - 40 * second_ns == locus_tick_due(again) - start_ns);
        if (random_percent(&random, 50)) {
            passed_ns = locus_tick_due(svc) - 40 * second_ns;
        }
        locus_tick(svc, 40 * second_ns + passed_ns, SIZE_MAX);
        locus_tick(again, start_ns + passed_ns, SIZE_MAX);
        MUST(tag_of(svc, connect_to(svc, LOCUS_IPV4, n, 40 * second_ns + passed_ns)) ==
             tag_of(again, connect_to(again, LOCUS_IPV4, n, start_ns + passed_ns)));
        MUST(stats_of(svc).destinations == stats_of(again).destinations);
        MUST(stats_of(svc).trash == stats_of(again).trash);
    }
    MUST(stats_of(svc).expired > 0);
    tape_free(&tape);
    locus_service_destroy(svc);
    locus_service_destroy(again);
}
END_TEST

START_TEST(times_before_the_clock_began_are_shown_as_0)
{
    struct locus_service *svc = lived_in("lblc", LOCUS_IPV4, 10);
    struct locus_service *again = create("lblc", LOCUS_IPV4);
    struct tape tape = save_at(svc, 100 * second_ns);
    struct locus_destination dest;
    union locus_key key = key_of(LOCUS_IPV4, 9);
    load(again, &tape, whole);
    MUST(locus_destination_get(again, &key, &dest, NULL, 0));
    ck_assert_uint_eq(dest.lastuse_ns, 0);
    ck_assert_uint_eq(dest.lastmod_ns, 0);
    tape_free(&tape);
    locus_service_destroy(svc);
    locus_service_destroy(again);
}
END_TEST

START_TEST(the_bytes_tell_nothing_of_the_table)
{
    struct locus_service_config config = {.scheduler = map_schedulers[_i], .seed = 5};
    struct tape tapes[3];
    for (int i = 0; i < 3; i++) {
        struct locus_service *svc = create_with(config);
        add(svc, 1);
        add(svc, 2);
        fill(svc, LOCUS_IPV4, 20000);
        tapes[i] = save(svc);
        locus_service_destroy(svc);
        config.map_load_percent = i == 0 ? 85 : 20;
        config.expected_entries = i == 0 ? 0 : 100000;
    }
    for (int i = 1; i < 3; i++) {
        MUST(tapes[i].size == tapes[0].size);
        MUST(memcmp(tapes[i].bytes, tapes[0].bytes, tapes[0].size) == 0);
        tape_free(&tapes[i]);
    }
    tape_free(&tapes[0]);
}
END_TEST

START_TEST(a_destination_takes_as_many_bytes_as_the_header_says)
{
    enum locus_family family = (enum locus_family)(1 + _i);
    struct locus_service *svc = create("lblc", family);
    add(svc, 1);
    struct tape none = save(svc);
    for (uint32_t i = 0; i < 10000; i++) {
        connect_to(svc, family, i, 0);
    }
    struct tape all = save(svc);
    size_t each = family == LOCUS_IPV4 ? 16 : 28;
    size_t blocks = (all.size - none.size) / 4096 + 1;
    ck_assert_uint_ge(all.size - none.size, 10000 * each);
    ck_assert_uint_le(all.size - none.size, 10000 * each + blocks * 40);
    tape_free(&none);
    tape_free(&all);
    locus_service_destroy(svc);
}
END_TEST

/* ---- what the caller chooses ----------------------------------------------------- */

START_TEST(servers_that_the_service_has_keep_their_configuration)
{
    struct locus_service *svc = lived_in("lblcr", LOCUS_IPV4, 50);
    struct locus_service *again = create("lblcr", LOCUS_IPV4);
    struct locus_server_config changed = server_config(3);
    struct locus_server_info info;
    changed.weight = 77;
    changed.tag = 30;
    changed.capacity = 5;
    add_config(again, changed);
    struct tape tape = save(svc);
    struct locus_snapshot_report report =
        load(again, &tape, (struct locus_snapshot_options){.add_servers = true});
    MUST(locus_server_get(again, with_tag(again, 3), &info) == LOCUS_OK);
    ck_assert_uint_eq(info.weight, 77);
    ck_assert_uint_eq(info.tag, 30);
    ck_assert_uint_eq(info.capacity, 5);
    ck_assert_uint_eq(info.active, 0);
    MUST(info.destinations > 0);
    ck_assert_uint_eq(report.servers, 4);
    /* Others come before it, in their own order; 2 is in the trash. */
    uint32_t server = locus_server_next(again, LOCUS_NO_SERVER);
    ck_assert_uint_eq(tag_of(again, server), 4);
    server = locus_server_next(again, server);
    ck_assert_uint_eq(tag_of(again, server), 1);
    server = locus_server_next(again, server);
    ck_assert_uint_eq(tag_of(again, server), 30);
    ck_assert_uint_eq(tag_of(again, locus_trash_next(again, LOCUS_NO_SERVER)), 2);
    tape_free(&tape);
    locus_service_destroy(svc);
    locus_service_destroy(again);
}
END_TEST

struct members {
    uint32_t whole, some, none; /* destinations by how many servers are 3 or 4 */
};

static void count_members(void *arg, const struct locus_destination *destination,
                          const uint32_t *servers)
{
    struct members *members = ((void **)arg)[0];
    const struct locus_service *svc = ((void **)arg)[1];
    uint32_t known = 0;
    for (uint32_t i = 0; i < destination->servers; i++) {
        known += tag_of(svc, servers[i]) == 3 || tag_of(svc, servers[i]) == 4;
    }
    members->whole += known == destination->servers;
    members->some += known > 0 && known < destination->servers;
    members->none += known == 0;
}

START_TEST(what_only_unknown_servers_serve_is_skipped_and_counted)
{
    struct locus_service *svc = lived_in("lblcr", LOCUS_IPV4, 300);
    struct locus_service *again = create("lblcr", LOCUS_IPV4);
    struct members members = {0, 0, 0};
    MUST(locus_destinations_visit(svc, count_members, (void *[]){&members, svc}) == 0);
    ck_assert_uint_gt(members.whole, 0);
    ck_assert_uint_gt(members.some, 0);
    ck_assert_uint_gt(members.none, 0);
    add(again, 3);
    add(again, 4);
    struct tape tape = save_at(svc, 40 * second_ns);
    struct locus_snapshot_report report =
        load(again, &tape, (struct locus_snapshot_options){.now_ns = 40 * second_ns});
    ck_assert_uint_eq(report.servers, 2);
    ck_assert_uint_eq(report.unknown_servers, 2);
    ck_assert_uint_eq(report.loaded, members.whole + members.some);
    ck_assert_uint_eq(report.thinned, members.some);
    ck_assert_uint_eq(report.skipped, members.none);
    ck_assert_uint_eq(stats_of(again).destinations, report.loaded);
    ck_assert_uint_eq(stats_of(again).servers, 2);
    ck_assert_uint_eq(stats_of(again).trash, 0);
    tape_free(&tape);
    locus_service_destroy(svc);
    locus_service_destroy(again);
}
END_TEST

START_TEST(a_server_in_the_trash_comes_back_with_its_destinations)
{
    struct locus_service *svc = create("lblc", LOCUS_IPV4);
    struct locus_service *again = create("lblc", LOCUS_IPV4);
    uint32_t server = add(svc, 1);
    connect_to(svc, LOCUS_IPV4, 7, 0);
    MUST(locus_server_remove(svc, server, 0) == LOCUS_OK);
    struct tape tape = save(svc);
    load(again, &tape, whole);
    ck_assert_uint_eq(stats_of(again).trash, 1);
    server = add(again, 1);
    struct locus_server_info info;
    MUST(locus_server_get(again, server, &info) == LOCUS_OK);
    ck_assert_uint_eq(info.active, 1);
    ck_assert_uint_eq(info.destinations, 1);
    MUST(connect_to(again, LOCUS_IPV4, 7, 0) == server);
    ck_assert_uint_eq(stats_of(again).hits, 1);
    tape_free(&tape);
    locus_service_destroy(svc);
    locus_service_destroy(again);
}
END_TEST

START_TEST(rules_that_purge_take_no_destination_from_the_trash)
{
    struct locus_service *svc = lived_in("lblcr", LOCUS_IPV4, 100);
    struct locus_service *again = create_with((struct locus_service_config){
        .scheduler = "lblcr", .rules = locus_rules_find("locus")});
    struct locus_server_info info;
    add(again, 2);
    struct tape tape = save_at(svc, 40 * second_ns);
    struct locus_snapshot_report report = load(again, &tape, whole);
    MUST(report.skipped + report.thinned > 0);
    MUST(locus_server_get(again, with_tag(again, 2), &info) == LOCUS_OK);
    ck_assert_uint_eq(info.destinations, 0);
    ck_assert_uint_eq(stats_of(again).trash, 1);
    /* And the other way: a namesake in the trash, which only rules that purge can have. */
    struct tape back = save_at(again, 40 * second_ns);
    struct locus_service *third = create("lblcr", LOCUS_IPV4);
    report = load(third, &back, whole);
    ck_assert_uint_eq(report.servers + report.unknown_servers, 5);
    ck_assert_uint_eq(stats_of(third).destinations, stats_of(again).destinations);
    tape_free(&tape);
    tape_free(&back);
    locus_service_destroy(svc);
    locus_service_destroy(again);
    locus_service_destroy(third);
}
END_TEST

START_TEST(connections_go_on_only_if_they_are_wanted)
{
    struct locus_service *svc = create("wlc", LOCUS_IPV4);
    struct locus_server_config config = server_config(1);
    struct locus_server_info info;
    config.upper_threshold = 4;
    config.lower_threshold = 2;
    uint32_t server = add_config(svc, config);
    for (int i = 0; i < 4; i++) {
        connect_to(svc, LOCUS_IPV4, 1, 0);
    }
    MUST(locus_conn_unbind(svc, server, LOCUS_ACTIVE) == LOCUS_OK);
    MUST(locus_server_get(svc, server, &info) == LOCUS_OK);
    MUST(info.overloaded);
    struct tape tape = save(svc);
    for (int wanted = 0; wanted < 2; wanted++) {
        /* The threshold as it was: the flag as it was. A higher one: it decides anew. */
        for (uint32_t more = 0; more < 2; more++) {
            struct locus_service *again = create("wlc", LOCUS_IPV4);
            config.upper_threshold = 4 + more;
            server = add_config(again, config);
            load(again, &tape, (struct locus_snapshot_options){.connections = wanted});
            MUST(locus_server_get(again, server, &info) == LOCUS_OK);
            ck_assert_uint_eq(info.active, wanted ? 3 : 0);
            ck_assert_int_eq(info.overloaded, wanted && !more);
            locus_service_destroy(again);
        }
    }
    tape_free(&tape);
    locus_service_destroy(svc);
}
END_TEST

START_TEST(time_away_ages_destinations_and_lets_them_expire)
{
    struct locus_service *svc = create("lblc", LOCUS_IPV4);
    add(svc, 1);
    for (uint32_t i = 0; i < 100; i++) {
        connect_to(svc, LOCUS_IPV4, i, i * second_ns);
    }
    struct tape tape = save_at(svc, 100 * second_ns);
    static const struct {
        uint64_t away_s;
        uint32_t expired;
    } cases[] = {{0, 0}, {86300, 1}, {86350, 51}, {90000, 100}, {1u << 31, 100}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct locus_service *again = create("lblc", LOCUS_IPV4);
        struct locus_snapshot_report report =
            load(again, &tape,
                 (struct locus_snapshot_options){.now_ns = 200000 * second_ns,
                                                 .away_ns = cases[i].away_s * second_ns,
                                                 .add_servers = true});
        ck_assert_uint_eq(report.expired, cases[i].expired);
        ck_assert_uint_eq(report.loaded, 100 - cases[i].expired);
        struct locus_destination dest;
        union locus_key key = key_of(LOCUS_IPV4, 99);
        if (locus_destination_get(again, &key, &dest, NULL, 0)) {
            uint64_t age_ns = second_ns * (1 + cases[i].away_s);
            ck_assert_uint_eq(dest.lastuse_ns, 200000 * second_ns - age_ns);
        }
        locus_service_destroy(again);
    }
    tape_free(&tape);
    locus_service_destroy(svc);
}
END_TEST

START_TEST(of_too_many_destinations_the_oldest_are_left_out)
{
    struct locus_rules rules = *locus_rules_find("locus");
    struct locus_service *svc = create_with((struct locus_service_config){
        .scheduler = "lblc", .rules = &rules, .max_entries = 100});
    struct locus_service *again = create_with((struct locus_service_config){
        .scheduler = "lblc", .rules = &rules, .max_entries = 30});
    add(svc, 1);
    for (uint32_t i = 0; i < 100; i++) {
        connect_to(svc, LOCUS_IPV4, i, 0);
    }
    struct tape tape = save(svc);
    struct locus_snapshot_report report = load(again, &tape, whole);
    ck_assert_uint_eq(report.loaded, 30);
    ck_assert_uint_eq(report.beyond_bound, 70);
    struct locus_destination dest;
    union locus_key oldest = key_of(LOCUS_IPV4, 69);
    union locus_key kept = key_of(LOCUS_IPV4, 70);
    MUST(!locus_destination_get(again, &oldest, &dest, NULL, 0));
    MUST(locus_destination_get(again, &kept, &dest, NULL, 0));
    tape_free(&tape);
    locus_service_destroy(svc);
    locus_service_destroy(again);
}
END_TEST

START_TEST(ticks_of_another_length_are_converted)
{
    static const uint64_t lengths[] = {4000000, 1000, 1, UINT64_C(1) << 40};
    struct locus_service *svc = lived_in("lblc", LOCUS_IPV4, 10);
    struct tape tape = save_at(svc, 100 * second_ns);
    struct locus_service *again = create_with((struct locus_service_config){
        .scheduler = "lblc", .tick_ns = lengths[_i], .now_ns = UINT64_C(1) << 50});
    struct locus_destination dest;
    union locus_key key = key_of(LOCUS_IPV4, 9);
    load(again, &tape,
         (struct locus_snapshot_options){.now_ns = UINT64_C(1) << 50,
                                         .add_servers = true});
    MUST(locus_destination_get(again, &key, &dest, NULL, 0));
    uint64_t age_ns = (UINT64_C(1) << 50) / lengths[_i] * lengths[_i] - dest.lastuse_ns;
    uint64_t most_ns = (uint64_t)INT32_MAX * lengths[_i];
    uint64_t want_ns = 99100000000 < most_ns ? 99100000000 : most_ns;
    ck_assert_uint_le(age_ns, want_ns);
    ck_assert_uint_gt(age_ns + lengths[_i], want_ns);
    tape_free(&tape);
    locus_service_destroy(svc);
    locus_service_destroy(again);
}
END_TEST

/* One step, or one in so many where each takes fifty times as long (LOCUS_STEPS is set). */
static size_t stride(size_t slow)
{
    return getenv("LOCUS_STEPS") ? slow : 1;
}

/* ---- refusals -------------------------------------------------------------------- */

START_TEST(a_snapshot_of_another_kind_is_refused)
{
    struct locus_service *svc = lived_in("lblc", LOCUS_IPV6, 10);
    struct tape tape = save(svc);
    struct locus_service *other = create("lblc", LOCUS_NAME);
    expect_refusal(other, LOCUS_NAME, &tape, LOCUS_EINVAL);
    locus_service_destroy(other);
    other = create("lblcr", LOCUS_IPV6);
    expect_refusal(other, LOCUS_IPV6, &tape, LOCUS_EINVAL);
    locus_service_destroy(other);
    other = create("lc", LOCUS_IPV6);
    expect_refusal(other, LOCUS_IPV6, &tape, LOCUS_EINVAL);
    locus_service_destroy(other);
    other = create("lblc", LOCUS_IPV6);
    tape.bytes[8]++;
    expect_refusal(other, LOCUS_IPV6, &tape, LOCUS_ENOTSUP);
    locus_service_destroy(other);
    locus_service_destroy(svc);
    tape_free(&tape);
}
END_TEST

START_TEST(a_service_that_is_in_use_takes_none)
{
    struct locus_service *svc = lived_in("lblc", LOCUS_IPV4, 10);
    struct tape tape = save(svc);
    expect_refusal(svc, LOCUS_IPV4, &tape, LOCUS_EBUSY);
    struct locus_service *other = create("lblc", LOCUS_IPV4);
    uint32_t server = add(other, 1);
    MUST(locus_conn_bind(other, server, LOCUS_INACTIVE) == LOCUS_OK);
    expect_refusal(other, LOCUS_IPV4, &tape, LOCUS_EBUSY);
    load(other, &tape, (struct locus_snapshot_options){.add_servers = true});
    locus_service_destroy(other);
    other = create("lblc", LOCUS_IPV4);
    MUST(locus_server_remove(other, add(other, 9), 0) == LOCUS_OK);
    expect_refusal(other, LOCUS_IPV4, &tape, LOCUS_EBUSY);
    locus_service_destroy(other);
    locus_service_destroy(svc);
    tape_free(&tape);
}
END_TEST

START_TEST(a_snapshot_cut_anywhere_is_refused)
{
    enum locus_family family = (enum locus_family)(1 + _i);
    struct locus_service *svc = lived_in("lblcr", family, 120);
    struct locus_service *other = create("lblcr", family);
    add(other, 1);
    struct tape tape = save(svc);
    size_t size = tape.size;
    MUST(size > 2 * 1024);
    for (tape.size = 0; tape.size < size; tape.size += stride(13)) {
        expect_refusal(other, family, &tape, LOCUS_EFORMAT);
    }
    tape.size = size;
    load(other, &tape, whole);
    tape_free(&tape);
    locus_service_destroy(other);
    locus_service_destroy(svc);
}
END_TEST

START_TEST(a_snapshot_with_any_bit_flipped_is_refused)
{
    struct locus_service *svc = lived_in(map_schedulers[_i], LOCUS_IPV4, 60);
    struct locus_service *other = create(map_schedulers[_i], LOCUS_IPV4);
    add(other, 1);
    struct tape tape = save(svc);
    for (size_t bit = 0; bit < 8 * tape.size; bit += stride(37)) {
        bool version = bit / 8 >= 8 && bit / 8 < HEAD_BYTES;
        tape.bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        expect_refusal(other, LOCUS_IPV4, &tape,
                       version ? LOCUS_ENOTSUP : LOCUS_EFORMAT);
        tape.bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    load(other, &tape, whole);
    tape_free(&tape);
    locus_service_destroy(other);
    locus_service_destroy(svc);
}
END_TEST

START_TEST(blocks_that_change_places_are_refused)
{
    struct locus_service *svc = lived_in("lblc", LOCUS_IPV4, 2000);
    struct locus_service *other = create("lblc", LOCUS_IPV4);
    struct tape tape = save(svc);
    size_t block = 4 + 4096 + 8;
    unsigned char kept[4 + 4096 + 8];
    unsigned char *first = tape.bytes + HEAD_BYTES;
    unsigned char *second = first + 4 + first[0] + 256 * first[1] + 8;
    /* The second and the third are full and alike in all but content. */
    MUST(memcmp(second, second + block, 4) == 0);
    memcpy(kept, second, block);
    memcpy(second, second + block, block);
    memcpy(second + block, kept, block);
    expect_refusal(other, LOCUS_IPV4, &tape, LOCUS_EFORMAT);
    tape_free(&tape);
    locus_service_destroy(other);
    locus_service_destroy(svc);
}
END_TEST

START_TEST(what_follows_a_snapshot_is_not_read)
{
    struct locus_service *svc = lived_in("lblc", LOCUS_IPV4, 10);
    struct tape tape = save(svc);
    size_t size = tape.size;
    MUST(locus_snapshot_save(svc, 0, tape_write, &tape) == LOCUS_OK);
    for (int i = 1; i <= 2; i++) {
        struct locus_service *again = create("lblc", LOCUS_IPV4);
        MUST(locus_snapshot_load(again, &whole, tape_read, &tape, NULL) == LOCUS_OK);
        ck_assert_uint_eq(tape.at, (size_t)i * size);
        locus_service_destroy(again);
    }
    tape_free(&tape);
    locus_service_destroy(svc);
}
END_TEST

START_TEST(a_function_that_fails_ends_it_with_its_status)
{
    struct locus_service *svc = lived_in("lblc", LOCUS_IPV4, 2000);
    struct locus_service *other = create("lblc", LOCUS_IPV4);
    struct tape good = save(svc);
    struct tape tape = {.fail_with = LOCUS_EAMBIGUOUS};
    for (tape.fail_at = 1; tape.fail_at <= good.calls; tape.fail_at++) {
        tape.calls = tape.size = 0;
        MUST(locus_snapshot_save(svc, 0, tape_write, &tape) == LOCUS_EAMBIGUOUS);
        ck_assert_uint_eq(tape.calls, tape.fail_at);
    }
    good.calls = 0;
    MUST(locus_snapshot_load(other, &whole, tape_read, &good, NULL) == LOCUS_OK);
    uint64_t reads = good.calls;
    locus_service_destroy(other);
    other = create("lblc", LOCUS_IPV4);
    for (good.fail_at = 1; good.fail_at <= reads; good.fail_at++) {
        good.calls = good.at = 0;
        good.fail_with = LOCUS_EIO;
        MUST(locus_snapshot_load(other, &whole, tape_read, &good, NULL) == LOCUS_EIO);
        MUST(stats_of(other).destinations == 0 && stats_of(other).servers == 0);
    }
    tape_free(&good);
    tape_free(&tape);
    locus_service_destroy(svc);
    locus_service_destroy(other);
}
END_TEST

/* ---- forgeries ------------------------------------------------------------------- */

/* Writes a number over the payload of the first block, and signs the whole. */
static struct tape forged(const struct tape *tape, size_t at, uint64_t value,
                          unsigned bytes)
{
    struct tape forgery = {.room = 0};
    MUST(tape_write(&forgery, tape->bytes, tape->size) == LOCUS_OK);
    for (unsigned i = 0; i < bytes; i++) {
        forgery.bytes[at + i] = (unsigned char)(value >> (8 * i));
    }
    forge_checksums(forgery.bytes, forgery.size);
    return forgery;
}

START_TEST(counts_that_lie_are_refused_and_take_no_memory)
{
    enum { COUNTS_AT = SCHEDULER_AT + 4 + 8 };
    static const struct {
        size_t at;
        uint32_t value;
    } lies[] = {
        {COUNTS_AT, 1u << 24},
        {COUNTS_AT, UINT32_MAX},
        {COUNTS_AT + 4, (1u << 24) - 9},
        {COUNTS_AT + 4, UINT32_MAX},
        {COUNTS_AT + 8, 1u << 27},
        {COUNTS_AT + 8, UINT32_MAX},
        {COUNTS_AT + 12, UINT32_MAX},
        {COUNTS_AT + 16, 1024},
        {COUNTS_AT, 0},
        {COUNTS_AT + 8, 0},
    };
    struct locus_service *svc = lived_in("lblc", LOCUS_IPV4, 50);
    struct tape tape = save(svc);
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        struct testalloc memory = {.limit_bytes = 256 * 1024};
        struct locus_allocator hooks = testalloc_hooks(&memory);
        struct locus_service *other = create_with(
            (struct locus_service_config){.scheduler = "lblc", .allocator = &hooks});
        struct tape forgery = forged(&tape, lies[i].at, lies[i].value, 4);
        expect_refusal(other, LOCUS_IPV4, &forgery, LOCUS_EFORMAT);
        ck_assert_uint_eq(memory.failed, 0);
        tape_free(&forgery);
        locus_service_destroy(other);
        ck_assert_uint_eq(memory.live_bytes, 0);
    }
    tape_free(&tape);
    locus_service_destroy(svc);
}
END_TEST

/* Whatever one number is: it is refused, or a service comes of it that can be used, saved
 * and loaded again. */
START_TEST(numbers_that_lie_are_refused_or_harmless)
{
    static const uint64_t values[] = {
        0, 1, 255, UINT64_MAX, UINT64_C(1) << 31, UINT64_C(0x8000000080000000)};
    struct locus_service *svc = lived_in(map_schedulers[_i], LOCUS_IPV4, 20);
    struct tape tape = save_at(svc, 10 * second_ns);
    for (size_t at = HEAD_BYTES + 4; at + 20 < tape.size; at += stride(11)) {
        for (unsigned i = 0; i < 18; i++) {
            struct testalloc memory = {.limit_bytes = 256 * 1024};
            struct locus_allocator hooks = testalloc_hooks(&memory);
            struct locus_service *other = create_with((struct locus_service_config){
                .scheduler = map_schedulers[_i], .allocator = &hooks});
            struct tape forgery = forged(&tape, at, values[i / 3], 1 + 3 * (i % 3));
            int status = load_from(other, &forgery, whole, NULL);
            MUST(status == LOCUS_OK || status == LOCUS_EFORMAT ||
                 status == LOCUS_EINVAL || status == LOCUS_ERANGE);
            if (status == LOCUS_OK) {
                fill(other, LOCUS_IPV4, 10);
                struct tape again = save_at(other, second_ns);
                tape_free(&again);
                locus_tick(other, UINT64_C(1) << 60, SIZE_MAX);
            } else {
                MUST(stats_of(other).destinations == 0 && stats_of(other).servers == 0);
            }
            tape_free(&forgery);
            locus_service_destroy(other);
            ck_assert_uint_eq(memory.failed, 0);
            ck_assert_uint_eq(memory.live_bytes, 0);
        }
    }
    tape_free(&tape);
    locus_service_destroy(svc);
}
END_TEST

/* ---- memory ---------------------------------------------------------------------- */

static const struct locus_rules *evicting(void)
{
    return locus_rules_find("locus");
}

START_TEST(an_allocation_that_fails_is_reported_and_nothing_is_lost)
{
    struct testalloc memory = {.fail_at = 0};
    struct locus_allocator hooks = testalloc_hooks(&memory);
    struct locus_service_config config = {
        .scheduler = "lblcr", .allocator = &hooks, .rules = _i & 1 ? evicting() : NULL};
    struct locus_service *svc = create_with(config);
    for (uint32_t i = 1; i <= 40; i++) {
        add(svc, i);
    }
    fill(svc, LOCUS_IPV4, 600);
    MUST(locus_server_remove(svc, with_tag(svc, 2), 0) == LOCUS_OK);
    struct tape tape = save_at(svc, 60 * second_ns);
    uint64_t failures = 0;
    for (bool done = false; !done; failures++) {
        struct tape other = {.room = 0};
        memory.fail_on = _i & 2;
        memory.fail_at = memory.calls + 1 + failures;
        int status = locus_snapshot_save(svc, 60 * second_ns, tape_write, &other);
        memory.fail_at = 0;
        done = status == LOCUS_OK;
        MUST(done || status == LOCUS_ENOMEM);
        MUST(!done || (other.size == tape.size &&
                       memcmp(other.bytes, tape.bytes, tape.size) == 0));
        tape_free(&other);
    }
    MUST(failures > 1);
    failures = 0;
    for (bool done = false; !done; failures++) {
        struct locus_service *other = create_with(config);
        add(other, 1);
        char *before = snapshot(other, LOCUS_IPV4);
        memory.fail_at = memory.calls + 1 + failures;
        int status = load_from(other, &tape, whole, NULL);
        memory.fail_at = 0;
        done = status == LOCUS_OK;
        MUST(done || status == LOCUS_ENOMEM);
        char *after = snapshot(other, LOCUS_IPV4);
        MUST(done || strcmp(before, after) == 0);
        free(before);
        free(after);
        if (!done) {
            add(other, 2);
            fill(other, LOCUS_IPV4, 30);
        }
        locus_service_destroy(other);
    }
    MUST(failures > 40);
    tape_free(&tape);
    locus_service_destroy(svc);
    ck_assert_uint_eq(memory.live_bytes, 0);
}
END_TEST

static int swallow(void *arg, const void *bytes, size_t size)
{
    (void)bytes;
    *(uint64_t *)arg += size;
    return LOCUS_OK;
}

START_TEST(saving_a_large_map_takes_little_memory)
{
    struct testalloc memory = {.fail_at = 0};
    struct locus_allocator hooks = testalloc_hooks(&memory);
    enum locus_family family = (enum locus_family)(1 + _i);
    struct locus_rules rules = *locus_rules_find("kernel-classic");
    struct locus_service *svc = create_with((struct locus_service_config){
        .scheduler = "lblc", .family = family, .allocator = &hooks, .rules = &rules});
    uint64_t written = 0;
    add(svc, 1);
    for (uint32_t i = 0; i < 200000; i++) {
        connect_to(svc, family, i, 0);
    }
    memory.limit_bytes = memory.live_bytes + 200 * 1024;
    MUST(locus_snapshot_save(svc, 0, swallow, &written) == LOCUS_OK);
    MUST(written > 200000 * 16);
    ck_assert_uint_eq(memory.failed, 0);
    locus_service_destroy(svc);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("snapshot");
    TCase *tcase = suite_case(suite, "back again");
    int schedulers = 0;
    while (locus_scheduler_name((size_t)schedulers, NULL) != NULL) {
        schedulers++;
    }
    tcase_add_loop_test(tcase, everything_comes_back_in_every_family, 0, 6);
    tcase_add_loop_test(tcase, every_scheduler_can_be_saved, 0, schedulers);
    tcase_add_loop_test(tcase, the_clock_of_the_next_service_may_start_anywhere, 0, 8);
    tcase_add_test(tcase, times_before_the_clock_began_are_shown_as_0);
    tcase_add_loop_test(tcase, the_bytes_tell_nothing_of_the_table, 0, 2);
    tcase_add_loop_test(tcase, a_destination_takes_as_many_bytes_as_the_header_says, 0,
                        3);
    tcase = suite_case(suite, "choices");
    tcase_add_test(tcase, servers_that_the_service_has_keep_their_configuration);
    tcase_add_test(tcase, what_only_unknown_servers_serve_is_skipped_and_counted);
    tcase_add_test(tcase, a_server_in_the_trash_comes_back_with_its_destinations);
    tcase_add_test(tcase, rules_that_purge_take_no_destination_from_the_trash);
    tcase_add_test(tcase, connections_go_on_only_if_they_are_wanted);
    tcase_add_test(tcase, time_away_ages_destinations_and_lets_them_expire);
    tcase_add_test(tcase, of_too_many_destinations_the_oldest_are_left_out);
    tcase_add_loop_test(tcase, ticks_of_another_length_are_converted, 0, 4);
    tcase = suite_case(suite, "refusals");
    tcase_add_test(tcase, a_snapshot_of_another_kind_is_refused);
    tcase_add_test(tcase, a_service_that_is_in_use_takes_none);
    tcase_add_loop_test(tcase, a_snapshot_cut_anywhere_is_refused, 0, 3);
    tcase_add_loop_test(tcase, a_snapshot_with_any_bit_flipped_is_refused, 0, 2);
    tcase_add_test(tcase, blocks_that_change_places_are_refused);
    tcase_add_test(tcase, what_follows_a_snapshot_is_not_read);
    tcase_add_test(tcase, a_function_that_fails_ends_it_with_its_status);
    tcase_add_test(tcase, counts_that_lie_are_refused_and_take_no_memory);
    tcase_add_loop_test(tcase, numbers_that_lie_are_refused_or_harmless, 0, 2);
    tcase = suite_case(suite, "memory");
    tcase_add_loop_test(tcase, an_allocation_that_fails_is_reported_and_nothing_is_lost,
                        0, 4);
    tcase_add_loop_test(tcase, saving_a_large_map_takes_little_memory, 0, 3);
    return suite_run(suite);
}
