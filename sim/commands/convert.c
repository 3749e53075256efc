/* SPDX-License-Identifier: MIT */
/* locus convert: any trace in, any writable format out. */
#include "commands.h"

#include <inttypes.h>
#include <stdio.h>

#include "../base/output.h"
#include "../cli/read_args.h"
#include "../trace/writer.h"

struct convert_args {
    struct read_args read;
    const char *to, *output;
};

#define AT(field) offsetof(struct convert_args, field)

static const struct option_spec options[] = {
    OPT_TEXT("to", 't', AT(to), "NAME",
             "The format to write (default locus, the fastest to read): squid, "
             "zeek-tsv, zeek-json, weblog, haproxy, nginx, nfdump, eve, binetflow, "
             "libcachesim, oraclegeneral, objects, csv, locus."),
    OPT_TEXT("output", 'o', AT(output), "FILE",
             "Where to write (default: stdout); compressed when the name ends in .gz, "
             ".bz2, .xz or .zst."),
    OPT_GROUP(read_options_until, AT(read)),
    OPT_END,
};

static void key_text(void *arg, uint8_t family, const union locus_key *key, char *text,
                     size_t size)
{
    trace_key_text(arg, family, key, text, size);
}

enum { BATCH = 1024 };

static bool write_records(struct trace *trace, struct writer *writer)
{
    struct record batch[BATCH];
    ssize_t got;

    while ((got = trace_next(trace, batch, BATCH)) > 0) {
        for (ssize_t i = 0; i < got; i++) {
            if (!writer_record(writer, &batch[i])) {
                return false;
            }
        }
    }
    return got == 0;
}

/* Under the numbers that they have in the trace. */
static bool write_numbered(struct trace *trace, struct writer *writer)
{
    struct numbered_record batch[BATCH];
    ssize_t got;

    while ((got = trace_next_numbered(trace, batch, BATCH)) > 0) {
        if (!writer_numbered(writer, batch, (size_t)got)) {
            return false;
        }
    }
    return got == 0;
}

static int write_all(struct trace *trace, struct writer *writer, bool numbered)
{
    if (!(numbered ? write_numbered : write_records)(trace, writer)) {
        writer_abandon(writer);
        return EXIT_RUNTIME;
    }
    return writer_close(writer) ? EXIT_OK : EXIT_RUNTIME;
}

static int unknown_format(const char *name)
{
    fprintf(stderr, "locus convert: --to: no format '%s' to write; there are", name);
    const char *comma = "";
    for (const struct format *f = NULL; (f = format_next_written(f)) != NULL;) {
        fprintf(stderr, "%s %s", comma, f->name);
        comma = ",";
    }
    fprintf(stderr, "\n");
    return EXIT_USAGE;
}

static int convert(const struct convert_args *args, const struct arguments *paths)
{
    struct trace_options reading;
    struct writer_options writing = {.format = format_find_written(args->to),
                                     .path = args->output,
                                     .memory_bytes = args->read.memory,
                                     .name = key_text};
    struct trace *trace;

    if (writing.format == NULL) {
        return unknown_format(args->to);
    }
    if (args->read.to_ns != 0 && args->read.to_ns <= args->read.from_ns) {
        return usage_error("convert", "--until is not after --from");
    }
    int status = read_args_resolve("convert", &args->read, &reading);
    if (status != 0) {
        return status;
    }
    status = trace_open(&reading, paths->items, paths->count, &trace);
    if (trace == NULL) {
        return status;
    }
    const struct trace_summary *summary = trace_summary(trace);
    read_report_bad("convert", summary);
    if (status == 0) {
        writing.timeless = summary->timeless;
        writing.name_arg = trace;
        /* All of a trace, as it was read and sorted; of a window, only the keys in it. */
        if (writing.format->write.binary && reading.from_ns == 0 &&
            reading.to_ns == 0) {
            writing.keys = trace_keys(trace);
            writing.records = summary->records;
        }
        struct writer *writer = writer_open(&writing);
        status = writer == NULL ? EXIT_RUNTIME
                                : write_all(trace, writer, writing.keys != NULL);
    }
    trace_close(trace);
    return status;
}

static int run(int argc, char **argv)
{
    struct convert_args args = {.read = READ_ARGS_DEFAULT, .to = "locus"};
    struct arguments paths;

    int status = options_parse(&cmd_convert, argc, argv, &args, &paths);
    if (status != 0) {
        return status < 0 ? EXIT_OK : status;
    }
    if (paths.count == 0) {
        return usage_error("convert", "expected a trace; '-' is stdin");
    }
    if (args.output != NULL &&
        !output_apart("convert", args.output, paths.items, paths.count)) {
        return EXIT_USAGE;
    }
    return convert(&args, &paths);
}

const struct command cmd_convert = {
    .name = "convert",
    .summary = "turn a trace into another format",
    .usage = "[options] TRACE...",
    .description =
        "Reads traces as 'locus replay' does, sorts them by start, and writes them as "
        "one "
        "trace. The format locus keeps everything and is read many times faster than "
        "text. Others keep what they have a place for.\n\nNames that a log cannot hold "
        "are percent-encoded. Where a format has addresses only, a name becomes an "
        "address "
        "of 2001:db8::/32 made from its hash; where it has numbers only, its hash.",
    .options = options,
    .examples =
        "# once, then replay it often\n"
        "locus convert -o day.locus access.log.*.gz\n"
        "# the hour that matters, for another tool\n"
        "locus convert --to csv --from 18h --until 19h -o hour.csv conn.log.gz\n",
    .run = run,
};
