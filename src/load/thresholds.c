/* SPDX-License-Identifier: MIT */
#include "thresholds.h"

static uint32_t lower_in_force(const struct identity *identity)
{
    return identity->lower != 0 ? identity->lower
                                : identity->upper - (identity->upper >> 2);
}

void locus_threshold_bound(const struct locus_service *svc, struct server *s,
                           uint32_t upper)
{
    if (svc->rules.threshold == LOCUS_THRESHOLD_EDGE) {
        s->overloaded |= server_total(s) == upper;
    } else if (svc->rules.threshold == LOCUS_THRESHOLD_CLASSIC) {
        s->overloaded |= server_total(s) >= upper;
    }
}

void locus_threshold_unbound(const struct locus_service *svc, struct server *s,
                             const struct identity *identity)
{
    bool below;

    if (svc->rules.threshold == LOCUS_THRESHOLD_EDGE) {
        below = server_total(s) + 1 == lower_in_force(identity);
    } else if (identity->lower != 0) {
        below = server_total(s) < identity->lower;
    } else {
        below = (uint64_t)server_total(s) * 4 < (uint64_t)identity->upper * 3;
    }
    s->overloaded = s->overloaded && !below;
}

void locus_threshold_edited(const struct locus_service *svc, uint32_t slot,
                            uint32_t upper, uint32_t lower)
{
    struct server *s = &svc->servers[slot];
    struct identity *identity = svc->identities[slot];
    uint32_t upper_before = identity->upper;
    bool changed = upper != upper_before || lower != identity->lower;

    identity->upper = upper;
    identity->lower = lower;
    if (svc->rules.threshold == LOCUS_THRESHOLD_CLASSIC) {
        s->overloaded = s->overloaded && upper != 0 && upper <= upper_before;
        return;
    }
    if (!changed) {
        return;
    }
    if (upper == 0 || server_total(s) < lower_in_force(identity)) {
        s->overloaded = false;
    }
    if (upper != 0 && server_total(s) >= upper) {
        s->overloaded = true;
    }
}
