/* SPDX-License-Identifier: MIT */
#ifndef LOCUS_BENCH_PAUSES_H
#define LOCUS_BENCH_PAUSES_H

#include <stddef.h>
#include <stdint.h>

#include "measure.h"

/*
 * The longest waits: single picks while the map grows from empty to that many
 * destinations, slices of budget map slots while the collector takes half of them, and while
 * a removed server leaves the rest.
 */
void bench_pauses(uint32_t destinations, size_t budget, enum format format);

/* The collector alone, in slices of budget slots: with nothing to take, half of them, and
 * the rest. */
void bench_gc(uint32_t destinations, size_t budget, enum format format);

#endif
