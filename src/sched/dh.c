/* SPDX-License-Identifier: MIT */
/*
 * dh: destination hashing. 256 buckets, dealt to the servers in list order one by one and
 * again from the first, whenever a server is added or removed. Weights do not count, except
 * that a quiesced server refuses what hashes to it, as does an overloaded one.
 */
#include "table.h"

enum { BUCKET_BITS = 8, BUCKETS = 1 << BUCKET_BITS };

struct state {
    uint32_t buckets[BUCKETS];
};

static void deal(struct locus_service *svc)
{
    struct state *st = svc->state;
    uint32_t server = svc->list.head;

    table_clear(svc, st->buckets, BUCKETS);
    for (uint32_t i = 0; i < BUCKETS && svc->list.count > 0; i++) {
        table_set(svc, st->buckets, i, server);
        server = svc->servers[server].next;
        if (server == LOCUS_NO_SERVER) {
            server = svc->list.head;
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
    if (event != SERVER_UPDATED) {
        deal(svc);
    }
}

static uint32_t schedule(struct locus_service *svc, const struct locus_request *request,
                         struct locus_pick *pick)
{
    const struct state *st = svc->state;
    uint32_t server =
        st->buckets[hash_golden(key_fold(&request->dst, svc->wide), BUCKET_BITS)];

    (void)pick;
    return table_usable(svc, server) ? server : LOCUS_NO_SERVER;
}

static void describe(const struct locus_service *svc, locus_value_fn *visit, void *arg)
{
    const struct state *st = svc->state;

    table_describe(st->buckets, BUCKETS, visit, arg);
}

const struct sched_ops locus_sched_dh = {
    .name = "dh",
    .about = "destination hashing: 256 buckets, weights ignored",
    .state_size = sizeof(struct state),
    .init = init,
    .fini = fini,
    .server_event = server_event,
    .schedule = schedule,
    .describe = describe,
};
