/* SPDX-License-Identifier: MIT */
/*
 * The event language of locus: one scheduler, one virtual clock, one event a line, and
 * every decision on the output. The same script gives the same bytes, always.
 */
#ifndef LOCUS_SIM_DRIVE_DRIVE_H
#define LOCUS_SIM_DRIVE_DRIVE_H

#include <stdint.h>
#include <stdio.h>

#include <locus/locus.h>

/* A kernel at this HZ could not hold the default expiration of a day in an int beyond. */
enum { DRIVE_HZ_MAX = INT32_MAX / 86400 };

/* How far the clock of a script may run: bounds the work that one line can ask for. */
#define DRIVE_CLOCK_LIMIT_S 1000000000u

/*
 * Runs the script to its end or to the first thing that is wrong with it. name stands for
 * it in messages, which go to err. clock_limit_s is DRIVE_CLOCK_LIMIT_S or less. Returns an
 * exit code: 0; 1 when reading failed or memory ran out; 2 when a line is malformed: what
 * the lines before it gave is on out.
 */
int drive_run(FILE *in, const char *name, FILE *out, FILE *err,
              const struct locus_rules *rules, uint64_t clock_limit_s);

#endif
