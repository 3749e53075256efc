/* SPDX-License-Identifier: MIT */
#include "derived.h"

#include "select.h"
#include "share.h"

static uint32_t half_of(const struct locus_service *svc, uint32_t slot)
{
    const struct server *s = &svc->servers[slot];
    bool counted = s->state == SERVER_IN_SERVICE &&
                   (!svc->rules.spill_eligible_only || s->load.divisor != 0);
    uint32_t capacity = counted ? share_capacity(svc, slot) : 0;

    return capacity / 2 + capacity % 2;
}

void locus_server_refresh(struct locus_service *svc, uint32_t slot)
{
    struct server *s = &svc->servers[slot];
    uint32_t upper = svc->identities[slot]->upper;
    bool was_under = s->spill_load < s->half;
    uint32_t divisor = s->load.divisor;

    if (svc->rules.threshold == LOCUS_THRESHOLD_PLAIN) {
        s->overloaded = upper > 0 && server_total(s) >= upper;
    }
    bool usable = s->state == SERVER_IN_SERVICE && s->weight > 0 && !s->overloaded;
    s->load.divisor = !usable                   ? 0
                      : svc->load_rule.weighted ? share_divisor(svc, slot)
                                                : 1;
    s->load.cost = svc->load_rule.base +
                   (uint64_t)svc->load_rule.per_active * s->conns[LOCUS_ACTIVE] +
                   (uint64_t)svc->load_rule.per_inactive * s->conns[LOCUS_INACTIVE];
    s->limit = usable ? (int32_t)server_capacity(svc, s) : -1;
    s->half = half_of(svc, slot);
    s->watched_from = svc->indexed || upper != 0 ? 0 : INT32_MAX;
    svc->under_half += (uint32_t)(s->spill_load < s->half) - (uint32_t)was_under;
    select_changed(svc, slot);
    if (svc->ops->divisor_changed != NULL && s->load.divisor != divisor) {
        svc->ops->divisor_changed(svc, slot, divisor);
    }
}

void locus_servers_refresh(struct locus_service *svc)
{
    for (uint32_t i = 0; i < svc->slots; i++) {
        if (svc->servers[i].state != SERVER_FREE) {
            locus_server_refresh(svc, i);
        }
    }
}
