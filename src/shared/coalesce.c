/* SPDX-License-Identifier: MIT */
/*
 * The coalescer. See locus/coalesce.h for what it promises.
 *
 * A *flight* (struct locus_result) is one key to fetch, and later its answer. Flights are
 * put into batches as they arrive: the queue is a list of batches of which only the last
 * takes more. So a caller knows from the start which batch answers it, and all the callers
 * of a batch sleep on one word, its state. One wake-up call then wakes a whole batch, and
 * the woken take no lock: waking the callers costs more than everything else here.
 *
 * A batch goes through these states, changed only under the lock (DONE apart, which its
 * runner sets last):
 *
 *   QUEUED -> OFFERED    a place to run is kept for it: one of its callers was woken
 *             |          to run it, or finds the offer before going to sleep
 *          -> GIVEN      ... or a worker was, as no caller of it is patient enough
 *             GATHERING  somebody will run it, and lets it linger
 *             RUNNING -> DONE
 *   CLOSED: shut down; its callers detach themselves, whether it runs or not
 *
 * Invariants, under the lock:
 *   running = batches OFFERED, GIVEN, GATHERING or RUNNING (or CLOSED while running)
 *   running < concurrency  =>  no batch is QUEUED
 *   queued = flights of the batches in the queue <= queue_capacity
 *   a batch in the queue has flights, except a GATHERING one; a flight in the queue has
 *   waiters
 *
 * Whoever is woken and does not act passes the matter on: an impatient caller that
 * meets an offer, or one that leaves while its batch is on offer, gives it to a worker. So
 * no offer is ever lost.
 */
#include <locus/coalesce.h>

#include <pthread.h>
#include <signal.h>
#include <sys/types.h>

#include "coalesce_result.h"
#include "futex.h"
#include "memory.h"
#include "meter.h"

/* The hooks of the object at hand, which every user of the table calls c. */
#define uthash_malloc(size) c->hooks.alloc(c->hooks.ctx, (size))
#define uthash_free(ptr, size) c->hooks.free(c->hooks.ctx, (ptr), (size))
#ifndef HASH_NONFATAL_OOM
#define HASH_NONFATAL_OOM 1
#endif
#include <uthash.h>
#include <utlist.h>

enum {
    DEFAULT_MAX_BATCH = 64,
    DEFAULT_QUEUE_CAPACITY = 65536,
};

enum batch_state {
    BATCH_QUEUED,
    BATCH_OFFERED,
    BATCH_GIVEN,
    BATCH_GATHERING,
    BATCH_RUNNING,
    BATCH_CLOSED,
    BATCH_DONE,
};

/* In the top bit of coalescer.inside: somebody waits for the callers to leave. */
#define INSIDE_DESTROY 0x80000000u

/* One key, and its answer. */
struct locus_result {
    _Atomic uint32_t refs;    /* waiters, holders of the result, and the batch */
    _Atomic uint32_t waiters; /* changed under the lock */
    int status;               /* set before the batch is settled */
    void *value;
    locus_value_free_fn
        *free_value; /* these three: a result may outlive the coalescer */
    void *ctx;
    struct locus_allocator hooks;
    struct batch *batch;              /* valid while the flight is unsettled */
    struct locus_result *prev, *next; /* in the batch, while in the queue */
    UT_hash_handle hh;
    size_t key_length;
    unsigned char key[];
};

struct batch {
    _Atomic uint32_t state; /* futex: its callers sleep here */
    _Atomic uint32_t full;  /* futex: who gathers it sleeps here while 0 */
    _Atomic uint32_t refs;  /* callers, and the coalescer */
    uint32_t count;         /* flights */
    uint32_t patient;       /* callers that may run it */
    bool started;           /* it has left the queue */
    bool settled;           /* all flights have their answers */
    uint64_t deadline_ns;   /* when the last caller gives up */
    struct locus_result *flights;
    struct batch *prev, *next; /* in the queue */
};

/* What a batch needs while it runs; one per place, made in advance. */
struct run {
    struct locus_batch public; /* first: locus_batch_wanted() gets back from here */
    struct locus_batch_item *items; /* max_batch; the user's to scribble on */
    struct locus_result **flights;  /* ours */
    struct batch *batch;            /* NULL: the place is free */
};

struct locus_coalescer {
    struct locus_allocator hooks;
    struct locus_coalescer_config config;
    pid_t pid;
    _Atomic uint32_t inside; /* futex: callers, and INSIDE_DESTROY */

    pthread_mutex_t lock; /* of everything below, in batches and in flights */
    pthread_cond_t work;  /* given > 0, or stop */
    bool closed, refusing, stop;
    struct batch *queue;
    struct locus_result *table; /* by key, those that may be shared */
    uint32_t queued;
    uint32_t running;
    uint32_t given;     /* batches GIVEN */
    struct run *runs;   /* [concurrency] */
    pthread_t *workers; /* [concurrency] */
    uint32_t workers_started;
    struct meter meter;
};

struct call {
    struct locus_result *flight;
    struct batch *batch;
    uint64_t deadline_ns;
    bool patient; /* counted in batch->patient */
};

static void batch_unref(struct locus_coalescer *c, struct batch *batch)
{
    if (atomic_fetch_sub_explicit(&batch->refs, 1, memory_order_acq_rel) == 1) {
        memory_release(&c->hooks, batch, sizeof(*batch));
    }
}

static void set_state(struct batch *batch, enum batch_state state)
{
    atomic_store_explicit(&batch->state, state, memory_order_release);
}

static enum batch_state get_state(const struct batch *batch)
{
    return atomic_load_explicit(&batch->state, memory_order_acquire);
}

/* ---- flights --------------------------------------------------------------------- */

void locus_result_release(struct locus_result *result)
{
    if (result == NULL ||
        atomic_fetch_sub_explicit(&result->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    if (result->value != NULL && result->free_value != NULL) {
        result->free_value(result->ctx, result->value);
    }
    struct locus_allocator hooks = result->hooks;
    memory_release(&hooks, result, sizeof(*result) + result->key_length);
}

const void *locus_result_value(const struct locus_result *result)
{
    return result->value;
}

static struct locus_result *find_flight(struct locus_coalescer *c, const void *key,
                                        size_t key_length)
{
    struct locus_result *flight = NULL;

    if (c->config.share != LOCUS_SHARE_NONE) {
        HASH_FIND(hh, c->table, key, key_length, flight);
    }
    return flight;
}

/* Makes it findable; false when out of memory. */
static bool index_flight(struct locus_coalescer *c, struct locus_result *flight)
{
    if (c->config.share == LOCUS_SHARE_NONE) {
        return true;
    }
    HASH_ADD_KEYPTR(hh, c->table, flight->key, flight->key_length, flight);
    return flight->hh.tbl != NULL;
}

/* Nobody finds it any more, if anybody did. */
static void unindex_flight(struct locus_coalescer *c, struct locus_result *flight)
{
    if (flight->hh.tbl != NULL) {
        HASH_DEL(c->table, flight); /* NOLINT(clang-analyzer-*): uthash */
        flight->hh.tbl = NULL;
    }
}

static struct locus_result *make_flight(struct locus_coalescer *c, const void *key,
                                        size_t key_length)
{
    struct locus_result *flight =
        memory_zalloc(&c->hooks, sizeof(*flight) + key_length);

    if (flight == NULL) {
        return NULL;
    }
    flight->refs = 1;
    flight->free_value = c->config.free_value;
    flight->ctx = c->config.ctx;
    flight->hooks = c->hooks;
    flight->key_length = key_length;
    if (key_length > 0) {
        memcpy(flight->key, key, key_length);
    }
    return flight;
}

struct locus_result *locus_result_wrap(const struct locus_allocator *hooks, void *value,
                                       locus_value_free_fn *free_value, void *ctx)
{
    struct locus_result *result = memory_zalloc(hooks, sizeof(*result));

    if (result != NULL) {
        result->refs = 1;
        result->value = value;
        result->free_value = free_value;
        result->ctx = ctx;
        result->hooks = *hooks;
    }
    return result;
}

/* ---- the queue ------------------------------------------------------------------- */

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

/* A place is free: keeps it for the first batch that has none. That batch is returned with a
 * reference if it has to be told, by tell_offer() when the lock is released. */
static struct batch *offer_place(struct locus_coalescer *c)
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
        set_state(batch, BATCH_GIVEN);
        c->given++;
        pthread_cond_signal(&c->work);
        return NULL;
    }
    set_state(batch, BATCH_OFFERED);
    atomic_fetch_add_explicit(&batch->refs, 1, memory_order_relaxed);
    return batch;
}

static void tell_offer(struct locus_coalescer *c, struct batch *batch)
{
    if (batch != NULL) {
        futex_wake_one(&batch->state);
        batch_unref(c, batch);
    }
}

static void free_place(struct locus_coalescer *c)
{
    c->running--;
    locus_meter_gauge(&c->meter.running, UINT32_MAX, NULL);
}

/* An offer that its finder does not take. */
static void give_to_worker(struct locus_coalescer *c, struct batch *batch)
{
    set_state(batch, BATCH_GIVEN);
    c->given++;
    pthread_cond_signal(&c->work);
}

/* Takes a batch that has nobody left out of the queue. */
static struct batch *drop_batch(struct locus_coalescer *c, struct batch *batch)
{
    enum batch_state state = get_state(batch);

    DL_DELETE(c->queue, batch);
    batch_unref(c, batch);
    if (state == BATCH_GIVEN) {
        c->given--;
    }
    if (state == BATCH_GIVEN || state == BATCH_OFFERED) {
        free_place(c);
        return offer_place(c);
    }
    return NULL;
}

/* Nobody waits any more for a flight in the queue. */
static struct batch *abandon_flight(struct locus_coalescer *c, struct batch *batch,
                                    struct locus_result *flight)
{
    unindex_flight(c, flight);
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

/* ---- running a batch ------------------------------------------------------------- */

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
            unindex_flight(c, flight);
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

    /* A caller's thread that were cancelled in there would keep the place for ever. */
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
            unindex_flight(c, flight);
        }
    }
    locus_meter_gauge(&c->meter.inflight, 0u - batch->count, NULL);
    run->batch = NULL;
    free_place(c);
    struct batch *next = offer_place(c);
    pthread_mutex_unlock(&c->lock);

    /* First who runs the next batch, as everybody in that waits for it. */
    tell_offer(c, next);
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

/* Whether it has begun or not. */
static void end_gathering(struct batch *batch)
{
    atomic_store_explicit(&batch->full, 1, memory_order_relaxed);
    if (get_state(batch) == BATCH_GATHERING) {
        futex_wake_one(&batch->full);
    }
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

/* Runs a batch for which a place is kept, unless nobody wants it any more. Called with the
 * lock held, left without it. */
static void lead(struct locus_coalescer *c, struct batch *batch, bool by_caller)
{
    atomic_fetch_add_explicit(&batch->refs, 1, memory_order_relaxed);
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
        free_place(c);
        if (get_state(batch) == BATCH_GATHERING) {
            DL_DELETE(c->queue, batch);
            batch_unref(c, batch);
        }
        struct batch *next = offer_place(c);
        pthread_mutex_unlock(&c->lock);
        tell_offer(c, next);
    }
    batch_unref(c, batch);
}

static void *work(void *arg)
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
        lead(c, batch, false);
        pthread_mutex_lock(&c->lock);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* ---- calls ----------------------------------------------------------------------- */

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

static int new_flight(struct locus_coalescer *c, struct call *call, const void *key,
                      size_t key_length)
{
    if (c->queued >= c->config.queue_capacity) {
        return LOCUS_EFULL;
    }
    struct locus_result *flight = make_flight(c, key, key_length);
    if (flight == NULL) {
        return LOCUS_ENOMEM;
    }
    if (!index_flight(c, flight)) {
        goto free_flight;
    }
    struct batch *batch = open_batch(c);
    if (batch == NULL) {
        goto unindex_flight;
    }
    flight->batch = batch;
    DL_APPEND(batch->flights, flight);
    batch->count++;
    c->queued++;
    locus_meter_gauge(&c->meter.queued, 1, &c->meter.queued_max);
    if (batch->count == c->config.max_batch && c->config.linger_ns > 0) {
        end_gathering(batch);
    }
    call->flight = flight;
    return LOCUS_OK;

unindex_flight:
    unindex_flight(c, flight);
free_flight:
    locus_result_release(flight);
    return LOCUS_ENOMEM;
}

/* Puts the call into a batch. With the lock held. */
static int enqueue(struct locus_coalescer *c, struct call *call, const void *key,
                   size_t key_length)
{
    if (c->closed) {
        return LOCUS_ECLOSED;
    }
    call->flight = find_flight(c, key, key_length);
    if (call->flight != NULL) {
        meter_count(&c->meter, METER_SHARED);
    } else {
        int status = new_flight(c, call, key, key_length);
        if (status != LOCUS_OK) {
            return status;
        }
    }
    struct batch *batch = call->flight->batch;
    atomic_fetch_add_explicit(&call->flight->refs, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&call->flight->waiters, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&batch->refs, 1, memory_order_relaxed);
    batch->patient += call->patient;
    if (call->deadline_ns > batch->deadline_ns) {
        batch->deadline_ns = call->deadline_ns;
    }
    call->batch = batch;
    return LOCUS_OK;
}

/* A caller's end before DONE, for the reason why; but if the answer is there all the same,
 * LOCUS_OK is returned. With the lock held; *next as of offer_place(). */
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
            unindex_flight(c, call->flight);
        }
        return why;
    }
    if (!wanted) {
        *next = abandon_flight(c, batch, call->flight);
    }
    if (batch->count > 0 && get_state(batch) == BATCH_OFFERED) {
        /* The wake-up of the offer may have been this caller's. */
        give_to_worker(c, batch);
    }
    return why;
}

static int leave_now(struct locus_coalescer *c, const struct call *call, int why)
{
    struct batch *next;

    pthread_mutex_lock(&c->lock);
    int status = leave(c, call, why, &next);
    pthread_mutex_unlock(&c->lock);
    tell_offer(c, next);
    return status;
}

static void meet_offer(struct locus_coalescer *c, const struct call *call)
{
    pthread_mutex_lock(&c->lock);
    if (get_state(call->batch) == BATCH_OFFERED) {
        if (patient_at(c, call->deadline_ns, clock_now_ns())) {
            lead(c, call->batch, true);
            return;
        }
        give_to_worker(c, call->batch);
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
        struct batch *offered = offer_place(c);
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

/* ---- figures --------------------------------------------------------------------- */

void locus_coalescer_get_figures(struct locus_coalescer *c,
                                 struct locus_coalescer_figures *out)
{
    locus_meter_figures(&c->meter, clock_now_ns(), out);
}

int locus_coalescer_write_metrics(struct locus_coalescer *c, const char *name,
                                  locus_write_fn *write, void *ctx)
{
    return locus_meter_write(&c->meter, clock_now_ns(), name, write, ctx);
}

/* ---- life ------------------------------------------------------------------------ */

/* Tells the callers of a batch in the queue to leave. */
static void close_batch(struct locus_coalescer *c, struct batch *batch)
{
    enum batch_state state = get_state(batch);

    end_gathering(batch);
    if (batch->count == 0) {
        /* Only when gathering: who gathers it finds it empty, and drops it. */
        return;
    }
    if (state == BATCH_GIVEN) {
        c->given--;
    }
    if (state == BATCH_GIVEN || state == BATCH_OFFERED) {
        free_place(c);
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
            end_gathering(batch);
        }
    }
    pthread_mutex_unlock(&c->lock);
}

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
        error = pthread_create(&c->workers[c->workers_started], NULL, work, c);
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
