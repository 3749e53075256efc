/* SPDX-License-Identifier: MIT */
#include "meter.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

void locus_meter_gauge(_Atomic uint32_t *gauge, uint32_t delta, _Atomic uint32_t *max)
{
    uint32_t value = atomic_load_explicit(gauge, memory_order_relaxed) + delta;

    atomic_store_explicit(gauge, value, memory_order_relaxed);
    if (max != NULL && value > atomic_load_explicit(max, memory_order_relaxed)) {
        atomic_store_explicit(max, value, memory_order_relaxed);
    }
}

static uint64_t counter(const struct meter *m, enum meter_counter which)
{
    return atomic_load_explicit(&m->counters[which], memory_order_relaxed);
}

static uint32_t gauge(const _Atomic uint32_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

/* 128 bits: a product of two counters never overflows. */
static uint64_t per_second(uint64_t count, uint64_t ns)
{
    if (ns == 0) {
        return 0;
    }
    __extension__ unsigned __int128 scaled = count;
    return (uint64_t)(scaled * 1000000000u / ns);
}

void locus_meter_figures(const struct meter *m, uint64_t now_ns,
                         struct locus_coalescer_figures *out)
{
    uint64_t age_ns = now_ns > m->created_ns ? now_ns - m->created_ns : 0;

    *out = (struct locus_coalescer_figures){
        .age_ns = age_ns,
        .calls = counter(m, METER_CALLS),
        .answered = counter(m, METER_ANSWERED),
        .failed = counter(m, METER_FAILED),
        .timeouts = counter(m, METER_TIMEOUTS),
        .queue_full = counter(m, METER_QUEUE_FULL),
        .closed = counter(m, METER_CLOSED),
        .no_memory = counter(m, METER_NO_MEMORY),
        .shared = counter(m, METER_SHARED),
        .batches_failed = counter(m, METER_BATCHES_FAILED),
        .batches_led = counter(m, METER_BATCHES_LED),
        .unanswered = counter(m, METER_UNANSWERED),
        .late = counter(m, METER_LATE),
        .abandoned = counter(m, METER_ABANDONED),
        .queued = gauge(&m->queued),
        .queued_max = gauge(&m->queued_max),
        .running = gauge(&m->running),
        .running_max = gauge(&m->running_max),
        .inflight = gauge(&m->inflight),
    };
    locus_histogram_read(&m->call_ns, &out->call_ns);
    locus_histogram_read(&m->batch_ns, &out->batch_ns);
    locus_histogram_read(&m->batch_size, &out->batch_size);
    out->batches = out->batch_size.count;
    out->keys = out->batch_size.sum;
    out->calls_per_s = per_second(out->calls, age_ns);
    out->batches_per_s = per_second(out->batches, age_ns);
}

/* ---- Prometheus ------------------------------------------------------------------ */

struct text {
    locus_text_fn *write;
    void *ctx;
    const char *name;
    bool stopped;
};

static void put(struct text *t, const char *bytes, size_t length)
{
    if (!t->stopped && length > 0) {
        t->stopped = t->write(t->ctx, bytes, length) != 0;
    }
}

static void put_string(struct text *t, const char *string)
{
    put(t, string, strlen(string));
}

/* The label's value: backslash, quote and newline are escaped, as the format wants. */
static void put_label(struct text *t)
{
    put_string(t, "{coalescer=\"");
    for (const char *at = t->name; *at != '\0';) {
        size_t plain = strcspn(at, "\\\"\n");
        put(t, at, plain);
        at += plain;
        if (*at != '\0') {
            put_string(t, *at == '\n' ? "\\n" : *at == '"' ? "\\\"" : "\\\\");
            at++;
        }
    }
    put_string(t, "\"");
}

static void put_head(struct text *t, const char *metric, const char *type,
                     const char *help)
{
    char line[256];

    int length =
        snprintf(line, sizeof(line),
                 "# HELP locus_coalescer_%s %s\n# TYPE locus_coalescer_%s %s\n", metric,
                 help, metric, type);
    put(t, line, (size_t)length);
}

/* One sample; extra is another label with its comma in front, or "". Nanoseconds are
 * written as seconds, to the digit. */
static void put_sample(struct text *t, const char *metric, const char *suffix,
                       const char *extra, uint64_t value, bool seconds)
{
    char number[64];

    put_string(t, "locus_coalescer_");
    put_string(t, metric);
    put_string(t, suffix);
    put_label(t);
    put_string(t, extra);
    if (seconds) {
        snprintf(number, sizeof(number), "} %" PRIu64 ".%09" PRIu64 "\n",
                 value / 1000000000u, value % 1000000000u);
    } else {
        snprintf(number, sizeof(number), "} %" PRIu64 "\n", value);
    }
    put_string(t, number);
}

static void put_histogram(struct text *t, const char *metric, const char *help,
                          const struct histogram *h, unsigned from, unsigned to,
                          bool seconds)
{
    struct locus_distribution all;
    char le[64];

    put_head(t, metric, "histogram", help);
    for (unsigned power = from; power <= to; power++) {
        uint64_t edge = ((uint64_t)1 << power) - 1;
        if (seconds) {
            snprintf(le, sizeof(le), ",le=\"%" PRIu64 ".%09" PRIu64 "\"",
                     edge / 1000000000u, edge % 1000000000u);
        } else {
            snprintf(le, sizeof(le), ",le=\"%" PRIu64 "\"", edge);
        }
        put_sample(t, metric, "_bucket", le, locus_histogram_below(h, power), false);
    }
    /* Read last: every bucket is then at most the total, as the format demands. */
    locus_histogram_read(h, &all);
    put_sample(t, metric, "_bucket", ",le=\"+Inf\"", all.count, false);
    put_sample(t, metric, "_sum", "", all.sum, seconds);
    put_sample(t, metric, "_count", "", all.count, false);
}

static void put_value(struct text *t, const char *metric, const char *type,
                      const char *help, uint64_t value)
{
    put_head(t, metric, type, help);
    put_sample(t, metric, "", "", value, false);
}

static void put_calls(struct text *t, const struct locus_coalescer_figures *f)
{
    const struct {
        const char *outcome;
        uint64_t value;
    } rows[] = {
        {",outcome=\"answered\"", f->answered},
        {",outcome=\"failed\"", f->failed},
        {",outcome=\"timed_out\"", f->timeouts},
        {",outcome=\"queue_full\"", f->queue_full},
        {",outcome=\"closed\"", f->closed},
        {",outcome=\"no_memory\"", f->no_memory},
    };

    put_head(t, "calls_total", "counter", "Calls by their outcome.");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        put_sample(t, "calls_total", "", rows[i].outcome, rows[i].value, false);
    }
}

int locus_meter_write(const struct meter *m, uint64_t now_ns, const char *name,
                      locus_text_fn *write, void *ctx)
{
    struct text t = {.write = write, .ctx = ctx, .name = name};
    struct locus_coalescer_figures f;

    locus_meter_figures(m, now_ns, &f);
    put_calls(&t, &f);
    put_value(&t, "shared_total", "counter", "Calls that joined an equal key.",
              f.shared);
    put_value(&t, "batches_failed_total", "counter", "Batches that returned an error.",
              f.batches_failed);
    put_value(&t, "batches_led_total", "counter", "Batches run by a caller.",
              f.batches_led);
    put_value(&t, "unanswered_total", "counter", "Keys left without a proper answer.",
              f.unanswered);
    put_value(&t, "late_total", "counter", "Keys answered when nobody waited any more.",
              f.late);
    put_value(&t, "abandoned_total", "counter", "Keys given up while queued.",
              f.abandoned);
    put_value(&t, "queued", "gauge", "Keys waiting for a batch to start.", f.queued);
    put_value(&t, "queued_max", "gauge", "High-water mark of queued.", f.queued_max);
    put_value(&t, "running", "gauge", "Batches running.", f.running);
    put_value(&t, "running_max", "gauge", "High-water mark of running.", f.running_max);
    put_value(&t, "inflight", "gauge", "Keys in running batches.", f.inflight);
    put_histogram(&t, "call_seconds", "From a call to its return.", &m->call_ns, 10, 34,
                  true);
    put_head(&t, "call_seconds_max", "gauge", "Longest call.");
    put_sample(&t, "call_seconds_max", "", "", f.call_ns.max, true);
    put_histogram(&t, "batch_seconds", "Time in the batch function.", &m->batch_ns, 10,
                  34, true);
    put_head(&t, "batch_seconds_max", "gauge", "Longest batch.");
    put_sample(&t, "batch_seconds_max", "", "", f.batch_ns.max, true);
    put_histogram(&t, "batch_keys", "Keys in a batch.", &m->batch_size, 1, 16, false);
    return t.stopped ? LOCUS_EIO : LOCUS_OK;
}
