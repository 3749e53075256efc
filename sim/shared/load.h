/* SPDX-License-Identifier: MIT */
/*
 * Calls of a coalescer that arrive at a given rate, as a Poisson process, and how long they
 * take. A call is timed from when it was due, not from when a caller had time for it: a backend
 * that cannot keep up shows as latency.
 */
#ifndef LOCUS_SIM_LOAD_H
#define LOCUS_SIM_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <locus/pool.h>

struct load {
    uint64_t rate;    /* calls per second */
    uint64_t callers; /* threads that make them */
    uint64_t keys;    /* different ones */
    uint64_t linger_ns, queue, timeout_ns;
    uint64_t rtt_ns, per_key_ns; /* what a batch of the simulated backend takes */
    uint64_t duration_ns, seed;
    int share;
    bool workers_only;
    struct locus_pool
        *pool; /* picks of this, in place of the simulated backend; or NULL */
};

/* What came of one concurrency and max_batch. */
struct load_line {
    uint64_t concurrency, max_batch;
    uint64_t calls_per_s, batches_per_s, keys_per_batch_x100, busy_percent;
    uint64_t p50_us, p90_us, p99_us, max_us;
    uint64_t queued_max, shared;
    uint64_t lost; /* refused, timed out, failed, or never made */
};

/* How many latencies are kept in memory at most, with all callers' together. */
uint64_t load_samples(const struct load *load);

/* Fills in the rest of the line. False: out of memory. */
bool load_run(const struct load *load, struct load_line *line);

/* What load_report.c makes of lines. */
void load_print_heading(const struct load *load);
void load_print_line(const struct load_line *line);
/* An exit_code. */
int load_print_json(const struct load_line *line);
void load_print_best(const struct load *load, const struct load_line *lines,
                     size_t count);
/* A page with a chart. The lines are rows of count each, a row for each concurrency. An
 * exit_code. */
int load_write_page(const char *path, const struct load *load,
                    const struct load_line *lines, size_t rows, size_t count);

#endif
