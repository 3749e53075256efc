/* SPDX-License-Identifier: MIT */
/*
 * Connection counters of a server, and what follows them step by step: cost, the number of
 * servers under half, thresholds, the selection index. Every connection passes here
 * three times, so nothing is recomputed that an addition can keep, and what differs
 * by state is looked up, not asked.
 */
#ifndef LOCUS_COUNTERS_H
#define LOCUS_COUNTERS_H

#include "select.h"

static inline unsigned index_of(enum locus_conn_state state)
{
    return (unsigned)state & 1;
}

/* A server with half 0 is not counted as under half; where half is compared, the load is at
 * least 1. */
static inline void spill_load_up(struct locus_service *svc, struct server *s)
{
    s->spill_load++;
    svc->under_half -= s->spill_load == s->half;
}

static inline void spill_load_down(struct locus_service *svc, struct server *s)
{
    svc->under_half += s->spill_load == s->half;
    s->spill_load--;
}

static inline bool is_watched(const struct server *s)
{
    return server_total(s) >= s->watched_from;
}

/* What else follows a bind of a connection of that state to a server that is watched.
 * LOCUS_ERANGE: it had as many as can be counted, and has them again. */
NOINLINE int locus_server_bound(struct locus_service *svc, struct server *s,
                                unsigned at);
/* The same of an unbind. LOCUS_OK. */
NOINLINE int locus_server_unbound(struct locus_service *svc, struct server *s);

/* LOCUS_ERANGE: it has as many as can be counted. */
static inline int server_bind(struct locus_service *svc, struct server *s, unsigned at)
{
    s->conns[at]++;
    s->load.cost += svc->cost_of[at];
    if (LIKELY(svc->spills_by[at])) {
        spill_load_up(svc, s);
    }
    return UNLIKELY(is_watched(s)) ? locus_server_bound(svc, s, at) : LOCUS_OK;
}

/* There must be one of that state. Without what follows for servers that are watched. */
static inline void server_take(struct locus_service *svc, struct server *s, unsigned at)
{
    s->conns[at]--;
    s->load.cost -= svc->cost_of[at];
    if (UNLIKELY(svc->spills_by[at])) {
        spill_load_down(svc, s);
    }
}

static inline int server_unbind(struct locus_service *svc, struct server *s,
                                unsigned at)
{
    server_take(svc, s, at);
    return UNLIKELY(is_watched(s)) ? locus_server_unbound(svc, s) : LOCUS_OK;
}

/* One of its connections, which there must be, changes to the other state; a constant. */
static ALWAYS_INLINE void server_move(struct locus_service *svc, struct server *s,
                                      enum locus_conn_state to)
{
    s->conns[1 - to]--;
    s->conns[to]++;
    s->load.cost += svc->cost_of[to] - (uint64_t)svc->cost_of[1 - to];
    if (UNLIKELY(svc->spills_by[LOCUS_INACTIVE])) {
        /* Both states count. */
    } else if (to == LOCUS_ACTIVE) {
        spill_load_up(svc, s);
    } else {
        spill_load_down(svc, s);
    }
    select_changed(svc, s->load.server);
}

#endif
