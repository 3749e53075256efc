/* SPDX-License-Identifier: MIT */
/*
 * Zeek's conn.log as JSON, one object per line. Keys have dots ("id.orig_h"); shippers make
 * underscores or nested objects of them. ts is seconds since 1970 or an ISO time. Unset
 * values are left out.
 */
#include "formats.h"

#include <inttypes.h>

#include "json.h"
#include "json_plain.h"

static const json_t *endpoint(const json_t *object, const char *dotted,
                              const char *lowered)
{
    const json_t *value = json_object_get(object, dotted);

    if (value == NULL) {
        value = json_object_get(object, lowered);
    }
    if (value == NULL) {
        value = json_object_get(json_object_get(object, "id"), dotted + 3);
    }
    return value;
}

static struct slice endpoint_host(const json_t *value)
{
    if (!json_is_string(value)) {
        return (struct slice){"", 0};
    }
    return (struct slice){json_string_value(value), json_string_length(value)};
}

static int bad_value(struct reader *reader, const char *reason, const char *field,
                     const char *expected, const json_t *value)
{
    char buffer[64];

    return reader_bad(reader, reason, field, expected,
                      json_show(value, buffer, sizeof(buffer)));
}

static int take_object(struct reader *reader, const json_t *object)
{
    struct record record = {.flags = RECORD_HAS_TIME};
    const json_t *value = json_object_get(object, "ts");
    const json_t *client = endpoint(object, "id.orig_h", "id_orig_h");
    const json_t *server = endpoint(object, "id.resp_h", "id_resp_h");

    if (!json_time(value, &record.start_ns)) {
        return bad_value(reader, "ts is no time", "ts",
                         "seconds since 1970 or an ISO time", value);
    }
    if ((value = json_object_get(object, "duration")) != NULL) {
        if (!json_seconds(value, &record.duration_ns)) {
            return bad_value(reader, "duration is no number", "duration",
                             "seconds, 0 or more", value);
        }
        record.flags |= RECORD_HAS_DURATION;
    }
    if ((value = json_object_get(object, "resp_bytes")) != NULL) {
        if (!json_u64(value, &record.bytes)) {
            return bad_value(reader, "bytes are no number", "resp_bytes",
                             "a whole number", value);
        }
        record.flags |= RECORD_HAS_BYTES;
    }
    value = endpoint(object, "id.orig_p", "id_orig_p");
    if (value != NULL && !json_port(value, &record.src_port)) {
        return bad_value(reader, "port is out of range", "id.orig_p", "0 to 65535",
                         value);
    }
    value = endpoint(object, "id.resp_p", "id_resp_p");
    if (value != NULL && !json_port(value, &record.dst_port)) {
        return bad_value(reader, "port is out of range", "id.resp_p", "0 to 65535",
                         value);
    }
    record.proto = slice_proto(json_slice(object, "proto"));
    if (!reader_set_src_ip(reader, &record, endpoint_host(client))) {
        return bad_value(reader, "client is no address", "id.orig_h", "an IP address",
                         client);
    }
    if (reader->key == KEY_CLIENT) {
        reader_dst_from_src(reader, &record);
    } else if (!reader_set_dst_ip(reader, &record, endpoint_host(server))) {
        return bad_value(reader, "destination is no address", "id.resp_h",
                         "an IP address", server);
    }
    return reader_emit(reader, &record, record.start_ns);
}

enum place { TS, ORIG_H, ORIG_P, RESP_H, RESP_P, PROTO, DURATION, RESP_BYTES, PLACES };

static const struct json_key plain_keys[] = {
    JSON_KEY("ts", TS),
    JSON_KEY("id.orig_h", ORIG_H),
    JSON_KEY("id.orig_p", ORIG_P),
    JSON_KEY("id.resp_h", RESP_H),
    JSON_KEY("id.resp_p", RESP_P),
    JSON_KEY("proto", PROTO),
    JSON_KEY("duration", DURATION),
    JSON_KEY("resp_bytes", RESP_BYTES),
    JSON_KEY("id_orig_h", ORIG_H),
    JSON_KEY("id_orig_p", ORIG_P),
    JSON_KEY("id_resp_h", RESP_H),
    JSON_KEY("id_resp_p", RESP_P),
};

static const struct json_key plain_id_keys[] = {
    JSON_KEY("orig_h", ORIG_H),
    JSON_KEY("orig_p", ORIG_P),
    JSON_KEY("resp_h", RESP_H),
    JSON_KEY("resp_p", RESP_P),
};

static const struct json_wanted plain_wanted = {
    .keys = JSON_KEYS(plain_keys),
    .outer = {.text = "id", .length = 2},
    .inner = JSON_KEYS(plain_id_keys),
};

/* The record of a plain line without fault. False: take_object() is to look at it. */
static bool take_plain(struct reader *reader, struct slice line, struct record *record)
{
    struct json_plain v[PLACES];

    if (!json_plain(line, &plain_wanted, v, PLACES) ||
        !json_plain_time(&v[TS], &record->start_ns)) {
        return false;
    }
    if (v[DURATION].kind != JSON_ABSENT) {
        if (!json_plain_seconds(&v[DURATION], &record->duration_ns)) {
            return false;
        }
        record->flags |= RECORD_HAS_DURATION;
    }
    if (v[RESP_BYTES].kind != JSON_ABSENT) {
        if (!json_plain_u64(&v[RESP_BYTES], &record->bytes)) {
            return false;
        }
        record->flags |= RECORD_HAS_BYTES;
    }
    if ((v[ORIG_P].kind != JSON_ABSENT &&
         !json_plain_port(&v[ORIG_P], &record->src_port)) ||
        (v[RESP_P].kind != JSON_ABSENT &&
         !json_plain_port(&v[RESP_P], &record->dst_port))) {
        return false;
    }
    if (v[PROTO].kind == JSON_TEXT) {
        record->proto = slice_proto(v[PROTO].text);
    }
    if (v[ORIG_H].kind != JSON_TEXT ||
        !reader_set_src_ip(reader, record, v[ORIG_H].text)) {
        return false;
    }
    if (reader->key == KEY_CLIENT) {
        return reader_dst_from_src(reader, record);
    }
    return v[RESP_H].kind == JSON_TEXT &&
           reader_set_dst_ip(reader, record, v[RESP_H].text);
}

int zeek_json_line(struct reader *reader, struct slice line)
{
    struct record record = {.flags = RECORD_HAS_TIME};
    int status = 0;

    if (line.length == 0) {
        return 0;
    }
    if (take_plain(reader, line, &record)) {
        return reader_emit(reader, &record, record.start_ns);
    }
    json_t *object = json_line(reader, line, &status);
    if (object == NULL) {
        return status;
    }
    status = take_object(reader, object);
    json_decref(object);
    return status;
}

static void zeek_json_record(struct writing *w, const struct record *r)
{
    char dst[64];
    char src[64];
    char number[32];
    char proto[12];

    writing_address(r->dst_family, &r->dst, w->dst, dst);
    writing_client_address(w, r, src);
    fprintf(w->out, "{\"ts\":%s,\"uid\":\"C%" PRIx64 "\",\"id.orig_h\":\"%s\",",
            writing_seconds(true, r->start_ns, number), w->written, src);
    fprintf(w->out, "\"id.orig_p\":%u,\"id.resp_h\":\"%s\",\"id.resp_p\":%u,",
            r->src_port, dst, r->dst_port);
    if (r->flags & RECORD_HAS_DURATION) {
        fprintf(w->out, "\"duration\":%s,",
                writing_seconds(true, r->duration_ns, number));
    }
    fprintf(w->out,
            "\"proto\":\"%s\",\"resp_bytes\":%" PRIu64 ",\"conn_state\":\"SF\"}\n",
            writing_proto(r->proto, proto), r->bytes);
}

const struct format format_zeek_json = {
    .name = "zeek-json",
    .about = "Zeek conn.log as JSON lines; destination: id.resp_h",
    .key = KEY_DST,
    .keys = 1u << KEY_DST | 1u << KEY_CLIENT,
    .line = zeek_json_line,
    .write =
        {
            .place = 3,
            .by_end = true,
            .record = zeek_json_record,
        },
};
