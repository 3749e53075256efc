/* SPDX-License-Identifier: MIT */
/*
 * Reading a trace: every file is looked at, given to its format's reader, and what that
 * emits is counted, keyed and sorted. A window (--from, --to) can be cut only when the first
 * record is known, so that counts of windows come from one pass over the sorted records.
 */
#include "trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "keyset.h"
#include "readers/readers.h"
#include "readers/rows.h"
#include "sort.h"

enum { PROGRESS_RECORDS = 1 << 14 };

struct trace {
    struct trace_options options;
    struct trace_summary summary;
    struct sorter *sorter;
    struct keyset destinations, clients;
    struct keyset names; /* that came apart from their records */
    bool timed;          /* a record had a time */
    uint64_t last_stamp_ns;
    bool stamped;                          /* last_stamp_ns is of this file */
    uint64_t earliest_ns;                  /* of all good records, sampled out or not */
    uint64_t window_from_ns, window_to_ns; /* absolute; to: exclusive */
    uint64_t until_progress;
    uint64_t done_bytes, total_bytes; /* of the files before this one; of all */
};

static void count_reason(struct trace_summary *summary, const char *reason)
{
    size_t i = 0;

    while (i < summary->reason_count &&
           strcmp(summary->reasons[i].reason, reason) != 0) {
        i++;
    }
    if (i == TRACE_REASONS) {
        i = TRACE_REASONS - 1;
        summary->reasons[i].reason = "other reasons";
    } else if (i == summary->reason_count) {
        summary->reasons[i] = (struct trace_reason){reason, 0};
        summary->reason_count++;
    }
    summary->reasons[i].count++;
}

static void keep_example(struct reader *reader, const char *field, const char *expected,
                         struct slice got)
{
    struct trace_summary *summary = &reader->trace->summary;
    char shown[64];
    char place[32];

    if (summary->example_count == TRACE_EXAMPLES) {
        return;
    }
    slice_show(got, shown, sizeof(shown));
    if (reader->line_number > 0) {
        snprintf(place, sizeof(place), "%llu", (unsigned long long)reader->line_number);
    } else {
        snprintf(place, sizeof(place), "record %llu",
                 (unsigned long long)(reader->seen + reader->faults));
    }
    const char *name = input_name(reader->input);
    size_t long_name = strlen(name);
    /* The end of a long path says more than its beginning. */
    name += long_name > 96 ? long_name - 96 : 0;
    snprintf(summary->examples[summary->example_count++], sizeof(summary->examples[0]),
             "%s:%s: %s: expected %s, not '%s'", name, place, field, expected, shown);
}

int reader_bad(struct reader *reader, const char *reason, const char *field,
               const char *expected, struct slice got)
{
    reader->faults++;
    if (reader->trace == NULL) {
        return 0;
    }
    struct trace_summary *summary = &reader->trace->summary;
    count_reason(summary, reason);
    keep_example(reader, field, expected, got);
    summary->bad++;
    return summary->bad > reader->trace->options.max_bad ? EXIT_BAD_DATA : 0;
}

void reader_other(struct reader *reader)
{
    reader->others++;
    if (reader->trace != NULL) {
        reader->trace->summary.others++;
    }
}

static bool set_key(struct slice text, uint8_t *family, union locus_key *key,
                    struct slice *name)
{
    *name = (struct slice){NULL, 0};
    if (text.length == 0 || slice_is_dash(text)) {
        return false;
    }
    if (!slice_ip(text, family, key)) {
        *family = LOCUS_NAME;
        *key = locus_key_from_name(text.text, text.length);
        *name = text;
    }
    return true;
}

bool reader_set_dst(struct reader *reader, struct record *record, struct slice text)
{
    return set_key(text, &record->dst_family, &record->dst, &reader->dst_name);
}

bool reader_set_src(struct reader *reader, struct record *record, struct slice text)
{
    bool set = set_key(text, &record->src_family, &record->src, &reader->src_name);

    if (set) {
        record->flags |= RECORD_HAS_CLIENT;
    }
    return set;
}

bool reader_set_dst_ip(struct reader *reader, struct record *record, struct slice text)
{
    reader->dst_name = (struct slice){NULL, 0};
    return slice_ip(text, &record->dst_family, &record->dst);
}

bool reader_set_src_ip(struct reader *reader, struct record *record, struct slice text)
{
    reader->src_name = (struct slice){NULL, 0};
    if (!slice_ip(text, &record->src_family, &record->src)) {
        return false;
    }
    record->flags |= RECORD_HAS_CLIENT;
    return true;
}

bool reader_set_dst_name(struct reader *reader, struct record *record,
                         struct slice name)
{
    reader->dst_name = name;
    if (name.length == 0 || slice_is_dash(name)) {
        return false;
    }
    record->dst_family = LOCUS_NAME;
    record->dst = locus_key_from_name(name.text, name.length);
    return true;
}

bool reader_dst_from_src(struct reader *reader, struct record *record)
{
    if (!(record->flags & RECORD_HAS_CLIENT)) {
        return false;
    }
    record->dst = record->src;
    record->dst_family = record->src_family;
    reader->dst_name = reader->src_name;
    return true;
}

static bool count_key(struct keyset *keys, uint8_t family, const union locus_key *key,
                      struct slice name)
{
    return name.text == NULL ? keyset_note(keys, family, key)
                             : keyset_add(keys, family, key, name) != SIZE_MAX;
}

static bool count_keys(struct trace_summary *summary, struct keyset *destinations,
                       struct keyset *clients, const struct record *record,
                       struct slice dst_name, struct slice src_name)
{
    bool has_client = record->flags & RECORD_HAS_CLIENT;

    if (record->dst_family != LOCUS_IPV4) {
        summary->all_ipv4 = false;
    }
    return count_key(destinations, record->dst_family, &record->dst, dst_name) &&
           (!has_client ||
            count_key(clients, record->src_family, &record->src, src_name));
}

/* Span of the records kept; before they are counted. */
static void count_times(struct trace_summary *summary, const struct record *record)
{
    uint64_t end_ns = record->start_ns + record->duration_ns;

    if (summary->records == 0 || record->start_ns < summary->first_ns) {
        summary->first_ns = record->start_ns;
    }
    if (record->start_ns > summary->last_ns) {
        summary->last_ns = record->start_ns;
    }
    if (end_ns > summary->end_ns) {
        summary->end_ns = end_ns;
    }
}

/* The share that --sample keeps is chosen by destination: all of its connections or none. */
static bool sampled(const struct trace *trace, const struct record *record)
{
    union locus_key key = record->dst;
    uint64_t mixed;

    if (trace->options.sample_one_in <= 1) {
        return true;
    }
    mixed = record->dst_family == LOCUS_IPV4 ? key.ipv4 : key.words[0] ^ key.words[1];
    mixed = (mixed ^ mixed >> 32) * 0x9e3779b97f4a7c15ull;
    mixed = (mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9ull;
    return (mixed >> 32) % trace->options.sample_one_in == 0;
}

static void show_progress(struct reader *reader)
{
    struct trace *trace = reader->trace;

    trace->until_progress = PROGRESS_RECORDS;
    if (trace->options.progress != NULL) {
        trace->options.progress(trace->options.progress_arg,
                                trace->done_bytes + input_done_bytes(reader->input),
                                trace->total_bytes);
    }
}

static int no_memory(void)
{
    fprintf(stderr, "locus: out of memory while reading traces\n");
    return EXIT_RUNTIME;
}

static int mixed_times(const struct reader *reader)
{
    fprintf(stderr,
            "locus: %s: traces with and without times cannot be read together\n",
            input_name(reader->input));
    return EXIT_USAGE;
}

int reader_keep_name(struct reader *reader, const union locus_key *key,
                     struct slice name)
{
    struct trace *trace = reader->trace;

    return trace == NULL || keyset_add(&trace->names, LOCUS_NAME, key, name) != SIZE_MAX
               ? 0
               : no_memory();
}

/* Where a record without a time arrives. */
static uint64_t arrival_ns(const struct trace *trace, uint64_t n)
{
    uint64_t per_s = trace->options.arrival_per_s;

    return n / per_s * 1000000000 + n % per_s * 1000000000 / per_s;
}

int reader_emit(struct reader *reader, const struct record *record, uint64_t stamp_ns)
{
    struct trace *trace = reader->trace;
    struct record timed = *record;

    reader->seen++;
    if (trace == NULL) {
        return 0;
    }
    struct trace_summary *summary = &trace->summary;
    uint64_t good = summary->records + summary->skipped;
    bool has_time = record->flags & RECORD_HAS_TIME;
    if (good > 0 && has_time != trace->timed) {
        return mixed_times(reader);
    }
    trace->timed = has_time;
    if (!has_time) {
        timed.start_ns = stamp_ns = arrival_ns(trace, good);
    }
    if (trace->stamped && stamp_ns < trace->last_stamp_ns) {
        summary->steps_back++;
    }
    trace->last_stamp_ns = stamp_ns;
    trace->stamped = true;
    if (good == 0 || timed.start_ns < trace->earliest_ns) {
        trace->earliest_ns = timed.start_ns;
    }
    if (trace->until_progress-- == 0) {
        show_progress(reader);
    }
    if (!sampled(trace, &timed)) {
        summary->skipped++;
        return 0;
    }
    count_times(summary, &timed);
    summary->records++;
    if (!count_keys(summary, &trace->destinations, &trace->clients, &timed,
                    reader->dst_name, reader->src_name)) {
        return no_memory();
    }
    return sorter_add(trace->sorter, &timed) ? 0 : EXIT_RUNTIME;
}

static int read_lines(struct reader *reader)
{
    struct input *input = reader->input;
    const volatile int *stop = reader->options->stop;
    struct slice line;

    while (stop == NULL || *stop == 0) {
        enum input_status got = input_line(input, &line);
        if (got == INPUT_END) {
            return 0;
        }
        if (got == INPUT_ERROR) {
            return EXIT_RUNTIME;
        }
        reader->line_number = input_line_number(input);
        reader->line_ended = input_line_ended(input);
        int status = got == INPUT_LONG ? reader_bad(reader, "line is too long", "line",
                                                    "at most 1 MiB", line)
                                       : reader->format->line(reader, line);
        if (status != 0) {
            return status;
        }
    }
    return 0;
}

static int run_reader(struct reader *reader)
{
    const struct reader_format *format = reader->format;
    int status = 0;

    reader->state = calloc(1, format->state_size + 1);
    if (reader->state == NULL) {
        return no_memory();
    }
    if (format->start != NULL) {
        status = format->start(reader);
    }
    if (status == 0) {
        status = format->read != NULL ? format->read(reader) : read_lines(reader);
    }
    if (status == 0 && format->finish != NULL) {
        status = format->finish(reader);
    }
    if (format->stop != NULL) {
        format->stop(reader);
    }
    free(reader->state);
    return status;
}

static int unknown_name(const char *name)
{
    fprintf(stderr, "locus: no trace format '%s'; there are", name);
    const char *known;
    for (size_t i = 0; (known = trace_format_name(i, NULL)) != NULL; i++) {
        fprintf(stderr, "%s %s", i == 0 ? "" : ",", known);
    }
    fprintf(stderr, "\n");
    return EXIT_USAGE;
}

/* Adds the name to what was found, once. */
static void note_format(struct trace_summary *summary, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = summary->formats; (at = strstr(at, name)) != NULL;
         at += length) {
        bool begins = at == summary->formats || at[-1] == ' ';
        if (begins && (at[length] == '\0' || at[length] == ',')) {
            return;
        }
    }
    size_t used = strlen(summary->formats);
    snprintf(summary->formats + used, sizeof(summary->formats) - used, "%s%s",
             used > 0 ? ", " : "", name);
}

static int choose_key(struct reader *reader)
{
    enum trace_key key = reader->options->key;

    reader->key = key == KEY_AUTO ? reader->format->key : key;
    if (reader->format->keys & 1u << reader->key) {
        return 0;
    }
    fprintf(stderr, "locus: %s: %s has no %s to stand for the destination; it has",
            input_name(reader->input), reader->format->name, reader_key_name(key));
    for (unsigned k = KEY_DST; k <= KEY_OBJECT; k++) {
        if (reader->format->keys & 1u << k) {
            fprintf(stderr, " %s", reader_key_name(k));
        }
    }
    fprintf(stderr, "\n");
    return EXIT_USAGE;
}

/* *out stays NULL for an empty file, which is of every format. */
static int choose_format(const struct trace *trace, struct input *input,
                         const struct reader_format **out)
{
    struct slice head;

    *out = NULL;
    if (trace->options.format != NULL) {
        *out = reader_find(trace->options.format);
        return *out != NULL ? 0 : unknown_name(trace->options.format);
    }
    if (trace->options.columns != NULL) { /* once, not by every format that tries */
        struct row_map map;
        int status = row_map_option(&map, trace->options.columns);
        if (status != 0) {
            return status;
        }
    }
    if (!input_head(input, &head)) {
        return EXIT_RUNTIME;
    }
    if (head.length == 0) {
        return 0;
    }
    *out = reader_detect(&trace->options, head, head.length < INPUT_HEAD);
    if (*out != NULL) {
        return 0;
    }
    char shown[64];
    struct slice rest;
    slice_show(slice_cut(head, '\n', &rest), shown, sizeof(shown));
    fprintf(stderr,
            "locus: %s: of no known format; it begins '%s'. --format names one\n",
            input_name(input), shown);
    return EXIT_USAGE;
}

static int read_file(struct trace *trace, const char *path)
{
    struct reader reader = {.options = &trace->options, .trace = trace};

    struct input *input = input_open(path);
    if (input == NULL) {
        return EXIT_RUNTIME;
    }
    reader.input = input;
    trace->stamped = false;
    int status = choose_format(trace, input, &reader.format);
    if (status == 0 && reader.format != NULL) {
        note_format(&trace->summary, reader.format->name);
        status = choose_key(&reader);
        if (status == 0) {
            status = run_reader(&reader);
        }
    }
    trace->done_bytes += input_total_bytes(input);
    input_close(input);
    return status;
}

/* Counts of the window, which replace those of everything. */
static bool count_window(struct trace *trace)
{
    enum { BATCH = 256 };
    struct trace_summary *summary = &trace->summary;
    struct record batch[BATCH];
    struct slice unnamed = {NULL, 0};
    struct keyset dst, src;
    uint64_t all = summary->records;
    bool ok = true;
    ssize_t got;

    /* The names stay in the trace's own sets, for trace_key_text(). */
    keyset_init(&dst);
    keyset_init(&src);
    summary->records = summary->last_ns = summary->end_ns = 0;
    summary->all_ipv4 = true;
    while ((got = trace_next(trace, batch, BATCH)) > 0 && ok) {
        for (ssize_t i = 0; i < got && ok; i++) {
            count_times(summary, &batch[i]);
            summary->records++;
            ok = count_keys(summary, &dst, &src, &batch[i], unnamed, unnamed);
        }
    }
    ok = ok && keyset_settle(&dst) && keyset_settle(&src);
    summary->skipped += all - summary->records;
    summary->destinations = dst.count;
    summary->clients = src.count;
    keyset_free(&dst);
    keyset_free(&src);
    if (!ok) {
        no_memory();
    }
    return ok && got == 0 && trace_rewind(trace);
}

static uint64_t add_capped(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static bool finish(struct trace *trace)
{
    const struct trace_options *options = &trace->options;

    trace->window_from_ns = add_capped(trace->earliest_ns, options->from_ns);
    trace->window_to_ns = options->to_ns == 0
                              ? UINT64_MAX
                              : add_capped(trace->earliest_ns, options->to_ns);
    trace->summary.timeless = trace->summary.records > 0 && !trace->timed;
    if (!keyset_settle(&trace->destinations) || !keyset_settle(&trace->clients)) {
        no_memory();
        return false;
    }
    trace->summary.destinations = trace->destinations.count;
    trace->summary.clients = trace->clients.count;
    if (!sorter_finish(trace->sorter)) {
        return false;
    }
    trace->summary.spilled_bytes = sorter_spilled_bytes(trace->sorter);
    return (options->from_ns == 0 && options->to_ns == 0) || count_window(trace);
}

static struct trace *make_trace(const struct trace_options *options)
{
    struct trace *trace = calloc(1, sizeof(*trace));

    if (trace == NULL) {
        no_memory();
        return NULL;
    }
    trace->options = *options;
    if (trace->options.arrival_per_s == 0) {
        trace->options.arrival_per_s = 1000;
    }
    trace->summary.all_ipv4 = true;
    trace->until_progress = PROGRESS_RECORDS;
    keyset_init(&trace->destinations);
    keyset_init(&trace->clients);
    keyset_init(&trace->names);
    trace->sorter = sorter_create(options->memory_bytes);
    if (trace->sorter == NULL) {
        trace_close(trace);
        return NULL;
    }
    return trace;
}

int trace_open(const struct trace_options *options, char *const *paths, size_t count,
               struct trace **out)
{
    int status = 0;

    *out = NULL;
    struct trace *trace = make_trace(options);
    if (trace == NULL) {
        return EXIT_RUNTIME;
    }
    for (size_t i = 0; i < count && status == 0; i++) {
        status = read_file(trace, paths[i]);
    }
    bool kept = status == 0 || status == EXIT_BAD_DATA;
    if (kept && !finish(trace)) {
        status = EXIT_RUNTIME;
        kept = false;
    }
    if (!kept) {
        trace_close(trace);
        return status;
    }
    const struct trace_summary *summary = &trace->summary;
    if (summary->records + summary->skipped == 0 && summary->bad > 0) {
        status = EXIT_BAD_DATA;
    }
    *out = trace;
    return status;
}

ssize_t trace_next(struct trace *trace, struct record *batch, size_t capacity)
{
    for (;;) {
        ssize_t got = sorter_next(trace->sorter, batch, capacity);
        size_t kept = 0;
        if (got <= 0) {
            return got;
        }
        if (batch[0].start_ns >= trace->window_from_ns &&
            batch[got - 1].start_ns < trace->window_to_ns) {
            return got;
        }
        for (ssize_t i = 0; i < got; i++) {
            if (batch[i].start_ns >= trace->window_from_ns &&
                batch[i].start_ns < trace->window_to_ns) {
                batch[kept++] = batch[i];
            }
        }
        if (kept > 0 || batch[got - 1].start_ns >= trace->window_to_ns) {
            return (ssize_t)kept;
        }
    }
}

bool trace_rewind(struct trace *trace)
{
    return sorter_rewind(trace->sorter);
}

const struct trace_summary *trace_summary(const struct trace *trace)
{
    return &trace->summary;
}

void trace_key_text(const struct trace *trace, uint8_t family,
                    const union locus_key *key, char *text, size_t size)
{
    const struct keyset *sets[3] = {&trace->destinations, &trace->clients,
                                    &trace->names};

    for (int i = 0; i < 3 && family == LOCUS_NAME; i++) {
        size_t index = keyset_find(sets[i], family, key);
        struct slice name = {NULL, 0};
        if (index != SIZE_MAX) {
            name = keyset_text(sets[i], index);
        }
        if (name.text != NULL) {
            slice_show(name, text, size);
            return;
        }
    }
    struct locus_address address = {.family = family, .key = *key};
    locus_address_format(&address, text, size);
}

void trace_close(struct trace *trace)
{
    if (trace == NULL) {
        return;
    }
    sorter_destroy(trace->sorter);
    keyset_free(&trace->destinations);
    keyset_free(&trace->clients);
    keyset_free(&trace->names);
    free(trace);
}
