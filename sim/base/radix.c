/* SPDX-License-Identifier: MIT */
#include "radix.h"

/* One counting pass over the byte at shift. */
static void pass(const struct timed *from, struct timed *to, size_t count,
                 unsigned shift)
{
    size_t counts[256] = {0};
    size_t sum = 0;

    for (size_t i = 0; i < count; i++) {
        counts[from[i].at_ns >> shift & 255]++;
    }
    for (size_t digit = 0; digit < 256; digit++) {
        size_t place = sum;
        sum += counts[digit];
        counts[digit] = place;
    }
    for (size_t i = 0; i < count; i++) {
        to[counts[from[i].at_ns >> shift & 255]++] = from[i];
    }
}

struct timed *radix_sort(struct timed *items, struct timed *spare, size_t count)
{
    uint64_t differ = 0;

    for (size_t i = 1; i < count; i++) {
        differ |= items[i].at_ns ^ items[0].at_ns;
    }
    for (unsigned shift = 0; shift < 64; shift += 8) {
        if ((differ >> shift & 255) != 0) {
            pass(items, spare, count, shift);
            struct timed *swap = items;
            items = spare;
            spare = swap;
        }
    }
    return items;
}
