/* SPDX-License-Identifier: MIT */
/*
 * A trace as text, so that a test is its input and what must come of it:
 *
 *     "START DURATION DST:PORT < CLIENT:PORT PROTO BYTES"    one line for each record
 *     "! N REASON"                                           one line for each kind of bad
 *     "= N"                                                  lines that are no records
 *
 * What a record lacks is "-".
 */
#ifndef LOCUS_TESTS_SIM_TRACE_TEXT_H
#define LOCUS_TESTS_SIM_TRACE_TEXT_H

#include <stddef.h>

#include "trace/trace.h"

/* Opens the text as a file of its own; what trace_open() gave. */
int open_text(const struct trace_options *options, const void *text, size_t length,
              struct trace **out);
/* All of a trace, in a buffer that the next call reuses. */
const char *trace_text(struct trace *trace);
/* Both in one; "exit N" in place of a trace. */
const char *read_text(const struct trace_options *options, const void *text,
                      size_t length);

#endif
