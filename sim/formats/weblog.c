/* SPDX-License-Identifier: MIT */
/*
 * Web servers' Common and Combined Log Format:
 *
 *     client ident user [17/May/2015:10:05:03 +0000] "GET /x HTTP/1.1" 200 1234 ...
 *
 * Fields in front of the brackets or behind the bytes that some servers add are not looked
 * at. The stamp has steps of one second and is the request's; there is no duration. The
 * destination is the URL; with --key host the URL's own host (forward proxies write it).
 */
#include "weblog.h"

#include <inttypes.h>

#include "formats.h"

bool weblog_quoted(struct slice *rest, struct slice *out)
{
    const char *end = rest->text + rest->length;
    const char *open = rest->length == 0 ? NULL : memchr(rest->text, '"', rest->length);
    const char *at;

    if (open == NULL) {
        return false;
    }
    for (at = open + 1; at < end && *at != '"'; at++) {
        if (*at == '\\' && at + 1 < end) { /* an escaped quote ends nothing */
            at++;
        }
    }
    if (at >= end) {
        return false;
    }
    *out = (struct slice){open + 1, (size_t)(at - open) - 1};
    *rest = (struct slice){at + 1, (size_t)(end - at) - 1};
    return true;
}

bool weblog_parts(struct reader *reader, struct slice line, struct weblog_parts *out,
                  int *status)
{
    struct slice after_open;
    struct slice rest;

    struct slice front = slice_cut(line, '[', &after_open);
    struct slice stamp = slice_cut(after_open, ']', &rest);
    if (after_open.text == NULL || rest.text == NULL) {
        *status = reader_bad(reader, "no time in brackets", "time",
                             "[dd/Mon/yyyy:hh:mm:ss +zzzz]", line);
        return false;
    }
    if (!slice_clf_time(stamp, &out->stamp_ns)) {
        *status = reader_bad(reader, "time is none", "time",
                             "dd/Mon/yyyy:hh:mm:ss +zzzz", stamp);
        return false;
    }
    if (split_runs(front, &out->client, 1) < 1) {
        *status = reader_bad(reader, "no client", "client", "an address or name", line);
        return false;
    }
    if (!weblog_quoted(&rest, &out->request)) {
        *status = reader_bad(reader, "no request in quotes", "request",
                             "\"METHOD URL\"", rest);
        return false;
    }
    out->rest = rest;
    return true;
}

bool weblog_url(struct slice request, struct slice *url)
{
    struct slice words[3];
    size_t count = split_runs(request, words, 3);

    if (count < 2 || words[0].length == 0) {
        return false;
    }
    for (size_t i = 0; i < words[0].length; i++) {
        char c = words[0].text[i];
        if ((c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && c != '-' && c != '_') {
            return false;
        }
    }
    *url = words[1];
    return true;
}

bool weblog_client(struct reader *reader, struct record *record, struct slice client)
{
    reader_set_src(reader, record, client);
    /* A name has no colon; half an IPv6 address is neither. */
    return record->src_family != LOCUS_NAME ||
           memchr(client.text, ':', client.length) == NULL;
}

bool weblog_destination(struct reader *reader, struct record *record,
                        struct slice request, int *status)
{
    struct slice url;
    struct slice host;

    if (reader->key == KEY_CLIENT) {
        if (reader_dst_from_src(reader, record)) {
            return true;
        }
        *status = reader_bad(reader, "no client", "client", "an address or name",
                             (struct slice){"-", 1});
        return false;
    }
    if (request.length == 0 || slice_is_dash(request)) {
        *status = reader_bad(reader, "no request was made", "request", "\"METHOD URL\"",
                             request);
        return false;
    }
    if (!weblog_url(request, &url)) {
        *status = reader_bad(reader, "request is no HTTP", "request", "\"METHOD URL\"",
                             request);
        return false;
    }
    bool has_host = memmem(url.text, url.length, "://", 3) != NULL &&
                    slice_url_host(url, &host, &record->dst_port);
    bool set = reader->key == KEY_HOST
                   ? has_host && reader_set_dst(reader, record, host)
                   : reader_set_dst_name(reader, record, url);
    if (!set) {
        *status =
            reader_bad(reader, "URL has no host", "request", "an absolute URL", url);
    }
    return set;
}

static int weblog_line(struct reader *reader, struct slice line)
{
    struct weblog_parts parts;
    struct slice f[2];
    struct record record = {.flags = RECORD_HAS_TIME | RECORD_HAS_BYTES,
                            .proto = PROTO_TCP};
    int status = 0;

    if (line.length == 0) {
        return 0;
    }
    if (!weblog_parts(reader, line, &parts, &status)) {
        return status;
    }
    record.start_ns = parts.stamp_ns;
    if (split_runs(parts.rest, f, 2) < 2) {
        return reader_bad(reader, "line is cut short", "status", "status and bytes",
                          parts.rest);
    }
    if (!slice_is_dash(f[1]) && !slice_u64(f[1], &record.bytes)) {
        return reader_bad(reader, "bytes are no number", "bytes", "a whole number or -",
                          f[1]);
    }
    if (!weblog_client(reader, &record, parts.client)) {
        return reader_bad(reader, "client is no address", "client",
                          "an address or name", parts.client);
    }
    if (!weblog_destination(reader, &record, parts.request, &status)) {
        return status;
    }
    return reader_emit(reader, &record, record.start_ns);
}

static void weblog_record(struct writing *w, const struct record *r)
{
    char client[WRITING_NAME];
    char url[WRITING_NAME * 2];
    char stamp[32];

    writing_clf_time(r->start_ns, stamp);
    writing_request_url(w, r, url, sizeof(url));
    fprintf(w->out,
            "%s - - [%s +0000] \"GET %s HTTP/1.1\" 200 %" PRIu64 " \"-\" \"-\"\n",
            writing_client(w, r, client), stamp, url, r->bytes);
}

const struct format format_weblog = {
    .name = "weblog",
    .about = "Common and Combined Log Format; destination: the URL",
    .key = KEY_URL,
    .keys = 1u << KEY_URL | 1u << KEY_HOST | 1u << KEY_CLIENT,
    .line = weblog_line,
    .write =
        {
            .place = 4,
            .record = weblog_record,
        },
};
