/* SPDX-License-Identifier: MIT */
#include "choose.h"

#include <stdio.h>

#include "../base/errors.h"
#include "../formats/formats.h"
#include "../formats/rows.h"

static int unknown_name(const char *name)
{
    fprintf(stderr, "locus: no trace format '%s'; there are", name);
    const char *known;
    for (size_t i = 0; (known = trace_format_name(i, NULL)) != NULL; i++) {
        fprintf(stderr, "%s %s", i == 0 ? "" : ",", known);
    }
    fprintf(stderr, "\n");
    return EXIT_USAGE;
}

int choose_key(struct reader *reader)
{
    enum trace_key key = reader->options->key;

    reader->key = key == KEY_AUTO ? reader->format->key : key;
    if (reader->format->keys & 1u << reader->key) {
        return 0;
    }
    fprintf(stderr, "locus: %s: %s has no %s to stand for the destination; it has",
            input_name(reader->input), reader->format->name, reader_key_name(key));
    for (unsigned k = KEY_DST; k <= KEY_OBJECT; k++) {
        if (reader->format->keys & 1u << k) {
            fprintf(stderr, " %s", reader_key_name(k));
        }
    }
    fprintf(stderr, "\n");
    return EXIT_USAGE;
}

int choose_format(const struct trace_options *options, struct input *input,
                  const struct format **out)
{
    struct slice head;

    *out = NULL;
    if (options->format != NULL) {
        *out = format_find(options->format);
        return *out != NULL ? 0 : unknown_name(options->format);
    }
    if (options->columns != NULL) { /* once, not by every format that tries */
        struct row_map map;
        int status = row_map_option(&map, options->columns);
        if (status != 0) {
            return status;
        }
    }
    if (!input_head(input, &head)) {
        return EXIT_RUNTIME;
    }
    if (head.length == 0) {
        return 0;
    }
    *out = format_detect(options, head, head.length < INPUT_HEAD);
    if (*out != NULL) {
        return 0;
    }
    char shown[64];
    struct slice rest;
    slice_show(slice_cut(head, '\n', &rest), shown, sizeof(shown));
    fprintf(stderr,
            "locus: %s: of no known format; it begins '%s'. --format names one\n",
            input_name(input), shown);
    return EXIT_USAGE;
}
