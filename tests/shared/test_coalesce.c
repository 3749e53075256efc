/* SPDX-License-Identifier: MIT */
/*
 * The coalescer against a backend that the test holds in its hand: it can be stopped, told
 * to fail, to hang and to lie. No test depends on how long anything takes: where a state
 * has to be reached first, the figures are polled for it.
 */
#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <locus/coalesce.h>

#include "../support/suite.h"
#include "counted.h"
#include "histogram.h"

#define FOREVER 0
#define SOON_NS 20000000     /* a deadline that is to pass */
#define LATER_NS 60000000000 /* one that is not */

/* ---- memory ---------------------------------------------------------------------- */

static _Atomic int64_t live_values;

static void start_counting(void)
{
    live_bytes = 0;
    live_values = 0;
    allocations_left = -1;
}

static void nothing_is_left(void)
{
    ck_assert_int_eq(live_bytes, 0);
    ck_assert_int_eq(live_values, 0);
}

/* ---- the backend ----------------------------------------------------------------- */

struct value {
    char key[64];
    uint64_t version;
};

static struct value *make_value(const void *key, size_t length, uint64_t version)
{
    struct value *value = calloc(1, sizeof(*value));

    ck_assert_ptr_nonnull(value);
    memcpy(value->key, key, length < 63 ? length : 63);
    value->version = version;
    atomic_fetch_add(&live_values, 1);
    return value;
}

static void free_value(void *ctx, void *value)
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

static void answer_item(struct locus_batch_item *item)
{
    item->value = make_value(item->key, item->key_length, 0);
    item->status = LOCUS_OK;
}

static int answer_all(struct locus_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        answer_item(&batch->items[i]);
    }
    return LOCUS_OK;
}

static void note_batch(struct backend *b, const struct locus_batch *batch)
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

static int backend_batch(void *ctx, struct locus_batch *batch)
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

static void hold(struct backend *b, bool held)
{
    pthread_mutex_lock(&b->lock);
    b->held = held;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
}

static void wait_for_calls(struct backend *b, uint32_t calls)
{
    pthread_mutex_lock(&b->lock);
    while (b->calls < calls) {
        pthread_cond_wait(&b->changed, &b->lock);
    }
    pthread_mutex_unlock(&b->lock);
}

static struct locus_coalescer *make(struct backend *b,
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

static void *call(void *arg)
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

static void begin(struct caller *caller, struct locus_coalescer *c, const char *key,
                  int64_t timeout_ns)
{
    *caller = (struct caller){.c = c, .key = key, .timeout_ns = timeout_ns};
    ck_assert_int_eq(pthread_create(&caller->thread, NULL, call, caller), 0);
}

static int end(struct caller *caller)
{
    pthread_join(caller->thread, NULL);
    return caller->status;
}

static void expect_own_answer(struct caller *caller)
{
    ck_assert_int_eq(end(caller), LOCUS_OK);
    ck_assert_str_eq(caller->got, caller->key);
}

static struct locus_coalescer_figures figures(struct locus_coalescer *c)
{
    struct locus_coalescer_figures f;

    locus_coalescer_get_figures(c, &f);
    return f;
}

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

/* calls are counted on entry, and queued or shared a moment later: both are waited for. */
static void wait_for_queue(struct locus_coalescer *c, uint32_t queued, uint64_t shared)
{
    while (figures(c).queued != queued || figures(c).shared != shared) {
        nap();
    }
}

static int get(struct locus_coalescer *c, const char *key, int64_t timeout_ns)
{
    struct caller caller = {.c = c, .key = key, .timeout_ns = timeout_ns};

    call(&caller);
    if (caller.status == LOCUS_OK) {
        ck_assert_str_eq(caller.got, key);
    }
    return caller.status;
}

/* A caller gives up once its batch hangs; on a slow machine one may do so before. */
static void give_up_in_flight(struct locus_coalescer *c, const char *key)
{
    do {
        ck_assert_int_eq(get(c, key, SOON_NS), LOCUS_ETIMEDOUT);
    } while (figures(c).inflight == 0);
}

/* ---- one call -------------------------------------------------------------------- */

START_TEST(a_single_call_gets_its_answer)
{
    struct backend b = BACKEND_INIT;
    struct locus_coalescer *c;

    start_counting();
    c = make(&b, (struct locus_coalescer_config){0});
    ck_assert_int_eq(get(c, "a", FOREVER), LOCUS_OK);
    ck_assert_int_eq(get(c, "b", LATER_NS), LOCUS_OK);
    ck_assert_int_eq(get(c, "", -1), LOCUS_OK);
    ck_assert_str_eq(b.log, "a|b||");
    locus_coalescer_destroy(c);
    nothing_is_left();
}
END_TEST

START_TEST(a_result_may_outlive_the_coalescer)
{
    struct backend b = BACKEND_INIT;
    struct locus_coalescer *c;
    struct locus_result *result;

    start_counting();
    c = make(&b, (struct locus_coalescer_config){0});
    ck_assert_int_eq(locus_coalescer_get(c, "a", 1, FOREVER, &result), LOCUS_OK);
    locus_coalescer_destroy(c);
    ck_assert_str_eq(((const struct value *)locus_result_value(result))->key, "a");
    locus_result_release(result);
    nothing_is_left();
}
END_TEST

START_TEST(wrong_configurations_and_keys_are_refused)
{
    struct backend b = BACKEND_INIT;
    struct locus_coalescer *c;
    struct locus_result *result;
    static const char long_key[LOCUS_KEY_MAX + 1];
    struct locus_coalescer_config config = {0};

    ck_assert_int_eq(locus_coalescer_create(&config, &c), LOCUS_EINVAL);
    ck_assert_ptr_null(c);
    config.batch = backend_batch;
    config.concurrency = LOCUS_CONCURRENCY_MAX + 1;
    ck_assert_int_eq(locus_coalescer_create(&config, &c), LOCUS_ERANGE);
    config.concurrency = 0;
    config.max_batch = LOCUS_BATCH_MAX + 1;
    ck_assert_int_eq(locus_coalescer_create(&config, &c), LOCUS_ERANGE);
    config.max_batch = 0;
    config.linger_ns = UINT64_MAX;
    ck_assert_int_eq(locus_coalescer_create(&config, &c), LOCUS_ERANGE);

    c = make(&b, (struct locus_coalescer_config){0});
    ck_assert_int_eq(locus_coalescer_get(c, NULL, 1, 0, &result), LOCUS_EINVAL);
    ck_assert_int_eq(locus_coalescer_get(c, long_key, sizeof(long_key), 0, &result),
                     LOCUS_EINVAL);
    ck_assert_int_eq(locus_coalescer_get(c, long_key, LOCUS_KEY_MAX, 0, &result),
                     LOCUS_OK);
    locus_result_release(result);
    locus_coalescer_destroy(c);
    locus_coalescer_destroy(NULL);
    locus_result_release(NULL);
}
END_TEST

/* ---- who runs a batch ------------------------------------------------------------ */

START_TEST(patient_callers_run_their_batch_themselves)
{
    struct backend b = BACKEND_INIT;
    struct locus_coalescer *c = make(&b, (struct locus_coalescer_config){
                                             .batch_bound_ns = 1000000000,
                                         });

    ck_assert_int_eq(get(c, "a", FOREVER), LOCUS_OK);
    ck_assert(pthread_equal(b.last_thread, pthread_self()));
    ck_assert_uint_eq(b.last_deadline_ns, UINT64_MAX);
    ck_assert_int_eq(get(c, "b", LATER_NS), LOCUS_OK);
    ck_assert(pthread_equal(b.last_thread, pthread_self()));
    ck_assert_uint_lt(b.last_deadline_ns, UINT64_MAX);
    ck_assert_uint_eq(figures(c).batches_led, 2);
    locus_coalescer_destroy(c);
}
END_TEST

START_TEST(impatient_callers_leave_it_to_a_worker)
{
    struct backend b = BACKEND_INIT;
    struct locus_coalescer *c = make(&b, (struct locus_coalescer_config){
                                             .batch_bound_ns = (uint64_t)LATER_NS + 1,
                                         });

    ck_assert_int_eq(get(c, "a", LATER_NS), LOCUS_OK);
    ck_assert(!pthread_equal(b.last_thread, pthread_self()));
    locus_coalescer_destroy(c);

    c = make(&b, (struct locus_coalescer_config){0});
    ck_assert_int_eq(get(c, "a", LATER_NS), LOCUS_OK);
    ck_assert(!pthread_equal(b.last_thread, pthread_self()));
    locus_coalescer_destroy(c);

    c = make(&b, (struct locus_coalescer_config){.workers_only = true});
    ck_assert_int_eq(get(c, "a", FOREVER), LOCUS_OK);
    ck_assert(!pthread_equal(b.last_thread, pthread_self()));
    ck_assert_uint_eq(figures(c).batches_led, 0);
    locus_coalescer_destroy(c);
}
END_TEST

START_TEST(an_impatient_caller_leaves_while_a_batch_hangs_and_its_late_value_is_freed)
{
    struct backend b = BACKEND_INIT;
    struct locus_coalescer *c;

    start_counting();
    c = make(&b, (struct locus_coalescer_config){0});
    hold(&b, true);
    give_up_in_flight(c, "a");
    ck_assert_uint_eq(figures(c).running, 1);
    ck_assert_uint_eq(figures(c).inflight, 1);
    hold(&b, false);
    locus_coalescer_shutdown(c, LOCUS_DRAIN);
    while (figures(c).late != 1) {
        nap();
    }
    ck_assert_uint_eq(figures(c).timeouts, figures(c).abandoned + 1);
    locus_coalescer_destroy(c);
    nothing_is_left();
}
END_TEST

START_TEST(an_offer_met_by_an_impatient_caller_goes_to_a_worker)
{
    struct backend b = BACKEND_INIT;
    struct locus_coalescer *c;
    struct caller first, second;

    start_counting();
    c = make(&b, (struct locus_coalescer_config){.batch_bound_ns = 1});
    hold(&b, true);
    begin(&first, c, "a", FOREVER);
    wait_for_calls(&b, 1);
    /* Patient when it comes, no longer when its turn would be. */
    begin(&second, c, "b", SOON_NS);
    ck_assert_int_eq(end(&second), LOCUS_ETIMEDOUT);
    begin(&second, c, "c", LATER_NS);
    wait_for_queue(c, 1, 0);
    hold(&b, false);
    expect_own_answer(&first);
    expect_own_answer(&second);
    ck_assert_str_eq(b.log, "a|c|");
    locus_coalescer_destroy(c);
    nothing_is_left();
}
END_TEST

/* ---- batches --------------------------------------------------------------------- */

START_TEST(what_waits_goes_in_one_batch_of_at_most_max_batch)
{
    struct backend b = BACKEND_INIT;
    struct caller callers[8];
    static const char *const keys[8] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    struct locus_coalescer *c = make(&b, (struct locus_coalescer_config){
                                             .max_batch = 3,
                                             .workers_only = _i == 1,
                                         });

    hold(&b, true);
    begin(&callers[0], c, keys[0], FOREVER);
    wait_for_calls(&b, 1);
    for (uint32_t i = 1; i < 8; i++) {
        begin(&callers[i], c, keys[i], FOREVER);
        wait_for_queue(c, i, 0);
    }
    ck_assert_uint_eq(figures(c).queued_max, 7);
    hold(&b, false);
    for (int i = 0; i < 8; i++) {
        expect_own_answer(&callers[i]);
    }
    ck_assert_str_eq(b.log, "a|b c d|e f g|h|");
    ck_assert_uint_eq(figures(c).queued, 0);
    ck_assert_uint_eq(figures(c).batches, 4);
    ck_assert_uint_eq(figures(c).keys, 8);
    ck_assert_uint_eq(figures(c).batch_size.max, 3);
    locus_coalescer_destroy(c);
}
END_TEST

START_TEST(at_most_concurrency_batches_run_at_once)
{
    struct backend b = BACKEND_INIT;
    struct caller callers[6];
    static const char *const keys[6] = {"a", "b", "c", "d", "e", "f"};
    struct locus_coalescer *c = make(&b, (struct locus_coalescer_config){
                                             .concurrency = 3,
                                             .max_batch = 1,
                                             .workers_only = _i == 1,
                                         });

    hold(&b, true);
    for (int i = 0; i < 6; i++) {
        begin(&callers[i], c, keys[i], i % 2 == 0 ? FOREVER : LATER_NS);
    }
    wait_for_calls(&b, 3);
    wait_for_queue(c, 3, 0);
    ck_assert_uint_eq(figures(c).running, 3);
    hold(&b, false);
    for (int i = 0; i < 6; i++) {
        expect_own_answer(&callers[i]);
    }
    ck_assert_uint_eq(b.most, 3);
    ck_assert_uint_eq(figures(c).running_max, 3);
    locus_coalescer_destroy(c);
}
END_TEST

START_TEST(a_lingering_batch_starts_when_it_is_full)
{
    struct backend b = BACKEND_INIT;
    struct caller callers[3];
    static const char *const keys[3] = {"a", "b", "c"};
    /* An hour: the test ends only because the third caller fills the batch. */
    struct locus_coalescer *c = make(&b, (struct locus_coalescer_config){
                                             .max_batch = 3,
                                             .linger_ns = 3600000000000,
                                             .workers_only = _i == 1,
                                         });

    for (uint32_t i = 0; i < 3; i++) {
        begin(&callers[i], c, keys[i], FOREVER);
        while (figures(c).queued != i + 1 && figures(c).batches == 0) {
            nap();
        }
    }
    for (int i = 0; i < 3; i++) {
        expect_own_answer(&callers[i]);
    }
    ck_assert_str_eq(b.log, "a b c|");
    locus_coalescer_destroy(c);
}
END_TEST

START_TEST(a_lingering_batch_starts_when_its_time_is_up)
{
    struct backend b = BACKEND_INIT;
    struct locus_coalescer *c = make(&b, (struct locus_coalescer_config){
                                             .linger_ns = 1000000,
                                             .workers_only = _i == 1,
                                         });

    ck_assert_int_eq(get(c, "a", FOREVER), LOCUS_OK);
    ck_assert_int_eq(get(c, "b", LATER_NS), LOCUS_OK);
    locus_coalescer_destroy(c);
}
END_TEST

START_TEST(a_lingering_batch_that_everybody_leaves_is_not_run)
{
    struct backend b = BACKEND_INIT;
    struct locus_coalescer *c;

    start_counting();
    c = make(&b, (struct locus_coalescer_config){.linger_ns = (uint64_t)LATER_NS});
    ck_assert_int_eq(get(c, "a", SOON_NS), LOCUS_ETIMEDOUT);
    ck_assert_uint_eq(figures(c).abandoned, 1);
    /* Somebody who comes then joins the batch that still lingers. */
    struct caller caller;
    begin(&caller, c, "b", FOREVER);
    wait_for_queue(c, 1, 0);
    locus_coalescer_shutdown(c, _i == 0 ? LOCUS_DRAIN : LOCUS_REFUSE);
    ck_assert_int_eq(end(&caller), _i == 0 ? LOCUS_OK : LOCUS_ECLOSED);
    ck_assert_uint_eq(b.calls, _i == 0 ? 1 : 0);
    locus_coalescer_destroy(c);
    nothing_is_left();
}
END_TEST

START_TEST(an_empty_lingering_batch_does_not_hinder_the_end)
{
    struct backend b = BACKEND_INIT;
    struct locus_coalescer *c;

    start_counting();
    c = make(&b, (struct locus_coalescer_config){.linger_ns = (uint64_t)LATER_NS});
    ck_assert_int_eq(get(c, "a", SOON_NS), LOCUS_ETIMEDOUT);
    locus_coalescer_destroy(c);
    ck_assert_uint_eq(b.calls, 0);
    nothing_is_left();
}
END_TEST

/* ---- sharing --------------------------------------------------------------------- */

START_TEST(equal_queued_keys_share_one_place_in_batch_and_queue)
{
    struct backend b = BACKEND_INIT;
    struct caller callers[6];
    struct locus_coalescer *c;

    start_counting();
    c = make(&b, (struct locus_coalescer_config){.max_batch = 2, .queue_capacity = 2});
    hold(&b, true);
    begin(&callers[0], c, "a", FOREVER);
    wait_for_calls(&b, 1);
    begin(&callers[1], c, "b", FOREVER);
    wait_for_queue(c, 1, 0);
    begin(&callers[2], c, "b", LATER_NS);
    wait_for_queue(c, 1, 1);
    begin(&callers[3], c, "c", FOREVER);
    wait_for_queue(c, 2, 1);
    /* The queue is full: a new key is refused, a queued one is not. */
    ck_assert_int_eq(get(c, "d", FOREVER), LOCUS_EFULL);
    begin(&callers[4], c, "c", LATER_NS);
    begin(&callers[5], c, "b", FOREVER);
    wait_for_queue(c, 2, 3);
    hold(&b, false);
    for (int i = 0; i < 6; i++) {
        expect_own_answer(&callers[i]);
    }
    ck_assert_str_eq(b.log, "a|b c|");
    ck_assert_uint_eq(figures(c).queue_full, 1);
    ck_assert_uint_eq(figures(c).shared, 3);
    locus_coalescer_destroy(c);
    nothing_is_left();
}
END_TEST

START_TEST(a_call_joins_a_batch_already_sent_only_on_request)
{
    struct backend b = BACKEND_INIT;
    struct caller callers[2];
    struct locus_coalescer *c =
        make(&b, (struct locus_coalescer_config){
                     .share = _i == 0 ? LOCUS_SHARE_QUEUED : LOCUS_SHARE_INFLIGHT});

    hold(&b, true);
    begin(&callers[0], c, "a", FOREVER);
    wait_for_calls(&b, 1);
    begin(&callers[1], c, "a", FOREVER);
    wait_for_queue(c, _i == 0 ? 1 : 0, _i == 0 ? 0 : 1);
    hold(&b, false);
    expect_own_answer(&callers[0]);
    expect_own_answer(&callers[1]);
    ck_assert_int_eq(get(c, "a", FOREVER), LOCUS_OK);
    ck_assert_str_eq(b.log, _i == 0 ? "a|a|a|" : "a|a|");
    locus_coalescer_destroy(c);
}
END_TEST

START_TEST(without_sharing_equal_keys_get_an_answer_each)
{
    struct backend b = BACKEND_INIT;
    struct caller callers[3];
    struct locus_coalescer *c =
        make(&b, (struct locus_coalescer_config){.share = LOCUS_SHARE_NONE});

    hold(&b, true);
    begin(&callers[0], c, "a", FOREVER);
    wait_for_calls(&b, 1);
    for (uint32_t i = 1; i < 3; i++) {
        begin(&callers[i], c, "a", FOREVER);
        wait_for_queue(c, i, 0);
    }
    hold(&b, false);
    for (int i = 0; i < 3; i++) {
        expect_own_answer(&callers[i]);
    }
    ck_assert_str_eq(b.log, "a|a a|");
    locus_coalescer_destroy(c);
}
END_TEST

/* ---- deadlines ------------------------------------------------------------------- */

START_TEST(one_callers_deadline_does_not_harm_another_with_the_same_key)
{
    struct backend b = BACKEND_INIT;
    struct caller patient, hasty, first;
    struct locus_coalescer *c;

    start_counting();
    c = make(&b, (struct locus_coalescer_config){.share = LOCUS_SHARE_INFLIGHT});
    hold(&b, true);
    begin(&first, c, "a", FOREVER);
    wait_for_calls(&b, 1);
    /* In flight, and queued. */
    ck_assert_int_eq(get(c, "a", SOON_NS), LOCUS_ETIMEDOUT);
    begin(&hasty, c, "b", SOON_NS);
    begin(&patient, c, "b", LATER_NS);
    ck_assert_int_eq(end(&hasty), LOCUS_ETIMEDOUT);
    hold(&b, false);
    expect_own_answer(&patient);
    expect_own_answer(&first);
    ck_assert_uint_eq(figures(c).timeouts, 2);
    locus_coalescer_destroy(c);
    nothing_is_left();
}
END_TEST

START_TEST(a_key_that_nobody_waits_for_any_more_is_not_fetched)
{
    struct backend b = BACKEND_INIT;
    struct caller first, last;
    struct locus_coalescer *c;

    start_counting();
    c = make(&b, (struct locus_coalescer_config){.max_batch = 2,
                                                 .queue_capacity = 3,
                                                 .share = (enum locus_share)_i});
    hold(&b, true);
    begin(&first, c, "a", FOREVER);
    wait_for_calls(&b, 1);
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(get(c, "b", SOON_NS / 4), LOCUS_ETIMEDOUT);
        ck_assert_uint_eq(figures(c).queued, 0);
    }
    begin(&last, c, "c", LATER_NS);
    wait_for_queue(c, 1, 0);
    hold(&b, false);
    expect_own_answer(&first);
    expect_own_answer(&last);
    ck_assert_str_eq(b.log, "a|c|");
    ck_assert_uint_eq(figures(c).abandoned, 5);
    locus_coalescer_destroy(c);
    nothing_is_left();
}
END_TEST

static _Atomic bool first_wanted, past_the_end_wanted;

static int ask_whether_wanted(struct locus_batch *batch)
{
    first_wanted = locus_batch_wanted(batch, 0);
    past_the_end_wanted = locus_batch_wanted(batch, batch->count);
    return answer_all(batch);
}

START_TEST(a_batch_function_can_ask_who_still_waits)
{
    struct backend b = BACKEND_INIT;
    struct locus_coalescer *c;

    b.act = ask_whether_wanted;
    c = make(&b, (struct locus_coalescer_config){0});
    ck_assert_int_eq(get(c, "a", LATER_NS), LOCUS_OK);
    ck_assert(first_wanted);
    ck_assert(!past_the_end_wanted);
    hold(&b, true);
    give_up_in_flight(c, "a");
    hold(&b, false);
    locus_coalescer_shutdown(c, LOCUS_DRAIN);
    locus_coalescer_destroy(c);
    ck_assert(!first_wanted);
}
END_TEST

static _Atomic bool skipped, go_on;

static int skip_the_unwanted(struct locus_batch *batch)
{
    if (locus_batch_wanted(batch, 0)) {
        return answer_all(batch);
    }
    skipped = true;
    while (!go_on) {
        nap();
    }
    return LOCUS_OK;
}

START_TEST(a_caller_does_not_join_a_key_in_flight_that_was_given_up)
{
    struct backend b = BACKEND_INIT;
    struct locus_coalescer *c;
    struct caller late;

    start_counting();
    b.act = skip_the_unwanted;
    c = make(&b, (struct locus_coalescer_config){.share = LOCUS_SHARE_INFLIGHT});
    hold(&b, true);
    give_up_in_flight(c, "a");
    hold(&b, false);
    while (!skipped) {
        nap();
    }
    begin(&late, c, "a", LATER_NS);
    while (figures(c).queued + figures(c).shared == 0) {
        nap();
    }
    go_on = true;
    expect_own_answer(&late);
    locus_coalescer_destroy(c);
    nothing_is_left();
}
END_TEST

/* ---- batch functions that fail and lie ------------------------------------------- */

/* Answers by key: o: OK; n: OK without a value; e: an error; E: an error and a value;
 * g: a positive status and a value; u: nothing at all. */
static int answer_by_key(struct locus_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct locus_batch_item *item = &batch->items[i];
        char kind = *(const char *)item->key;
        if (strchr("oEg", kind) != NULL) {
            answer_item(item);
        }
        item->status = kind == 'o' || kind == 'n'   ? LOCUS_OK
                       : kind == 'e' || kind == 'E' ? -1234
                       : kind == 'g'                ? 77
                                                    : item->status;
    }
    return LOCUS_OK;
}

static int answer_by_key_and_fail(struct locus_batch *batch)
{
    (void)answer_by_key(batch);
    return LOCUS_EIO;
}

static int answer_by_key_and_return_nonsense(struct locus_batch *batch)
{
    (void)answer_by_key(batch);
    return 5;
}

START_TEST(every_caller_gets_the_status_of_its_own_key)
{
    static const struct {
        int (*act)(struct locus_batch *);
        int unanswered;
    } rows[] = {
        {answer_by_key, LOCUS_EFORMAT},
        {answer_by_key_and_fail, LOCUS_EIO},
        {answer_by_key_and_return_nonsense, LOCUS_EFORMAT},
    };
    static const char *const keys[] = {"o", "n", "e", "E", "g", "u"};
    const int expected[] = {
        LOCUS_OK, LOCUS_OK, -1234, -1234, rows[_i].unanswered, rows[_i].unanswered};
    struct caller first, callers[6];
    struct backend b = BACKEND_INIT;
    struct locus_coalescer *c;

    start_counting();
    b.act = rows[_i].act;
    c = make(&b, (struct locus_coalescer_config){0});
    hold(&b, true);
    begin(&first, c, "o", FOREVER);
    wait_for_calls(&b, 1);
    for (uint32_t i = 0; i < 6; i++) {
        begin(&callers[i], c, keys[i], FOREVER);
        wait_for_queue(c, i + 1, 0);
    }
    hold(&b, false);
    for (int i = 0; i < 6; i++) {
        ck_assert_int_eq(end(&callers[i]), expected[i]);
    }
    ck_assert_str_eq(callers[0].got, "o");
    ck_assert_str_eq(callers[1].got, "(null)");
    ck_assert_int_eq(end(&first), LOCUS_OK);
    ck_assert_uint_eq(figures(c).unanswered, 2);
    ck_assert_uint_eq(figures(c).failed, 4);
    ck_assert_uint_eq(figures(c).batches_failed, _i > 0 ? 2 : 0);
    locus_coalescer_destroy(c);
    nothing_is_left();
}
END_TEST

static int fail_once_status;

static int fail_once(struct locus_batch *batch)
{
    int status = fail_once_status;

    fail_once_status = LOCUS_OK;
    return status != LOCUS_OK ? status : answer_all(batch);
}

START_TEST(an_error_stays_with_the_run_that_failed)
{
    struct backend b = BACKEND_INIT;
    struct caller failing, fine;
    struct locus_coalescer *c;

    fail_once_status = LOCUS_ETIMEDOUT;
    b.act = fail_once;
    c = make(&b, (struct locus_coalescer_config){0});
    hold(&b, true);
    begin(&failing, c, "a", FOREVER);
    wait_for_calls(&b, 1);
    begin(&fine, c, "a", FOREVER);
    wait_for_queue(c, 1, 0);
    hold(&b, false);
    ck_assert_int_eq(end(&failing), LOCUS_ETIMEDOUT);
    expect_own_answer(&fine);
    /* The key's own error is no time-out of the call. */
    ck_assert_uint_eq(figures(c).timeouts, 0);
    ck_assert_uint_eq(figures(c).failed, 1);
    locus_coalescer_destroy(c);
}
END_TEST

static int scribble(struct locus_batch *batch)
{
    (void)answer_all(batch);
    batch->items[0].key = (const void *)1;
    batch->items[0].key_length = SIZE_MAX;
    batch->items = NULL;
    batch->count = SIZE_MAX;
    batch->slot = UINT32_MAX;
    return LOCUS_OK;
}

START_TEST(a_batch_function_that_scribbles_over_the_batch_harms_nobody)
{
    struct backend b = BACKEND_INIT;
    struct locus_coalescer *c;

    start_counting();
    b.act = scribble;
    c = make(&b, (struct locus_coalescer_config){0});
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(get(c, "a", FOREVER), LOCUS_OK);
    }
    locus_coalescer_destroy(c);
    nothing_is_left();
}
END_TEST

/* ---- the end --------------------------------------------------------------------- */

START_TEST(a_drain_serves_who_waits_and_refuses_who_comes)
{
    struct backend b = BACKEND_INIT;
    struct caller running, queued;
    struct locus_coalescer *c;

    start_counting();
    c = make(&b, (struct locus_coalescer_config){.workers_only = _i == 1});
    hold(&b, true);
    begin(&running, c, "a", FOREVER);
    wait_for_calls(&b, 1);
    begin(&queued, c, "b", LATER_NS);
    wait_for_queue(c, 1, 0);
    locus_coalescer_shutdown(c, LOCUS_DRAIN);
    ck_assert_int_eq(get(c, "c", FOREVER), LOCUS_ECLOSED);
    ck_assert_int_eq(get(c, "b", FOREVER), LOCUS_ECLOSED);
    hold(&b, false);
    locus_coalescer_destroy(c);
    expect_own_answer(&running);
    expect_own_answer(&queued);
    nothing_is_left();
}
END_TEST

START_TEST(a_refusal_wakes_everybody_at_once_even_if_the_batch_hangs)
{
    struct backend b = BACKEND_INIT;
    struct caller running, queued[3];
    struct locus_coalescer *c;

    start_counting();
    c = make(&b, (struct locus_coalescer_config){.workers_only = true, .max_batch = 2});
    hold(&b, true);
    begin(&running, c, "a", FOREVER);
    wait_for_calls(&b, 1);
    begin(&queued[0], c, "b", LATER_NS);
    begin(&queued[1], c, "c", FOREVER);
    begin(&queued[2], c, "d", FOREVER);
    wait_for_queue(c, 3, 0);
    if (_i == 1) {
        locus_coalescer_shutdown(c, LOCUS_DRAIN);
    }
    locus_coalescer_shutdown(c, LOCUS_REFUSE);
    locus_coalescer_shutdown(c, LOCUS_DRAIN);
    locus_coalescer_shutdown(c, LOCUS_REFUSE);
    ck_assert_int_eq(end(&running), LOCUS_ECLOSED);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(end(&queued[i]), LOCUS_ECLOSED);
    }
    ck_assert_uint_eq(figures(c).closed, 4);
    ck_assert_uint_eq(figures(c).queued, 0);
    hold(&b, false);
    locus_coalescer_destroy(c);
    ck_assert_uint_eq(b.calls, 1);
    nothing_is_left();
}
END_TEST

START_TEST(a_caller_that_runs_a_batch_gets_its_answer_in_spite_of_a_refusal)
{
    struct backend b = BACKEND_INIT;
    struct caller running;
    struct locus_coalescer *c = make(&b, (struct locus_coalescer_config){0});

    hold(&b, true);
    begin(&running, c, "a", FOREVER);
    wait_for_calls(&b, 1);
    locus_coalescer_shutdown(c, LOCUS_REFUSE);
    hold(&b, false);
    locus_coalescer_destroy(c);
    expect_own_answer(&running);
}
END_TEST

START_TEST(a_child_of_fork_finds_it_closed)
{
    struct backend b = BACKEND_INIT;
    struct locus_coalescer *c = make(&b, (struct locus_coalescer_config){0});
    int status;

    pid_t child = fork();
    if (child == 0) {
        struct locus_result *result;
        int got = locus_coalescer_get(c, "a", 1, FOREVER, &result);
        locus_coalescer_shutdown(c, LOCUS_REFUSE);
        locus_coalescer_destroy(c);
        _exit(got == LOCUS_ECLOSED ? 0 : 1);
    }
    ck_assert_int_gt(child, 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(get(c, "a", FOREVER), LOCUS_OK);
    locus_coalescer_destroy(c);
}
END_TEST

/* ---- memory ---------------------------------------------------------------------- */

START_TEST(every_allocation_may_fail)
{
    struct backend b = BACKEND_INIT;
    int64_t n = 0;
    int status = LOCUS_ENOMEM;

    start_counting();
    for (; status != LOCUS_OK; n++) {
        struct locus_coalescer_config config = {
            .batch = backend_batch,
            .free_value = free_value,
            .ctx = &b,
            .concurrency = 2,
            .allocator = &counted,
            .share = (enum locus_share)_i,
        };
        struct locus_coalescer *c;
        allocations_left = n;
        status = locus_coalescer_create(&config, &c);
        if (status == LOCUS_OK) {
            status = get(c, "a", FOREVER);
            if (status != LOCUS_OK) {
                ck_assert_uint_eq(figures(c).no_memory, 1);
                ck_assert_uint_eq(figures(c).queued, 0);
                allocations_left = -1;
                ck_assert_int_eq(get(c, "a", FOREVER), LOCUS_OK);
            }
            locus_coalescer_destroy(c);
        }
        ck_assert(status == LOCUS_OK || status == LOCUS_ENOMEM);
        nothing_is_left();
    }
    ck_assert_int_gt(n, 8);
}
END_TEST

START_TEST(a_failed_allocation_does_not_disturb_the_queue)
{
    struct backend b = BACKEND_INIT;
    struct caller running, queued;
    struct locus_coalescer *c;

    start_counting();
    c = make(&b, (struct locus_coalescer_config){.max_batch = 1});
    hold(&b, true);
    begin(&running, c, "a", FOREVER);
    wait_for_calls(&b, 1);
    begin(&queued, c, "b", FOREVER);
    wait_for_queue(c, 1, 0);
    /* One allocation for the flight, one for its batch. */
    for (int64_t n = 0; n < 2; n++) {
        allocations_left = n;
        ck_assert_int_eq(get(c, "c", FOREVER), LOCUS_ENOMEM);
        ck_assert_uint_eq(figures(c).queued, 1);
    }
    allocations_left = -1;
    hold(&b, false);
    expect_own_answer(&running);
    expect_own_answer(&queued);
    ck_assert_int_eq(get(c, "c", FOREVER), LOCUS_OK);
    locus_coalescer_destroy(c);
    nothing_is_left();
}
END_TEST

/* ---- figures --------------------------------------------------------------------- */

static int collect(void *ctx, const char *text, size_t length)
{
    char *all = ctx;
    size_t used = strlen(all);

    ck_assert_uint_lt(used + length, 32768);
    memcpy(all + used, text, length);
    all[used + length] = '\0';
    return 0;
}

static int stop_at_once(void *ctx, const char *text, size_t length)
{
    (void)text;
    (void)length;
    ++*(int *)ctx;
    return 1;
}

START_TEST(the_figures_are_written_for_prometheus)
{
    static char text[32768];
    struct backend b = BACKEND_INIT;
    struct locus_coalescer *c = make(&b, (struct locus_coalescer_config){0});
    int writes = 0;

    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(get(c, "a", FOREVER), LOCUS_OK);
    }
    ck_assert_int_eq(locus_coalescer_write_metrics(c, "a\"b\\c\nd", collect, text),
                     LOCUS_OK);
#define LABEL "{coalescer=\"a\\\"b\\\\c\\nd\""
    ck_assert_ptr_nonnull(
        strstr(text, "locus_coalescer_calls_total" LABEL ",outcome=\"answered\"} 5\n"));
    ck_assert_ptr_nonnull(strstr(text, "# TYPE locus_coalescer_queued gauge\n"));
    ck_assert_ptr_nonnull(
        strstr(text, "locus_coalescer_batch_keys_bucket" LABEL ",le=\"1\"} 5\n"));
    ck_assert_ptr_nonnull(
        strstr(text, "locus_coalescer_batch_keys_bucket" LABEL ",le=\"+Inf\"} 5\n"));
    ck_assert_ptr_nonnull(strstr(text, "locus_coalescer_batch_keys_sum" LABEL "} 5\n"));
    ck_assert_ptr_nonnull(
        strstr(text, "locus_coalescer_call_seconds_count" LABEL "} 5\n"));
    /* Every line is a comment or a sample of one value. */
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        ck_assert(line[0] == '#' || strncmp(line, "locus_coalescer_", 16) == 0);
        ck_assert(line[0] == '#' || strtod(strrchr(line, ' '), NULL) >= 0);
    }
    ck_assert_int_eq(locus_coalescer_write_metrics(c, "x", stop_at_once, &writes),
                     LOCUS_EIO);
    ck_assert_int_eq(writes, 1);
    locus_coalescer_destroy(c);
}
END_TEST

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

START_TEST(percentiles_are_at_most_an_eighth_too_high)
{
    static struct histogram h;
    static uint64_t values[5000];
    struct locus_distribution d;
    uint64_t state = 88172645463325252u + (uint64_t)_i;

    memset(&h, 0, sizeof(h));
    for (size_t i = 0; i < 5000; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        values[i] = state >> (state % 64);
        locus_histogram_add(&h, values[i]);
    }
    qsort(values, 5000, sizeof(values[0]), compare_u64);
    locus_histogram_read(&h, &d);
    const uint64_t exact[] = {values[2499], values[4499], values[4949]};
    const uint64_t shown[] = {d.p50, d.p90, d.p99};
    for (int i = 0; i < 3; i++) {
        ck_assert_uint_ge(shown[i], exact[i]);
        ck_assert_uint_le(shown[i] - exact[i], exact[i] / 8);
    }
    ck_assert_uint_eq(d.max, values[4999]);
    ck_assert_uint_eq(d.count, 5000);
    for (unsigned power = 0; power < 64; power++) {
        uint64_t below = 0;
        while (below < 5000 && values[below] < (uint64_t)1 << power) {
            below++;
        }
        ck_assert_uint_eq(locus_histogram_below(&h, power), below);
    }
}
END_TEST

START_TEST(a_histogram_holds_the_ends_of_the_range)
{
    struct histogram h = {0};
    struct locus_distribution d;

    locus_histogram_read(&h, &d);
    ck_assert_uint_eq(d.count + d.p50 + d.p99 + d.max, 0);
    locus_histogram_add(&h, 0);
    locus_histogram_add(&h, UINT64_MAX);
    locus_histogram_read(&h, &d);
    ck_assert_uint_eq(d.p50, 0);
    ck_assert_uint_eq(d.p99, UINT64_MAX);
    ck_assert_uint_eq(d.max, UINT64_MAX);
}
END_TEST

/* ---- stress: a model -------------------------------------------------------------- */

/*
 * Every key has a version that only grows. A caller notes it before and after its call; the
 * answer must be of its key, and of a version in between: right at some moment
 * of the call. Meanwhile batches fail, are slow, leave keys out, and callers give up.
 */
enum { STRESS_KEYS = 40, STRESS_THREADS = 12 };

static struct {
    _Atomic uint64_t versions[STRESS_KEYS];
    _Atomic uint64_t batches, answers, errors, timeouts, full, closed;
    struct locus_coalescer *c;
    uint32_t max_batch;
    enum locus_share share;
    int rounds;
    _Atomic bool hang;
} stress;

/* Calls per thread: fewer under valgrind, more to soak. */
static int steps(int usual)
{
    const char *text = getenv("LOCUS_STEPS");

    return text != NULL && atoi(text) > 0 ? atoi(text) : usual;
}

static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static int stress_batch(void *ctx, struct locus_batch *batch)
{
    uint64_t n = atomic_fetch_add(&stress.batches, 1);
    (void)ctx;

    MUST(batch->count >= 1);
    MUST(batch->count <= stress.max_batch);
    while (atomic_load(&stress.hang)) {
        nap();
    }
    if (n % 13 == 5) {
        return LOCUS_EIO;
    }
    if (n % 7 == 3) {
        nap();
    }
    uint64_t seen = 0;
    for (size_t i = 0; i < batch->count; i++) {
        unsigned key;
        MUST(batch->items[i].key_length == sizeof(key));
        memcpy(&key, batch->items[i].key, sizeof(key));
        if (stress.share != LOCUS_SHARE_NONE) {
            MUST(!(seen >> key & 1));
            seen |= (uint64_t)1 << key;
        }
        if ((n + i) % 17 == 4) {
            continue;
        }
        if ((n + i) % 19 == 4) {
            batch->items[i].status = -77;
            continue;
        }
        batch->items[i].value =
            make_value(&key, sizeof(key), atomic_load(&stress.versions[key]));
        batch->items[i].status = LOCUS_OK;
    }
    return LOCUS_OK;
}

static void stress_call(uint64_t *random)
{
    unsigned key = (unsigned)(random_next(random) % STRESS_KEYS);
    uint64_t dice = random_next(random) % 8;
    int64_t timeout_ns = dice < 3 ? FOREVER : dice < 5 ? 50000 : LATER_NS;
    struct locus_result *result;

    if (dice == 7) {
        atomic_fetch_add(&stress.versions[key], 1);
    }
    uint64_t before = atomic_load(&stress.versions[key]);
    int status = locus_coalescer_get(stress.c, &key, sizeof(key), timeout_ns, &result);
    uint64_t after = atomic_load(&stress.versions[key]);
    switch (status) {
    case LOCUS_OK: {
        const struct value *value = locus_result_value(result);
        MUST(memcmp(value->key, &key, sizeof(key)) == 0);
        MUST(value->version <= after);
        MUST(value->version >= before || stress.share == LOCUS_SHARE_INFLIGHT);
        atomic_fetch_add(&stress.answers, 1);
        break;
    }
    case LOCUS_ETIMEDOUT:
        MUST(timeout_ns == 50000);
        atomic_fetch_add(&stress.timeouts, 1);
        break;
    case LOCUS_EFULL:
        atomic_fetch_add(&stress.full, 1);
        break;
    case LOCUS_ECLOSED:
        atomic_fetch_add(&stress.closed, 1);
        break;
    default:
        MUST(status == LOCUS_EIO || status == LOCUS_EFORMAT || status == -77);
        atomic_fetch_add(&stress.errors, 1);
    }
    locus_result_release(result);
}

static void *stress_thread(void *arg)
{
    uint64_t random = 0x9e3779b97f4a7c15u * (uint64_t)(1 + (uintptr_t)arg);

    for (int i = 0; i < stress.rounds; i++) {
        stress_call(&random);
    }
    return NULL;
}

static void stress_start(struct locus_coalescer_config config, int rounds,
                         pthread_t *threads)
{
    memset(&stress, 0, sizeof(stress));
    stress.max_batch = config.max_batch;
    stress.share = config.share;
    stress.rounds = rounds;
    config.batch = stress_batch;
    config.free_value = free_value;
    config.allocator = &counted;
    start_counting();
    ck_assert_int_eq(locus_coalescer_create(&config, &stress.c), LOCUS_OK);
    for (uintptr_t i = 0; i < STRESS_THREADS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, stress_thread, (void *)i),
                         0);
    }
}

START_TEST(under_stress_every_answer_is_right_for_its_key_at_a_moment_of_the_call)
{
    static const struct locus_coalescer_config rows[] = {
        {.concurrency = 1, .max_batch = 8},
        {.concurrency = 3, .max_batch = 4, .queue_capacity = 5},
        {.concurrency = 2, .max_batch = 16, .share = LOCUS_SHARE_INFLIGHT},
        {.concurrency = 2,
         .max_batch = 3,
         .share = LOCUS_SHARE_NONE,
         .linger_ns = 30000},
        {.concurrency = 2, .max_batch = 8, .batch_bound_ns = 20000},
        {.concurrency = 4, .max_batch = 1, .batch_bound_ns = 1, .linger_ns = 1000},
        {.concurrency = 2, .max_batch = 8, .workers_only = true, .linger_ns = 20000},
    };
    pthread_t threads[STRESS_THREADS];

    int rounds = steps(2000);

    stress_start(rows[_i], rounds, threads);
    for (int i = 0; i < STRESS_THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    struct locus_coalescer_figures f = figures(stress.c);
    ck_assert_uint_eq(f.calls, (uint64_t)STRESS_THREADS * (uint64_t)rounds);
    ck_assert_uint_eq(f.answered, stress.answers);
    ck_assert_uint_eq(f.failed, stress.errors);
    ck_assert_uint_eq(f.timeouts, stress.timeouts);
    ck_assert_uint_eq(f.queue_full, stress.full);
    ck_assert_uint_eq(f.calls, f.answered + f.failed + f.timeouts + f.queue_full);
    ck_assert_uint_eq(f.queued, 0);
    locus_coalescer_shutdown(stress.c, LOCUS_DRAIN);
    locus_coalescer_destroy(stress.c);
    nothing_is_left();
}
END_TEST

START_TEST(it_can_be_shut_down_at_any_point)
{
    pthread_t threads[STRESS_THREADS];
    uint64_t random = 42 + (uint64_t)_i;

    for (int round = 0; round < (steps(2000) + 49) / 50; round++) {
        stress_start(
            (struct locus_coalescer_config){
                .concurrency = 1 + (uint32_t)round % 3,
                .max_batch = 1 + (uint32_t)round % 5,
                .linger_ns = round % 2 == 0 ? 0 : 100000,
                .share = (enum locus_share)(round % 3),
                .workers_only = round % 4 == 3,
                .batch_bound_ns = round % 5 == 0 ? 1 : 0,
            },
            30, threads);
        atomic_store(&stress.hang, round % 4 == 3);
        nanosleep(&(struct timespec){.tv_nsec = (long)(random_next(&random) % 300000)},
                  NULL);
        locus_coalescer_shutdown(stress.c, _i == 0 ? LOCUS_REFUSE : LOCUS_DRAIN);
        if (_i == 1) {
            atomic_store(&stress.hang, false);
        }
        for (int i = 0; i < STRESS_THREADS; i++) {
            pthread_join(threads[i], NULL);
        }
        atomic_store(&stress.hang, false);
        locus_coalescer_destroy(stress.c);
        nothing_is_left();
    }
}
END_TEST

static void *one_call(void *arg)
{
    struct locus_result *result;
    unsigned key = (unsigned)(uintptr_t)arg;

    ck_assert_int_le(locus_coalescer_get(stress.c, &key, sizeof(key), FOREVER, &result),
                     0);
    locus_result_release(result);
    return NULL;
}

START_TEST(destroy_waits_for_those_inside)
{
    pthread_t threads[STRESS_THREADS];

    for (int round = 0; round < (steps(2000) + 49) / 50; round++) {
        memset(&stress, 0, sizeof(stress));
        stress.max_batch = 2;
        struct locus_coalescer_config config = {
            .batch = stress_batch,
            .free_value = free_value,
            .max_batch = 2,
            .workers_only = round % 2 == 1,
            .allocator = &counted,
        };
        start_counting();
        ck_assert_int_eq(locus_coalescer_create(&config, &stress.c), LOCUS_OK);
        atomic_store(&stress.hang, true);
        for (uintptr_t i = 0; i < STRESS_THREADS; i++) {
            ck_assert_int_eq(pthread_create(&threads[i], NULL, one_call, (void *)i), 0);
        }
        while (figures(stress.c).queued + figures(stress.c).inflight !=
               STRESS_THREADS) {
            nap();
        }
        atomic_store(&stress.hang, false);
        locus_coalescer_destroy(stress.c);
        for (int i = 0; i < STRESS_THREADS; i++) {
            pthread_join(threads[i], NULL);
        }
        nothing_is_left();
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("coalesce");
    TCase *t = suite_case(s, "coalesce");

    tcase_add_test(t, a_single_call_gets_its_answer);
    tcase_add_test(t, a_result_may_outlive_the_coalescer);
    tcase_add_test(t, wrong_configurations_and_keys_are_refused);
    tcase_add_test(t, patient_callers_run_their_batch_themselves);
    tcase_add_test(t, impatient_callers_leave_it_to_a_worker);
    tcase_add_test(
        t, an_impatient_caller_leaves_while_a_batch_hangs_and_its_late_value_is_freed);
    tcase_add_test(t, an_offer_met_by_an_impatient_caller_goes_to_a_worker);
    tcase_add_loop_test(t, what_waits_goes_in_one_batch_of_at_most_max_batch, 0, 2);
    tcase_add_loop_test(t, at_most_concurrency_batches_run_at_once, 0, 2);
    tcase_add_loop_test(t, a_lingering_batch_starts_when_it_is_full, 0, 2);
    tcase_add_loop_test(t, a_lingering_batch_starts_when_its_time_is_up, 0, 2);
    tcase_add_loop_test(t, a_lingering_batch_that_everybody_leaves_is_not_run, 0, 2);
    tcase_add_test(t, an_empty_lingering_batch_does_not_hinder_the_end);
    tcase_add_test(t, equal_queued_keys_share_one_place_in_batch_and_queue);
    tcase_add_loop_test(t, a_call_joins_a_batch_already_sent_only_on_request, 0, 2);
    tcase_add_test(t, without_sharing_equal_keys_get_an_answer_each);
    tcase_add_test(t, one_callers_deadline_does_not_harm_another_with_the_same_key);
    tcase_add_loop_test(t, a_key_that_nobody_waits_for_any_more_is_not_fetched, 0, 3);
    tcase_add_test(t, a_batch_function_can_ask_who_still_waits);
    tcase_add_test(t, a_caller_does_not_join_a_key_in_flight_that_was_given_up);
    tcase_add_loop_test(t, every_caller_gets_the_status_of_its_own_key, 0, 3);
    tcase_add_test(t, an_error_stays_with_the_run_that_failed);
    tcase_add_test(t, a_batch_function_that_scribbles_over_the_batch_harms_nobody);
    tcase_add_loop_test(t, a_drain_serves_who_waits_and_refuses_who_comes, 0, 2);
    tcase_add_loop_test(t, a_refusal_wakes_everybody_at_once_even_if_the_batch_hangs, 0,
                        2);
    tcase_add_test(t, a_caller_that_runs_a_batch_gets_its_answer_in_spite_of_a_refusal);
    tcase_add_test(t, a_child_of_fork_finds_it_closed);
    tcase_add_loop_test(t, every_allocation_may_fail, 0, 3);
    tcase_add_test(t, a_failed_allocation_does_not_disturb_the_queue);
    tcase_add_test(t, the_figures_are_written_for_prometheus);
    tcase_add_loop_test(t, percentiles_are_at_most_an_eighth_too_high, 0, 3);
    tcase_add_test(t, a_histogram_holds_the_ends_of_the_range);
    tcase_add_loop_test(
        t, under_stress_every_answer_is_right_for_its_key_at_a_moment_of_the_call, 0,
        7);
    tcase_add_loop_test(t, it_can_be_shut_down_at_any_point, 0, 2);
    tcase_add_test(t, destroy_waits_for_those_inside);
    return s;
}

int main(void)
{
    return suite_run(suite());
}
