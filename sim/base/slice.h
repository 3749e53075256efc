/* SPDX-License-Identifier: MIT */
/* Pieces of text. A slice is borrowed text without a NUL; nothing here allocates. */
#ifndef LOCUS_SIM_SLICE_H
#define LOCUS_SIM_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct slice {
    const char *text;
    size_t length;
};

static inline struct slice slice_of(const char *text)
{
    return (struct slice){text, strlen(text)};
}

static inline bool slice_equals(struct slice s, const char *text)
{
    return s.length == strlen(text) && memcmp(s.text, text, s.length) == 0;
}

static inline bool slice_is_dash(struct slice s)
{
    return s.length == 1 && s.text[0] == '-';
}

bool slice_starts(struct slice s, const char *prefix);
struct slice slice_trim(struct slice s); /* without blanks and tabs at both ends */
/* What is left of the first separator; *rest what is right of it. Without a separator the
 * whole, and *rest is empty with a text of NULL. */
struct slice slice_cut(struct slice s, char separator, struct slice *rest);

/* Splits at every separator; fields beyond capacity are counted, not stored. Returns how
 * many there are: at least 1. */
size_t split_each(struct slice line, char separator, struct slice *fields,
                  size_t capacity);
/* Splits at runs of blanks and tabs, none at the ends; 0 for a blank line. */
size_t split_runs(struct slice line, struct slice *fields, size_t capacity);
/* Splits as CSV: a field that begins with a quote ends at the next lone quote and may hold
 * separators; the quotes are not part of it, doubled quotes inside stay doubled. */
size_t split_quoted(struct slice line, char separator, struct slice *fields,
                    size_t capacity);

/* How much of it, from its beginning, stands for itself between quotes: printable ASCII, no
 * quote, no backslash. */
size_t plain_length(struct slice s);

/* Text for messages: what is not plain ASCII as \xNN, cut with "..." to fit size. */
void slice_show(struct slice s, char *out, size_t size);

#endif
