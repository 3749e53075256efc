/* SPDX-License-Identifier: MIT */
#include "forge.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum { HEAD = 12, LENGTH = 4, PAYLOAD = 4096, CHECKSUM = 8 };

static int fails(struct tape *tape)
{
    return ++tape->calls == tape->fail_at;
}

int tape_write(void *arg, const void *bytes, size_t size)
{
    struct tape *tape = arg;
    if (fails(tape)) {
        return tape->fail_with;
    }
    if (size == 0) {
        return LOCUS_OK;
    }
    if (tape->size + size > tape->room) {
        tape->room = 2 * (tape->size + size);
        unsigned char *grown = realloc(tape->bytes, tape->room);
        if (!grown) {
            abort();
        }
        tape->bytes = grown;
    }
    memcpy(tape->bytes + tape->size, bytes, size);
    tape->size += size;
    return LOCUS_OK;
}

int tape_read(void *arg, void *bytes, size_t size)
{
    struct tape *tape = arg;
    if (fails(tape)) {
        return tape->fail_with;
    }
    if (size > tape->size - tape->at) {
        return LOCUS_EFORMAT;
    }
    memcpy(bytes, tape->bytes + tape->at, size);
    tape->at += size;
    return LOCUS_OK;
}

void tape_free(struct tape *tape)
{
    if (tape->room > 0) {
        free(tape->bytes);
    }
    memset(tape, 0, sizeof(*tape));
}

static void store(unsigned char *at, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) {
        at[i] = (unsigned char)(value >> (8 * i));
    }
}

void forge_checksums(unsigned char *bytes, size_t size)
{
    if (size < HEAD) {
        return;
    }
    memcpy(bytes, "locusmap\1\0\0\0", HEAD);
    uint64_t chain = locus_siphash13(0, 0, bytes, HEAD);
    for (size_t at = HEAD; at + LENGTH + CHECKSUM <= size;) {
        size_t length = (size_t)bytes[at] | (size_t)bytes[at + 1] << 8;
        if (length > PAYLOAD || length > size - at - LENGTH - CHECKSUM) {
            return;
        }
        chain = locus_siphash13(chain, length, bytes + at + LENGTH, length);
        store(bytes + at + LENGTH + length, chain, CHECKSUM);
        at += LENGTH + length + CHECKSUM;
    }
}
