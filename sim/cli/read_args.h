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

/* The options, as a group of a command's: OPT_GROUP(read_options, AT(read)). The end of the
 * window is --to, or --until for commands where --to means something else. */
extern const struct option_spec read_options[];
extern const struct option_spec read_options_until[];
extern const char *const read_key_choices[];
extern const char *const read_unit_choices[];

/* Turns them into what trace_open() takes. 0, or 2 after a line on stderr. */
int read_args_resolve(const char *command, const struct read_args *args,
                      struct trace_options *out);
/* How many records were bad, of which kinds, and the first few, on stderr; silent without. */
void read_report_bad(const char *command, const struct trace_summary *summary);

#endif
