/* SPDX-License-Identifier: MIT */
/*
 * sed: shortest expected delay. The server with the least (active + 1) / weight: how long a
 * new connection would have to wait if weights were speeds.
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
    return locus_least_loaded(svc);
}

const struct sched_ops locus_sched_sed = {
    .name = "sed",
    .about = "shortest expected delay: least (active + 1) / weight",
    .load = load,
    .schedule = schedule,
};
