/* SPDX-License-Identifier: MIT */
/* The table of schedulers. */
#include "sched.h"

#include <string.h>

static const struct sched_ops *const table[] = {
    &locus_sched_rr,   &locus_sched_wrr,   &locus_sched_lc,   &locus_sched_wlc,
    &locus_sched_lblc, &locus_sched_lblcr, &locus_sched_dh,   &locus_sched_sh,
    &locus_sched_mh,   &locus_sched_sed,   &locus_sched_nq,   &locus_sched_fo,
    &locus_sched_ovf,  &locus_sched_twos,  &locus_sched_chbl, &locus_sched_p2c,
    &locus_sched_none,
};

const struct sched_ops *locus_sched_find(const char *name)
{
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        if (strcmp(table[i]->name, name) == 0) {
            return table[i];
        }
    }
    return NULL;
}

const char *locus_scheduler_name(size_t index, const char **about)
{
    if (index >= sizeof(table) / sizeof(table[0])) {
        return NULL;
    }
    if (about != NULL) {
        *about = table[index]->about;
    }
    return table[index]->name;
}
