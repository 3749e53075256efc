/* SPDX-License-Identifier: MIT */
#include "../suite.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "records/sort.h"

/* bytes holds the number of the record, by which the order of equal starts is seen. */
static void add(struct sorter *sorter, uint64_t start_ns, uint64_t number)
{
    struct numbered_record record = {.start_ns = start_ns, .bytes = number};

    MUST(sorter_add(sorter, &record));
}

static void check_order(struct sorter *sorter, uint64_t count)
{
    struct numbered_record batch[100];
    struct numbered_record last = {0};
    uint64_t seen = 0;
    ssize_t got;

    while ((got = sorter_next(sorter, batch, 1 + seen % 100)) > 0) {
        for (ssize_t i = 0; i < got; i++) {
            MUST(batch[i].start_ns >= last.start_ns);
            if (seen > 0 && batch[i].start_ns == last.start_ns) {
                MUST(batch[i].bytes > last.bytes);
            }
            last = batch[i];
            seen++;
        }
    }
    ck_assert_int_eq(got, 0);
    ck_assert_uint_eq(seen, count);
}

static const struct {
    uint64_t memory_bytes; /* 1: the least there is, 64 KiB */
    uint64_t count;
    uint64_t range_ns; /* starts are below it: few different ones, or many */
    bool fits;         /* nothing goes to the temporary file */
} sizes[] = {
    {0, 0, 1, true},
    {0, 1, 1, true},
    {0, 5000, 10, true},
    {0, 5000, UINT64_MAX, true},
    {0, 300000, 7, true}, /* chunks that are merged in memory */
    {0, 300000, 1 << 30, true},
    {1, 910, 100, true},   /* 72 bytes each */
    {1, 1639, 100, false}, /* 40 bytes each, and nothing else */
    {1, 20000, 7, false},
    {1, 20000, 1 << 30, false},
    {1, 100000, UINT64_MAX, false},
    {1 << 20, 100000, 1000, false},
    {1, 20000, 1, false},
};

START_TEST(records_come_in_order_and_equal_starts_as_they_were_added)
{
    struct sorter *sorter = sorter_create(sizes[_i].memory_bytes);
    uint64_t random = (uint64_t)_i + 1;

    for (uint64_t n = 0; n < sizes[_i].count; n++) {
        add(sorter, next_random(&random) % sizes[_i].range_ns, n);
    }
    ck_assert(sorter_finish(sorter));
    check_order(sorter, sizes[_i].count);
    ck_assert(sorter_rewind(sorter));
    check_order(sorter, sizes[_i].count);
    ck_assert_uint_eq(sorter_spilled_bytes(sorter) == 0, sizes[_i].fits);
    sorter_destroy(sorter);
}
END_TEST

/* As a log that is written when requests end: late by at most the longest of them. */
START_TEST(records_that_are_a_little_late_come_in_order)
{
    struct sorter *sorter = sorter_create(0);
    uint64_t random = 1;
    uint64_t count = 300000;

    for (uint64_t n = 0; n < count; n++) {
        add(sorter, 1000000 + n - next_random(&random) % (1 + n % 100000), n);
    }
    ck_assert(sorter_finish(sorter));
    check_order(sorter, count);
    ck_assert_uint_eq(sorter_spilled_bytes(sorter), 0);
    sorter_destroy(sorter);
}
END_TEST

START_TEST(records_in_order_stay_as_they_are)
{
    struct sorter *sorter = sorter_create(0);
    uint64_t count = 140000;

    for (uint64_t n = 0; n < count; n++) {
        add(sorter, n / 3, n);
    }
    ck_assert(sorter_finish(sorter));
    check_order(sorter, count);
    ck_assert(sorter_rewind(sorter));
    check_order(sorter, count);
    sorter_destroy(sorter);
}
END_TEST

START_TEST(many_runs_are_merged_in_several_passes)
{
    struct sorter *sorter = sorter_create(1);
    uint64_t random = 1;
    uint64_t count = 60000; /* 66 runs, of which 14 are merged at a time */

    for (uint64_t n = 0; n < count; n++) {
        add(sorter, next_random(&random) % 1000, n);
    }
    ck_assert(sorter_finish(sorter));
    ck_assert_uint_ge(sorter_spilled_bytes(sorter),
                      2 * count * sizeof(struct numbered_record));
    check_order(sorter, count);
    sorter_destroy(sorter);
}
END_TEST

START_TEST(a_full_disk_is_an_error)
{
    struct rlimit limit = {1 << 16, 1 << 16};
    struct sorter *sorter = sorter_create(1);
    struct numbered_record record = {0};
    bool ok = true;

    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    for (int i = 0; i < 10000 && ok; i++) {
        ok = sorter_add(sorter, &record);
    }
    ck_assert(!ok);
    sorter_destroy(sorter);
}
END_TEST

START_TEST(a_folder_that_is_none_is_an_error)
{
    struct sorter *sorter = sorter_create(1);
    struct numbered_record record = {0};
    bool ok = true;

    setenv("TMPDIR", "/dev/null/nowhere", 1);
    for (int i = 0; i < 10000 && ok; i++) {
        ok = sorter_add(sorter, &record);
    }
    ck_assert(!ok);
    sorter_destroy(sorter);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sort");
    TCase *tcase = suite_case(suite, "sort");

    tcase_add_loop_test(tcase,
                        records_come_in_order_and_equal_starts_as_they_were_added, 0,
                        (int)(sizeof(sizes) / sizeof(sizes[0])));
    tcase_add_test(tcase, records_that_are_a_little_late_come_in_order);
    tcase_add_test(tcase, records_in_order_stay_as_they_are);
    tcase_add_test(tcase, many_runs_are_merged_in_several_passes);
    tcase_add_test(tcase, a_full_disk_is_an_error);
    tcase_add_test(tcase, a_folder_that_is_none_is_an_error);
    return suite_run(suite);
}
