/* SPDX-License-Identifier: MIT */
/*
 * Zeek's conn.log as it writes it itself: "#" lines say separator, columns and what stands
 * for an unset value, and may come again in mid-stream (joined files), with other columns;
 * "#close" ends what the last "#fields" said. ts is the start, records are written at the end.
 * A line that begins with a brace is a JSON record from a sensor set up otherwise.
 */
#include "formats.h"

#include <inttypes.h>
#include <stdio.h>

enum column {
    TS,
    ORIG_H,
    ORIG_P,
    RESP_H,
    RESP_P,
    PROTO,
    DURATION,
    RESP_BYTES,
    COLUMNS
};

static const char *const column_names[COLUMNS] = {"ts",        "id.orig_h", "id.orig_p",
                                                  "id.resp_h", "id.resp_p", "proto",
                                                  "duration",  "resp_bytes"};

enum { WIDEST = 128, NOT_THERE = WIDEST };

struct word { /* of a header line, kept */
    char text[16];
    size_t length;
};

struct state {
    bool started; /* separator, unset and empty have their defaults */
    char separator;
    struct word unset, empty;
    size_t width; /* columns of the last #fields; 0: none yet, or closed */
    uint8_t place[COLUMNS];
};

static void set_word(struct word *word, struct slice value)
{
    word->length =
        value.length < sizeof(word->text) ? value.length : sizeof(word->text) - 1;
    memcpy(word->text, value.text, word->length);
}

static bool is_word(struct slice value, const struct word *word)
{
    return value.length == word->length &&
           memcmp(value.text, word->text, word->length) == 0;
}

static void set_defaults(struct state *state)
{
    state->started = true;
    state->separator = '\t';
    set_word(&state->unset, slice_of("-"));
    set_word(&state->empty, slice_of("(empty)"));
}

/* "\x09" or the character itself. */
static void set_separator(struct state *state, struct slice value)
{
    unsigned code;
    char text[5] = "";

    if (value.length == 1) {
        state->separator = value.text[0];
    } else if (value.length == 4) {
        memcpy(text, value.text, 4);
        if (sscanf(text, "\\x%2x", &code) == 1 && code != 0) {
            state->separator = (char)code;
        }
    }
}

static int set_columns(struct reader *reader, struct slice names)
{
    struct state *state = reader->state;
    struct slice f[WIDEST];

    memset(state->place, NOT_THERE, sizeof(state->place));
    state->width = split_each(names, state->separator, f, WIDEST);
    if (state->width > WIDEST) {
        state->width = 0;
        return reader_bad(reader, "too many columns", "#fields", "at most 128", names);
    }
    for (size_t i = 0; i < state->width; i++) {
        for (size_t c = 0; c < COLUMNS; c++) {
            if (slice_equals(f[i], column_names[c])) {
                state->place[c] = (uint8_t)i;
            }
        }
    }
    if (state->place[TS] == NOT_THERE || state->place[RESP_H] == NOT_THERE ||
        state->place[ORIG_H] == NOT_THERE) {
        state->width = 0;
        return reader_bad(reader, "#fields lacks ts, id.orig_h or id.resp_h", "#fields",
                          "the columns of a conn.log", names);
    }
    return 0;
}

/* Name and value are parted by the separator, in front of which some writers put a blank. */
static int header(struct reader *reader, struct slice line)
{
    struct state *state = reader->state;
    size_t name = 0;

    reader_other(reader);
    while (name < line.length && line.text[name] != ' ' && line.text[name] != '\t' &&
           line.text[name] != state->separator) {
        name++;
    }
    struct slice word = {line.text, name};
    struct slice value = {line.text + name, line.length - name};
    if (value.length > 0) {
        value.text++;
        value.length--;
    }
    if (slice_equals(word, "#separator")) {
        set_defaults(state);
        set_separator(state, slice_trim(value));
    } else if (slice_equals(word, "#unset_field")) {
        set_word(&state->unset, value);
    } else if (slice_equals(word, "#empty_field")) {
        set_word(&state->empty, value);
    } else if (slice_equals(word, "#fields")) {
        return set_columns(reader, value);
    } else if (slice_equals(word, "#close")) {
        state->width = 0;
    }
    return 0;
}

/* The column's text; empty when the log lacks it or says that it is unset. */
static struct slice column(const struct state *state, const struct slice *f,
                           enum column c)
{
    struct slice none = {"", 0};

    if (state->place[c] == NOT_THERE) {
        return none;
    }
    struct slice value = f[state->place[c]];
    return is_word(value, &state->unset) || is_word(value, &state->empty) ? none
                                                                          : value;
}

static int bad_width(struct reader *reader, size_t width, struct slice line)
{
    const struct state *state = reader->state;

    if (state->width == 0) {
        return reader_bad(reader, "record without a #fields line before it", "#fields",
                          "a header that names the columns", line);
    }
    if (width < state->width) {
        return reader_bad(reader, "fewer columns than #fields", "columns",
                          "as many as in #fields", line);
    }
    return reader_bad(reader, "more columns than #fields", "columns",
                      "as many as in #fields", line);
}

static int tsv_record(struct reader *reader, struct slice line)
{
    struct state *state = reader->state;
    struct slice f[WIDEST];
    struct record record = {.flags = RECORD_HAS_TIME};

    size_t width = split_each(line, state->separator, f, WIDEST);
    if (state->width == 0 || width != state->width) {
        return bad_width(reader, width, line);
    }
    struct slice value = column(state, f, TS);
    if (!slice_time(value, 1000000000, &record.start_ns)) {
        return reader_bad(reader, "ts is no time", "ts", "seconds since 1970", value);
    }
    value = column(state, f, DURATION);
    if (value.length > 0) {
        if (!slice_time(value, 1000000000, &record.duration_ns)) {
            return reader_bad(reader, "duration is no number", "duration",
                              "seconds, or unset", value);
        }
        record.flags |= RECORD_HAS_DURATION;
    }
    value = column(state, f, RESP_BYTES);
    if (value.length > 0) {
        if (!slice_u64(value, &record.bytes)) {
            return reader_bad(reader, "bytes are no number", "resp_bytes",
                              "a whole number, or unset", value);
        }
        record.flags |= RECORD_HAS_BYTES;
    }
    record.proto = slice_proto(column(state, f, PROTO));
    value = column(state, f, ORIG_P);
    if (value.length > 0 && !slice_port(value, &record.src_port)) {
        return reader_bad(reader, "port is out of range", "id.orig_p", "0 to 65535",
                          value);
    }
    value = column(state, f, RESP_P);
    if (value.length > 0 && !slice_port(value, &record.dst_port)) {
        return reader_bad(reader, "port is out of range", "id.resp_p", "0 to 65535",
                          value);
    }
    value = column(state, f, ORIG_H);
    if (!reader_set_src_ip(reader, &record, value)) {
        return reader_bad(reader, "client is no address", "id.orig_h", "an IP address",
                          value);
    }
    value = column(state, f, RESP_H);
    if (reader->key == KEY_CLIENT) {
        reader_dst_from_src(reader, &record);
    } else if (!reader_set_dst_ip(reader, &record, value)) {
        return reader_bad(reader, "destination is no address", "id.resp_h",
                          "an IP address", value);
    }
    return reader_emit(reader, &record, record.start_ns);
}

static int tsv_line(struct reader *reader, struct slice line)
{
    struct state *state = reader->state;

    if (!state->started) {
        set_defaults(state);
    }
    if (line.length == 0) {
        return 0;
    }
    if (line.text[0] == '{') {
        return zeek_json_line(reader, line);
    }
    if (line.text[0] == '#') {
        return header(reader, line);
    }
    if (line.text[0] == ' ' || line.text[0] == '\t') {
        struct slice trimmed = slice_trim(line);
        if (trimmed.length > 0 && trimmed.text[0] == '#') {
            return header(reader, trimmed);
        }
    }
    return tsv_record(reader, line);
}

/* The beginning of a conn.log that lost its header: time, uid, address. Nothing in it can be
 * read, but it is known what is missing. */
static bool headless(struct slice head)
{
    struct slice rest;
    struct slice f[4];
    uint64_t time_ns;
    uint8_t family;
    union locus_key key;

    return split_each(slice_cut(head, '\n', &rest), '\t', f, 4) > 6 &&
           f[1].length >= 14 && f[1].text[0] == 'C' &&
           slice_time(f[0], 1000000000, &time_ns) && slice_ip(f[2], &family, &key);
}

/* A header is enough, or else an hour without connections would be an unknown format. */
static bool tsv_certain(struct slice head)
{
    struct slice trimmed = slice_trim(head);
    bool header = slice_starts(trimmed, "#separator") &&
                  memmem(head.text, head.length, "id.resp_h", 9) != NULL;

    return header || headless(head);
}

static void zeek_tsv_begin(struct writing *w)
{
    fprintf(
        w->out,
        "#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n"
        "#unset_field\t-\n#path\tconn\n"
        "#fields\tts\tuid\tid.orig_h\tid.orig_p\tid.resp_h\tid.resp_p\tproto\tservice\t"
        "duration\torig_bytes\tresp_bytes\tconn_state\n"
        "#types\ttime\tstring\taddr\tport\taddr\tport\tenum\tstring\tinterval\tcount\t"
        "count\tstring\n");
}

static void zeek_tsv_record(struct writing *w, const struct record *r)
{
    char dst[64];
    char src[64];
    char start[32];
    char duration[32];
    char proto[12];

    writing_address(r->dst_family, &r->dst, w->dst, dst);
    writing_client_address(w, r, src);
    fprintf(w->out, "%s\tC%" PRIx64 "\t%s\t%u\t%s\t%u\t%s\t-\t%s\t-\t%" PRIu64 "\tSF\n",
            writing_seconds(true, r->start_ns, start), w->written, src, r->src_port,
            dst, r->dst_port, writing_proto(r->proto, proto),
            writing_seconds(r->flags & RECORD_HAS_DURATION, r->duration_ns, duration),
            r->bytes);
}

const struct format format_zeek_tsv = {
    .name = "zeek-tsv",
    .about = "Zeek conn.log with #fields; destination: id.resp_h",
    .key = KEY_DST,
    .keys = 1u << KEY_DST | 1u << KEY_CLIENT,
    .state_size = sizeof(struct state),
    .line = tsv_line,
    .certain = tsv_certain,
    .write =
        {
            .place = 2,
            .by_end = true,
            .begin = zeek_tsv_begin,
            .record = zeek_tsv_record,
        },
};
