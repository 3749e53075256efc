/* SPDX-License-Identifier: MIT */
/*
 * What a pool in Redis alone has: keys, passwords, databases, lifetimes, scripts, and leases by the
 * clock of the server.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fake_server.h"
#include "pool_handles.h"

START_TEST(a_key_of_another_type_is_an_error)
{
    struct locus_pool *pool = open_patient("wrong");
    char member[LOCUS_POOL_MEMBER_SIZE];

    redis_server_cli(&server, "set 'locus:{wrong}' x");
    ck_assert_int_eq(locus_pool_pick(pool, member), LOCUS_EFORMAT);
    redis_server_cli(&server, "del 'locus:{wrong}'");
    ck_assert_int_eq(locus_pool_pick(pool, member), LOCUS_ENOSERVER);
    /* What a stranger has written is told, not passed on. */
    redis_server_cli(&server, "zadd 'locus:{wrong}' 0.5 a");
    ck_assert_int_eq(locus_pool_pick(pool, member), LOCUS_EFORMAT);
    redis_server_cli(&server, "zadd 'locus:{wrong}' -7 a");
    ck_assert_int_eq(locus_pool_pick(pool, member), LOCUS_EFORMAT);
    locus_pool_close(pool);
}
END_TEST

START_TEST(a_pick_needs_the_sorted_set_and_no_other_key)
{
    struct locus_pool *pool = open_patient("acl");
    struct locus_pool_list *list;
    char member[LOCUS_POOL_MEMBER_SIZE], uri[200];

    add_to(pool, "a");
    locus_pool_close(pool);
    redis_server_cli(&server, "acl setuser worker on '>s:cr@t' '~locus:{acl}' +eval "
                              "+evalsha '+script|load' +zrange +zincrby");
    snprintf(uri, sizeof(uri), "redis+unix://worker:s%%3acr%%40t@%s/s", server.folder);
    pool = open_with(uri, "acl", &patient_config);
    ck_assert_int_eq(locus_pool_pick(pool, member), LOCUS_OK);
    ck_assert_str_eq(member, "a");
    ck_assert_int_eq(locus_pool_list(pool, &list), LOCUS_EREFUSED);
    locus_pool_close(pool);
}
END_TEST

START_TEST(a_list_that_fails_does_not_go_with_every_pick)
{
    enum { PICKS = 40 };
    struct locus_pool_config config = patient_config;
    char member[LOCUS_POOL_MEMBER_SIZE];
    struct locus_pool_stats stats;

    config.fail = LOCUS_POOL_FAIL_OPEN;
    config.snapshot_ns = 3600000 * MS;
    struct locus_pool *pool = open_with(server.uri, "unlisted", &config);
    add_to(pool, "a");
    redis_server_cli(&server, "set 'locus:{unlisted}:kept' text");
    for (int i = 0; i < PICKS; i++) {
        ck_assert_int_eq(locus_pool_pick(pool, member), LOCUS_OK);
    }
    locus_pool_get_stats(pool, &stats);
    ck_assert_uint_lt(stats.round_trips, PICKS + 5);
    locus_pool_close(pool);
}
END_TEST

START_TEST(a_wrong_password_is_refused_at_once_and_not_shown)
{
    char uri[200], member[LOCUS_POOL_MEMBER_SIZE], words[200];
    struct locus_pool_stats stats;

    snprintf(uri, sizeof(uri), "redis+unix://nobody:hunter2@%s/s", server.folder);
    struct locus_pool *pool = open_with(uri, "auth", &patient_config);
    ck_assert_int_eq(locus_pool_pick(pool, member), LOCUS_EREFUSED);
    locus_pool_error(pool, words, sizeof(words));
    ck_assert_ptr_nonnull(strstr(words, "WRONGPASS"));
    ck_assert_ptr_null(strstr(words, "hunter2"));
    locus_pool_get_stats(pool, &stats);
    ck_assert_uint_eq(stats.connect_failures, 1);
    locus_pool_close(pool);
}
END_TEST

/* As servers that do not know AUTH answer it. */
START_TEST(a_password_that_the_server_repeats_is_not_shown)
{
    static const char *const answers[] = {
        "-ERR unknown command `AUTH`, with args beginning with: `hunter2`, \r\n",
        "-ERR what is hunter2?\r\n",
        "-hunter2\r\n",
        "-ERR unknown command 'AUTH', with args beginning with: 'hunter'\r\n",
    };
    char uri[200], member[LOCUS_POOL_MEMBER_SIZE], words[200];
    struct fake_server fake;

    fake_server_start(&fake, FAKE_ANSWER, answers[_i], strlen(answers[_i]));
    snprintf(uri, sizeof(uri), "redis+unix://:hunter2@%s/s", fake.folder);
    struct locus_pool *pool = open_with(uri, "echo", &patient_config);
    ck_assert_int_eq(locus_pool_pick(pool, member), LOCUS_EREFUSED);
    locus_pool_error(pool, words, sizeof(words));
    ck_assert_msg(strstr(words, "AUTH: ") != NULL, "%s", words);
    ck_assert_msg(strstr(words, "hunter") == NULL, "%s", words);
    locus_pool_close(pool);
    fake_server_stop(&fake);
}
END_TEST

START_TEST(databases_are_apart)
{
    char uri[200], member[LOCUS_POOL_MEMBER_SIZE];
    struct locus_pool *zero = open_patient("db");

    snprintf(uri, sizeof(uri), "%s?db=3", server.uri);
    struct locus_pool *three = open_with(uri, "db", &patient_config);
    add_to(three, "a");
    ck_assert_int_eq(locus_pool_pick(zero, member), LOCUS_ENOSERVER);
    ck_assert_int_eq(locus_pool_pick(three, member), LOCUS_OK);
    ck_assert_int_eq(locus_pool_clear(three), LOCUS_OK);
    locus_pool_close(zero);
    locus_pool_close(three);
}
END_TEST

/* Milliseconds, or -1: for ever, or -2: no such key. */
static long end_of(const char *key)
{
    char words[100];

    snprintf(words, sizeof(words), "pttl 'locus:{killed}%s'", key);
    return strtol(redis_server_cli(&server, words), NULL, 10);
}

START_TEST(a_pool_with_a_lifetime_ends_without_its_maker)
{
    const struct timespec pause = {.tv_nsec = 20000000};
    struct locus_pool_config config = patient_config;
    char member[LOCUS_POOL_MEMBER_SIZE];

    config.lifetime_ns = 3600000 * MS;
    struct locus_pool *pool = open_with(server.uri, "killed", &config);
    add_to(pool, "a");
    add_to(pool, "b");
    ck_assert_int_eq(locus_pool_remove(pool, "b", false), LOCUS_OK);
    ck_assert_int_gt(end_of(""), 0);
    ck_assert_int_gt(end_of(":kept"), 0);
    /* Those that only pick put it off, too. */
    locus_pool_close(pool);
    config.lifetime_ns = 6000 * MS;
    pool = open_with(server.uri, "killed", &config);
    for (int i = 0; i < 2; i++) {
        redis_server_cli(&server, "persist 'locus:{killed}'");
        redis_server_cli(&server, "persist 'locus:{killed}:kept'");
        do {
            ck_assert_int_eq(locus_pool_pick(pool, member), LOCUS_OK);
            nanosleep(&pause, NULL);
        } while (end_of("") == -1 || end_of(":kept") == -1);
    }
    locus_pool_close(pool);
    while (end_of("") != -2 || end_of(":kept") != -2) {
        nanosleep(&pause, NULL);
    }
}
END_TEST

START_TEST(a_pool_without_a_lifetime_stays)
{
    struct locus_pool *pool = open_patient("killed");

    add_to(pool, "a");
    ck_assert_int_eq(end_of(""), -1);
    locus_pool_close(pool);
}
END_TEST

START_TEST(a_lifetime_has_bounds)
{
    static const uint64_t wrong[] = {1, 999 * MS, (30 * UINT64_C(86400000) + 1) * MS,
                                     UINT64_MAX};
    struct locus_pool_config config = patient_config;
    struct locus_pool *pool;
    char why[200] = "";

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        config.lifetime_ns = wrong[i];
        ck_assert_int_eq(
            locus_pool_open(server.uri, "p", &config, &pool, why, sizeof(why)),
            LOCUS_EINVAL);
        ck_assert_ptr_nonnull(strstr(why, "lifetime"));
    }
}
END_TEST

START_TEST(a_script_that_the_server_forgot_is_sent_whole)
{
    struct locus_pool *pool = open_patient("noscript");
    struct locus_pool_stats stats;
    char member[LOCUS_POOL_MEMBER_SIZE];

    add_to(pool, "a");
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(locus_pool_pick(pool, member), LOCUS_OK);
        redis_server_cli(&server, "script flush");
    }
    locus_pool_get_stats(pool, &stats);
    ck_assert_uint_eq(stats.noscript, 2);
    struct locus_pool_member one;
    ck_assert_int_eq(locus_pool_get(pool, "a", &one), LOCUS_OK);
    ck_assert_uint_eq(one.count, 3);
    locus_pool_close(pool);
}
END_TEST

START_TEST(a_crashed_holder_leaks_nothing)
{
    struct locus_pool *pool = open_patient("crash");
    struct locus_pool_member one;
    struct locus_lease lease;
    int status;

    add_to(pool, "a");
    pid_t pid = fork();
    if (pid == 0) {
        struct locus_pool *own = open_with(server.uri, "crash", &patient_config);
        for (int i = 0; i < 50; i++) {
            ck_assert_int_eq(locus_lease_acquire(own, 5000 * MS, &lease), LOCUS_OK);
        }
        kill(getpid(), SIGKILL);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(locus_pool_get(pool, "a", &one), LOCUS_OK);
    ck_assert_uint_eq(one.held, 50);
    do {
        pause_ms(100);
        ck_assert_int_eq(locus_lease_acquire(pool, 20000 * MS, &lease), LOCUS_OK);
        ck_assert_int_eq(locus_lease_release(pool, lease.id, NULL), LOCUS_OK);
    } while (lease.held > 1);
    ck_assert_int_eq(locus_pool_get(pool, "a", &one), LOCUS_OK);
    ck_assert_uint_eq(one.held, 0);
    locus_pool_close(pool);
}
END_TEST

START_TEST(an_idle_pool_keeps_no_key_of_a_lease)
{
    struct locus_pool *pool = open_patient("idle");
    struct locus_lease lease;

    add_to(pool, "a");
    ck_assert_int_eq(locus_lease_acquire(pool, 2000 * MS, &lease), LOCUS_OK);
    ck_assert_int_eq(locus_lease_release(pool, lease.id, NULL), LOCUS_OK);
    ck_assert_int_eq(locus_lease_acquire(pool, 100 * MS, &lease), LOCUS_OK);
    /* Nobody calls again: Redis alone has to forget them. */
    for (int i = 0; i < 300; i++) {
        if (strcmp(redis_server_cli(&server, "keys 'locus:{idle}*'"), "locus:{idle}") ==
            0) {
            break;
        }
        pause_ms(100);
    }
    ck_assert_str_eq(redis_server_cli(&server, "keys 'locus:{idle}*'"), "locus:{idle}");
    ck_assert_int_eq(locus_lease_acquire(pool, 100 * MS, &lease), LOCUS_OK);
    ck_assert_uint_eq(lease.held, 1);
    locus_pool_close(pool);
}
END_TEST

START_TEST(counts_of_leases_that_redis_expired_are_void)
{
    struct locus_pool *pool = open_patient("void");
    struct locus_lease lease;

    add_to(pool, "a");
    ck_assert_int_eq(locus_lease_acquire(pool, 20000 * MS, &lease), LOCUS_OK);
    redis_server_cli(&server, "del 'locus:{void}:deadlines'");
    ck_assert_int_eq(locus_lease_acquire(pool, 20000 * MS, &lease), LOCUS_OK);
    ck_assert_uint_eq(lease.held, 1);
    locus_pool_close(pool);
}
END_TEST

static uint64_t skewed_clock(void *arg)
{
    (void)arg;
    return UINT64_MAX / 2;
}

START_TEST(the_clock_of_the_client_does_not_matter)
{
    struct locus_pool_config config = patient_config;
    config.now_ns = skewed_clock;
    struct locus_pool *pool = open_patient("skew");
    struct locus_pool *skewed = open_with(server.uri, "skew", &config);
    struct locus_lease lease;
    bool held;

    add_to(pool, "a");
    ck_assert_int_eq(locus_lease_acquire(skewed, 60000 * MS, &lease), LOCUS_OK);
    ck_assert_int_eq(locus_lease_renew(pool, lease.id, 60000 * MS), LOCUS_OK);
    ck_assert_int_eq(locus_lease_release(pool, lease.id, &held), LOCUS_OK);
    ck_assert(held);
    locus_pool_close(pool);
    locus_pool_close(skewed);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("pool_redis");
    TCase *real = redis_case(s, "real");
    TCase *fake = suite_case(s, "fake");

    tcase_add_test(real, a_key_of_another_type_is_an_error);
    tcase_add_test(real, a_pick_needs_the_sorted_set_and_no_other_key);
    tcase_add_test(real, a_list_that_fails_does_not_go_with_every_pick);
    tcase_add_test(real, a_wrong_password_is_refused_at_once_and_not_shown);
    tcase_add_loop_test(fake, a_password_that_the_server_repeats_is_not_shown, 0, 4);
    tcase_add_test(real, databases_are_apart);
    tcase_add_test(real, a_pool_with_a_lifetime_ends_without_its_maker);
    tcase_add_test(real, a_pool_without_a_lifetime_stays);
    tcase_add_test(real, a_lifetime_has_bounds);
    tcase_add_test(real, a_script_that_the_server_forgot_is_sent_whole);
    tcase_add_test(real, a_crashed_holder_leaks_nothing);
    tcase_add_test(real, an_idle_pool_keeps_no_key_of_a_lease);
    tcase_add_test(real, counts_of_leases_that_redis_expired_are_void);
    tcase_add_test(real, the_clock_of_the_client_does_not_matter);
    return redis_suite_run(s);
}
