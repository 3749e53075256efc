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

/* The front, the choice and why, the lines that apply it, the replay that shows its figures
 * again. Both are an exit_code. */
int advice_print(const struct advice *advice);
int advice_print_json(const struct advice *advice);

#endif
