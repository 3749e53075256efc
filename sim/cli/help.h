/* SPDX-License-Identifier: MIT */
/* What locus says about itself, on stdout. Tables of commands end with NULL. */
#ifndef LOCUS_SIM_HELP_H
#define LOCUS_SIM_HELP_H

#include "command.h"

/* "locus COMMAND --help". */
void command_help(const struct command *command);
/* "locus --help". */
void overview_help(const struct command *const commands[]);
/* "locus --man": all of locus(1) as roff. The build makes the installed page with it. */
void man_page(const struct command *const commands[], const char *version);

#endif
