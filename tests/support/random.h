/* SPDX-License-Identifier: MIT */
/* A small generator (xorshift64*) for tests: one number is the whole state. */
#ifndef LOCUS_TESTS_RANDOM_H
#define LOCUS_TESTS_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

static inline uint64_t random_next(uint64_t *state)
{
    uint64_t x = *state ? *state : UINT64_C(0x9e3779b97f4a7c15);
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return x * UINT64_C(0x2545f4914f6cdd1d);
}

/* 0 .. range - 1; range > 0. */
static inline uint32_t random_below(uint64_t *state, uint32_t range)
{
    return (uint32_t)((random_next(state) >> 32) * range >> 32);
}

static inline bool random_percent(uint64_t *state, uint32_t percent)
{
    return random_below(state, 100) < percent;
}

#endif
