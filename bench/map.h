/* SPDX-License-Identifier: MIT */
#ifndef LOCUS_BENCH_MAP_H
#define LOCUS_BENCH_MAP_H

#include <stdint.h>

#include "measure.h"

/* What the destination map takes and costs, beside a stock uthash map. first: with the
 * heading. */
void bench_map(uint32_t destinations, enum format format, bool first);

#endif
