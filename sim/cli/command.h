/* SPDX-License-Identifier: MIT */
/*
 * What a subcommand of locus is: its texts, its options as a table, and a function. The parser,
 * --help, the man page and the completion are made from these. To add a command, write
 * sim/commands/NAME.c and a line in sim/commands/commands.def.
 */
#ifndef LOCUS_SIM_COMMAND_H
#define LOCUS_SIM_COMMAND_H

#include "options.h"

struct command {
    const char *name;
    const char *summary;     /* one line, no full stop */
    const char *usage;       /* what follows the name: "[options] TRACE..." */
    const char *description; /* paragraphs, separated by blank lines */
    const struct option_spec *options;
    const char *examples; /* lines: a command, or "# what it does" before it; or NULL */
    int (*run)(int argc, char **argv); /* argv[0] is the command's name; an exit_code */
};

#endif
