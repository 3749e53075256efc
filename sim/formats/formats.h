/* SPDX-License-Identifier: MIT */
#ifndef LOCUS_SIM_READERS_H
#define LOCUS_SIM_READERS_H

#include "reader.h"

/* The table; where two understand a file equally well, the first is taken. Ends with NULL. */
extern const struct reader_format *const reader_formats[];

extern const struct reader_format reader_binetflow;
extern const struct reader_format reader_csv;
extern const struct reader_format reader_eve;
extern const struct reader_format reader_haproxy;
extern const struct reader_format reader_libcachesim;
extern const struct reader_format reader_locus;
extern const struct reader_format reader_nfdump;
extern const struct reader_format reader_nginx;
extern const struct reader_format reader_objects;
extern const struct reader_format reader_oraclegeneral;
extern const struct reader_format reader_pcap;
extern const struct reader_format reader_squid;
extern const struct reader_format reader_weblog;
extern const struct reader_format reader_zeek_json;
extern const struct reader_format reader_zeek_tsv;

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
