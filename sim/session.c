/* SPDX-License-Identifier: MIT */
#include "session.h"

#include <stdio.h>
#include <string.h>

#include "command.h"
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
    servers_free(&session->servers);
}

static void show_reading(void *arg, uint64_t done_bytes, uint64_t total_bytes)
{
    struct progress *progress = arg;

    progress->total = total_bytes;
    progress_update(progress, done_bytes);
}

int session_open(struct session *session, const struct trace_args *args,
                 char *const *paths, size_t count)
{
    struct trace_options options;
    struct progress progress;
    int status =
        trace_args_resolve(session->command, args, &options, &session->arrival_options);

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
        trace_report_bad(session->command, session->summary);
    }
    if (status != EXIT_OK) {
        return status;
    }
    if (session->summary->records == 0) {
        fprintf(stderr, "locus %s: there is no record to replay\n", session->command);
        return EXIT_EMPTY;
    }
    if (arrivals_open(&session->source, session->trace, &session->arrival_options) !=
        LOCUS_OK) {
        fprintf(stderr, "locus %s: out of memory\n", session->command);
        return EXIT_RUNTIME;
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
        arrivals_concurrency(&session->source, 990000, &session->concurrency_peak);
    if (session->concurrency_p99 < 0 || !arrivals_rewind(&session->source)) {
        return EXIT_RUNTIME;
    }
    return EXIT_OK;
}

uint32_t session_even_weight(const struct session *session, uint64_t headroom_percent)
{
    uint64_t parts = 0;
    uint64_t wanted = (uint64_t)session->concurrency_p99 * headroom_percent;
    uint64_t weight;

    for (size_t i = 0; i < session->servers.count; i++) {
        parts += session->servers.items[i].later ? 0 : 100;
    }
    weight = parts > 0 ? (wanted + parts - 1) / parts : 0;
    if (weight > LOCUS_WEIGHT_MAX) {
        return LOCUS_WEIGHT_MAX;
    }
    return weight < 2 ? 2 : (uint32_t)weight;
}

int session_weights(struct session *session, uint64_t headroom_percent)
{
    struct server_list *list = &session->servers;
    bool any = false;

    for (size_t i = 0; i < list->count; i++) {
        any = any || (list->items[i].weighted && !list->items[i].later);
    }
    if (any) {
        return EXIT_OK;
    }
    int status = session_concurrency(session);
    if (status != EXIT_OK) {
        return status;
    }
    session->weights_from_trace = true;
    for (size_t i = 0; i < list->count; i++) {
        if (!list->items[i].later) {
            list->items[i].weight = session_even_weight(session, headroom_percent);
        }
    }
    return EXIT_OK;
}
