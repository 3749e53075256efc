/* SPDX-License-Identifier: MIT */
/* What every command begins with: its options, their parser, and its own declaration, of those
 * that the lines of commands.def make. */
#ifndef LOCUS_SIM_COMMANDS_H
#define LOCUS_SIM_COMMANDS_H

#include "../cli/command.h"
#include "../cli/parse.h"

#define COMMAND(name) extern const struct command cmd_##name;
#include "commands.def"
#undef COMMAND

#endif
