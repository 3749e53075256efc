/* SPDX-License-Identifier: MIT */
/*
 * nfdump's CSV, of any version: the header line says which. Old (to 1.7.1):
 *
 *     ts,te,td,sa,da,sp,dp,pr,flg,fwd,stos,ipkt,ibyt,opkt,obyt,...
 *
 * new: firstSeen,duration,proto,srcAddr,srcPort,dstAddr,dstPort,packets,bytes,flows, and
 * "fast": cnt,af,firstSeen,lastSeen,... A report ends with three lines that begin with
 * "Summary". Its JSON is read as well (nfdump_json.c). Times are local without a zone and
 * taken as UTC.
 *
 * A connection comes as two rows, one for each direction, and as more when an exporter's
 * active time-out cuts it: rows of the same two endpoints that overlap, or follow within
 * JOIN_NS, are one connection. Its client is the side that sent first; stamps of whole
 * seconds often cannot tell, then the side with the higher port.
 */
#include "nfdump.h"

#include <inttypes.h>
#include <stdlib.h>

#include "../base/values.h"
#include "formats.h"
#include "rows.h"

/* Exporters send what was idle for 15 s (nfdump's and most others' default). */
static const uint64_t JOIN_NS = 15ull * 1000000000;

static const struct row_name names[] = {
    {"ts", ROW_TIME},
    {"te", ROW_END},
    {"td", ROW_DURATION},
    {"sa", ROW_CLIENT},
    {"da", ROW_DST},
    {"sp", ROW_CLIENT_PORT},
    {"dp", ROW_DST_PORT},
    {"pr", ROW_PROTO},
    {"ibyt", ROW_BYTES},
    {"obyt", ROW_OBJECT},
    {"firstSeen", ROW_TIME},
    {"lastSeen", ROW_END},
    {"duration", ROW_DURATION},
    {"proto", ROW_PROTO},
    {"srcAddr", ROW_CLIENT},
    {"srcPort", ROW_CLIENT_PORT},
    {"dstAddr", ROW_DST},
    {"dstPort", ROW_DST_PORT},
    {"bytes", ROW_BYTES},
    {NULL, ROW_COLUMNS},
};

struct state {
    struct row_map map;
    struct nfdump_json json;
    bool is_json; /* an object or array began */
    struct flow_table table;
    bool ended; /* the summary began */
};

static bool take_time(struct slice text, uint64_t *out_ns)
{
    return slice_iso_time(text, out_ns) || slice_time(text, 1000000000, out_ns);
}

static bool take_times(struct reader *reader, const struct slice *f,
                       struct nfdump_row *row, int *status)
{
    const struct row_map *map = &((struct state *)reader->state)->map;
    struct slice first = row_field(map, f, ROW_TIME);
    struct slice last = row_field(map, f, ROW_END);
    struct slice duration = row_field(map, f, ROW_DURATION);
    uint64_t duration_ns;

    if (!take_time(first, &row->first_ns)) {
        *status = reader_bad(reader, "first seen is no time", "first seen",
                             "yyyy-mm-dd hh:mm:ss", first);
        return false;
    }
    if (duration.length > 0) {
        if (!slice_time(duration, 1000000000, &duration_ns)) {
            *status = reader_bad(reader, "duration is no number", "duration",
                                 "seconds, 0 or more", duration);
            return false;
        }
        row->last_ns = row->first_ns + duration_ns;
        return true;
    }
    if (!take_time(last, &row->last_ns) || row->last_ns < row->first_ns) {
        *status = reader_bad(reader, "last seen is before first seen or no time",
                             "last seen", "a time, not before first seen", last);
        return false;
    }
    return true;
}

static bool take_ends(struct reader *reader, const struct slice *f,
                      struct nfdump_row *row, int *status)
{
    const struct row_map *map = &((struct state *)reader->state)->map;
    struct slice from = row_field(map, f, ROW_CLIENT);
    struct slice to = row_field(map, f, ROW_DST);
    struct slice bytes = row_field(map, f, ROW_BYTES);
    struct slice reply = row_field(map, f, ROW_OBJECT);

    if (!slice_ip(from, &row->from.family, &row->from.address)) {
        *status =
            reader_bad(reader, "source is no address", "source", "an IP address", from);
        return false;
    }
    if (!slice_ip(to, &row->to.family, &row->to.address) ||
        row->to.family != row->from.family) {
        *status = reader_bad(reader, "destination is no address", "destination",
                             "an IP address of the source's family", to);
        return false;
    }
    row->proto = slice_proto(row_field(map, f, ROW_PROTO));
    if (!slice_flow_port(row_field(map, f, ROW_CLIENT_PORT), row->proto,
                         &row->from.port) ||
        !slice_flow_port(row_field(map, f, ROW_DST_PORT), row->proto, &row->to.port)) {
        *status = reader_bad(reader, "port is out of range", "port", "0 to 65535",
                             row_field(map, f, ROW_CLIENT_PORT));
        return false;
    }
    if ((bytes.length > 0 && !slice_u64(bytes, &row->bytes)) ||
        (reply.length > 0 && !slice_u64(reply, &row->reply_bytes))) {
        *status =
            reader_bad(reader, "bytes are no number", "bytes", "a whole number", bytes);
        return false;
    }
    return true;
}

/* Settles who the client is, from the rows of both directions. */
static void choose_client(struct flow *flow, const struct nfdump_row *row, uint8_t from)
{
    bool same_second = row->first_ns / 1000000000 == flow->first_ns / 1000000000;
    bool whole_seconds = (row->first_ns | flow->first_ns) % 1000000000 == 0;

    if (same_second && (whole_seconds || row->first_ns == flow->first_ns)) {
        if (flow->key.port[0] != flow->key.port[1]) {
            flow->client = flow->key.port[0] > flow->key.port[1] ? 0 : 1;
        }
    } else if (row->first_ns < flow->first_ns) {
        flow->client = from;
    }
}

static int join(struct reader *reader, const struct nfdump_row *row)
{
    struct state *state = reader->state;
    struct flow_key key;
    int status = 0;

    uint8_t from = flow_key_make(&key, &row->from, &row->to, row->proto);
    struct flow *flow = flow_find(&state->table, &key);
    if (flow != NULL && (row->first_ns > add_capped(flow->last_ns, JOIN_NS) ||
                         flow->first_ns > add_capped(row->last_ns, JOIN_NS))) {
        status = flow_emit(reader, &state->table, flow);
        flow = NULL;
    }
    if (flow == NULL && status == 0) {
        flow = flow_add(reader, &state->table, &key, &status);
        if (flow != NULL) {
            flow->first_ns = row->first_ns;
            flow->last_ns = row->last_ns;
            flow->client = from;
            /* One direction alone, from a low port to a high one: the reply. */
            if (row->from.port < 1024 && row->to.port >= 1024 && row->from.port != 0) {
                flow->client = 1 - from;
            }
        }
    } else if (flow != NULL) {
        if (!flow->seen[from]) {
            choose_client(flow, row, from);
        }
        flow->first_ns =
            row->first_ns < flow->first_ns ? row->first_ns : flow->first_ns;
        flow->last_ns = row->last_ns > flow->last_ns ? row->last_ns : flow->last_ns;
    }
    if (flow == NULL) {
        return status;
    }
    flow->seen[from] = true;
    flow->bytes_from[from] = add_capped(flow->bytes_from[from], row->bytes);
    flow->bytes_from[1 - from] =
        add_capped(flow->bytes_from[1 - from], row->reply_bytes);
    return 0;
}

static int header(struct reader *reader, struct slice line)
{
    struct state *state = reader->state;

    reader_other(reader);
    row_map_header(&state->map, line, names);
    state->ended = false;
    bool timed = row_has(&state->map, ROW_DURATION) || row_has(&state->map, ROW_END);
    if (row_has(&state->map, ROW_TIME) && timed && row_has(&state->map, ROW_CLIENT) &&
        row_has(&state->map, ROW_DST)) {
        return 0;
    }
    row_map_clear(&state->map);
    return reader_bad(reader, "header lacks columns", "header",
                      "times, addresses, ports, proto", line);
}

static bool is_header(struct slice line)
{
    return slice_starts(line, "ts,te,td,") || slice_starts(line, "firstSeen,") ||
           slice_starts(line, "cnt,af,firstSeen,");
}

static int nfdump_line(struct reader *reader, struct slice line)
{
    struct state *state = reader->state;
    struct slice f[ROWS_WIDEST];
    struct nfdump_row row = {0};
    int status = 0;

    if (line.length == 0) {
        return 0;
    }
    if (state->is_json ||
        (state->map.width == 0 && (line.text[0] == '[' || line.text[0] == '{'))) {
        bool full;
        state->is_json = true;
        status = nfdump_json_line(reader, &state->json, line, &row, &full);
        return full ? join(reader, &row) : status;
    }
    if (is_header(line)) {
        return header(reader, line);
    }
    if (state->ended || slice_equals(slice_trim(line), "Summary")) {
        state->ended = true;
        reader_other(reader);
        return 0;
    }
    if (state->map.width == 0) {
        return reader_bad(reader, "row without a header before it", "header",
                          "a line of column names", line);
    }
    size_t width = row_split(&state->map, line, f);
    if (row_check_width(reader, &state->map, width, line, &status) != 0 ||
        !take_times(reader, f, &row, &status) || !take_ends(reader, f, &row, &status)) {
        return status;
    }
    return join(reader, &row);
}

static int nfdump_finish(struct reader *reader)
{
    struct state *state = reader->state;
    int status = 0;

    if (state->json.length > 0) {
        status = reader_bad(reader, "file ends within an object", "object", "a '}'",
                            (struct slice){state->json.text, state->json.length});
    }
    return status != 0 ? status : flow_flush(reader, &state->table, UINT64_MAX);
}

static void nfdump_stop(struct reader *reader)
{
    struct state *state = reader->state;

    flow_table_free(&state->table);
    free(state->json.text);
}

static bool certain(struct slice head)
{
    return is_header(head) || nfdump_json_certain(head);
}

/* NetFlow has ports for all clients; what shares one with another is one flow. Who has none
 * gets one by turns. */
static unsigned client_port(const struct writing *w, const struct record *r)
{
    return r->src_port != 0 ? r->src_port : 1024 + (unsigned)(w->written % 64512);
}

/* NetFlow knows no flow from one family to the other. */
static void map_to_ipv6(char address[64])
{
    char ipv4[64];

    if (strchr(address, ':') == NULL) {
        snprintf(ipv4, sizeof(ipv4), "%s", address);
        snprintf(address, 64, "::ffff:%.45s", ipv4);
    }
}

static void nfdump_begin(struct writing *w)
{
    fprintf(w->out, "ts,te,td,sa,da,sp,dp,pr,flg,fwd,stos,ipkt,ibyt,opkt,obyt\n");
}

/* Both directions in one row, so that nobody has to guess which is which. */
static void nfdump_record(struct writing *w, const struct record *r)
{
    char dst[64];
    char src[64];
    char first[40];
    char last[40];
    char proto[12];

    writing_address(r->dst_family, &r->dst, w->dst, dst);
    writing_client_address(w, r, src);
    if ((strchr(dst, ':') == NULL) != (strchr(src, ':') == NULL)) {
        map_to_ipv6(dst);
        map_to_ipv6(src);
    }
    writing_iso_time(r->start_ns, ' ', 3, first);
    writing_iso_time(writing_end_ns(r), ' ', 3, last);
    fprintf(w->out,
            "%s,%s,%" PRIu64 ".%03u,%s,%s,%u,%u,%s,........,0,0,1,0,1,%" PRIu64 "\n",
            first, last, r->duration_ns / NS_PER_S,
            (unsigned)(r->duration_ns % NS_PER_S / 1000000), src, dst,
            client_port(w, r), r->dst_port, writing_proto_upper(r->proto, proto),
            r->bytes);
}

const struct format format_nfdump = {
    .name = "nfdump",
    .about = "nfdump CSV and JSON, directions joined; destination: the server",
    .key = KEY_DST,
    .keys = 1u << KEY_DST | 1u << KEY_CLIENT,
    .state_size = sizeof(struct state),
    .line = nfdump_line,
    .finish = nfdump_finish,
    .stop = nfdump_stop,
    .certain = certain,
    .write =
        {
            .place = 7,
            .by_end = true,
            .begin = nfdump_begin,
            .record = nfdump_record,
        },
};
