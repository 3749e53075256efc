/* SPDX-License-Identifier: MIT */
#include "errors.h"

#include <stdarg.h>
#include <stdio.h>

int usage_error(const char *command, const char *format, ...)
{
    va_list ap;

    fprintf(stderr, "locus %s: ", command);
    va_start(ap, format);
    vfprintf(stderr, format, ap);
    va_end(ap);
    fprintf(stderr, " (see 'locus %s --help')\n", command);
    return EXIT_USAGE;
}

int memory_error(const char *command)
{
    fprintf(stderr, "locus %s: out of memory\n", command);
    return EXIT_RUNTIME;
}
