/* SPDX-License-Identifier: MIT */
/*
 * Records sorted by start, equal starts in the order of adding, in bounded memory: what does
 * not fit goes as sorted runs to a temporary file, which has no name (in $TMPDIR, else /tmp)
 * and is merged while reading.
 */
#ifndef LOCUS_SIM_SORT_H
#define LOCUS_SIM_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "numbered.h"

struct sorter;

/* What a wanted bound on memory comes to. 0: 1 GiB; at least 64 KiB. */
uint64_t sorter_memory(uint64_t wanted_bytes);
/* With that bound. NULL: out of memory. */
struct sorter *sorter_create(uint64_t memory_bytes);
void sorter_destroy(struct sorter *sorter);
/* All of these: false after a message on stderr. */
bool sorter_add(struct sorter *sorter, const struct numbered_record *record);
/* Ends the adding; reading begins at the first record. */
bool sorter_finish(struct sorter *sorter);
bool sorter_rewind(struct sorter *sorter);
/* The next records, how many; 0 at the end, -1 after a message on stderr. */
ssize_t sorter_next(struct sorter *sorter, struct numbered_record *batch,
                    size_t capacity);
/* Bytes written to the temporary file. */
uint64_t sorter_spilled_bytes(const struct sorter *sorter);

#endif
