/* SPDX-License-Identifier: MIT */
/* The monotonic clock, by which everything here is measured and awaited. */
#ifndef LOCUS_SIM_NOW_H
#define LOCUS_SIM_NOW_H

#include <stdint.h>

uint64_t now_ns(void);
/* Returns once now_ns() has come to ns. */
void sleep_until(uint64_t ns);

#endif
