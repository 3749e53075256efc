/* SPDX-License-Identifier: MIT */
/* Picks of a Redis pool that travel together: exact counts, few commands, clear errors. */
#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <locus/pool.h>

#include "redis_suite.h"

enum { THREADS = 64, PICKS = 200, MEMBERS = 7 };

static struct locus_pool *pool;
static _Atomic uint64_t picked[MEMBERS], failed;
static _Atomic int last_status;

static void open_pool(uint32_t coalesce, uint64_t total_timeout_ns)
{
    char why[256] = "";
    const struct locus_pool_config config = {
        .coalesce = coalesce,
        .total_timeout_ns = total_timeout_ns,
        .command_timeout_ns = total_timeout_ns,
    };

    redis_server_cli(&server, "flushall");
    int status = locus_pool_open(server.uri, "test", &config, &pool, why, sizeof(why));
    ck_assert_msg(status == LOCUS_OK, "%s", why);
    for (int i = 0; i < MEMBERS; i++) {
        picked[i] = 0;
    }
    failed = 0;
}

static void add_members(void)
{
    for (int i = 0; i < MEMBERS; i++) {
        char name[8];
        const char *const names[] = {name};
        snprintf(name, sizeof(name), "m%d", i);
        ck_assert_int_eq(locus_pool_add(pool, names, 1, LOCUS_POOL_START_ZERO, 0, NULL),
                         LOCUS_OK);
    }
}

static void *pick(void *arg)
{
    char member[LOCUS_POOL_MEMBER_SIZE];

    for (intptr_t i = 0; i < (intptr_t)arg; i++) {
        int status = locus_pool_pick(pool, member);
        if (status == LOCUS_OK) {
            unsigned which;
            ck_assert_int_eq(sscanf(member, "m%u", &which), 1);
            ck_assert_uint_lt(which, MEMBERS);
            atomic_fetch_add(&picked[which], 1);
        } else {
            ck_assert_str_eq(member, "");
            atomic_fetch_add(&failed, 1);
            atomic_store(&last_status, status);
        }
    }
    return NULL;
}

static void pick_from_all_threads(intptr_t picks)
{
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, pick, (void *)picks), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
}

START_TEST(counts_are_exact_and_even)
{
    struct locus_pool_list *list;

    open_pool((uint32_t)_i, 120000000000);
    add_members();
    pick_from_all_threads(PICKS);
    ck_assert_uint_eq(failed, 0);
    ck_assert_int_eq(locus_pool_list(pool, &list), LOCUS_OK);
    uint64_t sum = 0;
    for (size_t i = 0; i < list->count; i++) {
        unsigned which;
        ck_assert_int_eq(sscanf(list->members[i].name, "m%u", &which), 1);
        ck_assert_uint_eq(list->members[i].count, picked[which]);
        ck_assert_uint_le(list->members[i].count - list->members[0].count, 1);
        sum += list->members[i].count;
    }
    ck_assert_uint_eq(sum, THREADS * PICKS);
    locus_pool_list_free(list);
    struct locus_pool_stats stats;
    locus_pool_get_stats(pool, &stats);
    ck_assert_uint_eq(stats.picks, THREADS * PICKS);
    locus_pool_close(pool);
}
END_TEST

START_TEST(an_empty_pool_is_told_to_each_caller)
{
    open_pool(1, 120000000000);
    pick_from_all_threads(20);
    ck_assert_uint_eq(failed, THREADS * 20);
    ck_assert_int_eq(last_status, LOCUS_ENOSERVER);
    struct locus_pool_stats stats;
    locus_pool_get_stats(pool, &stats);
    ck_assert_uint_eq(stats.empty, THREADS * 20);
    locus_pool_close(pool);
}
END_TEST

START_TEST(a_server_that_is_away_is_told_to_each_caller)
{
    open_pool(1, 200000000);
    add_members();
    redis_server_kill(&server);
    pick_from_all_threads(1);
    ck_assert_uint_eq(failed, THREADS);
    ck_assert(last_status == LOCUS_EIO || last_status == LOCUS_ETIMEDOUT ||
              last_status == LOCUS_EAMBIGUOUS);
    ck_assert(redis_server_restart(&server, NULL));
    locus_pool_close(pool);
}
END_TEST

START_TEST(a_pool_in_memory_needs_no_coalescing)
{
    const struct locus_pool_config config = {.coalesce = 1};
    const struct locus_pool_config too_many = {.coalesce = 1025};
    char why[256], member[LOCUS_POOL_MEMBER_SIZE];

    ck_assert_int_eq(locus_pool_open("mem:", "x", &config, &pool, why, sizeof(why)),
                     LOCUS_OK);
    ck_assert_int_eq(locus_pool_pick(pool, member), LOCUS_ENOSERVER);
    locus_pool_close(pool);
    ck_assert_int_eq(locus_pool_open("mem:", "x", &too_many, &pool, why, sizeof(why)),
                     LOCUS_EINVAL);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("coalesced picks");
    TCase *t = redis_case(s, "redis");

    tcase_add_loop_test(t, counts_are_exact_and_even, 0, 4);
    tcase_add_test(t, an_empty_pool_is_told_to_each_caller);
    tcase_add_test(t, a_pool_in_memory_needs_no_coalescing);
    tcase_add_test(t, a_server_that_is_away_is_told_to_each_caller);
    return redis_suite_run(s);
}
