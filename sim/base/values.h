/* SPDX-License-Identifier: MIT */
/* Numbers, sizes and times as people write them. */
#ifndef LOCUS_SIM_VALUES_H
#define LOCUS_SIM_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NS_PER_S UINT64_C(1000000000)

/* UINT64_MAX where the sum does not fit. */
static inline uint64_t add_capped(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Strict readers, of a whole string of that length; false when it is anything else. */
bool read_number(const char *text, size_t length, uint64_t *out);
bool read_bytes(const char *text, size_t length, uint64_t *out);
bool read_duration_ns(const char *text, size_t length, uint64_t *out);
/* The other way, exactly: in the largest unit that leaves a whole number, "90m". */
enum { DURATION_TEXT = 32 };
const char *duration_text(uint64_t ns, char out[DURATION_TEXT]);
/* Decimal with at most digits fraction digits, as an integer scaled by 10^digits; further
 * digits are read and cut. "1.25" with 3 is 1250. No exponent. */
bool read_decimal(const char *text, size_t length, unsigned digits, uint64_t *out);

#endif
