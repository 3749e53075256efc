/* SPDX-License-Identifier: MIT */
/*
 * What a trace format is: a file NAME.c in this folder with one struct reader_format, a line
 * FORMAT(NAME) in formats.def, and a test.
 *
 * A format of lines has a line() hook, called for every line; any other has a read() hook,
 * called once. They turn input into struct record and hand it to reader_emit(), and what is
 * wrong to reader_bad(). A format is found by letting it read the first lines of the file
 * with nothing emitted and seeing how many it understood (or by its probe() hook).
 */
#ifndef LOCUS_SIM_READER_H
#define LOCUS_SIM_READER_H

#include "../base/slice.h"
#include "../records/record.h"
#include "addresses.h"
#include "fields.h"
#include "input.h"
#include "reading.h"

struct reader;

/* 0: go on. Otherwise an exit_code, after a message on stderr. */
typedef int reader_line_fn(struct reader *reader, struct slice line);

struct reader_format {
    const char *name;
    const char *about;  /* one line, no full stop */
    enum trace_key key; /* what KEY_AUTO means; never KEY_AUTO itself */
    unsigned keys;      /* 1u << KEY_...: what --key may ask for */
    size_t state_size;  /* zeroed bytes per file, reader->state */
    /* Reads options, allocates; 0 or an exit_code after a message. May be NULL. */
    int (*start)(struct reader *reader);
    reader_line_fn *line;
    int (*read)(struct reader *reader);
    /* The input ended: emit what was held back. May be NULL. */
    int (*finish)(struct reader *reader);
    void (*stop)(
        struct reader *reader); /* frees; also after a failed start. May be NULL */
    /* How many records the first bytes seem to hold; 0: not this format. NULL: line() says.
     * whole: head is the whole file. */
    unsigned (*probe)(struct reader *reader, struct slice head, bool whole);
    /* The file's own words name the format: it wins over any that merely understood the
     * lines. May be NULL. */
    bool (*certain)(struct slice head);
    bool only_forced; /* never found by looking */
};

/* Where records go. */
struct reader_sink {
    /* 0 or an exit_code. */
    int (*take)(struct reader *reader, const struct record *record, uint64_t stamp_ns);
    void *arg;
    struct trace_summary *summary; /* of what was bad or no record */
};

struct reader {
    const struct reader_format *format;
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
