/* SPDX-License-Identifier: MIT */
/*
 * Records are gathered in a stage that stays in the processor's cache. When it is full it
 * becomes a chunk: 16 bytes per record, pairs of start and place, are sorted by radix (stable,
 * and linear in the number of records) over those bytes in which the starts differ at all, and
 * the records are laid out in that order. Chunks are merged while they are read. Logs that are
 * in order already, and those that we wrote, cost one compare per record.
 */
#include "sort.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../base/radix.h"
#include "../base/temporary.h"
#include "merge.h"

enum {
    MEMORY_MIN = 64 << 10,
    HUGE_BYTES = 2 << 20,
    CHUNK_RECORDS = 2 * HUGE_BYTES / sizeof(struct numbered_record),
    MERGE_BUFFER_MIN = 64, /* records per run; below that, seeks would rule */
};

struct sorter {
    size_t capacity; /* records that memory may hold when nothing else is in it */
    size_t chunk_records, chunks_max;
    struct numbered_record *stage;
    size_t staged;
    bool stage_sorted;
    uint64_t last_ns;    /* of the start that was added last */
    struct timed *pairs; /* room for twice a stage */

    struct runs chunks;
    bool in_order; /* no chunk begins before the one in front of it ends */
    size_t next;   /* the chunk that is read, when they are in order */

    int fd; /* -1: nothing spilled */
    uint64_t file_records;
    uint64_t spilled_bytes;
    struct runs parts; /* of the file */

    struct merge merge; /* of chunks or parts */
    struct numbered_record *merge_memory;
};

/* Memory that is filled from end to end soon: with pages of 2 MiB, where the kernel has them,
 * most page faults are saved. */
static void *allocate(size_t bytes)
{
    size_t rounded = (bytes + HUGE_BYTES - 1) & ~((size_t)HUGE_BYTES - 1);

    if (bytes < HUGE_BYTES) {
        return malloc(bytes);
    }
    void *memory = aligned_alloc(HUGE_BYTES, rounded);
    if (memory != NULL) {
        madvise(memory, rounded, MADV_HUGEPAGE);
    }
    return memory;
}

static bool write_all(int fd, const void *data, size_t size)
{
    const char *at = data;

    while (size > 0) {
        ssize_t done = write(fd, at, size);
        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done <= 0) {
            return temporary_failed("write");
        }
        at += done;
        size -= (size_t)done;
    }
    return true;
}

uint64_t sorter_memory(uint64_t wanted_bytes)
{
    uint64_t bytes = wanted_bytes == 0 ? (uint64_t)1 << 30 : wanted_bytes;

    bytes = bytes < MEMORY_MIN ? MEMORY_MIN : bytes;
    return bytes > SIZE_MAX / 2 ? SIZE_MAX / 2 : bytes;
}

struct sorter *sorter_create(uint64_t memory_bytes)
{
    struct sorter *sorter = calloc(1, sizeof(*sorter));

    if (sorter == NULL) {
        merge_no_memory();
        return NULL;
    }
    memory_bytes = sorter_memory(memory_bytes);
    /* What a stage takes, with its pairs, leaves the rest for chunks. */
    size_t stage_bytes = sizeof(struct numbered_record) + 2 * sizeof(struct timed);
    size_t chunk_records = (size_t)memory_bytes / stage_bytes / 4;
    sorter->chunk_records =
        chunk_records < CHUNK_RECORDS ? chunk_records : CHUNK_RECORDS;
    sorter->chunks_max = ((size_t)memory_bytes - sorter->chunk_records * stage_bytes) /
                         (sorter->chunk_records * sizeof(struct numbered_record));
    sorter->capacity = (size_t)memory_bytes / sizeof(struct numbered_record);
    sorter->fd = -1;
    sorter->in_order = true;
    return sorter;
}

static void free_merge(struct sorter *sorter)
{
    free(sorter->merge_memory);
    merge_end(&sorter->merge);
    sorter->merge_memory = NULL;
}

static void free_chunks(struct sorter *sorter)
{
    for (size_t i = 0; i < sorter->chunks.count; i++) {
        free(sorter->chunks.items[i].buffer);
    }
    sorter->chunks.count = 0;
    sorter->in_order = true;
}

/* What only adding needs. */
static void free_stage(struct sorter *sorter)
{
    free(sorter->stage);
    free(sorter->pairs);
    sorter->stage = NULL;
    sorter->pairs = NULL;
}

void sorter_destroy(struct sorter *sorter)
{
    if (sorter == NULL) {
        return;
    }
    free_merge(sorter);
    free_stage(sorter);
    free_chunks(sorter);
    free(sorter->chunks.items);
    free(sorter->parts.items);
    if (sorter->fd >= 0) {
        close(sorter->fd);
    }
    free(sorter);
}

/* Starts and places of what is staged, in order. */
static const struct timed *order_stage(struct sorter *sorter)
{
    struct timed *pairs = sorter->pairs, *spare = pairs + sorter->chunk_records;

    for (size_t i = 0; i < sorter->staged; i++) {
        pairs[i] = (struct timed){sorter->stage[i].start_ns, i};
    }
    return radix_sort(pairs, spare, sorter->staged);
}

/* What is staged, in order, in memory of its own. The stage itself where it is so already. */
static struct numbered_record *take_stage(struct sorter *sorter)
{
    if (sorter->stage_sorted) {
        struct numbered_record *taken = sorter->stage;
        sorter->stage = NULL;
        return taken;
    }
    struct numbered_record *chunk = allocate(sorter->staged * sizeof(*chunk));
    if (sorter->pairs == NULL) {
        sorter->pairs = allocate(2 * sorter->chunk_records * sizeof(*sorter->pairs));
    }
    if (chunk == NULL || sorter->pairs == NULL) {
        free(chunk);
        return NULL;
    }
    const struct timed *order = order_stage(sorter);
    for (size_t i = 0; i < sorter->staged; i++) {
        chunk[i] = sorter->stage[order[i].what];
    }
    return chunk;
}

/* What is staged becomes a chunk. */
static bool seal(struct sorter *sorter)
{
    const struct runs *chunks = &sorter->chunks;

    if (sorter->staged == 0) {
        return true;
    }
    struct numbered_record *records = take_stage(sorter);
    if (records == NULL) {
        return merge_no_memory();
    }
    if (chunks->count > 0) {
        const struct run *last = &chunks->items[chunks->count - 1];
        sorter->in_order &=
            last->buffer[last->count - 1].start_ns <= records[0].start_ns;
    }
    if (!runs_add(&sorter->chunks,
                  (struct run){.count = sorter->staged, .buffer = records})) {
        free(records);
        return false;
    }
    sorter->staged = 0;
    return true;
}

/* Records that each of count parts of the file may buffer while they are merged. */
static size_t merge_each(const struct sorter *sorter, size_t count)
{
    size_t each = sorter->capacity / count;

    return each < MERGE_BUFFER_MIN ? MERGE_BUFFER_MIN : each;
}

static bool merge_chunks(struct sorter *sorter)
{
    for (size_t i = 0; i < sorter->chunks.count; i++) {
        struct run *chunk = &sorter->chunks.items[i];
        chunk->read = chunk->count;
        chunk->held = (size_t)chunk->count;
        chunk->at = 0;
    }
    sorter->next = 0;
    return sorter->in_order ||
           merge_begin(&sorter->merge, sorter->fd, sorter->chunks.items, 0,
                       sorter->chunks.count);
}

static bool merge_parts(struct sorter *sorter, size_t first, size_t count)
{
    size_t each = merge_each(sorter, count);

    free_merge(sorter);
    sorter->merge_memory = malloc(count * each * sizeof(*sorter->merge_memory));
    if (sorter->merge_memory == NULL) {
        return merge_no_memory();
    }
    for (size_t i = 0; i < count; i++) {
        struct run *part = &sorter->parts.items[first + i];
        part->buffer = sorter->merge_memory + i * each;
        part->read = 0;
        if (!run_refill(sorter->fd, part, each)) {
            return false;
        }
    }
    return merge_begin(&sorter->merge, sorter->fd, sorter->parts.items, first, count);
}

/* One chunk after the other. */
static size_t take_in_order(struct sorter *sorter, struct numbered_record *batch,
                            size_t capacity)
{
    size_t taken = 0;

    while (taken < capacity && sorter->next < sorter->chunks.count) {
        struct run *chunk = &sorter->chunks.items[sorter->next];
        size_t left = chunk->held - chunk->at;
        size_t take = left < capacity - taken ? left : capacity - taken;
        memcpy(batch + taken, chunk->buffer + chunk->at, take * sizeof(*batch));
        chunk->at += take;
        taken += take;
        sorter->next += chunk->at == chunk->held;
    }
    return taken;
}

static ssize_t take_chunks(struct sorter *sorter, struct numbered_record *batch,
                           size_t capacity)
{
    return sorter->in_order ? (ssize_t)take_in_order(sorter, batch, capacity)
                            : merge_next(&sorter->merge, 0, batch, capacity);
}

/* All chunks become a part of the file. */
static bool spill(struct sorter *sorter)
{
    enum { BATCH = 512 };
    struct numbered_record batch[BATCH];
    struct run part = {.first = sorter->file_records};
    ssize_t got;

    if (sorter->fd < 0 && (sorter->fd = temporary_open()) < 0) {
        return false;
    }
    if (!merge_chunks(sorter)) {
        return false;
    }
    while ((got = take_chunks(sorter, batch, BATCH)) > 0) {
        if (!write_all(sorter->fd, batch, (size_t)got * sizeof(*batch))) {
            return false;
        }
        part.count += (uint64_t)got;
    }
    sorter->file_records += part.count;
    sorter->spilled_bytes += part.count * sizeof(struct numbered_record);
    free_chunks(sorter);
    return got == 0 && runs_add(&sorter->parts, part);
}

/* Room in the stage for one more. */
static bool make_room(struct sorter *sorter)
{
    if (!seal(sorter)) {
        return false;
    }
    if (sorter->chunks.count == sorter->chunks_max && !spill(sorter)) {
        return false;
    }
    if (sorter->stage == NULL) {
        sorter->stage = allocate(sorter->chunk_records * sizeof(*sorter->stage));
    }
    sorter->stage_sorted = true;
    return sorter->stage != NULL || merge_no_memory();
}

bool sorter_add(struct sorter *sorter, const struct numbered_record *record)
{
    if ((sorter->stage == NULL || sorter->staged == sorter->chunk_records) &&
        !make_room(sorter)) {
        return false;
    }
    if (sorter->staged > 0 && record->start_ns < sorter->last_ns) {
        sorter->stage_sorted = false;
    }
    sorter->last_ns = record->start_ns;
    sorter->stage[sorter->staged++] = *record;
    return true;
}

/* Merges runs first..first+count-1 into one at the end of another file. */
static bool merge_into(struct sorter *sorter, size_t first, size_t count, int fd)
{
    enum { CHUNK = 512 };
    struct numbered_record chunk[CHUNK];
    size_t each = merge_each(sorter, count);
    ssize_t got;

    if (!merge_parts(sorter, first, count)) {
        return false;
    }
    while ((got = merge_next(&sorter->merge, each, chunk, CHUNK)) > 0) {
        if (!write_all(fd, chunk, (size_t)got * sizeof(*chunk))) {
            return false;
        }
    }
    return got == 0;
}

/* One pass over the file that leaves one run of every fan_in. */
static bool merge_pass(struct sorter *sorter, size_t fan_in)
{
    size_t kept = 0;
    uint64_t first = 0;
    int fd = temporary_open();

    if (fd < 0) {
        return false;
    }
    for (size_t i = 0; i < sorter->parts.count; i += fan_in) {
        size_t left = sorter->parts.count - i;
        size_t count = left < fan_in ? left : fan_in;
        uint64_t records = 0;
        for (size_t r = i; r < i + count; r++) {
            records += sorter->parts.items[r].count;
        }
        if (!merge_into(sorter, i, count, fd)) {
            close(fd);
            return false;
        }
        sorter->parts.items[kept++] = (struct run){.first = first, .count = records};
        first += records;
    }
    sorter->spilled_bytes += first * sizeof(struct numbered_record);
    sorter->parts.count = kept;
    close(sorter->fd);
    sorter->fd = fd;
    return true;
}

bool sorter_finish(struct sorter *sorter)
{
    size_t fan_in = sorter->capacity / MERGE_BUFFER_MIN;

    if (!seal(sorter)) {
        return false;
    }
    free_stage(sorter);
    if (sorter->fd < 0) {
        return sorter_rewind(sorter);
    }
    if (sorter->chunks.count > 0 && !spill(sorter)) {
        return false;
    }
    fan_in = fan_in < 2 ? 2 : fan_in;
    while (sorter->parts.count > fan_in) {
        if (!merge_pass(sorter, fan_in)) {
            return false;
        }
    }
    return sorter_rewind(sorter);
}

bool sorter_rewind(struct sorter *sorter)
{
    return sorter->fd < 0 ? merge_chunks(sorter)
                          : merge_parts(sorter, 0, sorter->parts.count);
}

ssize_t sorter_next(struct sorter *sorter, struct numbered_record *batch,
                    size_t capacity)
{
    if (sorter->fd < 0) {
        return take_chunks(sorter, batch, capacity);
    }
    return merge_next(&sorter->merge, merge_each(sorter, sorter->parts.count), batch,
                      capacity);
}

uint64_t sorter_spilled_bytes(const struct sorter *sorter)
{
    return sorter->spilled_bytes;
}
