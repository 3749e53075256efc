/* SPDX-License-Identifier: MIT */
/* The main() of a Check program with one suite: TAP on stdout. */
#ifndef LOCUS_TESTS_ENGINE_SUITE_H
#define LOCUS_TESTS_ENGINE_SUITE_H

#include <check.h>
#include <stdint.h>
#include <stdlib.h>

static inline int run_suite(Suite *suite)
{
    SRunner *runner = srunner_create(suite);

    srunner_set_tap(runner, "-");
    srunner_run_all(runner, CK_SILENT);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* splitmix64: the same numbers everywhere. */
static inline uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

#endif
