/* SPDX-License-Identifier: MIT */
/*
 * CSV: one row per policy, all figures, empty where one does not apply; with a scenario also
 * one row per phase. And the timeline's rows.
 */
#include <inttypes.h>
#include <string.h>

#include "../base/csv.h"
#include "report.h"

static void write_row(FILE *out, const struct report *report,
                      const struct policy_report *policy, const char *phase,
                      const struct figures *figures)
{
    bool whole = figures == &policy->total;

    csv_text(out, policy->name);
    fprintf(out, ",%s", phase);
    for (const struct figure_spec *s = figure_specs; s->name != NULL; s++) {
        fputc(',', out);
        if ((s->needs == NEEDS_REFUSALS || report_wants(report, s)) &&
            policy_wants(policy, s) && (whole || !s->run_wide)) {
            fprintf(out, "%" PRIu64, figure_value(figures, s));
        }
    }
    fputc('\n', out);
}

void report_csv(FILE *out, const struct report *report)
{
    fprintf(out, "policy,phase");
    for (const struct figure_spec *s = figure_specs; s->name != NULL; s++) {
        fprintf(out, ",%s", s->name);
    }
    fputc('\n', out);
    for (size_t i = 0; i < report->policy_count; i++) {
        const struct policy_report *policy = &report->policies[i];
        write_row(out, report, policy, "all", &policy->total);
        for (size_t p = 0; policy->phase_count > 1 && p < policy->phase_count; p++) {
            write_row(out, report, policy, report->phases[p].name, &policy->phases[p]);
        }
    }
}

static void write_point(FILE *out, const struct report *report,
                        const struct policy_report *policy, size_t index)
{
    const struct timeline *t = policy->timeline;
    const struct timeline_point *point = &t->points[index];
    uint64_t at_ms = point->at_ns / 1000000u;
    uint64_t active = 0;

    for (uint32_t s = 0; s < t->server_count; s++) {
        active += t->servers[index * t->server_count + s].active;
    }
    fprintf(out, "%" PRIu64 ",%s,all,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",",
            at_ms, policy->name, active, point->connections, point->refused,
            point->moves);
    if (report->cache.capacity > 0) {
        fprintf(out, "%" PRIu64, point->hits);
    }
    fprintf(out, ",%" PRIu64 "\n", point->imbalance_ppm);
    for (uint32_t s = 0; s < t->server_count; s++) {
        const struct timeline_server *server = &t->servers[index * t->server_count + s];
        fprintf(out, "%" PRIu64 ",%s,", at_ms, policy->name);
        csv_text(out, report->servers->items[s].name);
        fprintf(out, ",%" PRIu32 ",%" PRIu32 ",,,,\n", server->active,
                server->connections);
    }
}

void report_timeline(FILE *out, const struct report *report)
{
    fprintf(out, "time_ms,policy,server,active,connections,refused,moves,hits,"
                 "imbalance_ppm\n");
    for (size_t p = 0; p < report->policy_count; p++) {
        const struct policy_report *policy = &report->policies[p];
        for (size_t i = 0; i < policy->timeline->count; i++) {
            write_point(out, report, policy, i);
        }
    }
}
