/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include <locus/locus.h>

#include "design.h"

struct self {
    struct locus_service *svc;
    bool batch;
};

static uint64_t tick_ns(uint32_t tick)
{
    return (uint64_t)tick * 1000000u;
}

static inline uint32_t pick_and_open(struct self *self, uint32_t destination,
                                     uint32_t tick)
{
    struct locus_request request = {.dst = {.ipv4 = destination}};
    struct locus_pick pick;

    if (locus_connect(self->svc, &request, tick_ns(tick), LOCUS_ACTIVE, &pick) !=
        LOCUS_OK) {
        return NOBODY;
    }
    return pick.server;
}

static inline void fin(struct self *self, uint32_t server)
{
    (void)locus_conn_move(self->svc, server, LOCUS_ACTIVE, LOCUS_INACTIVE);
}

static inline void expire(struct self *self, uint32_t server)
{
    (void)locus_conn_unbind(self->svc, server, LOCUS_INACTIVE);
}

#define run run_single
#include "loop.h"
#undef run

/* Batches of 64: the same picks only if closes are not between them, so this design is
 * compared by time alone unless connections live longer than a batch. */
static uint64_t run_batch(struct self *self, struct load *load, size_t count)
{
    enum { BATCH = 64 };
    struct locus_request requests[BATCH] = {{{0}, {0}, 0}};
    uint32_t servers[BATCH];
    uint64_t sum = 0;

    for (size_t n = 0; n + BATCH <= count; n += BATCH) {
        size_t at = load->at;
        load->at += BATCH;
        for (size_t i = 0; i < BATCH; i++) {
            requests[i].dst.ipv4 =
                load->destinations[(at + i) & load->destination_mask];
        }
        locus_connect_batch(self->svc, requests, BATCH, tick_ns((uint32_t)(at >> 10)),
                            LOCUS_ACTIVE, servers);
        for (size_t i = 0; i < BATCH; i++, at++) {
            sum = sum * 31 + servers[i];
            load->opened[at & load->opened_mask] = servers[i];
            if (at >= load->open_for) {
                fin(self, load->opened[(at - load->open_for) & load->opened_mask]);
            }
            if (at >= load->open_for + load->idle_for) {
                expire(self, load->opened[(at - load->open_for - load->idle_for) &
                                          load->opened_mask]);
            }
        }
    }
    return sum;
}

static uint64_t run(void *arg, struct load *load, size_t count, bool isolated)
{
    struct self *self = arg;

    return self->batch ? run_batch(self, load, count)
                       : run_single(self, load, count, isolated);
}

static void *create(const struct setup *setup)
{
    static const char *const names[] = {"wlc", "lblc", "lblcr"};
    struct locus_service_config config = {
        .scheduler = names[setup->policy],
        .rules = locus_rules_find("kernel-classic"),
        .seed = 1,
    };
    struct self *self = calloc(1, sizeof(*self));

    if (self == NULL || locus_service_create(&config, &self->svc) != LOCUS_OK) {
        free(self);
        return NULL;
    }
    self->batch = setup->batch;
    for (uint32_t i = 0; i < setup->server_count; i++) {
        struct locus_server_config server = {
            .address = {.family = LOCUS_IPV4, .key = {.ipv4 = i}},
            .weight = setup->weights[i],
        };
        uint32_t handle;
        if (locus_server_add(self->svc, &server, 0, &handle) != LOCUS_OK ||
            handle != i) {
            abort();
        }
    }
    return self;
}

static void destroy(void *arg)
{
    struct self *self = arg;

    locus_service_destroy(self->svc);
    free(self);
}

static uint64_t map_bytes(void *arg)
{
    struct self *self = arg;
    struct locus_service_stats stats;

    locus_service_get_stats(self->svc, &stats);
    return stats.map_bytes;
}

const struct design design_locus = {
    .name = "locus",
    .create = create,
    .destroy = destroy,
    .run = run,
    .fin = fin_one,
    .expire = expire_one,
    .map_bytes = map_bytes,
};
