/* SPDX-License-Identifier: MIT */
#include "advise.h"

#include <string.h>

#include <locus/status.h>

uint64_t candidate_locality(const struct candidate *c, bool cache)
{
    return cache ? c->figures.hit_ppm : c->figures.warm_ppm;
}

uint64_t candidate_imbalance(const struct candidate *c)
{
    return c->figures.imbalance_conn_mean_ppm;
}

bool candidate_is_for_ipvs(const struct candidate *c)
{
    return policy_is_of_ipvs(&c->policy) && c->max_entries == 0;
}

static bool beats(const struct candidate *a, const struct candidate *b, bool cache)
{
    uint64_t a_locality = candidate_locality(a, cache);
    uint64_t b_locality = candidate_locality(b, cache);
    uint64_t a_imbalance = candidate_imbalance(a);
    uint64_t b_imbalance = candidate_imbalance(b);

    if (a->figures.refused != b->figures.refused) {
        return a->figures.refused < b->figures.refused;
    }
    return a_locality >= b_locality && a_imbalance <= b_imbalance &&
           (a_locality > b_locality || a_imbalance < b_imbalance);
}

static bool equals(const struct candidate *a, const struct candidate *b, bool cache)
{
    return a->figures.refused == b->figures.refused &&
           candidate_locality(a, cache) == candidate_locality(b, cache) &&
           candidate_imbalance(a) == candidate_imbalance(b);
}

void advise_mark_front(struct candidate *candidates, size_t count, bool cache)
{
    for (size_t i = 0; i < count; i++) {
        bool beaten = false;
        for (size_t k = 0; k < count && !beaten; k++) {
            beaten = beats(&candidates[k], &candidates[i], cache) ||
                     (k < i && equals(&candidates[k], &candidates[i], cache));
        }
        candidates[i].on_front = !beaten;
    }
}

struct range {
    double least, most;
};

static void widen(struct range *range, double value)
{
    range->least = value < range->least ? value : range->least;
    range->most = value > range->most ? value : range->most;
}

/* How far along the range from good to bad, squared. */
static double distance(const struct range *range, double value, double best)
{
    double width = range->most - range->least;
    double part = width > 0 ? (value - best) / width : 0;

    return part * part;
}

static bool within(const struct candidate *c, const struct advise_limits *limits)
{
    return (limits->max_imbalance_ppm == 0 ||
            candidate_imbalance(c) <= limits->max_imbalance_ppm) &&
           (!limits->ipvs_only || candidate_is_for_ipvs(c));
}

static size_t nearest(const struct candidate *candidates, size_t count, bool cache,
                      const struct advise_limits *limits)
{
    struct range locality = {1e18, 0}, imbalance = {1e18, 0};
    size_t choice = SIZE_MAX;
    double least = 0;

    for (size_t i = 0; i < count; i++) {
        if (candidates[i].on_front) {
            widen(&locality, (double)candidate_locality(&candidates[i], cache));
            widen(&imbalance, (double)candidate_imbalance(&candidates[i]));
        }
    }
    for (size_t i = 0; i < count; i++) {
        const struct candidate *c = &candidates[i];
        if (!c->on_front || !within(c, limits)) {
            continue;
        }
        double d =
            distance(&locality, (double)candidate_locality(c, cache), locality.most) +
            distance(&imbalance, (double)candidate_imbalance(c), imbalance.least);
        if (choice == SIZE_MAX || d < least) {
            choice = i;
            least = d;
        }
    }
    return choice;
}

size_t advise_choose(const struct candidate *candidates, size_t count, bool cache,
                     const struct advise_limits *limits)
{
    const struct advise_limits tries[] = {
        *limits,
        {.ipvs_only = limits->ipvs_only},
        {.max_imbalance_ppm = limits->max_imbalance_ppm},
        {.ipvs_only = false},
    };
    size_t choice = SIZE_MAX;

    for (size_t i = 0; choice == SIZE_MAX && i < sizeof(tries) / sizeof(*tries); i++) {
        choice = nearest(candidates, count, cache, &tries[i]);
    }
    return choice;
}

void advise_set_thresholds(struct server_list *list, uint64_t total)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < list->count; i++) {
        sum += list->items[i].weight;
    }
    for (size_t i = 0; i < list->count; i++) {
        struct server_spec *spec = &list->items[i];
        uint64_t upper =
            sum == 0 ? 0
                     : (uint64_t)(((figure_sum)total * spec->weight + sum - 1) / sum);
        spec->upper = upper > LOCUS_WEIGHT_MAX ? LOCUS_WEIGHT_MAX : (uint32_t)upper;
        spec->lower = spec->upper - spec->upper / 4;
    }
}

bool advise_weights_given(const struct server_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].weighted) {
            return true;
        }
    }
    return false;
}

int advise_scale_weights(const struct server_list *list, uint64_t total,
                         struct server_list *out)
{
    uint64_t sum = 0;
    bool given = advise_weights_given(list);

    memset(out, 0, sizeof(*out));
    for (size_t i = 0; i < list->count; i++) {
        sum += given ? list->items[i].weight : 1;
    }
    for (size_t i = 0; i < list->count; i++) {
        struct server_spec spec = list->items[i];
        uint64_t part = given ? spec.weight : 1;
        if (total > 0 && part > 0) {
            uint64_t weight = (uint64_t)(((figure_sum)total * part + sum - 1) / sum);
            spec.weight = weight < 2                  ? 2
                          : weight > LOCUS_WEIGHT_MAX ? LOCUS_WEIGHT_MAX
                                                      : (uint32_t)weight;
        }
        spec.weighted = true;
        spec.active = 0;
        spec.inactive = 0;
        if (servers_add(out, &spec) != LOCUS_OK) {
            servers_free(out);
            return LOCUS_ENOMEM;
        }
    }
    return LOCUS_OK;
}
