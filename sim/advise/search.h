/* SPDX-License-Identifier: MIT */
/*
 * The search of locus advise: which settings are tried on the trace. advise.h compares what
 * they came to, report.h prints it.
 */
#ifndef LOCUS_SIM_ADVISE_SEARCH_H
#define LOCUS_SIM_ADVISE_SEARCH_H

#include "../cli/progress.h"
#include "../cli/session.h"
#include "../cli/setup_args.h"
#include "advise.h"

/* The command line, as the option table fills it in. */
struct advise_args {
    struct setup_args setup;
    struct read_args read;
    const char *policies, *max_imbalance;
    bool json;
};

struct advise {
    struct advise_args args;
    struct setup setup;
    struct session session;
    uint64_t max_imbalance_ppm;
    struct candidate *candidates;
    size_t count;
    size_t choice;
    uint64_t arrivals;
    uint64_t connections_p99; /* active and inactive */
    struct progress progress;
};

/* Reads the traces, tries the candidates and chooses. An exit_code. */
int advise_search(struct advise *advise, char *const *paths, size_t count);
void advise_free(struct advise *advise);

#endif
