/* SPDX-License-Identifier: MIT */
/* All policies over the trace, at the same time. */
#include "replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../cli/progress.h"
#include "../engine/map_file.h"

static int choose_interval(struct replay *replay)
{
    const struct replay_args *args = &replay->args;
    const struct trace_summary *t = replay->session.summary;
    uint64_t span_ns = t->end_ns > t->first_ns ? t->end_ns - t->first_ns : 0;

    /* With events the intervals tell how long a recovery takes. */
    if (args->timeline == NULL && args->html == NULL && args->svg == NULL &&
        replay->setup.servers.event_count == 0) {
        replay->args.interval_ns = 0;
        return EXIT_OK;
    }
    if (args->interval_ns == 0) {
        replay->args.interval_ns = timeline_choose_interval(span_ns);
    }
    if (span_ns / replay->args.interval_ns >= TIMELINE_MAX) {
        return usage_error("replay",
                           "--interval: too short: %" PRIu64 " intervals, at most %d",
                           span_ns / replay->args.interval_ns, TIMELINE_MAX);
    }
    return EXIT_OK;
}

/* 0 of the engine is the default; 0 of the command line is no time at all, and one
 * nanosecond is less than a tick. */
static int64_t expiration(uint64_t ns)
{
    if (ns == 0) {
        return 1;
    }
    return ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
}

static int make_engine(struct replay *replay, size_t i)
{
    const struct replay_args *args = &replay->args;
    struct engine_config config = {
        .policy = &replay->policies[i],
        .rules = replay->setup.rules,
        .family = replay->session.source.family,
        .expiration_ns = expiration(args->expiration_ns),
        .max_entries = (uint32_t)args->max_entries,
        .seed = args->setup.seed,
        .servers = &replay->setup.servers,
        .tcpfin_ns = args->setup.tcpfin_ns,
        .director_by = (enum director_by)args->director_by,
        .stagger = args->stagger,
        .herd = replay_has_directors(replay),
        .pool_uri = args->pool_uri,
        .error = replay->errors[i],
        .cache = replay->setup.cache,
        .phases = true,
        .interval_ns = args->interval_ns,
    };

    if (args->interval_ns != 0) {
        config.interval = timeline_note;
        config.interval_arg = &replay->timelines[i];
        if (timeline_init(&replay->timelines[i], (uint32_t)config.servers->count) !=
            LOCUS_OK) {
            return memory_error("replay");
        }
    }
    if (args->decisions != NULL) {
        config.decision = decisions_note;
        config.decision_arg = &replay->decisions[i];
        if (!decisions_init(&replay->decisions[i], replay->setup.cache.capacity > 0)) {
            return EXIT_RUNTIME;
        }
    }
    int status = engine_create(&config, &replay->members[i].engine);
    return status == LOCUS_OK ? EXIT_OK : replay_policy_failed(replay, i, status);
}

static void show_replaying(void *arg, uint64_t arrivals)
{
    progress_update(arg, arrivals);
}

/* A Ctrl-C ends what goes on: the reading, of which the result is replayed, or the replay. */
static void note_interrupt(struct replay *replay)
{
    if (progress_stop != 0) {
        replay->interrupted = true;
        progress_stop = 0;
        progress_catch_interrupt();
    }
}

static int run_engines(struct replay *replay)
{
    struct progress progress;
    int status;

    progress_begin(&progress, "replaying", "connections",
                   replay->session.summary->records);
    status = crew_run(&replay->session.source, replay->members, replay->policy_count,
                      &progress_stop, show_replaying, &progress);
    progress_end(&progress);
    for (size_t i = 0; i < replay->policy_count && status == 0; i++) {
        if (replay->members[i].status != LOCUS_OK) {
            (void)replay_policy_failed(replay, i, replay->members[i].status);
            return EXIT_RUNTIME;
        }
    }
    note_interrupt(replay);
    replay->counts = replay->session.source.counts;
    if (replay->counts.arrivals == 0 && replay->interrupted) {
        fprintf(stderr, "locus replay: interrupted before the first connection\n");
        return EXIT_RUNTIME;
    }
    if (status == 0 && replay->counts.arrivals == 0) {
        fprintf(stderr,
                "locus replay: no connection to replay: all %" PRIu64
                " records are of other protocols (see --proto)\n",
                replay->counts.other_protocols);
        return EXIT_EMPTY;
    }
    return status == 0 ? EXIT_OK : EXIT_RUNTIME;
}

static int make_engines(struct replay *replay)
{
    size_t count = replay->policy_count;
    int status = choose_interval(replay);

    replay->members = calloc(count, sizeof(*replay->members));
    replay->timelines = calloc(count, sizeof(*replay->timelines));
    replay->decisions = calloc(count, sizeof(*replay->decisions));
    replay->report.policies = calloc(count, sizeof(*replay->report.policies));
    if (replay->members == NULL || replay->timelines == NULL ||
        replay->decisions == NULL || replay->report.policies == NULL) {
        return memory_error("replay");
    }
    for (size_t i = 0; status == EXIT_OK && i < count; i++) {
        status = make_engine(replay, i);
    }
    if (status == EXIT_OK && replay->map != NULL) {
        status = map_file_load("replay", replay->args.load, replay->map,
                               replay->members[0].engine);
        replay->map = NULL;
    }
    return status;
}

int replay_run(struct replay *replay)
{
    int status =
        session_open(&replay->session, &replay->args.read, &replay->setup.arrivals,
                     replay->paths, replay->path_count);

    note_interrupt(replay);
    if (status == EXIT_OK) {
        status = session_weights(&replay->session, 125, &replay->setup.servers);
    }
    if (status == EXIT_OK) {
        status = make_engines(replay);
    }
    return status == EXIT_OK ? run_engines(replay) : status;
}

void replay_free(struct replay *replay)
{
    for (size_t i = 0; i < replay->policy_count; i++) {
        if (replay->report.policies != NULL) {
            free(replay->report.policies[i].phases);
            free(replay->report.policies[i].recovery_ms);
            free(replay->report.policies[i].servers);
        }
        if (replay->members != NULL) {
            engine_destroy(replay->members[i].engine);
        }
        if (replay->timelines != NULL) {
            timeline_fini(&replay->timelines[i]);
        }
        if (replay->decisions != NULL) {
            decisions_fini(&replay->decisions[i]);
        }
    }
    if (replay->map != NULL) {
        fclose(replay->map);
    }
    free(replay->report.policies);
    free(replay->members);
    free(replay->timelines);
    free(replay->decisions);
    free(replay->errors);
    session_fini(&replay->session);
    servers_free(&replay->setup.servers);
}
