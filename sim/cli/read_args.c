/* SPDX-License-Identifier: MIT */
#include "read_args.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *const read_key_choices[] = {"auto",   "dst",    "host", "url",
                                        "client", "object", NULL};
const char *const read_unit_choices[] = {"auto", "s", "ms", "us", "ns", NULL};

#define AT(field) offsetof(struct read_args, field)

/* What comes before and after the end of the window in every table. */
static const struct option_spec before_end[] = {
    OPT_TEXT("format", 'f', AT(format), "NAME",
             "The traces' format (default: found by looking; 'locus inspect --formats' "
             "lists them)."),
    OPT_CHOICE("key", 'k', AT(key), read_key_choices,
               "What stands for the destination (default auto: as the format says)."),
    OPT_TEXT("columns", 0, AT(columns), "LIST",
             "Columns of a CSV trace: time=1,dst=2,bytes=3,client=4,duration=5."),
    OPT_CHOICE(
        "time-unit", 0, AT(time_unit), read_unit_choices,
        "Unit of the times in CSV and object traces (default auto: the format's own)."),
    OPT_NUMBER("arrival", 0, AT(arrival), "N", 1, 1000000000,
               "Arrivals per second of a trace without times (default 1000)."),
    OPT_TIME("from", 0, AT(from_ns), 0, 0,
             "Leave out what starts earlier, counted from the first record."),
    OPT_END,
};

static const struct option_spec after_end[] = {
    OPT_TEXT("sample", 0, AT(sample), "1/N",
             "Keep one in N destinations, each with all its connections."),
    OPT_BYTES("memory", 0, AT(memory),
              "Memory for sorting; beyond it a temporary file in $TMPDIR is used "
              "(default 1GiB)."),
    OPT_NUMBER("max-bad", 0, AT(max_bad), "N", 0, 0,
               "Exit with 3 when more records than this are bad (default: any number "
               "is fine)."),
    OPT_END,
};

#define END_HELP \
    "Leave out what starts at or after this, counted from the first record."

const struct option_spec read_options[] = {
    OPT_GROUP(before_end, 0),
    OPT_TIME("to", 0, AT(to_ns), 0, 0, END_HELP),
    OPT_GROUP(after_end, 0),
    OPT_END,
};

const struct option_spec read_options_until[] = {
    OPT_GROUP(before_end, 0),
    OPT_TIME("until", 0, AT(to_ns), 0, 0, END_HELP),
    OPT_GROUP(after_end, 0),
    OPT_END,
};

static const uint64_t unit_ns[] = {0, 1000000000, 1000000, 1000, 1};

int read_args_resolve(const char *command, const struct read_args *args,
                      struct trace_options *out)
{
    uint64_t one_in = 1;

    if (args->to_ns != 0 && args->to_ns <= args->from_ns) {
        return usage_error(command, "--to is not after --from");
    }
    if (args->sample != NULL &&
        (strncmp(args->sample, "1/", 2) != 0 ||
         !read_number(args->sample + 2, strlen(args->sample + 2), &one_in) ||
         one_in < 1 || one_in > UINT32_MAX)) {
        return usage_error(command, "--sample: expected 1/N, not '%s'", args->sample);
    }
    *out = (struct trace_options){
        .format = args->format,
        .key = (enum trace_key)args->key,
        .columns = args->columns,
        .time_unit_ns = unit_ns[args->time_unit],
        .memory_bytes = args->memory,
        .from_ns = args->from_ns,
        .to_ns = args->to_ns,
        .sample_one_in = (uint32_t)one_in,
        .arrival_per_s = args->arrival,
        .max_bad = args->max_bad,
    };
    return 0;
}

void read_report_bad(const char *command, const struct trace_summary *summary)
{
    if (summary->bad == 0) {
        return;
    }
    fprintf(stderr, "locus %s: %" PRIu64 " bad records:", command, summary->bad);
    for (size_t i = 0; i < summary->reason_count; i++) {
        fprintf(stderr, "%s %s %" PRIu64, i == 0 ? "" : ",", summary->reasons[i].reason,
                summary->reasons[i].count);
    }
    fprintf(stderr, "\n");
    for (size_t i = 0; i < summary->example_count; i++) {
        fprintf(stderr, "  %s\n", summary->examples[i]);
    }
    if (summary->bad > summary->example_count) {
        fprintf(stderr, "  ... and %" PRIu64 " more\n",
                summary->bad - summary->example_count);
    }
}
