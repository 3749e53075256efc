/* SPDX-License-Identifier: MIT */
/*
 * What is asked about a server's load: whether it is smaller than another's, and whether it is
 * more than the server should have. Never a division, never a rounding.
 */
#ifndef LOCUS_LOAD_H
#define LOCUS_LOAD_H

#include "../state/core.h"

/* a * b < c * d, for any of them: 96 bits where 64 do not suffice. */
static inline bool product_less(uint64_t a, uint32_t b, uint64_t c, uint32_t d)
{
    uint64_t low_ab = (a & UINT32_MAX) * b, low_cd = (c & UINT32_MAX) * d;
    uint64_t high_ab = (a >> 32) * b + (low_ab >> 32);
    uint64_t high_cd = (c >> 32) * d + (low_cd >> 32);

    return high_ab != high_cd ? high_ab < high_cd : (uint32_t)low_ab < (uint32_t)low_cd;
}

/* Whether a's load is smaller than b's; both may be picked. */
static inline bool load_less(const struct server *a, const struct server *b)
{
    return product_less(a->load.cost, b->load.divisor, b->load.cost, a->load.divisor);
}

/* The same of cost over configured weight, for comparisons among set members that ask
 * neither for thresholds nor for service. Weights are not 0. */
static inline bool load_less_by_weight(const struct server *a, const struct server *b)
{
    return product_less(a->load.cost, b->weight, b->load.cost, a->weight);
}

/* LBLC's reason to leave a server: it is above its capacity while another is under half. */
static inline bool should_spill(const struct locus_service *svc, const struct server *s)
{
    return svc->under_half > 0 && s->spill_load > server_capacity(svc, s);
}

/* A server may be picked and does not spill. Where servers have room the first question
 * settles it, where all of them are above their capacity the second; so that both are
 * predicted. */
static inline bool serves_easily(const struct locus_service *svc,
                                 const struct server *s)
{
    return LIKELY((int32_t)s->spill_load <= s->limit) ||
           (svc->under_half == 0 && s->load.divisor != 0);
}

#endif
