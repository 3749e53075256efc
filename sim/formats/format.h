/* SPDX-License-Identifier: MIT */
/*
 * What a trace format is: one file sim/formats/<format>.c with one struct format, and one
 * line in formats.def.
 *
 * Reading: a format of lines has a line() hook, called for every line; any other has a
 * read() hook, called once (see reader.h). A format is found by letting it read the first
 * lines of the file with nothing emitted and counting how many it understood, or by its
 * probe() hook.
 *
 * Writing: begin() once, then record() for each record (see writing.h). A format keeps what
 * it has a place for; the rest (durations in a web log, clients in an object trace) is lost.
 */
#ifndef LOCUS_SIM_FORMAT_H
#define LOCUS_SIM_FORMAT_H

#include "../base/slice.h"
#include "../records/numbered.h"
#include "reading.h"

struct reader;
struct writing;

/* 0: go on. Otherwise an exit_code, after a message on stderr. */
typedef int reader_line_fn(struct reader *reader, struct slice line);

struct format_writing {
    unsigned place; /* in lists of the formats that can be written; 0: only read */
    bool by_end;    /* lines are written when a connection ends, so in that order */
    bool binary;    /* keys go in front of the records, as they are; no record() */
    /* For a format whose records say what comes later: called before begin(), prepare()
     * once and look_ahead() for each record. Both or neither. */
    bool (*prepare)(struct writing *w); /* false after a message on stderr */
    void (*look_ahead)(struct writing *w, const struct numbered_record *record);
    void (*begin)(struct writing *w); /* the header. May be NULL */
    void (*record)(struct writing *w, const struct record *record);
    void (*end)(struct writing *w); /* frees; also after an error. May be NULL */
};

struct format {
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
    /* How many records the first bytes seem to hold; 0: not this format. NULL: line() says,
     * or, where there is none either, certain() alone.
     * whole: head is the whole file. */
    unsigned (*probe)(struct reader *reader, struct slice head, bool whole);
    /* The file's own words name the format: it wins over any that merely understood the
     * lines. May be NULL. */
    bool (*certain)(struct slice head);
    struct format_writing write;
};

#endif
