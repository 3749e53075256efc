/* SPDX-License-Identifier: MIT */
/* The rare part, and the public functions of connections. */
#include "counters.h"

#include "derived.h"
#include "thresholds.h"

/* What follows a bind (or unbind) of a server that is watched. */
static void counted(struct locus_service *svc, struct server *s, bool bound)
{
    uint32_t slot = s->load.server;
    const struct identity *identity = svc->identities[slot];
    bool before = s->overloaded;

    if (identity->upper != 0) {
        if (bound) {
            locus_threshold_bound(svc, s, identity->upper);
        } else {
            locus_threshold_unbound(svc, s, identity);
        }
        if (s->overloaded != before || svc->rules.threshold == LOCUS_THRESHOLD_PLAIN) {
            locus_server_refresh(svc, slot);
        }
    }
    select_changed(svc, slot);
}

int locus_server_bound(struct locus_service *svc, struct server *s, unsigned at)
{
    if (server_total(s) > INT32_MAX) {
        server_take(svc, s, at);
        return LOCUS_ERANGE;
    }
    counted(svc, s, true);
    return LOCUS_OK;
}

int locus_server_unbound(struct locus_service *svc, struct server *s)
{
    counted(svc, s, false);
    return LOCUS_OK;
}

int locus_conn_bind(struct locus_service *svc, uint32_t server,
                    enum locus_conn_state state)
{
    return server_known(svc, server)
               ? server_bind(svc, &svc->servers[server], index_of(state))
               : LOCUS_ENOENT;
}

/* Why a server has no connection to change. */
static int no_connection(const struct server *s)
{
    return s->state == SERVER_FREE ? LOCUS_ENOENT : LOCUS_ERANGE;
}

/* Two functions, since a compiler makes of one a mixture that needs a stack. */
static NOINLINE int become_inactive(struct locus_service *svc, struct server *s)
{
    server_move(svc, s, LOCUS_INACTIVE);
    return LOCUS_OK;
}

static NOINLINE int become_active(struct locus_service *svc, struct server *s)
{
    server_move(svc, s, LOCUS_ACTIVE);
    return LOCUS_OK;
}

int locus_conn_move(struct locus_service *svc, uint32_t server,
                    enum locus_conn_state from, enum locus_conn_state to)
{
    if (server >= svc->slots) {
        return LOCUS_ENOENT;
    }
    struct server *s = &svc->servers[server];
    if (UNLIKELY(s->conns[index_of(from)] == 0)) {
        return no_connection(s);
    }
    if (index_of(from) == index_of(to)) {
        return LOCUS_OK;
    }
    return index_of(to) == LOCUS_INACTIVE ? become_inactive(svc, s)
                                          : become_active(svc, s);
}

int locus_conn_unbind(struct locus_service *svc, uint32_t server,
                      enum locus_conn_state state)
{
    if (server >= svc->slots) {
        return LOCUS_ENOENT;
    }
    struct server *s = &svc->servers[server];
    return LIKELY(s->conns[index_of(state)] != 0)
               ? server_unbind(svc, s, index_of(state))
               : no_connection(s);
}
