/* SPDX-License-Identifier: MIT */
/*
 * Argus flows as CSV ("binetflow"):
 *
 *     StartTime,Dur,Proto,SrcAddr,Sport,Dir,DstAddr,Dport,State,...,TotBytes,SrcBytes,...
 *
 * The header names the columns and may come again in mid-stream with others; commas or tabs
 * part them. Times have no zone and are taken as UTC. Bytes from the server are TotBytes -
 * SrcBytes. Ports of ICMP are types in hexadecimal and are not ports. Direction is as Argus
 * wrote it, also where it says that it does not know ("<?>").
 */
#include "formats.h"

#include <inttypes.h>

#include "rows.h"

/* ROW_OBJECT stands for the bytes sent by the client here, which no other format has. */
static const struct row_name names[] = {
    {"StartTime", ROW_TIME}, {"Dur", ROW_DURATION},      {"Proto", ROW_PROTO},
    {"SrcAddr", ROW_CLIENT}, {"Sport", ROW_CLIENT_PORT}, {"DstAddr", ROW_DST},
    {"Dport", ROW_DST_PORT}, {"TotBytes", ROW_BYTES},    {"SrcBytes", ROW_OBJECT},
    {NULL, ROW_COLUMNS},
};

static bool take_bytes(const struct row_map *map, const struct slice *f,
                       struct record *record)
{
    struct slice all = row_field(map, f, ROW_BYTES);
    struct slice client = row_field(map, f, ROW_OBJECT);
    uint64_t client_bytes = 0;

    if (all.length == 0) {
        return true;
    }
    if (!slice_u64(all, &record->bytes) ||
        (client.length > 0 && !slice_u64(client, &client_bytes)) ||
        client_bytes > record->bytes) {
        return false;
    }
    record->bytes -= client_bytes;
    record->flags |= RECORD_HAS_BYTES;
    return true;
}

static int take_row(struct reader *reader, const struct slice *f)
{
    const struct row_map *map = reader->state;
    struct record record = {.flags = RECORD_HAS_TIME | RECORD_HAS_DURATION};
    struct slice proto = row_field(map, f, ROW_PROTO);
    struct slice start = row_field(map, f, ROW_TIME);
    struct slice duration = row_field(map, f, ROW_DURATION);
    struct slice client = row_field(map, f, ROW_CLIENT);
    struct slice dst = row_field(map, f, ROW_DST);

    if (slice_equals(proto, "man")) {
        return reader_bad(reader, "management record, no connection", "Proto",
                          "a protocol", proto);
    }
    if (slice_equals(proto, "arp") || slice_equals(proto, "rarp")) {
        return reader_bad(reader, "not IP traffic", "Proto", "an IP protocol", proto);
    }
    record.proto = slice_proto(proto);
    if (!slice_iso_time(start, &record.start_ns) &&
        !slice_time(start, 1000000000, &record.start_ns)) {
        return reader_bad(reader, "StartTime is no time", "StartTime",
                          "yyyy/mm/dd hh:mm:ss.uuuuuu", start);
    }
    if (!slice_time(duration, 1000000000, &record.duration_ns)) {
        return reader_bad(reader, "duration is no number", "Dur", "seconds, 0 or more",
                          duration);
    }
    if (!slice_flow_port(row_field(map, f, ROW_CLIENT_PORT), record.proto,
                         &record.src_port)) {
        return reader_bad(reader, "port is out of range", "Sport", "0 to 65535",
                          row_field(map, f, ROW_CLIENT_PORT));
    }
    if (!slice_flow_port(row_field(map, f, ROW_DST_PORT), record.proto,
                         &record.dst_port)) {
        return reader_bad(reader, "port is out of range", "Dport", "0 to 65535",
                          row_field(map, f, ROW_DST_PORT));
    }
    if (!take_bytes(map, f, &record)) {
        return reader_bad(reader, "bytes are no number", "TotBytes",
                          "a whole number, not below SrcBytes",
                          row_field(map, f, ROW_BYTES));
    }
    if (!reader_set_src_ip(reader, &record, client)) {
        return reader_bad(reader, "client is no address", "SrcAddr", "an IP address",
                          client);
    }
    if (reader->key == KEY_CLIENT) {
        reader_dst_from_src(reader, &record);
    } else if (!reader_set_dst_ip(reader, &record, dst)) {
        return reader_bad(reader, "destination is no address", "DstAddr",
                          "an IP address", dst);
    }
    return reader_emit(reader, &record, record.start_ns);
}

static int binetflow_line(struct reader *reader, struct slice line)
{
    struct row_map *map = reader->state;
    struct slice f[ROWS_WIDEST];
    int status = 0;

    if (line.length == 0) {
        return 0;
    }
    if (slice_starts(line, "StartTime")) {
        reader_other(reader);
        row_map_header(map, line, names);
        if (row_has(map, ROW_TIME) && row_has(map, ROW_DURATION) &&
            row_has(map, ROW_CLIENT) && row_has(map, ROW_DST) &&
            row_has(map, ROW_PROTO)) {
            return 0;
        }
        row_map_clear(map);
        return reader_bad(reader, "header lacks columns", "header",
                          "StartTime, Dur, Proto, SrcAddr, DstAddr", line);
    }
    if (map->width == 0) {
        return reader_bad(reader, "row without a header before it", "header",
                          "StartTime,Dur,Proto,...", line);
    }
    size_t width = row_split(map, line, f);
    if (row_check_width(reader, map, width, line, &status) != 0) {
        return status;
    }
    return take_row(reader, f);
}

static bool certain(struct slice head)
{
    return slice_starts(head, "StartTime,Dur,Proto") ||
           slice_starts(head, "StartTime\tDur\tProto");
}

static void binetflow_begin(struct writing *w)
{
    fprintf(w->out,
            "StartTime,Dur,Proto,SrcAddr,Sport,Dir,DstAddr,Dport,State,sTos,dTos,"
            "TotPkts,TotBytes,SrcBytes,SrcPkts,Label\n");
}

static void binetflow_record(struct writing *w, const struct record *r)
{
    char dst[64];
    char src[64];
    char start[40];
    char duration[32];
    char proto[12];

    writing_iso_time(r->start_ns, ' ', 6, start);
    start[4] = start[7] = '/';
    writing_address(r->dst_family, &r->dst, w->dst, dst);
    writing_client_address(w, r, src);
    fprintf(w->out, "%s,%s,%s,%s,%u,   ->,%s,%u,CON,0,0,2,%" PRIu64 ",0,1,\n", start,
            writing_seconds(true, r->duration_ns, duration),
            writing_proto(r->proto, proto), src, r->src_port, dst, r->dst_port,
            r->bytes);
}

const struct format format_binetflow = {
    .name = "binetflow",
    .about = "Argus flows as CSV; destination: DstAddr",
    .key = KEY_DST,
    .keys = 1u << KEY_DST | 1u << KEY_CLIENT,
    .state_size = sizeof(struct row_map),
    .line = binetflow_line,
    .certain = certain,
    .write =
        {
            .place = 9,
            .begin = binetflow_begin,
            .record = binetflow_record,
        },
};
