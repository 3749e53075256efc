/* SPDX-License-Identifier: MIT */
/* none: a service without a scheduler refuses everything. */
#include "../state/core.h"

static uint32_t schedule(struct locus_service *svc, const struct locus_request *request,
                         struct locus_pick *pick)
{
    (void)svc;
    (void)request;
    (void)pick;
    return LOCUS_NO_SERVER;
}

const struct sched_ops locus_sched_none = {
    .name = "none",
    .about = "no scheduler: nothing is picked",
    .schedule = schedule,
};
