/* SPDX-License-Identifier: MIT */
/*
 * The subcommands of locus. A command is one file sim/cmd_<name>.c, one line in the table
 * of sim/main.c, and one option table, from which parser, --help and man page are made.
 */
#ifndef LOCUS_SIM_COMMAND_H
#define LOCUS_SIM_COMMAND_H

#include "options.h"

struct command {
    const char *name;
    const char *summary; /* one line, no full stop */
    const char *usage;   /* what follows the name: "[options] TRACE..." */
    const char
        *description; /* paragraphs, separated by blank lines; man page and --help */
    const struct option_spec
        *options;         /* ends with an entry without a name; may be NULL */
    const char *examples; /* lines: a command, or "# what it does" before it */
    int (*run)(int argc, char **argv); /* argv[0] is the command's name; an exit_code */
};

/* The table, ends with NULL. */
extern const struct command *const commands[];

extern const struct command cmd_coalesce_bench;
extern const struct command cmd_convert;
extern const struct command cmd_drive;
extern const struct command cmd_pool;
extern const struct command cmd_registry;
extern const struct command cmd_gen;
extern const struct command cmd_inspect;
extern const struct command cmd_replay;
extern const struct command cmd_advise;
extern const struct command cmd_lint;

/* Prints the --help of a command to stdout. */
void command_help(const struct command *command);

#endif
