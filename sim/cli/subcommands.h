/* SPDX-License-Identifier: MIT */
/* Commands such as pool and registry, whose first argument names what they do. */
#ifndef LOCUS_SIM_SUBCOMMANDS_H
#define LOCUS_SIM_SUBCOMMANDS_H

#include "parse.h"

/* What the rows of a command's table of subcommands begin with; in the last, name is NULL. */
struct subcommand {
    const char *name;
    size_t least, most;   /* how many arguments come after the name */
    const char *expected; /* ... in words */
};

/* The row that the arguments ask for. NULL after a line on stderr, which is EXIT_USAGE. example:
 * a name for those who gave none. */
const void *subcommand_find(const char *command, const char *example,
                            const struct arguments *arguments, const void *rows,
                            size_t row_size);

#endif
