/* SPDX-License-Identifier: MIT */
/*
 * Sorting moves 16 bytes per record, not 40: pairs of start and place. Logs that are in order already, and those that we wrote, cost one compare
 * per record.
 */
#include "sort.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "radix.h"

enum {
    MEMORY_MIN = 64 << 10,
    /* In memory a record takes its own 40 bytes and two pairs. */
    BYTES_EACH = sizeof(struct numbered_record) + 32,
    MERGE_BUFFER_MIN = 64, /* records per run; below that, seeks would rule */
};

/* Part of the temporary file, in order, and what is read of it. */
struct run {
    uint64_t first, count; /* in records */
    uint64_t read;         /* of count, so far */
    struct numbered_record *buffer;
    size_t at, held; /* of the buffer */
};

struct sorter {
    size_t capacity; /* records that memory may hold */
    struct numbered_record *records;
    size_t count, allocated;
    struct timed *order; /* NULL: records are in order as they lie */
    bool sorted;         /* so far */
    size_t next;

    int fd; /* -1: nothing spilled */
    uint64_t file_records;
    uint64_t spilled_bytes;
    struct run *runs;
    size_t run_count, run_capacity;

    struct numbered_record *merge_memory;
    size_t *heap; /* numbers of runs; the least record is on top */
    size_t heap_count;
};

static bool no_memory(void)
{
    fprintf(stderr, "locus: out of memory while sorting\n");
    return false;
}

static const char *temporary_folder(void)
{
    const char *folder = getenv("TMPDIR");

    return folder != NULL && folder[0] != '\0' ? folder : "/tmp";
}

static bool file_failed(const char *what)
{
    fprintf(stderr, "locus: cannot %s the temporary file in %s: %s\n", what,
            temporary_folder(), strerror(errno));
    return false;
}

/* A file without a name, so that nothing is left behind however this ends. -1: failed. */
static int open_temporary(void)
{
    char path[4096];
    int length = snprintf(path, sizeof(path), "%s/locus-XXXXXX", temporary_folder());

    if (length < 0 || (size_t)length >= sizeof(path)) {
        errno = ENAMETOOLONG;
        file_failed("make");
        return -1;
    }
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0) {
        file_failed("make");
        return -1;
    }
    unlink(path);
    return fd;
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
            return file_failed("write");
        }
        at += done;
        size -= (size_t)done;
    }
    return true;
}

static bool read_at(int fd, void *data, size_t size, uint64_t offset)
{
    char *at = data;

    while (size > 0) {
        ssize_t done = pread(fd, at, size, (off_t)offset);
        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done == 0) {
            errno = EIO;
        }
        if (done <= 0) {
            return file_failed("read");
        }
        at += done;
        offset += (uint64_t)done;
        size -= (size_t)done;
    }
    return true;
}

struct sorter *sorter_create(uint64_t memory_bytes)
{
    struct sorter *sorter = calloc(1, sizeof(*sorter));

    if (sorter == NULL) {
        no_memory();
        return NULL;
    }
    if (memory_bytes == 0) {
        memory_bytes = (uint64_t)1 << 30;
    }
    if (memory_bytes < MEMORY_MIN) {
        memory_bytes = MEMORY_MIN;
    }
    if (memory_bytes > SIZE_MAX / 2) {
        memory_bytes = SIZE_MAX / 2;
    }
    sorter->capacity = (size_t)memory_bytes / BYTES_EACH;
    sorter->fd = -1;
    sorter->sorted = true;
    return sorter;
}

static void free_merge(struct sorter *sorter)
{
    free(sorter->merge_memory);
    free(sorter->heap);
    sorter->merge_memory = NULL;
    sorter->heap = NULL;
}

void sorter_destroy(struct sorter *sorter)
{
    if (sorter == NULL) {
        return;
    }
    free_merge(sorter);
    free(sorter->runs);
    free(sorter->records);
    free(sorter->order);
    if (sorter->fd >= 0) {
        close(sorter->fd);
    }
    free(sorter);
}

static bool order_records(struct sorter *sorter)
{
    size_t count = sorter->count;
    struct timed *pairs = malloc(count * sizeof(*pairs));
    struct timed *spare = malloc(count * sizeof(*spare));

    if (pairs == NULL || spare == NULL) {
        free(pairs);
        free(spare);
        return no_memory();
    }
    for (size_t i = 0; i < count; i++) {
        pairs[i] = (struct timed){sorter->records[i].start_ns, i};
    }
    sorter->order = radix_sort(pairs, spare, count);
    free(sorter->order == pairs ? spare : pairs);
    return true;
}

/* What memory holds, in order, from the next-th on. */
static size_t take_sorted(struct sorter *sorter, struct numbered_record *batch,
                          size_t capacity)
{
    size_t left = sorter->count - sorter->next;
    size_t take = left < capacity ? left : capacity;

    if (take == 0) {
        return 0;
    }
    if (sorter->order == NULL) {
        memcpy(batch, sorter->records + sorter->next, take * sizeof(*batch));
    } else {
        const struct timed *order = sorter->order + sorter->next;
        for (size_t i = 0; i < take; i++) {
            batch[i] = sorter->records[order[i].what];
        }
    }
    sorter->next += take;
    return take;
}

static bool add_run(struct sorter *sorter, uint64_t count)
{
    if (sorter->run_count == sorter->run_capacity) {
        size_t capacity = sorter->run_capacity == 0 ? 16 : sorter->run_capacity * 2;
        struct run *grown = realloc(sorter->runs, capacity * sizeof(*grown));
        if (grown == NULL) {
            return no_memory();
        }
        sorter->runs = grown;
        sorter->run_capacity = capacity;
    }
    sorter->runs[sorter->run_count++] =
        (struct run){.first = sorter->file_records, .count = count};
    sorter->file_records += count;
    sorter->spilled_bytes += count * sizeof(struct numbered_record);
    return true;
}

/* Everything in memory becomes a run. */
static bool spill(struct sorter *sorter)
{
    enum { CHUNK = 512 };
    struct numbered_record chunk[CHUNK];
    size_t got;

    if (sorter->fd < 0 && (sorter->fd = open_temporary()) < 0) {
        return false;
    }
    if (!sorter->sorted && !order_records(sorter)) {
        return false;
    }
    sorter->next = 0;
    while ((got = take_sorted(sorter, chunk, CHUNK)) > 0) {
        if (!write_all(sorter->fd, chunk, got * sizeof(*chunk))) {
            return false;
        }
    }
    if (!add_run(sorter, sorter->count)) {
        return false;
    }
    free(sorter->order);
    sorter->order = NULL;
    sorter->count = 0;
    sorter->sorted = true;
    return true;
}

static bool grow(struct sorter *sorter)
{
    size_t wanted = sorter->allocated == 0 ? 1024 : sorter->allocated * 2;

    if (wanted > sorter->capacity) {
        wanted = sorter->capacity;
    }
    struct numbered_record *grown = realloc(sorter->records, wanted * sizeof(*grown));
    if (grown == NULL) {
        return no_memory();
    }
    sorter->records = grown;
    sorter->allocated = wanted;
    return true;
}

bool sorter_add(struct sorter *sorter, const struct numbered_record *record)
{
    if (sorter->count == sorter->allocated) {
        bool full = sorter->count == sorter->capacity;
        if (full ? !spill(sorter) : !grow(sorter)) {
            return false;
        }
    }
    if (sorter->count > 0 &&
        record->start_ns < sorter->records[sorter->count - 1].start_ns) {
        sorter->sorted = false;
    }
    sorter->records[sorter->count++] = *record;
    return true;
}

static bool refill(struct sorter *sorter, struct run *run, size_t each)
{
    uint64_t left = run->count - run->read;
    size_t take = left < each ? (size_t)left : each;

    run->at = 0;
    run->held = take;
    if (take == 0) {
        return true;
    }
    uint64_t offset = (run->first + run->read) * sizeof(struct numbered_record);
    run->read += take;
    return read_at(sorter->fd, run->buffer, take * sizeof(struct numbered_record),
                   offset);
}

/* Runs are in the order of adding, so that the lower number goes first among equals. */
static bool goes_first(const struct sorter *sorter, size_t a, size_t b)
{
    const struct run *ra = &sorter->runs[a];
    const struct run *rb = &sorter->runs[b];
    uint64_t ta = ra->buffer[ra->at].start_ns;
    uint64_t tb = rb->buffer[rb->at].start_ns;

    return ta != tb ? ta < tb : a < b;
}

static void sift_down(struct sorter *sorter, size_t at)
{
    size_t *heap = sorter->heap;

    for (;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2; child++) {
            if (child < sorter->heap_count &&
                goes_first(sorter, heap[child], heap[least])) {
                least = child;
            }
        }
        if (least == at) {
            return;
        }
        size_t swap = heap[at];
        heap[at] = heap[least];
        heap[least] = swap;
        at = least;
    }
}

/* Records that each of count runs may buffer while they are merged. */
static size_t merge_each(const struct sorter *sorter, size_t count)
{
    size_t each = sorter->capacity / count;

    return each < MERGE_BUFFER_MIN ? MERGE_BUFFER_MIN : each;
}

static bool start_merge(struct sorter *sorter, size_t first, size_t count)
{
    size_t each = merge_each(sorter, count);

    free_merge(sorter);
    sorter->merge_memory = malloc(count * each * sizeof(*sorter->merge_memory));
    sorter->heap = malloc(count * sizeof(*sorter->heap));
    if (sorter->merge_memory == NULL || sorter->heap == NULL) {
        return no_memory();
    }
    sorter->heap_count = 0;
    for (size_t i = 0; i < count; i++) {
        struct run *run = &sorter->runs[first + i];
        run->buffer = sorter->merge_memory + i * each;
        run->read = 0;
        if (!refill(sorter, run, each)) {
            return false;
        }
        if (run->held > 0) {
            sorter->heap[sorter->heap_count++] = first + i;
        }
    }
    for (size_t i = sorter->heap_count; i-- > 0;) {
        sift_down(sorter, i);
    }
    return true;
}

static ssize_t take_merged(struct sorter *sorter, size_t each,
                           struct numbered_record *batch, size_t capacity)
{
    size_t taken = 0;

    while (taken < capacity && sorter->heap_count > 0) {
        struct run *run = &sorter->runs[sorter->heap[0]];
        batch[taken++] = run->buffer[run->at++];
        if (run->at == run->held) {
            if (!refill(sorter, run, each)) {
                return -1;
            }
            if (run->held == 0) {
                sorter->heap[0] = sorter->heap[--sorter->heap_count];
            }
        }
        sift_down(sorter, 0);
    }
    return (ssize_t)taken;
}

/* Merges runs first..first+count-1 into one at the end of another file. */
static bool merge_into(struct sorter *sorter, size_t first, size_t count, int fd)
{
    enum { CHUNK = 512 };
    struct numbered_record chunk[CHUNK];
    size_t each = merge_each(sorter, count);
    ssize_t got;

    if (!start_merge(sorter, first, count)) {
        return false;
    }
    while ((got = take_merged(sorter, each, chunk, CHUNK)) > 0) {
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
    int fd = open_temporary();

    if (fd < 0) {
        return false;
    }
    for (size_t i = 0; i < sorter->run_count; i += fan_in) {
        size_t count = sorter->run_count - i < fan_in ? sorter->run_count - i : fan_in;
        uint64_t records = 0;
        for (size_t r = i; r < i + count; r++) {
            records += sorter->runs[r].count;
        }
        if (!merge_into(sorter, i, count, fd)) {
            close(fd);
            return false;
        }
        sorter->runs[kept++] = (struct run){.first = first, .count = records};
        first += records;
    }
    sorter->spilled_bytes += first * sizeof(struct numbered_record);
    sorter->run_count = kept;
    close(sorter->fd);
    sorter->fd = fd;
    return true;
}

bool sorter_finish(struct sorter *sorter)
{
    size_t fan_in = sorter->capacity / MERGE_BUFFER_MIN;

    if (sorter->fd < 0) {
        return (sorter->sorted || order_records(sorter)) && sorter_rewind(sorter);
    }
    if (sorter->count > 0 && !spill(sorter)) {
        return false;
    }
    free(sorter->records);
    sorter->records = NULL;
    sorter->allocated = 0;
    fan_in = fan_in < 2 ? 2 : fan_in;
    while (sorter->run_count > fan_in) {
        if (!merge_pass(sorter, fan_in)) {
            return false;
        }
    }
    return sorter_rewind(sorter);
}

bool sorter_rewind(struct sorter *sorter)
{
    sorter->next = 0;
    return sorter->fd < 0 || start_merge(sorter, 0, sorter->run_count);
}

ssize_t sorter_next(struct sorter *sorter, struct numbered_record *batch,
                    size_t capacity)
{
    if (sorter->fd < 0) {
        return (ssize_t)take_sorted(sorter, batch, capacity);
    }
    return take_merged(sorter, merge_each(sorter, sorter->run_count), batch, capacity);
}

uint64_t sorter_spilled_bytes(const struct sorter *sorter)
{
    return sorter->spilled_bytes;
}
