/* SPDX-License-Identifier: MIT */
#include "load.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include <locus/coalesce.h>

#include "../base/mix.h"
#include "../base/now.h"

enum { START_NS = 10000000 }; /* until all callers are there */

struct run {
    const struct load *load;
    struct locus_coalescer *coalescer;
    char (*members)
        [LOCUS_POOL_MEMBER_SIZE]; /* room for the picks of each batch at once */
    uint64_t max_batch;
    uint64_t start_ns, end_ns;
};

struct caller {
    pthread_t thread;
    const struct run *run;
    uint64_t random;
    float *latency_us;
    size_t count, room;
    uint64_t unmade; /* due, but the time was over */
};

static int fetch(void *ctx, struct locus_batch *batch)
{
    const struct run *run = ctx;
    const struct load *load = run->load;
    size_t done = batch->count;
    int status = LOCUS_OK;

    if (load->pool != NULL) {
        status =
            locus_pool_pick_many(load->pool, batch->count,
                                 run->members + batch->slot * run->max_batch, &done);
    } else {
        sleep_until(now_ns() + load->rtt_ns + batch->count * load->per_key_ns);
    }
    for (size_t i = 0; i < done; i++) {
        batch->items[i].status = LOCUS_OK;
    }
    return status;
}

static void make_call(struct caller *caller, uint64_t due_ns)
{
    const struct run *run = caller->run;
    uint64_t key = split_mix64(&caller->random) % run->load->keys;
    struct locus_result *result;

    if (now_ns() < due_ns) {
        sleep_until(due_ns);
    }
    int status = locus_coalescer_get(run->coalescer, &key, sizeof(key),
                                     (int64_t)run->load->timeout_ns, &result);
    locus_result_release(result);
    if (status == LOCUS_OK && caller->count < caller->room) {
        caller->latency_us[caller->count++] = (float)(now_ns() - due_ns) * 1e-3f;
    }
}

static void *call(void *arg)
{
    struct caller *caller = arg;
    const struct run *run = caller->run;
    double mean_ns = 1e9 * (double)run->load->callers / (double)run->load->rate;
    double due_ns = (double)run->start_ns;

    prctl(PR_SET_TIMERSLACK, 1UL);
    for (;;) {
        uint64_t random = split_mix64(&caller->random);
        /* (0, 1]: 53 bits, never 0. */
        due_ns -= mean_ns * log((double)((random >> 11) + 1) * 0x1p-53);
        if (due_ns >= (double)run->end_ns) {
            return NULL;
        }
        /* A backend that is too slow by far is told after twice the time. */
        if (now_ns() > run->end_ns + run->load->duration_ns) {
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

/* Moves the latencies of all callers together, at the front of the first one's, and sorts. */
static void add_latencies(const struct caller *callers, uint64_t count,
                          struct load_line *line)
{
    float *all = callers[0].latency_us;
    size_t total = 0;

    for (uint64_t i = 0; i < count; i++) {
        memmove(all + total, callers[i].latency_us, callers[i].count * sizeof(float));
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

static void add_figures(const struct run *run, uint64_t elapsed_ns,
                        struct load_line *line)
{
    struct locus_coalescer_figures f;
    double seconds = (double)elapsed_ns * 1e-9;

    locus_coalescer_get_figures(run->coalescer, &f);
    line->lost += f.calls - f.answered;
    line->queued_max = f.queued_max;
    line->shared = f.shared;
    line->calls_per_s = (uint64_t)((double)f.answered / seconds);
    line->batches_per_s = (uint64_t)((double)f.batches / seconds);
    line->keys_per_batch_x100 = f.batches > 0 ? f.keys * 100 / f.batches : 0;
    line->busy_percent = (uint64_t)(100.0 * (double)f.batch_ns.sum /
                                    ((double)elapsed_ns * (double)line->concurrency));
}

static void run_callers(struct run *run, struct caller *callers, struct load_line *line)
{
    uint64_t count = 0;

    run->start_ns = now_ns() + START_NS;
    run->end_ns = run->start_ns + run->load->duration_ns;
    while (count < run->load->callers &&
           pthread_create(&callers[count].thread, NULL, call, &callers[count]) == 0) {
        count++;
    }
    for (uint64_t i = 0; i < count; i++) {
        pthread_join(callers[i].thread, NULL);
        line->lost += callers[i].unmade;
    }
    add_figures(run, now_ns() - run->start_ns, line);
    add_latencies(callers, count, line);
}

/* Of one caller: twice its share, and some. */
static size_t room_of(const struct load *load)
{
    double seconds = (double)load->duration_ns * 1e-9;
    double share = (double)load->rate * seconds / (double)load->callers;

    return (size_t)(2 * share) + 100;
}

uint64_t load_samples(const struct load *load)
{
    return room_of(load) * load->callers;
}

bool load_run(const struct load *load, struct load_line *line)
{
    struct run run = {.load = load, .max_batch = line->max_batch};
    const struct locus_coalescer_config config = {
        .batch = fetch,
        .ctx = &run,
        .concurrency = (uint32_t)line->concurrency,
        .max_batch = (uint32_t)line->max_batch,
        .linger_ns = load->linger_ns,
        .queue_capacity = (uint32_t)load->queue,
        .share = load->pool != NULL ? LOCUS_SHARE_NONE : (enum locus_share)load->share,
        .workers_only = load->workers_only,
    };
    size_t room = room_of(load);
    struct caller *callers = calloc(load->callers, sizeof(*callers));
    float *latencies = malloc(room * load->callers * sizeof(*latencies));

    run.members = calloc(line->concurrency * line->max_batch, sizeof(*run.members));
    bool fits = callers != NULL && latencies != NULL && run.members != NULL &&
                locus_coalescer_create(&config, &run.coalescer) == LOCUS_OK;
    for (uint64_t i = 0; fits && i < load->callers; i++) {
        callers[i].run = &run;
        callers[i].random = load->seed * 1000003 + i;
        callers[i].latency_us = latencies + i * room;
        callers[i].room = room;
    }
    if (fits) {
        run_callers(&run, callers, line);
        locus_coalescer_destroy(run.coalescer);
    }
    free(callers);
    free(latencies);
    free(run.members);
    return fits;
}
