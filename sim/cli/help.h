/* SPDX-License-Identifier: MIT */
#ifndef LOCUS_SIM_HELP_H
#define LOCUS_SIM_HELP_H

/* "locus --help", on stdout. */
void overview_help(void);
/* The whole of locus(1) as roff, on stdout; the build calls "locus --man". */
void man_page(const char *version);

#endif
