/* SPDX-License-Identifier: MIT */
/*
 * The course of one policy's run: for each interval what happened in it, and the active
 * connections of each server at its end.
 */
#ifndef LOCUS_SIM_TIMELINE_H
#define LOCUS_SIM_TIMELINE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "engine.h"

enum { TIMELINE_MAX = 100000 }; /* intervals; who asks for more gets an error */

struct timeline_point {
    uint64_t at_ns;                             /* the interval's end */
    uint64_t connections, refused, moves, hits; /* in it */
    uint64_t imbalance_ppm; /* mean over it while anything was active */
};

struct timeline_server {
    uint32_t active;      /* at the interval's end */
    uint32_t connections; /* in it */
};

struct timeline {
    uint32_t server_count;
    struct timeline_point *points;
    struct timeline_server *servers; /* [point * server_count + server] */
    size_t count, capacity;
    int status; /* LOCUS_ENOMEM: it is cut short */
    /* What the run had come to at the last point, to take differences. */
    struct tally before;
    uint64_t *server_connections;
};

int timeline_init(struct timeline *timeline, uint32_t server_count);
void timeline_fini(struct timeline *timeline);
/* An engine_interval_fn; arg is the timeline. */
void timeline_note(void *arg, const struct engine *engine, uint64_t now_ns);
/* An interval that gives some 200 points over the span, a round number of units. */
uint64_t timeline_choose_interval(uint64_t span_ns);

#endif
