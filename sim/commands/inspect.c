/* SPDX-License-Identifier: MIT */
/* locus inspect: what is in a trace, and what it can tell. */
#include "commands.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../cli/progress.h"
#include "../cli/read_args.h"
#include "../formats/formats.h"
#include "../trace/inspect_report.h"

struct inspect_args {
    struct read_args read;
    uint64_t top, assumed_ns;
    bool json, brief, formats;
};

#define AT(field) offsetof(struct inspect_args, field)

static const struct option_spec options[] = {
    OPT_NUMBER("top", 'n', AT(top), "N", 0, 1000000,
               "How many destinations to list (default 10)."),
    OPT_TIME("assume", 0, AT(assumed_ns), 0, 0,
             "How long a record without a duration is taken to last (default 1s)."),
    OPT_FLAG("json", 'j', AT(json), "One JSON object instead of the page."),
    OPT_FLAG("brief", 'b', AT(brief),
             "Only what reading alone tells: records, what is bad, span, how many "
             "destinations and clients."),
    OPT_FLAG("formats", 0, AT(formats), "List the formats that can be read."),
    OPT_GROUP(read_options, AT(read)),
    OPT_END,
};

static int list_formats(void)
{
    const char *about;
    const char *name;

    for (size_t i = 0; (name = trace_format_name(i, &about)) != NULL; i++) {
        printf("%-14s %s\n", name, about);
    }
    return EXIT_OK;
}

static void show_reading(void *arg, uint64_t done_bytes, uint64_t total_bytes)
{
    struct progress *progress = arg;

    progress->total = total_bytes;
    progress_update(progress, done_bytes);
}

static int run_inspect(const struct inspect_args *args, const struct arguments *paths,
                       struct inspect_report *p)
{
    struct trace_options reading;
    struct progress progress;
    int status = read_args_resolve("inspect", &args->read, &reading);

    if (status != 0) {
        return status;
    }
    progress_begin(&progress, "reading", "B", 0);
    progress_catch_interrupt();
    reading.progress = show_reading;
    reading.progress_arg = &progress;
    reading.stop = &progress_stop;
    status = trace_open(&reading, paths->items, paths->count, &p->trace);
    progress_end(&progress);
    if (p->trace == NULL) {
        return status;
    }
    p->summary = trace_summary(p->trace);
    if (args->brief || inspect(p->trace, args->assumed_ns, &p->found)) {
        if (!args->json) {
            inspect_print_page(p);
        } else if (inspect_print_json(p) != EXIT_OK) {
            status = EXIT_RUNTIME;
        }
    } else {
        status = EXIT_RUNTIME;
    }
    if (progress_stop != 0) {
        fprintf(stderr, "locus inspect: interrupted: the first %" PRIu64 " records\n",
                p->summary->records);
        status = EXIT_RUNTIME;
    }
    inspection_free(&p->found);
    trace_close(p->trace);
    return status;
}

static int run(int argc, char **argv)
{
    struct inspect_args args = {
        .read = READ_ARGS_DEFAULT, .top = 10, .assumed_ns = NS_PER_S};
    struct arguments paths;
    struct inspect_report *report;

    int status = options_parse(&cmd_inspect, argc, argv, &args, &paths);
    if (status != 0) {
        return status < 0 ? EXIT_OK : status;
    }
    if (args.formats) {
        return list_formats();
    }
    if (paths.count == 0) {
        return usage_error("inspect", "expected a trace; '-' is stdin");
    }
    report = calloc(1, sizeof(*report)); /* its histograms are large for a stack */
    if (report == NULL) {
        return memory_error("inspect");
    }
    report->paths = paths.items;
    report->path_count = paths.count;
    report->top = args.top;
    report->assumed_ns = args.assumed_ns;
    report->arrival_per_s = args.read.arrival;
    report->brief = args.brief;
    status = run_inspect(&args, &paths, report);
    free(report);
    return status;
}

const struct command cmd_inspect = {
    .name = "inspect",
    .summary = "what is in a trace, and what it can tell",
    .usage = "[options] TRACE...",
    .description =
        "Reads traces and prints one page: span and rates, destinations and how skewed "
        "their popularity is, concurrency, durations, sizes, what was bad and why, and "
        "which questions about scheduling this trace can answer.\n\n"
        "Concurrency is over time, from the first start to the last end. The Zipf "
        "exponent "
        "is fitted to the logarithms of rank and count, over at most 1,000 ranks that "
        "have "
        "more than one record.",
    .options = options,
    .examples = "locus inspect access.log.gz\n"
                "# the same log, its URLs as destinations\n"
                "locus inspect --key url access.log.gz\n"
                "# can it be read at all?\n"
                "locus inspect --brief --max-bad 0 access.log.gz\n",
    .run = run,
};
