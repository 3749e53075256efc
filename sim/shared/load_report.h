/* SPDX-License-Identifier: MIT */
/* The lines of 'locus coalesce-bench': as a table, as JSON, as a page, and which of them is best. */
#ifndef LOCUS_SIM_LOAD_REPORT_H
#define LOCUS_SIM_LOAD_REPORT_H

#include "load.h"

void load_print_heading(const struct load *load);
void load_print_line(const struct load_line *line);
/* An exit_code. */
int load_print_json(const struct load_line *line);
void load_print_best(const struct load *load, const struct load_line *lines,
                     size_t count);
/* A page with a chart. The lines are rows * columns, a row for each concurrency. An
 * exit_code. */
int load_write_page(const char *path, const struct load *load,
                    const struct load_line *lines, size_t rows, size_t columns);

#endif
