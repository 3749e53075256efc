/* SPDX-License-Identifier: MIT */
/* How a command ends, and what it says then. */
#ifndef LOCUS_SIM_ERRORS_H
#define LOCUS_SIM_ERRORS_H

enum exit_code {
    EXIT_OK = 0,
    EXIT_RUNTIME = 1,  /* input or output failed, out of memory */
    EXIT_USAGE = 2,    /* the command line or a script is wrong */
    EXIT_BAD_DATA = 3, /* more bad records than --max-bad, or a finding of lint */
    EXIT_EMPTY = 4,    /* nothing to give: an empty pool */
};

/* "locus NAME: " + message on stderr; returns 2, for return usage_error(...). */
int usage_error(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* "locus NAME: out of memory" on stderr; returns 1, for return memory_error(...). */
int memory_error(const char *command);

#endif
