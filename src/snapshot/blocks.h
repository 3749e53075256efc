/* SPDX-License-Identifier: MIT */
/*
 * A stream of little-endian numbers in checked blocks, over the caller's write and read
 * functions. What is read was checked before:
 *
 *     stream = magic (8 bytes), version (4), block..., empty block
 *     block  = length (4), that many bytes of payload (4,096 at most), checksum (8)
 *
 * A checksum is SipHash-1-3 of the payload, keyed with the checksum before (for the first
 * block that of magic and version, keyed with 0) and the length: no block can be lost,
 * repeated or moved. The first status that is not LOCUS_OK stays; after it nothing is
 * written, and zeros are read.
 */
#ifndef LOCUS_BLOCKS_H
#define LOCUS_BLOCKS_H

#include <stdint.h>

#include <locus/locus.h>

enum { BLOCK_HEAD = 4, BLOCK_PAYLOAD = 4096, BLOCK_CHECKSUM = 8 };

struct block {
    uint64_t chain; /* the checksum before */
    size_t at;      /* of the payload that much is written or read */
    size_t length;  /* reading: of the payload */
    unsigned char bytes[BLOCK_HEAD + BLOCK_PAYLOAD + BLOCK_CHECKSUM];
};

struct block_writer {
    locus_write_fn *write;
    void *arg;
    int status;
    struct block block;
};

void locus_blocks_begin(struct block_writer *w, locus_write_fn *write, void *arg);
/* The low bytes of a number, 1 to 8. */
void locus_blocks_put(struct block_writer *w, uint64_t value, unsigned bytes);
/* Writes what is left, and the end. Returns the status. */
int locus_blocks_finish(struct block_writer *w);

struct block_reader {
    locus_read_fn *read;
    void *arg;
    int status; /* EFORMAT, ENOTSUP, or what read returned */
    struct block block;
};

void locus_blocks_open(struct block_reader *r, locus_read_fn *read, void *arg);
uint64_t locus_blocks_get(struct block_reader *r, unsigned bytes);
/* The end must follow. Returns the status. */
int locus_blocks_close(struct block_reader *r);
/* The stream makes no sense. */
void locus_blocks_reject(struct block_reader *r);

#endif
