/* SPDX-License-Identifier: MIT */
/* A row of nfdump's, be it of CSV or JSON: one flow record, of one direction or of both. */
#ifndef LOCUS_SIM_READERS_NFDUMP_H
#define LOCUS_SIM_READERS_NFDUMP_H

#include "flows.h"

struct nfdump_row {
    struct endpoint from, to;
    uint8_t proto;
    uint64_t first_ns, last_ns;
    uint64_t bytes,
        reply_bytes; /* from -> to and back: bidirectional exports have both */
};

/* An object that is spread over lines, as far as it came. */
struct nfdump_json {
    char *text;
    size_t length, capacity;
};

/* Does the file begin like nfdump's JSON? */
bool nfdump_json_certain(struct slice head);
/* Takes a line of JSON. *full: it ended an object, which is in *row; otherwise it was one of
 * several lines, or bad. As a line hook returns. */
int nfdump_json_line(struct reader *reader, struct nfdump_json *json, struct slice line,
                     struct nfdump_row *row, bool *full);

#endif
