/* SPDX-License-Identifier: MIT */
/*
 * A queue of things that will happen, by time: a radix queue. Time only moves forward, so an
 * entry is kept by the highest six-bit digit in which its time differs from the queue's own
 * clock ("level") and by the value of that digit ("slot"); as the clock comes near, entries
 * move to lower levels, but one alone in its slot stays where it is. Push and pop touch no
 * more than a list head and a bitmap, however many entries there are.
 *
 * Invariants: base_ns <= at_ns of every entry; an entry at level l agrees with base_ns in all
 * digits above l; nothing departs before bound_ns.
 */
#ifndef LOCUS_SIM_DEPARTURES_H
#define LOCUS_SIM_DEPARTURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "radix.h"

enum {
    DEPARTURE_BITS = 6,
    DEPARTURE_SLOTS = 1 << DEPARTURE_BITS,
    DEPARTURE_LEVELS = 11
};

struct departure {
    uint64_t at_ns;
    uint32_t payload;
    uint32_t next; /* in its slot's list, or in the free list */
};

struct departures {
    uint64_t base_ns;
    uint64_t bound_ns;               /* UINT64_MAX: empty */
    uint64_t used[DEPARTURE_LEVELS]; /* bit s: something in slot s */
    uint32_t head[DEPARTURE_LEVELS][DEPARTURE_SLOTS];
    uint32_t levels; /* bit l: something at level l */
    uint32_t free;
    struct departure *nodes;
    uint32_t capacity;
    uint32_t count;
};

void departures_init(struct departures *queue);
void departures_fini(struct departures *queue);
/* A time before the last one popped counts as that one. LOCUS_OK or LOCUS_ENOMEM. */
int departures_push(struct departures *queue, uint64_t at_ns, uint32_t payload);
/* Takes the earliest entry if its time is <= now_ns (which must not step back). Entries of
 * equal time come in no particular order, but always in the same one. */
bool departures_pop(struct departures *queue, uint64_t now_ns, struct departure *out);
/* Takes some of the entries whose time is <= now_ns, in no particular order, as many as there
 * is room for; 0 when there are none. For those who sort them themselves. */
size_t departures_take(struct departures *queue, uint64_t now_ns, struct timed *out,
                       size_t room);

#endif
