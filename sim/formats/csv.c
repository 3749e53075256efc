/* SPDX-License-Identifier: MIT */
/*
 * Columns parted by comma, tab, semicolon, bar or blanks. --columns says what they mean
 * ("time=1,dst=2,bytes=3,client=4,duration=5", any order, the rest is ignored); a header row
 * is then recognised by its time being none, and not counted as bad. Without --columns the
 * header's names say it. Times are numbers in --time-unit (s), or dates; durations are in the
 * same unit. Without a time column the order of rows is all there is.
 *
 * What stands for the destination: the first of dst, host, url, object, client that there is,
 * or what --key says.
 */
#include "csv.h"

#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

#include "../base/errors.h"
#include "formats.h"

static const struct row_name header_names[] = {
    {"time", ROW_TIME},
    {"timestamp", ROW_TIME},
    {"ts", ROW_TIME},
    {"start", ROW_TIME},
    {"start_time", ROW_TIME},
    {"epoch", ROW_TIME},
    {"op_time", ROW_TIME},
    {"end", ROW_END},
    {"end_time", ROW_END},
    {"duration", ROW_DURATION},
    {"elapsed", ROW_DURATION},
    {"dst", ROW_DST},
    {"destination", ROW_DST},
    {"dst_ip", ROW_DST},
    {"server", ROW_DST},
    {"host", ROW_HOST},
    {"url", ROW_URL},
    {"path", ROW_URL},
    {"object", ROW_OBJECT},
    {"object_id", ROW_OBJECT},
    {"obj_id", ROW_OBJECT},
    {"id", ROW_OBJECT},
    {"key", ROW_OBJECT},
    {"block_id", ROW_OBJECT},
    {"client", ROW_CLIENT},
    {"client_ip", ROW_CLIENT},
    {"src", ROW_CLIENT},
    {"source", ROW_CLIENT},
    {"src_ip", ROW_CLIENT},
    {"host_name", ROW_CLIENT},
    {"bytes", ROW_BYTES},
    {"size", ROW_BYTES},
    {"io_size", ROW_BYTES},
    {"obj_size", ROW_BYTES},
    {"dst_port", ROW_DST_PORT},
    {"client_port", ROW_CLIENT_PORT},
    {"src_port", ROW_CLIENT_PORT},
    {"proto", ROW_PROTO},
    {"protocol", ROW_PROTO},
    {NULL, ROW_COLUMNS},
};

/* In the order in which KEY_AUTO tries them. */
static const struct {
    enum trace_key key;
    enum row_column column;
} key_columns[] = {
    {KEY_DST, ROW_DST},       {KEY_HOST, ROW_HOST},     {KEY_URL, ROW_URL},
    {KEY_OBJECT, ROW_OBJECT}, {KEY_CLIENT, ROW_CLIENT},
};

int csv_start(struct reader *reader)
{
    struct csv_state *state = reader->state;

    state->names = header_names;
    row_map_clear(&state->map);
    if (reader->options->columns == NULL) {
        return 0;
    }
    state->by_option = true;
    return row_map_option(&state->map, reader->options->columns);
}

/* A web server's log in columns calls its client "host", as the Common Log Format does. */
static void host_of_weblog(struct row_map *map)
{
    if (row_has(map, ROW_HOST) && row_has(map, ROW_URL) && !row_has(map, ROW_CLIENT)) {
        map->place[ROW_CLIENT] = map->place[ROW_HOST];
        map->place[ROW_HOST] = ROW_ABSENT;
    }
}

static int resolve_key(struct reader *reader)
{
    struct csv_state *state = reader->state;
    enum trace_key wanted = reader->options->key;

    state->keyed = true;
    for (size_t i = 0; i < sizeof(key_columns) / sizeof(key_columns[0]); i++) {
        bool asked = wanted == KEY_AUTO || wanted == key_columns[i].key;
        if (asked && row_has(&state->map, key_columns[i].column)) {
            state->key = key_columns[i].column;
            reader->key = key_columns[i].key;
            return 0;
        }
    }
    if (reader->sink != NULL) {
        fprintf(stderr,
                "locus: %s: no column is %s; --columns NAME=COLUMN,... says what "
                "the columns mean\n",
                input_name(reader->input),
                wanted == KEY_AUTO ? "dst, host, url, object or client"
                                   : reader_key_name(wanted));
    }
    return EXIT_USAGE;
}

/* A header is known by its first words being none of a row's. */
static bool is_header(const struct csv_state *state, struct slice line)
{
    struct row_map named;
    size_t known = row_map_header(&named, line, state->names);
    bool has_key = row_has(&named, ROW_DST) || row_has(&named, ROW_HOST) ||
                   row_has(&named, ROW_URL) || row_has(&named, ROW_OBJECT) ||
                   row_has(&named, ROW_CLIENT);

    return known >= 2 && has_key;
}

static bool read_time(const struct reader *reader, struct slice text, uint64_t *out_ns)
{
    uint64_t unit_ns = reader->options->time_unit_ns;

    return slice_time(text, unit_ns == 0 ? 1000000000 : unit_ns, out_ns) ||
           slice_iso_time(text, out_ns) || slice_clf_time(text, out_ns);
}

/* Start and duration from any two of start, end and duration. */
static bool take_times(struct reader *reader, const struct slice *f,
                       struct record *record, uint64_t *stamp_ns, int *status)
{
    const struct row_map *map = &((struct csv_state *)reader->state)->map;
    struct slice start = row_field(map, f, ROW_TIME);
    struct slice end = row_field(map, f, ROW_END);
    struct slice duration = row_field(map, f, ROW_DURATION);
    uint64_t unit_ns = reader->options->time_unit_ns;
    uint64_t end_ns = 0;

    if (row_has(map, ROW_TIME) && !read_time(reader, start, &record->start_ns)) {
        *status =
            reader_bad(reader, "time is none", "time", "a number or a date", start);
        return false;
    }
    if (end.length > 0 && !read_time(reader, end, &end_ns)) {
        *status =
            reader_bad(reader, "end is no time", "end", "a number or a date", end);
        return false;
    }
    if (duration.length > 0 && !slice_is_dash(duration)) {
        if (!slice_time(duration, unit_ns == 0 ? 1000000000 : unit_ns,
                        &record->duration_ns)) {
            *status = reader_bad(reader, "duration is no number", "duration",
                                 "a number, 0 or more", duration);
            return false;
        }
        record->flags |= RECORD_HAS_DURATION;
    } else if (end.length > 0 && row_has(map, ROW_TIME)) {
        if (end_ns < record->start_ns) {
            *status = reader_bad(reader, "end is before the start", "end",
                                 "the start or later", end);
            return false;
        }
        record->duration_ns = end_ns - record->start_ns;
        record->flags |= RECORD_HAS_DURATION;
    }
    if (!row_has(map, ROW_TIME) && end.length > 0) {
        if (record->duration_ns > end_ns) {
            *status = reader_bad(reader, "duration is longer than the clock",
                                 "duration", "less than the end", duration);
            return false;
        }
        record->start_ns = end_ns - record->duration_ns;
    }
    if (row_has(map, ROW_TIME) || end.length > 0) {
        record->flags |= RECORD_HAS_TIME;
    }
    *stamp_ns = row_has(map, ROW_TIME) ? record->start_ns : end_ns;
    return true;
}

static bool take_numbers(struct reader *reader, const struct slice *f,
                         struct record *record, int *status)
{
    const struct row_map *map = &((struct csv_state *)reader->state)->map;
    struct slice bytes = row_field(map, f, ROW_BYTES);
    struct slice dst_port = row_field(map, f, ROW_DST_PORT);
    struct slice client_port = row_field(map, f, ROW_CLIENT_PORT);
    struct slice proto = row_field(map, f, ROW_PROTO);

    if (bytes.length > 0 && !slice_is_dash(bytes)) {
        if (!slice_u64(bytes, &record->bytes)) {
            *status = reader_bad(reader, "bytes are no number", "bytes",
                                 "a whole number", bytes);
            return false;
        }
        record->flags |= RECORD_HAS_BYTES;
    }
    if (dst_port.length > 0 && !slice_port(dst_port, &record->dst_port)) {
        *status = reader_bad(reader, "port is out of range", "dst_port", "0 to 65535",
                             dst_port);
        return false;
    }
    if (client_port.length > 0 && !slice_port(client_port, &record->src_port)) {
        *status = reader_bad(reader, "port is out of range", "client_port",
                             "0 to 65535", client_port);
        return false;
    }
    record->proto = proto.length > 0 ? slice_proto(proto) : PROTO_TCP;
    return true;
}

static bool set_destination(struct reader *reader, const struct slice *f,
                            struct record *record)
{
    const struct csv_state *state = reader->state;
    struct slice text = row_field(&state->map, f, state->key);
    struct slice host;
    uint16_t port;

    if (state->key == ROW_CLIENT) {
        return reader_dst_from_src(reader, record);
    }
    if (state->key == ROW_URL || state->key == ROW_OBJECT) {
        return reader_set_dst_name(reader, record, text);
    }
    if (!slice_host_port(text, &host, &port)) {
        return false;
    }
    if (port != 0 && record->dst_port == 0) {
        record->dst_port = port;
    }
    return reader_set_dst(reader, record, host);
}

static int take_row(struct reader *reader, struct slice line)
{
    struct csv_state *state = reader->state;
    struct slice f[ROWS_WIDEST];
    struct record record = {0};
    uint64_t stamp_ns = 0;
    int status = 0;

    size_t width = row_split(&state->map, line, f);
    if (row_check_width(reader, &state->map, width, line, &status) != 0 ||
        !take_times(reader, f, &record, &stamp_ns, &status) ||
        !take_numbers(reader, f, &record, &status)) {
        return status;
    }
    reader_set_src(reader, &record, row_field(&state->map, f, ROW_CLIENT));
    if (!set_destination(reader, f, &record)) {
        return reader_bad(reader, "no destination", reader_key_name(reader->key),
                          "something there", row_field(&state->map, f, state->key));
    }
    return reader_emit(reader, &record, stamp_ns);
}

/* The first line settles the separator and, without --columns, the meaning. */
static int first_line(struct reader *reader, struct slice line, bool *header)
{
    struct csv_state *state = reader->state;

    *header = is_header(state, line);
    if (!state->by_option) {
        if (!*header) {
            if (reader->sink != NULL) {
                fprintf(stderr,
                        "locus: %s: the first line names no columns; --columns "
                        "NAME=COLUMN,... says what they mean\n",
                        input_name(reader->input));
            }
            return EXIT_USAGE;
        }
        row_map_header(&state->map, line, state->names);
        host_of_weblog(&state->map);
        row_map_loosen(&state->map);
        return 0;
    }
    if (state->map.separator == '\0') {
        state->map.separator = row_guess_separator(line);
    }
    return 0;
}

/* With --columns a header may have any names: its time is no time then. */
static bool header_by_time(struct reader *reader, struct slice line)
{
    struct csv_state *state = reader->state;
    struct slice f[ROWS_WIDEST];
    uint64_t time_ns;

    if (row_split(&state->map, line, f) < state->map.width) {
        return false;
    }
    bool has_time = row_has(&state->map, ROW_TIME);
    struct slice text = row_field(&state->map, f, has_time ? ROW_TIME : ROW_BYTES);
    return (has_time || row_has(&state->map, ROW_BYTES)) && text.length > 0 &&
           (text.text[0] < '0' || text.text[0] > '9') && text.text[0] != '-' &&
           !read_time(reader, text, &time_ns);
}

int csv_line(struct reader *reader, struct slice line)
{
    struct csv_state *state = reader->state;

    if (line.length == 0) {
        return 0;
    }
    if (line.text[0] == '#') {
        reader_other(reader);
        return 0;
    }
    if (!state->started) {
        bool header;
        int status = first_line(reader, line, &header);
        if (status == 0) {
            status = resolve_key(reader);
        }
        if (status != 0) {
            return status;
        }
        state->started = true;
        if (header || header_by_time(reader, line)) {
            reader_other(reader);
            return 0;
        }
    }
    return take_row(reader, line);
}

static void csv_begin(struct writing *w)
{
    fprintf(w->out, "%sdst,dst_port,client,client_port,proto,bytes,duration\n",
            w->timeless ? "" : "time,");
}

static void csv_record(struct writing *w, const struct record *r)
{
    char dst[WRITING_NAME];
    char src[WRITING_NAME] = "";
    char number[32];
    char proto[12];

    /* A colon in a name would be read as the one in front of a port. */
    writing_encode(w->dst, r->dst_family == LOCUS_NAME ? "\",:" : "\",", dst);
    if (r->flags & RECORD_HAS_CLIENT) {
        writing_encode(w->src, "\",", src);
    }
    if (!w->timeless) {
        fprintf(w->out, "%s,", writing_nanos(r->start_ns, number));
    }
    fprintf(w->out, "%s,%u,%s,%u,%s,", dst, r->dst_port, src, r->src_port,
            writing_proto(r->proto, proto));
    if (r->flags & RECORD_HAS_BYTES) {
        fprintf(w->out, "%" PRIu64, r->bytes);
    }
    fprintf(w->out, ",%s\n",
            r->flags & RECORD_HAS_DURATION ? writing_nanos(r->duration_ns, number)
                                           : "");
}

/* --columns is said for this format; nothing else may take the file then. */
const struct format format_csv = {
    .name = "csv",
    .about =
        "columns by header or --columns; destination: dst, host, url, object, client",
    .key = KEY_DST,
    .keys = 1u << KEY_DST | 1u << KEY_HOST | 1u << KEY_URL | 1u << KEY_CLIENT |
            1u << KEY_OBJECT,
    .state_size = sizeof(struct csv_state),
    .start = csv_start,
    .line = csv_line,
    .write =
        {
            .place = 13,
            .begin = csv_begin,
            .record = csv_record,
        },
};
