/* SPDX-License-Identifier: MIT */
/*
 * Object traces as CSV in the layouts that libCacheSim and its kin ship: with the header
 * "version,time,op,size,lbn", or of block traces "op_time,block_id,...,io_size,...,host_name",
 * or any with --columns in libCacheSim's own words ("time-col=2,obj-id-col=5,
 * obj-size-col=4,delimiter=,"). One row is one request, without a duration.
 */
#include "formats.h"

#include <inttypes.h>

#include "csv.h"

static const struct row_name names[] = {
    {"time", ROW_TIME},      {"op_time", ROW_TIME},    {"lbn", ROW_OBJECT},
    {"obj_id", ROW_OBJECT},  {"block_id", ROW_OBJECT}, {"size", ROW_BYTES},
    {"obj_size", ROW_BYTES}, {"io_size", ROW_BYTES},   {"host_name", ROW_CLIENT},
    {NULL, ROW_COLUMNS},
};

static int start(struct reader *reader)
{
    int status = csv_start(reader);

    ((struct csv_state *)reader->state)->names = names;
    return status;
}

static bool certain(struct slice head)
{
    return slice_starts(head, "version,time,op,size,lbn") ||
           slice_starts(head, "op_time,block_id,");
}

static void libcachesim_begin(struct writing *w)
{
    fprintf(w->out, "time,obj_id,obj_size\n");
}

static void libcachesim_record(struct writing *w, const struct record *r)
{
    char number[32];

    fprintf(w->out, "%s,%" PRIu64 ",%" PRIu64 "\n", writing_nanos(r->start_ns, number),
            writing_object(r, w->dst), r->bytes);
}

const struct format format_libcachesim = {
    .name = "libcachesim",
    .about = "libCacheSim and block traces as CSV; destination: the object",
    .key = KEY_OBJECT,
    .keys = 1u << KEY_OBJECT | 1u << KEY_CLIENT,
    .state_size = sizeof(struct csv_state),
    .start = start,
    .line = csv_line,
    .certain = certain,
    .write =
        {
            .place = 10,
            .begin = libcachesim_begin,
            .record = libcachesim_record,
        },
};
