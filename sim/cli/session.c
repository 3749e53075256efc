/* SPDX-License-Identifier: MIT */
#include "session.h"

#include <stdio.h>
#include <string.h>

#include "../engine/figures.h"
#include "progress.h"

void session_init(struct session *session, const char *command)
{
    memset(session, 0, sizeof(*session));
    session->command = command;
    session->concurrency_p99 = -1;
}

void session_fini(struct session *session)
{
    if (session->source_open) {
        arrivals_close(&session->source);
    }
    if (session->trace != NULL) {
        trace_close(session->trace);
    }
}

static void show_reading(void *arg, uint64_t done_bytes, uint64_t total_bytes)
{
    struct progress *progress = arg;

    progress->total = total_bytes;
    progress_update(progress, done_bytes);
}

/* Times of a replay are nanoseconds in 63 bits. */
static bool lasts_too_long(const struct trace_summary *summary, uint64_t speed_milli)
{
    figure_sum span_ns = summary->last_ns - summary->first_ns;

    return span_ns * 1000 / speed_milli > INT64_MAX;
}

int session_open(struct session *session, const struct read_args *args,
                 const struct arrival_options *arrivals, char *const *paths,
                 size_t count)
{
    struct trace_options options;
    struct progress progress;
    int status = read_args_resolve(session->command, args, &options);

    if (status != EXIT_OK) {
        return status;
    }
    progress_begin(&progress, "reading", "B", 0);
    options.progress = show_reading;
    options.progress_arg = &progress;
    options.stop = &progress_stop;
    status = trace_open(&options, paths, count, &session->trace);
    progress_end(&progress);
    if (session->trace != NULL) {
        session->summary = trace_summary(session->trace);
        read_report_bad(session->command, session->summary);
    }
    if (status != EXIT_OK) {
        return status;
    }
    if (session->summary->records == 0 && progress_stop != 0) {
        fprintf(stderr, "locus %s: interrupted before the first record\n",
                session->command);
        return EXIT_RUNTIME;
    }
    if (session->summary->records == 0) {
        fprintf(stderr, "locus %s: there is no record to replay\n", session->command);
        return EXIT_EMPTY;
    }
    if (lasts_too_long(session->summary, arrivals->speed_milli)) {
        return usage_error(session->command,
                           "--speed: so slow, the trace lasts longer than 292 years");
    }
    if (arrivals_open(&session->source, session->trace, arrivals) != LOCUS_OK) {
        return memory_error(session->command);
    }
    session->source_open = true;
    return EXIT_OK;
}

int session_concurrency(struct session *session)
{
    if (session->concurrency_p99 >= 0) {
        return EXIT_OK;
    }
    session->concurrency_p99 =
        arrivals_concurrency(&session->source, 990000, 0, &session->concurrency_peak);
    if (session->concurrency_p99 < 0 || !arrivals_rewind(&session->source)) {
        return EXIT_RUNTIME;
    }
    return EXIT_OK;
}

static uint32_t even_weight(uint64_t concurrency, uint64_t headroom_percent,
                            uint64_t servers)
{
    uint64_t parts = 100 * servers;
    uint64_t weight = (concurrency * headroom_percent + parts - 1) / parts;

    if (weight > LOCUS_WEIGHT_MAX) {
        return LOCUS_WEIGHT_MAX;
    }
    return weight < 2 ? 2 : (uint32_t)weight;
}

int session_weights(struct session *session, uint64_t headroom_percent,
                    struct server_list *servers)
{
    uint64_t in_service = 0;
    bool any = false;

    for (size_t i = 0; i < servers->count; i++) {
        any = any || (servers->items[i].weighted && !servers->items[i].later);
        in_service += !servers->items[i].later;
    }
    if (any || in_service == 0) {
        return EXIT_OK;
    }
    int status = session_concurrency(session);
    if (status != EXIT_OK) {
        return status;
    }
    session->weights_from_trace = true;
    for (size_t i = 0; i < servers->count; i++) {
        if (!servers->items[i].later) {
            servers->items[i].weight = even_weight((uint64_t)session->concurrency_p99,
                                                   headroom_percent, in_service);
        }
    }
    return EXIT_OK;
}
