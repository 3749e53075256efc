/* SPDX-License-Identifier: MIT */
/*
 * White-box: counters that no test could reach one connection at a time. Links against the
 * library's internals.
 */
#ifndef LOCUS_TESTS_POKE_H
#define LOCUS_TESTS_POKE_H

#include <locus/locus.h>

/* Sets a server's connection counts; what depends on them follows, the threshold flag (of
 * rules that keep one) stays as it is. */
void poke_counts(struct locus_service *svc, uint32_t server, uint32_t active,
                 uint32_t inactive);

#endif
