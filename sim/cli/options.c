/* SPDX-License-Identifier: MIT */
#include "options.h"

#include <assert.h>

struct option_walk option_walk(const struct option_spec *table)
{
    return (struct option_walk){.levels = {{.next = table}}};
}

const struct option_spec *option_next(struct option_walk *walk)
{
    for (;;) {
        const struct option_spec *spec = walk->levels[walk->level].next++;
        size_t offset = walk->levels[walk->level].offset + spec->offset;
        if (spec->type == OPTION_GROUP) {
            walk->level++;
            assert(walk->level < sizeof(walk->levels) / sizeof(walk->levels[0]));
            walk->levels[walk->level].next = spec->group;
            walk->levels[walk->level].offset = offset;
        } else if (spec->name != NULL) {
            walk->offset = offset;
            return spec;
        } else if (walk->level-- == 0) {
            return NULL;
        }
    }
}
