/* SPDX-License-Identifier: MIT */
/* fo: weighted fail-over. All to the server of the highest weight that is available. */
#include "../state/core.h"

static uint32_t schedule(struct locus_service *svc, const struct locus_request *request,
                         struct locus_pick *pick)
{
    uint32_t best = LOCUS_NO_SERVER, weight = 0;

    (void)request;
    (void)pick;
    for (uint32_t i = svc->list.head; i != LOCUS_NO_SERVER; i = svc->servers[i].next) {
        const struct server *s = &svc->servers[i];
        if (s->load.divisor != 0 && s->weight > weight) {
            best = i;
            weight = s->weight;
        }
    }
    return best;
}

const struct sched_ops locus_sched_fo = {
    .name = "fo",
    .about = "fail-over: the highest weight available",
    .schedule = schedule,
};
