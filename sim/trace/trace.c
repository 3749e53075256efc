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

#include "../base/errors.h"
#include "../base/values.h"
#include "../formats/reader.h"
#include "../records/keyset.h"
#include "../records/sort.h"
#include "choose.h"
#include "stream.h"

enum { PROGRESS_RECORDS = 1 << 14, PENDING = KEYSET_NOTED };

struct trace {
    struct trace_options options;
    struct trace_summary summary;
    struct sorter *sorter;
    struct stream *stream; /* instead of the sorter; or NULL */
    struct record_keys keys;
    struct numbered_record pending[PENDING]; /* without their numbers yet */
    size_t pending_count;
    bool timed; /* a record had a time */
    uint64_t last_stamp_ns;
    bool stamped;                          /* last_stamp_ns is of this file */
    uint64_t earliest_ns;                  /* of all good records, sampled out or not */
    uint64_t window_from_ns, window_to_ns; /* absolute; to: exclusive */
    uint64_t until_progress;
    uint64_t done_bytes, total_bytes; /* of the files before this one; of all */
};

/* Span of the records kept; before they are counted. */
static void count_times(struct trace_summary *summary, uint64_t start_ns,
                        uint64_t duration_ns)
{
    uint64_t end_ns = start_ns + duration_ns;

    if (summary->records == 0 || start_ns < summary->first_ns) {
        summary->first_ns = start_ns;
    }
    if (start_ns > summary->last_ns) {
        summary->last_ns = start_ns;
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
    struct trace *trace = reader->sink->arg;

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

/* Where a record without a time arrives. */
static uint64_t arrival_ns(const struct trace *trace, uint64_t n)
{
    uint64_t per_s = trace->options.arrival_per_s;

    return n / per_s * 1000000000 + n % per_s * 1000000000 / per_s;
}

/* Gives the records that wait for their numbers to the sorter. False after a message. */
static bool sort_pending(struct trace *trace)
{
    size_t count = trace->pending_count;

    trace->pending_count = 0;
    if (!record_keys_settle(&trace->keys)) {
        no_memory();
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (!sorter_add(trace->sorter, &trace->pending[i])) {
            return false;
        }
    }
    return true;
}

/* What a reader emits; its sink's arg is the trace. */
static int take(struct reader *reader, const struct record *record, uint64_t stamp_ns)
{
    struct trace *trace = reader->sink->arg;
    struct trace_summary *summary = &trace->summary;
    uint64_t start_ns = record->start_ns;
    uint64_t good = summary->records + summary->skipped;
    bool has_time = record->flags & RECORD_HAS_TIME;
    if (good > 0 && has_time != trace->timed) {
        return mixed_times(reader);
    }
    trace->timed = has_time;
    if (!has_time) {
        start_ns = stamp_ns = arrival_ns(trace, good);
    }
    if (trace->stamped && stamp_ns < trace->last_stamp_ns) {
        summary->steps_back++;
    }
    trace->last_stamp_ns = stamp_ns;
    trace->stamped = true;
    if (good == 0 || start_ns < trace->earliest_ns) {
        trace->earliest_ns = start_ns;
    }
    if (trace->until_progress-- == 0) {
        show_progress(reader);
    }
    if (!sampled(trace, record)) {
        summary->skipped++;
        return 0;
    }
    count_times(summary, start_ns, record->duration_ns);
    summary->records++;
    summary->all_ipv4 = summary->all_ipv4 && record->dst_family == LOCUS_IPV4;
    struct numbered_record *pending = &trace->pending[trace->pending_count++];
    if (!record_note(&trace->keys, record, reader->dst_name, reader->src_name,
                     pending)) {
        return no_memory();
    }
    pending->start_ns = start_ns;
    return trace->pending_count < PENDING || sort_pending(trace) ? 0 : EXIT_RUNTIME;
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

static int read_file(struct trace *trace, const char *path)
{
    struct reader_sink sink = {take, trace, &trace->summary};
    struct reader reader = {.options = &trace->options, .sink = &sink};

    struct input *input = input_open(path);
    if (input == NULL) {
        return EXIT_RUNTIME;
    }
    reader.input = input;
    trace->stamped = false;
    int status = choose_format(&trace->options, input, &reader.format);
    if (status == 0 && reader.format != NULL) {
        note_format(&trace->summary, reader.format->name);
        status = choose_key(&reader);
        if (status == 0) {
            status = reader_run(&reader);
        }
    }
    trace->done_bytes += input_total_bytes(input);
    input_close(input);
    return status;
}

/* Counts each key once. */
static void count_key(uint8_t *seen, uint32_t number, uint64_t *count)
{
    *count += seen[number] == 0;
    seen[number] = 1;
}

static ssize_t count_window_records(struct trace *trace, uint8_t *seen_destinations,
                                    uint8_t *seen_clients)
{
    enum { BATCH = 256 };
    struct trace_summary *summary = &trace->summary;
    const struct keyset_entry *destinations = trace->keys.destinations.entries;
    struct numbered_record batch[BATCH];
    ssize_t got;

    while ((got = trace_next_numbered(trace, batch, BATCH)) > 0) {
        for (ssize_t i = 0; i < got; i++) {
            count_times(summary, batch[i].start_ns, batch[i].duration_ns);
            summary->records++;
            summary->all_ipv4 =
                summary->all_ipv4 && destinations[batch[i].dst].family == LOCUS_IPV4;
            count_key(seen_destinations, batch[i].dst, &summary->destinations);
            if (batch[i].src != NO_CLIENT) {
                count_key(seen_clients, batch[i].src, &summary->clients);
            }
        }
    }
    return got;
}

/* Counts of the window, which replace those of everything. */
static bool count_window(struct trace *trace)
{
    struct trace_summary *summary = &trace->summary;
    uint8_t *destinations = calloc(trace->keys.destinations.count + 1, 1);
    uint8_t *clients = calloc(trace->keys.clients.count + 1, 1);
    uint64_t all = summary->records;
    ssize_t got = -1;

    summary->records = summary->last_ns = summary->end_ns = 0;
    summary->destinations = summary->clients = 0;
    summary->all_ipv4 = true;
    if (destinations == NULL || clients == NULL) {
        no_memory();
    } else {
        got = count_window_records(trace, destinations, clients);
    }
    summary->skipped += all - summary->records;
    free(destinations);
    free(clients);
    return got == 0 && trace_rewind(trace);
}

static bool finish(struct trace *trace)
{
    const struct trace_options *options = &trace->options;

    trace->window_from_ns = add_capped(trace->earliest_ns, options->from_ns);
    trace->window_to_ns = options->to_ns == 0
                              ? UINT64_MAX
                              : add_capped(trace->earliest_ns, options->to_ns);
    trace->summary.timeless = trace->summary.records > 0 && !trace->timed;
    if (trace->stream == NULL) {
        if (!sort_pending(trace)) {
            return false;
        }
        trace->summary.destinations = trace->keys.destinations.count;
        trace->summary.clients = trace->keys.clients.count;
        if (!sorter_finish(trace->sorter)) {
            return false;
        }
        trace->summary.spilled_bytes = sorter_spilled_bytes(trace->sorter);
    }
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
    record_keys_init(&trace->keys);
    trace->sorter = sorter_create(options->memory_bytes);
    if (trace->sorter == NULL) {
        trace_close(trace);
        return NULL;
    }
    return trace;
}

/* One of our own files, of which everything is wanted, needs no sorting. */
static bool open_stream(struct trace *trace, char *const *paths, size_t count)
{
    const struct trace_options *options = &trace->options;
    struct stream_progress progress = {options->stop, options->progress,
                                       options->progress_arg};
    struct stream_summary found;
    bool other = options->format != NULL && strcmp(options->format, "locus") != 0;

    if (count != 1 || other || options->sample_one_in > 1 ||
        (options->key != KEY_AUTO && options->key != KEY_DST)) {
        return false;
    }
    trace->stream = stream_open(paths[0], &progress, &trace->keys, &found);
    if (trace->stream == NULL) {
        return false;
    }
    struct trace_summary *summary = &trace->summary;
    note_format(summary, "locus");
    summary->records = found.records;
    summary->destinations = found.destinations;
    summary->clients = found.clients;
    summary->first_ns = trace->earliest_ns = found.first_ns;
    summary->last_ns = found.last_ns;
    summary->end_ns = found.end_ns;
    summary->all_ipv4 = found.all_ipv4;
    trace->timed = true;
    return true;
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
    bool streamed = open_stream(trace, paths, count);
    for (size_t i = 0; i < count && status == 0 && !streamed; i++) {
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

ssize_t trace_next_numbered(struct trace *trace, struct numbered_record *batch,
                            size_t capacity)
{
    for (;;) {
        ssize_t got = trace->stream != NULL
                          ? stream_next(trace->stream, batch, capacity)
                          : sorter_next(trace->sorter, batch, capacity);
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

ssize_t trace_next(struct trace *trace, struct record *batch, size_t capacity)
{
    enum { CHUNK = 256 };
    struct numbered_record chunk[CHUNK];
    ssize_t got =
        trace_next_numbered(trace, chunk, capacity < CHUNK ? capacity : CHUNK);

    for (ssize_t i = 0; i < got; i++) {
        record_restore(&trace->keys, &chunk[i], &batch[i]);
    }
    return got;
}

const struct record_keys *trace_keys(const struct trace *trace)
{
    return &trace->keys;
}

bool trace_rewind(struct trace *trace)
{
    if (trace->stream != NULL) {
        stream_rewind(trace->stream);
        return true;
    }
    return sorter_rewind(trace->sorter);
}

const struct trace_summary *trace_summary(const struct trace *trace)
{
    return &trace->summary;
}

void trace_key_text(const struct trace *trace, uint8_t family,
                    const union locus_key *key, char *text, size_t size)
{
    const struct keyset *sets[2] = {&trace->keys.destinations, &trace->keys.clients};

    for (int i = 0; i < 2 && family == LOCUS_NAME; i++) {
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
    stream_close(trace->stream);
    record_keys_free(&trace->keys);
    free(trace);
}
