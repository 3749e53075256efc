/* SPDX-License-Identifier: MIT */
/* The counters of a coalescer, and their two forms: figures and Prometheus' text. */
#ifndef LOCUS_SHARED_METER_H
#define LOCUS_SHARED_METER_H

#include <stdatomic.h>
#include <stdint.h>

#include <locus/coalesce.h>

#include "histogram.h"

enum meter_counter {
    METER_CALLS,
    METER_ANSWERED,
    METER_FAILED,
    METER_TIMEOUTS,
    METER_QUEUE_FULL,
    METER_CLOSED,
    METER_NO_MEMORY,
    METER_SHARED,
    METER_BATCHES_FAILED,
    METER_BATCHES_LED,
    METER_UNANSWERED,
    METER_LATE,
    METER_ABANDONED,
    METER_COUNTERS,
};

/* Zero-initialised. Everything is atomic and relaxed; gauges are changed by one thread at a
 * time (the coalescer's lock). */
struct meter {
    uint64_t created_ns;
    _Atomic uint64_t counters[METER_COUNTERS];
    _Atomic uint32_t queued, queued_max, running, running_max, inflight;
    struct histogram call_ns, batch_ns, batch_size;
};

static inline void meter_count(struct meter *m, enum meter_counter which)
{
    atomic_fetch_add_explicit(&m->counters[which], 1, memory_order_relaxed);
}

/* Adds (or, as unsigned wrap, subtracts) and keeps the high-water mark, if any. */
void locus_meter_gauge(_Atomic uint32_t *gauge, uint32_t delta, _Atomic uint32_t *max);

void locus_meter_figures(const struct meter *m, uint64_t now_ns,
                         struct locus_coalescer_figures *out);
int locus_meter_write(const struct meter *m, uint64_t now_ns, const char *name,
                      locus_text_fn *write, void *ctx);

#endif
