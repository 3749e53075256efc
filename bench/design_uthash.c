/* SPDX-License-Identifier: MIT */
/*
 * A stock uthash map and an array of servers, honestly written: no trick, no mistake. Server
 * i is the i-th added; the list order is from the last to the first.
 */
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "design.h"

struct server {
    uint32_t weight, active, inactive;
};

struct entry {
    uint32_t destination;
    uint32_t lastuse, lastmod;
    uint32_t count, capacity;
    uint32_t one;      /* the server while there is only one */
    uint32_t *several; /* oldest first */
    UT_hash_handle hh;
};

struct self {
    enum policy policy;
    struct server *servers;
    uint32_t server_count;
    struct entry *map;
    uint64_t entry_bytes;
};

static inline uint64_t overhead(const struct server *s)
{
    return (uint64_t)s->active * 256 + s->inactive;
}

static inline bool less(const struct server *a, const struct server *b)
{
    return overhead(a) * b->weight < overhead(b) * a->weight;
}

static uint32_t least_loaded(const struct self *self)
{
    uint32_t best = NOBODY;

    for (uint32_t i = self->server_count; i-- > 0;) {
        const struct server *s = &self->servers[i];
        if (s->weight > 0 && (best == NOBODY || less(s, &self->servers[best]))) {
            best = i;
        }
    }
    return best;
}

static bool busy(const struct self *self, uint32_t server)
{
    const struct server *s = &self->servers[server];

    if (s->active > s->weight) {
        for (uint32_t i = self->server_count; i-- > 0;) {
            if (2 * self->servers[i].active < self->servers[i].weight) {
                return true;
            }
        }
    }
    return false;
}

static uint32_t least_member(const struct self *self, const struct entry *e)
{
    uint32_t best = NOBODY;

    if (e->count == 1) {
        return self->servers[e->one].weight > 0 ? e->one : NOBODY;
    }
    for (uint32_t i = e->count; i-- > 0;) {
        const struct server *s = &self->servers[e->several[i]];
        if (s->weight > 0 && (best == NOBODY || less(s, &self->servers[best]))) {
            best = e->several[i];
        }
    }
    return best;
}

static void add_member(struct entry *e, uint32_t server)
{
    if (e->count == 1 && e->one == server) {
        return;
    }
    for (uint32_t i = 0; e->count > 1 && i < e->count; i++) {
        if (e->several[i] == server) {
            return;
        }
    }
    if (e->count == e->capacity || e->capacity == 0) {
        e->capacity = e->capacity == 0 ? 4 : 2 * e->capacity;
        e->several = realloc(e->several, e->capacity * sizeof(*e->several));
        if (e->several == NULL) {
            abort();
        }
        if (e->count == 1) {
            e->several[0] = e->one;
        }
    }
    e->several[e->count++] = server;
}

static void remember(struct self *self, uint32_t destination, uint32_t server,
                     uint32_t tick)
{
    struct entry *e = calloc(1, sizeof(*e));

    if (e == NULL) {
        abort();
    }
    e->destination = destination;
    e->lastuse = e->lastmod = tick;
    e->count = 1;
    e->one = server;
    HASH_ADD(hh, self->map, destination, sizeof(e->destination), e);
    self->entry_bytes += sizeof(*e) + 16;
}

static uint32_t pick(struct self *self, uint32_t destination, uint32_t tick)
{
    struct entry *e;
    uint32_t server;

    if (self->policy == POLICY_WLC) {
        return least_loaded(self);
    }
    HASH_FIND(hh, self->map, &destination, sizeof(destination), e);
    if (e == NULL) {
        server = least_loaded(self);
        remember(self, destination, server, tick);
        return server;
    }
    e->lastuse = tick;
    server = self->policy == POLICY_LBLC ? e->one : least_member(self, e);
    if (server != NOBODY && self->servers[server].weight > 0 && !busy(self, server)) {
        return server;
    }
    server = least_loaded(self);
    if (self->policy == POLICY_LBLC) {
        e->one = server;
    } else {
        add_member(e, server);
    }
    return server;
}

static inline uint32_t pick_and_open(struct self *self, uint32_t destination,
                                     uint32_t tick)
{
    uint32_t server = pick(self, destination, tick);

    self->servers[server].active++;
    return server;
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

    self->policy = setup->policy;
    self->server_count = setup->server_count;
    self->servers = calloc(setup->server_count, sizeof(*self->servers));
    for (uint32_t i = 0; i < setup->server_count; i++) {
        self->servers[i].weight = setup->weights[i];
    }
    return self;
}

static void destroy(void *arg)
{
    struct self *self = arg;
    struct entry *e, *next;

    HASH_ITER(hh, self->map, e, next) {
        HASH_DEL(self->map, e);
        free(e->several);
        free(e);
    }
    free(self->servers);
    free(self);
}

static uint64_t map_bytes(void *arg)
{
    struct self *self = arg;

    /* The overhead has the handles in it, the entries too. */
    return self->entry_bytes + HASH_OVERHEAD(hh, self->map) -
           HASH_COUNT(self->map) * sizeof(UT_hash_handle);
}

const struct design design_uthash = {
    .name = "uthash",
    .create = create,
    .destroy = destroy,
    .run = run,
    .fin = fin_one,
    .expire = expire_one,
    .map_bytes = map_bytes,
};
