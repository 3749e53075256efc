/* SPDX-License-Identifier: MIT */
/* The parts of a line of the Common Log Format, for all formats that begin like it. */
#ifndef LOCUS_SIM_READERS_WEBLOG_H
#define LOCUS_SIM_READERS_WEBLOG_H

#include "reader.h"

struct weblog_parts {
    struct slice client;  /* the first word */
    uint64_t stamp_ns;    /* what stands in brackets */
    struct slice request; /* what stands in the first quotes, as it is */
    struct slice rest;    /* behind those quotes */
};

/* True when the line has them; otherwise *status is what reader_bad() gave. */
bool weblog_parts(struct reader *reader, struct slice line, struct weblog_parts *out,
                  int *status);
/* The URL of "METHOD URL" or "METHOD URL HTTP/1.1"; false when it is no request line. */
bool weblog_url(struct slice request, struct slice *url);
/* The client into the record; false when it is neither an address nor can be a name. */
bool weblog_client(struct reader *reader, struct record *record, struct slice client);
/* The destination by the reader's key, KEY_URL, KEY_HOST or KEY_CLIENT. True, or *status. */
bool weblog_destination(struct reader *reader, struct record *record,
                        struct slice request, int *status);
/* What stands between the next two quotes of *rest, which moves behind them. */
bool weblog_quoted(struct slice *rest, struct slice *out);

#endif
