/* SPDX-License-Identifier: MIT */
#ifndef LOCUS_SIM_READERS_H
#define LOCUS_SIM_READERS_H

#include "reader.h"

/* The table; where two understand a file equally well, the first is taken. Ends with NULL. */
extern const struct reader_format *const reader_formats[];

#define FORMAT(name) extern const struct reader_format reader_##name;
#include "formats.def"
#undef FORMAT

/* The zeek-json line, for JSON lines in the middle of other Zeek logs. */
reader_line_fn zeek_json_line;

/* The format of that name; NULL: none. */
const struct reader_format *reader_find(const char *name);
/* The format that understands most of the file's beginning; NULL: none, or out of memory
 * (said on stderr only then). */
const struct reader_format *reader_detect(const struct trace_options *options,
                                          struct slice head, bool whole);
/* The formats' names and one line about each; NULL past the end. */
const char *trace_format_name(size_t index, const char **about);

#endif
