/* SPDX-License-Identifier: MIT */
#ifndef LOCUS_BENCH_SNAPSHOT_H
#define LOCUS_BENCH_SNAPSHOT_H

#include <stdint.h>

#include "measure.h"

/* Saving a map of that many destinations to memory and loading it from there; false: not all
 * came back. first: with the heading. */
bool bench_snapshot(uint32_t destinations, enum format format, bool first);

#endif
