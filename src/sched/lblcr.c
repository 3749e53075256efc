/* SPDX-License-Identifier: MIT */
/*
 * lblcr: locality-based least-connection with replication. A set of servers per destination,
 * which grows under load and is trimmed, one member at a time, when it has not
 * changed for longer than the expiration T.
 *
 *     d = destinations[key]
 *     if d: lastuse[d] = now
 *         n = the least loaded member that is in service, not quiesced, not overloaded
 *         if |set[d]| > 1 and now - lastmod[d] > T: take the most loaded member out
 *         if n and n does not spill: return n
 *         n = the least loaded server; none: refuse
 *         if n is no member: add it, lastmod[d] = now
 *         return n
 *     n = the least loaded server; none: refuse
 *     remember d with {n}, unless the map is full
 *     return n
 *
 * In the kernel n is chosen before the set is trimmed and is used even if it was the one
 * trimmed (rules->return_member_only: not). The published algorithm trims only where the
 * pick stays within the set (trim_on_every_hit off). The most loaded member is looked for
 * among those with weight > 0 alone: removed and overloaded ones count, and an idle removed
 * member is the last to go.
 */
#include "../destinations/locality.h"
#include "../load/load.h"
#include "../load/select.h"

/* The place that is i-th in the order in which equals are preferred. */
static uint32_t preferred(const struct locus_service *svc, uint32_t i, uint32_t count)
{
    return svc->rules.tie_break == LOCUS_TIE_NEWEST ? count - 1 - i : i;
}

/* The least loaded member that may take a connection, or LOCUS_NO_SERVER. */
static uint32_t least_member(const struct locus_service *svc, const struct dest *dest)
{
    const struct server *best = NULL;
    const uint32_t *members;
    uint32_t single, count = dest_members(svc->locality, dest, &single, &members);

    for (uint32_t i = 0; i < count; i++) {
        const struct server *s = &svc->servers[members[preferred(svc, i, count)]];
        if (s->load.divisor != 0 && (best == NULL || load_less(s, best))) {
            best = s;
        }
    }
    return best == NULL ? LOCUS_NO_SERVER : (uint32_t)(best - svc->servers);
}

/* The place of the most loaded member with weight > 0, or count. */
static uint32_t most_loaded_place(const struct locus_service *svc,
                                  const uint32_t *members, uint32_t count)
{
    const struct server *most = NULL;
    uint32_t found = count;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = preferred(svc, i, count);
        const struct server *s = &svc->servers[members[at]];
        if (s->weight != 0 && (most == NULL || load_less_by_weight(most, s))) {
            most = s;
            found = at;
        }
    }
    return found;
}

/* Takes one member out of a set that has not changed for too long. */
static void trim(struct locus_service *svc, struct dest *dest, struct locus_pick *pick)
{
    int64_t decay = svc->set_decay == INT64_MAX ? svc->expiration : svc->set_decay;
    const uint32_t *members;
    uint32_t single, count = dest_members(svc->locality, dest, &single, &members);

    if (count < 2 || tick_age(svc, dest->lastmod) <= decay) {
        return;
    }
    uint32_t at = most_loaded_place(svc, members, count);
    if (at == count) {
        return;
    }
    pick->trimmed = members[at];
    pick->why |= LOCUS_WHY_TRIMMED;
    svc->stats.trimmed++;
    locus_dest_drop(svc, dest, at);
    dest->lastmod = tick32(svc);
}

static bool is_member(const struct locus_service *svc, const struct dest *dest,
                      uint32_t server)
{
    const uint32_t *members;
    uint32_t single, count = dest_members(svc->locality, dest, &single, &members);

    for (uint32_t i = 0; i < count; i++) {
        if (members[i] == server) {
            return true;
        }
    }
    return false;
}

static void add_member(struct locus_service *svc, struct dest *dest, uint32_t server,
                       struct locus_pick *pick)
{
    if (is_member(svc, dest, server)) {
        return;
    }
    if (!locus_dest_push(svc, dest, server)) {
        svc->stats.forgotten++;
        pick->why |= LOCUS_WHY_FORGOTTEN;
        return;
    }
    dest->lastmod = tick32(svc);
    svc->stats.grown++;
    pick->why |= LOCUS_WHY_GROWN;
}

/* The member that serves, or LOCUS_NO_SERVER with the reason in pick->why. */
static uint32_t pick_member(struct locus_service *svc, struct dest *dest,
                            struct locus_pick *pick)
{
    uint32_t least = least_member(svc, dest);

    if (svc->rules.trim_on_every_hit) {
        trim(svc, dest, pick);
    }
    if (svc->rules.return_member_only && least == pick->trimmed) {
        least = least_member(svc, dest);
    }
    if (least == LOCUS_NO_SERVER) {
        pick->why |= LOCUS_WHY_DOWN;
        return LOCUS_NO_SERVER;
    }
    if (!serves_easily(svc, &svc->servers[least])) {
        pick->why |= LOCUS_WHY_SPILLED;
        return LOCUS_NO_SERVER;
    }
    if (!svc->rules.trim_on_every_hit) {
        trim(svc, dest, pick);
        if (svc->rules.return_member_only && least == pick->trimmed) {
            least = least_member(svc, dest);
        }
    }
    return least;
}

static uint32_t schedule_known(struct locus_service *svc, struct dest *dest,
                               struct locus_pick *pick)
{
    if (svc->rules.lastuse_on_failure) {
        dest->lastuse = tick32(svc);
    }
    uint32_t server = pick_member(svc, dest, pick);
    if (server != LOCUS_NO_SERVER) {
        return locality_hit(svc, dest, server, pick);
    }
    server = locus_least_loaded(svc);
    if (server != LOCUS_NO_SERVER) {
        dest->lastuse = tick32(svc);
        add_member(svc, dest, server, pick);
    }
    return server;
}

static uint32_t place(struct locus_service *svc, const struct looked_up *what,
                      struct locus_pick *pick)
{
    struct dest *dest = what->dest;
    bool purged =
        dest != NULL && svc->rules.purge_removed && !locus_dest_purge(svc, dest);

    if (dest != NULL && !purged) {
        return schedule_known(svc, dest, pick);
    }
    uint32_t server = locus_least_loaded(svc);
    if (server != LOCUS_NO_SERVER && purged) {
        locus_locality_renew(svc, dest, server, pick);
    } else if (server != LOCUS_NO_SERVER) {
        locus_locality_add(svc, what, server, pick);
    }
    return server;
}

const struct sched_ops locus_sched_lblcr = {
    .name = "lblcr",
    .about = "lblc with replication: a server set per destination, grown under load",
    .state_size = sizeof(struct locality),
    .init = locus_locality_init,
    .fini = locus_locality_fini,
    .server_event = locus_locality_server_event,
    .place = place,
    .describe = locus_locality_describe,
};
