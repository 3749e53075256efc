/* SPDX-License-Identifier: MIT */
/*
 * The way of a kernel module: 1,024 chains of entries, a linked list of server structs of
 * 384 bytes, newest first, walked for every least-loaded and half-load question.
 */
#include <stdlib.h>

#include "design.h"

enum { CHAINS = 1024 };

struct server {
    struct server *next;
    uint32_t index;
    int weight, active, inactive;
    char other_fields[360];
};

struct member {
    struct member *next;
    struct server *server;
};

struct entry {
    struct entry *next;
    uint32_t destination;
    uint32_t lastuse, lastmod;
    uint32_t count;
    struct server *one;
    struct member *several;
};

struct self {
    enum policy policy;
    struct server *list;
    struct server **servers; /* by index, for counters only */
    struct entry *chains[CHAINS];
    uint64_t bytes;
};

static inline int64_t overhead(const struct server *s)
{
    return (int64_t)s->active * 256 + s->inactive;
}

static inline bool less(const struct server *a, const struct server *b)
{
    return overhead(a) * b->weight < overhead(b) * a->weight;
}

static struct server *least_loaded(const struct self *self)
{
    struct server *best = NULL;

    for (struct server *s = self->list; s != NULL; s = s->next) {
        if (s->weight > 0 && (best == NULL || less(s, best))) {
            best = s;
        }
    }
    return best;
}

static bool busy(const struct self *self, const struct server *server)
{
    if (server->active > server->weight) {
        for (const struct server *s = self->list; s != NULL; s = s->next) {
            if (2 * s->active < s->weight) {
                return true;
            }
        }
    }
    return false;
}

static struct server *least_member(const struct entry *e)
{
    struct server *best = NULL;

    for (const struct member *m = e->several; m != NULL; m = m->next) {
        if (m->server->weight > 0 && (best == NULL || less(m->server, best))) {
            best = m->server;
        }
    }
    return best;
}

static void add_member(struct self *self, struct entry *e, struct server *server)
{
    for (const struct member *m = e->several; m != NULL; m = m->next) {
        if (m->server == server) {
            return;
        }
    }
    struct member *m = malloc(sizeof(*m));
    if (m == NULL) {
        abort();
    }
    m->next = e->several;
    m->server = server;
    e->several = m;
    self->bytes += sizeof(*m) + 16;
}

static uint32_t chain_of(uint32_t destination)
{
    return (uint32_t)(destination * 2654435761u) >> 22;
}

static void remember(struct self *self, uint32_t destination, struct server *server,
                     uint32_t tick)
{
    struct entry *e = calloc(1, sizeof(*e));

    if (e == NULL) {
        abort();
    }
    e->destination = destination;
    e->lastuse = e->lastmod = tick;
    e->one = server;
    e->next = self->chains[chain_of(destination)];
    self->chains[chain_of(destination)] = e;
    self->bytes += sizeof(*e) + 16;
    if (self->policy == POLICY_LBLCR) {
        add_member(self, e, server);
    }
}

static struct server *pick(struct self *self, uint32_t destination, uint32_t tick)
{
    struct server *server;
    struct entry *e;

    if (self->policy == POLICY_WLC) {
        return least_loaded(self);
    }
    e = self->chains[chain_of(destination)];
    while (e != NULL && e->destination != destination) {
        e = e->next;
    }
    if (e == NULL) {
        server = least_loaded(self);
        remember(self, destination, server, tick);
        return server;
    }
    e->lastuse = tick;
    server = self->policy == POLICY_LBLC ? e->one : least_member(e);
    if (server != NULL && server->weight > 0 && !busy(self, server)) {
        return server;
    }
    server = least_loaded(self);
    if (self->policy == POLICY_LBLC) {
        e->one = server;
    } else {
        add_member(self, e, server);
    }
    return server;
}

static inline uint32_t pick_and_open(struct self *self, uint32_t destination,
                                     uint32_t tick)
{
    struct server *server = pick(self, destination, tick);

    server->active++;
    return server->index;
}

static inline void fin(struct self *self, uint32_t server)
{
    self->servers[server]->active--;
    self->servers[server]->inactive++;
}

static inline void expire(struct self *self, uint32_t server)
{
    self->servers[server]->inactive--;
}

#include "loop.h"

static void fill(void *arg, uint32_t destination, uint32_t server)
{
    struct self *self = arg;

    remember(self, destination, self->servers[server], 0);
    self->servers[server]->active++;
}

static void *create(const struct setup *setup)
{
    struct self *self = calloc(1, sizeof(*self));

    self->policy = setup->policy;
    self->servers = calloc(setup->server_count, sizeof(struct server *));
    /* Allocated in another order than added, as after a week of changes. */
    for (uint32_t i = 0; i < setup->server_count; i++) {
        self->servers[i * UINT64_C(7919) % setup->server_count] =
            calloc(1, sizeof(struct server));
    }
    for (uint32_t i = 0; i < setup->server_count; i++) {
        struct server *s = self->servers[i];
        s->index = i;
        s->weight = (int)setup->weights[i];
        s->next = self->list;
        self->list = s;
    }
    return self;
}

static void free_entry(struct entry *e)
{
    while (e->several != NULL) {
        struct member *m = e->several;
        e->several = m->next;
        free(m);
    }
    free(e);
}

static void destroy(void *arg)
{
    struct self *self = arg;

    for (int i = 0; i < CHAINS; i++) {
        while (self->chains[i] != NULL) {
            struct entry *e = self->chains[i];
            self->chains[i] = e->next;
            free_entry(e);
        }
    }
    while (self->list != NULL) {
        struct server *s = self->list;
        self->list = s->next;
        free(s);
    }
    free(self->servers);
    free(self);
}

static uint64_t map_bytes(void *arg)
{
    return ((struct self *)arg)->bytes;
}

const struct design design_chained = {
    .name = "chained",
    .create = create,
    .destroy = destroy,
    .run = run,
    .fin = fin_one,
    .expire = expire_one,
    .fill = fill,
    .map_bytes = map_bytes,
};
