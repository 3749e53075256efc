/* SPDX-License-Identifier: MIT */
/* What the csv format does, for formats that are it with other habits. */
#ifndef LOCUS_SIM_READERS_CSV_H
#define LOCUS_SIM_READERS_CSV_H

#include "rows.h"

struct csv_state {
    struct row_map map;
    const struct row_name *names; /* of columns in a header */
    bool by_option;               /* the map came from --columns */
    bool started;                 /* a line was seen */
    bool keyed;                   /* key is resolved */
    enum row_column key;
};

int csv_start(struct reader *reader);
int csv_line(struct reader *reader, struct slice line);

#endif
