/* SPDX-License-Identifier: MIT */
#include "poke.h"

#include "select.h"

void poke_counts(struct locus_service *svc, uint32_t server, uint32_t active,
                 uint32_t inactive)
{
    struct server *s = &svc->servers[server];

    /* Out of the count of servers under half, which goes by the counters as they were. */
    svc->under_half -= s->spill_load < s->half;
    s->half = 0;
    s->conns[LOCUS_ACTIVE] = active;
    s->conns[LOCUS_INACTIVE] = inactive;
    s->spill_load = active + (svc->rules.spill_counts_total ? inactive : 0);
    locus_server_refresh(svc, server);
}
