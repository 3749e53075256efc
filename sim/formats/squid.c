/* SPDX-License-Identifier: MIT */
/*
 * Squid's native access.log, as configured by default:
 *
 *     stamp elapsed client code/status bytes method URL user hierarchy/peer type [more...]
 *     1583861727.504    182 192.0.2.1 TCP_MISS/200 520 GET http://a.example/x - D/198.18.0.1 -
 *
 * The line is written when the request ends: start = stamp - elapsed. The destination is the
 * peer; without one ("-": a hit, a refusal) it is the host of the URL. Fields are parted by
 * runs of blanks, since elapsed is padded. What follows the type (mime headers) is not looked
 * at, and a missing type loses nothing. A relayed line has a syslog header in front of it.
 */
#include "formats.h"

#include <inttypes.h>

enum field {
    FIELD_STAMP,
    FIELD_ELAPSED,
    FIELD_CLIENT,
    FIELD_CODE,
    FIELD_BYTES,
    FIELD_METHOD,
    FIELD_URL,
    FIELD_USER,
    FIELD_PEER,
    FIELD_TYPE,
    FIELDS,
};

/* Behind the last "): " or ": " in front of a digit: where a relayed record begins. */
static bool skip_syslog(struct slice *line)
{
    for (size_t i = 0; i + 2 < line->length && i < 256; i++) {
        const char *at = line->text + i;
        if (at[0] == ':' && at[1] == ' ' && at[2] >= '0' && at[2] <= '9') {
            line->text += i + 2;
            line->length -= i + 2;
            return true;
        }
    }
    return false;
}

static int bad_elapsed(struct reader *reader, struct slice elapsed)
{
    if (elapsed.length > 1 && elapsed.text[0] == '-') {
        return reader_bad(reader, "elapsed time is negative", "elapsed",
                          "milliseconds, 0 or more", elapsed);
    }
    return reader_bad(reader, "elapsed time is no number", "elapsed",
                      "milliseconds, 0 or more", elapsed);
}

static bool set_destination(struct reader *reader, struct record *record,
                            struct slice url, struct slice peer)
{
    struct slice host;
    uint16_t port = 0;

    if (reader->key == KEY_CLIENT) {
        return reader_dst_from_src(reader, record);
    }
    bool has_host = slice_url_host(url, &host, &port);
    record->dst_port = has_host ? port : 0;
    if (reader->key == KEY_URL) {
        return reader_set_dst_name(reader, record, url);
    }
    if (reader->key == KEY_DST && reader_set_dst(reader, record, peer)) {
        return true;
    }
    return has_host && reader_set_dst(reader, record, host);
}

static int squid_line(struct reader *reader, struct slice line)
{
    struct slice f[FIELDS];
    struct slice peer;
    struct record record = {.flags = RECORD_HAS_TIME | RECORD_HAS_DURATION |
                                     RECORD_HAS_BYTES,
                            .proto = PROTO_TCP};
    uint64_t stamp_ns;

    size_t count = split_runs(line, f, FIELDS);
    if (count == 0) {
        return 0;
    }
    if (!slice_time(f[FIELD_STAMP], 1000000000, &stamp_ns)) {
        struct slice relayed = line;
        if (skip_syslog(&relayed)) {
            count = split_runs(relayed, f, FIELDS);
        }
        if (!slice_time(f[FIELD_STAMP], 1000000000, &stamp_ns)) {
            return reader_bad(reader, "line does not begin with a time stamp", "stamp",
                              "seconds since 1970", f[FIELD_STAMP]);
        }
    }
    /* Without its line end, the last line of a file may be cut inside its last field. */
    if (count < FIELD_PEER + 1 + (size_t)!reader->line_ended) {
        return reader_bad(reader, "line is cut short", "fields", "10, stamp to type",
                          line);
    }
    if (!slice_time(f[FIELD_ELAPSED], 1000000, &record.duration_ns)) {
        return bad_elapsed(reader, f[FIELD_ELAPSED]);
    }
    if (record.duration_ns > stamp_ns) {
        return reader_bad(reader, "elapsed time is longer than the clock", "elapsed",
                          "less than the stamp", f[FIELD_ELAPSED]);
    }
    if (!slice_u64(f[FIELD_BYTES], &record.bytes)) {
        return reader_bad(reader, "bytes are no number", "bytes", "a whole number",
                          f[FIELD_BYTES]);
    }
    slice_cut(f[FIELD_PEER], '/', &peer);
    if (peer.text == NULL) {
        return reader_bad(reader, "hierarchy has no peer", "hierarchy",
                          "code/peer or code/-", f[FIELD_PEER]);
    }
    record.start_ns = stamp_ns - record.duration_ns;
    reader_set_src(reader, &record, f[FIELD_CLIENT]);
    if (!set_destination(reader, &record, f[FIELD_URL], peer)) {
        return reader_bad(reader, "request names no destination", "URL",
                          "a peer, or a URL with a host", f[FIELD_URL]);
    }
    if (slice_starts(f[FIELD_CODE], "UDP_")) { /* caches asking each other */
        record.proto = PROTO_UDP;
    }
    return reader_emit(reader, &record, stamp_ns);
}

static void squid_record(struct writing *w, const struct record *r)
{
    char client[WRITING_NAME];
    char url[WRITING_NAME * 2];
    bool peer = r->dst_family != LOCUS_NAME;
    uint64_t stamp_ms = (writing_end_ns(r) + 500000) / 1000000;
    uint64_t elapsed_ms = (r->duration_ns + 500000) / 1000000;

    writing_url(w, r, url, sizeof(url));
    fprintf(w->out,
            "%" PRIu64 ".%03u %6" PRIu64 " %s TCP_MISS/200 %" PRIu64
            " GET %s - HIER_%s/%s text/plain\n",
            stamp_ms / 1000, (unsigned)(stamp_ms % 1000),
            elapsed_ms < stamp_ms ? elapsed_ms : stamp_ms, writing_client(w, r, client),
            r->bytes, url, peer ? "DIRECT" : "NONE", peer ? w->dst : "-");
}

const struct format format_squid = {
    .name = "squid",
    .about = "Squid native access.log; destination: the peer, else the URL's host",
    .key = KEY_DST,
    .keys = 1u << KEY_DST | 1u << KEY_HOST | 1u << KEY_URL | 1u << KEY_CLIENT,
    .line = squid_line,
    .write =
        {
            .place = 1,
            .by_end = true,
            .record = squid_record,
        },
};
