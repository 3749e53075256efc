/* SPDX-License-Identifier: MIT */
/*
 * The options with which a command takes a trace to replay: one list for replay, lint and
 * advise.
 */
#ifndef LOCUS_SIM_TRACE_ARGS_H
#define LOCUS_SIM_TRACE_ARGS_H

#include <stddef.h>
#include <stdint.h>

#include "arrivals.h"
#include "options.h"
#include "trace.h"

struct trace_args {
    const char *format, *columns, *sample, *duration, *speed;
    int key, proto, time_unit;
    uint64_t memory, from_ns, to_ns, max_bad, arrival, seed;
};

#define TRACE_ARGS_DEFAULT                                                \
    {                                                                     \
        .max_bad = UINT64_MAX, .arrival = 1000, .time_unit = 0, .seed = 1 \
    }

extern const char *const trace_key_choices[];
extern const char *const trace_proto_choices[];
extern const char *const trace_unit_choices[];

/* Entries of an option table, for a struct trace_args at member of type. */
#define TRACE_ARGS_AT(type, member, field) \
    (offsetof(type, member) + offsetof(struct trace_args, field))
#define TRACE_ARGS_OPTIONS(type, member)                                               \
    {"format",                                                                         \
     'f',                                                                              \
     OPTION_STRING,                                                                    \
     TRACE_ARGS_AT(type, member, format),                                              \
     "NAME",                                                                           \
     "The traces' format (default: found by looking; 'locus inspect --formats' lists " \
     "them).",                                                                         \
     0,                                                                                \
     0,                                                                                \
     NULL},                                                                            \
        {"key",                                                                        \
         'k',                                                                          \
         OPTION_CHOICE,                                                                \
         TRACE_ARGS_AT(type, member, key),                                             \
         NULL,                                                                         \
         "What stands for the destination (default auto: as the format says).",        \
         0,                                                                            \
         0,                                                                            \
         trace_key_choices},                                                           \
        {"columns",                                                                    \
         0,                                                                            \
         OPTION_STRING,                                                                \
         TRACE_ARGS_AT(type, member, columns),                                         \
         "LIST",                                                                       \
         "Columns of a plain CSV trace: time=1,dst=2,bytes=3,client=4,duration=5.",    \
         0,                                                                            \
         0,                                                                            \
         NULL},                                                                        \
        {"time-unit",                                                                  \
         0,                                                                            \
         OPTION_CHOICE,                                                                \
         TRACE_ARGS_AT(type, member, time_unit),                                       \
         NULL,                                                                         \
         "Unit of the times in CSV and object traces (default auto: the format's "     \
         "own).",                                                                      \
         0,                                                                            \
         0,                                                                            \
         trace_unit_choices},                                                          \
        {"proto",                                                                      \
         0,                                                                            \
         OPTION_CHOICE,                                                                \
         TRACE_ARGS_AT(type, member, proto),                                           \
         NULL,                                                                         \
         "Which records are replayed (default tcp; requests without a protocol are "   \
         "TCP).",                                                                      \
         0,                                                                            \
         0,                                                                            \
         trace_proto_choices},                                                         \
        {"duration",                                                                   \
         0,                                                                            \
         OPTION_STRING,                                                                \
         TRACE_ARGS_AT(type, member, duration),                                        \
         "MODEL",                                                                      \
         "How long a record without a duration lasts: const:TIME, "                    \
         "lognormal:MEDIAN:SIGMA or "                                                  \
         "rate:BYTES per second (default const:1s).",                                  \
         0,                                                                            \
         0,                                                                            \
         NULL},                                                                        \
        {"arrival",                                                                    \
         0,                                                                            \
         OPTION_NUMBER,                                                                \
         TRACE_ARGS_AT(type, member, arrival),                                         \
         "N",                                                                          \
         "Arrivals per second of a trace without times (default 1000).",               \
         1,                                                                            \
         1000000000,                                                                   \
         NULL},                                                                        \
        {"from",                                                                       \
         0,                                                                            \
         OPTION_DURATION,                                                              \
         TRACE_ARGS_AT(type, member, from_ns),                                         \
         "TIME",                                                                       \
         "Leave out what starts earlier, counted from the first record.",              \
         0,                                                                            \
         0,                                                                            \
         NULL},                                                                        \
        {"to",                                                                         \
         0,                                                                            \
         OPTION_DURATION,                                                              \
         TRACE_ARGS_AT(type, member, to_ns),                                           \
         "TIME",                                                                       \
         "Leave out what starts later, counted from the first record.",                \
         0,                                                                            \
         0,                                                                            \
         NULL},                                                                        \
        {"sample",                                                                     \
         0,                                                                            \
         OPTION_STRING,                                                                \
         TRACE_ARGS_AT(type, member, sample),                                          \
         "1/N",                                                                        \
         "Replay one in N destinations, each with all its connections.",               \
         0,                                                                            \
         0,                                                                            \
         NULL},                                                                        \
        {"speed",                                                                      \
         0,                                                                            \
         OPTION_STRING,                                                                \
         TRACE_ARGS_AT(type, member, speed),                                           \
         "FACTOR",                                                                     \
         "Arrivals that many times as fast; durations stay (default 1).",              \
         0,                                                                            \
         0,                                                                            \
         NULL},                                                                        \
        {"memory",                                                                     \
         0,                                                                            \
         OPTION_BYTES,                                                                 \
         TRACE_ARGS_AT(type, member, memory),                                          \
         "SIZE",                                                                       \
         "Memory for sorting; beyond it a temporary file is used (default 1GiB).",     \
         0,                                                                            \
         0,                                                                            \
         NULL},                                                                        \
        {"max-bad",                                                                    \
         0,                                                                            \
         OPTION_NUMBER,                                                                \
         TRACE_ARGS_AT(type, member, max_bad),                                         \
         "N",                                                                          \
         "Exit with 3 when more records than this are bad (default: any number is "    \
         "fine).",                                                                     \
         0,                                                                            \
         0,                                                                            \
         NULL},                                                                        \
    {                                                                                  \
        "seed", 0, OPTION_NUMBER, TRACE_ARGS_AT(type, member, seed), "N",              \
            "Seed of everything random: models, twos (default 1).", 0, 0, NULL         \
    }

/* Turns them into what trace_open() and arrivals_open() take. An exit_code, after a line on
 * stderr. */
int trace_args_resolve(const char *command, const struct trace_args *args,
                       struct trace_options *trace, struct arrival_options *arrivals);

/* The first few bad records and how many of which kind, on stderr. Silent without any. */
void trace_report_bad(const char *command, const struct trace_summary *summary);

#endif
