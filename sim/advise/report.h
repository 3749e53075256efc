/* SPDX-License-Identifier: MIT */
/* What the search came to, for people and for programs. */
#ifndef LOCUS_SIM_ADVISE_REPORT_H
#define LOCUS_SIM_ADVISE_REPORT_H

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

/* The front, the choice and why, the lines that apply it, the replay that shows its figures
 * again. Both are an exit_code. */
int advice_print(const struct advice *advice);
int advice_print_json(const struct advice *advice);

/* Parts of advice_print(): the lines for ipvsadm or keepalived, and the command that shows the
 * choice's figures again. */
void advice_print_apply(const struct advice *advice);
void advice_print_replay(const struct advice *advice);

#endif
