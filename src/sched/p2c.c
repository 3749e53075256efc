/* SPDX-License-Identifier: MIT */
/*
 * p2c: two different servers drawn at random by weight, the less loaded of them
 * (M. Mitzenmacher, "The power of two choices in randomized load balancing", 2001).
 *
 * W is the sum of the available weights, w that of the first choice; r1 is drawn from 0..W-1,
 * r2 from what the first leaves, 0..W-w-1. Servers stand in the order of their handles, each
 * as long as its weight. The second choice wins if its load is lower. A server that is alone
 * needs no second choice.
 *
 * Departures from twos, which is IPVS's: two choices are two servers, the first in the list has
 * no chance more than its weight, and no server is walked past. Weights lie in a Fenwick tree
 * over the slots (P. Fenwick, "A new data structure for cumulative frequency tables", 1994),
 * so that a draw takes as many steps as the number of slots has bits.
 */
#include "../base/rng.h"
#include "../load/load.h"

/*
 * Node i (counted from 1) holds the divisors of the i & -i slots that end with the i-th.
 * capacity is a power of two or 0: the last node holds the sum of all.
 */
struct state {
    uint32_t
        capacity; /* nodes in use; when there are more slots the tree is made anew */
};

static uint64_t *node(const struct locus_service *svc, uint32_t i)
{
    return (uint64_t *)svc->slot_state + i - 1;
}

/* How many slots a node holds. */
static uint32_t width(uint32_t i)
{
    return i & (~i + 1);
}

static void init(struct locus_service *svc)
{
    struct state *st = svc->state;

    st->capacity = svc->capacity;
    for (uint32_t i = 1; i <= st->capacity; i++) {
        *node(svc, i) = i <= svc->slots ? svc->servers[i - 1].load.divisor : 0;
    }
    for (uint32_t i = 1; i < st->capacity; i++) {
        *node(svc, i + width(i)) += *node(svc, i);
    }
}

static void divisor_changed(struct locus_service *svc, uint32_t server, uint32_t was)
{
    const struct state *st = svc->state;

    if (st->capacity != svc->capacity) {
        init(svc);
        return;
    }
    for (uint32_t i = server + 1; i <= st->capacity; i += width(i)) {
        *node(svc, i) += (uint64_t)svc->servers[server].load.divisor - was;
    }
}

/* The server that stands where r is, which is below the sum of all; *start: where it begins. */
static uint32_t server_at(const struct locus_service *svc, uint64_t r, uint64_t *start)
{
    const struct state *st = svc->state;
    uint64_t rest = r;
    uint32_t passed = 0;

    for (uint32_t step = st->capacity / 2; step > 0; step /= 2) {
        uint64_t sum = *node(svc, passed + step);
        if (rest >= sum) {
            rest -= sum;
            passed += step;
        }
    }
    *start = r - rest;
    return passed;
}

static uint32_t schedule(struct locus_service *svc, const struct locus_request *request,
                         struct locus_pick *pick)
{
    const struct state *st = svc->state;
    uint64_t total = st->capacity > 0 ? *node(svc, st->capacity) : 0;
    uint64_t start, unused;

    (void)request;
    (void)pick;
    if (total == 0) {
        return LOCUS_NO_SERVER;
    }
    uint32_t first = server_at(svc, rng_below(&svc->rng, total), &start);
    uint32_t weight = svc->servers[first].load.divisor;
    if (weight == total) {
        return first;
    }
    uint64_t r = rng_below(&svc->rng, total - weight);
    uint32_t second = server_at(svc, r < start ? r : r + weight, &unused);
    return load_less(&svc->servers[second], &svc->servers[first]) ? second : first;
}

const struct sched_ops locus_sched_p2c = {
    .name = "p2c",
    .about = "the less loaded of two different servers drawn at random by weight",
    .state_size = sizeof(struct state),
    .slot_size = sizeof(uint64_t),
    .init = init,
    .divisor_changed = divisor_changed,
    .schedule = schedule,
};
