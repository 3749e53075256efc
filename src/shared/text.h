/* SPDX-License-Identifier: MIT */
/* What texts from outside must be, names and small numbers, and the answer when they are not. */
#ifndef LOCUS_SHARED_TEXT_H
#define LOCUS_SHARED_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static inline bool text_is_control(char c)
{
    return (unsigned char)c < ' ' || c == 127;
}

static inline char text_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

/* 1 to max bytes, none of them a control character or one of refused. NULL is none. */
static inline bool text_is_name(const char *text, size_t max, const char *refused)
{
    size_t length = text != NULL ? strnlen(text, max + 1) : 0;

    if (length == 0 || length > max || text[strcspn(text, refused)] != '\0') {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (text_is_control(text[i])) {
            return false;
        }
    }
    return true;
}

/* A whole number up to max, at most 99999, in plain decimal of up to five digits. */
static inline bool text_is_number(const char *text, size_t length, unsigned max,
                                  unsigned *out)
{
    unsigned value = 0;

    if (length == 0 || length > 5) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
        value = value * 10 + (unsigned)(text[i] - '0');
    }
    *out = value;
    return value <= max;
}

/* Writes the reason, cut to size (0: not at all); passes the status on. */
static inline int text_refuse(char *error, size_t size, int status, const char *reason)
{
    snprintf(error, size, "%s", reason);
    return status;
}

#endif
