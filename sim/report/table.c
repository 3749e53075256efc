/* SPDX-License-Identifier: MIT */
/*
 * The table for people: most telling columns first, as many as the width holds, right-aligned,
 * with what was replayed and by which assumptions above it.
 */
#include <inttypes.h>
#include <string.h>

#include "report.h"

enum { COLUMNS_MAX = 32, GAP = 2, LAST_COLUMN = 7 };

static const char *figure_text(const struct figure_spec *spec, uint64_t value,
                               char text[TEXT_SIZE])
{
    switch (spec->unit) {
    case FIGURE_COUNT:
        return text_count(value, text);
    case FIGURE_BYTES:
        return text_bytes(value, text);
    case FIGURE_MS:
        return text_time(value, text);
    case FIGURE_SHARE:
        return text_share(value, text);
    case FIGURE_RATIO:
        return text_ratio(value, text);
    }
    return "";
}

bool policy_wants(const struct policy_report *policy, const struct figure_spec *spec)
{
    return spec->needs != NEEDS_MAP || policy->has_map;
}

static bool has_event(const struct server_list *list, enum server_event_kind kind)
{
    for (size_t i = 0; i < list->event_count; i++) {
        if (list->events[i].kind == kind) {
            return true;
        }
    }
    return false;
}

bool report_wants(const struct report *report, const struct figure_spec *spec)
{
    switch (spec->needs) {
    case NEEDS_NOTHING:
        return true;
    case NEEDS_CACHE:
        return report->cache.capacity > 0;
    case NEEDS_REMOVALS:
        return has_event(report->servers, EVENT_REMOVE) ||
               has_event(report->servers, EVENT_FAIL);
    case NEEDS_GUARD:
        return has_event(report->servers, EVENT_GUARD);
    case NEEDS_BREAKS:
        return has_event(report->servers, EVENT_BREAK);
    case NEEDS_DIRECTORS:
        return report->director_by != NULL;
    case NEEDS_MAP:
    case NEEDS_REFUSALS:
        break;
    }
    for (size_t i = 0; i < report->policy_count; i++) {
        const struct policy_report *p = &report->policies[i];
        if (spec->needs == NEEDS_MAP ? p->has_map : p->total.refused > 0) {
            return true;
        }
    }
    return false;
}

/* ---- what was replayed ----------------------------------------------------------- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

static void print_trace(FILE *out, const struct report *report)
{
    const struct trace_summary *t = report->trace;
    char a[TEXT_SIZE], b[TEXT_SIZE], c[TEXT_SIZE];

    fprintf(out, "trace    ");
    for (size_t i = 0; i < report->path_count && i < 3; i++) {
        fprintf(out, "%s%s", i > 0 ? ", " : "", base_name(report->paths[i]));
    }
    if (report->path_count > 3) {
        fprintf(out, " and %zu more", report->path_count - 3);
    }
    fprintf(out, " (%s)\n", t->formats);
    fprintf(out, "         %s records, %s bad, %s destinations",
            text_count(t->records, a), text_count(t->bad, b),
            text_count(t->destinations, c));
    fprintf(out, ", %s%s\n", text_time((t->last_ns - t->first_ns) / 1000000u, a),
            report->interrupted ? ", INTERRUPTED" : "");
}

static bool any_hashes_clients(const struct report *report)
{
    for (size_t i = 0; i < report->policy_count; i++) {
        if (report->policies[i].hashes_clients) {
            return true;
        }
    }
    return false;
}

static void print_assumptions(FILE *out, const struct report *report)
{
    static const char *const protocols[] = {"TCP connections", "UDP flows",
                                            "connections"};
    const struct arrival_counts *c = report->counts;
    const struct duration_model *d = &report->arrivals->duration;
    char a[TEXT_SIZE], b[TEXT_SIZE];

    fprintf(out, "replay   %s %s", text_count(c->arrivals, a),
            protocols[report->arrivals->proto]);
    if (c->other_protocols > 0) {
        fprintf(out, "; %s of other protocols left out",
                text_count(c->other_protocols, a));
    }
    fprintf(out, "\n");
    if (c->without_duration > 0) {
        fprintf(out, "         %s have no duration and last ",
                text_count(c->without_duration, a));
        if (d->kind == DURATION_CONST) {
            fprintf(out, "%s\n", text_time(d->time_ns / 1000000u, b));
        } else if (d->kind == DURATION_RATE) {
            fprintf(out, "their bytes at %s/s\n", text_bytes(d->bytes_per_s, b));
        } else {
            fprintf(out, "%s in the median (log-normal, sigma %" PRIu64 ".%03u)\n",
                    text_time(d->time_ns / 1000000u, b), d->sigma_milli / 1000,
                    (unsigned)(d->sigma_milli % 1000));
        }
    }
    if (report->trace->timeless) {
        fprintf(out, "         no times in the trace: arrivals at an even rate\n");
    }
    if (report->trace->clients == 0 && report->trace->records > 0 &&
        any_hashes_clients(report)) {
        fprintf(out, "         no clients in the trace: sh and mh, which go by them, "
                     "see one\n");
    }
}

static void print_servers(FILE *out, const struct report *report)
{
    const struct server_list *list = report->servers;
    uint64_t total = 0, in_service = 0, capacity = 0;
    uint32_t first = 0;
    bool even = true, apart = false;
    char a[TEXT_SIZE], b[TEXT_SIZE];

    for (size_t i = 0; i < list->count; i++) {
        const struct server_spec *s = &list->items[i];
        if (!s->later) {
            first = in_service++ == 0 ? s->weight : first;
            total += s->weight;
            capacity += server_capacity(s);
            apart = apart || s->capacity != 0;
            even = even && s->weight == first;
        }
    }
    fprintf(out, "servers  %" PRIu64, in_service);
    if (report->pool != NULL) {
        fprintf(out, " from %s", base_name(report->pool));
    }
    if (even) {
        fprintf(out, ", weight %s%s", text_count(first, a),
                in_service == 1 ? "" : " each");
    } else {
        fprintf(out, ", weights %s together", text_count(total, a));
    }
    if (apart) {
        fprintf(out, ", capacity %s together", text_count(capacity, a));
    }
    if (report->weights_from_trace) {
        fprintf(out, ": for 1.25 x the trace's p99 of %s concurrent (peak %s)",
                text_count(report->concurrency_p99, a),
                text_count(report->concurrency_peak, b));
    }
    fprintf(out, "\nrules    %s", report->rules);
    for (size_t i = 0; i < report->rules_changed_count; i++) {
        fprintf(out, ", %s", report->rules_changed[i]);
    }
    if (report->cache.capacity > 0) {
        fprintf(out, "; %s cache of %s%s on each server",
                cache_policy_names[report->cache.policy],
                report->cache.objects ? text_count(report->cache.capacity, a)
                                      : text_bytes(report->cache.capacity, a),
                report->cache.objects ? " objects" : "");
    }
    if (report->director_by != NULL) {
        fprintf(out, "\nshared   among directors by %s%s", report->director_by,
                report->stagger ? ", who list the servers from different ones on" : "");
    }
    fprintf(out, "\n\n");
}

/* ---- columns --------------------------------------------------------------------- */

struct column {
    const struct figure_spec *spec;
    size_t width;
};

/* Which rows a table has: one a policy for the whole run, or one a policy and phase. */
enum rows { ROWS_WHOLE, ROWS_PHASES };

static size_t wider(size_t width, const struct figure_spec *spec,
                    const struct figures *figures)
{
    char text[TEXT_SIZE];
    size_t length = strlen(figure_text(spec, figure_value(figures, spec), text));

    return length > width ? length : width;
}

static size_t column_width(const struct report *report, const struct figure_spec *spec,
                           enum rows rows)
{
    size_t width = strlen(spec->label);

    for (size_t i = 0; i < report->policy_count; i++) {
        const struct policy_report *p = &report->policies[i];
        if (rows == ROWS_WHOLE) {
            width = wider(width, spec, &p->total);
        }
        for (size_t k = 0; rows == ROWS_PHASES && k < p->phase_count; k++) {
            width = wider(width, spec, &p->phases[k]);
        }
    }
    return width;
}

/* The columns that fit into room, by rank; one too wide is passed over. */
static size_t choose_columns(const struct report *report, enum rows rows, size_t room,
                             struct column columns[COLUMNS_MAX])
{
    size_t count = 0;

    for (int rank = 1; rank < 64 && count < COLUMNS_MAX; rank++) {
        for (const struct figure_spec *s = figure_specs; s->name != NULL; s++) {
            if (s->rank != rank || !report_wants(report, s) || count == COLUMNS_MAX ||
                (rows == ROWS_PHASES && s->run_wide)) {
                continue;
            }
            size_t width = column_width(report, s, rows);
            if (width + GAP <= room) {
                columns[count++] = (struct column){.spec = s, .width = width};
                room -= width + GAP;
            }
        }
    }
    return count;
}

/* Ends a row or a heading; last: a column of its own behind the figures, or NULL. */
static void end_row(FILE *out, const char *last)
{
    if (last != NULL) {
        fprintf(out, "  %*s", LAST_COLUMN, last);
    }
    fputc('\n', out);
}

static void print_row(FILE *out, const struct policy_report *policy, const char *name,
                      size_t name_width, const struct figures *figures,
                      const struct column *columns, size_t count, const char *last)
{
    char text[TEXT_SIZE];

    fprintf(out, "%-*s", (int)name_width, name);
    for (size_t i = 0; i < count; i++) {
        const struct figure_spec *spec = columns[i].spec;
        fprintf(out, "  %*s", (int)columns[i].width,
                policy_wants(policy, spec)
                    ? figure_text(spec, figure_value(figures, spec), text)
                    : "-");
    }
    end_row(out, last);
}

static size_t name_width(const struct report *report)
{
    size_t width = strlen("policy");

    for (size_t i = 0; i < report->policy_count; i++) {
        size_t length = strlen(report->policies[i].name);
        width = length > width ? length : width;
    }
    return width;
}

static void print_head(FILE *out, const char *first, size_t width,
                       const struct column *columns, size_t count, const char *last)
{
    fprintf(out, "%-*s", (int)width, first);
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "  %*s", (int)columns[i].width, columns[i].spec->label);
    }
    end_row(out, last);
}

static void print_policies(FILE *out, const struct report *report, size_t width)
{
    struct column columns[COLUMNS_MAX];
    size_t names = name_width(report);
    size_t count =
        choose_columns(report, ROWS_WHOLE, width > names ? width - names : 0, columns);

    print_head(out, "policy", names, columns, count, NULL);
    for (size_t i = 0; i < report->policy_count; i++) {
        const struct policy_report *p = &report->policies[i];
        print_row(out, p, p->name, names, &p->total, columns, count, NULL);
    }
}

static void print_phase(FILE *out, const struct report *report, size_t p,
                        const struct column *columns, size_t count)
{
    const struct report_phase *phase = &report->phases[p];
    size_t names = name_width(report);
    char text[TEXT_SIZE];

    if (p == 0) {
        fprintf(out, "\n%s\n", phase->name);
    } else {
        fprintf(out, "\n%s, from %s: %s\n", phase->name,
                text_time(phase->from_ns / 1000000u, text), phase->events);
    }
    print_head(out, "policy", names, columns, count, p > 0 ? "even in" : NULL);
    for (size_t i = 0; i < report->policy_count; i++) {
        const struct policy_report *policy = &report->policies[i];
        if (p >= policy->phase_count) {
            continue;
        }
        const char *even = NULL;
        if (p > 0) {
            even = policy->recovery_ms[p] == NEVER_RECOVERED
                       ? "never"
                       : text_time(policy->recovery_ms[p], text);
        }
        print_row(out, policy, policy->name, names, &policy->phases[p], columns, count,
                  even);
    }
}

static void print_phases(FILE *out, const struct report *report, size_t width)
{
    struct column columns[COLUMNS_MAX];
    size_t taken = name_width(report) + GAP + LAST_COLUMN;
    size_t count =
        choose_columns(report, ROWS_PHASES, width > taken ? width - taken : 0, columns);
    char text[TEXT_SIZE];

    for (size_t p = 0; p < report->phase_count; p++) {
        print_phase(out, report, p, columns, count);
    }
    fprintf(out,
            "\neven in: until imbal was at most %d %% above that before; "
            "looked at every %s\n",
            100 / RECOVERED_WITHIN, text_time(report->interval_ns / 1000000u, text));
}

static void print_server_table(FILE *out, const struct report *report)
{
    static const struct figure_spec share = {.unit = FIGURE_SHARE};
    size_t names = name_width(report);
    size_t servers = strlen("server");
    char a[TEXT_SIZE], b[TEXT_SIZE], c[TEXT_SIZE], d[TEXT_SIZE], e[TEXT_SIZE];

    for (size_t i = 0; i < report->servers->count; i++) {
        size_t length = strlen(report->servers->items[i].name);
        servers = length > servers ? length : servers;
    }
    fprintf(out, "\n%-*s  %-*s  %10s  %8s  %8s  %8s  %7s\n", (int)names, "policy",
            (int)servers, "server", "conns", "of conns", "of time", "of weight",
            "peak");
    for (size_t p = 0; p < report->policy_count; p++) {
        const struct policy_report *policy = &report->policies[p];
        for (size_t i = 0; i < report->servers->count; i++) {
            const struct server_figures *f = &policy->servers[i];
            fprintf(out, "%-*s  %-*s  %10s  %8s  %8s  %9s  %7s\n", (int)names,
                    policy->name, (int)servers, report->servers->items[i].name,
                    text_count(f->connections, a),
                    figure_text(&share, f->request_share_ppm, b),
                    figure_text(&share, f->connection_share_ppm, c),
                    figure_text(&share, f->weight_share_ppm, d),
                    text_count(f->peak_active, e));
        }
    }
}

void report_table(FILE *out, const struct report *report,
                  const struct table_options *options)
{
    print_trace(out, report);
    print_assumptions(out, report);
    print_servers(out, report);
    print_policies(out, report, options->width);
    if (report->phase_count > 1) {
        print_phases(out, report, options->width);
    }
    if (options->per_server) {
        print_server_table(out, report);
    }
}
