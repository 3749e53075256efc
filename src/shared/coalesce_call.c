/* SPDX-License-Identifier: MIT */
/*
 * One caller: it asks, and sleeps until its batch is done, its time is up, or it is its turn to
 * run the batch.
 */
#include "coalesce_internal.h"

#include <unistd.h>

struct call {
    struct locus_result *flight;
    struct batch *batch;
    uint64_t deadline_ns;
    bool patient; /* counted in batch->patient */
};

static bool patient_at(const struct locus_coalescer *c, uint64_t deadline_ns,
                       uint64_t at_ns)
{
    if (c->config.workers_only) {
        return false;
    }
    if (deadline_ns == FUTEX_NO_DEADLINE) {
        return true;
    }
    uint64_t left_ns = deadline_ns > at_ns ? deadline_ns - at_ns : 0;
    return c->config.batch_bound_ns > 0 && left_ns > c->config.linger_ns &&
           left_ns - c->config.linger_ns >= c->config.batch_bound_ns;
}

/* Puts the call into a batch. With the lock held. */
static int enqueue(struct locus_coalescer *c, struct call *call, const void *key,
                   size_t key_length)
{
    if (c->closed) {
        return LOCUS_ECLOSED;
    }
    call->flight = locus_flight_find(c, key, key_length);
    if (call->flight != NULL) {
        meter_count(&c->meter, METER_SHARED);
    } else {
        int status = locus_queue_add(c, key, key_length, &call->flight);
        if (status != LOCUS_OK) {
            return status;
        }
    }
    struct batch *batch = call->flight->batch;
    atomic_fetch_add_explicit(&call->flight->refs, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&call->flight->waiters, 1, memory_order_relaxed);
    batch_ref(batch);
    batch->patient += call->patient;
    if (call->deadline_ns > batch->deadline_ns) {
        batch->deadline_ns = call->deadline_ns;
    }
    call->batch = batch;
    return LOCUS_OK;
}

/* A caller's end before DONE, for the reason why; but if the answer is there all the same,
 * LOCUS_OK is returned. With the lock held; *next as of locus_place_offer(). */
static int leave(struct locus_coalescer *c, const struct call *call, int why,
                 struct batch **next)
{
    struct batch *batch = call->batch;

    *next = NULL;
    if (batch->settled) {
        return LOCUS_OK;
    }
    meter_count(&c->meter, why == LOCUS_ECLOSED ? METER_CLOSED : METER_TIMEOUTS);
    batch->patient -= call->patient;
    bool wanted =
        atomic_fetch_sub_explicit(&call->flight->waiters, 1, memory_order_relaxed) > 1;
    if (batch->started) {
        if (!wanted) {
            /* The user's function may have been told so, and does not fetch it. */
            locus_flight_hide(c, call->flight);
        }
        return why;
    }
    if (!wanted) {
        *next = locus_queue_abandon(c, batch, call->flight);
    }
    if (batch->count > 0 && get_state(batch) == BATCH_OFFERED) {
        /* The wake-up of the offer may have been this caller's. */
        locus_place_give(c, batch);
    }
    return why;
}

static int leave_now(struct locus_coalescer *c, const struct call *call, int why)
{
    struct batch *next;

    pthread_mutex_lock(&c->lock);
    int status = leave(c, call, why, &next);
    pthread_mutex_unlock(&c->lock);
    locus_place_tell(c, next);
    return status;
}

static void meet_offer(struct locus_coalescer *c, const struct call *call)
{
    pthread_mutex_lock(&c->lock);
    if (get_state(call->batch) == BATCH_OFFERED) {
        if (patient_at(c, call->deadline_ns, clock_now_ns())) {
            locus_coalescer_lead(c, call->batch, true);
            return;
        }
        locus_place_give(c, call->batch);
    }
    pthread_mutex_unlock(&c->lock);
}

/* Sleeps and leads until the flight is settled (LOCUS_OK) or it is time to give up. */
static int await(struct locus_coalescer *c, const struct call *call)
{
    for (;;) {
        enum batch_state state = get_state(call->batch);
        if (state == BATCH_DONE) {
            return LOCUS_OK;
        }
        if (state == BATCH_CLOSED) {
            return leave_now(c, call, LOCUS_ECLOSED);
        }
        if (state == BATCH_OFFERED) {
            meet_offer(c, call);
        } else if (!futex_wait(&call->batch->state, state, call->deadline_ns)) {
            return leave_now(c, call, LOCUS_ETIMEDOUT);
        }
    }
}

static int ask(struct locus_coalescer *c, struct call *call, const void *key,
               size_t key_length)
{
    pthread_mutex_lock(&c->lock);
    int status = enqueue(c, call, key, key_length);
    if (status == LOCUS_OK && get_state(call->batch) == BATCH_QUEUED) {
        /* If a place is free, the batch is this call's own: nobody else has to be told. */
        struct batch *offered = locus_place_offer(c);
        if (offered != NULL) {
            batch_unref(c, offered);
        }
    }
    pthread_mutex_unlock(&c->lock);
    return status;
}

static void count_refusal(struct locus_coalescer *c, int status)
{
    enum meter_counter which = METER_NO_MEMORY;

    if (status == LOCUS_ECLOSED) {
        which = METER_CLOSED;
    } else if (status == LOCUS_EFULL) {
        which = METER_QUEUE_FULL;
    }
    meter_count(&c->meter, which);
}

static int call_in(struct locus_coalescer *c, const void *key, size_t key_length,
                   int64_t timeout_ns, struct locus_result **out)
{
    uint64_t start_ns = clock_now_ns();
    struct call call = {.deadline_ns = FUTEX_NO_DEADLINE};

    if (timeout_ns > 0 && (uint64_t)timeout_ns < FUTEX_NO_DEADLINE - start_ns) {
        call.deadline_ns = start_ns + (uint64_t)timeout_ns;
    }
    call.patient = patient_at(c, call.deadline_ns, start_ns);
    meter_count(&c->meter, METER_CALLS);
    int status = ask(c, &call, key, key_length);
    if (status != LOCUS_OK) {
        count_refusal(c, status);
        return status;
    }
    status = await(c, &call);
    batch_unref(c, call.batch);
    if (status == LOCUS_OK) {
        status = call.flight->status;
        meter_count(&c->meter, status == LOCUS_OK ? METER_ANSWERED : METER_FAILED);
    }
    if (status == LOCUS_OK) {
        *out = call.flight;
    } else {
        locus_result_release(call.flight);
    }
    locus_histogram_add(&c->meter.call_ns, clock_now_ns() - start_ns);
    return status;
}

int locus_coalescer_get(struct locus_coalescer *c, const void *key, size_t key_length,
                        int64_t timeout_ns, struct locus_result **out)
{
    *out = NULL;
    if ((key == NULL && key_length > 0) || key_length > LOCUS_KEY_MAX) {
        return LOCUS_EINVAL;
    }
    if (c->pid != getpid()) {
        return LOCUS_ECLOSED;
    }
    atomic_fetch_add(&c->inside, 1);
    int status = call_in(c, key, key_length, timeout_ns, out);
    /* The last access: whoever waits for it frees the coalescer. */
    if (atomic_fetch_sub(&c->inside, 1) == (INSIDE_DESTROY | 1)) {
        futex_wake_all(&c->inside);
    }
    return status;
}
