/* SPDX-License-Identifier: MIT */
/* What the search chose, and the lines that put it to use. */
#ifndef LOCUS_SIM_ADVISE_APPLY_H
#define LOCUS_SIM_ADVISE_APPLY_H

#include "../cli/read_args.h"
#include "../cli/setup_args.h"
#include "advise.h"

struct advice {
    const struct setup *setup;
    const struct setup_args *setup_args;
    const struct read_args *read_args;
    char *const *paths;
    size_t path_count;
    const struct candidate *candidates;
    size_t count;
    size_t choice;
    uint64_t arrivals;
    uint64_t max_imbalance_ppm; /* 0: none was asked for */
};

static inline const struct candidate *advice_choice(const struct advice *advice)
{
    return &advice->candidates[advice->choice];
}

/* The lines for ipvsadm or keepalived. */
void advice_print_apply(const struct advice *advice);
/* The command that shows the choice's figures again. */
void advice_print_replay(const struct advice *advice);

#endif
