/* SPDX-License-Identifier: MIT */
/*
 * The places where servers are, whose numbers are what callers know servers by; and the lists
 * of them. A slot keeps its number for as long as its server is in service or in the trash.
 */
#ifndef LOCUS_SLOTS_H
#define LOCUS_SLOTS_H

#include "../state/core.h"

/* A slot, zeroed. May move all servers. LOCUS_ENOMEM: nothing changed. */
int locus_slot_take(struct locus_service *svc, uint32_t *out);
/* Its server must be in no list. */
void locus_slot_give(struct locus_service *svc, uint32_t slot);
void locus_slots_fini(struct locus_service *svc);

/* At the head of a list. */
void locus_list_push(struct locus_service *svc, struct server_list *list,
                     uint32_t slot);
/* The server's own links stay as they were. */
void locus_list_remove(struct locus_service *svc, struct server_list *list,
                       uint32_t slot);

#endif
