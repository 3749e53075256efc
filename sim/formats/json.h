/* SPDX-License-Identifier: MIT */
/* Lines of JSON: what readers of them share. */
#ifndef LOCUS_SIM_READERS_JSON_H
#define LOCUS_SIM_READERS_JSON_H

#include <jansson.h>

#include "reader.h"

/* The object on this line; NULL after reader_bad(), whose result goes to *status. */
json_t *json_line(struct reader *reader, struct slice line, int *status);
/* A string member as a slice, borrowed from object; empty when absent or something else. */
struct slice json_slice(const json_t *object, const char *key);
/* Seconds since 1970 as a number (rounded to the microsecond, all that a double holds), or an
 * ISO time or number as a string. */
bool json_time(const json_t *value, uint64_t *out_ns);
/* Seconds, 0 or more, to the nanosecond. */
bool json_seconds(const json_t *value, uint64_t *out_ns);
/* A whole number, 0 or more. */
bool json_u64(const json_t *value, uint64_t *out);
bool json_port(const json_t *value, uint16_t *out);
/* Any scalar as text, for messages. */
struct slice json_show(const json_t *value, char *buffer, size_t size);

#endif
