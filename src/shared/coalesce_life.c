/* SPDX-License-Identifier: MIT */
/*
 * A coalescer is made, read, closed and destroyed.
 */
#include "coalesce_internal.h"

#include <signal.h>
#include <unistd.h>

enum {
    DEFAULT_MAX_BATCH = 64,
    DEFAULT_QUEUE_CAPACITY = 65536,
};

/* Ends the workers and frees everything. Nobody is inside any more. */
static void dismantle(struct locus_coalescer *c)
{
    pthread_mutex_lock(&c->lock);
    c->stop = true;
    pthread_cond_broadcast(&c->work);
    pthread_mutex_unlock(&c->lock);
    for (uint32_t i = 0; i < c->workers_started; i++) {
        pthread_join(c->workers[i], NULL);
    }
    pthread_cond_destroy(&c->work);
    pthread_mutex_destroy(&c->lock);

    uint32_t places = c->config.concurrency;
    for (uint32_t i = 0; c->runs != NULL && i < places; i++) {
        memory_release(&c->hooks, c->runs[i].items,
                       c->config.max_batch * sizeof(*c->runs[i].items));
        memory_release(&c->hooks, c->runs[i].flights,
                       c->config.max_batch * sizeof(*c->runs[i].flights));
    }
    memory_release(&c->hooks, c->workers, places * sizeof(*c->workers));
    memory_release(&c->hooks, c->runs, places * sizeof(*c->runs));
    struct locus_allocator hooks = c->hooks;
    memory_release(&hooks, c, sizeof(*c));
}

/* Defaults put in; false when a number is outside its range. */
static bool complete_config(struct locus_coalescer_config *config)
{
    config->concurrency = config->concurrency != 0 ? config->concurrency : 1;
    config->max_batch = config->max_batch != 0 ? config->max_batch : DEFAULT_MAX_BATCH;
    if (config->queue_capacity == 0) {
        config->queue_capacity = DEFAULT_QUEUE_CAPACITY;
    }
    config->allocator = NULL;
    return config->concurrency <= LOCUS_CONCURRENCY_MAX &&
           config->max_batch <= LOCUS_BATCH_MAX && config->linger_ns <= INT64_MAX &&
           config->batch_bound_ns <= INT64_MAX && config->share <= LOCUS_SHARE_NONE;
}

static int make_runs(struct locus_coalescer *c)
{
    uint32_t places = c->config.concurrency;

    c->runs = memory_zalloc(&c->hooks, places * sizeof(*c->runs));
    c->workers = memory_zalloc(&c->hooks, places * sizeof(*c->workers));
    if (c->runs == NULL || c->workers == NULL) {
        return LOCUS_ENOMEM;
    }
    for (uint32_t i = 0; i < places; i++) {
        struct run *run = &c->runs[i];
        run->items =
            memory_zalloc(&c->hooks, c->config.max_batch * sizeof(*run->items));
        run->flights =
            memory_zalloc(&c->hooks, c->config.max_batch * sizeof(*run->flights));
        if (run->items == NULL || run->flights == NULL) {
            return LOCUS_ENOMEM;
        }
    }
    return LOCUS_OK;
}

/* Signals are the program's business: none is delivered to a worker. */
static int start_workers(struct locus_coalescer *c)
{
    sigset_t all, before;
    int error = 0;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (error == 0 && c->workers_started < c->config.concurrency) {
        error = pthread_create(&c->workers[c->workers_started], NULL,
                               locus_coalescer_work, c);
        c->workers_started += error == 0;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0 ? LOCUS_OK : LOCUS_ENOMEM;
}

int locus_coalescer_create(const struct locus_coalescer_config *config,
                           struct locus_coalescer **out)
{
    struct locus_allocator hooks = memory_hooks(config->allocator);
    struct locus_coalescer_config complete = *config;

    *out = NULL;
    if (config->batch == NULL) {
        return LOCUS_EINVAL;
    }
    if (!complete_config(&complete)) {
        return LOCUS_ERANGE;
    }
    struct locus_coalescer *c = memory_zalloc(&hooks, sizeof(*c));
    if (c == NULL) {
        return LOCUS_ENOMEM;
    }
    c->hooks = hooks;
    c->config = complete;
    c->pid = getpid();
    c->meter.created_ns = clock_now_ns();
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->work, NULL);
    int status = make_runs(c);
    if (status == LOCUS_OK) {
        status = start_workers(c);
    }
    if (status != LOCUS_OK) {
        dismantle(c);
        return status;
    }
    *out = c;
    return LOCUS_OK;
}

/* ---- figures --------------------------------------------------------------------- */

void locus_coalescer_get_figures(struct locus_coalescer *c,
                                 struct locus_coalescer_figures *out)
{
    locus_meter_figures(&c->meter, clock_now_ns(), out);
}

int locus_coalescer_write_metrics(struct locus_coalescer *c, const char *name,
                                  locus_text_fn *write, void *ctx)
{
    return locus_meter_write(&c->meter, clock_now_ns(), name, write, ctx);
}

/* ---- the end --------------------------------------------------------------------- */

/* Tells the callers of a batch in the queue to leave. */
static void close_batch(struct locus_coalescer *c, struct batch *batch)
{
    enum batch_state state = get_state(batch);

    locus_queue_hurry(batch);
    if (batch->count == 0) {
        /* Only when gathering: who gathers it finds it empty, and drops it. */
        return;
    }
    if (state == BATCH_GIVEN) {
        c->given--;
    }
    if (state == BATCH_GIVEN || state == BATCH_OFFERED) {
        locus_place_free(c);
    }
    set_state(batch, BATCH_CLOSED);
    futex_wake_all(&batch->state);
}

static void refuse_waiting(struct locus_coalescer *c)
{
    struct batch *batch;

    DL_FOREACH(c->queue, batch) {
        close_batch(c, batch);
    }
    for (uint32_t i = 0; i < c->config.concurrency; i++) {
        batch = c->runs[i].batch;
        if (batch != NULL) {
            set_state(batch, BATCH_CLOSED);
            futex_wake_all(&batch->state);
        }
    }
}

void locus_coalescer_shutdown(struct locus_coalescer *c, enum locus_shutdown how)
{
    struct batch *batch;

    if (c->pid != getpid()) {
        return;
    }
    pthread_mutex_lock(&c->lock);
    c->closed = true;
    if (how == LOCUS_REFUSE) {
        if (!c->refusing) {
            c->refusing = true;
            refuse_waiting(c);
        }
    } else {
        /* What lingers has all that it will get. */
        DL_FOREACH(c->queue, batch) {
            locus_queue_hurry(batch);
        }
    }
    pthread_mutex_unlock(&c->lock);
}

void locus_coalescer_destroy(struct locus_coalescer *c)
{
    if (c == NULL || c->pid != getpid()) {
        return;
    }
    pthread_mutex_lock(&c->lock);
    bool draining = c->closed;
    pthread_mutex_unlock(&c->lock);
    if (!draining) {
        locus_coalescer_shutdown(c, LOCUS_REFUSE);
    }
    uint32_t inside = atomic_fetch_or(&c->inside, INSIDE_DESTROY) | INSIDE_DESTROY;
    while (inside != INSIDE_DESTROY) {
        futex_wait(&c->inside, inside, FUTEX_NO_DEADLINE);
        inside = atomic_load(&c->inside);
    }
    dismantle(c);
}
