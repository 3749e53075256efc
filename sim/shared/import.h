/* SPDX-License-Identifier: MIT */
/*
 * Lists of candidates for a pool: text, CSV or JSON lines in, members and refusals out.
 *
 *     text   [scheme://]host:port [labels]          '#' begins a comment
 *     csv    a header that names the columns: host (or ip, address), port, scheme (or
 *            protocol, type); all others are labels
 *     json   one object a line, with the same names
 */
#ifndef LOCUS_SIM_POOL_IMPORT_H
#define LOCUS_SIM_POOL_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <locus/pool.h>

enum import_format { IMPORT_AUTO, IMPORT_TEXT, IMPORT_CSV, IMPORT_JSON };

enum { IMPORT_REASONS = 64 };

struct import {
    char **members; /* in the order of the file; owned */
    size_t count, room;
    uint64_t lines, refused, malformed, duplicates;
    struct import_reason {
        const char *reason; /* static text */
        uint64_t count;
    } reasons[IMPORT_REASONS];
    size_t reason_count;
};

/*
 * Reads all of it. Each refusal is said on errors as "path:line: 'text': reason" (NULL: not
 * said). An exit_code: 0; 1 when it cannot be read or memory ran out, 2 when the format
 * is none; said on stderr.
 */
int import_read(FILE *in, const char *path, enum import_format format,
                struct locus_eligibility *rules, FILE *errors, struct import *out);
void import_free(struct import *import);

#endif
