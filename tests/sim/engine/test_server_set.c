/* SPDX-License-Identifier: MIT */
#include "../suite.h"

#include <string.h>

#include "engine/server_set.h"

enum { UNIVERSE_MAX = 5000 };

static const uint32_t universes[] = {1, 63, 64, 65, 128, 1000, UNIVERSE_MAX};

static void check_same(server_set set, uint32_t universe, const bool *members)
{
    uint32_t count = 0;
    uint32_t next = server_set_next(set, universe, 0);

    bool same = true;

    for (uint32_t s = 0; s < universe; s++) {
        same = same && server_set_has(set, universe, s) == members[s];
        if (members[s]) {
            same = same && next == s;
            next = server_set_next(set, universe, s + 1);
            count++;
        }
    }
    ck_assert(same);
    ck_assert_uint_eq(next, SERVER_SET_END);
    ck_assert_uint_eq(server_set_count(set, universe), count);
}

START_TEST(random_adds_and_removes_agree_with_an_array_of_flags)
{
    static bool members[UNIVERSE_MAX];
    uint32_t universe = universes[_i];
    uint64_t seed = 7;
    server_set set = 0;

    memset(members, 0, sizeof(members));
    for (int step = 0; step < 3000; step++) {
        uint32_t server = (uint32_t)(next_random(&seed) % universe);
        /* Grows for a while, then shrinks, then grows again. */
        bool add = next_random(&seed) % 8 < (step % 1000 < 600 ? 7u : 1u);
        if (add) {
            ck_assert_int_eq(server_set_add(&set, universe, server), 0);
        } else {
            server_set_remove(&set, universe, server);
        }
        members[server] = add;
        if (step % 97 == 0) {
            check_same(set, universe, members);
        }
    }
    check_same(set, universe, members);
    server_set_free(&set, universe);
    ck_assert_uint_eq(server_set_count(set, universe), 0);
}
END_TEST

START_TEST(a_copy_goes_its_own_way)
{
    uint32_t universe = universes[_i];
    server_set set = 0, copy = 0;

    for (uint32_t s = 0; s < universe; s += 2) {
        ck_assert_int_eq(server_set_add(&set, universe, s), 0);
    }
    ck_assert_int_eq(server_set_copy(&copy, set, universe), 0);
    server_set_remove(&copy, universe, 0);
    ck_assert(server_set_has(set, universe, 0));
    ck_assert(!server_set_has(copy, universe, 0));
    ck_assert_uint_eq(server_set_count(copy, universe) + 1,
                      server_set_count(set, universe));
    server_set_free(&set, universe);
    server_set_free(&copy, universe);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("server_set");
    TCase *tcase = suite_case(suite, "server_set");

    tcase_add_loop_test(tcase, random_adds_and_removes_agree_with_an_array_of_flags, 0,
                        7);
    tcase_add_loop_test(tcase, a_copy_goes_its_own_way, 0, 7);
    return suite_run(suite);
}
