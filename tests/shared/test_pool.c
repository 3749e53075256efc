/* SPDX-License-Identifier: MIT */
/*
 * The pool's contract: picks, members, reports.
 */
#include <stdio.h>
#include <string.h>

#include "pool_at_hand.h"

START_TEST(an_empty_pool_is_its_own_result)
{
    char member[LOCUS_POOL_MEMBER_SIZE] = "untouched";
    char members[4][LOCUS_POOL_MEMBER_SIZE];
    struct locus_pool_stats stats;
    size_t picked = 9;

    begin(_i, "empty", NULL);
    ck_assert_int_eq(locus_pool_pick(pool, member), LOCUS_ENOSERVER);
    ck_assert_str_eq(member, "");
    ck_assert_int_eq(locus_pool_pick_many(pool, 4, members, &picked), LOCUS_ENOSERVER);
    ck_assert_uint_eq(picked, 0);
    add("a");
    ck_assert_str_eq(pick(), "a");
    ck_assert_int_eq(locus_pool_remove(pool, "a", false), LOCUS_OK);
    ck_assert_int_eq(locus_pool_pick(pool, member), LOCUS_ENOSERVER);
    locus_pool_get_stats(pool, &stats);
    ck_assert_uint_eq(stats.empty, 3);
    ck_assert_uint_eq(stats.picks, 1);
    end();
}
END_TEST

START_TEST(the_least_allocated_is_picked_ties_by_name)
{
    begin(_i, "least", NULL);
    add_at("b", 0);
    add_at("a", 1);
    add_at("c", 0);
    ck_assert_str_eq(pick(), "b");
    ck_assert_str_eq(pick(), "c");
    ck_assert_str_eq(pick(), "a");
    ck_assert_str_eq(pick(), "b");
    check_counts("c=1 a=2 b=2");
    end();
}
END_TEST

START_TEST(names_are_compared_as_unsigned_bytes)
{
    begin(_i, "bytes", NULL);
    add_at("\xc3\xa9", 0);
    add_at("z", 0);
    add_at("a b", 0);
    add_at("a", 0);
    ck_assert_str_eq(pick(), "a");
    ck_assert_str_eq(pick(), "a b");
    ck_assert_str_eq(pick(), "z");
    ck_assert_str_eq(pick(), "\xc3\xa9");
    end();
}
END_TEST

START_TEST(adding_twice_is_once)
{
    const char *const members[] = {"a", "b", "a"};
    size_t added;

    begin(_i, "twice", NULL);
    ck_assert_int_eq(locus_pool_add(pool, members, 3, LOCUS_POOL_START_ZERO, 0, &added),
                     LOCUS_OK);
    ck_assert_uint_eq(added, 2);
    pick();
    ck_assert_int_eq(locus_pool_add(pool, members, 3, LOCUS_POOL_START_ZERO, 0, &added),
                     LOCUS_OK);
    ck_assert_uint_eq(added, 0);
    check_counts("b=0 a=1");
    end();
}
END_TEST

START_TEST(a_member_starts_at_zero_minimum_mean_or_a_given_count)
{
    const char *const zero = "zero", *const min = "min", *const mean = "mean",
                      *const first = "first";
    begin(_i, "start", NULL);
    ck_assert_int_eq(locus_pool_add(pool, &first, 1, LOCUS_POOL_START_MEAN, 0, NULL),
                     LOCUS_OK);
    ck_assert_uint_eq(get("first").count, 0);
    ck_assert_int_eq(locus_pool_remove(pool, first, true), LOCUS_OK);
    add_at("a", 10);
    add_at("b", 15);
    ck_assert_int_eq(locus_pool_add(pool, &mean, 1, LOCUS_POOL_START_MEAN, 0, NULL),
                     LOCUS_OK);
    ck_assert_int_eq(locus_pool_add(pool, &min, 1, LOCUS_POOL_START_MIN, 0, NULL),
                     LOCUS_OK);
    ck_assert_int_eq(locus_pool_add(pool, &zero, 1, LOCUS_POOL_START_ZERO, 0, NULL),
                     LOCUS_OK);
    check_counts("zero=0 a=10 min=10 mean=12 b=15");
    end();
}
END_TEST

START_TEST(a_removed_member_keeps_its_count_unless_dropped)
{
    begin(_i, "remove", NULL);
    add_at("a", 7);
    add_at("b", 3);
    ck_assert_int_eq(locus_pool_remove(pool, "a", false), LOCUS_OK);
    ck_assert_int_eq(locus_pool_remove(pool, "a", false), LOCUS_OK);
    check_counts("b=3 a=7(removed)");
    ck_assert_str_eq(pick(), "b");
    ck_assert_int_eq(locus_pool_remove(pool, "a", true), LOCUS_OK);
    ck_assert_int_eq(locus_pool_remove(pool, "a", true), LOCUS_ENOENT);
    ck_assert_int_eq(locus_pool_restore(pool, "a", false), LOCUS_ENOENT);
    ck_assert_int_eq(locus_pool_remove(pool, "b", true), LOCUS_OK);
    ck_assert_int_eq(locus_pool_remove(pool, "nobody", false), LOCUS_ENOENT);
    check_counts("");
    end();
}
END_TEST

START_TEST(a_restored_member_does_not_draw_every_pick)
{
    begin(_i, "restore", NULL);
    add_at("low", 2);
    add_at("high", 90);
    add_at("a", 50);
    ck_assert_int_eq(locus_pool_remove(pool, "low", false), LOCUS_OK);
    ck_assert_int_eq(locus_pool_remove(pool, "high", false), LOCUS_OK);
    ck_assert_int_eq(locus_pool_restore(pool, "low", false), LOCUS_OK);
    ck_assert_int_eq(locus_pool_restore(pool, "high", false), LOCUS_OK);
    ck_assert_int_eq(locus_pool_restore(pool, "high", false), LOCUS_OK);
    check_counts("a=50 low=50 high=90");
    ck_assert_int_eq(locus_pool_remove(pool, "low", false), LOCUS_OK);
    add_at("b", 80);
    ck_assert_int_eq(locus_pool_remove(pool, "a", false), LOCUS_OK);
    ck_assert_int_eq(locus_pool_restore(pool, "a", true), LOCUS_OK);
    check_counts("a=50 b=80 high=90 low=50(removed)");
    ck_assert_int_eq(locus_pool_remove(pool, "a", false), LOCUS_OK);
    add("a"); /* adding a removed one restores it */
    check_counts("a=80 b=80 high=90 low=50(removed)");
    end();
}
END_TEST

START_TEST(many_picks_in_one_call_equal_as_many_calls)
{
    char members[7][LOCUS_POOL_MEMBER_SIZE];
    const char *const expected[] = {"b", "b", "a", "b", "a", "b", "c"};
    size_t picked;

    begin(_i, "many", NULL);
    add_at("a", 2);
    add_at("b", 0);
    add_at("c", 3);
    ck_assert_int_eq(locus_pool_pick_many(pool, 7, members, &picked), LOCUS_OK);
    ck_assert_uint_eq(picked, 7);
    for (int i = 0; i < 7; i++) {
        ck_assert_str_eq(members[i], expected[i]);
    }
    check_counts("a=4 b=4 c=4");
    ck_assert_int_eq(locus_pool_pick_many(pool, 0, members, &picked), LOCUS_ERANGE);
    ck_assert_int_eq(locus_pool_pick_many(pool, 1025, members, &picked), LOCUS_ERANGE);
    end();
}
END_TEST

START_TEST(failures_in_a_row_take_a_member_out_and_successes_bring_it_back)
{
    const struct locus_pool_config config = {.fail_after = 3, .restore_after = 2};
    enum locus_pool_state state;

    begin(_i, "health", &config);
    add_at("a", 5);
    add_at("b", 6);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(locus_pool_report(pool, "a", false, &state), LOCUS_OK);
        ck_assert_int_eq(state, LOCUS_POOL_LIVE);
    }
    ck_assert_uint_eq(get("a").streak, 2);
    ck_assert_int_eq(locus_pool_report(pool, "a", true, &state), LOCUS_OK);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(locus_pool_report(pool, "a", false, &state), LOCUS_OK);
    }
    ck_assert_int_eq(state, LOCUS_POOL_UNHEALTHY);
    check_counts("b=6 a=5(unhealthy)");
    ck_assert_str_eq(pick(), "b");
    ck_assert_str_eq(pick(), "b");
    add("a"); /* it is in the pool, and unhealthy */
    check_counts("b=8 a=5(unhealthy)");
    ck_assert_int_eq(locus_pool_report(pool, "a", true, &state), LOCUS_OK);
    ck_assert_int_eq(locus_pool_report(pool, "a", false, &state), LOCUS_OK);
    ck_assert_int_eq(locus_pool_report(pool, "a", true, &state), LOCUS_OK);
    ck_assert_int_eq(state, LOCUS_POOL_UNHEALTHY);
    ck_assert_uint_eq(get("a").streak, 1);
    ck_assert_int_eq(locus_pool_report(pool, "a", true, NULL), LOCUS_OK);
    check_counts("a=8 b=8");
    ck_assert_int_eq(locus_pool_report(pool, "nobody", true, &state), LOCUS_ENOENT);
    ck_assert_int_eq(locus_pool_remove(pool, "a", false), LOCUS_OK);
    ck_assert_int_eq(locus_pool_report(pool, "a", true, &state), LOCUS_OK);
    ck_assert_int_eq(state, LOCUS_POOL_REMOVED);
    end();
}
END_TEST

START_TEST(reports_leave_the_least_number_of_live_members)
{
    const struct locus_pool_config config = {.fail_after = 1, .min_live = 1};
    enum locus_pool_state state;

    begin(_i, "floor", &config);
    add("a");
    add("b");
    ck_assert_int_eq(locus_pool_report(pool, "a", false, &state), LOCUS_OK);
    ck_assert_int_eq(state, LOCUS_POOL_UNHEALTHY);
    ck_assert_int_eq(locus_pool_report(pool, "b", false, &state), LOCUS_OK);
    ck_assert_int_eq(state, LOCUS_POOL_LIVE);
    end();
}
END_TEST

START_TEST(a_rebase_takes_the_minimum_off_everybody)
{
    begin(_i, "rebase", NULL);
    ck_assert_int_eq(locus_pool_rebase(pool), LOCUS_OK);
    add_at("a", 10);
    add_at("b", 12);
    add_at("c", 4);
    add_at("d", 30);
    ck_assert_int_eq(locus_pool_remove(pool, "c", false), LOCUS_OK);
    ck_assert_int_eq(locus_pool_remove(pool, "d", false), LOCUS_OK);
    ck_assert_int_eq(locus_pool_rebase(pool), LOCUS_OK);
    check_counts("a=0 b=2 c=0(removed) d=20(removed)");
    ck_assert_int_eq(locus_pool_rebase(pool), LOCUS_OK);
    check_counts("a=0 b=2 c=0(removed) d=20(removed)");
    end();
}
END_TEST

START_TEST(counts_near_their_limit_are_rebased_by_a_pick)
{
    begin(_i, "limit", NULL);
    add_at("a", LOCUS_POOL_START_LIMIT - 1);
    add_at("b", LOCUS_POOL_START_LIMIT - 1);
    for (int i = 0; i < 3; i++) {
        pick();
    }
    ck_assert_uint_le(get("a").count + get("b").count, 4);
    ck_assert_uint_eq(get("a").count, get("b").count + 1);
    end();
}
END_TEST

START_TEST(malformed_arguments_change_nothing)
{
    char long_name[LOCUS_POOL_MEMBER_SIZE + 1];
    const char *const bad[] = {"", "a\nb", "\x7f", long_name, NULL};
    struct locus_pool_member member;
    struct locus_lease lease;
    const char *good = "good";

    memset(long_name, 'x', sizeof(long_name) - 1);
    long_name[sizeof(long_name) - 1] = '\0';
    begin(_i, "malformed", NULL);
    for (size_t i = 0; i < 5; i++) {
        const char *const members[] = {"a", bad[i]};
        ck_assert_int_eq(
            locus_pool_add(pool, members, 2, LOCUS_POOL_START_MIN, 0, NULL),
            LOCUS_EINVAL);
        ck_assert_int_eq(locus_pool_remove(pool, bad[i], false), LOCUS_EINVAL);
        ck_assert_int_eq(locus_pool_restore(pool, bad[i], false), LOCUS_EINVAL);
        ck_assert_int_eq(locus_pool_report(pool, bad[i], false, NULL), LOCUS_EINVAL);
        ck_assert_int_eq(locus_pool_get(pool, bad[i], &member), LOCUS_EINVAL);
        ck_assert_int_eq(locus_lease_set_limit(pool, bad[i], 1), LOCUS_EINVAL);
        ck_assert_int_eq(locus_lease_release(pool, bad[i], NULL), LOCUS_EINVAL);
        ck_assert_int_eq(locus_lease_renew(pool, bad[i], 1000000), LOCUS_EINVAL);
    }
    ck_assert_int_eq(locus_pool_add(pool, &good, 1, LOCUS_POOL_START_AT,
                                    LOCUS_POOL_START_LIMIT + 1, NULL),
                     LOCUS_ERANGE);
    ck_assert_int_eq(locus_lease_acquire(pool, 999999, &lease), LOCUS_ERANGE);
    ck_assert_int_eq(locus_lease_acquire(pool, 31 * UINT64_C(86400000000000), &lease),
                     LOCUS_ERANGE);
    ck_assert_str_eq(lease.id, "");
    ck_assert_int_eq(locus_pool_get(pool, "good", &member), LOCUS_ENOENT);
    check_counts("");
    end();
}
END_TEST

START_TEST(a_large_pool_is_added_in_slices_and_listed_whole)
{
    enum { MANY = 3000 };
    static char names[MANY][16];
    static const char *members[MANY];
    struct locus_pool_list *list;
    size_t added;

    begin(_i, "large", NULL);
    for (int i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof(names[i]), "m%05d", i);
        members[i] = names[i];
    }
    ck_assert_int_eq(
        locus_pool_add(pool, members, MANY, LOCUS_POOL_START_MIN, 0, &added), LOCUS_OK);
    ck_assert_uint_eq(added, MANY);
    ck_assert_int_eq(locus_pool_list(pool, &list), LOCUS_OK);
    ck_assert_uint_eq(list->count, MANY);
    for (size_t i = 0; i < MANY; i++) {
        ck_assert_str_eq(list->members[i].name, names[i]);
    }
    locus_pool_list_free(list);
    end();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("pool");
    TCase *tc = redis_case(s, "contract");

    tcase_add_loop_test(tc, an_empty_pool_is_its_own_result, 0, BACKENDS);
    tcase_add_loop_test(tc, the_least_allocated_is_picked_ties_by_name, 0, BACKENDS);
    tcase_add_loop_test(tc, names_are_compared_as_unsigned_bytes, 0, BACKENDS);
    tcase_add_loop_test(tc, adding_twice_is_once, 0, BACKENDS);
    tcase_add_loop_test(tc, a_member_starts_at_zero_minimum_mean_or_a_given_count, 0,
                        BACKENDS);
    tcase_add_loop_test(tc, a_removed_member_keeps_its_count_unless_dropped, 0,
                        BACKENDS);
    tcase_add_loop_test(tc, a_restored_member_does_not_draw_every_pick, 0, BACKENDS);
    tcase_add_loop_test(tc, many_picks_in_one_call_equal_as_many_calls, 0, BACKENDS);
    tcase_add_loop_test(tc,
                        failures_in_a_row_take_a_member_out_and_successes_bring_it_back,
                        0, BACKENDS);
    tcase_add_loop_test(tc, reports_leave_the_least_number_of_live_members, 0,
                        BACKENDS);
    tcase_add_loop_test(tc, a_rebase_takes_the_minimum_off_everybody, 0, BACKENDS);
    tcase_add_loop_test(tc, counts_near_their_limit_are_rebased_by_a_pick, 0, BACKENDS);
    tcase_add_loop_test(tc, malformed_arguments_change_nothing, 0, BACKENDS);
    tcase_add_loop_test(tc, a_large_pool_is_added_in_slices_and_listed_whole, 0,
                        BACKENDS);
    return redis_suite_run(s);
}
