/* SPDX-License-Identifier: MIT */
/*
 * dh: destination hashing. 256 buckets, dealt to the servers in list order one by one and
 * again from the first, whenever a server is added or removed. Weights do not count, except
 * that a quiesced server refuses what hashes to it, as does an overloaded one.
 */
#include "table.h"

static void init(struct locus_service *svc)
{
    buckets_init(svc, false);
}

static void server_event(struct locus_service *svc, uint32_t server,
                         enum server_event event)
{
    (void)server;
    if (event != SERVER_UPDATED) {
        buckets_deal(svc, false);
    }
}

static uint32_t schedule(struct locus_service *svc, const struct locus_request *request,
                         struct locus_pick *pick)
{
    const struct buckets *buckets = svc->state;
    uint32_t server =
        buckets->servers[hash_golden(key_fold(&request->dst, svc->wide), BUCKET_BITS)];

    (void)pick;
    return table_usable(svc, server) ? server : LOCUS_NO_SERVER;
}

const struct sched_ops locus_sched_dh = {
    .name = "dh",
    .about = "destination hashing: 256 buckets, weights ignored",
    .state_size = sizeof(struct buckets),
    .init = init,
    .fini = buckets_fini,
    .server_event = server_event,
    .schedule = schedule,
    .describe = buckets_describe,
};
