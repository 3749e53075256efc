/* SPDX-License-Identifier: MIT */
#include "rows.h"

#include <stdio.h>
#include <strings.h>

#include "../base/errors.h"

const struct row_name row_own_names[] = {
    {"time", ROW_TIME},          {"end", ROW_END},
    {"duration", ROW_DURATION},  {"dst", ROW_DST},
    {"host", ROW_HOST},          {"url", ROW_URL},
    {"object", ROW_OBJECT},      {"client", ROW_CLIENT},
    {"bytes", ROW_BYTES},        {"dst_port", ROW_DST_PORT},
    {"proto", ROW_PROTO},        {"client_port", ROW_CLIENT_PORT},
    {"time-col", ROW_TIME},      {"obj-id-col", ROW_OBJECT},
    {"obj-size-col", ROW_BYTES}, {NULL, ROW_COLUMNS},
};

void row_map_clear(struct row_map *map)
{
    memset(map, 0, sizeof(*map));
    memset(map->place, ROW_ABSENT, sizeof(map->place));
}

char row_guess_separator(struct slice line)
{
    static const char separators[] = "\t,;| ";
    size_t counts[sizeof(separators) - 1] = {0};
    size_t best = 0;

    for (size_t i = 0; i < line.length; i++) {
        const char *found =
            memchr(separators, line.text[i], sizeof(counts) / sizeof(*counts));
        if (found != NULL) {
            counts[found - separators]++;
        }
    }
    for (size_t i = 1; i < sizeof(counts) / sizeof(*counts); i++) {
        if (counts[i] > counts[best]) {
            best = i;
        }
    }
    return counts[best] > 0 ? separators[best] : ',';
}

size_t row_split(const struct row_map *map, struct slice line, struct slice *fields)
{
    if (map->separator == ' ') {
        return split_runs(line, fields, ROWS_WIDEST);
    }
    return split_quoted(line, map->separator, fields, ROWS_WIDEST);
}

static enum row_column find_column(struct slice name, const struct row_name *names)
{
    for (; names->name != NULL; names++) {
        if (strlen(names->name) == name.length &&
            strncasecmp(names->name, name.text, name.length) == 0) {
            return names->column;
        }
    }
    return ROW_COLUMNS;
}

size_t row_map_header(struct row_map *map, struct slice line,
                      const struct row_name *names)
{
    struct slice fields[ROWS_WIDEST];
    size_t known = 0;

    row_map_clear(map);
    map->separator = row_guess_separator(line);
    size_t width = row_split(map, line, fields);
    if (width > ROWS_WIDEST) {
        return 0;
    }
    for (size_t i = 0; i < width; i++) {
        enum row_column column = find_column(slice_trim(fields[i]), names);
        if (column != ROW_COLUMNS && !row_has(map, column)) {
            map->place[column] = (uint8_t)i;
            known++;
        }
    }
    map->width = map->most = width;
    return known;
}

static int bad_option(struct slice part, const char *expected)
{
    fprintf(stderr, "locus: --columns: expected %s, not '%.*s'; names are", expected,
            (int)part.length, part.text == NULL ? "" : part.text);
    for (const struct row_name *n = row_own_names; n->name != NULL; n++) {
        fprintf(stderr, " %s", n->name);
    }
    fprintf(stderr, " delimiter has-header\n");
    return EXIT_USAGE;
}

static bool set_delimiter(struct row_map *map, struct slice value)
{
    if (slice_equals(value, "\\t") || slice_equals(value, "tab")) {
        map->separator = '\t';
    } else if (value.length == 1) {
        map->separator = value.text[0];
    } else {
        return false;
    }
    return true;
}

/* One "name=value". */
static int set_part(struct row_map *map, struct slice part)
{
    struct slice value;
    struct slice name = slice_trim(slice_cut(part, '=', &value));
    uint64_t place;

    if (slice_equals(name, "has-header")) {
        return 0; /* it is recognised */
    }
    if (slice_equals(name, "delimiter")) {
        return set_delimiter(map, value) ? 0 : bad_option(part, "one character");
    }
    enum row_column column = find_column(name, row_own_names);
    if (column == ROW_COLUMNS) {
        return bad_option(part, "NAME=COLUMN");
    }
    if (!slice_u64(slice_trim(value), &place) || place < 1 || place > ROWS_WIDEST) {
        return bad_option(part, "a column from 1 to 128");
    }
    if (row_has(map, column)) {
        return bad_option(part, "each name once");
    }
    map->place[column] = (uint8_t)(place - 1);
    map->width = place > map->width ? (size_t)place : map->width;
    return 0;
}

int row_map_option(struct row_map *map, const char *option)
{
    struct slice rest = slice_of(option);

    row_map_clear(map);
    while (rest.text != NULL) {
        struct slice part = slice_cut(rest, ',', &rest);
        /* "delimiter=," is itself a separator here. */
        if (slice_equals(part, "delimiter=") && rest.text != NULL) {
            map->separator = ',';
            slice_cut(rest, ',', &rest);
            continue;
        }
        int status = set_part(map, part);
        if (status != 0) {
            return status;
        }
    }
    return 0;
}

void row_map_loosen(struct row_map *map)
{
    map->width = 0;
    for (size_t c = 0; c < ROW_COLUMNS; c++) {
        if (map->place[c] != ROW_ABSENT && map->place[c] >= map->width) {
            map->width = map->place[c] + 1u;
        }
    }
}

struct slice row_field(const struct row_map *map, const struct slice *fields,
                       enum row_column column)
{
    if (!row_has(map, column)) {
        return (struct slice){"", 0};
    }
    return slice_trim(fields[map->place[column]]);
}

int row_check_width(struct reader *reader, const struct row_map *map, size_t width,
                    struct slice line, int *status)
{
    if (width < map->width) {
        *status = reader_bad(reader, "row has too few columns", "columns",
                             map->most > 0 ? "as many as in the header"
                                           : "all that --columns names",
                             line);
        return -1;
    }
    if (width > ROWS_WIDEST || (map->most > 0 && width > map->most)) {
        *status = reader_bad(reader, "row has too many columns", "columns",
                             "as many as in the header", line);
        return -1;
    }
    return 0;
}
