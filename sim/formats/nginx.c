/* SPDX-License-Identifier: MIT */
/*
 * nginx with upstreams, as ingress-nginx writes it:
 *
 *     client - user [time] "request" status bytes "referer" "agent" request_length
 *     request_time [upstream_name] [alternative_name] upstream_addr upstream_response_length
 *     upstream_response_time upstream_status request_id
 *
 * (one line; the alternative name is missing in old versions). The line is written at the
 * end: start = time - request_time, though time has steps of one second. The destination is
 * the upstream address; of several (retries "a, b", redirects "a : b") the last, which
 * answered. What is refused in front of all upstreams ("-") has none.
 */
#include "formats.h"

#include <inttypes.h>

#include "weblog.h"

/* Takes the next word; empty at the end. */
static struct slice next_word(struct slice *rest)
{
    struct slice word = {"", 0};
    struct slice trimmed = slice_trim(*rest);

    split_runs(trimmed, &word, 1);
    rest->text = trimmed.text + word.length;
    rest->length = trimmed.length - word.length;
    return word;
}

/* The last of a list of addresses: those in front of it end with a comma, or a lone colon
 * follows. */
static struct slice last_upstream(struct slice rest)
{
    struct slice word = next_word(&rest);

    for (;;) {
        struct slice peek = rest;
        struct slice next = next_word(&peek);
        bool listed = word.length > 0 && word.text[word.length - 1] == ',';
        bool colon = next.length == 1 && next.text[0] == ':';
        if (!listed && !colon) {
            return word;
        }
        if (colon) {
            next = next_word(&peek);
        }
        if (next.length == 0) {
            return word;
        }
        word = next;
        rest = peek;
    }
}

/* Behind the two or one names in brackets; false when there are none. */
static bool skip_names(struct slice *rest)
{
    int names = 0;

    for (;;) {
        struct slice trimmed = slice_trim(*rest);
        struct slice after;
        if (trimmed.length == 0 || trimmed.text[0] != '[') {
            return names > 0;
        }
        slice_cut(trimmed, ']', &after);
        /* An IPv6 upstream begins with a bracket too, and has its port behind it. */
        if (after.text == NULL || (after.length > 0 && after.text[0] == ':')) {
            return names > 0;
        }
        *rest = after;
        names++;
    }
}

static bool set_upstream(struct reader *reader, struct record *record,
                         struct slice text)
{
    struct slice host;

    if (slice_is_dash(text) || !slice_host_port(text, &host, &record->dst_port)) {
        return false;
    }
    return reader_set_dst(reader, record, host);
}

static int nginx_line(struct reader *reader, struct slice line)
{
    struct weblog_parts parts;
    struct slice quoted;
    struct slice f[2];
    struct record record = {.flags = RECORD_HAS_TIME | RECORD_HAS_DURATION |
                                     RECORD_HAS_BYTES,
                            .proto = PROTO_TCP};
    uint64_t number;
    int status = 0;

    if (line.length == 0) {
        return 0;
    }
    if (!weblog_parts(reader, line, &parts, &status)) {
        return status;
    }
    struct slice rest = parts.rest;
    if (split_runs(rest, f, 2) < 2 || !slice_u64(f[1], &record.bytes)) {
        return reader_bad(reader, "bytes are no number", "bytes", "a whole number",
                          rest);
    }
    if (!weblog_quoted(&rest, &quoted) || !weblog_quoted(&rest, &quoted)) {
        return reader_bad(reader, "no referer and agent in quotes", "agent",
                          "\"referer\" \"agent\"", rest);
    }
    struct slice word = next_word(&rest);
    if (!slice_u64(word, &number)) {
        return reader_bad(reader, "request length is no number", "request_length",
                          "a whole number", word);
    }
    word = next_word(&rest);
    if (!slice_time(word, 1000000000, &record.duration_ns) ||
        record.duration_ns > parts.stamp_ns) {
        return reader_bad(reader, "request time is no number", "request_time",
                          "seconds", word);
    }
    if (!skip_names(&rest)) {
        return reader_bad(reader, "no upstream name in brackets", "proxy_upstream_name",
                          "[name]", rest);
    }
    record.start_ns = parts.stamp_ns - record.duration_ns;
    if (!weblog_client(reader, &record, parts.client)) {
        return reader_bad(reader, "client is no address", "client",
                          "an address or name", parts.client);
    }
    if (reader->key == KEY_DST) {
        word = last_upstream(rest);
        if (!set_upstream(reader, &record, word)) {
            return reader_bad(reader, "no upstream was asked", "upstream_addr",
                              "address:port", word);
        }
    } else if (!weblog_destination(reader, &record, parts.request, &status)) {
        return status;
    }
    return reader_emit(reader, &record, parts.stamp_ns);
}

static void nginx_record(struct writing *w, const struct record *r)
{
    char client[WRITING_NAME];
    char url[WRITING_NAME * 2];
    char upstream[WRITING_NAME];
    char stamp[32];
    uint64_t ms = (r->duration_ns + 500000) / 1000000;

    writing_clf_time(writing_end_ns(r), stamp);
    writing_request_url(w, r, url, sizeof(url));
    writing_encode(w->dst, "\"\\[],", upstream);
    bool v6 = r->dst_family == LOCUS_IPV6;
    fprintf(w->out,
            "%s - - [%s +0000] \"GET %s HTTP/1.1\" 200 %" PRIu64
            " \"-\" \"-\" 0 %" PRIu64 ".%03u [trace] [] %s%s%s:%u %" PRIu64 " %" PRIu64
            ".%03u 200 -\n",
            writing_client(w, r, client), stamp, url, r->bytes, ms / 1000,
            (unsigned)(ms % 1000), v6 ? "[" : "", upstream, v6 ? "]" : "",
            r->dst_port == 0 ? 80u : r->dst_port, r->bytes, ms / 1000,
            (unsigned)(ms % 1000));
}

const struct format format_nginx = {
    .name = "nginx",
    .about = "nginx with upstream fields (ingress-nginx); destination: the upstream",
    .key = KEY_DST,
    .keys = 1u << KEY_DST | 1u << KEY_URL | 1u << KEY_HOST | 1u << KEY_CLIENT,
    .line = nginx_line,
    .write =
        {
            .place = 6,
            .by_end = true,
            .record = nginx_record,
        },
};
