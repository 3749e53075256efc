/* SPDX-License-Identifier: MIT */
/*
 * One batch: it lingers, it runs, its flights are settled, and everybody concerned is woken.
 */
#include "coalesce_internal.h"

bool locus_batch_wanted(const struct locus_batch *batch, size_t index)
{
    const struct run *run = (const struct run *)(const void *)batch;

    return index < run->batch->count &&
           atomic_load_explicit(&run->flights[index]->waiters, memory_order_relaxed) >
               0;
}

/* Out of the queue, into a free place. */
static struct run *start_batch(struct locus_coalescer *c, struct batch *batch)
{
    struct run *run = c->runs;
    struct locus_result *flight;
    uint32_t count = 0;

    while (run->batch != NULL) {
        run++;
    }
    run->batch = batch;
    DL_DELETE(c->queue, batch);
    batch->started = true;
    set_state(batch, BATCH_RUNNING);
    DL_FOREACH(batch->flights, flight) {
        run->flights[count] = flight;
        run->items[count++] = (struct locus_batch_item){
            .key = flight->key,
            .key_length = flight->key_length,
            .status = LOCUS_UNANSWERED,
        };
        if (c->config.share == LOCUS_SHARE_QUEUED) {
            locus_flight_hide(c, flight);
        }
    }
    c->queued -= count;
    locus_meter_gauge(&c->meter.queued, 0u - count, NULL);
    locus_meter_gauge(&c->meter.inflight, count, NULL);
    run->public = (struct locus_batch){
        .items = run->items,
        .count = count,
        .slot = (uint32_t)(run - c->runs),
        .deadline_ns = batch->deadline_ns,
    };
    return run;
}

/* From what the user's function left behind to what each flight is told. */
static void settle_flight(struct locus_coalescer *c, struct locus_result *flight,
                          const struct locus_batch_item *item, int returned)
{
    flight->status = item->status;
    flight->value = item->value;
    if (item->status > 0) {
        flight->status = returned < 0 ? returned : LOCUS_EFORMAT;
        meter_count(&c->meter, METER_UNANSWERED);
    }
    if (flight->status != LOCUS_OK && flight->value != NULL) {
        if (flight->free_value != NULL) {
            flight->free_value(flight->ctx, flight->value);
        }
        flight->value = NULL;
    }
}

static void call_batch_fn(struct locus_coalescer *c, struct run *run)
{
    int cancel_state;
    uint64_t before_ns = clock_now_ns();

    /* A caller whose thread was cancelled in there would keep its place for ever. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    int returned = c->config.batch(c->config.ctx, &run->public);
    pthread_setcancelstate(cancel_state, &cancel_state);

    uint32_t count = run->batch->count;
    locus_histogram_add(&c->meter.batch_ns, clock_now_ns() - before_ns);
    locus_histogram_add(&c->meter.batch_size, count);
    if (returned != LOCUS_OK) {
        meter_count(&c->meter, METER_BATCHES_FAILED);
    }
    for (uint32_t i = 0; i < count; i++) {
        settle_flight(c, run->flights[i], &run->items[i], returned);
    }
}

/* Runs it and wakes everybody concerned. Called with the lock held, left without it. */
static void run_batch(struct locus_coalescer *c, struct batch *batch)
{
    struct run *run = start_batch(c, batch);
    struct locus_result *flight, *after;

    pthread_mutex_unlock(&c->lock);
    call_batch_fn(c, run);
    pthread_mutex_lock(&c->lock);
    batch->settled = true;
    if (c->config.share == LOCUS_SHARE_INFLIGHT) {
        DL_FOREACH(batch->flights, flight) {
            locus_flight_hide(c, flight);
        }
    }
    locus_meter_gauge(&c->meter.inflight, 0u - batch->count, NULL);
    run->batch = NULL;
    locus_place_free(c);
    struct batch *next = locus_place_offer(c);
    pthread_mutex_unlock(&c->lock);

    /* First the one who runs the next batch, since all of that batch wait for it. */
    locus_place_tell(c, next);
    set_state(batch, BATCH_DONE);
    futex_wake_all(&batch->state);
    DL_FOREACH_SAFE(batch->flights, flight, after) {
        if (atomic_load_explicit(&flight->waiters, memory_order_relaxed) == 0) {
            meter_count(&c->meter, METER_LATE);
        }
        locus_result_release(flight);
    }
    batch_unref(c, batch);
}

/* Lets a batch linger until it has been full (which it may no longer be), its time is up, or
 * the coalescer is closed. Called and left with the lock held. */
static void gather(struct locus_coalescer *c, struct batch *batch)
{
    uint64_t until_ns = clock_now_ns() + c->config.linger_ns;
    bool in_time = true;

    while (in_time && !c->closed &&
           atomic_load_explicit(&batch->full, memory_order_relaxed) == 0) {
        pthread_mutex_unlock(&c->lock);
        in_time = futex_wait(&batch->full, 0, until_ns);
        pthread_mutex_lock(&c->lock);
    }
}

void locus_coalescer_lead(struct locus_coalescer *c, struct batch *batch,
                          bool by_caller)
{
    batch_ref(batch);
    set_state(batch, BATCH_GATHERING);
    if (c->config.linger_ns > 0) {
        gather(c, batch);
    }
    if (get_state(batch) == BATCH_GATHERING && batch->count > 0) {
        if (by_caller) {
            meter_count(&c->meter, METER_BATCHES_LED);
        }
        run_batch(c, batch);
    } else {
        locus_place_free(c);
        if (get_state(batch) == BATCH_GATHERING) {
            DL_DELETE(c->queue, batch);
            batch_unref(c, batch);
        }
        struct batch *next = locus_place_offer(c);
        pthread_mutex_unlock(&c->lock);
        locus_place_tell(c, next);
    }
    batch_unref(c, batch);
}

void *locus_coalescer_work(void *arg)
{
    struct locus_coalescer *c = arg;
    struct batch *batch;

    pthread_mutex_lock(&c->lock);
    for (;;) {
        while (c->given == 0 && !c->stop) {
            pthread_cond_wait(&c->work, &c->lock);
        }
        if (c->given == 0) {
            break;
        }
        c->given--;
        DL_FOREACH(c->queue, batch) {
            if (get_state(batch) == BATCH_GIVEN) {
                break;
            }
        }
        locus_coalescer_lead(c, batch, false);
        pthread_mutex_lock(&c->lock);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}
