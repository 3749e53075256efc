/* SPDX-License-Identifier: MIT */
/*
 * wlc: weighted least-connection. The server with the least overhead / weight; of equals the
 * one added last. overhead = active_cost * active + inactive: an active connection counts for
 * hundreds of inactive ones (W. Zhang; the kernel's default scheduler in ipvsadm).
 */
#include "../load/select.h"

static uint32_t schedule(struct locus_service *svc, const struct locus_request *request,
                         struct locus_pick *pick)
{
    (void)request;
    (void)pick;
    return locus_least_loaded(svc);
}

const struct sched_ops locus_sched_wlc = {
    .name = "wlc",
    .about = "weighted least-connection: least overhead / weight",
    .schedule = schedule,
};
