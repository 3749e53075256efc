/* SPDX-License-Identifier: MIT */
/* The rule sets, as data. */
#include <string.h>

#include <locus/locus.h>

#define SECOND_NS 1000000000ull

struct named_rules {
    const char *name;
    struct locus_rules rules;
};

static const struct named_rules table[] = {
    {
        "kernel",
        {
            .active_cost = 257,
            .threshold = LOCUS_THRESHOLD_EDGE,
            .tie_break = LOCUS_TIE_NEWEST,
            .max_entries = 24576,
            .soft_entries = 16384,
            .gc_full_every = 30,
            .gc_interval_ns = 60 * SECOND_NS,
            .gc_stale_ns = 360 * SECOND_NS,
            .trim_on_every_hit = true,
            .lastuse_on_failure = true,
            .set_decay_ns = UINT64_MAX,
            .load_bound_percent = 125,
            .trash_ns = 60 * SECOND_NS,
            .trash_idle_ns = 120 * SECOND_NS,
            .slow_start_exponent = 1,
            .slow_start_floor_percent = 10,
        },
    },
    {
        "kernel-classic",
        {
            .active_cost = 256,
            .threshold = LOCUS_THRESHOLD_CLASSIC,
            .tie_break = LOCUS_TIE_NEWEST,
            .max_entries = UINT32_MAX,
            .soft_entries = 16384,
            .leak_entries = true,
            .gc_full_every = 30,
            .gc_interval_ns = 60 * SECOND_NS,
            .gc_stale_ns = 360 * SECOND_NS,
            .trim_on_every_hit = true,
            .lastuse_on_failure = true,
            .set_decay_ns = UINT64_MAX,
            .load_bound_percent = 125,
            .trash_ns = 60 * SECOND_NS,
            .trash_idle_ns = 120 * SECOND_NS,
            .slow_start_exponent = 1,
            .slow_start_floor_percent = 10,
        },
    },
    {
        "article",
        {
            .active_cost = 1,
            .threshold = LOCUS_THRESHOLD_PLAIN,
            .tie_break = LOCUS_TIE_OLDEST,
            .max_entries = UINT32_MAX,
            .soft_entries = UINT32_MAX,
            .gc_full_every = 1,
            .gc_strict = true,
            .gc_interval_ns = 60 * SECOND_NS,
            .gc_stale_ns = 360 * SECOND_NS,
            .spill_counts_total = true,
            .lblc_checks_threshold = true,
            .set_decay_ns = UINT64_MAX,
            .purge_removed = true,
            .load_bound_percent = 125,
            .trash_ns = 60 * SECOND_NS,
            .trash_idle_ns = 120 * SECOND_NS,
            .slow_start_exponent = 1,
            .slow_start_floor_percent = 10,
        },
    },
    {
        /* "kernel", but for what locus.h gives reasons for. */
        "locus",
        {
            .active_cost = 257,
            .threshold = LOCUS_THRESHOLD_EDGE,
            .tie_break = LOCUS_TIE_NEWEST,
            .max_entries = 1048576,
            .evict = true,
            .soft_entries = 699051, /* two thirds, rounded up */
            .gc_full_every = 30,
            .gc_interval_ns = 60 * SECOND_NS,
            .gc_stale_ns = 360 * SECOND_NS,
            .spill_eligible_only = true,
            .lblc_checks_threshold = true,
            .trim_on_every_hit = true,
            .return_member_only = true,
            .set_decay_ns = UINT64_MAX,
            .purge_removed = true,
            .load_bound_percent = 125,
            .trash_ns = 60 * SECOND_NS,
            .trash_idle_ns = 120 * SECOND_NS,
            .slow_start_exponent = 1,
            .slow_start_floor_percent = 10,
        },
    },
};

const struct locus_rules *locus_rules_find(const char *name)
{
    if (name == NULL) {
        return &table[0].rules;
    }
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        if (strcmp(name, table[i].name) == 0) {
            return &table[i].rules;
        }
    }
    return NULL;
}

const char *locus_rules_name(size_t index)
{
    return index < sizeof(table) / sizeof(table[0]) ? table[index].name : NULL;
}
