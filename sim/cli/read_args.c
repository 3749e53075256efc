/* SPDX-License-Identifier: MIT */
#include "read_args.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "command.h"

const char *const read_key_choices[] = {"auto",   "dst",    "host", "url",
                                        "client", "object", NULL};
const char *const read_unit_choices[] = {"auto", "s", "ms", "us", "ns", NULL};

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
