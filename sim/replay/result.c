/* SPDX-License-Identifier: MIT */
/* What the run came to: the report, filled in from the engines. */
#include "replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Which phases there are, and which of them the trace was too short for. */
static void list_phases(struct replay *replay)
{
    size_t listed = report_list_phases(&replay->setup.servers, replay->phases);
    struct report *report = &replay->report;
    char at[TEXT_SIZE];

    report->phases = replay->phases;
    report->phase_count = 1;
    for (size_t i = 0; i < replay->policy_count; i++) {
        size_t reached = engine_recorder(replay->members[i].engine)->phase_count;
        if (reached > report->phase_count) {
            report->phase_count = reached;
        }
    }
    for (size_t i = report->phase_count; i < listed && !replay->interrupted; i++) {
        fprintf(stderr,
                "locus replay: the trace ends before %s, so that this does not happen: "
                "%s\n",
                text_time(replay->phases[i].from_ns / 1000000u, at),
                replay->phases[i].events);
    }
}

static int report_policy(struct replay *replay, size_t i)
{
    struct policy_report *p = &replay->report.policies[i];
    const struct recorder *r = engine_recorder(replay->members[i].engine);

    p->name = replay->policies[i].text;
    p->has_map = policy_has_map(&replay->policies[i]);
    p->hashes_clients = policy_hashes_clients(&replay->policies[i]);
    p->recorder = r;
    p->phase_count = r->phase_count;
    p->phases = calloc(r->phase_count, sizeof(*p->phases));
    p->recovery_ms = calloc(r->phase_count, sizeof(*p->recovery_ms));
    p->servers = calloc(r->server_count, sizeof(*p->servers));
    if (p->phases == NULL || p->servers == NULL || p->recovery_ms == NULL) {
        return memory_error("replay");
    }
    recorder_figures(r, SIZE_MAX, &p->total);
    recorder_server_figures(r, SIZE_MAX, p->servers);
    for (size_t phase = 0; phase < r->phase_count; phase++) {
        recorder_figures(r, phase, &p->phases[phase]);
    }
    if (replay->args.interval_ns != 0) {
        p->timeline = &replay->timelines[i];
        if (p->timeline->status != LOCUS_OK) {
            return memory_error("replay");
        }
        report_find_recoveries(&replay->report, p);
    }
    return EXIT_OK;
}

/* The busiest destinations of the first policy's run, earlier ones first among equals. */
static void find_hot(struct replay *replay)
{
    struct report *report = &replay->report;
    const struct recorder *r = report->policies[0].recorder;

    for (size_t d = 0; d < r->contact_count; d++) {
        uint64_t connections = r->contacts[d].connections;
        size_t at = report->hot_count;
        while (at > 0 && report->hot[at - 1].connections < connections) {
            at--;
        }
        if (at == HOT_DESTINATIONS || connections == 0) {
            continue;
        }
        report->hot_count += report->hot_count < HOT_DESTINATIONS;
        memmove(report->hot + at + 1, report->hot + at,
                (report->hot_count - 1 - at) * sizeof(*report->hot));
        report->hot[at].number = (uint32_t)d;
        report->hot[at].connections = connections;
    }
    for (size_t i = 0; i < report->hot_count; i++) {
        struct hot_destination *hot = &report->hot[i];
        arrivals_destination_text(&replay->session.source, hot->number, hot->name,
                                  sizeof(hot->name));
    }
}

static char *next_change(struct report *report)
{
    return report->rules_changed[report->rules_changed_count++];
}

static void list_slow_start(const struct locus_rules *rules,
                            const struct locus_rules *named, struct report *report)
{
    char window[DURATION_TEXT];

    if (rules->slow_start_ns == 0) {
        return;
    }
    snprintf(next_change(report), RULE_CHANGED_SIZE, "--slow-start %s",
             duration_text(rules->slow_start_ns, window));
    if (rules->slow_start_exponent != named->slow_start_exponent) {
        snprintf(next_change(report), RULE_CHANGED_SIZE,
                 "--slow-start-exponent %" PRIu32, rules->slow_start_exponent);
    }
    if (rules->slow_start_floor_percent != named->slow_start_floor_percent) {
        snprintf(next_change(report), RULE_CHANGED_SIZE, "--slow-start-floor %" PRIu32,
                 rules->slow_start_floor_percent);
    }
}

/* What the options made of the named set, as far as it was not so before. */
static void list_changed_rules(const struct replay *replay, struct report *report)
{
    const struct replay_args *args = &replay->args;
    const struct locus_rules *named = locus_rules_find(replay->setup.rules_name);
    const struct locus_rules *rules = &replay->rules;

    if (rules->evict != named->evict) {
        snprintf(next_change(report), RULE_CHANGED_SIZE, "--replace");
    }
    if (rules->no_server != named->no_server) {
        snprintf(next_change(report), RULE_CHANGED_SIZE, "--no-server %s",
                 replay_no_server[args->no_server]);
    }
    if (args->max_entries != 0 && args->max_entries != named->max_entries) {
        snprintf(next_change(report), RULE_CHANGED_SIZE, "--max-entries %" PRIu64,
                 args->max_entries);
    }
    list_slow_start(rules, named, report);
}

int replay_result(struct replay *replay)
{
    const struct replay_args *args = &replay->args;
    const struct session *session = &replay->session;
    struct report *report = &replay->report;
    int status = EXIT_OK;

    list_phases(replay);
    report->paths = replay->paths;
    report->path_count = replay->path_count;
    report->trace = session->summary;
    report->counts = &replay->counts;
    report->arrivals = &replay->setup.arrivals;
    report->servers = &replay->setup.servers;
    report->rules = replay->setup.rules_name;
    list_changed_rules(replay, report);
    report->tcpfin_ns = args->setup.tcpfin_ns;
    report->udp_ns = args->setup.udp_ns;
    report->expiration_ns = args->expiration_ns;
    report->cache = replay->setup.cache;
    report->weights_from_trace = session->weights_from_trace;
    report->concurrency_p99 = (uint64_t)session->concurrency_p99;
    report->concurrency_peak = session->concurrency_peak;
    report->interrupted = replay->interrupted;
    report->pool = args->setup.pool;
    report->policy_count = replay->policy_count;
    report->interval_ns = args->interval_ns;
    report->director_by =
        replay_has_directors(replay) ? replay_directors[args->director_by] : NULL;
    report->stagger = args->stagger;
    for (size_t i = 0; status == EXIT_OK && i < replay->policy_count; i++) {
        status = report_policy(replay, i);
    }
    if (status == EXIT_OK) {
        find_hot(replay);
    }
    return status;
}
