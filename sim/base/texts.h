/* SPDX-License-Identifier: MIT */
/* Numbers as people read them. */
#ifndef LOCUS_SIM_TEXTS_H
#define LOCUS_SIM_TEXTS_H

#include <stdint.h>

/* "59m13s", "1.5MiB", "12,345". They write into text and return it. */
enum { TEXT_SIZE = 32 };
const char *text_time(uint64_t ms, char text[TEXT_SIZE]);
const char *text_bytes(uint64_t bytes, char text[TEXT_SIZE]);
const char *text_count(uint64_t count, char text[TEXT_SIZE]);
/* "99.9%"; "100.0%" only when it really is all. And "1.25". */
const char *text_share(uint64_t ppm, char text[TEXT_SIZE]);
const char *text_ratio(uint64_t ppm, char text[TEXT_SIZE]);

#endif
