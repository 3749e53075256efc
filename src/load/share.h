/* SPDX-License-Identifier: MIT */
/*
 * The share of its weight that a server counts with: all of it, unless the rules ask for a
 * slow start.
 *
 * Weights are small numbers, often 1, so that shares are counted in 1/256 of weight 1, and all
 * divisors with them while the rules ask for slow start. The highest weights would then
 * leave 32 bits; divisors are shares shifted down by as much as the highest weight needs.
 */
#ifndef LOCUS_SHARE_H
#define LOCUS_SHARE_H

#include "../state/core.h"

enum { SHARE_BITS = 8 }; /* of a weight's fraction */

static inline uint64_t share_of_weight(uint32_t weight)
{
    return (uint64_t)weight << SHARE_BITS;
}

/* What the loads of a server that may be picked are divided by, if weights count. */
static inline uint32_t share_divisor(const struct locus_service *svc, uint32_t slot)
{
    if (svc->slow.window == 0) {
        return svc->servers[slot].weight;
    }
    uint64_t divisor = svc->identities[slot]->ramp.share >> svc->slow.shift;
    return divisor > 0 ? (uint32_t)divisor : 1;
}

/* The part of a server's capacity that its share is of its weight, rounded, at least 1: others
 * are not to spill to a server which is not to have their connections yet. */
static inline uint32_t share_capacity(const struct locus_service *svc, uint32_t slot)
{
    const struct server *s = &svc->servers[slot];
    uint32_t whole = server_capacity(svc, s);

    if (svc->slow.window == 0 || s->weight == 0) {
        return whole;
    }
    /* In 65,536ths, which all of it is exactly. */
    uint64_t share = svc->identities[slot]->ramp.share;
    uint64_t part = ((share << SHARE_BITS) + s->weight / 2) / s->weight;
    uint64_t capacity = (whole * part + (1 << 15)) >> 16;
    return capacity > 0 ? (uint32_t)capacity : 1;
}

/* No divisor is higher. */
static inline uint32_t share_divisor_max(const struct locus_service *svc)
{
    return svc->slow.window == 0
               ? svc->weight_max
               : (uint32_t)(share_of_weight(svc->weight_max) >> svc->slow.shift);
}

#endif
