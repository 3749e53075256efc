/* SPDX-License-Identifier: MIT */
/* splitmix64 (S. Vigna, public domain): the source of twos' dice and of map seeds. */
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

#endif
