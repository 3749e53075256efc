/* SPDX-License-Identifier: MIT */
/* The schedulers that there are; locus_scheduler_name() lists them. */
#ifndef LOCUS_SCHEDULERS_H
#define LOCUS_SCHEDULERS_H

#include "../state/sched.h"

#define SCHEDULER(name) extern const struct sched_ops locus_sched_##name;
#include "schedulers.def"
#undef SCHEDULER

/* NULL: there is none of that name. */
const struct sched_ops *locus_sched_find(const char *name);

#endif
