/* SPDX-License-Identifier: MIT */
/*
 * Suricata's eve.json: the events of type "flow", which have the start and end of a flow and
 * its bytes by direction. Events of another type are no records.
 */
#include "formats.h"

#include <inttypes.h>

#include "json.h"
#include "json_plain.h"

static int bad_value(struct reader *reader, const char *reason, const char *field,
                     const char *expected, const json_t *value)
{
    char buffer[64];

    return reader_bad(reader, reason, field, expected,
                      json_show(value, buffer, sizeof(buffer)));
}

static int take_ends(struct reader *reader, const json_t *event, struct record *record)
{
    struct slice src = json_slice(event, "src_ip");
    struct slice dst = json_slice(event, "dest_ip");
    const json_t *src_port = json_object_get(event, "src_port");
    const json_t *dst_port = json_object_get(event, "dest_port");

    if (src_port != NULL && !json_port(src_port, &record->src_port)) {
        return bad_value(reader, "port is out of range", "src_port", "0 to 65535",
                         src_port);
    }
    if (dst_port != NULL && !json_port(dst_port, &record->dst_port)) {
        return bad_value(reader, "port is out of range", "dest_port", "0 to 65535",
                         dst_port);
    }
    if (!reader_set_src_ip(reader, record, src)) {
        return reader_bad(reader, "client is no address", "src_ip", "an IP address",
                          src);
    }
    if (reader->key == KEY_CLIENT) {
        reader_dst_from_src(reader, record);
    } else if (!reader_set_dst_ip(reader, record, dst)) {
        return reader_bad(reader, "destination is no address", "dest_ip",
                          "an IP address", dst);
    }
    return reader_emit(reader, record, record->start_ns);
}

static int take_flow(struct reader *reader, const json_t *event)
{
    const json_t *flow = json_object_get(event, "flow");
    const json_t *start = json_object_get(flow, "start");
    const json_t *end = json_object_get(flow, "end");
    const json_t *bytes = json_object_get(flow, "bytes_toclient");
    struct record record = {.flags = RECORD_HAS_TIME};
    uint64_t end_ns;

    if (!json_time(start, &record.start_ns)) {
        return bad_value(reader, "start is no time", "flow.start", "an ISO time",
                         start);
    }
    if (end != NULL) {
        if (!json_time(end, &end_ns) || end_ns < record.start_ns) {
            return bad_value(reader, "end is before the start or no time", "flow.end",
                             "an ISO time, not before flow.start", end);
        }
        record.duration_ns = end_ns - record.start_ns;
        record.flags |= RECORD_HAS_DURATION;
    }
    if (bytes != NULL) {
        if (!json_u64(bytes, &record.bytes)) {
            return bad_value(reader, "bytes are no number", "flow.bytes_toclient",
                             "a whole number", bytes);
        }
        record.flags |= RECORD_HAS_BYTES;
    }
    record.proto = slice_proto(json_slice(event, "proto"));
    return take_ends(reader, event, &record);
}

enum place { TYPE, SRC, SRC_PORT, DST, DST_PORT, PROTO, START, END, BYTES, PLACES };

static const struct json_key plain_keys[] = {
    JSON_KEY("event_type", TYPE),    JSON_KEY("src_ip", SRC),
    JSON_KEY("src_port", SRC_PORT),  JSON_KEY("dest_ip", DST),
    JSON_KEY("dest_port", DST_PORT), JSON_KEY("proto", PROTO),
};

static const struct json_key plain_flow_keys[] = {
    JSON_KEY("bytes_toclient", BYTES),
    JSON_KEY("start", START),
    JSON_KEY("end", END),
};

static const struct json_wanted plain_wanted = {
    .keys = JSON_KEYS(plain_keys),
    .outer = {.text = "flow", .length = 4},
    .inner = JSON_KEYS(plain_flow_keys),
};

/* The flow of a plain line without fault. False: the tree is to be looked at. */
static bool take_plain(struct reader *reader, const struct json_plain v[PLACES],
                       struct record *record)
{
    uint64_t end_ns;

    if (!json_plain_time(&v[START], &record->start_ns)) {
        return false;
    }
    if (v[END].kind != JSON_ABSENT) {
        if (!json_plain_time(&v[END], &end_ns) || end_ns < record->start_ns) {
            return false;
        }
        record->duration_ns = end_ns - record->start_ns;
        record->flags |= RECORD_HAS_DURATION;
    }
    if (v[BYTES].kind != JSON_ABSENT) {
        if (!json_plain_u64(&v[BYTES], &record->bytes)) {
            return false;
        }
        record->flags |= RECORD_HAS_BYTES;
    }
    if ((v[SRC_PORT].kind != JSON_ABSENT &&
         !json_plain_port(&v[SRC_PORT], &record->src_port)) ||
        (v[DST_PORT].kind != JSON_ABSENT &&
         !json_plain_port(&v[DST_PORT], &record->dst_port))) {
        return false;
    }
    if (v[PROTO].kind == JSON_TEXT) {
        record->proto = slice_proto(v[PROTO].text);
    }
    if (v[SRC].kind != JSON_TEXT || !reader_set_src_ip(reader, record, v[SRC].text)) {
        return false;
    }
    if (reader->key == KEY_CLIENT) {
        return reader_dst_from_src(reader, record);
    }
    return v[DST].kind == JSON_TEXT && reader_set_dst_ip(reader, record, v[DST].text);
}

static int eve_line(struct reader *reader, struct slice line)
{
    struct record record = {.flags = RECORD_HAS_TIME};
    struct json_plain v[PLACES];
    int status = 0;

    if (line.length == 0) {
        return 0;
    }
    if (json_plain(line, &plain_wanted, v, PLACES) && v[TYPE].kind == JSON_TEXT &&
        v[TYPE].text.length > 0) {
        if (!slice_equals(v[TYPE].text, "flow")) {
            reader_other(reader);
            return 0;
        }
        if (take_plain(reader, v, &record)) {
            return reader_emit(reader, &record, record.start_ns);
        }
    }
    json_t *event = json_line(reader, line, &status);
    if (event == NULL) {
        return status;
    }
    struct slice type = json_slice(event, "event_type");
    if (slice_equals(type, "flow")) {
        status = take_flow(reader, event);
    } else if (type.length > 0) {
        reader_other(reader);
    } else {
        status = bad_value(reader, "event has no type", "event_type", "a name",
                           json_object_get(event, "event_type"));
    }
    json_decref(event);
    return status;
}

static bool certain(struct slice head)
{
    return slice_starts(head, "{\"timestamp\":") &&
           memmem(head.text, head.length, "\"event_type\":\"", 14) != NULL;
}

static void eve_record(struct writing *w, const struct record *r)
{
    char dst[64];
    char src[64];
    char start[40];
    char end[40];
    char proto[12];

    writing_address(r->dst_family, &r->dst, w->dst, dst);
    writing_client_address(w, r, src);
    writing_iso_time(r->start_ns, 'T', 6, start);
    writing_iso_time(writing_end_ns(r), 'T', 6, end);
    fprintf(w->out,
            "{\"timestamp\":\"%s+0000\",\"flow_id\":%" PRIu64
            ",\"event_type\":\"flow\",\"src_ip\":\"%s\",\"src_port\":%u,",
            end, w->written, src, r->src_port);
    fprintf(w->out, "\"dest_ip\":\"%s\",\"dest_port\":%u,\"proto\":\"%s\",", dst,
            r->dst_port, writing_proto_upper(r->proto, proto));
    fprintf(w->out,
            "\"flow\":{\"bytes_toserver\":0,\"bytes_toclient\":%" PRIu64
            ",\"start\":\"%s+0000\"",
            r->bytes, start);
    if (r->flags & RECORD_HAS_DURATION) {
        fprintf(w->out, ",\"end\":\"%s+0000\"", end);
    }
    fprintf(w->out, "}}\n");
}

const struct format format_eve = {
    .name = "eve",
    .about = "Suricata eve.json flow events; destination: dest_ip",
    .key = KEY_DST,
    .keys = 1u << KEY_DST | 1u << KEY_CLIENT,
    .line = eve_line,
    .certain = certain,
    .write =
        {
            .place = 8,
            .by_end = true,
            .record = eve_record,
        },
};
