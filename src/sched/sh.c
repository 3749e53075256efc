/* SPDX-License-Identifier: MIT */
/*
 * sh: source hashing. 256 buckets, dealt to the servers in list order, each as many in a row
 * as its weight says (at least one), whenever a server is added, removed or edited. Key:
 * the client's address, with LOCUS_FLAG_PORT its port too. A server that is not
 * available refuses what hashes to it; with LOCUS_FLAG_FALLBACK other buckets are tried, all
 * of them at most.
 */
#include "table.h"

static void init(struct locus_service *svc)
{
    buckets_init(svc, true);
}

static void server_event(struct locus_service *svc, uint32_t server,
                         enum server_event event)
{
    (void)server;
    (void)event;
    buckets_deal(svc, true);
}

static uint32_t schedule(struct locus_service *svc, const struct locus_request *request,
                         struct locus_pick *pick)
{
    const struct buckets *buckets = svc->state;
    uint32_t hash = hash_golden(table_client(svc, request), BUCKET_BITS);
    uint32_t server = buckets->servers[hash];

    (void)pick;
    if (table_usable(svc, server)) {
        return server;
    }
    if (svc->flags & LOCUS_FLAG_FALLBACK) {
        for (uint32_t i = 0; i < BUCKETS; i++) {
            uint32_t offset = (i + hash) % BUCKETS;
            server = buckets->servers[(offset + hash) % BUCKETS];
            if (table_usable(svc, server)) {
                return server;
            }
        }
    }
    return LOCUS_NO_SERVER;
}

const struct sched_ops locus_sched_sh = {
    .name = "sh",
    .about = "source hashing: 256 buckets by weight",
    .state_size = sizeof(struct buckets),
    .init = init,
    .fini = buckets_fini,
    .server_event = server_event,
    .schedule = schedule,
    .describe = buckets_describe,
};
