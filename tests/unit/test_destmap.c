/* SPDX-License-Identifier: MIT */
/*
 * White box: keys that all want the end of their segment, which no stream of events would
 * find by itself. The map may refuse one (its caller then forgets the destination), but what
 * it took it must find, and nothing else.
 */
#include <string.h>

#include "../support/random.h"
#include "../support/suite.h"
#include "../support/testalloc.h"
#include "destinations/destmap_walk.h"

enum { KEYS = 300 };

struct bed {
    struct testalloc memory;
    struct locus_allocator hooks;
    struct destmap map;
    union locus_key keys[KEYS];
    bool taken[KEYS];
};

/* Keys whose homes lie in the last 1 / share of a segment of any size. */
static void begin(struct bed *bed, bool wide, uint32_t share)
{
    memset(bed, 0, sizeof(*bed));
    bed->hooks = testalloc_hooks(&bed->memory);
    locus_destmap_init(&bed->map, wide, 0, 42, &bed->hooks);
    union locus_key key = {.words = {7, 7}};
    for (int found = 0; found < KEYS;) {
        key.words[0]++;
        key.ipv4 += !wide;
        uint64_t hash = destmap_hash(&bed->map, &key);
        if ((uint32_t)hash >= UINT32_MAX - UINT32_MAX / share) {
            bed->keys[found++] = key;
        }
    }
}

static void end(struct bed *bed)
{
    locus_destmap_fini(&bed->map);
    ck_assert_uint_eq(bed->memory.live_bytes, 0);
}

static struct dest *find(struct bed *bed, int at)
{
    return destmap_find(&bed->map, &bed->keys[at],
                        destmap_hash(&bed->map, &bed->keys[at]));
}

static void expect_exactly_what_was_taken(struct bed *bed)
{
    uint64_t count = 0;
    for (int i = 0; i < KEYS; i++) {
        const struct dest *dest = find(bed, i);
        MUST((dest != NULL) == bed->taken[i]);
        MUST(!dest || dest->ref == (uint32_t)i + 1);
        count += bed->taken[i];
    }
    MUST(bed->map.count == count);
}

static void toggle(struct bed *bed, int at)
{
    uint64_t hash = destmap_hash(&bed->map, &bed->keys[at]);
    if (bed->taken[at]) {
        locus_destmap_remove(&bed->map, find(bed, at));
        bed->taken[at] = false;
    } else {
        bed->taken[at] = locus_destmap_insert(&bed->map, &bed->keys[at], hash,
                                              (uint32_t)at + 1, 0) != NULL;
    }
}

static const uint32_t shares[] = {2, 64, 1024, 1 << 14};

START_TEST(keys_crowded_at_the_end_of_a_segment_are_found)
{
    struct bed bed;
    begin(&bed, _i % 2, shares[_i / 2]);
    uint64_t random = (uint64_t)_i + 1;
    for (int i = 0; i < KEYS; i++) {
        toggle(&bed, i);
        expect_exactly_what_was_taken(&bed);
    }
    for (int i = 0; i < 4000; i++) {
        toggle(&bed, (int)random_below(&random, KEYS));
        expect_exactly_what_was_taken(&bed);
    }
    end(&bed);
}
END_TEST

START_TEST(a_crowd_survives_memory_that_runs_out)
{
    for (uint64_t n = 1; n < 40; n++) {
        struct bed bed;
        begin(&bed, false, shares[_i]);
        bed.memory.fail_at = n;
        bed.memory.fail_on = n % 2;
        for (int i = 0; i < KEYS; i++) {
            toggle(&bed, i);
        }
        expect_exactly_what_was_taken(&bed);
        end(&bed);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("destmap");
    TCase *tcase = suite_case(suite, "destmap");
    tcase_add_loop_test(tcase, keys_crowded_at_the_end_of_a_segment_are_found, 0, 8);
    tcase_add_loop_test(tcase, a_crowd_survives_memory_that_runs_out, 0, 4);
    return suite_run(suite);
}
