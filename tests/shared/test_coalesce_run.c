/* SPDX-License-Identifier: MIT */
/*
 * Batches: who runs them, how many, how long they linger, and what happens when the batch function
 * fails or lies.
 */
#include <pthread.h>
#include <string.h>

#include "coalesce_backend.h"

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

int main(void)
{
    Suite *s = suite_create("coalesce_run");
    TCase *t = suite_case(s, "coalesce_run");

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
    tcase_add_loop_test(t, every_caller_gets_the_status_of_its_own_key, 0, 3);
    tcase_add_test(t, an_error_stays_with_the_run_that_failed);
    tcase_add_test(t, a_batch_function_that_scribbles_over_the_batch_harms_nobody);
    return suite_run(s);
}
