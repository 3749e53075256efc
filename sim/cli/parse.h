/* SPDX-License-Identifier: MIT */
/*
 * Command lines, read by a command's table: "--name value", "--name=value", "-n value",
 * "-nvalue"; "--" ends the options; options and arguments may be mixed. Numbers are strict: no
 * sign, no blanks, no trailing junk.
 */
#ifndef LOCUS_SIM_PARSE_H
#define LOCUS_SIM_PARSE_H

#include <stddef.h>

#include "command.h"

struct arguments {
    char **items; /* what is not an option, in order; points into argv's array */
    size_t count;
};

/*
 * Fills *target, which already holds the defaults. Returns 0; or 2 after one line on stderr
 * ("locus replay: --servers: expected ..., not 'x'"); or -1 after --help was printed, which
 * the caller turns into exit code 0. Reorders argv.
 */
int options_parse(const struct command *command, int argc, char **argv, void *target,
                  struct arguments *arguments);

#endif
