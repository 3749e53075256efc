/* SPDX-License-Identifier: MIT */
#include "blocks.h"

#include <string.h>

#include "../base/hash.h"

enum { MAGIC_BYTES = 8, HEAD_BYTES = MAGIC_BYTES + 4, VERSION = 1 };

static const unsigned char magic[MAGIC_BYTES] = {'l', 'o', 'c', 'u',
                                                 's', 'm', 'a', 'p'};

static void store(unsigned char *at, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) {
        at[i] = (unsigned char)(value >> (8 * i));
    }
}

static uint64_t load(const unsigned char *at, unsigned bytes)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < bytes; i++) {
        value |= (uint64_t)at[i] << (8 * i);
    }
    return value;
}

static uint64_t checksum(const struct block *block, size_t length)
{
    return locus_siphash13(block->chain, length, block->bytes + BLOCK_HEAD, length);
}

static void start_chain(struct block *block, const unsigned char head[HEAD_BYTES])
{
    block->chain = locus_siphash13(0, 0, head, HEAD_BYTES);
}

/* ---- writing ---- */

static void write_bytes(struct block_writer *w, const void *bytes, size_t size)
{
    if (w->status == LOCUS_OK) {
        w->status = w->write(w->arg, bytes, size);
    }
}

void locus_blocks_begin(struct block_writer *w, locus_write_fn *write, void *arg)
{
    unsigned char head[HEAD_BYTES];

    w->write = write;
    w->arg = arg;
    w->status = LOCUS_OK;
    w->block.at = 0;
    memcpy(head, magic, MAGIC_BYTES);
    store(head + MAGIC_BYTES, VERSION, 4);
    start_chain(&w->block, head);
    write_bytes(w, head, HEAD_BYTES);
}

static void end_block(struct block_writer *w)
{
    struct block *block = &w->block;
    size_t length = block->at;

    block->chain = checksum(block, length);
    store(block->bytes, length, BLOCK_HEAD);
    store(block->bytes + BLOCK_HEAD + length, block->chain, BLOCK_CHECKSUM);
    write_bytes(w, block->bytes, BLOCK_HEAD + length + BLOCK_CHECKSUM);
    block->at = 0;
}

void locus_blocks_put(struct block_writer *w, uint64_t value, unsigned bytes)
{
    if (w->block.at + bytes > BLOCK_PAYLOAD) {
        end_block(w);
    }
    store(w->block.bytes + BLOCK_HEAD + w->block.at, value, bytes);
    w->block.at += bytes;
}

int locus_blocks_finish(struct block_writer *w)
{
    if (w->block.at > 0) {
        end_block(w);
    }
    end_block(w);
    return w->status;
}

/* ---- reading ---- */

void locus_blocks_reject(struct block_reader *r)
{
    if (r->status == LOCUS_OK) {
        r->status = LOCUS_EFORMAT;
    }
}

static bool read_bytes(struct block_reader *r, void *bytes, size_t size)
{
    if (r->status == LOCUS_OK) {
        r->status = r->read(r->arg, bytes, size);
    }
    return r->status == LOCUS_OK;
}

void locus_blocks_open(struct block_reader *r, locus_read_fn *read, void *arg)
{
    unsigned char head[HEAD_BYTES];

    r->read = read;
    r->arg = arg;
    r->status = LOCUS_OK;
    r->block.at = r->block.length = 0;
    if (!read_bytes(r, head, HEAD_BYTES)) {
        return;
    }
    if (memcmp(head, magic, MAGIC_BYTES) != 0) {
        locus_blocks_reject(r);
    } else if (load(head + MAGIC_BYTES, 4) != VERSION) {
        r->status = LOCUS_ENOTSUP;
    }
    start_chain(&r->block, head);
}

/* false: there is none that could be believed. */
static bool next_block(struct block_reader *r)
{
    struct block *block = &r->block;

    if (!read_bytes(r, block->bytes, BLOCK_HEAD)) {
        return false;
    }
    uint64_t length = load(block->bytes, BLOCK_HEAD);
    if (length > BLOCK_PAYLOAD) {
        locus_blocks_reject(r);
    }
    if (!read_bytes(r, block->bytes + BLOCK_HEAD, length + BLOCK_CHECKSUM)) {
        return false;
    }
    block->at = 0;
    block->length = length;
    block->chain = checksum(block, length);
    if (load(block->bytes + BLOCK_HEAD + length, BLOCK_CHECKSUM) != block->chain) {
        locus_blocks_reject(r);
    }
    return r->status == LOCUS_OK;
}

uint64_t locus_blocks_get(struct block_reader *r, unsigned bytes)
{
    struct block *block = &r->block;

    if (block->at == block->length && !next_block(r)) {
        return 0;
    }
    if (r->status != LOCUS_OK || bytes > block->length - block->at) {
        locus_blocks_reject(r);
        return 0;
    }
    block->at += bytes;
    return load(block->bytes + BLOCK_HEAD + block->at - bytes, bytes);
}

int locus_blocks_close(struct block_reader *r)
{
    if (r->block.at != r->block.length) {
        locus_blocks_reject(r);
    } else if (next_block(r) && r->block.length != 0) {
        locus_blocks_reject(r);
    }
    return r->status;
}
