/* SPDX-License-Identifier: MIT */
/* Writing CSV. */
#ifndef LOCUS_SIM_CSV_H
#define LOCUS_SIM_CSV_H

#include <stdio.h>

/* A field of a CSV row, quoted where it has to be (RFC 4180). */
void csv_text(FILE *out, const char *text);

#endif
