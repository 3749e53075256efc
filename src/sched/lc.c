/* SPDX-License-Identifier: MIT */
/*
 * lc: least-connection. The server with the least overhead; a weight only says whether the
 * server takes part (above 0) or not.
 */
#include "../load/select.h"

static struct load_rule load(const struct locus_rules *rules)
{
    return (struct load_rule){.per_active = rules->active_cost, .per_inactive = 1};
}

static uint32_t schedule(struct locus_service *svc, const struct locus_request *request,
                         struct locus_pick *pick)
{
    (void)request;
    (void)pick;
    return locus_least_loaded(svc);
}

const struct sched_ops locus_sched_lc = {
    .name = "lc",
    .about = "least-connection: least overhead, weights only on or off",
    .load = load,
    .schedule = schedule,
};
