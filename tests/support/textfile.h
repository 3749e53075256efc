/* SPDX-License-Identifier: MIT */
/* Whole files as one string, compressed with gzip or not. */
#ifndef LOCUS_TESTS_TEXTFILE_H
#define LOCUS_TESTS_TEXTFILE_H

#include <stdbool.h>

/* The content of path, or of path + ".gz", NUL-terminated; NULL if neither can be read.
 * The caller frees it. */
char *textfile_read(const char *path);
bool textfile_exists(const char *path);

/* The number of the first line in which two texts differ, from 1; 0: they are equal. The
 * lines themselves go to got_line and want_line, cut to size. */
unsigned textfile_differ(const char *got, const char *want, char *got_line,
                         char *want_line, unsigned size);

#endif
