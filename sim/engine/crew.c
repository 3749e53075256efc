/* SPDX-License-Identifier: MIT */
#include "crew.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Threads wake each other for half a ring at a time, since on a busy machine every wake-up
 * is a switch. */
enum { SLOTS = 8, HALF = SLOTS / 2 };

struct ring {
    pthread_mutex_t lock;
    pthread_cond_t filled; /* head grew, or closed */
    pthread_cond_t freed;  /* some tail grew */
    struct arrival_batch slots[SLOTS];
    uint64_t head; /* batches written */
    bool closed;   /* no more will come */
    bool failed;   /* a member has: no more need come */
    struct worker *workers;
    size_t worker_count;
};

struct worker {
    struct ring *ring;
    struct crew_member *member;
    uint64_t tail; /* batches done; under the lock */
    pthread_t thread;
};

/* The next batch for this worker; NULL when there will be none. */
static const struct arrival_batch *wait_for_batch(struct worker *worker)
{
    struct ring *ring = worker->ring;
    const struct arrival_batch *slot = NULL;

    pthread_mutex_lock(&ring->lock);
    while (worker->tail == ring->head && !ring->closed) {
        pthread_cond_wait(&ring->filled, &ring->lock);
    }
    if (worker->tail != ring->head) {
        slot = &ring->slots[worker->tail % SLOTS];
    }
    pthread_mutex_unlock(&ring->lock);
    return slot;
}

static void batch_done(struct worker *worker)
{
    struct ring *ring = worker->ring;

    pthread_mutex_lock(&ring->lock);
    worker->tail++;
    ring->failed = ring->failed || worker->member->status != LOCUS_OK;
    if (ring->head - worker->tail == HALF) {
        pthread_cond_signal(&ring->freed);
    }
    pthread_mutex_unlock(&ring->lock);
}

static uint64_t thread_cpu_ns(void)
{
    struct timespec used;

    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) != 0) {
        return 0;
    }
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

static void *work(void *arg)
{
    struct worker *worker = arg;
    struct crew_member *member = worker->member;
    const struct arrival_batch *slot;

    member->status = LOCUS_OK;
    while ((slot = wait_for_batch(worker)) != NULL) {
        if (member->status == LOCUS_OK) {
            member->status = engine_run(member->engine, slot);
        }
        batch_done(worker);
    }
    if (member->status == LOCUS_OK) {
        member->status = engine_finish(member->engine);
    }
    member->cpu_ns = thread_cpu_ns();
    return NULL;
}

static uint64_t slowest(const struct ring *ring)
{
    uint64_t tail = ring->head;

    for (size_t i = 0; i < ring->worker_count; i++) {
        if (ring->workers[i].tail < tail) {
            tail = ring->workers[i].tail;
        }
    }
    return tail;
}

/* NULL: a member has failed. */
static struct arrival_batch *wait_for_room(struct ring *ring)
{
    pthread_mutex_lock(&ring->lock);
    if (ring->head - slowest(ring) == SLOTS) {
        pthread_cond_broadcast(&ring->filled);
        while (ring->head - slowest(ring) > HALF) {
            pthread_cond_wait(&ring->freed, &ring->lock);
        }
    }
    bool failed = ring->failed;
    pthread_mutex_unlock(&ring->lock);
    return failed ? NULL : &ring->slots[ring->head % SLOTS];
}

static void publish(struct ring *ring, bool close)
{
    pthread_mutex_lock(&ring->lock);
    if (close) {
        ring->closed = true;
    } else {
        ring->head++;
    }
    if (ring->closed || ring->head % HALF == 0) {
        pthread_cond_broadcast(&ring->filled);
    }
    pthread_mutex_unlock(&ring->lock);
}

static int no_memory(void)
{
    fprintf(stderr, "locus: out of memory for open connections\n");
    return -1;
}

static int read_all(struct ring *ring, struct arrival_source *source, struct plan *plan,
                    const volatile int *stop,
                    void (*progress)(void *arg, uint64_t arrivals), void *progress_arg)
{
    while (stop == NULL || *stop == 0) {
        struct arrival_batch *slot = wait_for_room(ring);
        if (slot == NULL) {
            return 0;
        }
        ssize_t got = arrivals_next(source, slot->arrivals);
        if (got < 0) {
            return -1;
        }
        if (got == 0) {
            break;
        }
        slot->count = (size_t)got;
        if (plan_batch(plan, slot) != LOCUS_OK) {
            return no_memory();
        }
        publish(ring, false);
        if (progress != NULL) {
            progress(progress_arg, source->counts.arrivals);
        }
    }
    for (;;) {
        struct arrival_batch *rest = wait_for_room(ring);
        if (rest == NULL) {
            return 0;
        }
        if (plan_rest(plan, rest) != LOCUS_OK) {
            return no_memory();
        }
        if (rest->departure_count == 0) {
            return 0;
        }
        publish(ring, false);
    }
}

int crew_run(struct arrival_source *source, struct crew_member *members, size_t count,
             const volatile int *stop, void (*progress)(void *arg, uint64_t arrivals),
             void *progress_arg)
{
    struct ring ring = {.lock = PTHREAD_MUTEX_INITIALIZER,
                        .filled = PTHREAD_COND_INITIALIZER,
                        .freed = PTHREAD_COND_INITIALIZER};
    struct arrival *arrivals = malloc(SLOTS * ARRIVAL_BATCH * sizeof(*arrivals));
    struct worker *workers = calloc(count, sizeof(*workers));
    struct plan plan;
    size_t started = 0;
    int result = -1;

    for (size_t i = 0; i < SLOTS && arrivals != NULL; i++) {
        ring.slots[i].arrivals = arrivals + i * ARRIVAL_BATCH;
    }
    ring.workers = workers;
    plan_init(&plan, 0, source->options.udp_ns);
    while (arrivals != NULL && workers != NULL && started < count) {
        struct worker *worker = &workers[started];
        *worker = (struct worker){.ring = &ring, .member = &members[started]};
        if (pthread_create(&worker->thread, NULL, work, worker) != 0) {
            break;
        }
        started++;
    }
    if (started == count && count > 0) {
        ring.worker_count = count;
        result = read_all(&ring, source, &plan, stop, progress, progress_arg);
    } else {
        fprintf(stderr, "locus: cannot start %zu threads\n", count);
    }
    publish(&ring, true);
    for (size_t i = 0; i < started; i++) {
        pthread_join(workers[i].thread, NULL);
    }
    for (size_t i = 0; i < SLOTS; i++) {
        free(ring.slots[i].departures);
    }
    plan_fini(&plan);
    free(workers);
    free(arrivals);
    return result;
}
