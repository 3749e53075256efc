/* SPDX-License-Identifier: MIT */
#include "reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/errors.h"

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
    struct trace_summary *summary = reader->sink->summary;
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
    if (reader->sink == NULL) {
        return 0;
    }
    struct trace_summary *summary = reader->sink->summary;
    count_reason(summary, reason);
    keep_example(reader, field, expected, got);
    summary->bad++;
    return summary->bad > reader->options->max_bad ? EXIT_BAD_DATA : 0;
}

void reader_other(struct reader *reader)
{
    reader->others++;
    if (reader->sink != NULL) {
        reader->sink->summary->others++;
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

int reader_emit(struct reader *reader, const struct record *record, uint64_t stamp_ns)
{
    reader->seen++;
    return reader->sink == NULL ? 0 : reader->sink->take(reader, record, stamp_ns);
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

int reader_run(struct reader *reader)
{
    const struct format *format = reader->format;
    int status = 0;

    reader->state = calloc(1, format->state_size + 1);
    if (reader->state == NULL) {
        fprintf(stderr, "locus: out of memory while reading traces\n");
        return EXIT_RUNTIME;
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

const char *reader_key_name(enum trace_key key)
{
    static const char *const names[] = {"auto", "dst",    "host",
                                        "url",  "client", "object"};

    return names[key];
}
