/* SPDX-License-Identifier: MIT */
/*
 * Temporary files: in $TMPDIR, else /tmp, and without a name, so that nothing is left behind
 * however this ends.
 */
#ifndef LOCUS_SIM_TEMPORARY_H
#define LOCUS_SIM_TEMPORARY_H

#include <stdbool.h>

/* Its descriptor; -1 after a line on stderr. */
int temporary_open(void);
/* "cannot WHAT the temporary file", where and the reason, errno, on stderr. Returns false. */
bool temporary_failed(const char *what);

#endif
