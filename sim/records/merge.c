/* SPDX-License-Identifier: MIT */
#include "merge.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../base/temporary.h"

bool merge_no_memory(void)
{
    fprintf(stderr, "locus: out of memory while sorting\n");
    return false;
}

bool runs_add(struct runs *runs, struct run run)
{
    if (runs->count == runs->capacity) {
        size_t capacity = runs->capacity == 0 ? 16 : runs->capacity * 2;
        struct run *grown = realloc(runs->items, capacity * sizeof(*grown));
        if (grown == NULL) {
            return merge_no_memory();
        }
        runs->items = grown;
        runs->capacity = capacity;
    }
    runs->items[runs->count++] = run;
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
            return temporary_failed("read");
        }
        at += done;
        offset += (uint64_t)done;
        size -= (size_t)done;
    }
    return true;
}

bool run_refill(int fd, struct run *run, size_t each)
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
    return read_at(fd, run->buffer, take * sizeof(struct numbered_record), offset);
}

/* Runs are in the order of adding, so that the lower number goes first among equals. */
static bool goes_first(struct timed a, struct timed b)
{
    return a.at_ns != b.at_ns ? a.at_ns < b.at_ns : a.what < b.what;
}

/* What stands in the heap for a run: the start of its next record. */
static struct timed head_of(const struct merge *merge, size_t index)
{
    const struct run *run = &merge->runs[index];

    return (struct timed){run->buffer[run->at].start_ns, index};
}

static void sift_down(struct merge *merge, size_t at)
{
    struct timed *heap = merge->heap;

    for (;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2; child++) {
            if (child < merge->count && goes_first(heap[child], heap[least])) {
                least = child;
            }
        }
        if (least == at) {
            return;
        }
        struct timed swap = heap[at];
        heap[at] = heap[least];
        heap[least] = swap;
        at = least;
    }
}

bool merge_begin(struct merge *merge, int fd, struct run *runs, size_t first,
                 size_t count)
{
    free(merge->heap);
    merge->heap = malloc((count + 1) * sizeof(*merge->heap));
    if (merge->heap == NULL) {
        return merge_no_memory();
    }
    merge->fd = fd;
    merge->runs = runs;
    merge->count = 0;
    for (size_t i = first; i < first + count; i++) {
        if (runs[i].held > 0) {
            merge->heap[merge->count++] = head_of(merge, i);
        }
    }
    for (size_t i = merge->count; i-- > 0;) {
        sift_down(merge, i);
    }
    return true;
}

/* What would be on top of the heap without its top. */
static struct timed rival(const struct merge *merge)
{
    const struct timed *heap = merge->heap;

    if (merge->count < 2) {
        return (struct timed){UINT64_MAX, UINT64_MAX};
    }
    return merge->count == 2 || goes_first(heap[1], heap[2]) ? heap[1] : heap[2];
}

ssize_t merge_next(struct merge *merge, size_t each, struct numbered_record *batch,
                   size_t capacity)
{
    size_t taken = 0;

    while (taken < capacity && merge->count > 0) {
        size_t top = merge->heap[0].what;
        struct timed other = rival(merge);
        struct run *run = &merge->runs[top];
        do {
            batch[taken++] = run->buffer[run->at++];
        } while (taken < capacity && run->at < run->held &&
                 goes_first(head_of(merge, top), other));
        if (run->at == run->held && !run_refill(merge->fd, run, each)) {
            return -1;
        }
        merge->heap[0] =
            run->held > 0 ? head_of(merge, top) : merge->heap[--merge->count];
        sift_down(merge, 0);
    }
    return (ssize_t)taken;
}

void merge_end(struct merge *merge)
{
    free(merge->heap);
    merge->heap = NULL;
}
