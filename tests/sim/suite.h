/* SPDX-License-Identifier: MIT */
/* What the tests of the simulator share. */
#ifndef LOCUS_TESTS_ENGINE_SUITE_H
#define LOCUS_TESTS_ENGINE_SUITE_H

#include <stdint.h>

#include "../support/suite.h"

/* splitmix64: the same numbers everywhere. */
static inline uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

#endif
