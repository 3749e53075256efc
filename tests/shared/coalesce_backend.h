/* SPDX-License-Identifier: MIT */
/*
 * A backend that the test holds in its hand: it can be stopped, told to fail, to hang and to lie.
 * No test depends on how long anything takes: where a state has to be reached first, the figures
 * are polled for it.
 */
#ifndef LOCUS_TESTS_COALESCE_BACKEND_H
#define LOCUS_TESTS_COALESCE_BACKEND_H

#include <locus/coalesce.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../support/suite.h"
#include "counted.h"

#define FOREVER 0
#define SOON_NS 20000000     /* a deadline that is to pass */
#define LATER_NS 60000000000 /* one that is not */

/* ---- memory ---------------------------------------------------------------------- */

static _Atomic int64_t live_values;

static inline void start_counting(void)
{
    live_bytes = 0;
    live_values = 0;
    allocations_left = -1;
}

static inline void nothing_is_left(void)
{
    ck_assert_int_eq(live_bytes, 0);
    ck_assert_int_eq(live_values, 0);
}

/* ---- the backend ----------------------------------------------------------------- */

struct value {
    char key[64];
    uint64_t version;
};

static inline struct value *make_value(const void *key, size_t length, uint64_t version)
{
    struct value *value = calloc(1, sizeof(*value));

    ck_assert_ptr_nonnull(value);
    memcpy(value->key, key, length < 63 ? length : 63);
    value->version = version;
    atomic_fetch_add(&live_values, 1);
    return value;
}

static inline void free_value(void *ctx, void *value)
{
    (void)ctx;
    atomic_fetch_sub(&live_values, 1);
    free(value);
}

struct backend {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool held;      /* batches stop here until released */
    uint32_t calls; /* batches begun */
    uint32_t keys;  /* in all of them */
    uint32_t largest;
    uint32_t now, most; /* batches at once */
    bool slots[8];
    pthread_t last_thread;
    uint64_t last_deadline_ns;
    char log[4096]; /* "a b|c|" : the keys of each batch */
    /* What to do with a batch after the stop; NULL: answer everything. */
    int (*act)(struct locus_batch *batch);
};

#define BACKEND_INIT                                                           \
    {                                                                          \
        .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER \
    }

static inline void answer_item(struct locus_batch_item *item)
{
    item->value = make_value(item->key, item->key_length, 0);
    item->status = LOCUS_OK;
}

static inline int answer_all(struct locus_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        answer_item(&batch->items[i]);
    }
    return LOCUS_OK;
}

static inline void note_batch(struct backend *b, const struct locus_batch *batch)
{
    size_t used = strlen(b->log);

    b->calls++;
    b->keys += (uint32_t)batch->count;
    b->largest = batch->count > b->largest ? (uint32_t)batch->count : b->largest;
    b->now++;
    b->most = b->now > b->most ? b->now : b->most;
    b->last_thread = pthread_self();
    b->last_deadline_ns = batch->deadline_ns;
    ck_assert_uint_lt(batch->slot, 8);
    ck_assert(!b->slots[batch->slot]);
    b->slots[batch->slot] = true;
    for (size_t i = 0; i < batch->count && used < sizeof(b->log) - 80; i++) {
        used += (size_t)snprintf(b->log + used, sizeof(b->log) - used, "%s%.*s",
                                 i > 0 ? " " : "", (int)batch->items[i].key_length,
                                 (const char *)batch->items[i].key);
    }
    snprintf(b->log + used, sizeof(b->log) - used, "|");
}

static inline int backend_batch(void *ctx, struct locus_batch *batch)
{
    struct backend *b = ctx;
    uint32_t slot = batch->slot;

    pthread_mutex_lock(&b->lock);
    note_batch(b, batch);
    pthread_cond_broadcast(&b->changed);
    while (b->held) {
        pthread_cond_wait(&b->changed, &b->lock);
    }
    pthread_mutex_unlock(&b->lock);
    int status = b->act != NULL ? b->act(batch) : answer_all(batch);
    pthread_mutex_lock(&b->lock);
    b->now--;
    b->slots[slot] = false;
    pthread_mutex_unlock(&b->lock);
    return status;
}

static inline void hold(struct backend *b, bool held)
{
    pthread_mutex_lock(&b->lock);
    b->held = held;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
}

static inline void wait_for_calls(struct backend *b, uint32_t calls)
{
    pthread_mutex_lock(&b->lock);
    while (b->calls < calls) {
        pthread_cond_wait(&b->changed, &b->lock);
    }
    pthread_mutex_unlock(&b->lock);
}

static inline struct locus_coalescer *make(struct backend *b,
                                           struct locus_coalescer_config config)
{
    struct locus_coalescer *c;

    config.batch = backend_batch;
    config.free_value = free_value;
    config.ctx = b;
    config.allocator = &counted;
    ck_assert_int_eq(locus_coalescer_create(&config, &c), LOCUS_OK);
    return c;
}

/* ---- callers --------------------------------------------------------------------- */

struct caller {
    pthread_t thread;
    struct locus_coalescer *c;
    const char *key;
    int64_t timeout_ns;
    int status;
    char got[64];
};

static inline void *call(void *arg)
{
    struct caller *caller = arg;
    struct locus_result *result;

    caller->status = locus_coalescer_get(caller->c, caller->key, strlen(caller->key),
                                         caller->timeout_ns, &result);
    if (caller->status == LOCUS_OK) {
        const struct value *value = locus_result_value(result);
        snprintf(caller->got, sizeof(caller->got), "%s",
                 value != NULL ? value->key : "(null)");
    } else {
        ck_assert_ptr_null(result);
    }
    locus_result_release(result);
    return NULL;
}

static inline void begin(struct caller *caller, struct locus_coalescer *c,
                         const char *key, int64_t timeout_ns)
{
    *caller = (struct caller){.c = c, .key = key, .timeout_ns = timeout_ns};
    ck_assert_int_eq(pthread_create(&caller->thread, NULL, call, caller), 0);
}

static inline int end(struct caller *caller)
{
    pthread_join(caller->thread, NULL);
    return caller->status;
}

static inline void expect_own_answer(struct caller *caller)
{
    ck_assert_int_eq(end(caller), LOCUS_OK);
    ck_assert_str_eq(caller->got, caller->key);
}

static inline struct locus_coalescer_figures figures(struct locus_coalescer *c)
{
    struct locus_coalescer_figures f;

    locus_coalescer_get_figures(c, &f);
    return f;
}

static inline void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

/* calls are counted on entry, and queued or shared a moment later: both are waited for. */
static inline void wait_for_queue(struct locus_coalescer *c, uint32_t queued,
                                  uint64_t shared)
{
    while (figures(c).queued != queued || figures(c).shared != shared) {
        nap();
    }
}

static inline int get(struct locus_coalescer *c, const char *key, int64_t timeout_ns)
{
    struct caller caller = {.c = c, .key = key, .timeout_ns = timeout_ns};

    call(&caller);
    if (caller.status == LOCUS_OK) {
        ck_assert_str_eq(caller.got, key);
    }
    return caller.status;
}

/* A caller gives up once its batch hangs; on a slow machine one may do so before. */
static inline void give_up_in_flight(struct locus_coalescer *c, const char *key)
{
    do {
        ck_assert_int_eq(get(c, key, SOON_NS), LOCUS_ETIMEDOUT);
    } while (figures(c).inflight == 0);
}

#endif
