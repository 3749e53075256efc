/* SPDX-License-Identifier: MIT */
/* Sorted runs of records, in memory or in a temporary file, merged into one sequence. */
#ifndef LOCUS_SIM_MERGE_H
#define LOCUS_SIM_MERGE_H

#include <sys/types.h>

#include "../base/radix.h"
#include "numbered.h"

/* Records in order: a chunk, which is all in its buffer, or a part of the temporary file. */
struct run {
    uint64_t first, count; /* in records */
    uint64_t read;         /* of count, so far */
    struct numbered_record *buffer;
    size_t at, held; /* of the buffer */
};

struct runs {
    struct run *items;
    size_t count, capacity;
};

/* Says on stderr that there is no memory to sort. Returns false. */
bool merge_no_memory(void);

/* False after a message on stderr. */
bool runs_add(struct runs *runs, struct run run);
/* Reads up to each records, the next of a run that lies in the file, into its buffer. False
 * after a message on stderr. */
bool run_refill(int fd, struct run *run, size_t each);

/* A heap of runs by their next record. */
struct merge {
    int fd;             /* of the temporary file */
    struct run *runs;   /* borrowed */
    struct timed *heap; /* start of the next record and number of each run */
    size_t count;       /* of the heap */
};

/* Ready to merge runs first..first+count-1, each at its beginning; fd is the file that they
 * may lie in. False after a message. */
bool merge_begin(struct merge *merge, int fd, struct run *runs, size_t first,
                 size_t count);
/* The next records, how many; -1 after a message. each: what a run's buffer holds, when its
 * records are in the file. */
ssize_t merge_next(struct merge *merge, size_t each, struct numbered_record *batch,
                   size_t capacity);
void merge_end(struct merge *merge);

#endif
