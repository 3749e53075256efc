/* SPDX-License-Identifier: MIT */
/* Clocks, medians, and the line that says what machine the figures are from. */
#ifndef LOCUS_BENCH_MEASURE_H
#define LOCUS_BENCH_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* CPU time of this thread: what others do on the machine is not counted, though their use of
 * caches and memory is felt. */
uint64_t cpu_ns(void);
uint64_t wall_ns(void);

enum { SAMPLES_MAX = 512 };

struct samples {
    double values[SAMPLES_MAX];
    size_t count;
};

void samples_add(struct samples *samples, double value);
/* Sorts; 0 without samples. quantile 0 is the least, 0.5 the median, 1 the most. */
double samples_quantile(struct samples *samples, double quantile);

void print_machine_line(void);

/* The locus command of the same build, else the one in the PATH. */
const char *built_locus(void);

enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_MARKDOWN };

struct field {
    const char *name;
    double value;
    int decimals;
};

/* One row of a table: a name, then figures. first: with the heading above it. */
void print_record(enum format format, bool first, const char *what, const char *name,
                  const struct field *fields, size_t count);

#endif
