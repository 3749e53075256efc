/* SPDX-License-Identifier: MIT */
/*
 * --decisions: every pick of every policy and why. Policies run at the same time, so each
 * notes its picks in a temporary file of its own; they are written out one after the other.
 */
#ifndef LOCUS_SIM_DECISIONS_H
#define LOCUS_SIM_DECISIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "arrivals.h"
#include "engine.h"

struct decisions {
    FILE *spool;
    int error;  /* errno of its first failure */
    bool cache; /* there is a cache model */
};

/* false: no temporary file, which was said on stderr. */
bool decisions_init(struct decisions *decisions, bool cache);
void decisions_fini(struct decisions *decisions);
/* An engine_decision_fn; arg is the decisions. */
void decisions_note(void *arg, const struct arrival *arrival, uint32_t server,
                    const struct locus_pick *pick, bool cache_hit);
void decisions_header(FILE *out);
/* Writes what was noted as CSV; false when the spool had failed (disk full), after a line on
 * stderr. */
bool decisions_write(struct decisions *decisions, FILE *out, const char *policy,
                     const struct server_list *servers,
                     const struct arrival_source *source);

#endif
