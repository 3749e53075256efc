/* SPDX-License-Identifier: MIT */
/* What lblc or lblcr has learnt by the end of one replay, in a file, for the next to begin with:
 * a snapshot of the library. */
#ifndef LOCUS_SIM_MAP_FILE_H
#define LOCUS_SIM_MAP_FILE_H

#include <stdio.h>

#include "engine.h"

/* Opens the file to load; NULL after a line on stderr. */
FILE *map_file_open(const char *command, const char *path);
/* Loads it into an engine that has not run, and closes it. What servers of the file that are
 * not in the pool knew is left out, which a line on stderr says. An exit_code, after another
 * line if it is not EXIT_OK. */
int map_file_load(const char *command, const char *path, FILE *file,
                  struct engine *engine);
/* The same of an engine that has finished. */
int map_file_save(const char *command, const char *path, struct engine *engine);

#endif
