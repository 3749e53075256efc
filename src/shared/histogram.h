/* SPDX-License-Identifier: MIT */
/*
 * A histogram that many threads add to without a lock: eight buckets per power of two,
 * so that a percentile is at most 1/8 too high, over all 64 bits in 4 KiB.
 */
#ifndef LOCUS_SHARED_HISTOGRAM_H
#define LOCUS_SHARED_HISTOGRAM_H

#include <stdatomic.h>
#include <stdint.h>

#include <locus/coalesce.h>

enum { HISTOGRAM_BUCKETS = 496 };

/* Zero-initialised. Every access is atomic and relaxed. */
struct histogram {
    _Atomic uint64_t buckets[HISTOGRAM_BUCKETS];
    _Atomic uint64_t sum; /* wraps */
    _Atomic uint64_t max;
};

void locus_histogram_add(struct histogram *h, uint64_t value);
void locus_histogram_read(const struct histogram *h, struct locus_distribution *out);
/* How many values were below 2^power, of which power is 3..63. */
uint64_t locus_histogram_below(const struct histogram *h, unsigned power);

#endif
