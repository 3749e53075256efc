/* SPDX-License-Identifier: MIT */
/*
 * "time id size", parted by blanks: the format of webcachesim and AdaptSize. Times are in
 * --time-unit (s). Some of these traces have only a line number for a time: when the first
 * lines count up by exactly one and no unit was given, the trace is taken to have no times.
 */
#include "formats.h"

#include <inttypes.h>

enum { SURE_AFTER = 64 };

struct state {
    bool timeless; /* the time is the number of the line */
};

static bool read_line(struct slice line, struct slice f[3], uint64_t *time,
                      uint64_t *size)
{
    uint64_t id;

    return split_runs(line, f, 3) == 3 && slice_u64(f[1], &id) &&
           slice_u64(f[2], size) &&
           (slice_u64(f[0], time) || slice_time(f[0], 1, time));
}

/* Whether the beginning of the file counts lines. */
static bool counts_lines(struct slice head)
{
    struct slice f[3];
    uint64_t time;
    uint64_t size;
    uint64_t first = 0;
    uint64_t lines = 0;

    while (head.text != NULL && lines < SURE_AFTER) {
        struct slice line = slice_cut(head, '\n', &head);
        if (!read_line(line, f, &time, &size)) {
            break;
        }
        if (lines == 0) {
            first = time;
        }
        if (time != first + lines) {
            return false;
        }
        lines++;
    }
    return lines == SURE_AFTER;
}

static int start(struct reader *reader)
{
    struct state *state = reader->state;
    struct slice head;

    if (reader->sink == NULL || reader->options->time_unit_ns != 0) {
        return 0;
    }
    if (!input_head(reader->input, &head)) {
        return 1;
    }
    state->timeless = counts_lines(head);
    return 0;
}

static int objects_line(struct reader *reader, struct slice line)
{
    const struct state *state = reader->state;
    uint64_t unit_ns = reader->options->time_unit_ns;
    struct slice f[3];
    struct record record = {.flags = RECORD_HAS_BYTES, .proto = PROTO_TCP};
    uint64_t id;

    size_t count = split_runs(line, f, 3);
    if (count == 0) {
        return 0;
    }
    if (count != 3) {
        return reader_bad(reader, "line is not of three columns", "columns",
                          "time, id, size", line);
    }
    if (!slice_time(f[0], unit_ns == 0 ? 1000000000 : unit_ns, &record.start_ns)) {
        return reader_bad(reader, "time is none", "time", "a number", f[0]);
    }
    if (!slice_u64(f[1], &id)) {
        return reader_bad(reader, "id is no number", "id", "a whole number", f[1]);
    }
    if (!slice_u64(f[2], &record.bytes)) {
        return reader_bad(reader, "size is no number", "size", "a whole number", f[2]);
    }
    reader_set_dst_name(reader, &record, f[1]);
    record.flags |= state->timeless ? 0 : RECORD_HAS_TIME;
    return reader_emit(reader, &record, record.start_ns);
}

static void objects_record(struct writing *w, const struct record *r)
{
    char number[32];

    fprintf(w->out, "%s %" PRIu64 " %" PRIu64 "\n", writing_nanos(r->start_ns, number),
            writing_object(r, w->dst), r->bytes);
}

const struct format format_objects = {
    .name = "objects",
    .about = "lines of time, id, size (webcachesim, AdaptSize); destination: the id",
    .key = KEY_OBJECT,
    .keys = 1u << KEY_OBJECT,
    .state_size = sizeof(struct state),
    .start = start,
    .line = objects_line,
    .write =
        {
            .place = 12,
            .record = objects_record,
        },
};
