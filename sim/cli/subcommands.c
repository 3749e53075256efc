/* SPDX-License-Identifier: MIT */
#include "subcommands.h"

#include <string.h>

const void *subcommand_find(const char *command, const char *example,
                            const struct arguments *arguments, const void *rows,
                            size_t row_size)
{
    const struct subcommand *row = rows;

    if (arguments->count == 0) {
        (void)usage_error(command, "expected a subcommand such as %s", example);
        return NULL;
    }
    const char *name = arguments->items[0];
    while (row->name != NULL && strcmp(row->name, name) != 0) {
        row = (const void *)((const char *)row + row_size);
    }
    if (row->name == NULL) {
        (void)usage_error(command, "no subcommand '%s'", name);
        return NULL;
    }
    if (arguments->count - 1 < row->least || arguments->count - 1 > row->most) {
        (void)usage_error(command, "%s: expected %s", name, row->expected);
        return NULL;
    }
    return row;
}
