/* SPDX-License-Identifier: MIT */
/*
 * Bucket of v: v itself below 8; above, the position of the highest bit and the three
 * bits behind it. Bucket edges include every power of two, which is what
 * locus_histogram_below() relies on.
 */
#include "histogram.h"

static unsigned bucket_of(uint64_t value)
{
    if (value < 8) {
        return (unsigned)value;
    }
    unsigned top = 63u - (unsigned)__builtin_clzll(value);
    return (top - 2) * 8 + (unsigned)((value >> (top - 3)) & 7);
}

/* The highest value of a bucket. */
static uint64_t bucket_limit(unsigned bucket)
{
    if (bucket < 8) {
        return bucket;
    }
    unsigned top = bucket / 8 + 2;
    /* The last bucket's edge is 2^64: it wraps to 0, and 0 - 1 is what we want. */
    return ((uint64_t)(8 + bucket % 8 + 1) << (top - 3)) - 1;
}

void locus_histogram_add(struct histogram *h, uint64_t value)
{
    atomic_fetch_add_explicit(&h->buckets[bucket_of(value)], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&h->sum, value, memory_order_relaxed);
    uint64_t max = atomic_load_explicit(&h->max, memory_order_relaxed);
    while (value > max &&
           !atomic_compare_exchange_weak_explicit(
               &h->max, &max, value, memory_order_relaxed, memory_order_relaxed)) {
    }
}

/* The value at or below which `rank` of the counted values lie. */
static uint64_t value_at(const uint64_t *counts, uint64_t rank, uint64_t max)
{
    uint64_t seen = 0;

    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += counts[i];
        if (seen >= rank) {
            uint64_t limit = bucket_limit(i);
            return limit < max ? limit : max;
        }
    }
    return max;
}

void locus_histogram_read(const struct histogram *h, struct locus_distribution *out)
{
    uint64_t counts[HISTOGRAM_BUCKETS];
    uint64_t total = 0;

    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        counts[i] = atomic_load_explicit(&h->buckets[i], memory_order_relaxed);
        total += counts[i];
    }
    *out = (struct locus_distribution){
        .count = total,
        .sum = atomic_load_explicit(&h->sum, memory_order_relaxed),
        .max = atomic_load_explicit(&h->max, memory_order_relaxed),
    };
    if (total > 0) {
        /* Ranks rounded up, in an order that does not overflow. */
        out->p50 = value_at(counts, total - total / 2, out->max);
        out->p90 = value_at(counts, total - total / 10, out->max);
        out->p99 = value_at(counts, total - total / 100, out->max);
    }
}

uint64_t locus_histogram_below(const struct histogram *h, unsigned power)
{
    uint64_t total = 0;

    for (unsigned i = 0; i < bucket_of((uint64_t)1 << power); i++) {
        total += atomic_load_explicit(&h->buckets[i], memory_order_relaxed);
    }
    return total;
}
