/* SPDX-License-Identifier: MIT */
/*
 * The queue of batches, and the places in which they run: who waits, and whose turn it is.
 */
#include "coalesce_internal.h"

void locus_place_give(struct locus_coalescer *c, struct batch *batch)
{
    set_state(batch, BATCH_GIVEN);
    c->given++;
    pthread_cond_signal(&c->work);
}

struct batch *locus_place_offer(struct locus_coalescer *c)
{
    struct batch *batch;

    if (c->running == c->config.concurrency) {
        return NULL;
    }
    DL_FOREACH(c->queue, batch) {
        if (get_state(batch) == BATCH_QUEUED) {
            break;
        }
    }
    if (batch == NULL) {
        return NULL;
    }
    locus_meter_gauge(&c->meter.running, 1, &c->meter.running_max);
    c->running++;
    if (batch->patient == 0) {
        locus_place_give(c, batch);
        return NULL;
    }
    set_state(batch, BATCH_OFFERED);
    batch_ref(batch);
    return batch;
}

void locus_place_tell(struct locus_coalescer *c, struct batch *batch)
{
    if (batch != NULL) {
        futex_wake_one(&batch->state);
        batch_unref(c, batch);
    }
}

void locus_place_free(struct locus_coalescer *c)
{
    c->running--;
    locus_meter_gauge(&c->meter.running, UINT32_MAX, NULL);
}

/* ---- the queue ------------------------------------------------------------------- */

void locus_queue_hurry(struct batch *batch)
{
    atomic_store_explicit(&batch->full, 1, memory_order_relaxed);
    if (get_state(batch) == BATCH_GATHERING) {
        futex_wake_one(&batch->full);
    }
}

/* The batch that takes the next flight: the last one, or a new one behind it. */
static struct batch *open_batch(struct locus_coalescer *c)
{
    struct batch *last = c->queue != NULL ? c->queue->prev : NULL;

    if (last != NULL && last->count < c->config.max_batch) {
        return last;
    }
    struct batch *batch = memory_zalloc(&c->hooks, sizeof(*batch));
    if (batch == NULL) {
        return NULL;
    }
    batch->refs = 1;
    DL_APPEND(c->queue, batch); /* NOLINT(clang-analyzer-*): the head has a prev */
    return batch;
}

int locus_queue_add(struct locus_coalescer *c, const void *key, size_t key_length,
                    struct locus_result **out)
{
    if (c->queued >= c->config.queue_capacity) {
        return LOCUS_EFULL;
    }
    struct locus_result *flight = locus_flight_make(c, key, key_length);
    if (flight == NULL) {
        return LOCUS_ENOMEM;
    }
    struct batch *batch = open_batch(c);
    if (batch == NULL) {
        locus_flight_hide(c, flight);
        locus_result_release(flight);
        return LOCUS_ENOMEM;
    }
    flight->batch = batch;
    DL_APPEND(batch->flights, flight);
    batch->count++;
    c->queued++;
    locus_meter_gauge(&c->meter.queued, 1, &c->meter.queued_max);
    if (batch->count == c->config.max_batch && c->config.linger_ns > 0) {
        locus_queue_hurry(batch);
    }
    *out = flight;
    return LOCUS_OK;
}

/* Takes a batch out of the queue for which nobody waits any more. */
static struct batch *drop_batch(struct locus_coalescer *c, struct batch *batch)
{
    enum batch_state state = get_state(batch);

    DL_DELETE(c->queue, batch);
    batch_unref(c, batch);
    if (state == BATCH_GIVEN) {
        c->given--;
    }
    if (state == BATCH_GIVEN || state == BATCH_OFFERED) {
        locus_place_free(c);
        return locus_place_offer(c);
    }
    return NULL;
}

struct batch *locus_queue_abandon(struct locus_coalescer *c, struct batch *batch,
                                  struct locus_result *flight)
{
    locus_flight_hide(c, flight);
    DL_DELETE(batch->flights, flight);
    batch->count--;
    c->queued--;
    locus_meter_gauge(&c->meter.queued, UINT32_MAX, NULL);
    meter_count(&c->meter, METER_ABANDONED);
    locus_result_release(flight);
    if (batch->count == 0 && get_state(batch) != BATCH_GATHERING) {
        return drop_batch(c, batch);
    }
    return NULL;
}
