/* SPDX-License-Identifier: MIT */
#include "../suite.h"

#include <string.h>

#include "base/departures.h"

static void push(struct departures *queue, uint64_t at_ns, uint32_t payload)
{
    ck_assert_int_eq(departures_push(queue, at_ns, payload), 0);
}

START_TEST(an_empty_queue_gives_nothing_and_has_no_bound)
{
    struct departures queue;
    struct departure d;

    departures_init(&queue);
    ck_assert(!departures_pop(&queue, UINT64_MAX, &d));
    ck_assert_uint_eq(queue.bound_ns, UINT64_MAX);
    departures_fini(&queue);
}
END_TEST

START_TEST(nothing_leaves_before_its_time)
{
    struct departures queue;
    struct departure d;

    departures_init(&queue);
    push(&queue, 1000, 7);
    ck_assert(!departures_pop(&queue, 999, &d));
    ck_assert(queue.bound_ns <= 1000);
    ck_assert(departures_pop(&queue, 1000, &d));
    ck_assert_uint_eq(d.at_ns, 1000);
    ck_assert_uint_eq(d.payload, 7);
    ck_assert(!departures_pop(&queue, UINT64_MAX, &d));
    departures_fini(&queue);
}
END_TEST

/* A look into the future that finds nothing must not move the clock past what comes next. */
START_TEST(an_earlier_entry_may_come_after_a_look_at_a_later_one)
{
    struct departures queue;
    struct departure d;

    departures_init(&queue);
    push(&queue, 1000000, 1);
    ck_assert(!departures_pop(&queue, 70000, &d));
    push(&queue, 70001, 2);
    ck_assert(departures_pop(&queue, 2000000, &d));
    ck_assert_uint_eq(d.payload, 2);
    ck_assert(departures_pop(&queue, 2000000, &d));
    ck_assert_uint_eq(d.payload, 1);
    departures_fini(&queue);
}
END_TEST

START_TEST(a_time_already_past_counts_as_now)
{
    struct departures queue;
    struct departure d;

    departures_init(&queue);
    push(&queue, 5000, 1);
    ck_assert(departures_pop(&queue, 6000, &d));
    push(&queue, 10, 2);
    ck_assert(departures_pop(&queue, 6000, &d));
    ck_assert_uint_eq(d.payload, 2);
    ck_assert_uint_eq(d.at_ns, 5000);
    departures_fini(&queue);
}
END_TEST

START_TEST(times_at_both_ends_of_the_range_are_kept_apart)
{
    struct departures queue;
    struct departure d;

    departures_init(&queue);
    push(&queue, UINT64_MAX, 3);
    push(&queue, UINT64_MAX - 1, 2);
    push(&queue, 0, 1);
    for (uint32_t i = 1; i <= 3; i++) {
        ck_assert(departures_pop(&queue, UINT64_MAX, &d));
        ck_assert_uint_eq(d.payload, i);
    }
    departures_fini(&queue);
}
END_TEST

enum { ENTRIES = 4000 };

/* Against an array that is searched from end to end. */
static void compare_with_array(uint64_t seed, uint64_t spread)
{
    static uint64_t times[ENTRIES];
    static bool waiting[ENTRIES];
    struct departures queue;
    struct departure d;
    uint64_t now = 0;
    bool bounded = true,
         agreed = true; /* one assertion each: they cost a system call */

    departures_init(&queue);
    memset(waiting, 0, sizeof(waiting));
    for (uint32_t i = 0; i < ENTRIES; i++) {
        now += next_random(&seed) % (spread / 64 + 1);
        while (true) {
            size_t least = ENTRIES;
            for (size_t k = 0; k < i; k++) {
                if (waiting[k] && times[k] <= now &&
                    (least == ENTRIES || times[k] < times[least])) {
                    least = k;
                }
            }
            bool popped = departures_pop(&queue, now, &d);
            agreed = agreed && popped == (least != ENTRIES);
            if (!popped) {
                break;
            }
            agreed = agreed && d.at_ns == times[least] && waiting[d.payload] &&
                     times[d.payload] == d.at_ns;
            waiting[d.payload] = false;
        }
        times[i] = now + next_random(&seed) % spread;
        waiting[i] = true;
        push(&queue, times[i], i);
        for (size_t k = 0; k <= i; k++) {
            bounded = bounded && (!waiting[k] || queue.bound_ns <= times[k]);
        }
    }
    ck_assert(agreed);
    ck_assert(bounded);
    departures_fini(&queue);
}

START_TEST(random_pushes_and_pops_agree_with_a_plain_array)
{
    static const uint64_t spreads[] = {
        2, 300, 70000, 1u << 25, (uint64_t)1 << 40, (uint64_t)1 << 56};

    compare_with_array(42 + (uint64_t)_i, spreads[_i]);
}
END_TEST

/* Taking in bulk gives the same entries, those of up to now and no others. */
START_TEST(what_is_taken_in_bulk_is_what_would_be_popped)
{
    static const uint64_t spreads[] = {
        2, 300, 70000, 1u << 25, (uint64_t)1 << 40, (uint64_t)1 << 56};
    struct departures popped, taken;
    struct departure d;
    struct timed out[7];
    uint64_t seed = (uint64_t)_i + 1, now = 0, sum = 0, count = 0;
    bool early = false;
    size_t got;

    departures_init(&popped);
    departures_init(&taken);
    for (uint32_t i = 0; i < ENTRIES; i++) {
        uint64_t at = now + next_random(&seed) % spreads[_i];
        push(&popped, at, i);
        push(&taken, at, i);
        now += next_random(&seed) % (spreads[_i] / 64 + 1);
        for (; i % 16 == 0 && departures_pop(&popped, now, &d); count++) {
            sum += d.at_ns * (d.payload + 1);
        }
        while (i % 16 == 0 && (got = departures_take(&taken, now, out, 7)) > 0) {
            for (size_t k = 0; k < got; k++, count--) {
                sum -= out[k].at_ns * (out[k].what + 1);
                early = early || out[k].at_ns > now;
            }
        }
    }
    ck_assert(!early);
    ck_assert_uint_eq(count, 0);
    ck_assert_uint_eq(sum, 0);
    ck_assert_uint_eq(popped.count, taken.count);
    departures_fini(&popped);
    departures_fini(&taken);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("departures");
    TCase *tcase = suite_case(suite, "departures");

    tcase_add_test(tcase, an_empty_queue_gives_nothing_and_has_no_bound);
    tcase_add_test(tcase, nothing_leaves_before_its_time);
    tcase_add_test(tcase, an_earlier_entry_may_come_after_a_look_at_a_later_one);
    tcase_add_test(tcase, a_time_already_past_counts_as_now);
    tcase_add_test(tcase, times_at_both_ends_of_the_range_are_kept_apart);
    tcase_add_loop_test(tcase, random_pushes_and_pops_agree_with_a_plain_array, 0, 6);
    tcase_add_loop_test(tcase, what_is_taken_in_bulk_is_what_would_be_popped, 0, 6);
    return suite_run(suite);
}
