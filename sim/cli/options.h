/* SPDX-License-Identifier: MIT */
/*
 * Command lines from a table: one table feeds the parser, --help and the man page.
 * "--name value", "--name=value", "-n value", "-nvalue"; "--" ends the options; options and
 * arguments may be mixed. Numbers are strict: no sign, no blanks, no trailing junk.
 */
#ifndef LOCUS_SIM_OPTIONS_H
#define LOCUS_SIM_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/errors.h"
#include "../base/values.h"

enum option_type {
    OPTION_FLAG,     /* bool */
    OPTION_STRING,   /* const char * (borrowed from argv) */
    OPTION_NUMBER,   /* uint64_t, min..max */
    OPTION_BYTES,    /* uint64_t: 4096, 10k, 64M, 10GiB, 1gb (all powers of 1024) */
    OPTION_DURATION, /* uint64_t nanoseconds: 90 (seconds), 1.5s, 250ms, 10us, 2h, 7d */
    OPTION_CHOICE,   /* int: index into choices */
};

struct option_spec {
    const char *name; /* long name without dashes; NULL ends the table */
    char letter;      /* 0: none */
    enum option_type type;
    size_t offset;       /* of the target in the command's options struct */
    const char *metavar; /* NULL for flags and choices */
    const char *help;    /* one sentence or more; says the default */
    uint64_t min,
        max; /* OPTION_NUMBER, OPTION_BYTES, OPTION_DURATION; max 0: no limit */
    const char *const *choices; /* OPTION_CHOICE; NULL-terminated */
};

struct command;

struct arguments {
    char **items; /* what is not an option, in order; points into argv's array */
    size_t count;
};

/*
 * Fills *target (already holding the defaults). Returns 0; or 2 after one line on stderr
 * ("locus replay: --servers: expected ..., not 'x'"); or -1 after --help was printed, which
 * the caller turns into exit code 0. argv is reordered.
 */
int options_parse(const struct command *command, int argc, char **argv, void *target,
                  struct arguments *arguments);

#endif
