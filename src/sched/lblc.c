/* SPDX-License-Identifier: MIT */
/*
 * lblc: locality-based least-connection. One server per destination.
 *
 *     d = destinations[key]
 *     if d: lastuse[d] = now
 *         n = server[d]
 *         if n is in service, not quiesced, and does not spill: return n
 *     n = the least loaded server; none: refuse, d stays
 *     if d and server[d] is not n: server[d] = n, as if newly remembered
 *     if not d: remember it with n, unless the map is full
 *     return n
 *
 * The kernel does not ask whether n is overloaded: an upper threshold does not keep a cached
 * destination away. rules->lblc_checks_threshold does. Under kernel-classic every change of
 * server counts one entry more than there is (leak_entries), which the collector's bounds
 * then see.
 */
#include "../destinations/locality.h"
#include "../load/load.h"
#include "../load/select.h"

/* Why a destination's server does not serve it, 0 when it does. */
static uint32_t objection(const struct locus_service *svc, const struct server *server)
{
    if (server->state != SERVER_IN_SERVICE || server->weight == 0 ||
        (server->overloaded && svc->rules.lblc_checks_threshold)) {
        return LOCUS_WHY_DOWN;
    }
    return should_spill(svc, server) ? LOCUS_WHY_SPILLED : 0;
}

/* Gives a destination another server. The kernel takes the entry out and puts a new one in,
 * so the bound on entries is asked, which only leaked entries can have reached. */
static void move(struct locus_service *svc, struct dest *dest, uint32_t server,
                 struct locus_pick *pick)
{
    struct locality *loc = svc->locality;

    if (svc->rules.leak_entries) {
        if (loc->entries >= svc->rules.max_entries) {
            loc->entries++; /* forgetting counts one down, which this rule does not */
            locus_locality_forget(svc, dest);
            svc->stats.forgotten++;
            pick->why |= LOCUS_WHY_FORGOTTEN;
            return;
        }
        loc->entries++;
    }
    server_unref(svc, dest_server(dest));
    server_ref(svc, server);
    dest->ref = server + 1;
    dest->lastmod = tick32(svc);
    svc->stats.moved++;
    pick->why |= LOCUS_WHY_MOVED;
}

static uint32_t place(struct locus_service *svc, const struct looked_up *what,
                      struct locus_pick *pick)
{
    struct dest *dest = what->dest;
    bool purged = dest != NULL && server_purged(svc, dest_server(dest));

    if (dest != NULL && !purged) {
        uint32_t why = objection(svc, &svc->servers[dest_server(dest)]);
        if (why == 0) {
            return locality_hit(svc, dest, dest_server(dest), pick);
        }
        if (svc->rules.lastuse_on_failure) {
            dest->lastuse = tick32(svc);
        }
        pick->why |= why;
    }
    uint32_t least = locus_least_loaded(svc);
    if (least == LOCUS_NO_SERVER) {
        return LOCUS_NO_SERVER;
    }
    if (dest == NULL) {
        locus_locality_add(svc, what, least, pick);
        return least;
    }
    if (purged) {
        locus_locality_renew(svc, dest, least, pick);
        return least;
    }
    dest->lastuse = tick32(svc);
    if (least != dest_server(dest)) {
        move(svc, dest, least, pick);
    }
    return least;
}

const struct sched_ops locus_sched_lblc = {
    .name = "lblc",
    .about = "locality-based least-connection: one server per destination",
    .state_size = sizeof(struct locality),
    .init = locus_locality_init,
    .fini = locus_locality_fini,
    .server_event = locus_locality_server_event,
    .place = place,
    .describe = locus_locality_describe,
};
