/* SPDX-License-Identifier: MIT */
/*
 * Three hashes, each for one purpose:
 *   hash_golden()  the kernel's multiplicative hash; decides in dh, sh and partial GC, so
 *                  its values are part of the rules
 *   siphash        decides in mh and chbl, and makes the keys of names
 *   hash_key()     keyed placement in the destination map; decides nothing
 */
#ifndef LOCUS_HASH_H
#define LOCUS_HASH_H

#include <stdint.h>

#include <locus/locus.h>

#include "compiler.h"

/* The top bits of v times 2^32 over the golden ratio; bits 1..32. */
static inline uint32_t hash_golden(uint32_t v, unsigned bits)
{
    return (uint32_t)(v * 0x61c88647u) >> (32 - bits);
}

/* The 32 bits that IPVS hashes of an address: IPv4 itself, IPv6 (and a name's key) the xor
 * of its four words. */
static inline uint32_t key_fold(const union locus_key *key, bool wide)
{
    if (!wide) {
        return key->ipv4;
    }
    uint32_t folded = 0;
    for (int i = 0; i < 16; i += 4) {
        folded ^= (uint32_t)key->bytes[i] << 24 | (uint32_t)key->bytes[i + 1] << 16 |
                  (uint32_t)key->bytes[i + 2] << 8 | (uint32_t)key->bytes[i + 3];
    }
    return folded;
}

/* High and low half of the 128-bit product, folded. */
static inline uint64_t fold_product(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 u128;
    u128 product = (u128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
    uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
    uint64_t ll = al * bl, lh = al * bh, hl = ah * bl, hh = ah * bh;
    uint64_t middle = (ll >> 32) + (uint32_t)lh + (uint32_t)hl;
    uint64_t high = hh + (lh >> 32) + (hl >> 32) + (middle >> 32);
    return ((middle << 32) | (uint32_t)ll) ^ high;
#endif
}

struct hash_seed {
    uint64_t a, b;
};

/* Two folded products of the key with secret numbers: every key bit reaches every bit of
 * the result, and without the seed nobody can choose keys that collide. */
static inline uint64_t hash_key(const struct hash_seed *seed,
                                const union locus_key *key, bool wide)
{
    uint64_t x = LIKELY(!wide)
                     ? fold_product(key->ipv4 ^ seed->a, seed->b)
                     : fold_product(key->words[0] ^ seed->a, key->words[1] ^ seed->b);
    return fold_product(x, 0x9e3779b97f4a7c15u);
}

/* SipHash-1-3 (J.-P. Aumasson, D. J. Bernstein) of length bytes. */
uint64_t locus_siphash13(uint64_t k0, uint64_t k1, const void *data, size_t length);

#endif
