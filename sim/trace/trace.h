/* SPDX-License-Identifier: MIT */
/*
 * Traces: files of any known format in, records sorted by start out, in bounded memory.
 *
 *     trace_open(&options, paths, count, &trace)       finds formats, reads, sorts
 *     while ((got = trace_next(trace, batch, 4096)) > 0) ...
 *     trace_summary(trace)                             what was read, what was bad
 */
#ifndef LOCUS_SIM_TRACE_H
#define LOCUS_SIM_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../formats/reading.h"
#include "../records/numbered.h"
#include "../records/record.h"

struct trace;

/* An exit_code: 0; 1 after a message on stderr (cannot read, no memory, disk full);
 * 2 (unknown format or columns); 3 (too many bad records). On 3, *out is set all the same,
 * so that its summary can be shown; on 1 and 2 it is NULL. */
int trace_open(const struct trace_options *options, char *const *paths, size_t count,
               struct trace **out);
/* The next records in order of start (equal starts in order of reading); how many, 0 at the
 * end, -1 after an error that was said on stderr. */
ssize_t trace_next(struct trace *trace, struct record *batch, size_t capacity);
/* The same without looking up keys. */
ssize_t trace_next_numbered(struct trace *trace, struct numbered_record *batch,
                            size_t capacity);
/* What the numbers stand for. */
const struct record_keys *trace_keys(const struct trace *trace);
/* Back to the first record, for another pass. false after an error said on stderr. */
bool trace_rewind(struct trace *trace);
const struct trace_summary *trace_summary(const struct trace *trace);
/* What a person calls this key: the address, or the name that was hashed. Cut to size. */
void trace_key_text(const struct trace *trace, uint8_t family,
                    const union locus_key *key, char *text, size_t size);
void trace_close(struct trace *trace);

#endif
