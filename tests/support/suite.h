/* SPDX-License-Identifier: MIT */
/* What every Check binary does around its tests: one suite, TAP on stdout. */
#ifndef LOCUS_TESTS_SUITE_H
#define LOCUS_TESTS_SUITE_H

#include <check.h>
#include <stdlib.h>

/* For what runs a million times: Check's own assertions tell the runner about each line that
 * they pass, with a system call. */
#define MUST(condition)                     \
    do {                                    \
        if (!(condition)) {                 \
            ck_abort_msg("%s", #condition); \
        }                                   \
    } while (0)

/* A case with a time limit that only a hang exceeds. */
static inline TCase *suite_case(Suite *suite, const char *name)
{
    TCase *tcase = tcase_create(name);
    tcase_set_timeout(tcase, 300);
    suite_add_tcase(suite, tcase);
    return tcase;
}

/* Runs and frees it; the exit status of the program. */
static inline int suite_run(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_set_tap(runner, "-");
    srunner_run_all(runner, CK_SILENT);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
