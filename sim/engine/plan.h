/* SPDX-License-Identifier: MIT */
/*
 * When connections end does not depend on who serves them, so that it is worked out once for
 * all policies: every arrival gets a slot, which is its own until it departs, and with a
 * batch of arrivals come the departures up to its last one, in order.
 *
 *     plan_batch(&plan, batch)     for each batch of arrivals
 *     plan_rest(&plan, batch)      what departs after the last of them, until that is none
 */
#ifndef LOCUS_SIM_PLAN_H
#define LOCUS_SIM_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/departures.h"
#include "arrival.h"

/* UINT64_MAX is "never"; the last moment there is comes just before it. */
static inline uint64_t add_time(uint64_t a, uint64_t b)
{
    uint64_t sum;

    return __builtin_add_overflow(a, b, &sum) || sum == UINT64_MAX ? UINT64_MAX - 1
                                                                   : sum;
}

/* One departure, the FIN of a TCP connection or the end of a UDP flow, in a struct timed. */
static inline uint32_t departure_slot(const struct timed *d)
{
    return (uint32_t)d->what >> 1;
}

static inline bool departure_is_udp(const struct timed *d)
{
    return d->what & 1;
}

/* How many of the batch's arrivals come before it whatever their times, since it may be due
 * at the time of its own. */
static inline uint32_t departure_after(const struct timed *d)
{
    return (uint32_t)(d->what >> 32);
}

struct arrival_batch {
    struct arrival *arrivals;
    size_t count;
    struct timed *departures; /* by time */
    size_t departure_count, departure_capacity;
    uint32_t slot_count; /* slots are below it */
};

struct plan {
    struct departures queue; /* those after the batch; payload: 2 * slot + is UDP */
    struct timed *spare;     /* as large as the departures of the batch */
    size_t spare_capacity;
    uint32_t *idle; /* slots that are free again */
    uint32_t idle_count, slot_count, slot_capacity;
    uint64_t tcp_ns, udp_ns; /* how long one counts after its FIN or last packet */
};

void plan_init(struct plan *plan, uint64_t tcp_ns, uint64_t udp_ns);
void plan_fini(struct plan *plan);
/* Gives batch->arrivals their slots and makes batch->departures, which the caller frees.
 * LOCUS_OK or LOCUS_ENOMEM. */
int plan_batch(struct plan *plan, struct arrival_batch *batch);
/* The same with no arrivals and some of the departures that are left, so that memory is that
 * of a batch; without departures when there are none. */
int plan_rest(struct plan *plan, struct arrival_batch *batch);

#endif
