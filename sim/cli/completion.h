/* SPDX-License-Identifier: MIT */
#ifndef LOCUS_SIM_COMPLETION_H
#define LOCUS_SIM_COMPLETION_H

#include "command.h"

/* "locus --completion bash": the script, on stdout. The table ends with NULL. */
void bash_completion(const struct command *const commands[]);

#endif
