/* SPDX-License-Identifier: MIT */
/*
 * locus coalesce-bench: the table by which one chooses a coalescer's concurrency and
 * max_batch, for calls that arrive at a given rate, against a backend that is described by
 * two numbers or against a real Redis pool.
 *
 * Calls arrive by a Poisson process and are timed from when they were due, not from when a
 * caller had time for them: a backend that cannot keep up shows as latency.
 */
#include "commands.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include <locus/coalesce.h>
#include <locus/pool.h>

#include "../base/mix.h"
#include "../base/output.h"

#define NS_PER_S UINT64_C(1000000000)

enum { LIST_MAX = 16, CALLERS_MAX = 1024, MEMBERS = 16, SAMPLES_MAX = 1 << 24 };

struct bench_options {
    const char *uri, *concurrency, *max_batch, *html;
    uint64_t rtt_ns, per_key_ns, rate, callers, keys, linger_ns, duration_ns,
        timeout_ns, queue, seed;
    int share;
    bool workers_only, json;
};

static const char *const share_choices[] = {"queued", "inflight", "none", NULL};

#define AT(field) offsetof(struct bench_options, field)

static const struct option_spec options[] = {
    OPT_NUMBER("rate", 'r', AT(rate), "N", 1, 100000000,
               "Calls that arrive per second; 20000."),
    OPT_NUMBER("callers", 'c', AT(callers), "N", 1, CALLERS_MAX,
               "Threads that make them, and so how many can wait at once; 64."),
    OPT_NUMBER("keys", 'k', AT(keys), "N", 1, UINT32_MAX,
               "Different keys asked for, all equally often; 10000."),
    OPT_CHOICE("share", 0, AT(share), share_choices,
               "What calls of equal keys share; queued."),
    OPT_TEXT("concurrency", 0, AT(concurrency), "LIST",
             "Batches at once, to be tried; 1,2,4."),
    OPT_TEXT("max-batch", 0, AT(max_batch), "LIST",
             "Keys in a batch, to be tried; 1,8,64,256."),
    OPT_TIME("linger", 0, AT(linger_ns), 0, 3600 * NS_PER_S,
             "How long a batch that is not full waits for more; 0."),
    OPT_NUMBER("queue", 0, AT(queue), "N", 1, UINT32_MAX,
               "Keys that may wait for a batch; 65536."),
    OPT_TIME("timeout", 0, AT(timeout_ns), 0, 3600 * NS_PER_S,
             "Each call gives up after this; 0: never."),
    OPT_FLAG("workers-only", 0, AT(workers_only), "No batch on a caller's own thread."),
    OPT_TIME("rtt", 0, AT(rtt_ns), 0, 60 * NS_PER_S,
             "The simulated backend's time for a batch; 500us."),
    OPT_TIME("per-key", 0, AT(per_key_ns), 0, 60 * NS_PER_S,
             "... and for each key in it, on top; 1us."),
    OPT_TEXT(
        "uri", 'u', AT(uri), "URI",
        "No simulated backend, but picks from a pool in Redis, which is deleted after: "
        "redis://host[:port][/db] or redis+unix:///path. Keys are then never shared."),
    OPT_TIME("duration", 'd', AT(duration_ns), 10000000, 3600 * NS_PER_S,
             "Time for each line of the table; 1s."),
    OPT_NUMBER("seed", 0, AT(seed), "N", 0, 0, "Of arrivals and keys; 1."),
    OPT_FLAG("json", 'j', AT(json), "Print JSON, one object a line."),
    OPT_TEXT("html", 0, AT(html), "FILE",
             "Also draw the table, as a page that needs nothing else."),
    OPT_END,
};

/* ---- one line of the table ------------------------------------------------------- */

struct bench {
    const struct bench_options *options;
    struct locus_pool *pool;                 /* NULL: simulated */
    char (*members)[LOCUS_POOL_MEMBER_SIZE]; /* room for each place's batch */
    uint32_t max_batch;
    struct locus_coalescer *coalescer;
    uint64_t start_ns, end_ns;
};

struct caller {
    pthread_t thread;
    struct bench *bench;
    uint64_t random;
    float *latency_us; /* owned */
    size_t count, room;
    uint64_t unmade; /* due, but the time was over */
};

struct line {
    uint32_t concurrency, max_batch;
    uint64_t p50_us, p90_us, p99_us, max_us;
    uint64_t calls_per_s, batches_per_s;
    uint64_t keys_per_batch_x100, busy_percent;
    uint64_t lost; /* refused, timed out, failed, or never made */
    struct locus_coalescer_figures figures;
};

static uint64_t clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
    const struct timespec until = {
        .tv_sec = (time_t)(ns / NS_PER_S),
        .tv_nsec = (long)(ns % NS_PER_S),
    };

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0) {
    }
}

static int simulated_batch(const struct bench *bench, struct locus_batch *batch)
{
    sleep_until(clock_ns() + bench->options->rtt_ns +
                batch->count * bench->options->per_key_ns);
    for (size_t i = 0; i < batch->count; i++) {
        batch->items[i].status = LOCUS_OK;
    }
    return LOCUS_OK;
}

static int fetch(void *ctx, struct locus_batch *batch)
{
    struct bench *bench = ctx;
    size_t picked;

    if (bench->pool == NULL) {
        return simulated_batch(bench, batch);
    }
    int status = locus_pool_pick_many(
        bench->pool, batch->count,
        bench->members + (size_t)batch->slot * bench->max_batch, &picked);
    for (size_t i = 0; i < picked; i++) {
        batch->items[i].status = LOCUS_OK;
    }
    return status;
}

static void make_call(struct caller *caller, uint64_t due_ns)
{
    const struct bench *bench = caller->bench;
    uint64_t key = split_mix64(&caller->random) % bench->options->keys;
    struct locus_result *result;

    if (clock_ns() < due_ns) {
        sleep_until(due_ns);
    }
    int status = locus_coalescer_get(bench->coalescer, &key, sizeof(key),
                                     (int64_t)bench->options->timeout_ns, &result);
    locus_result_release(result);
    if (status == LOCUS_OK && caller->count < caller->room) {
        caller->latency_us[caller->count++] = (float)(clock_ns() - due_ns) * 1e-3f;
    }
}

static void *call(void *arg)
{
    struct caller *caller = arg;
    const struct bench *bench = caller->bench;
    const struct bench_options *o = bench->options;
    double mean_ns = 1e9 * (double)o->callers / (double)o->rate;
    double due_ns = (double)bench->start_ns;

    prctl(PR_SET_TIMERSLACK, 1UL);
    for (;;) {
        uint64_t random = split_mix64(&caller->random);
        /* (0, 1]: 53 bits, never 0. */
        due_ns -= mean_ns * log((double)((random >> 11) + 1) * 0x1p-53);
        if (due_ns >= (double)bench->end_ns) {
            return NULL;
        }
        /* A backend that is too slow by far is told after twice the time. */
        if (clock_ns() > bench->end_ns + o->duration_ns) {
            caller->unmade++;
        } else {
            make_call(caller, (uint64_t)due_ns);
        }
    }
}

static int compare_float(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return x < y ? -1 : x > y;
}

static void add_latencies(struct line *line, struct caller *callers, uint64_t count,
                          float *all)
{
    size_t total = 0;

    for (uint64_t i = 0; i < count; i++) {
        memcpy(all + total, callers[i].latency_us, callers[i].count * sizeof(float));
        total += callers[i].count;
    }
    if (total == 0) {
        return;
    }
    qsort(all, total, sizeof(float), compare_float);
    line->p50_us = (uint64_t)all[(total - 1) / 2];
    line->p90_us = (uint64_t)all[total - 1 - total / 10];
    line->p99_us = (uint64_t)all[total - 1 - total / 100];
    line->max_us = (uint64_t)all[total - 1];
}

/* How many calls one caller may have to make: twice its share, and some. */
static size_t room_of(const struct bench_options *o)
{
    double share = (double)o->rate * (double)o->duration_ns * 1e-9 / (double)o->callers;

    return (size_t)(2 * share) + 100;
}

static void run_callers(struct bench *bench, struct caller *callers, struct line *line,
                        float *all)
{
    uint64_t count = 0;

    bench->start_ns = clock_ns() + 10000000;
    bench->end_ns = bench->start_ns + bench->options->duration_ns;
    while (count < bench->options->callers &&
           pthread_create(&callers[count].thread, NULL, call, &callers[count]) == 0) {
        count++;
    }
    for (uint64_t i = 0; i < count; i++) {
        pthread_join(callers[i].thread, NULL);
    }
    uint64_t elapsed_ns = clock_ns() - bench->start_ns;
    add_latencies(line, callers, count, all);
    locus_coalescer_get_figures(bench->coalescer, &line->figures);

    const struct locus_coalescer_figures *f = &line->figures;
    double seconds = (double)elapsed_ns * 1e-9;
    line->lost = f->calls - f->answered;
    for (uint64_t i = 0; i < count; i++) {
        line->lost += callers[i].unmade;
    }
    line->calls_per_s = (uint64_t)((double)f->answered / seconds);
    line->batches_per_s = (uint64_t)((double)f->batches / seconds);
    line->keys_per_batch_x100 = f->batches > 0 ? f->keys * 100 / f->batches : 0;
    line->busy_percent = (uint64_t)(100.0 * (double)f->batch_ns.sum /
                                    ((double)elapsed_ns * line->concurrency));
}

static int no_memory(void)
{
    fprintf(stderr, "locus coalesce-bench: out of memory\n");
    return EXIT_RUNTIME;
}

/* Fills the callers in and gives them, and all of them together, room. */
static float *prepare(struct bench *bench, struct caller *callers)
{
    const struct bench_options *o = bench->options;
    size_t room = room_of(o);

    for (uint64_t i = 0; i < o->callers; i++) {
        callers[i].bench = bench;
        callers[i].random = o->seed * 1000003 + i;
        callers[i].count = 0;
        callers[i].room = room;
        callers[i].latency_us = malloc(room * sizeof(float));
        if (callers[i].latency_us == NULL) {
            return NULL;
        }
    }
    return malloc(room * o->callers * sizeof(float));
}

static int measure(struct bench *bench, struct line *line)
{
    const struct bench_options *o = bench->options;
    const struct locus_coalescer_config config = {
        .batch = fetch,
        .ctx = bench,
        .concurrency = line->concurrency,
        .max_batch = line->max_batch,
        .linger_ns = o->linger_ns,
        .queue_capacity = (uint32_t)o->queue,
        .share = bench->pool != NULL ? LOCUS_SHARE_NONE : (enum locus_share)o->share,
        .workers_only = o->workers_only,
    };

    assert(o->callers > 0);
    bench->max_batch = line->max_batch;
    bench->members =
        calloc((size_t)line->concurrency * line->max_batch, sizeof(*bench->members));
    struct caller *callers = calloc(o->callers, sizeof(*callers));
    float *all = callers != NULL ? prepare(bench, callers) : NULL;
    int code = EXIT_OK;
    if (bench->members == NULL || all == NULL ||
        locus_coalescer_create(&config, &bench->coalescer) != LOCUS_OK) {
        code = no_memory();
    } else {
        run_callers(bench, callers, line, all);
        locus_coalescer_destroy(bench->coalescer);
    }
    for (uint64_t i = 0; callers != NULL && i < o->callers; i++) {
        free(callers[i].latency_us);
    }
    free(callers);
    free(all);
    free(bench->members);
    return code;
}

/* ---- output ---------------------------------------------------------------------- */

static void print_heading(const struct bench_options *o)
{
    if (o->uri == NULL) {
        printf("backend: %.0f us + %.3f us per key\n", (double)o->rtt_ns * 1e-3,
               (double)o->per_key_ns * 1e-3);
    } else {
        printf("backend: picks of a pool in Redis\n");
    }
    printf("%" PRIu64 " calls/s due, by %" PRIu64 " callers\n\n", o->rate, o->callers);
    printf("%11s %9s %9s %9s %10s %5s %8s %8s %8s %8s %6s %6s\n", "concurrency",
           "max_batch", "calls/s", "batches/s", "keys/batch", "busy", "p50 us",
           "p90 us", "p99 us", "max us", "queued", "lost");
}

static void print_line(const struct line *l)
{
    printf("%11" PRIu32 " %9" PRIu32 " %9" PRIu64 " %9" PRIu64 " %7" PRIu64
           ".%02" PRIu64 " %4" PRIu64 "%% %8" PRIu64 " %8" PRIu64 " %8" PRIu64
           " %8" PRIu64 " %6" PRIu32 " %6" PRIu64 "\n",
           l->concurrency, l->max_batch, l->calls_per_s, l->batches_per_s,
           l->keys_per_batch_x100 / 100, l->keys_per_batch_x100 % 100, l->busy_percent,
           l->p50_us, l->p90_us, l->p99_us, l->max_us, l->figures.queued_max, l->lost);
    fflush(stdout);
}

static int print_json(const struct line *l)
{
    json_t *object = json_pack(
        "{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "concurrency",
        (json_int_t)l->concurrency, "max_batch", (json_int_t)l->max_batch,
        "calls_per_s", (json_int_t)l->calls_per_s, "batches_per_s",
        (json_int_t)l->batches_per_s, "keys_per_batch_x100",
        (json_int_t)l->keys_per_batch_x100, "busy_percent", (json_int_t)l->busy_percent,
        "p50_us", (json_int_t)l->p50_us, "p90_us", (json_int_t)l->p90_us, "p99_us",
        (json_int_t)l->p99_us, "max_us", (json_int_t)l->max_us, "queued_max",
        (json_int_t)l->figures.queued_max, "shared", (json_int_t)l->figures.shared,
        "lost", (json_int_t)l->lost);

    return output_json_line("coalesce-bench", object);
}

/* Keeps up with the rate, loses nothing: then by p99, and by fewer batches where p99 is
 * alike to within a tenth. */
static const struct line *best(const struct line *lines, size_t count, uint64_t rate)
{
    const struct line *best = NULL;

    for (size_t i = 0; i < count; i++) {
        const struct line *l = &lines[i];
        if (l->lost > 0 || l->calls_per_s < rate - rate / 20) {
            continue;
        }
        if (best == NULL || l->p99_us * 10 < best->p99_us * 9 ||
            (l->p99_us * 9 <= best->p99_us * 10 &&
             l->batches_per_s < best->batches_per_s)) {
            best = l;
        }
    }
    return best;
}

static void print_best(const struct line *lines, size_t count, uint64_t rate)
{
    const struct line *l = best(lines, count, rate);

    if (l == NULL) {
        printf("\nNone of these keeps up with the rate without losing calls.\n");
    } else {
        printf("\nChoose concurrency %" PRIu32 ", max_batch %" PRIu32 ": p99 %" PRIu64
               " us at %" PRIu64 " batches/s.\n",
               l->concurrency, l->max_batch, l->p99_us, l->batches_per_s);
    }
}

/* ---- the page -------------------------------------------------------------------- */

enum { CHART_WIDTH = 640, CHART_HEIGHT = 300, CHART_LEFT = 70, CHART_TOP = 20 };

static const char *const colours[] = {"#1f6fb2", "#d9762b", "#3a9a4c", "#9b4fb5",
                                      "#c23b3b", "#6b6b6b", "#2aa3a3", "#b0a020"};

static double chart_y(double value, double low, double high)
{
    double span = log(high) - log(low);
    double part = span > 0 ? (log(value) - log(low)) / span : 0.5;

    return CHART_TOP + CHART_HEIGHT * (1 - part);
}

/* p99 over max_batch, a curve for each concurrency; the lines come in that order. */
static void draw_chart(FILE *out, const struct line *lines, size_t rows, size_t columns)
{
    double low = 1e18, high = 1;

    for (size_t i = 0; i < rows * columns; i++) {
        double value = (double)lines[i].p99_us + 1;
        low = value < low ? value : low;
        high = value > high ? value : high;
    }
    fprintf(out, "<svg viewBox='0 0 %d %d' role='img'>\n", CHART_WIDTH + 160,
            CHART_HEIGHT + 60);
    for (int i = 0; i <= 4; i++) {
        double value = exp(log(low) + (log(high) - log(low)) * i / 4);
        double y = chart_y(value, low, high);
        fprintf(out,
                "<line class='grid' x1='%d' x2='%d' y1='%.1f' y2='%.1f'/>"
                "<text x='%d' y='%.1f' text-anchor='end'>%.0f us</text>\n",
                CHART_LEFT, CHART_WIDTH, y, y, CHART_LEFT - 6, y + 4, value);
    }
    for (size_t r = 0; r < rows; r++) {
        const char *colour = colours[r % (sizeof(colours) / sizeof(colours[0]))];
        fprintf(out, "<polyline fill='none' stroke='%s' stroke-width='2' points='",
                colour);
        for (size_t c = 0; c < columns; c++) {
            fprintf(out, "%.1f,%.1f ",
                    CHART_LEFT + 30 +
                        (double)c * (CHART_WIDTH - CHART_LEFT - 60) /
                            (double)(columns > 1 ? columns - 1 : 1),
                    chart_y((double)lines[r * columns + c].p99_us + 1, low, high));
        }
        fprintf(out,
                "'/>\n<text x='%d' y='%zu' fill='%s'>concurrency %" PRIu32 "</text>\n",
                CHART_WIDTH + 10, CHART_TOP + 18 * (r + 1), colour,
                lines[r * columns].concurrency);
    }
    for (size_t c = 0; c < columns; c++) {
        fprintf(out, "<text x='%.1f' y='%d' text-anchor='middle'>%" PRIu32 "</text>\n",
                CHART_LEFT + 30 +
                    (double)c * (CHART_WIDTH - CHART_LEFT - 60) /
                        (double)(columns > 1 ? columns - 1 : 1),
                CHART_TOP + CHART_HEIGHT + 20, lines[c].max_batch);
    }
    fprintf(out, "<text x='%d' y='%d' text-anchor='middle'>max_batch</text>\n</svg>\n",
            (CHART_LEFT + CHART_WIDTH) / 2, CHART_TOP + CHART_HEIGHT + 38);
}

static void write_table(FILE *out, const struct line *lines, size_t count,
                        const struct line *chosen)
{
    fputs("<table><tr><th>concurrency<th>max_batch<th>calls/s<th>batches/s"
          "<th>keys/batch<th>busy<th>p50 us<th>p90 us<th>p99 us<th>max us<th>queued"
          "<th>lost</tr>\n",
          out);
    for (size_t i = 0; i < count; i++) {
        const struct line *l = &lines[i];
        fprintf(out,
                "<tr%s><td>%" PRIu32 "<td>%" PRIu32 "<td>%" PRIu64 "<td>%" PRIu64
                "<td>%" PRIu64 ".%02" PRIu64 "<td>%" PRIu64 "%%<td>%" PRIu64
                "<td>%" PRIu64 "<td>%" PRIu64 "<td>%" PRIu64 "<td>%" PRIu32
                "<td>%" PRIu64 "</tr>\n",
                l == chosen ? " class='chosen'" : "", l->concurrency, l->max_batch,
                l->calls_per_s, l->batches_per_s, l->keys_per_batch_x100 / 100,
                l->keys_per_batch_x100 % 100, l->busy_percent, l->p50_us, l->p90_us,
                l->p99_us, l->max_us, l->figures.queued_max, l->lost);
    }
    fputs("</table>\n", out);
}

static int write_page(const struct bench_options *o, const struct line *lines,
                      size_t rows, size_t columns)
{
    FILE *out = fopen(o->html, "we");

    if (out != NULL) {
        fprintf(
            out,
            "<!DOCTYPE html><html lang='en'><meta charset='utf-8'>"
            "<title>coalescer: %" PRIu64 " calls/s</title>\n<style>"
            "body{font:15px/1.5 system-ui,sans-serif;max-width:75em;margin:2em auto;"
            "padding:0 1em}svg{width:100%%}svg text{font-size:12px}"
            ".grid{stroke:#ddd}table{border-collapse:collapse;width:100%%;"
            "font-variant-numeric:tabular-nums}td,th{text-align:right;"
            "padding:.2em .5em;border-bottom:1px solid #ddd}"
            ".chosen{background:#e6f2e6}</style>\n"
            "<h1>%" PRIu64 " calls/s by %" PRIu64 " callers</h1>\n"
            "<p>p99 of a call from when it was due, by the largest batch and the "
            "number of batches at once. The marked line keeps up at the least "
            "latency.</p>\n",
            o->rate, o->rate, o->callers);
        draw_chart(out, lines, rows, columns);
        write_table(out, lines, rows * columns, best(lines, rows * columns, o->rate));
        fputs("</html>\n", out);
    }
    bool failed = out == NULL || ferror(out) != 0;
    if (out != NULL && fclose(out) != 0) {
        failed = true;
    }
    if (failed) {
        fprintf(stderr, "locus coalesce-bench: cannot write %s\n", o->html);
        return EXIT_RUNTIME;
    }
    return EXIT_OK;
}

/* ---- the command ----------------------------------------------------------------- */

struct list {
    uint32_t values[LIST_MAX];
    size_t count;
};

static int parse_list(const char *name, const char *text, uint32_t max,
                      struct list *out)
{
    while (out->count < LIST_MAX) {
        size_t length = strcspn(text, ",");
        uint64_t value;
        if (!read_number(text, length, &value) || value == 0 || value > max) {
            break;
        }
        out->values[out->count++] = (uint32_t)value;
        if (text[length] == '\0') {
            return 0;
        }
        text += length + 1;
    }
    return usage_error("coalesce-bench",
                       "--%s: expected up to %d numbers of 1 to %" PRIu32
                       ", as in 1,2,4, not '%s'",
                       name, LIST_MAX, max, text);
}

static int open_pool(const struct bench_options *o, struct locus_pool **out)
{
    const struct locus_pool_config config = {
        .connections = LIST_MAX,
        .lifetime_ns = UINT64_C(86400) * 1000000000, /* should this be killed */
    };
    char why[256] = "";
    char name[64];

    snprintf(name, sizeof(name), "locus-coalesce-bench-%d", (int)getpid());
    int status = locus_pool_open(o->uri, name, &config, out, why, sizeof(why));
    if (status == LOCUS_EINVAL) {
        return usage_error("coalesce-bench", "%s", why);
    }
    for (unsigned i = 0; status == LOCUS_OK && i < MEMBERS; i++) {
        char member[32];
        const char *const members[] = {member};
        snprintf(member, sizeof(member), "10.0.0.%u:80", i + 1);
        status = locus_pool_add(*out, members, 1, LOCUS_POOL_START_ZERO, 0, NULL);
    }
    if (status != LOCUS_OK) {
        if (*out != NULL) {
            locus_pool_error(*out, why, sizeof(why));
        }
        fprintf(stderr, "locus coalesce-bench: %s (%s)\n", locus_strerror(status), why);
        return EXIT_RUNTIME;
    }
    return EXIT_OK;
}

static int sweep(struct bench *bench, const struct list *concurrency,
                 const struct list *max_batch)
{
    static struct line lines[LIST_MAX * LIST_MAX];
    const struct bench_options *o = bench->options;
    size_t count = 0;
    int code = EXIT_OK;

    if (!o->json) {
        print_heading(o);
    }
    for (size_t r = 0; r < concurrency->count; r++) {
        for (size_t c = 0; c < max_batch->count && code == EXIT_OK; c++) {
            struct line *line = &lines[count++];
            line->concurrency = concurrency->values[r];
            line->max_batch = max_batch->values[c];
            code = measure(bench, line);
            if (code == EXIT_OK && o->json) {
                code = print_json(line);
            } else if (code == EXIT_OK) {
                print_line(line);
            }
        }
    }
    if (code == EXIT_OK && !o->json) {
        print_best(lines, count, o->rate);
    }
    if (code == EXIT_OK && o->html != NULL) {
        code = write_page(o, lines, concurrency->count, max_batch->count);
    }
    return code;
}

static int bench_with(const struct bench_options *o)
{
    struct bench bench = {.options = o};
    struct list concurrency = {.count = 0}, max_batch = {.count = 0};
    uint32_t largest = o->uri != NULL ? LOCUS_POOL_PICKS_MAX : LOCUS_BATCH_MAX;

    int code = parse_list("concurrency", o->concurrency, LIST_MAX, &concurrency);
    if (code == 0) {
        code = parse_list("max-batch", o->max_batch, largest, &max_batch);
    }
    if (code == 0 && room_of(o) * o->callers > SAMPLES_MAX) {
        code =
            usage_error("coalesce-bench", "rate times duration is more than this keeps "
                                          "in memory; shorten --duration");
    }
    if (code == 0 && o->uri != NULL) {
        code = open_pool(o, &bench.pool);
    }
    if (code == EXIT_OK) {
        code = sweep(&bench, &concurrency, &max_batch);
    }
    if (bench.pool != NULL) {
        (void)!locus_pool_clear(bench.pool);
        locus_pool_close(bench.pool);
    }
    return code;
}

static const char description[] =
    "Tries a coalescer (locus/coalesce.h) with each pair of concurrency and max_batch "
    "against calls that arrive at a given rate, and prints the table by which one "
    "chooses them. Latency counts from when a call was due: a backend that cannot keep "
    "up shows.\n"
    "\n"
    "busy: share of the time that the allowed batches were running. queued: the most "
    "keys that waited at once. lost: calls refused, timed out, failed, or still due "
    "when the time was over twice.";

static const char examples[] =
    "# a backend of 2 ms per batch, 50,000 calls/s\n"
    "locus coalesce-bench --rtt 2ms --rate 50000 --concurrency 1,4 "
    "--max-batch 64\n"
    "# picks of a pool on a real Redis, drawn\n"
    "locus coalesce-bench --uri redis://127.0.0.1/0 --html table.html\n";

static int run(int argc, char **argv)
{
    struct bench_options given = {
        .concurrency = "1,2,4",
        .max_batch = "1,8,64,256",
        .rtt_ns = 500000,
        .per_key_ns = 1000,
        .rate = 20000,
        .callers = 64,
        .keys = 10000,
        .duration_ns = NS_PER_S,
        .queue = 65536,
        .seed = 1,
    };
    struct arguments arguments;
    int status = options_parse(&cmd_coalesce_bench, argc, argv, &given, &arguments);

    if (status != 0) {
        return status < 0 ? EXIT_OK : status;
    }
    if (arguments.count > 0) {
        return usage_error("coalesce-bench", "unexpected argument '%s'",
                           arguments.items[0]);
    }
    return bench_with(&given);
}

const struct command cmd_coalesce_bench = {
    .name = "coalesce-bench",
    .summary = "the table by which one sizes a coalescer",
    .usage = "[options]",
    .description = description,
    .options = options,
    .examples = examples,
    .run = run,
};
