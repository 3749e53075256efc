/* SPDX-License-Identifier: MIT */
/*
 * locus' own trace file: a header, the names, the records as they are in memory, in order.
 *
 *     header   64 bytes
 *     names    each: key (16 bytes), length (u16), text; names_bytes in all, padded with
 *              zeros to a multiple of 64
 *     records  count times 64 bytes: struct record
 *
 * Numbers are little-endian. The format is read again by the version that wrote it; another
 * version is refused, not guessed.
 */
#ifndef LOCUS_SIM_LOCUS_FILE_H
#define LOCUS_SIM_LOCUS_FILE_H

#include "record.h"

#define LOCUS_FILE_MAGIC "LOCUS\r\n\x1a" /* spoilt by whoever takes it for text */

enum { LOCUS_FILE_VERSION = 1 };

enum locus_file_flag {
    LOCUS_FILE_TIMELESS = 1, /* starts are places in the file */
};

struct locus_file_header {
    char magic[8];
    uint32_t version;
    uint32_t record_bytes; /* 64 */
    uint64_t count;
    uint64_t names_bytes; /* without the padding */
    uint64_t flags;       /* LOCUS_FILE_* */
    uint8_t reserved[24]; /* zero */
};

_Static_assert(sizeof(struct record) == 64, "records are written as they are");
_Static_assert(sizeof(struct locus_file_header) == 64, "the header is one record long");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "files are little-endian");

#endif
