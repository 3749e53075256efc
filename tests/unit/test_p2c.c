/* SPDX-License-Identifier: MIT */
/* p2c: what is drawn, who is never drawn, and how even it comes out. */
#include "../support/fleet.h"
#include "../support/random.h"

static struct locus_service *create(uint64_t seed)
{
    return fleet_service("p2c", NULL, seed);
}

START_TEST(without_a_server_nobody_is_picked_and_a_lone_one_takes_all)
{
    struct locus_service *svc = create(1);
    ck_assert_uint_eq(fleet_ask(svc, 1).why, LOCUS_WHY_REFUSED);
    uint32_t quiesced = fleet_add(svc, 1, 0);
    ck_assert_uint_eq(fleet_ask(svc, 1).why, LOCUS_WHY_REFUSED);
    uint32_t server = fleet_add(svc, 2, LOCUS_WEIGHT_MAX);
    for (uint32_t i = 0; i < 100; i++) {
        ck_assert_uint_eq(fleet_connect(svc, i).server, server);
    }
    ck_assert_int_eq(locus_server_remove(svc, server, 0), LOCUS_OK);
    ck_assert_int_eq(locus_server_remove(svc, quiesced, 0), LOCUS_OK);
    ck_assert_uint_eq(fleet_ask(svc, 1).why, LOCUS_WHY_REFUSED);
    locus_service_destroy(svc);
}
END_TEST

/* Two different ones are drawn, so that of two the better is always found; twos, which may draw
 * one twice, does not find it always. */
START_TEST(of_two_servers_the_less_loaded_is_picked)
{
    static const char *const names[] = {"p2c", "twos"};
    uint32_t missed[2] = {0};
    for (int k = 0; k < 2; k++) {
        struct locus_service *svc = fleet_service(names[k], NULL, 1);
        uint32_t idle = fleet_add(svc, 1, 1);
        uint32_t busy = fleet_add(svc, 2, 3);
        for (uint32_t i = 0; i < 4; i++) {
            MUST(locus_conn_bind(svc, busy, LOCUS_ACTIVE) == LOCUS_OK);
        }
        MUST(locus_conn_bind(svc, idle, LOCUS_ACTIVE) == LOCUS_OK);
        for (uint32_t i = 0; i < 1000; i++) {
            missed[k] += fleet_ask(svc, i).server != idle;
        }
        locus_service_destroy(svc);
    }
    ck_assert_uint_eq(missed[0], 0);
    ck_assert_uint_gt(missed[1], 0);
}
END_TEST

/* Among servers without connections the first choice stays. Five standard deviations. */
START_TEST(choices_are_drawn_by_weight)
{
    static const uint32_t weights[] = {50, 1, 1, 2, 3, 10, 33};
    enum { PICKS = 100000 };
    struct locus_service *svc = create(3);
    uint32_t counts[7] = {0};
    for (uint32_t i = 0; i < 7; i++) {
        fleet_add(svc, i, weights[i]);
    }
    for (uint32_t i = 0; i < PICKS; i++) {
        counts[fleet_ask(svc, i).server]++;
    }
    for (uint32_t i = 0; i < 7; i++) {
        double share = weights[i] / 100.0, mean = share * PICKS;
        double off = counts[i] - mean;
        ck_assert_double_le(off * off, 25 * mean * (1 - share));
    }
    locus_service_destroy(svc);
}
END_TEST

/* 16, 32, 64 ... slots are made at a time: right after them, and in between. */
START_TEST(every_server_is_drawn_however_many_there_are)
{
    struct locus_service *svc = create(4);
    for (uint32_t count = 1; count <= 130; count++) {
        bool drawn[130] = {false};
        uint32_t left = count;
        fleet_add(svc, count, 1);
        for (uint32_t i = 0; left > 0 && i < 100000; i++) {
            uint32_t server = fleet_ask(svc, i).server;
            MUST(server < count);
            left -= !drawn[server];
            drawn[server] = true;
        }
        MUST(left == 0);
    }
    locus_service_destroy(svc);
}
END_TEST

START_TEST(quiesced_overloaded_and_removed_servers_are_never_picked)
{
    struct locus_service *svc = fleet_service("p2c", NULL, 5);
    uint64_t random = 5;
    bool removed[300] = {false};
    for (uint32_t i = 0; i < 300; i++) {
        fleet_add(svc, i, 1 + i % 5);
        fleet_set_threshold(svc, i, 1 + i % 5, i % 2 == 0 ? 3 : 0);
    }
    for (uint32_t i = 0; i < 20000; i++) {
        uint32_t any = random_below(&random, 300);
        if (i % 10 == 0 && !removed[any] && random_percent(&random, 20)) {
            MUST(locus_server_remove(svc, any, 0) == LOCUS_OK);
            removed[any] = true;
        } else if (i % 10 == 1 && !removed[any]) {
            uint32_t weight = random_below(&random, 4);
            fleet_set_threshold(svc, any, weight, any % 2 == 0 ? 3 : 0);
        } else if (i % 10 < 5 && fleet_info(svc, any).active > 0) {
            MUST(locus_conn_unbind(svc, any, LOCUS_ACTIVE) == LOCUS_OK);
        }
        struct locus_server_info info;
        uint32_t server = fleet_ask(svc, i).server;
        MUST(server != LOCUS_NO_SERVER);
        info = fleet_info(svc, server);
        MUST(info.in_service && info.weight > 0 && !info.overloaded);
        MUST(locus_conn_bind(svc, server, LOCUS_ACTIVE) == LOCUS_OK);
    }
    locus_service_destroy(svc);
}
END_TEST

/* Ten connections per server: by chance one server of a thousand gets more than twenty. */
START_TEST(two_choices_come_out_far_more_even_than_one)
{
    enum { SERVERS = 1000, EACH = 10 };
    struct locus_service *svc = create(6);
    uint32_t alone[SERVERS] = {0}, most_alone = 0, most = 0;
    uint64_t random = 6;
    for (uint32_t i = 0; i < SERVERS; i++) {
        fleet_add(svc, i, 1);
    }
    for (uint32_t i = 0; i < SERVERS * EACH; i++) {
        alone[random_below(&random, SERVERS)]++;
        fleet_connect(svc, i);
    }
    for (uint32_t i = 0; i < SERVERS; i++) {
        uint32_t active = fleet_info(svc, i).active;
        most = active > most ? active : most;
        most_alone = alone[i] > most_alone ? alone[i] : most_alone;
    }
    ck_assert_uint_le(most, EACH + 4);
    ck_assert_uint_ge(most_alone, 2 * EACH);
    locus_service_destroy(svc);
}
END_TEST

START_TEST(uneven_servers_are_loaded_by_their_weights)
{
    struct locus_service *svc = create(7);
    for (uint32_t i = 0; i < 100; i++) {
        fleet_add(svc, i, i < 10 ? 100 : 10);
    }
    for (uint32_t i = 0; i < 19000; i++) {
        fleet_connect(svc, i);
    }
    for (uint32_t i = 0; i < 100; i++) {
        uint32_t active = fleet_info(svc, i).active, fair = i < 10 ? 1000 : 100;
        ck_assert_uint_ge(active, fair * 9 / 10);
        ck_assert_uint_le(active, fair * 11 / 10);
    }
    locus_service_destroy(svc);
}
END_TEST

START_TEST(a_seed_repeats_the_picks)
{
    struct locus_service *one = create(8), *other = create(9);
    uint32_t differ = 0;
    for (uint32_t i = 0; i < 40; i++) {
        fleet_add(one, i, 1 + i % 3);
        fleet_add(other, i, 1 + i % 3);
    }
    for (uint32_t i = 0; i < 200; i++) {
        differ += fleet_ask(one, i).server != fleet_ask(other, i).server;
    }
    ck_assert_uint_gt(differ, 100);
    locus_service_set_seed(one, 10);
    locus_service_set_seed(other, 10);
    for (uint32_t i = 0; i < 200; i++) {
        ck_assert_uint_eq(fleet_ask(one, i).server, fleet_ask(other, i).server);
    }
    locus_service_destroy(one);
    locus_service_destroy(other);
}
END_TEST

/* Weights that count in one scheduler say yes or no in another: p2c starts with its own. */
START_TEST(a_live_service_may_change_to_it_and_back)
{
    struct locus_service *svc = fleet_service("lc", NULL, 11);
    uint32_t counts[2] = {0};
    for (uint32_t i = 0; i < 40; i++) {
        fleet_add(svc, i, i < 20 ? 1 : 99);
    }
    for (int k = 0; k < 3; k++) {
        MUST(locus_service_set_scheduler(svc, "lc", 0, 0) == LOCUS_OK);
        fleet_add(svc, 100 + (uint32_t)k, 99);
        MUST(locus_service_set_scheduler(svc, "p2c", 0, 0) == LOCUS_OK);
    }
    for (uint32_t i = 0; i < 10000; i++) {
        counts[fleet_ask(svc, i).server < 20]++;
    }
    ck_assert_uint_gt(counts[0], 9700);
    ck_assert_uint_gt(counts[1], 0);
    locus_service_destroy(svc);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("p2c");
    TCase *tcase = suite_case(suite, "p2c");
    tcase_add_test(tcase, without_a_server_nobody_is_picked_and_a_lone_one_takes_all);
    tcase_add_test(tcase, of_two_servers_the_less_loaded_is_picked);
    tcase_add_test(tcase, choices_are_drawn_by_weight);
    tcase_add_test(tcase, every_server_is_drawn_however_many_there_are);
    tcase_add_test(tcase, quiesced_overloaded_and_removed_servers_are_never_picked);
    tcase_add_test(tcase, two_choices_come_out_far_more_even_than_one);
    tcase_add_test(tcase, uneven_servers_are_loaded_by_their_weights);
    tcase_add_test(tcase, a_seed_repeats_the_picks);
    tcase_add_test(tcase, a_live_service_may_change_to_it_and_back);
    return suite_run(suite);
}
