/* SPDX-License-Identifier: MIT */
/*
 * A script's lines: reading them, cutting them into words, reading words as what the
 * language knows, and saying what is wrong with them. Every reader here that returns false
 * has written a message "locus drive: FILE:LINE: ..." already.
 */
#ifndef LOCUS_SIM_DRIVE_SCRIPT_H
#define LOCUS_SIM_DRIVE_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <locus/locus.h>

enum {
    SCRIPT_LINE_BYTES = 4096, /* the longest line, without its newline */
    SCRIPT_WORDS = SCRIPT_LINE_BYTES / 2,
};

struct script {
    FILE *in;
    const char *name;
    FILE *out; /* flushed before a message, so that both come in order */
    FILE *err;
    uint64_t line;                    /* its number, from 1 */
    char raw[SCRIPT_LINE_BYTES + 1];  /* the line as read */
    char text[SCRIPT_LINE_BYTES + 1]; /* the same, cut into words */
    char *words[SCRIPT_WORDS];        /* words[0] is the event */
    size_t count;                     /* of words; at least 1 after script_next() */
};

/* Goes to the next line that holds an event. false: the end (*code 0), reading failed (1)
 * or the line is malformed (2). */
bool script_next(struct script *script, int *code);

/* "FILE:LINE: EVENT: " and the message; returns 2. */
int script_fail(const struct script *script, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* "FILE:LINE: EVENT: FIELD: expected EXPECTED, not 'word index'"; returns 2. */
int script_expected(const struct script *script, size_t index, const char *field,
                    const char *expected);

/* Digits only, no more than max. */
bool script_number(const struct script *script, size_t index, const char *field,
                   uint64_t max, uint64_t *out);
/* Digits, with or without a minus. A value too large for 64 bits becomes the nearest one that
 * fits: callers that check a range of their own refuse it there. */
bool script_integer(const struct script *script, size_t index, const char *field,
                    int64_t *out);
/* "S" or "S.frac", with at most nine digits of fraction. Seconds too large for 64 bits become
 * the largest value that fits. */
bool script_seconds(const struct script *script, size_t index, uint64_t *seconds,
                    uint32_t *nanoseconds);
/* "10.0.0.1" or the same as a number. */
bool script_ipv4(const struct script *script, size_t index, const char *field,
                 uint32_t *out);
/* "10.0.0.1:80" */
bool script_endpoint(const struct script *script, size_t index,
                     struct locus_address *out);
/* One of the names, which end with NULL, as its index. */
bool script_choice(const struct script *script, size_t index, const char *field,
                   const char *const *names, int *out);

#endif
