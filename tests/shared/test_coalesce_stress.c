/* SPDX-License-Identifier: MIT */
/*
 * The coalescer under stress, against a model.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "coalesce_backend.h"

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

int main(void)
{
    Suite *s = suite_create("coalesce_stress");
    TCase *t = suite_case(s, "coalesce_stress");

    tcase_add_loop_test(
        t, under_stress_every_answer_is_right_for_its_key_at_a_moment_of_the_call, 0,
        7);
    tcase_add_loop_test(t, it_can_be_shut_down_at_any_point, 0, 2);
    tcase_add_test(t, destroy_waits_for_those_inside);
    return suite_run(s);
}
