/* SPDX-License-Identifier: MIT */
/*
 * The options of a command, as a table: one table feeds the parser, --help, the man page and the
 * completion. (getopt_long, argp and popt cover a part of it each: none knows ranges, units
 * or choices, makes a man page, or lets one table include another.)
 */
#ifndef LOCUS_SIM_OPTIONS_H
#define LOCUS_SIM_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/errors.h"
#include "../base/values.h"

enum option_type {
    OPTION_FLAG,   /* bool */
    OPTION_TEXT,   /* const char * (borrowed from argv) */
    OPTION_NUMBER, /* uint64_t, low..high */
    OPTION_BYTES,  /* uint64_t: 4096, 10k, 64M, 10GiB, 1gb (all powers of 1024) */
    OPTION_TIME,   /* uint64_t nanoseconds: 90 (seconds), 1.5s, 250ms, 10us, 2h, 7d */
    OPTION_CHOICE, /* int: index into choices */
    OPTION_GROUP,  /* another table, for a struct inside this one */
};

/* A row of a table. Write rows with the macros below. */
struct option_spec {
    const char *name; /* long name without dashes */
    char letter;      /* 0: none */
    enum option_type type;
    size_t offset; /* of the target in the command's options struct */
    uint64_t min;
    uint64_t max;               /* 0: no limit */
    const char *metavar;        /* NULL for flags and choices */
    const char *help;           /* one sentence or more; says the default */
    const char *const *choices; /* OPTION_CHOICE; NULL-terminated */
    const struct option_spec *group;
};

/*
 * The rows of a table:
 *
 *     #define AT(field) offsetof(struct replay_args, field)
 *
 *     static const struct option_spec options[] = {
 *         OPT_FLAG("json", 'j', AT(json), "JSON instead of the table."),
 *         OPT_NUMBER("width", 0, AT(width), "N", 40, 1000, "Columns of the table."),
 *         OPT_GROUP(read_options, AT(read)),
 *         OPT_END,
 *     };
 */
#define OPT_FLAG(word, key, at, text) \
    OPT_ROW(OPTION_FLAG, word, key, at, .help = (text))
#define OPT_TEXT(word, key, at, meta, text) \
    OPT_ROW(OPTION_TEXT, word, key, at, .metavar = (meta), .help = (text))
#define OPT_NUMBER(word, key, at, meta, low, high, text)                   \
    OPT_ROW(OPTION_NUMBER, word, key, at, .metavar = (meta), .min = (low), \
            .max = (high), .help = (text))
#define OPT_BYTES(word, key, at, text) \
    OPT_ROW(OPTION_BYTES, word, key, at, .metavar = "SIZE", .help = (text))
#define OPT_TIME(word, key, at, low, high, text)                         \
    OPT_ROW(OPTION_TIME, word, key, at, .metavar = "TIME", .min = (low), \
            .max = (high), .help = (text))
#define OPT_CHOICE(word, key, at, words, text) \
    OPT_ROW(OPTION_CHOICE, word, key, at, .choices = (words), .help = (text))
#define OPT_GROUP(table, at)                                   \
    {                                                          \
        .type = OPTION_GROUP, .offset = (at), .group = (table) \
    }
#define OPT_END      \
    {                \
        .name = NULL \
    }
#define OPT_ROW(kind, word, key, at, ...)                                            \
    {                                                                                \
        .name = (word), .letter = (key), .type = (kind), .offset = (at), __VA_ARGS__ \
    }

/* A walk over a table row by row, through its groups too. */
struct option_walk {
    struct {
        const struct option_spec *next;
        size_t offset; /* of the table's struct in the command's */
    } levels[4];       /* tables inside tables: no deeper */
    size_t level;
    size_t offset; /* of the target of the last row, in the command's options struct */
};

struct option_walk option_walk(const struct option_spec *table);
/* The next option; NULL at the end. */
const struct option_spec *option_next(struct option_walk *walk);

#endif
