/* SPDX-License-Identifier: MIT */
/*
 * The figures of DESIGN section 5 on runs short enough to work them out by hand.
 */
#include "../suite.h"

#include <math.h>
#include <string.h>

#include "engine/figures.h"

enum { SECOND = 1000000000 };

static bool usable[200];

static bool available(void *arg, uint32_t server)
{
    (void)arg;
    return usable[server];
}

static void begin(struct recorder *r, uint32_t servers, uint32_t weight)
{
    ck_assert_int_eq(recorder_init(r, servers, available, NULL), 0);
    for (uint32_t s = 0; s < servers; s++) {
        usable[s] = true;
        recorder_set_weight(r, s, weight, 0);
    }
}

static struct figures end(struct recorder *r, uint64_t now_ns)
{
    struct figures f;

    recorder_flush(r, now_ns);
    recorder_figures(r, SIZE_MAX, &f);
    return f;
}

static void contact(struct recorder *r, uint32_t destination, uint32_t server)
{
    ck_assert_int_eq(recorder_contact(r, destination, server, 100), 0);
}

/* Two servers of weight 2. 0-1 s: 1+0 active, 2.0 times the mean. 1-3 s: 1+1, 1.0.
 * 3-4 s: nothing. 4-5 s: 0+2, 2.0. Busy for 4 s: mean (2 + 2*1 + 2) / 4 = 1.5. */
START_TEST(imbalance_is_weighted_by_time_and_leaves_out_idle_time)
{
    struct recorder r;

    begin(&r, 2, 2);
    recorder_open(&r, 0, 0);
    recorder_open(&r, 1, 1 * (uint64_t)SECOND);
    recorder_close(&r, 0, 3 * (uint64_t)SECOND);
    recorder_close(&r, 1, 3 * (uint64_t)SECOND);
    recorder_open(&r, 1, 4 * (uint64_t)SECOND);
    recorder_open(&r, 1, 4 * (uint64_t)SECOND);
    recorder_close(&r, 1, 5 * (uint64_t)SECOND);
    recorder_close(&r, 1, 5 * (uint64_t)SECOND);
    struct figures f = end(&r, 5 * (uint64_t)SECOND);
    ck_assert_uint_eq(f.imbalance_mean_ppm, 1500000);
    ck_assert_uint_eq(f.imbalance_peak_ppm, 2000000);
    /* By connections: 1 * 2.0 + 2 * 2 * 1.0 + 2 * 2.0, over 7 connection seconds. */
    ck_assert_uint_eq(f.imbalance_conn_mean_ppm, 1428571);
    ck_assert_uint_eq(f.busy_ms, 4000);
    ck_assert_uint_eq(f.span_ms, 5000);
    ck_assert_uint_eq(f.peak_active, 2);
    /* Jain 0.5 for 1+0, 1 for 1+1, 0.5 for 0+2: (0.5 + 2 + 0.5) / 4. cv 1, 0, 1. */
    ck_assert_uint_eq(f.jain_ppm, 750000);
    ck_assert_uint_eq(f.cv_ppm, 500000);
    recorder_fini(&r);
}
END_TEST

/* Weights 1 and 3, one connection each: loads 1 and 1/3, mean 2/4: highest over mean 2. */
START_TEST(imbalance_divides_by_the_weights)
{
    struct recorder r;

    begin(&r, 2, 1);
    recorder_set_weight(&r, 1, 3, 0);
    recorder_open(&r, 0, 0);
    recorder_open(&r, 1, 0);
    ck_assert_uint_eq(end(&r, SECOND).imbalance_mean_ppm, 2000000);
    recorder_fini(&r);
}
END_TEST

START_TEST(a_peak_that_lasts_no_time_is_none)
{
    struct recorder r;

    begin(&r, 4, 10);
    for (uint32_t s = 0; s < 4; s++) {
        recorder_open(&r, s, SECOND); /* in between: 4.0, 2.0, 1.33 */
    }
    ck_assert_uint_eq(end(&r, 2 * (uint64_t)SECOND).imbalance_peak_ppm, 1000000);
    recorder_fini(&r);
}
END_TEST

/* Three servers, one quiesced: its connections are in no mean and no maximum. */
START_TEST(servers_of_weight_0_are_not_in_the_balance)
{
    struct recorder r;

    begin(&r, 3, 2);
    for (int i = 0; i < 5; i++) {
        recorder_open(&r, 2, 0);
    }
    recorder_set_weight(&r, 2, 0, 0);
    recorder_open(&r, 0, 0);
    recorder_open(&r, 1, 0);
    struct figures f = end(&r, SECOND);
    ck_assert_uint_eq(f.imbalance_mean_ppm, 1000000);
    ck_assert_uint_eq(f.jain_ppm, 1000000);
    ck_assert_uint_eq(f.peak_active, 5);
    recorder_fini(&r);
}
END_TEST

/* Weight 1 of two servers: 3 active for 2 s of 4, so above for 2 s of 8 server seconds. */
START_TEST(time_above_weight_is_counted_per_server)
{
    struct recorder r;

    begin(&r, 2, 1);
    for (int i = 0; i < 3; i++) {
        recorder_open(&r, 0, SECOND);
    }
    for (int i = 0; i < 3; i++) {
        recorder_close(&r, 0, 3 * (uint64_t)SECOND);
    }
    struct figures f = end(&r, 4 * (uint64_t)SECOND);
    ck_assert_uint_eq(f.above_weight_ms, 2000);
    ck_assert_uint_eq(f.above_weight_ppm, 250000);
    recorder_fini(&r);
}
END_TEST

/* Destination 0: A A B A. Repeats 3: A stuck, B a move, A not stuck but warm. */
START_TEST(stuck_warm_and_moves_are_three_things)
{
    struct recorder r;

    begin(&r, 3, 1);
    contact(&r, 0, 0);
    contact(&r, 0, 0);
    contact(&r, 0, 1);
    contact(&r, 0, 0);
    contact(&r, 5, 2); /* another destination, no repeat */
    struct figures f = end(&r, 0);
    ck_assert_uint_eq(f.connections, 5);
    ck_assert_uint_eq(f.repeats, 3);
    ck_assert_uint_eq(f.stuck_ppm, 333333);
    ck_assert_uint_eq(f.warm_ppm, 666667);
    ck_assert_uint_eq(f.moves, 1);
    ck_assert_uint_eq(f.destinations, 2);
    ck_assert_uint_eq(f.replicas_max, 2);
    ck_assert_uint_eq(f.replicas_mean_ppm, 1500000);
    ck_assert_uint_eq(f.replicas_conn_mean_ppm, 1800000); /* (4 * 2 + 1 * 1) / 5 */
    recorder_fini(&r);
}
END_TEST

START_TEST(leaving_a_server_that_is_unavailable_is_no_move)
{
    struct recorder r;

    begin(&r, 2, 1);
    contact(&r, 0, 0);
    usable[0] = false;
    contact(&r, 0, 1);
    ck_assert_uint_eq(end(&r, 0).moves, 0);
    recorder_fini(&r);
}
END_TEST

static void check_failure(uint32_t servers)
{
    struct recorder r;

    begin(&r, servers, 1);
    contact(&r, 0, 0);
    contact(&r, 0, 1);
    contact(&r, 1, 1);
    ck_assert_int_eq(recorder_fail(&r, 0), 0);
    contact(&r, 0, 0); /* knows nothing of it any more; no move: it served it before */
    contact(&r, 0, 0); /* knows it again */
    contact(&r, 2000, 0);
    contact(&r, 2000, 0);
    struct figures f = end(&r, 0);
    ck_assert_uint_eq(f.repeats, 4);
    ck_assert_uint_eq(f.moves, 1); /* the second contact, 0 to 1 */
    ck_assert_uint_eq(f.warm_ppm, 500000);
    ck_assert_uint_eq(f.replicas_max, 2);
    recorder_fini(&r);
}

START_TEST(a_failed_server_has_to_be_warmed_again)
{
    check_failure(2);
    check_failure(200);
}
END_TEST

START_TEST(phases_add_up_to_the_whole_run)
{
    struct recorder r;
    struct figures whole, first, second;

    begin(&r, 2, 2);
    recorder_open(&r, 0, 0);
    contact(&r, 0, 0);
    ck_assert_int_eq(recorder_phase(&r, 2 * (uint64_t)SECOND), 0);
    recorder_open(&r, 1, 2 * (uint64_t)SECOND);
    contact(&r, 0, 1);
    contact(&r, 1, 1);
    whole = end(&r, 5 * (uint64_t)SECOND);
    recorder_figures(&r, 0, &first);
    recorder_figures(&r, 1, &second);
    ck_assert_uint_eq(first.connections, 1);
    ck_assert_uint_eq(second.connections, 2);
    ck_assert_uint_eq(whole.connections, 3);
    ck_assert_uint_eq(first.imbalance_mean_ppm, 2000000);
    ck_assert_uint_eq(second.imbalance_mean_ppm, 1000000);
    ck_assert_uint_eq(whole.imbalance_mean_ppm, 1400000);
    ck_assert_uint_eq(first.span_ms + second.span_ms, whole.span_ms);
    ck_assert_uint_eq(first.moves, 0);
    ck_assert_uint_eq(second.moves, 1);
    recorder_fini(&r);
}
END_TEST

/* 3 connections for 1 s against 1 for 9 s: a quarter of the connections has three quarters
 * of the concurrency. */
START_TEST(shares_by_number_and_by_time_are_told_apart)
{
    struct recorder r;
    struct server_figures f[2];

    begin(&r, 2, 5);
    for (int i = 0; i < 3; i++) {
        recorder_open(&r, 0, 0);
        contact(&r, 0, 0);
    }
    recorder_open(&r, 1, 0);
    contact(&r, 1, 1);
    for (int i = 0; i < 3; i++) {
        recorder_close(&r, 0, SECOND);
    }
    recorder_flush(&r, 9 * (uint64_t)SECOND);
    recorder_server_figures(&r, SIZE_MAX, f);
    ck_assert_uint_eq(f[0].request_share_ppm, 750000);
    ck_assert_uint_eq(f[0].connection_share_ppm, 250000);
    ck_assert_uint_eq(f[0].weight_share_ppm, 500000);
    ck_assert_uint_eq(f[1].connection_share_ppm, 750000);
    ck_assert_uint_eq(f[0].bytes, 300);
    recorder_fini(&r);
}
END_TEST

/* Weights 1 and 3. The third connection makes 3 active, of which a quarter, less than one, is
 * the first server's share: 3 - 0.75 too many, but 3 times one. The next server's 9 are no
 * herd: 12 active, of which it is to have 9. */
START_TEST(a_herd_is_how_far_a_connection_went_beyond_its_servers_share)
{
    struct recorder r;

    begin(&r, 2, 1);
    recorder_set_weight(&r, 1, 3, 0);
    for (uint32_t i = 0; i < 12; i++) {
        recorder_open(&r, i < 3 ? 0 : 1, 0);
        recorder_herd(&r, i < 3 ? 0 : 1);
    }
    struct figures f = end(&r, 1);
    ck_assert_uint_eq(f.excess, 2);
    ck_assert_uint_eq(f.herd_ppm, 3000000);
    /* 8 of 17, of which 4.25 are its share: 3.75 too many. */
    ck_assert_int_eq(recorder_phase(&r, 2), 0);
    for (uint32_t i = 0; i < 5; i++) {
        recorder_open(&r, 0, 2);
        recorder_herd(&r, 0);
    }
    recorder_set_weight(&r, 0, 0, 3); /* has no share any more */
    recorder_open(&r, 0, 3);
    recorder_herd(&r, 0);
    f = end(&r, 3);
    ck_assert_uint_eq(f.excess, 4);
    ck_assert_uint_eq(f.herd_ppm, 1882353);
    recorder_figures(&r, 0, &f);
    ck_assert_uint_eq(f.excess, 2);
    recorder_fini(&r);
}
END_TEST

/* Incremental sums against sums from scratch, at every step of a random run. */
START_TEST(incremental_balance_agrees_with_its_definition)
{
    enum { SERVERS = 20 };
    uint32_t active[SERVERS] = {0}, weight[SERVERS];
    double imbalance = 0, cv = 0, jain = 0, busy = 0, peak = 0;
    double active_time = 0, by_connections = 0;
    uint64_t seed = 3, now = 0;
    struct recorder r;

    begin(&r, SERVERS, 1);
    for (uint32_t s = 0; s < SERVERS; s++) {
        weight[s] = (uint32_t)(next_random(&seed) % 50);
        recorder_set_weight(&r, s, weight[s], 0);
    }
    for (int step = 0; step < 20000; step++) {
        double dt = (double)(next_random(&seed) % 1000), top = 0, sum = 0, squares = 0;
        double total = 0, weights = 0, n = 0;
        now += (uint64_t)dt;
        for (uint32_t s = 0; s < SERVERS; s++) {
            double load = weight[s] > 0 ? (double)active[s] / weight[s] : 0;
            top = load > top ? load : top;
            sum += load;
            squares += load * load;
            total += weight[s] > 0 ? active[s] : 0;
            weights += weight[s];
            n += weight[s] > 0;
        }
        if (total > 0 && dt > 0) {
            double mean = sum / n;
            double variance = squares / n - mean * mean;
            busy += dt;
            imbalance += dt * top / (total / weights);
            by_connections += dt * top * weights;
            active_time += dt * total;
            peak = fmax(peak, top / (total / weights));
            cv += dt * sqrt(fmax(variance, 0)) / mean;
            jain += dt * sum * sum / (n * squares);
        }
        uint32_t s = (uint32_t)(next_random(&seed) % SERVERS);
        if (step % 1999 == 0) {
            weight[s] = (uint32_t)(next_random(&seed) % 50);
            recorder_set_weight(&r, s, weight[s], now);
        } else if (active[s] > 0 && next_random(&seed) % 2 == 0) {
            active[s]--;
            recorder_close(&r, s, now);
        } else {
            active[s]++;
            recorder_open(&r, s, now);
        }
    }
    struct figures f = end(&r, now);
    ck_assert_double_eq_tol((double)f.imbalance_mean_ppm, imbalance / busy * 1e6, 1);
    ck_assert_double_eq_tol((double)f.imbalance_peak_ppm, peak * 1e6, 1);
    ck_assert_double_eq_tol((double)f.imbalance_conn_mean_ppm,
                            by_connections / active_time * 1e6, 1);
    ck_assert_double_eq_tol((double)f.cv_ppm, cv / busy * 1e6, 1);
    ck_assert_double_eq_tol((double)f.jain_ppm, jain / busy * 1e6, 1);
    recorder_fini(&r);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("figures");
    TCase *tcase = suite_case(suite, "figures");

    tcase_add_test(tcase, imbalance_is_weighted_by_time_and_leaves_out_idle_time);
    tcase_add_test(tcase, imbalance_divides_by_the_weights);
    tcase_add_test(tcase, a_peak_that_lasts_no_time_is_none);
    tcase_add_test(tcase, servers_of_weight_0_are_not_in_the_balance);
    tcase_add_test(tcase, time_above_weight_is_counted_per_server);
    tcase_add_test(tcase, stuck_warm_and_moves_are_three_things);
    tcase_add_test(tcase, leaving_a_server_that_is_unavailable_is_no_move);
    tcase_add_test(tcase, a_failed_server_has_to_be_warmed_again);
    tcase_add_test(tcase, phases_add_up_to_the_whole_run);
    tcase_add_test(tcase, shares_by_number_and_by_time_are_told_apart);
    tcase_add_test(tcase, a_herd_is_how_far_a_connection_went_beyond_its_servers_share);
    tcase_add_test(tcase, incremental_balance_agrees_with_its_definition);
    return suite_run(suite);
}
