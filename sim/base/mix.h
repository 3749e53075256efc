/* SPDX-License-Identifier: MIT */
/* SplitMix64 (G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators",
 * OOPSLA 2014): the same numbers everywhere. */
#ifndef LOCUS_SIM_MIX_H
#define LOCUS_SIM_MIX_H

#include <stdint.h>

static inline uint64_t mix64(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* The next of a sequence that begins with any seed. */
static inline uint64_t split_mix64(uint64_t *state)
{
    return mix64(*state += 0x9e3779b97f4a7c15u);
}

#endif
