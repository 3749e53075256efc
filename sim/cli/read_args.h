/* SPDX-License-Identifier: MIT */
/* The options that say how a trace is read, for commands that read traces. */
#ifndef LOCUS_SIM_READ_ARGS_H
#define LOCUS_SIM_READ_ARGS_H

#include <stddef.h>
#include <stdint.h>

#include "../trace/trace.h"
#include "options.h"

struct read_args {
    const char *format, *columns, *sample;
    int key, time_unit;
    uint64_t memory, from_ns, to_ns, max_bad, arrival;
};

#define READ_ARGS_DEFAULT                      \
    {                                          \
        .max_bad = UINT64_MAX, .arrival = 1000 \
    }

extern const char *const read_key_choices[];
extern const char *const read_unit_choices[];

#define READ_ARGS_AT(type, field) \
    (offsetof(type, read) + offsetof(struct read_args, field))

/* Entries of an option table, for a struct with a member "struct read_args read". end: what
 * the end of the window is called, "to" unless that means something else there. */
#define READ_ARGS_OPTIONS(type, end)                                                   \
    {"format",                                                                         \
     'f',                                                                              \
     OPTION_STRING,                                                                    \
     READ_ARGS_AT(type, format),                                                       \
     "NAME",                                                                           \
     "The traces' format (default: found by looking; 'locus inspect --formats' lists " \
     "them).",                                                                         \
     0,                                                                                \
     0,                                                                                \
     NULL},                                                                            \
        {"key",                                                                        \
         'k',                                                                          \
         OPTION_CHOICE,                                                                \
         READ_ARGS_AT(type, key),                                                      \
         NULL,                                                                         \
         "What stands for the destination (default auto: as the format says).",        \
         0,                                                                            \
         0,                                                                            \
         read_key_choices},                                                            \
        {"columns",                                                                    \
         0,                                                                            \
         OPTION_STRING,                                                                \
         READ_ARGS_AT(type, columns),                                                  \
         "LIST",                                                                       \
         "Columns of a CSV trace: time=1,dst=2,bytes=3,client=4,duration=5.",          \
         0,                                                                            \
         0,                                                                            \
         NULL},                                                                        \
        {"time-unit",                                                                  \
         0,                                                                            \
         OPTION_CHOICE,                                                                \
         READ_ARGS_AT(type, time_unit),                                                \
         NULL,                                                                         \
         "Unit of the times in CSV and object traces (default auto: the format's "     \
         "own).",                                                                      \
         0,                                                                            \
         0,                                                                            \
         read_unit_choices},                                                           \
        {"arrival",                                                                    \
         0,                                                                            \
         OPTION_NUMBER,                                                                \
         READ_ARGS_AT(type, arrival),                                                  \
         "N",                                                                          \
         "Arrivals per second of a trace without times (default 1000).",               \
         1,                                                                            \
         1000000000,                                                                   \
         NULL},                                                                        \
        {"from",                                                                       \
         0,                                                                            \
         OPTION_DURATION,                                                              \
         READ_ARGS_AT(type, from_ns),                                                  \
         "TIME",                                                                       \
         "Leave out what starts earlier, counted from the first record.",              \
         0,                                                                            \
         0,                                                                            \
         NULL},                                                                        \
        {end,                                                                          \
         0,                                                                            \
         OPTION_DURATION,                                                              \
         READ_ARGS_AT(type, to_ns),                                                    \
         "TIME",                                                                       \
         "Leave out what starts at or after this, counted from the first record.",     \
         0,                                                                            \
         0,                                                                            \
         NULL},                                                                        \
        {"sample",                                                                     \
         0,                                                                            \
         OPTION_STRING,                                                                \
         READ_ARGS_AT(type, sample),                                                   \
         "1/N",                                                                        \
         "Keep one in N destinations, each with all its connections.",                 \
         0,                                                                            \
         0,                                                                            \
         NULL},                                                                        \
        {"memory",                                                                     \
         0,                                                                            \
         OPTION_BYTES,                                                                 \
         READ_ARGS_AT(type, memory),                                                   \
         "SIZE",                                                                       \
         "Memory for sorting; beyond it a temporary file in $TMPDIR is used (default " \
         "1GiB).",                                                                     \
         0,                                                                            \
         0,                                                                            \
         NULL},                                                                        \
    {                                                                                  \
        "max-bad", 0, OPTION_NUMBER, READ_ARGS_AT(type, max_bad), "N",                 \
            "Exit with 3 when more records than this are bad (default: any number is " \
            "fine).",                                                                  \
            0, 0, NULL                                                                 \
    }

/* Turns them into what trace_open() takes. 0, or 2 after a line on stderr. */
int read_args_resolve(const char *command, const struct read_args *args,
                      struct trace_options *out);
/* How many records were bad, of which kinds, and the first few, on stderr; silent without. */
void read_report_bad(const char *command, const struct trace_summary *summary);

#endif
