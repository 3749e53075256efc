/* SPDX-License-Identifier: MIT */
/*
 * What a server's load, limit and place among those under half are derived from its weight,
 * counters and flags; see struct server. What a connection changes of it is kept step by step
 * (counters.h); all other changes have it computed anew here.
 */
#ifndef LOCUS_DERIVED_H
#define LOCUS_DERIVED_H

#include "../state/core.h"

/* Recomputes all that is derived, and tells whom it concerns. */
void locus_server_refresh(struct locus_service *svc, uint32_t slot);
/* The same of all servers. */
void locus_servers_refresh(struct locus_service *svc);

#endif
