/* SPDX-License-Identifier: MIT */
/*
 * sh: source hashing. 256 buckets, dealt to the servers in list order, each as many in a row
 * as its weight says (at least one), whenever a server is added, removed or edited. Key:
 * the client's address, with LOCUS_FLAG_PORT its port too. A server that is not
 * available refuses what hashes to it; with LOCUS_FLAG_FALLBACK other buckets are tried, all
 * of them at most.
 */
#include "table.h"

enum { BUCKET_BITS = 8, BUCKETS = 1 << BUCKET_BITS };

struct state {
    uint32_t buckets[BUCKETS];
};

static void deal(struct locus_service *svc)
{
    struct state *st = svc->state;
    uint32_t server = svc->list.head, dealt = 0;

    table_clear(svc, st->buckets, BUCKETS);
    for (uint32_t i = 0; i < BUCKETS && svc->list.count > 0; i++) {
        table_set(svc, st->buckets, i, server);
        if (++dealt >= svc->servers[server].weight) {
            dealt = 0;
            server = svc->servers[server].next;
            if (server == LOCUS_NO_SERVER) {
                server = svc->list.head;
            }
        }
    }
}

static void init(struct locus_service *svc)
{
    struct state *st = svc->state;

    table_init(st->buckets, BUCKETS);
    deal(svc);
}

static void fini(struct locus_service *svc)
{
    struct state *st = svc->state;

    table_clear(svc, st->buckets, BUCKETS);
}

static void server_event(struct locus_service *svc, uint32_t server,
                         enum server_event event)
{
    (void)server;
    (void)event;
    deal(svc);
}

static uint32_t schedule(struct locus_service *svc, const struct locus_request *request,
                         struct locus_pick *pick)
{
    const struct state *st = svc->state;
    uint32_t hash = hash_golden(table_client(svc, request), BUCKET_BITS);
    uint32_t server = st->buckets[hash];

    (void)pick;
    if (table_usable(svc, server)) {
        return server;
    }
    if (svc->flags & LOCUS_FLAG_FALLBACK) {
        for (uint32_t i = 0; i < BUCKETS; i++) {
            uint32_t offset = (i + hash) % BUCKETS;
            server = st->buckets[(offset + hash) % BUCKETS];
            if (table_usable(svc, server)) {
                return server;
            }
        }
    }
    return LOCUS_NO_SERVER;
}

static void describe(const struct locus_service *svc, locus_value_fn *visit, void *arg)
{
    const struct state *st = svc->state;

    table_describe(st->buckets, BUCKETS, visit, arg);
}

const struct sched_ops locus_sched_sh = {
    .name = "sh",
    .about = "source hashing: 256 buckets by weight",
    .state_size = sizeof(struct state),
    .init = init,
    .fini = fini,
    .server_event = server_event,
    .schedule = schedule,
    .describe = describe,
};
