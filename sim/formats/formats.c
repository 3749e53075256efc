/* SPDX-License-Identifier: MIT */
#include "formats.h"

#include <stdio.h>
#include <stdlib.h>

const struct format *const format_table[] = {
#define FORMAT(name) &format_##name,
#include "formats.def"
#undef FORMAT
    NULL,
};

const char *trace_format_name(size_t index, const char **about)
{
    for (size_t i = 0; format_table[i] != NULL; i++) {
        if (i == index) {
            if (about != NULL) {
                *about = format_table[i]->about;
            }
            return format_table[i]->name;
        }
    }
    return NULL;
}

const struct format *format_find(const char *name)
{
    for (size_t i = 0; format_table[i] != NULL; i++) {
        if (strcmp(format_table[i]->name, name) == 0) {
            return format_table[i];
        }
    }
    return NULL;
}

const struct format *format_find_written(const char *name)
{
    const struct format *format = format_find(name);

    return format != NULL && format->write.place > 0 ? format : NULL;
}

const struct format *format_next_written(const struct format *last)
{
    unsigned behind = last == NULL ? 0 : last->write.place;
    const struct format *next = NULL;

    for (size_t i = 0; format_table[i] != NULL; i++) {
        unsigned place = format_table[i]->write.place;
        if (place > behind && (next == NULL || place < next->write.place)) {
            next = format_table[i];
        }
    }
    return next;
}

/* The next whole line of a file's beginning. A last line that may be cut counts only when
 * the beginning is all there is. */
static bool next_line(struct slice *head, bool whole, struct slice *line)
{
    const char *end = head->length == 0 ? NULL : memchr(head->text, '\n', head->length);

    if (head->length == 0 || (end == NULL && !whole)) {
        return false;
    }
    size_t length = end != NULL ? (size_t)(end - head->text) : head->length;
    *line = (struct slice){head->text, length};
    if (length > 0 && line->text[length - 1] == '\r') {
        line->length--;
    }
    length += end != NULL;
    head->text += length;
    head->length -= length;
    return true;
}

/* Records understood in the first lines. */
static unsigned probe_lines(struct reader *reader, struct slice head, bool whole)
{
    enum { LINES = 200 };
    struct slice line;

    for (int i = 0; i < LINES && next_line(&head, whole, &line); i++) {
        reader->line_number++;
        reader->line_ended = true;
        if (line.length > 0 && reader->format->line(reader, line) != 0) {
            return 0;
        }
    }
    return (unsigned)reader->seen;
}

static unsigned probe(const struct format *format, const struct trace_options *options,
                      struct slice head, bool whole)
{
    struct reader reader = {.format = format, .options = options, .key = format->key};
    unsigned understood = 0;

    if (format->probe == NULL && format->line == NULL) { /* known by certain() alone */
        return 0;
    }
    reader.state = calloc(1, format->state_size + 1);
    if (reader.state == NULL) {
        fprintf(stderr, "locus: out of memory\n");
        return 0;
    }
    if (format->start == NULL || format->start(&reader) == 0) {
        understood = format->probe != NULL ? format->probe(&reader, head, whole)
                                           : probe_lines(&reader, head, whole);
    }
    if (format->stop != NULL) {
        format->stop(&reader);
    }
    free(reader.state);
    return understood;
}

const struct format *format_detect(const struct trace_options *options,
                                   struct slice head, bool whole)
{
    const struct format *best = NULL;
    unsigned best_understood = 0;

    for (size_t i = 0; format_table[i] != NULL; i++) {
        const struct format *format = format_table[i];
        if (format->certain != NULL && format->certain(head)) {
            return format;
        }
        unsigned understood = probe(format, options, head, whole);
        if (understood > best_understood) {
            best = format;
            best_understood = understood;
        }
    }
    return best;
}
