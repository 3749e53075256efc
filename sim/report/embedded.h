/* SPDX-License-Identifier: MIT */
/* Files that are part of the program; made by embed.py at build time. */
#ifndef LOCUS_SIM_EMBEDDED_H
#define LOCUS_SIM_EMBEDDED_H

#include <stddef.h>

extern const unsigned char page_template[]; /* report.html */
extern const size_t page_template_size;
extern const unsigned char chart_js[]; /* Chart.js; a comment where it was not found */
extern const size_t chart_js_size;

#endif
