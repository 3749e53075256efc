/* SPDX-License-Identifier: MIT */
/*
 * Sorting by time: stable, linear in the number of pairs, and only over the bytes in which
 * the times differ at all.
 */
#ifndef LOCUS_SIM_RADIX_H
#define LOCUS_SIM_RADIX_H

#include <stddef.h>
#include <stdint.h>

struct timed {
    uint64_t at_ns;
    uint64_t what;
};

/* Sorts; returns where the result is: items or spare, which has the same room. */
struct timed *radix_sort(struct timed *items, struct timed *spare, size_t count);

#endif
