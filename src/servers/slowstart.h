/* SPDX-License-Identifier: MIT */
/*
 * Slow start: the share of its weight that a server counts with grows over a window. A pick
 * pays nothing for it: the periodic work raises divisors step by step.
 */
#ifndef LOCUS_SLOWSTART_H
#define LOCUS_SLOWSTART_H

#include "../state/core.h"

/* Of a new service; the clock's unit is known. */
void locus_slowstart_init(struct locus_service *svc);
/* The highest weight has grown. */
void locus_slowstart_fit(struct locus_service *svc);
/* The server has got its weight, which counts at once if it is warm. Its divisor has yet to
 * be refreshed. */
void locus_slowstart_weighted(struct locus_service *svc, uint32_t slot, bool warm);
/* The server leaves the service; if it comes back, it begins from nothing. */
void locus_slowstart_removed(struct locus_service *svc, uint32_t slot);

/* Begins a step of all that grow. */
void locus_slowstart_begin(struct locus_service *svc);
/* Goes on with it, at most budget servers; how many. svc->slow.running tells whether that
 * was all. */
size_t locus_slowstart_run(struct locus_service *svc, size_t budget);

#endif
