/* SPDX-License-Identifier: MIT */
/*
 * Arrivals out of nothing: popularity after Zipf, gaps of a Poisson process, durations and
 * sizes log-normal, and one pattern on top. The same settings and seed give the same
 * records.
 */
#ifndef LOCUS_SIM_GEN_H
#define LOCUS_SIM_GEN_H

#include <stdbool.h>
#include <stdint.h>

#include "../records/record.h"

enum gen_pattern {
    GEN_ZIPF,  /* steady */
    GEN_FLASH, /* from 40 to 60 % of the records half of them go to one new destination,
                    at three times the rate */
    GEN_DIURNAL, /* the rate swings between 1/5 and 9/5 once per period */
    GEN_SCAN,  /* one record in five walks through destinations that never come again */
    GEN_CHURN, /* once per period one destination in ten is replaced by a new one */
};

struct gen_options {
    enum gen_pattern pattern;
    uint64_t seed;
    uint64_t records, destinations, clients;
    double zipf;       /* exponent, 0..10 */
    double rate_per_s; /* mean */
    double duration_median_s, duration_sigma;
    double bytes_median, bytes_sigma;
    uint64_t period_ns;
    uint64_t start_ns;        /* of the first record, since 1970 */
    enum locus_family family; /* of destinations */
};

struct gen {
    struct gen_options options;
    uint64_t state[4]; /* of the random numbers */
    uint64_t made;
    double now_s; /* since the first record */
    double zipf_low, zipf_high, zipf_cut;
    uint64_t scanned;
};

enum { GEN_NAME = 40 };

void gen_init(struct gen *gen, const struct gen_options *options);
/* The next record, in order of start; false when all were made. dst and src are what their
 * keys are called. */
bool gen_next(struct gen *gen, struct record *record, char dst[GEN_NAME],
              char src[GEN_NAME]);

#endif
