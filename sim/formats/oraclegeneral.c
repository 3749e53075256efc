/* SPDX-License-Identifier: MIT */
/*
 * libCacheSim's oracleGeneral: packed little-endian records of 24 bytes,
 *
 *     u32 time (s)   u64 object   u32 size   i64 number of the object's next request
 *
 * The last is -1 or INT64_MAX when there is none. No magic number: the shape of the first
 * records is all that tells.
 */
#include "formats.h"

#include <endian.h>
#include <stdio.h>

#include "../base/errors.h"
#include "next_requests.h"

enum { RECORD_BYTES = 24 };

struct row {
    uint32_t time;
    uint64_t object;
    uint32_t size;
    int64_t next;
};

static struct row read_row(const char *at)
{
    uint32_t time;
    uint64_t object;
    uint32_t size;
    uint64_t next;

    memcpy(&time, at, 4);
    memcpy(&object, at + 4, 8);
    memcpy(&size, at + 12, 4);
    memcpy(&next, at + 16, 8);
    return (struct row){le32toh(time), le64toh(object), le32toh(size),
                        (int64_t)le64toh(next)};
}

/* Times never step back, and the next request comes later than this one. */
static unsigned oracle_probe(struct reader *reader, struct slice head, bool whole)
{
    size_t count = head.length / RECORD_BYTES;
    uint32_t last = 0;

    (void)reader;
    if (whole && head.length % RECORD_BYTES != 0 && count < 8) {
        return 0;
    }
    count = count < 200 ? count : 200;
    for (size_t i = 0; i < count; i++) {
        struct row row = read_row(head.text + i * RECORD_BYTES);
        bool no_next = row.next == -1 || row.next == INT64_MAX;
        /* The farthest that a trace of 2^40 requests could look ahead. */
        bool ahead = row.next > (int64_t)i && row.next < (int64_t)1 << 40;
        if (row.time < last || !(no_next || ahead)) {
            return 0;
        }
        last = row.time;
    }
    return (unsigned)count;
}

static int take(struct reader *reader, const char *at)
{
    uint64_t unit_ns = reader->options->time_unit_ns;
    struct row row = read_row(at);
    struct record record = {.flags = RECORD_HAS_TIME | RECORD_HAS_BYTES,
                            .proto = PROTO_TCP};
    char name[24];

    record.start_ns = row.time * (unit_ns == 0 ? 1000000000 : unit_ns);
    record.bytes = row.size;
    int length = snprintf(name, sizeof(name), "%llu", (unsigned long long)row.object);
    reader_set_dst_name(reader, &record, (struct slice){name, (size_t)length});
    return reader_emit(reader, &record, record.start_ns);
}

static int oracle_read(struct reader *reader)
{
    const volatile int *stop = reader->options->stop;
    char at[RECORD_BYTES];

    while (stop == NULL || *stop == 0) {
        enum input_status got = input_bytes(reader->input, at, sizeof(at));
        if (got == INPUT_END) {
            return 0;
        }
        if (got == INPUT_ERROR) {
            return EXIT_RUNTIME;
        }
        if (got == INPUT_LONG) {
            return reader_bad(reader, "file ends within a record", "record", "24 bytes",
                              (struct slice){"", 0});
        }
        int status = take(reader, at);
        if (status != 0) {
            return status;
        }
    }
    return 0;
}

/* Each record says when its object is asked for next: one pass ahead finds out. */
static bool oracle_prepare(struct writing *w)
{
    w->state =
        next_requests_create(w->records, w->keys->destinations.count, w->memory_bytes);
    return w->state != NULL;
}

static void oracle_look_ahead(struct writing *w, const struct numbered_record *record)
{
    next_requests_see(w->state, record->dst);
}

static void oracle_begin(struct writing *w)
{
    next_requests_settle(w->state);
}

static void oracle_end(struct writing *w)
{
    next_requests_destroy(w->state);
}

/* Seconds, object, size, number of the object's next request: little-endian, packed. Sizes end
 * at 4 GiB, times in 2106. */
static void oracle_record(struct writing *w, const struct record *r)
{
    uint64_t seconds = r->start_ns / NS_PER_S;
    uint32_t time = htole32(seconds < UINT32_MAX ? (uint32_t)seconds : UINT32_MAX);
    uint32_t size = htole32(r->bytes < UINT32_MAX ? (uint32_t)r->bytes : UINT32_MAX);
    uint64_t object = htole64(writing_object(r, w->dst));
    uint64_t next = htole64((uint64_t)next_requests_after(w->state, w->written - 1));

    fwrite(&time, sizeof(time), 1, w->out);
    fwrite(&object, sizeof(object), 1, w->out);
    fwrite(&size, sizeof(size), 1, w->out);
    fwrite(&next, sizeof(next), 1, w->out);
}

const struct format format_oraclegeneral = {
    .name = "oraclegeneral",
    .about = "libCacheSim's binary oracleGeneral; destination: the object",
    .key = KEY_OBJECT,
    .keys = 1u << KEY_OBJECT,
    .read = oracle_read,
    .probe = oracle_probe,
    .write =
        {
            .place = 11,
            .prepare = oracle_prepare,
            .look_ahead = oracle_look_ahead,
            .begin = oracle_begin,
            .record = oracle_record,
            .end = oracle_end,
        },
};
