/* SPDX-License-Identifier: MIT */
/*
 * The pool's contract, the same tests on memory and on a real redis-server.
 */
#include <locus/pool.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../support/suite.h"
#include "redis_server.h"

enum { MEM, REDIS, BACKENDS };

static struct redis_server server;
static struct locus_pool *pool;

static uint64_t fake_ns = 1000000000;

static uint64_t fake_clock(void *arg)
{
    (void)arg;
    return fake_ns;
}

static const char *uri_of(int backend)
{
    return backend == MEM ? "mem:" : server.uri;
}

static struct locus_pool *open_at(const char *uri, const char *name,
                                  const struct locus_pool_config *config)
{
    struct locus_pool *opened;
    char why[200] = "";

    ck_assert_msg(locus_pool_open(uri, name, config, &opened, why, sizeof(why)) ==
                      LOCUS_OK,
                  "%s", why);
    return opened;
}

/* A pool of the test's own name, cleared. */
static void begin(int backend, const char *name, const struct locus_pool_config *config)
{
    struct locus_pool_config c = {0};

    if (config != NULL) {
        c = *config;
    }
    c.total_timeout_ns = 20000000000u;
    c.command_timeout_ns = 10000000000u;
    c.now_ns = fake_clock;
    pool = open_at(uri_of(backend), name, &c);
    ck_assert_int_eq(locus_pool_clear(pool), LOCUS_OK);
}

static void end(void)
{
    locus_pool_close(pool);
    pool = NULL;
}

static void add_at(const char *member, uint64_t count)
{
    ck_assert_int_eq(locus_pool_add(pool, &member, 1, LOCUS_POOL_START_AT, count, NULL),
                     LOCUS_OK);
}

static void add(const char *member)
{
    ck_assert_int_eq(locus_pool_add(pool, &member, 1, LOCUS_POOL_START_MIN, 0, NULL),
                     LOCUS_OK);
}

static const char *pick(void)
{
    static char member[LOCUS_POOL_MEMBER_SIZE];

    ck_assert_int_eq(locus_pool_pick(pool, member), LOCUS_OK);
    return member;
}

static struct locus_pool_member get(const char *name)
{
    struct locus_pool_member member;

    ck_assert_int_eq(locus_pool_get(pool, name, &member), LOCUS_OK);
    ck_assert_str_eq(member.name, name);
    return member;
}

static void check_counts(const char *expected)
{
    struct locus_pool_list *list;
    char text[2048] = "";

    ck_assert_int_eq(locus_pool_list(pool, &list), LOCUS_OK);
    for (size_t i = 0; i < list->count; i++) {
        const struct locus_pool_member *m = &list->members[i];
        size_t used = strlen(text);
        snprintf(text + used, sizeof(text) - used, "%s%s=%llu%s", i > 0 ? " " : "",
                 m->name, (unsigned long long)m->count,
                 m->state == LOCUS_POOL_LIVE      ? ""
                 : m->state == LOCUS_POOL_REMOVED ? "(removed)"
                                                  : "(unhealthy)");
    }
    locus_pool_list_free(list);
    ck_assert_str_eq(text, expected);
}

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

/* ---- leases ---------------------------------------------------------------------- */

static struct locus_lease acquire(uint64_t ttl_ms)
{
    struct locus_lease lease;

    ck_assert_int_eq(locus_lease_acquire(pool, ttl_ms * 1000000, &lease), LOCUS_OK);
    ck_assert_uint_eq(strlen(lease.id), 32);
    return lease;
}

static bool release(const char *id)
{
    bool held;

    ck_assert_int_eq(locus_lease_release(pool, id, &held), LOCUS_OK);
    return held;
}

/* Lets that much time pass on the backend's own clock. */
static void let_pass(int backend, uint64_t ms)
{
    const struct timespec pause = {.tv_sec = (time_t)(ms / 1000),
                                   .tv_nsec = (long)(ms % 1000) * 1000000};

    fake_ns += ms * 1000000;
    if (backend == REDIS) {
        nanosleep(&pause, NULL);
    }
}

START_TEST(a_lease_goes_to_the_member_with_the_fewest)
{
    struct locus_lease leases[5];

    begin(_i, "fewest", NULL);
    add("a");
    add("b");
    add("c");
    for (int i = 0; i < 5; i++) {
        leases[i] = acquire(60000);
    }
    ck_assert_uint_eq(get("a").held, 2);
    ck_assert_uint_eq(get("b").held, 2);
    ck_assert_uint_eq(get("c").held, 1);
    ck_assert(release(leases[1].id)); /* b's first */
    ck_assert_uint_eq(get("b").held, 1);
    struct locus_lease next = acquire(60000);
    ck_assert_str_eq(next.member, "c"); /* longer ago than b */
    ck_assert_uint_eq(next.held, 2);
    check_counts("a=0 b=0 c=0"); /* leases are no allocations */
    end();
}
END_TEST

START_TEST(leases_of_an_idle_pool_take_turns)
{
    const char *const expected[] = {"a", "b", "c", "a", "b"};

    begin(_i, "turns", NULL);
    add("a");
    add("b");
    add("c");
    for (int i = 0; i < 5; i++) {
        struct locus_lease lease = acquire(60000);
        ck_assert_str_eq(lease.member, expected[i]);
        ck_assert(release(lease.id));
    }
    end();
}
END_TEST

START_TEST(release_is_by_id_only_and_idempotent)
{
    begin(_i, "release", NULL);
    add("a");
    struct locus_lease first = acquire(60000);
    struct locus_lease second = acquire(60000);
    ck_assert_str_ne(first.id, second.id);
    ck_assert(!release("0123456789abcdef0123456789abcdef"));
    ck_assert_uint_eq(get("a").held, 2);
    ck_assert(release(first.id));
    ck_assert(!release(first.id));
    ck_assert(!release(first.id));
    ck_assert_uint_eq(get("a").held, 1);
    ck_assert(release(second.id));
    ck_assert_uint_eq(get("a").held, 0);
    ck_assert_int_eq(locus_lease_release(pool, "a", NULL), LOCUS_EINVAL);
    end();
}
END_TEST

START_TEST(limits_are_kept)
{
    const struct locus_pool_config config = {.lease_limit = 1};
    struct locus_lease lease;

    begin(_i, "limits", &config);
    ck_assert_int_eq(locus_lease_acquire(pool, 60000000000, &lease), LOCUS_ENOSERVER);
    add("a");
    add("b");
    ck_assert_int_eq(locus_lease_set_limit(pool, "b", 3), LOCUS_OK);
    ck_assert_int_eq(locus_lease_set_limit(pool, "nobody", 3), LOCUS_ENOENT);
    for (int i = 0; i < 4; i++) {
        acquire(60000);
    }
    ck_assert_uint_eq(get("a").held, 1);
    ck_assert_uint_eq(get("b").held, 3);
    ck_assert_int_eq(locus_lease_acquire(pool, 60000000000, &lease), LOCUS_EFULL);
    ck_assert_str_eq(lease.id, "");
    ck_assert_str_eq(lease.member, "");
    ck_assert_int_eq(locus_lease_set_limit(pool, "b", 0), LOCUS_OK);
    ck_assert_int_eq(locus_lease_set_limit(pool, "a", 2), LOCUS_OK);
    ck_assert_str_eq(acquire(60000).member, "a");
    end();
}
END_TEST

START_TEST(an_abandoned_lease_returns_by_itself)
{
    begin(_i, "abandoned", NULL);
    add("a");
    add("b");
    struct locus_lease lost = acquire(60);
    struct locus_lease kept = acquire(60000);
    ck_assert_str_eq(lost.member, "a");
    let_pass(_i, 80);
    ck_assert_str_eq(acquire(60000).member, "a");
    ck_assert_uint_eq(get("a").held, 1);
    ck_assert(!release(lost.id)); /* late: changes nothing */
    ck_assert_uint_eq(get("a").held, 1);
    ck_assert_int_eq(locus_lease_renew(pool, lost.id, 60000000000), LOCUS_ENOENT);
    ck_assert(release(kept.id));
    end();
}
END_TEST

START_TEST(a_renewed_lease_lives_on)
{
    begin(_i, "renewed", NULL);
    add("a");
    struct locus_lease lease = acquire(200);
    ck_assert_int_eq(locus_lease_renew(pool, lease.id, 60000000000), LOCUS_OK);
    let_pass(_i, 250);
    ck_assert(release(lease.id));
    ck_assert_int_eq(locus_lease_renew(pool, lease.id, 60000000000), LOCUS_ENOENT);
    end();
}
END_TEST

START_TEST(leases_of_a_member_that_is_out_still_count_when_it_is_back)
{
    begin(_i, "out", NULL);
    add("a");
    add("b");
    struct locus_lease first = acquire(60000);
    ck_assert_str_eq(first.member, "a");
    ck_assert_int_eq(locus_pool_remove(pool, "a", false), LOCUS_OK);
    ck_assert_uint_eq(get("a").held, 1);
    ck_assert_str_eq(acquire(60000).member, "b");
    ck_assert_str_eq(acquire(60000).member, "b");
    ck_assert_int_eq(locus_pool_restore(pool, "a", false), LOCUS_OK);
    ck_assert_str_eq(acquire(60000).member, "a");
    ck_assert_uint_eq(get("a").held, 2);
    ck_assert_int_eq(locus_pool_remove(pool, "a", false), LOCUS_OK);
    ck_assert(release(first.id));
    ck_assert_uint_eq(get("a").held, 1);
    ck_assert_int_eq(locus_pool_remove(pool, "a", true), LOCUS_OK);
    ck_assert_int_eq(locus_pool_remove(pool, "b", true), LOCUS_OK);
    struct locus_lease none;
    ck_assert_int_eq(locus_lease_acquire(pool, 1000000, &none), LOCUS_ENOSERVER);
    end();
}
END_TEST

/* ---- memory and Redis in lockstep ------------------------------------------------ */

static uint64_t rng_state;

static unsigned rng(unsigned below)
{
    rng_state =
        rng_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(rng_state >> 33) % below;
}

static void compare_lists(struct locus_pool *a, struct locus_pool *b, unsigned step)
{
    struct locus_pool_list *x, *y;

    ck_assert_int_eq(locus_pool_list(a, &x), LOCUS_OK);
    ck_assert_int_eq(locus_pool_list(b, &y), LOCUS_OK);
    ck_assert_uint_eq(x->count, y->count);
    for (size_t i = 0; i < x->count; i++) {
        const struct locus_pool_member *p = &x->members[i], *q = &y->members[i];
        ck_assert_msg(
            strcmp(p->name, q->name) == 0 && p->count == q->count &&
                p->state == q->state && p->streak == q->streak && p->held == q->held,
            "step %u: %s %llu %d %u %llu, %s %llu %d %u %llu", step, p->name,
            (unsigned long long)p->count, (int)p->state, p->streak,
            (unsigned long long)p->held, q->name, (unsigned long long)q->count,
            (int)q->state, q->streak, (unsigned long long)q->held);
    }
    locus_pool_list_free(x);
    locus_pool_list_free(y);
}

enum { HELD = 64 };

struct lockstep {
    struct locus_pool *pools[BACKENDS];
    struct locus_lease leases[BACKENDS][HELD];
    size_t held;
};

static void step_lease(struct lockstep *l)
{
    int status[BACKENDS];

    if (l->held > 0 && (l->held == HELD || rng(2) == 0)) {
        size_t at = rng((unsigned)l->held);
        for (int b = 0; b < BACKENDS; b++) {
            bool held;
            ck_assert_int_eq(
                locus_lease_release(l->pools[b], l->leases[b][at].id, &held), LOCUS_OK);
            ck_assert(held);
            l->leases[b][at] = l->leases[b][l->held - 1];
        }
        l->held--;
        return;
    }
    for (int b = 0; b < BACKENDS; b++) {
        status[b] =
            locus_lease_acquire(l->pools[b], 600000000000, &l->leases[b][l->held]);
    }
    ck_assert_int_eq(status[MEM], status[REDIS]);
    ck_assert_str_eq(l->leases[MEM][l->held].member, l->leases[REDIS][l->held].member);
    ck_assert_uint_eq(l->leases[MEM][l->held].held, l->leases[REDIS][l->held].held);
    l->held += status[MEM] == LOCUS_OK;
}

static void step_member(struct lockstep *l)
{
    char name[8], picked[BACKENDS][5][LOCUS_POOL_MEMBER_SIZE];
    const char *member = name;
    unsigned what = rng(12), value = rng(40), flag = rng(2);
    size_t n = 1 + rng(5), got[BACKENDS] = {0};
    int status[BACKENDS];

    snprintf(name, sizeof(name), "m%u", rng(9));
    memset(picked, 0, sizeof(picked));
    for (int b = 0; b < BACKENDS; b++) {
        struct locus_pool *p = l->pools[b];
        enum locus_pool_state state = LOCUS_POOL_LIVE;
        if (what < 5) {
            status[b] = locus_pool_pick_many(p, n, picked[b], &got[b]);
        } else if (what < 7) {
            status[b] =
                locus_pool_add(p, &member, 1, (enum locus_pool_start)rng(1) + flag * 3,
                               value, &got[b]);
        } else if (what == 7) {
            status[b] = locus_pool_remove(p, member, value < 8);
        } else if (what == 8) {
            status[b] = locus_pool_restore(p, member, flag != 0);
        } else if (what == 9) {
            status[b] = locus_lease_set_limit(p, member, value % 4);
        } else if (what == 10) {
            status[b] = value == 0 ? locus_pool_rebase(p) : LOCUS_OK;
        } else {
            status[b] = locus_pool_report(p, member, flag != 0, &state);
            got[b] = (size_t)state;
        }
    }
    ck_assert_int_eq(status[MEM], status[REDIS]);
    ck_assert_uint_eq(got[MEM], got[REDIS]);
    ck_assert_int_eq(memcmp(picked[MEM], picked[REDIS], n * LOCUS_POOL_MEMBER_SIZE), 0);
}

START_TEST(memory_and_redis_decide_alike)
{
    const struct locus_pool_config config = {
        .fail_after = 2,
        .restore_after = 2,
        .lease_limit = 5,
        .total_timeout_ns = 20000000000u,
        .command_timeout_ns = 10000000000u,
    };
    struct lockstep l = {.held = 0};
    const char *steps = getenv("LOCUS_STEPS");
    unsigned long count = steps != NULL ? strtoul(steps, NULL, 10) : 2000;

    rng_state = (uint64_t)_i + 1;
    for (int b = 0; b < BACKENDS; b++) {
        l.pools[b] = open_at(uri_of(b), "lockstep", &config);
        ck_assert_int_eq(locus_pool_clear(l.pools[b]), LOCUS_OK);
    }
    for (unsigned step = 0; step < count; step++) {
        if (rng(3) == 0) {
            step_lease(&l);
        } else {
            step_member(&l);
        }
        if (step % 8 == 0) {
            compare_lists(l.pools[MEM], l.pools[REDIS], step);
        }
    }
    locus_pool_close(l.pools[MEM]);
    locus_pool_close(l.pools[REDIS]);
}
END_TEST

/* ---- many workers ---------------------------------------------------------------- */

enum { WORKERS = 64, MEMBERS = 10, PICKS = 100 };

struct worker {
    struct locus_pool *pool;
    uint64_t picked[MEMBERS]; /* by name "m0".."m9" */
    uint64_t failed, strangers;
};

static void work(struct worker *worker)
{
    char members[8][LOCUS_POOL_MEMBER_SIZE];

    for (int i = 0; i < PICKS; i++) {
        size_t n = i % 4 == 0 ? 8 : 1, got = 0;
        int status = n == 1 ? locus_pool_pick(worker->pool, members[0])
                            : locus_pool_pick_many(worker->pool, n, members, &got);
        worker->failed += status != LOCUS_OK;
        for (size_t k = 0; status == LOCUS_OK && k < n; k++) {
            int m = members[k][1] - '0';
            if (members[k][0] == 'm' && m >= 0 && m < MEMBERS) {
                worker->picked[m]++;
            } else {
                worker->strangers++;
            }
        }
    }
}

static void *work_thread(void *arg)
{
    work(arg);
    return NULL;
}

/* In a process of its own, with a handle of its own; the figures come back by a pipe. */
static int work_process(const char *uri, const char *name, pid_t *pid)
{
    const struct locus_pool_config config = {.total_timeout_ns = 60000000000u,
                                             .command_timeout_ns = 30000000000u};
    int pipes[2];

    ck_assert_int_eq(pipe(pipes), 0);
    *pid = fork();
    if (*pid == 0) {
        struct worker worker = {.pool = NULL};
        char why[100];
        if (locus_pool_open(uri, name, &config, &worker.pool, why, sizeof(why)) ==
            LOCUS_OK) {
            work(&worker);
        } else {
            worker.failed = 1;
        }
        locus_pool_close(worker.pool);
        worker.pool = NULL;
        ssize_t wrote = write(pipes[1], &worker, sizeof(worker));
        _exit(wrote == (ssize_t)sizeof(worker) ? 0 : 1);
    }
    close(pipes[1]);
    return pipes[0];
}

START_TEST(counts_of_64_workers_add_up_and_differ_by_one_at_most)
{
    const struct locus_pool_config config = {.total_timeout_ns = 60000000000u,
                                             .command_timeout_ns = 30000000000u};
    static struct worker workers[WORKERS];
    pthread_t threads[WORKERS];
    pid_t pids[WORKERS];
    int pipes[WORKERS];
    int processes = _i == REDIS ? WORKERS / 2 : 0;
    struct locus_pool_list *list;
    uint64_t total = 0;

    memset(workers, 0, sizeof(workers));
    begin(_i, "workers", &config);
    for (int m = 0; m < MEMBERS; m++) {
        char name[4];
        snprintf(name, sizeof(name), "m%d", m);
        add(name);
    }
    add_at("excluded", 0);
    ck_assert_int_eq(locus_pool_remove(pool, "excluded", false), LOCUS_OK);
    for (int i = 0; i < processes; i++) { /* before any thread exists */
        pipes[i] = work_process(server.uri, "workers", &pids[i]);
    }
    for (int i = processes; i < WORKERS; i++) {
        workers[i].pool = pool;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, work_thread, &workers[i]),
                         0);
    }
    for (int i = processes; i < WORKERS; i++) {
        pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < processes; i++) {
        ck_assert_int_eq(read(pipes[i], &workers[i], sizeof(workers[i])),
                         (ssize_t)sizeof(workers[i]));
        waitpid(pids[i], NULL, 0);
        close(pipes[i]);
    }
    ck_assert_int_eq(locus_pool_list(pool, &list), LOCUS_OK);
    ck_assert_uint_eq(list->count, MEMBERS + 1);
    ck_assert_uint_le(list->members[MEMBERS - 1].count - list->members[0].count, 1);
    for (size_t i = 0; i < MEMBERS; i++) {
        uint64_t known = 0;
        int m = list->members[i].name[1] - '0';
        for (int w = 0; w < WORKERS; w++) {
            known += workers[w].picked[m];
        }
        ck_assert_uint_eq(known, list->members[i].count);
        total += known;
    }
    ck_assert_uint_eq(total, (uint64_t)WORKERS * (PICKS + PICKS / 4 * 7));
    for (int w = 0; w < WORKERS; w++) {
        ck_assert_uint_eq(workers[w].failed, 0);
        ck_assert_uint_eq(workers[w].strangers, 0);
    }
    locus_pool_list_free(list);
    end();
}
END_TEST

static void *churn_thread(void *arg)
{
    atomic_bool *stop = arg;
    unsigned round = 0;

    while (!atomic_load(stop)) {
        char name[4];
        snprintf(name, sizeof(name), "m%u", round++ % MEMBERS);
        if (locus_pool_remove(pool, name, false) != LOCUS_OK ||
            locus_pool_report(pool, "m0", round % 3 == 0, NULL) != LOCUS_OK ||
            locus_pool_restore(pool, name, false) != LOCUS_OK) {
            return pool;
        }
    }
    return NULL;
}

START_TEST(counts_add_up_while_members_come_and_go)
{
    static struct worker workers[8];
    pthread_t threads[8], churn;
    static atomic_bool stop;
    uint64_t total = 0, counted = 0;
    struct locus_pool_list *list;
    void *failed;

    memset(workers, 0, sizeof(workers));
    stop = false;
    begin(_i, "churn", NULL);
    for (int m = 0; m < MEMBERS; m++) {
        char name[4];
        snprintf(name, sizeof(name), "m%d", m);
        add_at(name, 0);
    }
    ck_assert_int_eq(pthread_create(&churn, NULL, churn_thread, &stop), 0);
    for (int i = 0; i < 8; i++) {
        workers[i].pool = pool;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, work_thread, &workers[i]),
                         0);
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
        for (int m = 0; m < MEMBERS; m++) {
            total += workers[i].picked[m];
        }
        ck_assert_uint_eq(workers[i].failed, 0);
    }
    atomic_store(&stop, true);
    pthread_join(churn, &failed);
    ck_assert_ptr_null(failed);
    ck_assert_int_eq(locus_pool_list(pool, &list), LOCUS_OK);
    for (size_t i = 0; i < list->count; i++) {
        counted += list->members[i].count;
    }
    locus_pool_list_free(list);
    /* A restore may lift a member to the live minimum: never lower, so never fewer. */
    ck_assert_uint_ge(counted, total);
    ck_assert_uint_eq(total, 8u * (PICKS + PICKS / 4 * 7));
    end();
}
END_TEST

static void start_server(void)
{
    redis_server_must_start(&server);
}

static void stop_server(void)
{
    redis_server_stop(&server);
}

static Suite *suite(void)
{
    Suite *s = suite_create("pool");
    TCase *tc = suite_case(s, "contract");

    tcase_add_unchecked_fixture(tc, start_server, stop_server);
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
    tcase_add_loop_test(tc, a_lease_goes_to_the_member_with_the_fewest, 0, BACKENDS);
    tcase_add_loop_test(tc, leases_of_an_idle_pool_take_turns, 0, BACKENDS);
    tcase_add_loop_test(tc, release_is_by_id_only_and_idempotent, 0, BACKENDS);
    tcase_add_loop_test(tc, limits_are_kept, 0, BACKENDS);
    tcase_add_loop_test(tc, an_abandoned_lease_returns_by_itself, 0, BACKENDS);
    tcase_add_loop_test(tc, a_renewed_lease_lives_on, 0, BACKENDS);
    tcase_add_loop_test(tc, leases_of_a_member_that_is_out_still_count_when_it_is_back,
                        0, BACKENDS);
    tcase_add_loop_test(tc, memory_and_redis_decide_alike, 0, 3);
    tcase_add_loop_test(tc, counts_of_64_workers_add_up_and_differ_by_one_at_most, 0,
                        BACKENDS);
    tcase_add_loop_test(tc, counts_add_up_while_members_come_and_go, 0, BACKENDS);
    return s;
}

int main(void)
{
    if (!redis_server_installed()) {
        printf("1..0 # SKIP no redis-server\n");
        return EXIT_SUCCESS;
    }
    return suite_run(suite());
}
