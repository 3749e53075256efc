/* SPDX-License-Identifier: MIT */
/*
 * One caller of the coalescer: what it gets, what it shares, when it gives up.
 */
#include <stdatomic.h>

#include "coalesce_backend.h"

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

int main(void)
{
    Suite *s = suite_create("coalesce_call");
    TCase *t = suite_case(s, "coalesce_call");

    tcase_add_test(t, a_single_call_gets_its_answer);
    tcase_add_test(t, a_result_may_outlive_the_coalescer);
    tcase_add_test(t, wrong_configurations_and_keys_are_refused);
    tcase_add_test(t, equal_queued_keys_share_one_place_in_batch_and_queue);
    tcase_add_loop_test(t, a_call_joins_a_batch_already_sent_only_on_request, 0, 2);
    tcase_add_test(t, without_sharing_equal_keys_get_an_answer_each);
    tcase_add_test(t, one_callers_deadline_does_not_harm_another_with_the_same_key);
    tcase_add_loop_test(t, a_key_that_nobody_waits_for_any_more_is_not_fetched, 0, 3);
    tcase_add_test(t, a_batch_function_can_ask_who_still_waits);
    tcase_add_test(t, a_caller_does_not_join_a_key_in_flight_that_was_given_up);
    return suite_run(s);
}
