/* SPDX-License-Identifier: MIT */
#include "schedulers.h"

#include <string.h>

static const struct sched_ops *const table[] = {
#define SCHEDULER(name) &locus_sched_##name,
#include "schedulers.def"
#undef SCHEDULER
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
