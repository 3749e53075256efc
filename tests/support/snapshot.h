/* SPDX-License-Identifier: MIT */
/*
 * All that can be seen of a service, as text: two services with the same text are in the
 * same state. Servers appear by address, destinations sorted by key; sizes of memory are
 * left out.
 */
#ifndef LOCUS_TESTS_SNAPSHOT_H
#define LOCUS_TESTS_SNAPSHOT_H

#include <locus/locus.h>

/* The caller frees it; never NULL. */
char *snapshot(const struct locus_service *svc, enum locus_family family);

#endif
