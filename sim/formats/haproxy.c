/* SPDX-License-Identifier: MIT */
/*
 * HAProxy's tcplog and httplog, with or without a syslog header in front:
 *
 *     client:port [date] frontend backend/server Tw/Tc/Tt bytes state a/f/b/s/r sq/bq
 *     client:port [date] frontend backend/server TR/Tw/Tc/Tr/Ta status bytes req_cookie
 *         resp_cookie state a/f/b/s/r sq/bq {captures} "request"
 *
 * The date is the accept (tcp) or the request (http), in local time without a zone, taken as
 * UTC. The last timer is the duration; with "+" in front (option logasap) it was still
 * going on, and the record has neither duration nor bytes. The destination is
 * backend/server: the same server name in two backends means two servers. As the host, the
 * request's URL is taken where it has one, else the first captured header, "{host|agent}":
 * "capture request header Host" is to come first in HAProxy's configuration.
 */
#include "formats.h"

#include <inttypes.h>

#include "weblog.h"

enum { WORDS = 10 };

struct parts {
    struct slice client;
    uint64_t date_ns;
    struct slice server; /* "backend/server" */
    struct slice timer;  /* the last */
    struct slice bytes;
    struct slice rest; /* with the request, in http */
    bool http;
};

/* Before the bracket that holds the date: in syslog headers others may stand. */
static bool find_date(struct slice line, struct slice *front, struct slice *date,
                      struct slice *rest)
{
    struct slice from = line;

    while (from.text != NULL) {
        struct slice after;
        slice_cut(from, '[', &after);
        if (after.text == NULL) {
            return false;
        }
        if (after.length > 3 && after.text[2] == '/') {
            *date = slice_cut(after, ']', rest);
            *front = (struct slice){line.text, (size_t)(after.text - line.text) - 1};
            return rest->text != NULL;
        }
        from = after;
    }
    return false;
}

static struct slice last_word(struct slice s)
{
    s = slice_trim(s);
    for (size_t i = s.length; i-- > 0;) {
        if (s.text[i] == ' ' || s.text[i] == '\t') {
            return (struct slice){s.text + i + 1, s.length - i - 1};
        }
    }
    return s;
}

/* What stands behind the last slash; *count is how many there are. */
static struct slice last_timer(struct slice timers, unsigned *count)
{
    struct slice rest = timers;
    struct slice last = timers;

    *count = 0;
    while (rest.text != NULL) {
        last = slice_cut(rest, '/', &rest);
        *count += rest.text != NULL;
    }
    return last;
}

static bool split_line(struct reader *reader, struct slice line, struct parts *out,
                       int *status)
{
    struct slice front;
    struct slice date;
    struct slice rest;
    struct slice f[WORDS];
    unsigned slashes;

    if (!find_date(line, &front, &date, &rest) ||
        !slice_clf_time(date, &out->date_ns)) {
        *status = reader_bad(reader, "no date in brackets", "date",
                             "[dd/Mon/yyyy:hh:mm:ss.mmm]", line);
        return false;
    }
    out->client = last_word(front);
    out->rest = rest;
    size_t count = split_runs(rest, f, WORDS);
    if (count >= 1 && f[0].text[f[0].length - 1] == ':') {
        *status = reader_bad(reader, "error line, no connection", "frontend",
                             "frontend backend/server", rest);
        return false;
    }
    if (count < 7) {
        *status =
            reader_bad(reader, "line is cut short", "fields", "date to queues", line);
        return false;
    }
    out->server = f[1];
    out->timer = last_timer(f[2], &slashes);
    out->http = slashes == 4;
    if (slashes != 2 && slashes != 4) {
        *status = reader_bad(reader, "timers are neither three nor five", "timers",
                             "Tw/Tc/Tt or TR/Tw/Tc/Tr/Ta", f[2]);
        return false;
    }
    out->bytes = out->http ? f[4] : f[3];
    return true;
}

/* "+" in front: more to come when this was written. */
static bool take_number(struct slice text, bool *open, struct slice *digits)
{
    *open = text.length > 0 && text.text[0] == '+';
    *digits = text;
    if (*open) {
        digits->text++;
        digits->length--;
    }
    return digits->length > 0;
}

static bool set_client(struct reader *reader, struct record *record, struct slice text)
{
    size_t colon = text.length;

    while (colon > 0 && text.text[colon - 1] != ':') {
        colon--;
    }
    if (colon == 0) {
        return false;
    }
    struct slice host = {text.text, colon - 1};
    struct slice port = {text.text + colon, text.length - colon};
    if (slice_is_dash(port)) { /* of HAProxy's own making */
        return true;
    }
    reader_set_src(reader, record, host);
    return slice_port(port, &record->src_port);
}

/* "a.example" or "a.example:8080" as the first of the captures; another header's value has
 * what no host has. */
static bool captured_host(const struct parts *parts, struct slice *host, uint16_t *port)
{
    struct slice f[WORDS];
    struct slice rest;

    size_t count = split_runs(parts->rest, f, WORDS);
    if (!parts->http || count <= WORDS || f[WORDS - 1].text == NULL) {
        return false;
    }
    const char *end = parts->rest.text + parts->rest.length;
    const char *behind = f[WORDS - 1].text + f[WORDS - 1].length;
    struct slice captures = slice_trim((struct slice){behind, (size_t)(end - behind)});
    if (captures.length == 0 || captures.text[0] != '{') {
        return false;
    }
    captures.text++;
    captures.length--;
    captures = slice_cut(captures, '}', &rest);
    captures = slice_cut(captures, '|', &rest);
    bool plain = captures.length > 0;
    for (size_t i = 0; i < captures.length; i++) {
        plain = plain && strchr("/?#@ \t", captures.text[i]) == NULL;
    }
    return plain && slice_url_host(captures, host, port);
}

static bool set_destination(struct reader *reader, struct record *record,
                            const struct parts *parts, int *status)
{
    struct slice host;
    struct slice url;
    struct slice name;
    struct slice request = {"", 0};
    struct slice rest = parts->rest;
    struct slice quoted;

    if (reader->key != KEY_DST) {
        while (weblog_quoted(&rest, &quoted)) { /* the last; captures may have quotes */
            request = quoted;
        }
        bool absolute = weblog_url(request, &url) && url.length > 0 &&
                        memmem(url.text, url.length, "://", 3) != NULL &&
                        slice_url_host(url, &host, &record->dst_port);
        if (reader->key == KEY_HOST && !absolute &&
            captured_host(parts, &host, &record->dst_port)) {
            return reader_set_dst(reader, record, host);
        }
        return weblog_destination(reader, record, request, status);
    }
    slice_cut(parts->server, '/', &name);
    if (name.text == NULL || name.length == 0 || slice_is_dash(name) ||
        name.text[0] == '<') {
        *status = reader_bad(reader, "no server was chosen", "server", "backend/server",
                             parts->server);
        return false;
    }
    return reader_set_dst_name(reader, record, parts->server);
}

static int haproxy_line(struct reader *reader, struct slice line)
{
    struct parts parts;
    struct slice digits;
    struct record record = {.flags = RECORD_HAS_TIME, .proto = PROTO_TCP};
    bool open;
    int status = 0;

    if (line.length == 0) {
        return 0;
    }
    if (!split_line(reader, line, &parts, &status)) {
        return status;
    }
    record.start_ns = parts.date_ns;
    if (!take_number(parts.timer, &open, &digits) ||
        !slice_time(digits, 1000000, &record.duration_ns)) {
        return reader_bad(reader, "total time is no number", "timers",
                          "milliseconds, 0 or more", parts.timer);
    }
    if (open) {
        record.duration_ns = 0;
    } else {
        record.flags |= RECORD_HAS_DURATION;
    }
    if (!take_number(parts.bytes, &open, &digits) ||
        !slice_u64(digits, &record.bytes)) {
        return reader_bad(reader, "bytes are no number", "bytes", "a whole number",
                          parts.bytes);
    }
    if (open) {
        record.bytes = 0;
    } else {
        record.flags |= RECORD_HAS_BYTES;
    }
    if (!set_client(reader, &record, parts.client)) {
        return reader_bad(reader, "client is no address:port", "client", "address:port",
                          parts.client);
    }
    if (!set_destination(reader, &record, &parts, &status)) {
        return status;
    }
    return reader_emit(reader, &record, record.start_ns);
}

static void haproxy_record(struct writing *w, const struct record *r)
{
    char client[WRITING_NAME];
    char server[WRITING_NAME];
    char stamp[32];

    writing_clf_time(r->start_ns, stamp);
    writing_encode(w->dst, "", server);
    /* A destination that came from such a log is "backend/server" already. */
    const char *backend = strchr(server, '/') != NULL ? "" : "trace/";
    fprintf(w->out,
            "haproxy[1]: %s:%u [%s.%03u] trace %s%s 0/0/%" PRIu64 " %" PRIu64
            " -- 0/0/0/0/0 0/0\n",
            writing_client(w, r, client), r->src_port, stamp,
            (unsigned)(r->start_ns % NS_PER_S / 1000000), backend, server,
            (r->duration_ns + 500000) / 1000000, r->bytes);
}

const struct format format_haproxy = {
    .name = "haproxy",
    .about = "HAProxy tcplog and httplog; destination: backend/server",
    .key = KEY_DST,
    .keys = 1u << KEY_DST | 1u << KEY_URL | 1u << KEY_HOST | 1u << KEY_CLIENT,
    .line = haproxy_line,
    .write =
        {
            .place = 5,
            .by_end = true,
            .record = haproxy_record,
        },
};
