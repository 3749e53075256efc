/* SPDX-License-Identifier: MIT */
/* splitmix64 (S. Vigna, public domain): the source of twos' and p2c's dice, of chbl's orders
 * and of map seeds. */
#ifndef LOCUS_RNG_H
#define LOCUS_RNG_H

#include <stdint.h>

static inline uint64_t rng_next(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* 0..limit-1. 32 random bits scaled, as the kernel does. limit <= 2^56 (2^24 servers of 2^32):
 * above 2^32 the product is split so as not to overflow. */
static inline uint64_t rng_below(uint64_t *state, uint64_t limit)
{
    uint64_t high = rng_next(state) >> 32;

    return high * (limit >> 32) + (high * (limit & UINT32_MAX) >> 32);
}

#endif
