/* SPDX-License-Identifier: MIT */
/* A load under way: what was read so far. */
#ifndef LOCUS_SNAPSHOT_LOADING_H
#define LOCUS_SNAPSHOT_LOADING_H

#include "../servers/server.h"
#include "blocks.h"

struct saved_server {
    struct locus_server_config config;
    struct server_past past;
    uint32_t active, inactive;
    bool overloaded;
    bool last;     /* picked by rr or wrr */
    bool prepared; /* false: the service has it, or does not know it */
    uint32_t slot; /* LOCUS_NO_SERVER: unknown */
};

struct loading {
    struct locus_service *svc;
    const struct locus_snapshot_options *options;
    struct block_reader in;
    uint64_t tick;    /* of the service when it goes on */
    uint64_t tick_ns; /* of the snapshot */
    struct saved_server *servers;
    uint32_t server_count, server_capacity; /* read so far; room for */
    uint32_t servers_promised;
    uint32_t trash_from; /* servers from here on are trash */
    uint32_t *named_by;  /* by slot: number of the last destination that names it */
    size_t named_by_bytes;
    uint32_t destinations, leaks, rover, counter;
    uint64_t collector_ticks, trash_ticks, rng;
    int64_t turn;
    bool collector_first;
    struct locus_snapshot_report report;
};

static inline uint32_t loading_get32(struct loading *load)
{
    return (uint32_t)locus_blocks_get(&load->in, 4);
}

static inline uint64_t sum_up_to_max(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Ticks of the snapshot as ticks of the service, after some more time. */
static inline uint64_t loading_ticks(const struct loading *load, uint64_t ticks,
                                     uint64_t more_ns)
{
    uint64_t own_ns = load->svc->tick_ns;

    if (load->tick_ns == own_ns) {
        return sum_up_to_max(ticks, more_ns / own_ns);
    }
    uint64_t ns =
        ticks > UINT64_MAX / load->tick_ns ? UINT64_MAX : ticks * load->tick_ns;
    return sum_up_to_max(ns, more_ns) / own_ns;
}

#endif
