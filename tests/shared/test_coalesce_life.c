/* SPDX-License-Identifier: MIT */
/*
 * A coalescer ends, in every way; and memory may run out at any point of its life.
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "coalesce_backend.h"

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

int main(void)
{
    Suite *s = suite_create("coalesce_life");
    TCase *t = suite_case(s, "coalesce_life");

    tcase_add_loop_test(t, a_drain_serves_who_waits_and_refuses_who_comes, 0, 2);
    tcase_add_loop_test(t, a_refusal_wakes_everybody_at_once_even_if_the_batch_hangs, 0,
                        2);
    tcase_add_test(t, a_caller_that_runs_a_batch_gets_its_answer_in_spite_of_a_refusal);
    tcase_add_test(t, a_child_of_fork_finds_it_closed);
    tcase_add_loop_test(t, every_allocation_may_fail, 0, 3);
    tcase_add_test(t, a_failed_allocation_does_not_disturb_the_queue);
    return suite_run(s);
}
