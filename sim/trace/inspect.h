/* SPDX-License-Identifier: MIT */
/* What is in a trace, as numbers: one pass over its records. */
#ifndef LOCUS_SIM_INSPECT_H
#define LOCUS_SIM_INSPECT_H

#include "../records/keyset.h"
#include "trace.h"

enum { INSPECT_RATE_CELLS = 60, HISTOGRAM_CELLS = 64 * 32 };

/* Counts by size, each cell 1/32 of a power of two wide. */
struct histogram {
    uint64_t cells[HISTOGRAM_CELLS];
    uint64_t count, max;
    double sum;
};

struct inspect_destination {
    size_t index; /* in inspection.keys */
    uint64_t records;
};

struct inspection {
    uint64_t records;
    uint64_t tcp, udp, other;
    uint64_t with_duration, with_bytes, with_client;
    struct keyset keys;
    uint64_t *counts; /* by number of the key */
    size_t counts_capacity;
    struct inspect_destination *ranked; /* most records first */
    double zipf;                        /* 0: too few ranks to tell */
    size_t zipf_ranks;
    uint64_t top10_records;
    struct histogram durations_ns, bytes;
    uint64_t active_p50, active_p99, active_peak; /* concurrency, over time */
    double active_mean;
    uint64_t span_ns; /* first to last start */
    uint64_t busiest_second;
    uint64_t longest_gap_ns;
    uint64_t rate[INSPECT_RATE_CELLS]; /* records per sixtieth of the span */
};

/* assumed_ns: how long a record without a duration lasts. False after a message on stderr. */
bool inspect(struct trace *trace, uint64_t assumed_ns, struct inspection *out);
void inspection_free(struct inspection *inspection);

/* The value below which permille of the values lie; to 3 % or exact below 32. */
uint64_t histogram_at(const struct histogram *histogram, unsigned permille);

#endif
