/* SPDX-License-Identifier: MIT */
/* The table of schedulers; locus_scheduler_name() lists it. */
#ifndef LOCUS_SCHEDULERS_H
#define LOCUS_SCHEDULERS_H

#include "sched.h"

/* NULL: there is none of that name. */
const struct sched_ops *locus_sched_find(const char *name);

#endif
