/* SPDX-License-Identifier: MIT */
/*
 * twos: two random servers, drawn by weight, the better of them (M. Mitzenmacher, "The power
 * of two choices in randomized load balancing", 2001).
 *
 * T is the sum of the available weights (with slow start, of shares); r1 and r2 are drawn
 * from 0..T, both included, and walked down the list; the choice is where the rest reaches 0
 * or less, so that the first server has one chance more than its weight. The second choice
 * wins if its load is lower.
 */
#include "../base/rng.h"
#include "../load/load.h"

static uint32_t schedule(struct locus_service *svc, const struct locus_request *request,
                         struct locus_pick *pick)
{
    uint32_t first = LOCUS_NO_SERVER, second = LOCUS_NO_SERVER;
    uint64_t total = 0;

    (void)request;
    (void)pick;
    for (uint32_t i = svc->list.head; i != LOCUS_NO_SERVER; i = svc->servers[i].next) {
        total += svc->servers[i].load.divisor;
    }
    if (total == 0) {
        return LOCUS_NO_SERVER;
    }
    int64_t rest1 = (int64_t)rng_below(&svc->rng, total + 1);
    int64_t rest2 = (int64_t)rng_below(&svc->rng, total + 1);
    for (uint32_t i = svc->list.head; i != LOCUS_NO_SERVER; i = svc->servers[i].next) {
        uint32_t weight = svc->servers[i].load.divisor;
        if (weight == 0) {
            continue;
        }
        rest1 -= weight;
        rest2 -= weight;
        if (rest1 <= 0 && first == LOCUS_NO_SERVER) {
            first = i;
        }
        if (rest2 <= 0 && second == LOCUS_NO_SERVER) {
            second = i;
        }
    }
    return load_less(&svc->servers[second], &svc->servers[first]) ? second : first;
}

const struct sched_ops locus_sched_twos = {
    .name = "twos",
    .about = "the better of two servers drawn at random by weight",
    .schedule = schedule,
};
