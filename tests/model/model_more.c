/* SPDX-License-Identifier: MIT */
/*
 * The schedulers that no kernel has, word for word: chbl puts the servers into the
 * destination's order and goes through it, p2c walks a line of weights twice.
 */
#include <stdlib.h>

#include "model.h"
#include "model_parts.h"

/* ---- chbl ------------------------------------------------------------------------ */

/* A port and an address, as bytes: little endian numbers, IPv6 and names as they are. */
static uint64_t hash_endpoint(const struct model *m, uint64_t what,
                              struct model_key key, int64_t port)
{
    uint8_t bytes[20];
    for (int i = 0; i < 4; i++) {
        bytes[i] = (uint8_t)(port >> 8 * i);
        bytes[4 + i] = (uint8_t)(key.lo >> 8 * i);
    }
    for (int i = 0; m->wide && i < 8; i++) {
        bytes[4 + i] = (uint8_t)(key.hi >> (56 - 8 * i));
        bytes[12 + i] = (uint8_t)(key.lo >> (56 - 8 * i));
    }
    return model_sip13(bytes, m->wide ? 20 : 8, what);
}

/* Exponentially distributed, after von Neumann; 58 bits behind the point. */
static uint64_t exponential(uint64_t dice)
{
    uint64_t drawn[64];
    for (uint64_t whole = 0; whole < 63; whole++) {
        int falling = 0;
        do {
            drawn[falling] = model_dice(&dice);
        } while ((falling == 0 || drawn[falling] < drawn[falling - 1]) && ++falling);
        if (falling % 2 == 1) {
            return (whole << 58) + drawn[0] / 64;
        }
    }
    return UINT64_MAX;
}

struct place {
    uint64_t x;
    int64_t weight;
    uint32_t server;
};

static int by_place(const void *left, const void *right)
{
    const struct place *a = left;
    const struct place *b = right;
    model_wide mine = (model_wide)a->x * b->weight;
    model_wide its = (model_wide)b->x * a->weight;
    return mine < its ? -1 : mine > its;
}

/* What counts against the bound. */
static int64_t connections(const struct model *m, uint32_t server)
{
    const struct model_server *s = &m->servers[server];
    return m->rules.spill_counts_total ? s->active + s->inactive : s->active;
}

/* The share of c * (all + 1) connections that its weight gives a server, rounded up. */
static model_wide bound_of(const struct model *m, uint32_t server)
{
    int64_t all = 0;
    int64_t weights = 0;
    for (size_t i = 0; i < m->listed; i++) {
        if (model_usable(m, m->list[i])) {
            all += connections(m, m->list[i]);
            weights += model_divisor(m, m->list[i]);
        }
    }
    model_wide part =
        (model_wide)m->rules.load_bound_percent * (all + 1) * model_divisor(m, server);
    model_wide whole = (model_wide)100 * weights;
    return (part + whole - 1) / whole;
}

struct model_pick model_chbl(struct model *m, struct model_key key)
{
    struct model_pick pick = {MODEL_NONE, MODEL_NONE, 0};
    struct place *order = model_resize(NULL, m->listed, sizeof(*order));
    uint64_t destination = hash_endpoint(m, 0, key, 0);
    size_t count = 0;
    for (size_t i = 0; i < m->listed; i++) {
        const struct model_server *s = &m->servers[m->list[i]];
        if (model_usable(m, m->list[i])) {
            uint64_t server = hash_endpoint(m, 1, s->address, s->port);
            order[count++] = (struct place){exponential(server ^ destination),
                                            model_divisor(m, m->list[i]), m->list[i]};
        }
    }
    qsort(order, count, sizeof(*order), by_place);
    for (size_t i = 0; pick.server == MODEL_NONE && i < count; i++) {
        if (connections(m, order[i].server) < bound_of(m, order[i].server)) {
            pick.server = order[i].server;
            pick.why = i == 0 ? MODEL_HIT : MODEL_SPILLED;
        }
    }
    free(order);
    return pick;
}

/* ---- p2c ------------------------------------------------------------------------- */

/* The next usable server by handle, MODEL_NONE after the last. */
static uint32_t next_by_handle(const struct model *m, int64_t after)
{
    uint32_t next = MODEL_NONE;
    for (size_t i = 0; i < m->listed; i++) {
        uint32_t id = m->list[i];
        int64_t handle = m->servers[id].handle;
        if (model_usable(m, id) && handle > after &&
            (next == MODEL_NONE || handle < m->servers[next].handle)) {
            next = id;
        }
    }
    return next;
}

/* Where the rest ends on the line of weights without that one. */
static uint32_t choice(const struct model *m, uint64_t rest, uint32_t without)
{
    int64_t after = -1;
    for (;;) {
        uint32_t id = next_by_handle(m, after);
        uint64_t weight = id == without ? 0 : (uint64_t)model_divisor(m, id);
        if (rest < weight) {
            return id;
        }
        rest -= weight;
        after = m->servers[id].handle;
    }
}

uint32_t model_p2c(struct model *m)
{
    int64_t sum = 0;
    for (size_t i = 0; i < m->listed; i++) {
        sum += model_usable(m, m->list[i]) ? model_divisor(m, m->list[i]) : 0;
    }
    if (sum == 0) {
        return MODEL_NONE;
    }
    uint32_t first = choice(m, model_roll(m, (uint64_t)sum), MODEL_NONE);
    sum -= model_divisor(m, first);
    if (sum == 0) {
        return first;
    }
    uint32_t second = choice(m, model_roll(m, (uint64_t)sum), first);
    return model_less(m, second, first, MODEL_COST_OVERHEAD) ? second : first;
}
