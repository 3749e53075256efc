/* SPDX-License-Identifier: MIT */
/*
 * The least that any design must do: hash the destination, touch its cache line (read the
 * server, write lastuse), count the connection. No comparison, no rule, no second probe.
 */
#include <stdlib.h>

#include "design.h"

struct line {
    uint32_t destination, lastuse, lastmod, server;
};

struct server {
    uint32_t weight, active, inactive;
};

struct self {
    struct server *servers;
    struct line *lines;
    unsigned shift;
};

static inline uint32_t pick_and_open(struct self *self, uint32_t destination,
                                     uint32_t tick)
{
    struct line *line =
        &self->lines[(destination * UINT64_C(0x9e3779b97f4a7c15)) >> self->shift];

    line->lastuse = tick;
    self->servers[line->server].active++;
    return line->server;
}

static inline void fin(struct self *self, uint32_t server)
{
    self->servers[server].active--;
    self->servers[server].inactive++;
}

static inline void expire(struct self *self, uint32_t server)
{
    self->servers[server].inactive--;
}

#include "loop.h"

static void *create(const struct setup *setup)
{
    struct self *self = calloc(1, sizeof(*self));
    size_t lines = 16;

    self->shift = 60;
    while (lines < 2 * (size_t)setup->destination_count) {
        lines *= 2;
        self->shift--;
    }
    self->servers = calloc(setup->server_count, sizeof(*self->servers));
    self->lines = malloc(lines * sizeof(*self->lines));
    for (size_t i = 0; i < lines; i++) {
        self->lines[i] = (struct line){0, 0, 0, (uint32_t)(i % setup->server_count)};
    }
    return self;
}

static void destroy(void *arg)
{
    struct self *self = arg;

    free(self->servers);
    free(self->lines);
    free(self);
}

const struct design design_floor = {
    .name = "floor",
    .create = create,
    .destroy = destroy,
    .run = run,
    .fin = fin_one,
    .expire = expire_one,
};
