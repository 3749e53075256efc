/* SPDX-License-Identifier: MIT */
/*
 * Leases: who gets them, how they end, and what they leave behind.
 */
#include <string.h>
#include <time.h>

#include "pool_at_hand.h"

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

int main(void)
{
    Suite *s = suite_create("pool_leases");
    TCase *tc = redis_case(s, "contract");

    tcase_add_loop_test(tc, a_lease_goes_to_the_member_with_the_fewest, 0, BACKENDS);
    tcase_add_loop_test(tc, leases_of_an_idle_pool_take_turns, 0, BACKENDS);
    tcase_add_loop_test(tc, release_is_by_id_only_and_idempotent, 0, BACKENDS);
    tcase_add_loop_test(tc, limits_are_kept, 0, BACKENDS);
    tcase_add_loop_test(tc, an_abandoned_lease_returns_by_itself, 0, BACKENDS);
    tcase_add_loop_test(tc, a_renewed_lease_lives_on, 0, BACKENDS);
    tcase_add_loop_test(tc, leases_of_a_member_that_is_out_still_count_when_it_is_back,
                        0, BACKENDS);
    return redis_suite_run(s);
}
