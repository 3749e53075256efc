/* SPDX-License-Identifier: MIT */
/*
 * Traces out, for gen and convert: one table of formats, the opposite of formats/. A format
 * keeps what it has a place for; what it cannot hold (durations in a web log, clients in an
 * object trace) is left out.
 */
#ifndef LOCUS_SIM_WRITER_H
#define LOCUS_SIM_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "../records/numbered.h"

struct writer;

struct writer_names { /* what a person calls the two ends; "" when there is none */
    const char *dst, *src;
};

struct writer_format {
    const char *name;
    const char *about;
    bool by_end; /* lines are written when a connection ends, so in that order */
    bool binary; /* keys go in front of the records, as they are; no record() */
    bool ahead;  /* begin() looks at all records first */
    void (*begin)(struct writer *writer);
    void (*record)(struct writer *writer, const struct record *record,
                   const struct writer_names *names);
};

extern const struct writer_format
    writer_formats[]; /* ends with an entry without a name */

const struct writer_format *writer_find(const char *name);

struct writer_options {
    const struct writer_format *format;
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
