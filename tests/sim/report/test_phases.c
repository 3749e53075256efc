/* SPDX-License-Identifier: MIT */
/*
 * Before, during, after: which phases events make, and when the balance is as it was.
 */
#include "../suite.h"

#include <string.h>

#include "report/report.h"

static void add_event(struct server_list *list, uint64_t at_s,
                      enum server_event_kind kind, uint32_t server)
{
    struct server_event event = {
        .at_ns = at_s * 1000000000, .kind = kind, .server = server, .weight = 5};

    ck_assert_int_eq(servers_add_event(list, &event), LOCUS_OK);
}

static struct server_list two_servers(void)
{
    struct server_list list = {0};

    ck_assert_int_eq(servers_parse("test", "10.0.0.1:80*4,10.0.0.2:80*4", &list), 0);
    return list;
}

START_TEST(no_event_is_one_phase)
{
    struct server_list list = two_servers();
    struct report_phase phases[PHASES_MAX];

    ck_assert_uint_eq(report_list_phases(&list, phases), 1);
    ck_assert_str_eq(phases[0].name, "before");
    /* What happens at time zero is how it begins. */
    add_event(&list, 0, EVENT_FAIL, 0);
    ck_assert_uint_eq(report_list_phases(&list, phases), 1);
    servers_free(&list);
}
END_TEST

START_TEST(two_moments_are_before_during_and_after)
{
    struct server_list list = two_servers();
    struct report_phase phases[PHASES_MAX];

    add_event(&list, 10, EVENT_FAIL, 1);
    ck_assert_uint_eq(report_list_phases(&list, phases), 2);
    ck_assert_str_eq(phases[1].name, "after");
    ck_assert_str_eq(phases[1].events, "fail 10.0.0.2:80");
    add_event(&list, 20, EVENT_RESTORE, 1);
    add_event(&list, 20, EVENT_WEIGHT, 1);
    ck_assert_uint_eq(report_list_phases(&list, phases), 3);
    ck_assert_str_eq(phases[0].name, "before");
    ck_assert_str_eq(phases[0].events, "");
    ck_assert_str_eq(phases[1].name, "during");
    ck_assert_str_eq(phases[2].name, "after");
    ck_assert_str_eq(phases[2].events, "restore 10.0.0.2:80, weight 10.0.0.2:80 5");
    ck_assert_uint_eq(phases[2].from_ns, 20000000000);
    add_event(&list, 20, EVENT_WEIGHT, 0);
    add_event(&list, 20, EVENT_FAIL, 0);
    add_event(&list, 30, EVENT_RESTORE, 0);
    ck_assert_uint_eq(report_list_phases(&list, phases), 4);
    ck_assert_str_eq(phases[1].name, "during 1");
    ck_assert_str_eq(phases[2].name, "during 2");
    ck_assert_str_eq(phases[2].events,
                     "restore 10.0.0.2:80, weight 10.0.0.2:80 5, weight "
                     "10.0.0.1:80 5 and 1 more");
    ck_assert_str_eq(phases[3].name, "after");
    servers_free(&list);
}
END_TEST

START_TEST(more_moments_than_phases_end_with_after)
{
    struct server_list list = two_servers();
    struct report_phase phases[PHASES_MAX];

    for (uint64_t s = 1; s < 3 * PHASES_MAX; s++) {
        add_event(&list, s, s % 2 == 0 ? EVENT_RESTORE : EVENT_FAIL, 0);
    }
    ck_assert_uint_eq(report_list_phases(&list, phases), PHASES_MAX);
    ck_assert_str_eq(phases[PHASES_MAX - 2].name, "during 62");
    ck_assert_str_eq(phases[PHASES_MAX - 1].name, "after");
    servers_free(&list);
}
END_TEST

/* Even (1.0) before; behind the first event uneven for three intervals, one of them begun
 * before it; behind the second never even again. */
START_TEST(recovery_is_the_first_even_interval_of_the_phase)
{
    static const uint64_t imbalance_ppm[] = {1000000, 1000000, 1100000,
                                             2000000, 1500000, 1099999,
                                             1000000, 1100001, 3000000};
    enum { POINTS = sizeof(imbalance_ppm) / sizeof(*imbalance_ppm) };
    struct timeline_point points[POINTS];
    struct timeline timeline = {.points = points, .count = POINTS};
    struct report_phase phases[] = {
        {.from_ns = 0}, {.from_ns = 2500000000}, {.from_ns = 7000000000}};
    struct figures figures[3] = {{.imbalance_mean_ppm = 1000000}};
    uint64_t recovery_ms[3] = {0};
    struct policy_report policy = {.phases = figures,
                                   .phase_count = 3,
                                   .recovery_ms = recovery_ms,
                                   .timeline = &timeline};
    struct report report = {
        .phases = phases, .phase_count = 3, .interval_ns = 1000000000};

    for (size_t i = 0; i < POINTS; i++) {
        points[i] = (struct timeline_point){.at_ns = (i + 1) * 1000000000,
                                            .imbalance_ppm = imbalance_ppm[i]};
    }
    report_find_recoveries(&report, &policy);
    ck_assert_uint_eq(recovery_ms[1], 3500);
    ck_assert_uint_eq(recovery_ms[2], NEVER_RECOVERED);
    /* With nothing active before, even is even. */
    figures[0].imbalance_mean_ppm = 0;
    report_find_recoveries(&report, &policy);
    ck_assert_uint_eq(recovery_ms[1], 3500);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("phases");
    TCase *tcase = suite_case(suite, "phases");

    tcase_add_test(tcase, no_event_is_one_phase);
    tcase_add_test(tcase, two_moments_are_before_during_and_after);
    tcase_add_test(tcase, more_moments_than_phases_end_with_after);
    tcase_add_test(tcase, recovery_is_the_first_even_interval_of_the_phase);
    return suite_run(suite);
}
