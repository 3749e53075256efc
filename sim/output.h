/* SPDX-License-Identifier: MIT */
#ifndef LOCUS_SIM_OUTPUT_H
#define LOCUS_SIM_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

/* Opens a file to write, "-" is stdout; NULL after a line on stderr. */
FILE *output_open(const char *command, const char *path);
/* Closes it; false after a line on stderr if anything of it did not arrive. */
bool output_close(const char *command, const char *path, FILE *file);

#endif
