/* SPDX-License-Identifier: MIT */
/*
 * What the reading hooks of a format work with. They turn input into struct record and hand
 * it to reader_emit(); what is wrong goes to reader_bad().
 */
#ifndef LOCUS_SIM_READER_H
#define LOCUS_SIM_READER_H

#include "../base/slice.h"
#include "../records/record.h"
#include "addresses.h"
#include "fields.h"
#include "format.h"
#include "input.h"
#include "reading.h"

/* Where records go. */
struct reader_sink {
    /* 0 or an exit_code. */
    int (*take)(struct reader *reader, const struct record *record, uint64_t stamp_ns);
    void *arg;
    struct trace_summary *summary; /* of what was bad or no record */
};

struct reader {
    const struct format *format;
    const struct trace_options *options;
    enum trace_key key; /* resolved, one of format->keys */
    struct input *input;
    void *state;
    /* Text of the names in the record about to be emitted; NULL texts: not names. */
    struct slice dst_name, src_name;
    const struct reader_sink *sink; /* NULL while probing */
    uint64_t line_number;           /* for messages; 0: count records instead */
    bool line_ended;                /* false: last line of a file, without a line end */
    uint64_t seen, faults, others;  /* good, bad, no records; of this file */
};

/* Puts an address or name into the record's destination or client; an empty slice or "-"
 * sets nothing and says false. */
bool reader_set_dst(struct reader *reader, struct record *record, struct slice text);
bool reader_set_src(struct reader *reader, struct record *record, struct slice text);
/* The same, but only for an IP address: a name there means shifted columns. */
bool reader_set_dst_ip(struct reader *reader, struct record *record, struct slice text);
bool reader_set_src_ip(struct reader *reader, struct record *record, struct slice text);
/* The same for a key that is a name whatever it looks like (URLs, object ids). */
bool reader_set_dst_name(struct reader *reader, struct record *record,
                         struct slice name);
/* With --key client, the client is the destination: copies it. False when there is none. */
bool reader_dst_from_src(struct reader *reader, struct record *record);

/* Takes the record. stamp_ns is the time as the file has it (a log may stamp the end of a
 * request), for counting steps back. 0 or an exit_code. */
int reader_emit(struct reader *reader, const struct record *record, uint64_t stamp_ns);
/*
 * Counts a bad record. reason is static and names the kind ("elapsed time is negative");
 * field and expected say where and what ("elapsed", "milliseconds, 0 or more"), got is the
 * text there. 0, or an exit_code once there are too many.
 */
int reader_bad(struct reader *reader, const char *reason, const char *field,
               const char *expected, struct slice got);
/* Counts what is well-formed but no record: a header, a comment, an event of another kind. */
void reader_other(struct reader *reader);

/* Reads all of the input. 0 or an exit_code. */
int reader_run(struct reader *reader);
/* What --key calls it. */
const char *reader_key_name(enum trace_key key);

#endif
