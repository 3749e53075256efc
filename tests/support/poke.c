/* SPDX-License-Identifier: MIT */
#include "poke.h"

#include "servers/server.h"

void poke_counts(struct locus_service *svc, uint32_t server, uint32_t active,
                 uint32_t inactive)
{
    locus_server_set_counts(svc, server, active, inactive,
                            svc->servers[server].overloaded);
}
