/* SPDX-License-Identifier: MIT */
#include "poke.h"

#include "service.h"

void poke_counts(struct locus_service *svc, uint32_t server, uint32_t active,
                 uint32_t inactive)
{
    svc->servers[server].active = active;
    svc->servers[server].total = active + inactive;
    locus_server_refresh(svc, server);
}
