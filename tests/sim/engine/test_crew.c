/* SPDX-License-Identifier: MIT */
/* Several engines over one trace: however long it is, and whoever of them fails where. */
#include "../suite.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/crew.h"
#include "trace/trace.h"

enum { MEMBERS = 3 };

/* ---- a policy that fails ---------------------------------------------------------- */

static uint64_t picks_until_failure; /* of each member that has it */

struct failing {
    uint64_t picks;
};

static int failing_make(const struct policy_setup *setup, void **state)
{
    (void)setup;
    *state = calloc(1, sizeof(struct failing));
    return LOCUS_OK;
}

static void failing_offer(void *state, uint32_t server, bool available)
{
    (void)state;
    (void)server;
    (void)available;
}

static int failing_pick(void *state, uint32_t *server)
{
    struct failing *self = state;

    *server = 0;
    return self->picks++ == picks_until_failure ? LOCUS_EIO : LOCUS_OK;
}

static int failing_finish(void *state)
{
    (void)state;
    return LOCUS_OK;
}

static const struct policy_ops failing_ops = {
    .name = "failing",
    .make = failing_make,
    .offer = failing_offer,
    .pick = failing_pick,
    .finish = failing_finish,
    .destroy = free,
};

/* ---- a crew ----------------------------------------------------------------------- */

static struct crew_member members[MEMBERS];
static struct server_list servers;
static struct arrival_source source;
static uint64_t read_in_all;
static volatile int stop;

static struct trace *make_trace(size_t records)
{
    static const struct trace_options options = {.format = "objects"};
    char path[] = "/tmp/locus-crew-XXXXXX";
    char *paths[] = {path};
    struct trace *trace;
    FILE *file = fdopen(mkstemp(path), "w");

    for (size_t i = 0; i < records; i++) {
        fprintf(file, "%zu %zu 10\n", i / 100, i % 7);
    }
    fclose(file);
    ck_assert_int_eq(trace_open(&options, paths, 1, &trace), 0);
    unlink(path);
    return trace;
}

static void note_progress(void *arg, uint64_t arrivals)
{
    (void)arg;
    read_in_all = arrivals;
}

/* Members whose bit is set in failing fail after so many picks. */
static int run(size_t records, unsigned failing, uint64_t picks)
{
    static const struct policy wlc = {.text = "wlc", .scheduler = "wlc"};
    static const struct policy fails = {
        .text = "failing", .scheduler = "none", .ops = &failing_ops};
    const struct arrival_options options = {.proto = CHOOSE_ALL, .speed_milli = 1000};
    struct trace *trace = make_trace(records);

    picks_until_failure = picks;
    read_in_all = 0;
    ck_assert_int_eq(servers_parse("test", "10.0.0.1*4,10.0.0.2*4", &servers), 0);
    ck_assert_int_eq(arrivals_open(&source, trace, &options), LOCUS_OK);
    for (size_t i = 0; i < MEMBERS; i++) {
        struct engine_config config = {
            .policy = failing >> i & 1 ? &fails : &wlc,
            .family = source.family,
            .servers = &servers,
            .tcpfin_ns = 1000000000,
        };
        ck_assert_int_eq(engine_create(&config, &members[i].engine), LOCUS_OK);
    }
    int result = crew_run(&source, members, MEMBERS, &stop, note_progress, NULL);
    arrivals_close(&source);
    trace_close(trace);
    return result;
}

static uint64_t connections(size_t member)
{
    struct figures figures;

    recorder_figures(engine_recorder(members[member].engine), SIZE_MAX, &figures);
    return figures.connections;
}

static void done(void)
{
    for (size_t i = 0; i < MEMBERS; i++) {
        engine_destroy(members[i].engine);
    }
    servers_free(&servers);
}

START_TEST(everybody_gets_everything_whatever_its_number)
{
    static const size_t counts[] = {
        1,
        ARRIVAL_BATCH - 1,
        ARRIVAL_BATCH,
        4 * ARRIVAL_BATCH,
        4 * ARRIVAL_BATCH + 1,
        8 * ARRIVAL_BATCH,
        9 * ARRIVAL_BATCH + 1,
        40 * ARRIVAL_BATCH - 1,
    };

    ck_assert_int_eq(run(counts[_i], 0, 0), 0);
    ck_assert_uint_eq(read_in_all, counts[_i]);
    for (size_t i = 0; i < MEMBERS; i++) {
        ck_assert_int_eq(members[i].status, LOCUS_OK);
        ck_assert_uint_eq(connections(i), counts[_i]);
    }
    done();
}
END_TEST

/* With the first, the last, two and all of them failing. */
START_TEST(whoever_fails_has_the_status_and_nobody_waits_for_ever)
{
    static const unsigned failing[] = {1, 4, 3, 7};
    static const uint64_t picks[] = {0, 4 * ARRIVAL_BATCH, 30 * ARRIVAL_BATCH + 5};
    const size_t records = 40 * ARRIVAL_BATCH;

    for (size_t p = 0; p < sizeof(picks) / sizeof(*picks); p++) {
        ck_assert_int_eq(run(records, failing[_i], picks[p]), 0);
        for (size_t i = 0; i < MEMBERS; i++) {
            bool fails = failing[_i] >> i & 1;
            ck_assert_int_eq(members[i].status, fails ? LOCUS_EIO : LOCUS_OK);
            ck_assert_uint_le(connections(i), fails ? picks[p] : records);
        }
        ck_assert_uint_le(read_in_all, records);
        done();
    }
}
END_TEST

START_TEST(who_is_stopped_at_once_reads_nothing)
{
    stop = 1;
    ck_assert_int_eq(run(5000, 0, 0), 0);
    stop = 0;
    ck_assert_uint_eq(read_in_all, 0);
    for (size_t i = 0; i < MEMBERS; i++) {
        ck_assert_int_eq(members[i].status, LOCUS_OK);
        ck_assert_uint_eq(connections(i), 0);
    }
    done();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("crew");
    TCase *tcase = suite_case(suite, "crew");

    tcase_add_loop_test(tcase, everybody_gets_everything_whatever_its_number, 0, 8);
    tcase_add_loop_test(tcase, whoever_fails_has_the_status_and_nobody_waits_for_ever,
                        0, 4);
    tcase_add_test(tcase, who_is_stopped_at_once_reads_nothing);
    return suite_run(suite);
}
