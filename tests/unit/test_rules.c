/* SPDX-License-Identifier: MIT */
/* The library's rule sets hold what the model, written apart from them, expects. */
#include <string.h>

#include "../prop/pair.h"
#include "../support/suite.h"

static const char *const names[] = {"kernel", "kernel-classic", "article", "locus"};

#define EXPECT_SAME(field) ck_assert_int_eq((int64_t)got.field, (int64_t)want.field)

START_TEST(a_rule_set_is_what_the_model_knows_by_that_name)
{
    static const int64_t frequencies[] = {100, 250, 1000};
    for (size_t i = 0; i < 3; i++) {
        struct model_rules want;
        ck_assert(model_rules_find(&want, names[_i], frequencies[i]));
        struct model_rules got = pair_rules(locus_rules_find(names[_i]),
                                            1000000000 / (uint64_t)frequencies[i]);
        EXPECT_SAME(active_cost);
        EXPECT_SAME(threshold);
        EXPECT_SAME(oldest_first);
        EXPECT_SAME(max_entries);
        EXPECT_SAME(soft_entries);
        EXPECT_SAME(evict);
        EXPECT_SAME(leak_entries);
        EXPECT_SAME(gc_full_every);
        EXPECT_SAME(gc_strict);
        EXPECT_SAME(gc_interval);
        EXPECT_SAME(gc_stale);
        EXPECT_SAME(spill_counts_total);
        EXPECT_SAME(spill_eligible_only);
        EXPECT_SAME(lblc_checks_threshold);
        EXPECT_SAME(trim_on_every_hit);
        EXPECT_SAME(return_member_only);
        EXPECT_SAME(lastuse_on_failure);
        EXPECT_SAME(set_decay);
        EXPECT_SAME(load_bound_percent);
        EXPECT_SAME(no_server);
        EXPECT_SAME(slow_start);
        EXPECT_SAME(slow_start_exponent);
        EXPECT_SAME(slow_start_floor_percent);
        EXPECT_SAME(purge_removed);
        EXPECT_SAME(trash_interval);
        EXPECT_SAME(trash_idle);
        EXPECT_SAME(timer_wheel);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rules");
    TCase *tcase = suite_case(suite, "rules");
    tcase_add_loop_test(tcase, a_rule_set_is_what_the_model_knows_by_that_name, 0, 4);
    return suite_run(suite);
}
