/* SPDX-License-Identifier: MIT */
/*
 * Prometheus text: the figures per policy as gauges, and per server only on request, since a
 * large pool under many policies makes thousands of series.
 */
#include <inttypes.h>
#include <string.h>

#include "report.h"

static const char *unit_suffix(enum figure_unit unit)
{
    switch (unit) {
    case FIGURE_SHARE:
    case FIGURE_RATIO:
        return "_ratio";
    case FIGURE_MS:
        return "_seconds";
    case FIGURE_BYTES:
    case FIGURE_COUNT:
        break;
    }
    return "";
}

/* The name without the unit of its integer form. */
static int stem_length(const struct figure_spec *spec)
{
    int length = 0;

    while (spec->name[length] != '\0') {
        length++;
    }
    switch (spec->unit) {
    case FIGURE_SHARE:
    case FIGURE_RATIO:
        return length - 4; /* _ppm */
    case FIGURE_MS:
        return length - 3; /* _ms */
    case FIGURE_BYTES:
    case FIGURE_COUNT:
        break;
    }
    return length;
}

static void print_value(FILE *out, enum figure_unit unit, uint64_t value)
{
    switch (unit) {
    case FIGURE_SHARE:
    case FIGURE_RATIO:
        fprintf(out, "%" PRIu64 ".%06" PRIu64 "\n", value / 1000000, value % 1000000);
        break;
    case FIGURE_MS:
        fprintf(out, "%" PRIu64 ".%03" PRIu64 "\n", value / 1000, value % 1000);
        break;
    case FIGURE_BYTES:
    case FIGURE_COUNT:
        fprintf(out, "%" PRIu64 "\n", value);
        break;
    }
}

static void print_figure(FILE *out, const struct report *report,
                         const struct figure_spec *spec)
{
    const char *suffix = unit_suffix(spec->unit);
    int stem = stem_length(spec);

    fprintf(out, "# HELP locus_replay_%.*s%s %s\n", stem, spec->name, suffix,
            spec->about);
    fprintf(out, "# TYPE locus_replay_%.*s%s gauge\n", stem, spec->name, suffix);
    for (size_t i = 0; i < report->policy_count; i++) {
        const struct policy_report *policy = &report->policies[i];
        if (!policy_wants(policy, spec)) {
            continue;
        }
        fprintf(out, "locus_replay_%.*s%s{policy=\"%s\"} ", stem, spec->name, suffix,
                policy->name);
        print_value(out, spec->unit, figure_value(&policy->total, spec));
    }
}

static const struct {
    const char *name;
    size_t offset;
    enum figure_unit unit;
    const char *about;
} server_metrics[] = {
    {"connections", offsetof(struct server_figures, connections), FIGURE_COUNT,
     "connections given to the server"},
    {"bytes", offsetof(struct server_figures, bytes), FIGURE_BYTES, "bytes it served"},
    {"peak_active", offsetof(struct server_figures, peak_active), FIGURE_COUNT,
     "the most active connections on it"},
    {"above_weight_seconds", offsetof(struct server_figures, above_weight_ms),
     FIGURE_MS, "time with more active connections than weight"},
    {"connection_share_ratio", offsetof(struct server_figures, connection_share_ppm),
     FIGURE_SHARE, "its share of the concurrent connections"},
    {"request_share_ratio", offsetof(struct server_figures, request_share_ppm),
     FIGURE_SHARE, "its share of the connections by number"},
    {"weight_share_ratio", offsetof(struct server_figures, weight_share_ppm),
     FIGURE_SHARE, "its share of the weights"},
};

/* The labels of node_exporter's node_ipvs_backend_*, so that both join. */
static void print_backend(FILE *out, const char *policy,
                          const struct server_spec *server)
{
    struct locus_address address = server->address;
    char text[LOCUS_ADDRESS_TEXT];

    fprintf(out, "{policy=\"%s\",remote_address=\"", policy);
    if (address.family == LOCUS_NAME) {
        fprintf(out, "%.*s", (int)strcspn(server->name, ":"), server->name);
    } else {
        address.port = 0;
        locus_address_format(&address, text, sizeof(text));
        fputs(text, out);
    }
    fprintf(out, "\",remote_port=\"%u\"} ", server->address.port);
}

static void print_servers(FILE *out, const struct report *report)
{
    for (size_t m = 0; m < sizeof(server_metrics) / sizeof(*server_metrics); m++) {
        const char *name = server_metrics[m].name;
        fprintf(out, "# HELP locus_replay_server_%s %s\n", name,
                server_metrics[m].about);
        fprintf(out, "# TYPE locus_replay_server_%s gauge\n", name);
        for (size_t p = 0; p < report->policy_count; p++) {
            for (size_t s = 0; s < report->servers->count; s++) {
                const char *figures = (const char *)&report->policies[p].servers[s];
                fprintf(out, "locus_replay_server_%s", name);
                print_backend(out, report->policies[p].name,
                              &report->servers->items[s]);
                print_value(out, server_metrics[m].unit,
                            *(const uint64_t *)(figures + server_metrics[m].offset));
            }
        }
    }
}

void report_metrics(FILE *out, const struct report *report, bool per_server)
{
    fprintf(out,
            "# HELP locus_replay_records records of the trace\n"
            "# TYPE locus_replay_records gauge\n"
            "locus_replay_records{state=\"good\"} %" PRIu64 "\n"
            "locus_replay_records{state=\"bad\"} %" PRIu64 "\n",
            report->trace->records, report->trace->bad);
    for (const struct figure_spec *s = figure_specs; s->name != NULL; s++) {
        if (s->needs == NEEDS_REFUSALS || report_wants(report, s)) {
            print_figure(out, report, s);
        }
    }
    if (per_server) {
        print_servers(out, report);
    }
}
