/* SPDX-License-Identifier: MIT */
/*
 * Rows of separated columns: which column means what, from a header line or from --columns,
 * and one record from one row. What csv, libcachesim, nfdump and binetflow share.
 */
#ifndef LOCUS_SIM_READERS_ROWS_H
#define LOCUS_SIM_READERS_ROWS_H

#include "reader.h"

enum row_column {
    ROW_TIME,
    ROW_END,
    ROW_DURATION,
    ROW_DST,
    ROW_HOST,
    ROW_URL,
    ROW_OBJECT,
    ROW_CLIENT,
    ROW_BYTES,
    ROW_DST_PORT,
    ROW_CLIENT_PORT,
    ROW_PROTO,
    ROW_COLUMNS,
};

enum { ROWS_WIDEST = 128, ROW_ABSENT = ROWS_WIDEST };

/* A column's name in a header, compared without regard to case. */
struct row_name {
    const char *name; /* NULL ends the list */
    enum row_column column;
};

struct row_map {
    char separator;
    size_t width; /* columns that a row must have (0: no map yet) */
    size_t most;  /* ... and may have: as many as the header; 0: any number */
    uint8_t place[ROW_COLUMNS];
};

/* How columns are called in --columns. */
extern const struct row_name row_own_names[];

void row_map_clear(struct row_map *map);
static inline bool row_has(const struct row_map *map, enum row_column column)
{
    return map->place[column] != ROW_ABSENT;
}
/* The separator that parts this line most often: tab, comma, semicolon, bar, blank. */
char row_guess_separator(struct slice line);
size_t row_split(const struct row_map *map, struct slice line, struct slice *fields);
/* Places the names that the line holds; how many columns became known. The first of several
 * with one meaning is taken. */
size_t row_map_header(struct row_map *map, struct slice line,
                      const struct row_name *names);
/* "time=1,dst=2,...": columns from 1; also libCacheSim's spelling "time-col=2,
 * obj-id-col=5, obj-size-col=4, delimiter=;, has-header=true". 0, or EXIT_USAGE after a
 * message. */
int row_map_option(struct row_map *map, const char *option);
/* A row may then lack columns at its end that mean nothing here. */
void row_map_loosen(struct row_map *map);
/* The column's text; empty when the map lacks it. */
struct slice row_field(const struct row_map *map, const struct slice *fields,
                       enum row_column column);
/* 0 when the row has the columns of the map; otherwise -1 and *status as reader_bad(). */
int row_check_width(struct reader *reader, const struct row_map *map, size_t width,
                    struct slice line, int *status);

#endif
