/* SPDX-License-Identifier: MIT */
/*
 * Traces out, for gen and convert: opens the file, brings records into the order that the
 * format wants, and hands them to its hooks (../formats/format.h).
 */
#ifndef LOCUS_SIM_WRITER_H
#define LOCUS_SIM_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "../formats/formats.h"
#include "../records/numbered.h"

struct writer;

struct writer_options {
    const struct format *format; /* one that can be written */
    const char *path; /* NULL: stdout; borrowed until the close. Its ending (.gz, .bz2,
                              .xz, .zst) says whether it is compressed */
    bool timeless;    /* starts are made up */
    uint64_t memory_bytes; /* for what must be sorted again; as sorter_create() */
    /* For a binary format whose records all come by writer_numbered(): their keys, which stay
     * until the close, and how many there will be. Else NULL. */
    const struct record_keys *keys;
    uint64_t records;
    /* What a key is called; borrowed are text and size. */
    void (*name)(void *arg, uint8_t family, const union locus_key *key, char *text,
                 size_t size);
    void *name_arg;
};

/* NULL after a message on stderr. */
struct writer *writer_open(const struct writer_options *options);
/* Records come in order of start. False after a message on stderr. */
bool writer_record(struct writer *writer, const struct record *record);
/* The same for those that have their numbers already, see keys. */
bool writer_numbered(struct writer *writer, const struct numbered_record *batch,
                     size_t count);
/* Writes what is left and closes. False after a message on stderr when anything did not
 * arrive. */
bool writer_close(struct writer *writer);
/* Closes without writing more, after an error elsewhere. NULL is fine. */
void writer_abandon(struct writer *writer);

#endif
