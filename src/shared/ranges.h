/* SPDX-License-Identifier: MIT */
/*
 * Addresses, ranges of them, and which of them are public. An address always has 128 bits: an
 * IPv4 one is ::ffff:a.b.c.d.
 */
#ifndef LOCUS_SHARED_RANGES_H
#define LOCUS_SHARED_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct range {
    uint8_t base[16];
    unsigned prefix; /* an IPv4 range's own, plus 96 */
};

bool locus_address_read(const char *text, uint8_t out[16]);
/* In its canonical form, IPv6 in brackets. */
void locus_address_write(const uint8_t address[16], char *out, size_t size);
/* The IPv4 address that an IPv6 one carries to a translator or tunnel: 64:ff9b::/96 and
 * 2002::/16. The mapped ones, ::ffff:0:0/96, are IPv4 here anyway. */
bool locus_address_carries(const uint8_t address[16], uint8_t out[16]);
/* A reason (static text); NULL: the address is a public one. */
const char *locus_address_not_public(const uint8_t address[16]);

/* "10.0.0.0/8", or an address alone. Bits behind the prefix must be zero: "10.1.2.3/8" is
 * more likely a slip than a wish. */
bool locus_range_read(const char *text, size_t length, struct range *out);
bool locus_range_contains(const struct range *range, const uint8_t address[16]);

#endif
