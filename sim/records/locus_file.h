/* SPDX-License-Identifier: MIT */
/*
 * locus' own trace file: a header, the keys, the records as they are in memory, in order.
 *
 *     header         64 bytes
 *     destinations   each: struct locus_file_key, 24 bytes, and the name's text
 *     clients        the same
 *     records        count times 40 bytes: struct numbered_record; its numbers are places
 *                    in the two tables
 *
 * Numbers are little-endian. The format is read again by the version that wrote it; another
 * version is refused, not guessed.
 */
#ifndef LOCUS_SIM_LOCUS_FILE_H
#define LOCUS_SIM_LOCUS_FILE_H

#include "numbered.h"

#define LOCUS_FILE_MAGIC "LOCUS\r\n\x1a" /* spoilt by whoever takes it for text */

enum { LOCUS_FILE_VERSION = 2 };

enum locus_file_flag {
    LOCUS_FILE_TIMELESS = 1, /* starts are places in the file */
};

struct locus_file_header {
    char magic[8];
    uint32_t version;
    uint32_t record_bytes; /* 40 */
    uint64_t count;
    uint64_t destinations, clients; /* keys in each table */
    uint64_t flags;                 /* LOCUS_FILE_* */
    uint8_t reserved[16];           /* zero */
};

struct locus_file_key {
    union locus_key key;
    uint16_t name_bytes; /* 0 unless family is LOCUS_NAME */
    uint8_t family;      /* enum locus_family */
    uint8_t reserved[5]; /* zero */
};

_Static_assert(sizeof(struct numbered_record) == 40, "records are written as they are");
_Static_assert(sizeof(struct locus_file_header) == 64, "so is the header");
_Static_assert(sizeof(struct locus_file_key) == 24, "so are keys");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "files are little-endian");

/* Exactly size bytes of the file; false when there are not as many. */
typedef bool locus_file_get_fn(void *arg, void *to, size_t size);

/*
 * Reads header and keys; the keys' numbers are their places in the file. NULL, or what is
 * wrong with it, in words that follow the file's name.
 */
const char *locus_file_begin(locus_file_get_fn *get, void *arg,
                             struct locus_file_header *header,
                             struct record_keys *keys);

/* Whether a record can be believed: numbers, flags and times in range. */
static inline bool locus_file_sound(const struct record_keys *keys,
                                    const struct numbered_record *r)
{
    bool client = r->flags & RECORD_HAS_CLIENT ? r->src < keys->clients.count
                                               : r->src == NO_CLIENT;

    return client && r->dst < keys->destinations.count && r->start_ns <= INT64_MAX &&
           r->duration_ns <= INT64_MAX && r->flags < RECORD_HAS_CLIENT * 2;
}

#endif
