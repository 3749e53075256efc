/* SPDX-License-Identifier: MIT */
/*
 * SipHash-1-3 with 64 bits out, and the 128-bit keys of names made of two of them. Written
 * from the paper (Aumasson and Bernstein, 2012); one compression round, three at the end.
 */
#include "hash.h"

#include <string.h>

struct sip {
    uint64_t v0, v1, v2, v3;
};

static inline uint64_t rotate(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

static inline void sip_round(struct sip *s)
{
    s->v0 += s->v1;
    s->v1 = rotate(s->v1, 13) ^ s->v0;
    s->v0 = rotate(s->v0, 32);
    s->v2 += s->v3;
    s->v3 = rotate(s->v3, 16) ^ s->v2;
    s->v0 += s->v3;
    s->v3 = rotate(s->v3, 21) ^ s->v0;
    s->v2 += s->v1;
    s->v1 = rotate(s->v1, 17) ^ s->v2;
    s->v2 = rotate(s->v2, 32);
}

/* Up to eight bytes, little endian on every machine. */
static inline uint64_t load_le(const unsigned char *bytes, size_t count)
{
    uint64_t word = 0;

    for (size_t i = 0; i < count; i++) {
        word |= (uint64_t)bytes[i] << (8 * i);
    }
    return word;
}

static inline void absorb(struct sip *s, uint64_t word)
{
    s->v3 ^= word;
    sip_round(s);
    s->v0 ^= word;
}

uint64_t locus_siphash13(uint64_t k0, uint64_t k1, const void *data, size_t length)
{
    const unsigned char *bytes = data;
    size_t tail = length & 7;
    struct sip s = {
        .v0 = k0 ^ 0x736f6d6570736575u,
        .v1 = k1 ^ 0x646f72616e646f6du,
        .v2 = k0 ^ 0x6c7967656e657261u,
        .v3 = k1 ^ 0x7465646279746573u,
    };

    for (size_t i = 0; i + 8 <= length; i += 8) {
        absorb(&s, load_le(bytes + i, 8));
    }
    uint64_t last = (uint64_t)length << 56;
    if (tail > 0) {
        last |= load_le(bytes + length - tail, tail);
    }
    absorb(&s, last);
    s.v2 ^= 0xff;
    sip_round(&s);
    sip_round(&s);
    sip_round(&s);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

union locus_key locus_key_from_name(const void *name, size_t length)
{
    union locus_key key;

    /* Two independent keys; "locus" and "name" in ASCII, so that nobody suspects more. */
    key.words[0] = locus_siphash13(0x6c6f637573u, 0x6e616d65u, name, length);
    key.words[1] = locus_siphash13(0x6e616d65u, 0x6c6f637573u, name, length);
    return key;
}
