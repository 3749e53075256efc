/* SPDX-License-Identifier: MIT */
/*
 * nfdump -o json: an array of objects, a member a line; and -o ndjson: an object a line.
 *
 *     [
 *     {
 *     	"type" : "FLOW",
 *     	"first" : "2023-11-14T22:13:20.100",
 *     	"last" : "2023-11-14T22:13:22.600",
 *     	"in_bytes" : 1000,
 *     	"proto" : 6,
 *     	"src_port" : 40000, "dst_port" : 443,
 *     	"src4_addr" : "10.0.0.1", "dst4_addr" : "192.0.2.1"
 *     }
 *     ,
 *
 * Objects hold no others, so that a line that ends in "}" ends one.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../base/errors.h"
#include "json.h"
#include "nfdump.h"

enum { OBJECT_MAX = 1 << 16 };

static int bad_value(struct reader *reader, const char *reason, const char *field,
                     const char *expected, const json_t *value)
{
    char buffer[64];

    return reader_bad(reader, reason, field, expected,
                      json_show(value, buffer, sizeof(buffer)));
}

static const json_t *address(const json_t *object, const char *ipv4, const char *ipv6,
                             struct endpoint *out, bool *ok)
{
    const json_t *value = json_object_get(object, ipv4);

    value = value != NULL ? value : json_object_get(object, ipv6);
    *ok = json_is_string(value) &&
          slice_ip((struct slice){json_string_value(value), json_string_length(value)},
                   &out->family, &out->address);
    return value;
}

static int take_ends(struct reader *reader, const json_t *object,
                     struct nfdump_row *row, bool *ok)
{
    const json_t *value = address(object, "src4_addr", "src6_addr", &row->from, ok);

    if (!*ok) {
        return bad_value(reader, "source is no address", "src4_addr", "an IP address",
                         value);
    }
    value = address(object, "dst4_addr", "dst6_addr", &row->to, ok);
    if (!*ok || row->to.family != row->from.family) {
        *ok = false;
        return bad_value(reader, "destination is no address", "dst4_addr",
                         "an IP address of the source's family", value);
    }
    value = json_object_get(object, "src_port");
    *ok = value == NULL || json_port(value, &row->from.port);
    if (*ok) {
        value = json_object_get(object, "dst_port");
        *ok = value == NULL || json_port(value, &row->to.port);
    }
    return *ok ? 0
               : bad_value(reader, "port is out of range", "port", "0 to 65535", value);
}

static int take_numbers(struct reader *reader, const json_t *object,
                        struct nfdump_row *row, bool *ok)
{
    const json_t *value = json_object_get(object, "proto");
    uint64_t proto = 0;

    *ok = json_u64(value, &proto) && proto <= UINT8_MAX;
    if (!*ok) {
        return bad_value(reader, "protocol is no number", "proto", "0 to 255", value);
    }
    row->proto = (uint8_t)proto;
    value = json_object_get(object, "in_bytes");
    *ok = value == NULL || json_u64(value, &row->bytes);
    if (*ok) {
        value = json_object_get(object, "out_bytes");
        *ok = value == NULL || json_u64(value, &row->reply_bytes);
    }
    return *ok ? 0
               : bad_value(reader, "bytes are no number", "bytes", "a whole number",
                           value);
}

static int take_object(struct reader *reader, const json_t *object,
                       struct nfdump_row *row, bool *ok)
{
    const json_t *first = json_object_get(object, "first");
    const json_t *last = json_object_get(object, "last");

    *ok = json_time(first, &row->first_ns);
    if (!*ok) {
        return bad_value(reader, "first seen is no time", "first",
                         "yyyy-mm-ddThh:mm:ss.mmm", first);
    }
    *ok = json_time(last, &row->last_ns) && row->last_ns >= row->first_ns;
    if (!*ok) {
        return bad_value(reader, "last seen is before first seen or no time", "last",
                         "a time, not before first", last);
    }
    int status = take_numbers(reader, object, row, ok);
    return *ok ? take_ends(reader, object, row, ok) : status;
}

/* Keeps the line with those before it. */
static int keep(struct reader *reader, struct nfdump_json *json, struct slice line)
{
    size_t needed = json->length + line.length + 1;

    if (needed > OBJECT_MAX) {
        json->length = 0;
        return reader_bad(reader, "object is too long", "object", "at most 64 KiB",
                          line);
    }
    if (needed > json->capacity) {
        char *grown = realloc(json->text, needed * 2);
        if (grown == NULL) {
            fprintf(stderr, "locus: out of memory for an object\n");
            return EXIT_RUNTIME;
        }
        json->text = grown;
        json->capacity = needed * 2;
    }
    memcpy(json->text + json->length, line.text, line.length);
    json->length += line.length;
    json->text[json->length++] = '\n';
    return 0;
}

int nfdump_json_line(struct reader *reader, struct nfdump_json *json, struct slice line,
                     struct nfdump_row *row, bool *full)
{
    int status = 0;

    *full = false;
    line = slice_trim(line);
    if (line.length > 1 && line.text[line.length - 1] == ',' &&
        line.text[line.length - 2] == '}') { /* "}," */
        line.length--;
    }
    if (json->length == 0 && line.length == 1 &&
        memchr("[],", line.text[0], 3) != NULL) {
        reader_other(reader);
        return 0;
    }
    if (json->length == 0 && line.length > 0 && line.text[0] != '{') {
        return reader_bad(reader, "line is no JSON", "line", "an object in braces",
                          line);
    }
    if (line.length == 0 || (status = keep(reader, json, line)) != 0 ||
        json->length == 0 || line.text[line.length - 1] != '}') {
        return status;
    }
    struct slice text = {json->text, json->length - 1};
    json->length = 0;
    json_t *object = json_line(reader, text, &status);
    if (object == NULL) {
        return status;
    }
    *row = (struct nfdump_row){0};
    status = take_object(reader, object, row, full);
    json_decref(object);
    return status;
}

bool nfdump_json_certain(struct slice head)
{
    size_t at = 0;

    while (at < head.length && memchr(" \t\r\n", head.text[at], 4) != NULL) {
        at++;
    }
    return at < head.length && (head.text[at] == '[' || head.text[at] == '{') &&
           (memmem(head.text, head.length, "\"src4_addr\"", 11) != NULL ||
            memmem(head.text, head.length, "\"src6_addr\"", 11) != NULL);
}
