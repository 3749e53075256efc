/* SPDX-License-Identifier: MIT */
/* Snapshots from memory and to memory, and with any content under good checksums. White box. */
#ifndef LOCUS_TESTS_FORGE_H
#define LOCUS_TESTS_FORGE_H

#include <stddef.h>
#include <stdint.h>

#include <locus/locus.h>

struct tape {
    unsigned char *bytes;
    size_t size, room;       /* room 0: not ours to grow or free */
    size_t at;               /* read so far */
    uint64_t calls, fail_at; /* the call, counted from 1, that fails with fail_with */
    int fail_with;
};

/* For locus_snapshot_save() and locus_snapshot_load(): arg is the tape. Reading past the end
 * is LOCUS_EFORMAT. */
int tape_write(void *tape, const void *bytes, size_t size);
int tape_read(void *tape, void *bytes, size_t size);
void tape_free(struct tape *tape);

/* Sets magic, version and the checksum of every whole block to what they should be. */
void forge_checksums(unsigned char *bytes, size_t size);

#endif
