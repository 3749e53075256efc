/* SPDX-License-Identifier: MIT */
/* Compressed files out: the opposite of input.h. */
#ifndef LOCUS_SIM_COMPRESS_H
#define LOCUS_SIM_COMPRESS_H

#include <stdbool.h>
#include <stdio.h>

/* Does the name end in .gz, .bz2, .xz or .zst? */
bool compress_wanted(const char *path);
/* A stream that writes such a file; what cannot be written shows as errors of the stream do,
 * in fflush() or fclose() at the latest. NULL with errno set. */
FILE *compress_open(const char *path);

#endif
