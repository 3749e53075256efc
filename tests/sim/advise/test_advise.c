/* SPDX-License-Identifier: MIT */
#include "../suite.h"

#include <string.h>

#include "advise/advise.h"

static struct candidate make(uint64_t warm_ppm, uint64_t imbalance_ppm,
                             uint64_t refused)
{
    return (struct candidate){.policy.scheduler = "lblc",
                              .figures = {.warm_ppm = warm_ppm,
                                          .imbalance_conn_mean_ppm = imbalance_ppm,
                                          .refused = refused}};
}

static size_t choose(const struct candidate *c, size_t count,
                     uint64_t max_imbalance_ppm)
{
    struct advise_limits limits = {.max_imbalance_ppm = max_imbalance_ppm};

    return advise_choose(c, count, false, &limits);
}

START_TEST(the_front_holds_whom_nobody_beats)
{
    struct candidate c[] = {
        make(900000, 1500000, 0),  /* on it */
        make(800000, 1200000, 0),  /* on it */
        make(800000, 1300000, 0),  /* beaten by the second */
        make(900000, 1500000, 0),  /* the same as the first */
        make(1000000, 1000000, 1), /* better, but refuses */
        make(950000, 3000000, 0),  /* on it */
        make(950000, 3000001, 0),
    };
    static const bool expected[] = {true, true, false, false, false, true, false};

    advise_mark_front(c, 7, false);
    for (size_t i = 0; i < 7; i++) {
        ck_assert_int_eq(c[i].on_front, expected[i]);
    }
}
END_TEST

START_TEST(the_choice_is_near_to_both_ends)
{
    struct candidate c[] = {
        make(500000, 1000000, 0),
        make(950000, 1100000, 0),
        make(1000000, 4000000, 0),
    };

    advise_mark_front(c, 3, false);
    ck_assert_uint_eq(choose(c, 3, 0), 1);
    ck_assert_uint_eq(choose(c, 3, 1050000), 0);
    /* None is that even: as if nothing had been asked. */
    c[0].on_front = false;
    ck_assert_uint_eq(choose(c, 3, 1000001), 1);
}
END_TEST

START_TEST(one_alone_is_chosen)
{
    struct candidate c[] = {make(0, 0, 5)};

    advise_mark_front(c, 1, false);
    ck_assert_uint_eq(choose(c, 1, 0), 0);
}
END_TEST

START_TEST(what_ipvs_cannot_do_is_passed_over)
{
    static const struct policy_ops ops;
    struct candidate c[] = {make(500000, 1000000, 0), make(990000, 1010000, 0),
                            make(980000, 1009000, 0), make(1000000, 4000000, 0)};
    struct advise_limits limits = {.ipvs_only = true};

    c[1].max_entries = 40000;
    c[2].policy.ops = &ops;
    advise_mark_front(c, 4, false);
    ck_assert_uint_eq(choose(c, 4, 0), 1);
    ck_assert_uint_eq(advise_choose(c, 4, false, &limits), 0);
    /* The one in the middle would be even enough, but is not for IPVS either. */
    limits.max_imbalance_ppm = 1009500;
    ck_assert_uint_eq(advise_choose(c, 4, false, &limits), 0);
    /* Where nothing is for IPVS, the best of it all. */
    c[0].policy.scheduler = "chbl";
    c[3].policy.scheduler = "p2c";
    ck_assert_uint_eq(advise_choose(c, 4, false, &limits), 2);
}
END_TEST

START_TEST(with_a_cache_hits_count_and_not_warmth)
{
    struct candidate c[] = {make(900000, 1500000, 0), make(100000, 1500000, 0)};

    c[0].figures.hit_ppm = 1;
    c[1].figures.hit_ppm = 2;
    advise_mark_front(c, 2, true);
    ck_assert(!c[0].on_front);
    ck_assert(c[1].on_front);
}
END_TEST

static void check_weights(const char *servers, uint64_t total, uint32_t first,
                          uint32_t second)
{
    struct server_list list = {0}, scaled;

    ck_assert_int_eq(servers_parse("test", servers, &list), 0);
    list.items[0].active = 7;
    ck_assert_int_eq(advise_scale_weights(&list, total, &scaled), 0);
    ck_assert_uint_eq(scaled.items[0].weight, first);
    ck_assert_uint_eq(scaled.items[1].weight, second);
    ck_assert_uint_eq(scaled.items[0].active, 0);
    servers_free(&scaled);
    servers_free(&list);
}

START_TEST(weights_keep_their_proportions)
{
    check_weights("10.0.0.1*30,10.0.0.2*10", 200, 150, 50);
    check_weights("10.0.0.1*30,10.0.0.2*10", 0, 30, 10);
    check_weights("10.0.0.1,10.0.0.2", 101, 51, 51);
    check_weights("10.0.0.1*1,10.0.0.2*0", 90, 90, 0);
    check_weights("10.0.0.1*1000,10.0.0.2*1", 10, 10, 2);
    check_weights("10.0.0.1*2147483647,10.0.0.2*1", UINT64_MAX, LOCUS_WEIGHT_MAX,
                  LOCUS_WEIGHT_MAX);
}
END_TEST

static void check_thresholds(const char *servers, uint64_t total, uint32_t first,
                             uint32_t second)
{
    struct server_list list = {0};

    ck_assert_int_eq(servers_parse("test", servers, &list), 0);
    advise_set_thresholds(&list, total);
    ck_assert_uint_eq(list.items[0].upper, first);
    ck_assert_uint_eq(list.items[0].lower, first - first / 4);
    ck_assert_uint_eq(list.items[1].upper, second);
    servers_free(&list);
}

START_TEST(thresholds_follow_the_weights)
{
    check_thresholds("10.0.0.1*30,10.0.0.2*10", 200, 150, 50);
    check_thresholds("10.0.0.1*1,10.0.0.2*1", 101, 51, 51);
    check_thresholds("10.0.0.1*1,10.0.0.2*0", 90, 90, 0);
    check_thresholds("10.0.0.1*0,10.0.0.2*0", 90, 0, 0);
    check_thresholds("10.0.0.1*9/5/4,10.0.0.2*1", 10, 9, 1);
    check_thresholds("10.0.0.1*2147483647,10.0.0.2*1", UINT64_MAX, LOCUS_WEIGHT_MAX,
                     LOCUS_WEIGHT_MAX);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("advise");
    TCase *tcase = suite_case(suite, "advise");

    tcase_add_test(tcase, the_front_holds_whom_nobody_beats);
    tcase_add_test(tcase, the_choice_is_near_to_both_ends);
    tcase_add_test(tcase, one_alone_is_chosen);
    tcase_add_test(tcase, with_a_cache_hits_count_and_not_warmth);
    tcase_add_test(tcase, what_ipvs_cannot_do_is_passed_over);
    tcase_add_test(tcase, thresholds_follow_the_weights);
    tcase_add_test(tcase, weights_keep_their_proportions);
    return suite_run(suite);
}
