/* SPDX-License-Identifier: MIT */
/*
 * What dh, sh and mh share: a table of servers by hash bucket, each filled bucket holding one
 * reference. The tables are part of the scheduler's state; filling them takes no memory.
 */
#ifndef LOCUS_SCHED_TABLE_H
#define LOCUS_SCHED_TABLE_H

#include "../base/hash.h"
#include "../state/core.h"

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
    return server != LOCUS_NO_SERVER && svc->servers[server].load.divisor != 0;
}

static inline void table_describe(const uint32_t *buckets, uint32_t count,
                                  locus_value_fn *visit, void *arg)
{
    for (uint32_t i = 0; i < count; i++) {
        visit(arg, "bucket", LOCUS_VALUE_SERVER, buckets[i]);
    }
}

/* ---- the 256 buckets of dh and sh ---- */

enum { BUCKET_BITS = 8, BUCKETS = 1 << BUCKET_BITS };

struct buckets {
    uint32_t servers[BUCKETS];
};

/* Deals the buckets to the servers in list order and again from the first: one to each, or
 * as many in a row as its weight says, at least one. */
static inline void buckets_deal(struct locus_service *svc, bool by_weight)
{
    struct buckets *buckets = svc->state;
    uint32_t server = svc->list.head, dealt = 0;

    table_clear(svc, buckets->servers, BUCKETS);
    for (uint32_t i = 0; i < BUCKETS && svc->list.count > 0; i++) {
        table_set(svc, buckets->servers, i, server);
        if (++dealt >= (by_weight ? svc->servers[server].weight : 1)) {
            dealt = 0;
            server = svc->servers[server].next;
            if (server == LOCUS_NO_SERVER) {
                server = svc->list.head;
            }
        }
    }
}

static inline void buckets_init(struct locus_service *svc, bool by_weight)
{
    struct buckets *buckets = svc->state;

    table_init(buckets->servers, BUCKETS);
    buckets_deal(svc, by_weight);
}

static inline void buckets_fini(struct locus_service *svc)
{
    struct buckets *buckets = svc->state;

    table_clear(svc, buckets->servers, BUCKETS);
}

static inline void buckets_describe(const struct locus_service *svc,
                                    locus_value_fn *visit, void *arg)
{
    const struct buckets *buckets = svc->state;

    table_describe(buckets->servers, BUCKETS, visit, arg);
}

/* What sh and mh hash besides an offset: the client, and its port on request. */
static inline uint32_t table_client(const struct locus_service *svc,
                                    const struct locus_request *request)
{
    uint32_t port = svc->flags & LOCUS_FLAG_PORT ? request->src_port : 0;

    return port + key_fold(&request->src, svc->wide);
}

#endif
