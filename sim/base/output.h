/* SPDX-License-Identifier: MIT */
/* Files that a command writes, stdout among them. */
#ifndef LOCUS_SIM_OUTPUT_H
#define LOCUS_SIM_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

/* Opens a file to write, "-" is stdout; NULL after a line on stderr. */
FILE *output_open(const char *command, const char *path);
/* Whether it could be opened, known before a long run; leaves no trace. False after a line on
 * stderr. */
bool output_check(const char *command, const char *path);
/* Whether the file is none of those that are read, which writing would destroy. False after a
 * line on stderr. */
bool output_apart(const char *command, const char *path, char *const *inputs,
                  size_t count);
/* Closes it; false after a line on stderr if anything of it did not arrive. */
bool output_close(const char *command, const char *path, FILE *file);
/* Prints a JSON object as one line on stdout and frees it; memory that ran out while it was
 * made shows as NULL. An exit_code, after a line on stderr. */
int output_json_line(const char *command, json_t *object);
/* The same of an object that json_pack() makes. */
int output_json(const char *command, const char *format, ...);

#endif
