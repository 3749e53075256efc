/* SPDX-License-Identifier: MIT */
#ifndef LOCUS_BENCH_ADVERSARY_H
#define LOCUS_BENCH_ADVERSARY_H

#include <stdint.h>

#include "measure.h"

/* Times crafted sets of that many destinations beside random ones. */
void bench_adversary(uint32_t destinations, enum format format);

#endif
