/* SPDX-License-Identifier: MIT */
/*
 * What replay, lint and advise begin with: an open trace, servers, and weights for those that
 * have none.
 */
#ifndef LOCUS_SIM_SESSION_H
#define LOCUS_SIM_SESSION_H

#include "../engine/arrivals.h"
#include "../servers/servers.h"
#include "read_args.h"

struct session {
    const char *command;
    struct trace *trace; /* NULL until opened */
    const struct trace_summary *summary;
    struct arrival_source source;
    bool source_open;
    bool weights_from_trace;
    int64_t concurrency_p99; /* -1: not looked at */
    uint64_t concurrency_peak;
};

void session_init(struct session *session, const char *command);
void session_fini(struct session *session);
/* Opens the trace and says on stderr what was bad in it. An exit_code. */
int session_open(struct session *session, const struct read_args *args,
                 const struct arrival_options *arrivals, char *const *paths,
                 size_t count);
/* Counts the concurrency, once. An exit_code. */
int session_concurrency(struct session *session);
/*
 * When no server has a weight, all get the same one, so that together they hold
 * headroom_percent of the 99th percentile over time of the trace's concurrency, and at least
 * 2 each. When some have, the others get 1. An exit_code.
 */
int session_weights(struct session *session, uint64_t headroom_percent,
                    struct server_list *servers);

#endif
