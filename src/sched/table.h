/* SPDX-License-Identifier: MIT */
/*
 * What dh, sh and mh share: a table of servers by hash bucket, each filled bucket holding one
 * reference. The tables are part of the scheduler's state; filling them takes no memory.
 */
#ifndef LOCUS_SCHED_TABLE_H
#define LOCUS_SCHED_TABLE_H

#include "../hash.h"
#include "../service.h"

/* Marks all buckets as never filled. */
static inline void table_init(uint32_t *buckets, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        buckets[i] = LOCUS_NO_SERVER;
    }
}

static inline void table_set(struct locus_service *svc, uint32_t *buckets, uint32_t at,
                             uint32_t server)
{
    buckets[at] = server;
    server_ref(svc, server);
}

static inline void table_clear(struct locus_service *svc, uint32_t *buckets,
                               uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (buckets[i] != LOCUS_NO_SERVER) {
            server_unref(svc, buckets[i]);
            buckets[i] = LOCUS_NO_SERVER;
        }
    }
}

static inline bool table_usable(const struct locus_service *svc, uint32_t server)
{
    return server != LOCUS_NO_SERVER && svc->servers[server].divisor != 0;
}

static inline void table_describe(const uint32_t *buckets, uint32_t count,
                                  locus_value_fn *visit, void *arg)
{
    for (uint32_t i = 0; i < count; i++) {
        visit(arg, "bucket", LOCUS_VALUE_SERVER, buckets[i]);
    }
}

/* What sh and mh hash besides an offset: the client, and its port on request. */
static inline uint32_t table_client(const struct locus_service *svc,
                                    const struct locus_request *request)
{
    uint32_t port = svc->flags & LOCUS_FLAG_PORT ? request->src_port : 0;

    return port + key_fold(&request->src, svc->wide);
}

#endif
