/* SPDX-License-Identifier: MIT */
/*
 * Bytes in: a file or stdin, compressed or not (gz, xz, zstd, bz2), as one stream of plain
 * bytes in a large buffer, from which lines are handed out in place.
 */
#ifndef LOCUS_SIM_INPUT_H
#define LOCUS_SIM_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/slice.h"

struct input;

enum { INPUT_LINE_MAX = 1 << 20, INPUT_HEAD = 1 << 16 };

/* "-" is stdin. NULL after a message on stderr. */
struct input *input_open(const char *path);
void input_close(struct input *input);

/* The first bytes (up to INPUT_HEAD) without taking them; only before anything is taken.
 * False after a message on stderr. */
bool input_head(struct input *input, struct slice *head);

enum input_status { INPUT_OK, INPUT_END, INPUT_LONG, INPUT_ERROR };
/*
 * The next line without its end (LF or CR LF), borrowed until the next call. INPUT_LONG: the
 * line was longer than INPUT_LINE_MAX and is skipped; *line is empty. INPUT_ERROR after a
 * message on stderr.
 */
enum input_status input_line(struct input *input, struct slice *line);
/* False when the line just given was the last and had no line end: it may be cut. */
bool input_line_ended(const struct input *input);
/* Of the line just given, from 1. */
uint64_t input_line_number(const struct input *input);

/* Exactly size bytes into to; INPUT_LONG when the input ends within them, INPUT_END when
 * before them. */
enum input_status input_bytes(struct input *input, void *to, size_t size);

/* Up to size bytes, as many as there are; *got is 0 at the end. INPUT_OK or INPUT_ERROR. */
enum input_status input_some(struct input *input, void *to, size_t size, size_t *got);

/* "stdin" or the path as given. */
const char *input_name(const struct input *input);
/* Bytes of the file (compressed as they are) read so far, and in all (0: not known). */
uint64_t input_done_bytes(const struct input *input);
uint64_t input_total_bytes(const struct input *input);
#endif
