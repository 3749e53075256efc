/* SPDX-License-Identifier: MIT */
/* All formats (formats.def), and finding the one of a name or of a file. */
#ifndef LOCUS_SIM_FORMATS_H
#define LOCUS_SIM_FORMATS_H

#include "format.h"
#include "reader.h"
#include "writing.h"

/* The table, in the order of formats.def. Ends with NULL. */
extern const struct format *const format_table[];

#define FORMAT(name) extern const struct format format_##name;
#include "formats.def"
#undef FORMAT

/* The zeek-json line, for JSON lines in the middle of other Zeek logs. */
reader_line_fn zeek_json_line;

/* The format of that name; NULL: none. */
const struct format *format_find(const char *name);
/* The same, if it can be written. */
const struct format *format_find_written(const char *name);
/* The formats that can be written, one after the other. NULL: in front of the first, behind
 * the last. */
const struct format *format_next_written(const struct format *last);
/* The format that understands most of the file's beginning; NULL: none, or out of memory
 * (said on stderr only then). */
const struct format *format_detect(const struct trace_options *options,
                                   struct slice head, bool whole);
/* The formats' names and one line about each; NULL past the end. */
const char *trace_format_name(size_t index, const char **about);

#endif
