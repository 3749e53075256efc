/* SPDX-License-Identifier: MIT */
/*
 * Connection counters of a server, and what follows them step by step: cost, the number of
 * servers under half, thresholds, the selection index. Every connection passes here
 * three times, so nothing is recomputed that an addition can keep.
 */
#ifndef LOCUS_COUNTERS_H
#define LOCUS_COUNTERS_H

#include "select.h"

/* One connection more in what the spill test compares, or one less. A server with half 0 is
 * not counted, and neither test can then be true: load is at least 1 in both. */
static inline void spill_load_rose(struct locus_service *svc, const struct server *s,
                                   uint32_t load)
{
    svc->under_half -= load == s->half;
}

static inline void spill_load_falls(struct locus_service *svc, const struct server *s,
                                    uint32_t load)
{
    svc->under_half += load == s->half;
}

static inline int server_bind(struct locus_service *svc, struct server *s,
                              enum locus_conn_state state)
{
    if (s->total == INT32_MAX) {
        return LOCUS_ERANGE;
    }
    s->total++;
    s->active += state == LOCUS_ACTIVE;
    s->cost += svc->cost_of[state == LOCUS_ACTIVE];
    if (svc->rules.spill_counts_total || state == LOCUS_ACTIVE) {
        spill_load_rose(svc, s, spill_load(svc, s));
    }
    if (s->upper != 0) {
        locus_server_check_thresholds(svc, s, true);
    }
    select_changed(svc, (uint32_t)(s - svc->servers));
    return LOCUS_OK;
}

/* One of its connections changes to that state from the other; there must be one. */
static inline void server_move(struct locus_service *svc, struct server *s,
                               enum locus_conn_state to)
{
    if (to == LOCUS_ACTIVE) {
        s->active++;
        if (!svc->rules.spill_counts_total) {
            spill_load_rose(svc, s, s->active);
        }
        s->cost += svc->cost_of[LOCUS_ACTIVE] - (uint64_t)svc->cost_of[LOCUS_INACTIVE];
    } else {
        if (!svc->rules.spill_counts_total) {
            spill_load_falls(svc, s, s->active);
        }
        s->active--;
        s->cost += svc->cost_of[LOCUS_INACTIVE] - (uint64_t)svc->cost_of[LOCUS_ACTIVE];
    }
    select_changed(svc, (uint32_t)(s - svc->servers));
}

/* There must be one of that state. */
static inline void server_unbind(struct locus_service *svc, struct server *s,
                                 enum locus_conn_state state)
{
    if (svc->rules.spill_counts_total || state == LOCUS_ACTIVE) {
        spill_load_falls(svc, s, spill_load(svc, s));
    }
    s->total--;
    s->active -= state == LOCUS_ACTIVE;
    s->cost -= svc->cost_of[state == LOCUS_ACTIVE];
    if (s->upper != 0) {
        locus_server_check_thresholds(svc, s, false);
    }
    select_changed(svc, (uint32_t)(s - svc->servers));
}

#endif
