/* SPDX-License-Identifier: MIT */
#ifndef LOCUS_BENCH_SCHEDULE_H
#define LOCUS_BENCH_SCHEDULE_H

#include "design.h"
#include "measure.h"

struct bench_case {
    const char *name; /* of the policy */
    enum policy policy;
    uint32_t destinations, servers;
    double skew; /* exponent of Zipf's law; 0: uniform */
};

void bench_schedule_heading(enum format format);
/* Measures one case, about seconds per design, and prints its rows. false: the designs did
 * not decide alike. */
bool bench_schedule(const struct bench_case *c, double seconds, enum format format);

#endif
