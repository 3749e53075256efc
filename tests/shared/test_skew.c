/* SPDX-License-Identifier: MIT */
/*
 * Clients whose clocks are wrong, and wrong in different ways: leases end by the server's
 * clock alone, and health is a matter of reports, not of time. The clocks are those below,
 * put in their place by the linker (--wrap).
 */
#include <locus/pool.h>

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "redis_suite.h"

#define MS UINT64_C(1000000)
#define YEAR_S ((time_t)365 * 86400)

static _Atomic time_t skew_s;

int __real_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_gettimeofday(struct timeval *out, void *zone);
time_t __wrap_time(time_t *out);

/* A monotonic clock begins anywhere, but not below zero. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *out)
{
    int status = __real_clock_gettime(clock, out);

    out->tv_sec += skew_s;
    if (clock != CLOCK_REALTIME && out->tv_sec < 0) {
        out->tv_sec += 100 * YEAR_S;
    }
    return status;
}

int __wrap_gettimeofday(struct timeval *out, void *zone)
{
    struct timespec now;

    (void)zone;
    __wrap_clock_gettime(CLOCK_REALTIME, &now);
    *out = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
    return 0;
}

time_t __wrap_time(time_t *out)
{
    struct timespec now;

    __wrap_clock_gettime(CLOCK_REALTIME, &now);
    if (out != NULL) {
        *out = now.tv_sec;
    }
    return now.tv_sec;
}

/* ---- two clients ----------------------------------------------------------------- */

struct client {
    struct locus_pool *pool;
    time_t skew_s;
};
static struct client early, late;

static struct locus_pool *as(const struct client *client)
{
    skew_s = client->skew_s;
    return client->pool;
}

static void begin(uint64_t (*hook)(void *arg))
{
    const struct locus_pool_config config = {.total_timeout_ns = 20000 * MS,
                                             .command_timeout_ns = 10000 * MS,
                                             .lease_limit = 1,
                                             .now_ns = hook};
    const char *const member = "a";

    early.skew_s = -20 * YEAR_S;
    late.skew_s = 20 * YEAR_S;
    ck_assert_int_eq(locus_pool_open(server.uri, "skew", &config, &early.pool, NULL, 0),
                     LOCUS_OK);
    ck_assert_int_eq(locus_pool_open(server.uri, "skew", &config, &late.pool, NULL, 0),
                     LOCUS_OK);
    ck_assert_int_eq(locus_pool_clear(as(&early)), LOCUS_OK);
    ck_assert_int_eq(
        locus_pool_add(as(&late), &member, 1, LOCUS_POOL_START_ZERO, 0, NULL),
        LOCUS_OK);
}

static void end(void)
{
    skew_s = 0;
    locus_pool_close(early.pool);
    locus_pool_close(late.pool);
}

static uint64_t hasty_hook(void *arg)
{
    static atomic_ullong calls;

    (void)arg;
    return ++calls * (UINT64_C(1) << 56);
}

/* How long the server says that the latest lease is from its end, in ms. */
static long long left_ms(void)
{
    long long seconds = 0, micros = 0;
    double deadline_ms = 0;

    sscanf(redis_server_cli(&server, "time"), "%lld %lld", &seconds, &micros);
    sscanf(redis_server_cli(&server, "zrevrange locus:{skew}:deadlines 0 0 withscores"),
           "%*s %lf", &deadline_ms);
    return (long long)deadline_ms - seconds * 1000 - micros / 1000;
}

/* Whoever acquires, whoever looks on: 20 or 40 years are between their clocks. */
START_TEST(a_lease_lasts_as_long_as_the_server_says)
{
    const struct client *holder = _i % 2 == 0 ? &early : &late;
    const struct client *other = _i % 2 == 0 ? &late : &early;
    struct locus_lease lease, none;
    bool held;

    begin(_i < 2 ? NULL : hasty_hook);
    ck_assert_int_eq(locus_lease_acquire(as(holder), 60000 * MS, &lease), LOCUS_OK);
    ck_assert_int_gt(left_ms(), 30000);
    ck_assert_int_le(left_ms(), 60000);
    ck_assert_int_eq(locus_lease_acquire(as(other), 60000 * MS, &none), LOCUS_EFULL);
    ck_assert_int_eq(locus_lease_renew(as(other), lease.id, 120000 * MS), LOCUS_OK);
    ck_assert_int_gt(left_ms(), 90000);
    ck_assert_int_le(left_ms(), 120000);
    ck_assert_int_eq(locus_lease_acquire(as(holder), 60000 * MS, &none), LOCUS_EFULL);
    ck_assert_int_eq(locus_lease_release(as(other), lease.id, &held), LOCUS_OK);
    ck_assert(held);
    end();
}
END_TEST

START_TEST(an_abandoned_lease_ends_when_the_server_says)
{
    const struct client *holder = _i == 0 ? &early : &late;
    const struct client *other = _i == 0 ? &late : &early;
    const struct timespec pause = {.tv_nsec = 5000000};
    struct locus_lease lease, next;
    int status;

    begin(NULL);
    ck_assert_int_eq(locus_lease_acquire(as(holder), 100 * MS, &lease), LOCUS_OK);
    while ((status = locus_lease_acquire(as(other), 60000 * MS, &next)) ==
           LOCUS_EFULL) {
        nanosleep(&pause, NULL);
    }
    ck_assert_int_eq(status, LOCUS_OK);
    ck_assert_int_eq(locus_lease_renew(as(holder), lease.id, 60000 * MS), LOCUS_ENOENT);
    end();
}
END_TEST

START_TEST(reports_of_all_clocks_count_together)
{
    enum locus_pool_state state;
    char member[LOCUS_POOL_MEMBER_SIZE];

    begin(NULL);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(
            locus_pool_report(as(i % 2 == 0 ? &early : &late), "a", false, &state),
            LOCUS_OK);
        ck_assert_int_eq(state, i < 2 ? LOCUS_POOL_LIVE : LOCUS_POOL_UNHEALTHY);
    }
    ck_assert_int_eq(locus_pool_pick(as(&late), member), LOCUS_ENOSERVER);
    ck_assert_int_eq(locus_pool_report(as(&late), "a", true, &state), LOCUS_OK);
    ck_assert_int_eq(state, LOCUS_POOL_UNHEALTHY);
    ck_assert_int_eq(locus_pool_report(as(&early), "a", true, &state), LOCUS_OK);
    ck_assert_int_eq(state, LOCUS_POOL_LIVE);
    ck_assert_int_eq(locus_pool_pick(as(&early), member), LOCUS_OK);
    end();
}
END_TEST

/* That the clocks above are those in use. */
START_TEST(the_clocks_are_wrong)
{
    struct timespec now;

    skew_s = 0;
    time_t before = time(NULL);
    skew_s = 20 * YEAR_S;
    clock_gettime(CLOCK_REALTIME, &now);
    ck_assert_int_ge(now.tv_sec - before, 20 * YEAR_S);
    skew_s = 0;
}
END_TEST

int main(void)
{
    Suite *s = suite_create("skew");
    TCase *tc = redis_case(s, "skew");

    tcase_add_test(tc, the_clocks_are_wrong);
    tcase_add_loop_test(tc, a_lease_lasts_as_long_as_the_server_says, 0, 4);
    tcase_add_loop_test(tc, an_abandoned_lease_ends_when_the_server_says, 0, 2);
    tcase_add_test(tc, reports_of_all_clocks_count_together);
    return redis_suite_run(s);
}
