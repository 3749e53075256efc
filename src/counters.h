/* SPDX-License-Identifier: MIT */
/*
 * Connection counters of a server, and what follows them step by step: cost, the number of
 * servers under half, thresholds, the selection index. Every connection passes here
 * three times, so nothing is recomputed that an addition can keep.
 */
#ifndef LOCUS_COUNTERS_H
#define LOCUS_COUNTERS_H

#include "select.h"

static inline unsigned index_of(enum locus_conn_state state)
{
    return (unsigned)state & 1;
}

/* Whether a connection of that state counts in what the spill test compares. A server with
 * half 0 is not counted as under half; where half is compared below, the load is at
 * least 1. */
static inline bool counts_to_spill(const struct locus_service *svc, unsigned state)
{
    return state == LOCUS_ACTIVE || svc->rules.spill_counts_total;
}

/* What else follows a bind (or unbind). The last step of both, so that they need no stack. */
static inline int server_counted(struct locus_service *svc, struct server *s,
                                 bool bound)
{
    return UNLIKELY(s->upper != 0 || svc->indexed) ? locus_server_counted(svc, s, bound)
                                                   : LOCUS_OK;
}

/* LOCUS_ERANGE: it has as many as can be counted. */
static inline int server_bind(struct locus_service *svc, struct server *s,
                              enum locus_conn_state state)
{
    unsigned at = index_of(state);

    if (server_total(s) == INT32_MAX) {
        return LOCUS_ERANGE;
    }
    s->conns[at]++;
    s->load.cost += svc->cost_of[at];
    if (counts_to_spill(svc, at)) {
        svc->under_half -= spill_load(svc, s) == s->half;
    }
    return server_counted(svc, s, true);
}

/* One of its connections, which there must be, changes to the other state; a constant. */
static ALWAYS_INLINE void server_move(struct locus_service *svc, struct server *s,
                                      enum locus_conn_state to)
{
    s->conns[1 - to]--;
    s->conns[to]++;
    s->load.cost += svc->cost_of[to] - (uint64_t)svc->cost_of[1 - to];
    if (svc->rules.spill_counts_total) {
        /* Both states count. */
    } else if (to == LOCUS_ACTIVE) {
        svc->under_half -= s->conns[LOCUS_ACTIVE] == s->half;
    } else {
        svc->under_half += s->conns[LOCUS_ACTIVE] + 1 == s->half;
    }
    select_changed(svc, s->load.server);
}

/* There must be one of that state. */
static inline int server_unbind(struct locus_service *svc, struct server *s,
                                unsigned at)
{
    if (counts_to_spill(svc, at)) {
        svc->under_half += spill_load(svc, s) == s->half;
    }
    s->conns[at]--;
    s->load.cost -= svc->cost_of[at];
    return server_counted(svc, s, false);
}

#endif
