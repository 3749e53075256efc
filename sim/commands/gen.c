/* SPDX-License-Identifier: MIT */
/* locus gen: traces out of nothing. */
#include "commands.h"

#include <stdio.h>
#include <string.h>

#include "../records/keyset.h"
#include "../trace/gen.h"
#include "../trace/writer.h"

struct gen_args {
    const char *to, *output, *zipf, *rate, *duration_sigma, *bytes_sigma;
    int pattern, family;
    uint64_t records, destinations, clients, duration_ns, bytes, period_ns, start_s,
        seed, memory;
};

#define AT(field) offsetof(struct gen_args, field)

static const char *const pattern_choices[] = {"zipf", "flash", "diurnal",
                                              "scan", "churn", NULL};
static const char *const family_choices[] = {"ipv4", "ipv6", "name", NULL};

static const struct option_spec options[] = {
    OPT_CHOICE(
        "pattern", 'p', AT(pattern), pattern_choices,
        "zipf: steady (the default). flash: a fifth of the records at three times the "
        "rate, half of them to one new destination. diurnal: the rate swings once per "
        "period. scan: one record in five goes to a destination never seen again. "
        "churn: once per period one destination in ten is replaced."),
    OPT_TEXT("to", 't', AT(to), "NAME",
             "The format to write (default squid); as for 'locus convert'."),
    OPT_TEXT("output", 'o', AT(output), "FILE",
             "Where to write (default: stdout); compressed when the name ends in .gz, "
             ".bz2, .xz or .zst."),
    OPT_NUMBER("records", 'n', AT(records), "N", 1, 1000000000000,
               "How many (default 100000)."),
    OPT_NUMBER("destinations", 'd', AT(destinations), "N", 1, 1 << 28,
               "Among which popularity is spread (default 10000)."),
    OPT_NUMBER("clients", 'c', AT(clients), "N", 1, 1 << 24,
               "All as active as each other (default 1000)."),
    OPT_TEXT("zipf", 'z', AT(zipf), "S",
             "Popularity falls with rank to the power of S, 0 to 10 (default 0.9)."),
    OPT_TEXT("rate", 'r', AT(rate), "N", "Mean arrivals per second (default 1000)."),
    OPT_TIME("duration", 0, AT(duration_ns), 0, 1000000ull * 1000000000,
             "Median of a log-normal (default 200ms)."),
    OPT_TEXT(
        "duration-sigma", 0, AT(duration_sigma), "S",
        "Its spread, 0 to 5: the mean is the median times exp(S*S/2) (default 1.5)."),
    OPT_BYTES("bytes", 0, AT(bytes),
              "Median size; a destination's size stays the same (default 8k)."),
    OPT_TEXT("bytes-sigma", 0, AT(bytes_sigma), "S", "Its spread (default 1.5)."),
    OPT_TIME("period", 0, AT(period_ns), 1, 0,
             "Of diurnal and churn (default: a day or the whole trace if that is "
             "shorter; for churn a twentieth of the trace)."),
    OPT_NUMBER("start", 0, AT(start_s), "SECONDS", 0, 4000000000,
               "Time of the first record, since 1970 (default 1700000000)."),
    OPT_CHOICE("family", 0, AT(family), family_choices,
               "What destinations are (default ipv4)."),
    OPT_NUMBER("seed", 's', AT(seed), "N", 0, 0,
               "The same seed gives the same trace (default 1)."),
    OPT_BYTES("memory", 0, AT(memory),
              "Memory for sorting lines that are written at the end of a connection "
              "(default 1GiB)."),
    OPT_END,
};

/* Names of what was made, for the writer. */
static void key_text(void *arg, uint8_t family, const union locus_key *key, char *text,
                     size_t size)
{
    const struct keyset *names = arg;
    struct slice name = {NULL, 0};

    if (family == LOCUS_NAME) {
        size_t index = keyset_find(names, family, key);
        if (index != SIZE_MAX) {
            name = keyset_text(names, index);
        }
    }
    if (name.text != NULL) {
        snprintf(text, size, "%.*s", (int)name.length, name.text);
    } else {
        struct locus_address address = {.family = family, .key = *key};
        locus_address_format(&address, text, size);
    }
}

static bool keep_name(struct keyset *names, const struct record *record,
                      const char *name)
{
    if (record->dst_family != LOCUS_NAME ||
        keyset_add(names, LOCUS_NAME, &record->dst, slice_of(name)) != SIZE_MAX) {
        return true;
    }
    fprintf(stderr, "locus gen: out of memory for names\n");
    return false;
}

static int write_all(const struct gen_options *making, struct writer_options *writing)
{
    struct gen gen;
    struct record record;
    struct keyset names;
    char dst[GEN_NAME];
    char src[GEN_NAME];
    bool ok = true;

    keyset_init(&names);
    writing->name_arg = &names;
    struct writer *writer = writer_open(writing);
    if (writer == NULL) {
        keyset_free(&names);
        return EXIT_RUNTIME;
    }
    gen_init(&gen, making);
    while (ok && gen_next(&gen, &record, dst, src)) {
        ok = keep_name(&names, &record, dst) && writer_record(writer, &record);
    }
    if (ok) {
        ok = writer_close(writer);
    } else {
        writer_abandon(writer);
    }
    keyset_free(&names);
    return ok ? EXIT_OK : EXIT_RUNTIME;
}

static bool read_real(const char *text, double most, double *out)
{
    uint64_t millionths;

    if (!read_decimal(text, strlen(text), 6, &millionths)) {
        return false;
    }
    *out = (double)millionths / 1e6;
    return *out <= most;
}

static uint64_t default_period_ns(const struct gen_args *args, double rate_per_s)
{
    const uint64_t day_ns = 86400ull * 1000000000;
    double span_ns = (double)args->records / rate_per_s * 1e9;

    if (pattern_choices[args->pattern][0] == 'c') {
        span_ns /= 20;
    } else if (span_ns > (double)day_ns) {
        return day_ns;
    }
    return span_ns < 1 ? 1 : (uint64_t)span_ns;
}

static int resolve(const struct gen_args *args, struct gen_options *out)
{
    *out = (struct gen_options){
        .pattern = (enum gen_pattern)args->pattern,
        .seed = args->seed,
        .records = args->records,
        .destinations = args->destinations,
        .clients = args->clients,
        .duration_median_s = (double)args->duration_ns / 1e9,
        .bytes_median = (double)args->bytes,
        .start_ns = args->start_s * 1000000000,
        .family = (enum locus_family)(LOCUS_IPV4 + args->family),
    };
    if (!read_real(args->zipf, 10, &out->zipf)) {
        return usage_error("gen", "--zipf: expected 0 to 10, not '%s'", args->zipf);
    }
    if (!read_real(args->rate, 1e9, &out->rate_per_s) || out->rate_per_s < 1e-6) {
        return usage_error("gen", "--rate: expected 0.000001 to 1000000000, not '%s'",
                           args->rate);
    }
    if (!read_real(args->duration_sigma, 5, &out->duration_sigma)) {
        return usage_error("gen", "--duration-sigma: expected 0 to 5, not '%s'",
                           args->duration_sigma);
    }
    if (!read_real(args->bytes_sigma, 5, &out->bytes_sigma)) {
        return usage_error("gen", "--bytes-sigma: expected 0 to 5, not '%s'",
                           args->bytes_sigma);
    }
    if ((double)args->records / out->rate_per_s > 3e9) {
        return usage_error("gen", "--records at that --rate last longer than 95 years");
    }
    out->period_ns = args->period_ns != 0 ? args->period_ns
                                          : default_period_ns(args, out->rate_per_s);
    return 0;
}

static int run(int argc, char **argv)
{
    struct gen_args args = {
        .to = "squid",
        .zipf = "0.9",
        .rate = "1000",
        .duration_sigma = "1.5",
        .bytes_sigma = "1.5",
        .records = 100000,
        .destinations = 10000,
        .clients = 1000,
        .duration_ns = 200000000,
        .bytes = 8192,
        .start_s = 1700000000,
        .seed = 1,
    };
    struct arguments rest;
    struct gen_options making;

    int status = options_parse(&cmd_gen, argc, argv, &args, &rest);
    if (status != 0) {
        return status < 0 ? EXIT_OK : status;
    }
    if (rest.count > 0) {
        return usage_error("gen", "unexpected '%s'", rest.items[0]);
    }
    struct writer_options writing = {.format = format_find_written(args.to),
                                     .path = args.output,
                                     .memory_bytes = args.memory,
                                     .name = key_text};
    if (writing.format == NULL) {
        return usage_error("gen", "--to: no format '%s' to write", args.to);
    }
    status = resolve(&args, &making);
    return status != 0 ? status : write_all(&making, &writing);
}

const struct command cmd_gen = {
    .name = "gen",
    .summary = "make a trace",
    .usage = "[options]",
    .description =
        "Writes a synthetic trace: arrivals of a Poisson process, destinations drawn "
        "after "
        "Zipf, durations and sizes log-normal, and a pattern on top. Destinations are "
        "addresses of 198.18.0.0/15 (240.0.0.0/4 when there are more than 65,536), of "
        "2001:db8::/32, or names below .example; clients are in 10.0.0.0/8.",
    .options = options,
    .examples = "# a busy hour for a cache farm\n"
                "locus gen --records 1000000 --zipf 1.1 -o hour.log\n"
                "# a flash crowd, replayed at once\n"
                "locus gen --pattern flash | locus replay --servers 4 -\n",
    .run = run,
};
