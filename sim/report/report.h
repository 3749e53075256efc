/* SPDX-License-Identifier: MIT */
/*
 * What a replay came to, ready to be written as table, JSON, CSV, Prometheus text or a page.
 * All of them say the same numbers under the same names; nothing in them depends on the
 * machine or the moment.
 */
#ifndef LOCUS_SIM_REPORT_H
#define LOCUS_SIM_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "../base/texts.h"
#include "../engine/arrivals.h"
#include "../engine/engine.h"
#include "../engine/figures.h"
#include "../engine/timeline.h"
#include "../trace/trace.h"

struct policy_report {
    const char *name;
    bool has_map;
    bool hashes_clients;
    struct figures total;
    struct figures *phases; /* phase_count */
    size_t phase_count;
    uint64_t *recovery_ms;          /* by phase: until the balance was as before, or
                              NEVER_RECOVERED; of phase 0 nothing */
    struct server_figures *servers; /* one per server */
    const struct recorder *recorder;
    const struct timeline *timeline; /* NULL: none was kept */
};

/* One of before, during, after. */
struct report_phase {
    char name[16];
    uint64_t from_ns;
    char events[384]; /* what began it: "fail 10.0.0.2:80, weight 10.0.0.3:80 0" */
};
enum { RECOVERED_WITHIN = 10 }; /* a tenth above the imbalance before counts as even */
#define NEVER_RECOVERED UINT64_MAX

/* Options that change a rule of the named set, as they are written. */
enum { RULES_CHANGED_MAX = 6, RULE_CHANGED_SIZE = 48 };

/* The destinations with the most connections. */
enum { HOT_DESTINATIONS = 20 };
struct hot_destination {
    char name[256];
    uint32_t number; /* in the recorders */
    uint64_t connections;
};

struct report {
    char *const *paths;
    size_t path_count;
    const struct trace_summary *trace;
    const struct arrival_counts *counts;
    const struct arrival_options *arrivals;
    const struct server_list *servers;
    const char *rules;
    char rules_changed[RULES_CHANGED_MAX][RULE_CHANGED_SIZE];
    size_t rules_changed_count;
    uint64_t tcpfin_ns, udp_ns, expiration_ns;
    struct cache_config cache;
    bool weights_from_trace; /* servers' weights were chosen by concurrency */
    uint64_t concurrency_p99, concurrency_peak; /* of the trace; then known */
    bool interrupted;
    const char *director_by; /* NULL: no policy has several directors */
    bool stagger;
    const char *pool; /* the file that the servers came from, or NULL */
    struct policy_report *policies;
    size_t policy_count;
    const struct report_phase *phases;
    size_t phase_count;   /* that were reached; 1 without a scenario */
    uint64_t interval_ns; /* of the timelines; 0: none */
    struct hot_destination hot[HOT_DESTINATIONS]; /* under the first policy */
    size_t hot_count;
};

struct table_options {
    size_t width;
    bool per_server;
};

void report_table(FILE *out, const struct report *report,
                  const struct table_options *options);
/* The whole report as one object, for --json and the page; NULL: no memory. */
json_t *report_object(const struct report *report);
bool report_json(FILE *out, const struct report *report);
void report_csv(FILE *out, const struct report *report);
/* Every policy must have its timeline. */
void report_timeline(FILE *out, const struct report *report);
void report_metrics(FILE *out, const struct report *report, bool per_server);
/* Every policy must have its timeline. */
bool report_html(FILE *out, const struct report *report);
/* Every policy must have its timeline. */
void report_svg(FILE *out, const struct report *report);
/* When the last connection arrives; at least 1, for an axis to have an extent. */
uint64_t report_arrivals_end_ms(const struct report *report);

/* The phases that events make, into room for PHASES_MAX; returns how many. */
size_t report_list_phases(const struct server_list *list, struct report_phase *phases);
/* Fills recovery_ms of every phase but the first, to the interval's precision. The policy must
 * have its timeline. */
void report_find_recoveries(const struct report *report, struct policy_report *policy);

/* Whether a figure says something about this report or policy. */
bool report_wants(const struct report *report, const struct figure_spec *spec);
bool policy_wants(const struct policy_report *policy, const struct figure_spec *spec);

#endif
