/* SPDX-License-Identifier: MIT */
#include "../suite.h"

#include <string.h>

#include "engine/cache.h"

static struct cache *make(enum cache_policy policy, uint64_t capacity, bool objects)
{
    struct cache_config config = {
        .capacity = capacity, .objects = objects, .policy = policy};
    struct cache *cache;

    ck_assert_int_eq(cache_create(&config, &cache), 0);
    return cache;
}

static bool request(struct cache *cache, uint32_t object, uint64_t bytes)
{
    bool hit = false;

    if (cache_request(cache, object, bytes, &hit) != 0) {
        ck_abort();
    }
    return hit;
}

/* "1-" is a miss of object 1, "1+" a hit. */
static void check_sequence(struct cache *cache, const char *sequence)
{
    for (const char *at = sequence; *at != '\0'; at += at[2] == ' ' ? 3 : 2) {
        ck_assert_msg(request(cache, (uint32_t)(at[0] - '0'), 1) == (at[1] == '+'),
                      "at '%s'", at);
    }
    cache_destroy(cache);
}

START_TEST(lru_drops_what_was_used_longest_ago)
{
    check_sequence(make(CACHE_LRU, 3, true), "1- 2- 3- 1+ 4- 2- 1+ 3- 4- 1+");
}
END_TEST

/* After 1 2 3 and a use of 1 and 2, the hand spares both and takes 3; it stays in front of
 * 4's older neighbours, so 1 goes next although it is older than 4. */
START_TEST(sieve_spares_what_was_used_and_keeps_its_hand)
{
    check_sequence(make(CACHE_SIEVE, 3, true), "1- 2- 3- 1+ 2+ 4- 1+ 2+ 4+ 3-");
}
END_TEST

/* Ten objects of which one in the small queue: what is asked for once leaves through it,
 * what comes back soon is in the main queue at once. */
START_TEST(s3fifo_takes_the_remembered_into_the_main_queue)
{
    struct cache *cache = make(CACHE_S3FIFO, 10, true);

    for (uint32_t i = 0; i < 10; i++) {
        ck_assert(!request(cache, i, 1));
    }
    ck_assert(!request(cache, 10, 1)); /* 0 leaves, and is remembered */
    ck_assert(!request(cache, 0, 1));  /* back: into the main queue; 1 leaves */
    for (uint32_t i = 100; i < 108; i++) {
        ck_assert(!request(cache, i, 1)); /* a scan */
    }
    ck_assert(request(cache, 0, 1)); /* it did not push 0 out */
    cache_destroy(cache);
}
END_TEST

static uint64_t hits_with_scans(enum cache_policy policy)
{
    struct cache *cache = make(policy, 100, true);
    uint64_t seed = 11, hits = 0;
    uint32_t scan = 1000;

    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < 100; i++) {
            hits += request(cache, (uint32_t)(next_random(&seed) % 60), 1);
        }
        for (int i = 0; i < 150; i++) {
            request(cache, scan++, 1);
        }
    }
    cache_destroy(cache);
    return hits;
}

START_TEST(scans_hurt_sieve_and_s3fifo_less_than_lru)
{
    uint64_t lru = hits_with_scans(CACHE_LRU);

    ck_assert_uint_gt(hits_with_scans(CACHE_SIEVE), lru * 3 / 2);
    ck_assert_uint_gt(hits_with_scans(CACHE_S3FIFO), lru * 3 / 2);
}
END_TEST

START_TEST(no_cache_holds_more_than_its_capacity)
{
    struct cache *cache = make((enum cache_policy)_i, 100000, false);
    uint64_t seed = 5;
    bool fits = true;

    for (int i = 0; i < 50000; i++) {
        uint32_t object = (uint32_t)(next_random(&seed) % 300);
        request(cache, object, next_random(&seed) % 5000);
        fits = fits && cache_used(cache) <= 100000;
    }
    ck_assert(fits);
    cache_clear(cache);
    ck_assert_uint_eq(cache_used(cache), 0);
    ck_assert(!request(cache, 1, 10));
    ck_assert(request(cache, 1, 10));
    cache_destroy(cache);
}
END_TEST

START_TEST(what_is_larger_than_the_cache_passes_by)
{
    struct cache *cache = make((enum cache_policy)_i, 100, false);

    ck_assert(!request(cache, 1, 60));
    ck_assert(!request(cache, 2, 101));
    ck_assert(!request(cache, 2, 101));
    ck_assert(request(cache, 1, 60));
    ck_assert(request(cache, 1, 1000)); /* it was there, and has outgrown the cache */
    ck_assert(!request(cache, 1, 60));
    cache_destroy(cache);
}
END_TEST

START_TEST(a_capacity_is_bytes_or_objects)
{
    struct cache_config config = {0};

    ck_assert(cache_capacity_parse("10GiB", &config));
    ck_assert(!config.objects);
    ck_assert_uint_eq(config.capacity, (uint64_t)10 << 30);
    ck_assert(cache_capacity_parse("100000objects", &config));
    ck_assert(config.objects);
    ck_assert_uint_eq(config.capacity, 100000);
    ck_assert(!cache_capacity_parse("0", &config));
    ck_assert(!cache_capacity_parse("objects", &config));
    ck_assert(!cache_capacity_parse("10 GiB", &config));
    ck_assert(!cache_capacity_parse("-5", &config));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cache");
    TCase *tcase = suite_case(suite, "cache");

    tcase_add_test(tcase, lru_drops_what_was_used_longest_ago);
    tcase_add_test(tcase, sieve_spares_what_was_used_and_keeps_its_hand);
    tcase_add_test(tcase, s3fifo_takes_the_remembered_into_the_main_queue);
    tcase_add_test(tcase, scans_hurt_sieve_and_s3fifo_less_than_lru);
    tcase_add_loop_test(tcase, no_cache_holds_more_than_its_capacity, 0, 3);
    tcase_add_loop_test(tcase, what_is_larger_than_the_cache_passes_by, 0, 3);
    tcase_add_test(tcase, a_capacity_is_bytes_or_objects);
    return suite_run(suite);
}
