/* SPDX-License-Identifier: MIT */
/*
 * The coalescer's parts. locus/coalesce.h says what it promises. From the top down:
 *
 *   coalesce_life.c    it is made, closed, destroyed
 *   coalesce_call.c    one caller: ask, sleep, perhaps lead, leave
 *   coalesce_run.c     one batch: gather, run, settle
 *   coalesce_queue.c   the queue of batches, and the places in which they run
 *   coalesce_result.c  flights, and the results that they become
 *   meter.c            figures
 *
 * A *flight* (struct locus_result) is one key to fetch, and later its answer. Flights are
 * put into batches as they arrive: the queue is a list of batches, and only the last one
 * takes more. So a caller knows from the start which batch will answer it, and all callers
 * of a batch sleep on one word, its state. One wake-up call then wakes the whole batch, and
 * those that wake take no lock: waking them costs more than everything else here.
 *
 * A batch goes through these states. They change only under the lock, except that whoever
 * ran the batch sets DONE without it, last of all:
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
 * No offer is ever lost: whoever is woken and does not act passes it on. An impatient caller
 * that meets an offer, or a caller that leaves while its batch is on offer, gives the batch
 * to a worker.
 */
#ifndef LOCUS_SHARED_COALESCE_INTERNAL_H
#define LOCUS_SHARED_COALESCE_INTERNAL_H

#include <locus/coalesce.h>

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "clock.h"
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

enum batch_state {
    BATCH_QUEUED,
    BATCH_OFFERED,
    BATCH_GIVEN,
    BATCH_GATHERING,
    BATCH_RUNNING,
    BATCH_CLOSED,
    BATCH_DONE,
};

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

/* In the top bit of coalescer.inside: somebody waits for the callers to leave. */
#define INSIDE_DESTROY 0x80000000u

static inline void set_state(struct batch *batch, enum batch_state state)
{
    atomic_store_explicit(&batch->state, state, memory_order_release);
}

static inline enum batch_state get_state(const struct batch *batch)
{
    return atomic_load_explicit(&batch->state, memory_order_acquire);
}

static inline void batch_ref(struct batch *batch)
{
    atomic_fetch_add_explicit(&batch->refs, 1, memory_order_relaxed);
}

static inline void batch_unref(struct locus_coalescer *c, struct batch *batch)
{
    if (atomic_fetch_sub_explicit(&batch->refs, 1, memory_order_acq_rel) == 1) {
        memory_release(&c->hooks, batch, sizeof(*batch));
    }
}

/* Of what follows, all but locus_place_tell() and locus_coalescer_work() want the lock to be
 * held. */

/* ---- coalesce_result.c ----------------------------------------------------------- */

/* The flight of that key that others may join; NULL: none. */
struct locus_result *locus_flight_find(struct locus_coalescer *c, const void *key,
                                       size_t key_length);
/* A new one that can be found, with the batch's reference; NULL: no memory. */
struct locus_result *locus_flight_make(struct locus_coalescer *c, const void *key,
                                       size_t key_length);
/* From now on nobody finds it, if anybody did. */
void locus_flight_hide(struct locus_coalescer *c, struct locus_result *flight);

/* ---- coalesce_queue.c ------------------------------------------------------------ */

/* Puts a new flight into the batch that takes the next one. EFULL, ENOMEM. */
int locus_queue_add(struct locus_coalescer *c, const void *key, size_t key_length,
                    struct locus_result **out);
/*
 * Keeps a place that is free for the first batch that has none. That batch is returned with
 * a reference if one of its callers has to be told; locus_place_tell() does that once the
 * lock is released, and takes NULL as well.
 */
struct batch *locus_place_offer(struct locus_coalescer *c);
void locus_place_tell(struct locus_coalescer *c, struct batch *batch);
/* A worker gets the batch with the place that is kept for it. */
void locus_place_give(struct locus_coalescer *c, struct batch *batch);
void locus_place_free(struct locus_coalescer *c);
/* Takes a flight out of the queue for which nobody waits any more. Returns what
 * locus_place_offer() does. */
struct batch *locus_queue_abandon(struct locus_coalescer *c, struct batch *batch,
                                  struct locus_result *flight);
/* The batch need not linger, whether it has begun to or not. */
void locus_queue_hurry(struct batch *batch);

/* ---- coalesce_run.c -------------------------------------------------------------- */

/* Runs a batch for which a place is kept, unless nobody wants it any more. The lock is held
 * at the call, and released by it. */
void locus_coalescer_lead(struct locus_coalescer *c, struct batch *batch,
                          bool by_caller);
/* What a worker does until coalescer.stop; arg is the coalescer. */
void *locus_coalescer_work(void *arg);

#endif
