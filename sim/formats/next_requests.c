/* SPDX-License-Identifier: MIT */
#include "next_requests.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../base/temporary.h"
#include "../records/sort.h"

struct next_requests {
    int64_t *after; /* by request */
    size_t mapped;  /* bytes, when they are in a temporary file; 0: in memory */
    int64_t *last;  /* by object: its last request so far; -1: not seen yet */
    int64_t seen;
};

static bool no_memory(void)
{
    fprintf(stderr, "locus: out of memory for objects\n");
    return false;
}

static bool map_file(struct next_requests *next, size_t bytes)
{
    void *mapped = MAP_FAILED;
    int fd = temporary_open();

    if (fd < 0) {
        return false;
    }
    errno = posix_fallocate(fd, 0, (off_t)bytes);
    if (errno == 0) {
        mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    if (mapped == MAP_FAILED) {
        temporary_failed("write");
    } else {
        next->after = mapped;
        next->mapped = bytes;
    }
    close(fd);
    return next->after != NULL;
}

static bool make_room(struct next_requests *next, uint64_t requests, uint64_t objects,
                      uint64_t memory_bytes)
{
    size_t bytes = (size_t)(requests + 1) * sizeof(*next->after);
    size_t last_bytes = (size_t)(objects + 1) * sizeof(*next->last);

    if (bytes > sorter_memory(memory_bytes)) {
        if (!map_file(next, bytes)) {
            return false;
        }
    } else if ((next->after = malloc(bytes)) == NULL) {
        return no_memory();
    }
    next->last = malloc(last_bytes);
    if (next->last == NULL) {
        return no_memory();
    }
    memset(next->last, 0xff, last_bytes);
    return true;
}

struct next_requests *next_requests_create(uint64_t requests, uint64_t objects,
                                           uint64_t memory_bytes)
{
    struct next_requests *next = calloc(1, sizeof(*next));

    if (next == NULL) {
        no_memory();
    } else if (!make_room(next, requests, objects, memory_bytes)) {
        next_requests_destroy(next);
        next = NULL;
    }
    return next;
}

void next_requests_see(struct next_requests *next, uint32_t object)
{
    int64_t number = next->seen++;

    next->after[number] = -1;
    if (next->last[object] >= 0) {
        next->after[next->last[object]] = number;
    }
    next->last[object] = number;
}

void next_requests_settle(struct next_requests *next)
{
    free(next->last);
    next->last = NULL;
}

int64_t next_requests_after(const struct next_requests *next, uint64_t number)
{
    return next->after[number];
}

void next_requests_destroy(struct next_requests *next)
{
    if (next == NULL) {
        return;
    }
    if (next->mapped > 0) {
        munmap(next->after, next->mapped);
    } else {
        free(next->after);
    }
    free(next->last);
    free(next);
}
