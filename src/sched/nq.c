/* SPDX-License-Identifier: MIT */
/*
 * nq: never queue. A server without active connections is taken at once, the one added last
 * first and whatever its weight; when all are busy, as sed: least (active + 1) / weight.
 */
#include "../load/select.h"

static struct load_rule load(const struct locus_rules *rules)
{
    (void)rules;
    return (struct load_rule){.base = 1, .per_active = 1, .weighted = true};
}

static uint32_t schedule(struct locus_service *svc, const struct locus_request *request,
                         struct locus_pick *pick)
{
    (void)request;
    (void)pick;
    for (uint32_t i = svc->list.head; i != LOCUS_NO_SERVER; i = svc->servers[i].next) {
        if (svc->servers[i].load.divisor != 0 &&
            svc->servers[i].conns[LOCUS_ACTIVE] == 0) {
            return i;
        }
    }
    return locus_least_loaded(svc);
}

const struct sched_ops locus_sched_nq = {
    .name = "nq",
    .about = "never queue: an idle server at once, else as sed",
    .load = load,
    .schedule = schedule,
};
