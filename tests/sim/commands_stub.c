/* SPDX-License-Identifier: MIT */
/* Test programs have options and help, but no commands. */
#include <stddef.h>

#include "cli/command.h"

const struct command *const commands[] = {NULL};
