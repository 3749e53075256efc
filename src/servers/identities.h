/* SPDX-License-Identifier: MIT */
/* Who a server is: its address, by which it is found, and the slot that belongs to it. */
#ifndef LOCUS_IDENTITIES_H
#define LOCUS_IDENTITIES_H

#include "../state/core.h"

/* NULL: no server has that address. */
struct identity *locus_identity_find(const struct locus_service *svc,
                                     const struct locus_address *address);
struct locus_address locus_identity_address(const struct identity *identity);

/* A slot and an identity for an address that no server has. LOCUS_ENOMEM. */
int locus_identity_make(struct locus_service *svc, const struct locus_address *address,
                        uint32_t *out);
/* Frees both, of a server that is in no list. */
void locus_identity_drop(struct locus_service *svc, uint32_t slot, bool in_trash);

/* Whether a server is to be found by its address: rules that purge know none that is in the
 * trash. */
bool locus_identity_named(const struct locus_service *svc, bool in_trash);
/* From now on, it is not. */
void locus_identity_unname(struct locus_service *svc, struct identity *identity);

void locus_identities_fini(struct locus_service *svc);

#endif
