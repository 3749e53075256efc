/* SPDX-License-Identifier: MIT */
/*
 * The trash: servers that were removed while connections or destinations still named them. They
 * keep slot and counters, and may come back. Periodic work frees those that nothing has named
 * for long enough.
 */
#ifndef LOCUS_TRASH_H
#define LOCUS_TRASH_H

#include "../state/core.h"

/* A server that is no longer in service. */
void locus_trash_enter(struct locus_service *svc, uint32_t slot);
/* It comes back into service. A look through the trash that is under way goes on behind it. */
void locus_trash_leave(struct locus_service *svc, uint32_t slot);

/* Begins to look through the trash. */
void locus_trash_begin(struct locus_service *svc);
/* Goes on with it, at most budget servers; how many. svc->trash_running tells whether that
 * was all. */
size_t locus_trash_run(struct locus_service *svc, size_t budget);

#endif
