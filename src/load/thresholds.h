/* SPDX-License-Identifier: MIT */
/*
 * Thresholds: from how many connections on a server is overloaded, and when it no longer is.
 * rules->threshold says which kernel's way. These functions set the flag alone; who calls them
 * has what is derived from it recomputed.
 */
#ifndef LOCUS_THRESHOLDS_H
#define LOCUS_THRESHOLDS_H

#include "../state/core.h"

/* The server, which has that upper threshold, got one connection more. */
void locus_threshold_bound(const struct locus_service *svc, struct server *s,
                           uint32_t upper);
/* It has one less. */
void locus_threshold_unbound(const struct locus_service *svc, struct server *s,
                             const struct identity *identity);
/* Configures both thresholds; upper 0: none. */
void locus_threshold_edited(const struct locus_service *svc, uint32_t slot,
                            uint32_t upper, uint32_t lower);

#endif
