/* SPDX-License-Identifier: MIT */
#include "slice.h"

#include <endian.h>
#include <stdio.h>

bool slice_starts(struct slice s, const char *prefix)
{
    size_t length = strlen(prefix);

    return s.length >= length && memcmp(s.text, prefix, length) == 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

struct slice slice_trim(struct slice s)
{
    while (s.length > 0 && is_blank(s.text[0])) {
        s.text++;
        s.length--;
    }
    while (s.length > 0 && is_blank(s.text[s.length - 1])) {
        s.length--;
    }
    return s;
}

struct slice slice_cut(struct slice s, char separator, struct slice *rest)
{
    const char *at = s.length == 0 ? NULL : memchr(s.text, separator, s.length);

    if (at == NULL) {
        *rest = (struct slice){NULL, 0};
        return s;
    }
    size_t left = (size_t)(at - s.text);
    *rest = (struct slice){at + 1, s.length - left - 1};
    return (struct slice){s.text, left};
}

#define EACH_BYTE(value) (0x0101010101010101ull * (uint8_t)(value))

/* Eight bytes, the first in the lowest place. */
static uint64_t load_word(const char *text)
{
    uint64_t word;

    memcpy(&word, text, sizeof(word));
    return le64toh(word);
}

/* Bytes of word that equal the byte repeated in pattern, as 0x80 each. Exact: no borrow
 * runs from one byte into the next. */
static uint64_t equal_bytes(uint64_t word, uint64_t pattern)
{
    const uint64_t low7 = EACH_BYTE(0x7f);
    uint64_t x = word ^ pattern;

    return ~(((x & low7) + low7) | x | low7);
}

/* Bytes of word that are greater than limit (below 0x80), as 0x80 each. */
static uint64_t greater_bytes(uint64_t word, uint8_t limit)
{
    uint64_t low = (word & EACH_BYTE(0x7f)) + EACH_BYTE(0x7f - limit);

    return (low | word) & EACH_BYTE(0x80);
}

/* Which of eight bytes is marked first. */
static size_t first_byte(uint64_t marks)
{
    return (size_t)__builtin_ctzll(marks) >> 3;
}

/* What is gathered while a line is split. */
struct split {
    struct slice *fields;
    size_t capacity, count;
    const char *start; /* behind the last separator */
};

/* A separator, or the end of the line, stands there. */
static inline void end_field(struct split *split, const char *at)
{
    if (split->count < split->capacity) {
        split->fields[split->count] =
            (struct slice){split->start, (size_t)(at - split->start)};
    }
    split->count++;
    split->start = at + 1;
}

/* Fields of a log are short, so that a memchr() for each costs more than this: eight bytes
 * at a time, one step per separator found. */
size_t split_each(struct slice line, char separator, struct slice *fields,
                  size_t capacity)
{
    const uint64_t pattern = EACH_BYTE(separator);
    const char *at = line.text, *end = line.text + line.length;
    struct split split = {fields, capacity, 0, line.text};

    for (; end - at >= 8; at += 8) {
        uint64_t hits = equal_bytes(load_word(at), pattern);
        for (; hits != 0; hits &= hits - 1) {
            end_field(&split, at + first_byte(hits));
        }
    }
    for (; at < end; at++) {
        if (*at == separator) {
            end_field(&split, at);
        }
    }
    end_field(&split, end);
    return split.count;
}

/* A blank, or the end of the line, stands there. */
static inline void end_run(struct split *split, const char *at)
{
    if (at > split->start) {
        end_field(split, at);
    } else {
        split->start = at + 1;
    }
}

size_t split_runs(struct slice line, struct slice *fields, size_t capacity)
{
    struct split split = {fields, capacity, 0, line.text};
    size_t at = 0;

    for (; at + 8 <= line.length; at += 8) {
        /* Blanks are the only common ones among the bytes up to 0x20. */
        uint64_t low = ~greater_bytes(load_word(line.text + at), ' ') & EACH_BYTE(0x80);
        for (; low != 0; low &= low - 1) {
            const char *hit = line.text + at + first_byte(low);
            if (is_blank(*hit)) {
                end_run(&split, hit);
            }
        }
    }
    for (; at < line.length; at++) {
        if (is_blank(line.text[at])) {
            end_run(&split, line.text + at);
        }
    }
    end_run(&split, line.text + line.length);
    return split.count;
}

size_t plain_length(struct slice s)
{
    size_t at = 0;

    for (; at + 8 <= s.length; at += 8) {
        uint64_t word = load_word(s.text + at);
        uint64_t other = equal_bytes(word, EACH_BYTE('"')) |
                         equal_bytes(word, EACH_BYTE('\\')) | greater_bytes(word, '~') |
                         (~greater_bytes(word, ' ' - 1) & EACH_BYTE(0x80));
        if (other != 0) {
            return at + first_byte(other);
        }
    }
    while (at < s.length && s.text[at] >= ' ' && s.text[at] <= '~' &&
           s.text[at] != '"' && s.text[at] != '\\') {
        at++;
    }
    return at;
}

/* Where the field that begins with a quote ends: at the quote, or at the end of line. */
static size_t quoted_end(struct slice line, size_t at)
{
    for (; at < line.length; at++) {
        if (line.text[at] != '"') {
            continue;
        }
        if (at + 1 < line.length && line.text[at + 1] == '"') {
            at++;
            continue;
        }
        return at;
    }
    return line.length;
}

size_t split_quoted(struct slice line, char separator, struct slice *fields,
                    size_t capacity)
{
    size_t count = 0;
    size_t at = 0;

    if (line.length == 0 || memchr(line.text, '"', line.length) == NULL) {
        return split_each(line, separator, fields, capacity);
    }
    for (;;) {
        size_t start = at;
        size_t end;
        if (at < line.length && line.text[at] == '"') {
            start = at + 1;
            end = quoted_end(line, start);
            at = end < line.length ? end + 1 : end;
        } else {
            end = 0;
        }
        while (at < line.length && line.text[at] != separator) {
            at++;
        }
        if (end == 0) {
            end = at;
        }
        if (count < capacity) {
            fields[count] = (struct slice){line.text + start, end - start};
        }
        count++;
        if (at == line.length) {
            return count;
        }
        at++;
    }
}

void slice_show(struct slice s, char *out, size_t size)
{
    size_t used = 0;

    if (size == 0) {
        return;
    }
    for (size_t i = 0; i < s.length; i++) {
        unsigned char c = (unsigned char)s.text[i];
        bool plain = c >= 0x20 && c < 0x7f;
        if (used + (plain ? 1 : 4) + 4 > size) {
            snprintf(out + used, size - used, "...");
            return;
        }
        if (plain) {
            out[used++] = (char)c;
        } else {
            used += (size_t)snprintf(out + used, size - used, "\\x%02x", c);
        }
    }
    out[used] = '\0';
}
