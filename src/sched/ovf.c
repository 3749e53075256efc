/* SPDX-License-Identifier: MIT */
/*
 * ovf: weighted overflow. The server of the highest weight until it is above it, then the
 * next. A server takes weight + 1 active connections; when all are above, nobody.
 */
#include "../state/core.h"

static uint32_t schedule(struct locus_service *svc, const struct locus_request *request,
                         struct locus_pick *pick)
{
    uint32_t best = LOCUS_NO_SERVER, weight = 0;

    (void)request;
    (void)pick;
    for (uint32_t i = svc->list.head; i != LOCUS_NO_SERVER; i = svc->servers[i].next) {
        const struct server *s = &svc->servers[i];
        if (s->load.divisor != 0 && s->conns[LOCUS_ACTIVE] <= s->weight &&
            s->weight > weight) {
            best = i;
            weight = s->weight;
        }
    }
    return best;
}

const struct sched_ops locus_sched_ovf = {
    .name = "ovf",
    .about = "overflow: the highest weight that is not above it",
    .schedule = schedule,
};
