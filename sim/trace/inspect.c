/* SPDX-License-Identifier: MIT */
#include "inspect.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/departures.h"
#include "../base/errors.h"

static size_t histogram_cell(uint64_t value)
{
    if (value < 32) {
        return (size_t)value;
    }
    unsigned top = 63 - (unsigned)__builtin_clzll(value);
    return (size_t)(top - 4) * 32 + (size_t)(value >> (top - 5) & 31);
}

/* The greatest value of a cell. */
static uint64_t cell_value(size_t cell)
{
    if (cell < 64) {
        return cell;
    }
    unsigned shift = (unsigned)(cell / 32) - 1;
    return (((uint64_t)(32 + cell % 32) + 1) << shift) - 1;
}

static void locus_histogram_add(struct histogram *h, uint64_t value)
{
    h->cells[histogram_cell(value)]++;
    h->count++;
    h->sum += (double)value;
    h->max = value > h->max ? value : h->max;
}

uint64_t histogram_at(const struct histogram *h, unsigned permille)
{
    uint64_t below = (uint64_t)ceil((double)h->count * permille / 1000);
    uint64_t sum = 0;

    for (size_t i = 0; i < HISTOGRAM_CELLS; i++) {
        sum += h->cells[i];
        if (sum >= below && sum > 0) {
            uint64_t value = cell_value(i);
            return value < h->max ? value : h->max;
        }
    }
    return h->max;
}

/* How long each number of open connections lasted. */
struct levels {
    struct departures open;
    uint64_t *held_ns; /* by number of open connections */
    size_t capacity;
    uint64_t since_ns;
};

static bool no_memory(void)
{
    (void)memory_error("inspect");
    return false;
}

static void hold(struct levels *levels, uint64_t now_ns)
{
    if (now_ns > levels->since_ns) {
        levels->held_ns[levels->open.count] += now_ns - levels->since_ns;
        levels->since_ns = now_ns;
    }
}

/* Closes what ends by now. The clock of the levels steps to each end on the way. */
static void close_until(struct levels *levels, uint64_t now_ns)
{
    struct departure gone;

    while (levels->open.count > 0) {
        uint32_t before = levels->open.count;
        if (!departures_pop(&levels->open, now_ns, &gone)) {
            return;
        }
        if (gone.at_ns > levels->since_ns) {
            levels->held_ns[before] += gone.at_ns - levels->since_ns;
            levels->since_ns = gone.at_ns;
        }
    }
}

static bool open_one(struct levels *levels, uint64_t now_ns, uint64_t duration_ns)
{
    close_until(levels, now_ns);
    hold(levels, now_ns);
    if (levels->open.count + 2 > levels->capacity) {
        size_t capacity = levels->capacity * 2 + 64;
        uint64_t *grown = realloc(levels->held_ns, capacity * sizeof(*grown));
        if (grown == NULL) {
            return no_memory();
        }
        memset(grown + levels->capacity, 0,
               (capacity - levels->capacity) * sizeof(*grown));
        levels->held_ns = grown;
        levels->capacity = capacity;
    }
    return departures_push(&levels->open, now_ns + duration_ns, 0) == LOCUS_OK ||
           no_memory();
}

static void summarise_levels(const struct levels *levels, struct inspection *out)
{
    double total = 0;
    double sum = 0;
    double below = 0;

    for (size_t i = 0; i < levels->capacity; i++) {
        total += (double)levels->held_ns[i];
        sum += (double)levels->held_ns[i] * (double)i;
    }
    out->active_mean = total > 0 ? sum / total : 0;
    out->active_p50 = out->active_p99 = out->active_peak;
    for (size_t i = levels->capacity; i-- > 0;) {
        below += (double)levels->held_ns[i];
        if (below <= total * 0.01) {
            out->active_p99 = i > 0 ? i - 1 : 0;
        }
        if (below <= total * 0.5) {
            out->active_p50 = i > 0 ? i - 1 : 0;
        }
    }
}

static bool count_destination(struct inspection *out, const struct record *record)
{
    struct slice unnamed = {NULL, 0};
    size_t index = keyset_add(&out->keys, record->dst_family, &record->dst, unnamed);

    if (index == SIZE_MAX) {
        return no_memory();
    }
    if (index >= out->counts_capacity) {
        size_t capacity = index * 2 + 64;
        uint64_t *grown = realloc(out->counts, capacity * sizeof(*grown));
        if (grown == NULL) {
            return no_memory();
        }
        memset(grown + out->counts_capacity, 0,
               (capacity - out->counts_capacity) * sizeof(*grown));
        out->counts = grown;
        out->counts_capacity = capacity;
    }
    out->counts[index]++;
    return true;
}

static void count_kinds(struct inspection *out, const struct record *r)
{
    out->tcp += r->proto == PROTO_TCP;
    out->udp += r->proto == PROTO_UDP;
    out->other += r->proto != PROTO_TCP && r->proto != PROTO_UDP;
    out->with_client += (r->flags & RECORD_HAS_CLIENT) != 0;
    if (r->flags & RECORD_HAS_DURATION) {
        out->with_duration++;
        locus_histogram_add(&out->durations_ns, r->duration_ns);
    }
    if (r->flags & RECORD_HAS_BYTES) {
        out->with_bytes++;
        locus_histogram_add(&out->bytes, r->bytes);
    }
}

struct pace {
    uint64_t last_ns, second, in_second;
};

static void count_pace(struct inspection *out, struct pace *pace,
                       const struct record *r, uint64_t first_ns)
{
    uint64_t second = (r->start_ns - first_ns) / 1000000000;

    if (out->records > 0 && r->start_ns - pace->last_ns > out->longest_gap_ns) {
        out->longest_gap_ns = r->start_ns - pace->last_ns;
    }
    pace->in_second = second == pace->second ? pace->in_second + 1 : 1;
    pace->second = second;
    pace->last_ns = r->start_ns;
    if (pace->in_second > out->busiest_second) {
        out->busiest_second = pace->in_second;
    }
    double part = (double)(r->start_ns - first_ns) / ((double)out->span_ns + 1);
    out->rate[(size_t)(part * INSPECT_RATE_CELLS) % INSPECT_RATE_CELLS]++;
}

static bool take(struct inspection *out, struct levels *levels, struct pace *pace,
                 const struct record *r, uint64_t first_ns, uint64_t assumed_ns)
{
    uint64_t duration_ns = r->flags & RECORD_HAS_DURATION ? r->duration_ns : assumed_ns;

    count_kinds(out, r);
    count_pace(out, pace, r, first_ns);
    out->records++;
    if (!count_destination(out, r) || !open_one(levels, r->start_ns, duration_ns)) {
        return false;
    }
    if (levels->open.count > out->active_peak) {
        out->active_peak = levels->open.count;
    }
    return true;
}

/* More records first; equal ones in the order of appearance. */
static int by_records(const void *a, const void *b)
{
    const struct inspect_destination *x = a;
    const struct inspect_destination *y = b;

    if (x->records != y->records) {
        return x->records > y->records ? -1 : 1;
    }
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Least squares of log(records) over log(rank), ranks with more than one record, at most
 * 1,000 of them; the slope is -s. */
static void fit_zipf(struct inspection *out)
{
    double n = 0;
    double sx = 0;
    double sy = 0;
    double sxx = 0;
    double sxy = 0;

    for (size_t i = 0; i < out->keys.count && i < 1000 && out->ranked[i].records > 1;
         i++) {
        double x = log((double)i + 1);
        double y = log((double)out->ranked[i].records);
        n++;
        sx += x;
        sy += y;
        sxx += x * x;
        sxy += x * y;
    }
    out->zipf_ranks = (size_t)n;
    if (n >= 3) {
        out->zipf = -(n * sxy - sx * sy) / (n * sxx - sx * sx);
    }
}

static bool rank(struct inspection *out)
{
    size_t count = out->keys.count;

    out->ranked = malloc((count + 1) * sizeof(*out->ranked));
    if (out->ranked == NULL) {
        return no_memory();
    }
    for (size_t i = 0; i < count; i++) {
        out->ranked[i] = (struct inspect_destination){i, out->counts[i]};
    }
    qsort(out->ranked, count, sizeof(*out->ranked), by_records);
    for (size_t i = 0; i < count && i < 10; i++) {
        out->top10_records += out->ranked[i].records;
    }
    fit_zipf(out);
    return true;
}

bool inspect(struct trace *trace, uint64_t assumed_ns, struct inspection *out)
{
    enum { BATCH = 1024 };
    const struct trace_summary *summary = trace_summary(trace);
    struct record batch[BATCH];
    struct levels levels = {.since_ns = summary->first_ns};
    struct pace pace = {0};
    bool ok = true;
    ssize_t got = 0;

    memset(out, 0, sizeof(*out));
    keyset_init(&out->keys);
    departures_init(&levels.open);
    out->span_ns = summary->last_ns - summary->first_ns;
    while (ok && (got = trace_next(trace, batch, BATCH)) > 0) {
        for (ssize_t i = 0; i < got && ok; i++) {
            ok = take(out, &levels, &pace, &batch[i], summary->first_ns, assumed_ns);
        }
    }
    if (ok && got == 0) {
        close_until(&levels, UINT64_MAX - 1);
        summarise_levels(&levels, out);
    }
    departures_fini(&levels.open);
    free(levels.held_ns);
    return ok && got == 0 && rank(out);
}

void inspection_free(struct inspection *inspection)
{
    keyset_free(&inspection->keys);
    free(inspection->counts);
    free(inspection->ranked);
}
