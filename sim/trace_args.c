/* SPDX-License-Identifier: MIT */
#include "trace_args.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "command.h"

const char *const trace_key_choices[] = {"auto",   "dst",    "host", "url",
                                         "client", "object", NULL};
const char *const trace_proto_choices[] = {"tcp", "udp", "all", NULL};
const char *const trace_unit_choices[] = {"auto", "s", "ms", "us", "ns", NULL};

static const uint64_t unit_ns[] = {0, 1000000000, 1000000, 1000, 1};

static int resolve_sample(const char *command, const char *text, uint32_t *out)
{
    uint64_t n = 1;

    if (text == NULL) {
        return EXIT_OK;
    }
    if (strncmp(text, "1/", 2) != 0 || !read_number(text + 2, strlen(text + 2), &n) ||
        n < 1 || n > UINT32_MAX) {
        return usage_error(command, "--sample: expected 1/N, not '%s'", text);
    }
    *out = (uint32_t)n;
    return EXIT_OK;
}

static int resolve_speed(const char *command, const char *text, uint64_t *out_milli)
{
    *out_milli = 1000;
    if (text != NULL && (!read_decimal(text, strlen(text), 3, out_milli) ||
                         *out_milli == 0 || *out_milli > 1000000000)) {
        return usage_error(command,
                           "--speed: expected a factor from 0.001 to 1000000, not '%s'",
                           text);
    }
    return EXIT_OK;
}

static int resolve_duration(const char *command, const char *text,
                            struct duration_model *out)
{
    if (!duration_model_parse(text != NULL ? text : "const:1s", out)) {
        return usage_error(command,
                           "--duration: expected const:TIME, lognormal:MEDIAN:SIGMA or "
                           "rate:BYTES, not '%s'",
                           text);
    }
    return EXIT_OK;
}

int trace_args_resolve(const char *command, const struct trace_args *args,
                       struct trace_options *trace, struct arrival_options *arrivals)
{
    *trace = (struct trace_options){
        .format = args->format,
        .key = (enum trace_key)args->key,
        .columns = args->columns,
        .time_unit_ns = unit_ns[args->time_unit],
        .memory_bytes = args->memory,
        .from_ns = args->from_ns,
        .to_ns = args->to_ns,
        .arrival_per_s = args->arrival,
        .max_bad = args->max_bad,
    };
    *arrivals = (struct arrival_options){
        .proto = (enum proto_choice)args->proto,
        .seed = args->seed,
    };
    if (args->to_ns != 0 && args->to_ns < args->from_ns) {
        return usage_error(command, "--to is before --from");
    }
    int status = resolve_sample(command, args->sample, &trace->sample_one_in);
    if (status == EXIT_OK) {
        status = resolve_speed(command, args->speed, &arrivals->speed_milli);
    }
    if (status == EXIT_OK) {
        status = resolve_duration(command, args->duration, &arrivals->duration);
    }
    return status;
}

void trace_report_bad(const char *command, const struct trace_summary *summary)
{
    if (summary->bad == 0) {
        return;
    }
    fprintf(stderr, "locus %s: %" PRIu64 " bad records", command, summary->bad);
    for (size_t i = 0; i < summary->reason_count; i++) {
        fprintf(stderr, "%s %s %" PRIu64, i == 0 ? ":" : ",",
                summary->reasons[i].reason, summary->reasons[i].count);
    }
    fprintf(stderr, "\n");
    for (size_t i = 0; i < summary->example_count; i++) {
        fprintf(stderr, "  %s\n", summary->examples[i]);
    }
    if (summary->bad > summary->example_count && summary->example_count > 0) {
        fprintf(stderr, "  ... and %" PRIu64 " more\n",
                summary->bad - summary->example_count);
    }
}
