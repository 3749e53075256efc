/* SPDX-License-Identifier: MIT */
/*
 * A few servers are simply scanned: that is faster than keeping anything. Above SELECT_SCAN, a
 * tree. LBLC and LBLCR change counters on every connection and ask for the least loaded
 * server rarely, WLC asks every time; so a change only queues its leaf, and asking
 * recomputes the queued leaves, then what stands above them. One pick after an open, a close
 * and an expiry looks at about 3 * SELECT_FAN servers or nodes per level.
 */
#include "select.h"

/* What every server that may be picked is better than. */
static const struct load_node nobody = {.cost = 1, .server = LOCUS_NO_SERVER};

/*
 * Whether a candidate of that cost, divisor and rank beats the best so far. narrow: all
 * products of costs and divisors are below 2^64 (svc->narrow proves it).
 */
static inline bool beats(uint64_t cost, uint32_t divisor, uint64_t rank,
                         const struct load_node *best, bool narrow)
{
    if (narrow) {
        uint64_t mine = cost * best->divisor, its = best->cost * divisor;
        return mine < its || (mine == its && rank > best->rank);
    }
    return product_less(cost, best->divisor, best->cost, divisor) ||
           (rank > best->rank &&
            !product_less(best->cost, divisor, cost, best->divisor));
}

/* Downwards: servers added later have higher slots as a rule, so that of equals the first
 * one met stays and the branch is predicted. */
static inline struct load_node best_server(const struct server *servers, uint32_t from,
                                           uint32_t to, bool narrow)
{
    struct load_node best = nobody;

    for (uint32_t i = to; i-- > from;) {
        const struct server *s = &servers[i];
        if (s->divisor != 0 && beats(s->cost, s->divisor, s->rank, &best, narrow)) {
            best = (struct load_node){s->cost, s->rank, s->divisor, i};
        }
    }
    return best;
}

static struct load_node best_of_slots(const struct locus_service *svc, uint32_t from,
                                      uint32_t to)
{
    return svc->narrow ? best_server(svc->servers, from, to, true)
                       : best_server(svc->servers, from, to, false);
}

static inline struct load_node best_node(const struct load_node *nodes, uint32_t from,
                                         uint32_t to, bool narrow)
{
    struct load_node best = nobody;

    for (uint32_t i = to; i-- > from;) {
        const struct load_node *n = &nodes[i];
        if (n->divisor != 0 && beats(n->cost, n->divisor, n->rank, &best, narrow)) {
            best = *n;
        }
    }
    return best;
}

static struct load_node best_of_nodes(const struct locus_service *svc,
                                      const struct load_node *nodes, uint32_t from,
                                      uint32_t to)
{
    return svc->narrow ? best_node(nodes, from, to, true)
                       : best_node(nodes, from, to, false);
}

static uint32_t lower(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* How many nodes stand over that many servers or nodes. */
static uint32_t over(uint32_t count)
{
    return (count + SELECT_FAN - 1) / SELECT_FAN;
}

/* Recomputes the queued nodes of a level over its children (servers below the lowest),
 * and queues their parents if there is a level above. */
static void refresh_level(struct locus_service *svc, unsigned at, uint32_t children,
                          bool top)
{
    struct load_level *level = &svc->index->levels[at];

    for (uint32_t i = 0; i < level->queue_length; i++) {
        uint32_t node = level->queue[i];
        uint32_t from = node * SELECT_FAN, to = lower(from + SELECT_FAN, children);
        level->nodes[node] = at == 0 ? best_of_slots(svc, from, to)
                                     : best_of_nodes(svc, level[-1].nodes, from, to);
        level->queued[node] = false;
        if (!top) {
            load_level_queue(level + 1, node / SELECT_FAN);
        }
    }
    level->queue_length = 0;
}

uint32_t locus_least_loaded(struct locus_service *svc)
{
    uint32_t children = svc->slots;

    if (!svc->indexed) {
        return best_of_slots(svc, 0, svc->slots).server;
    }
    for (unsigned at = 0;; at++) {
        uint32_t nodes = over(children);
        bool top = nodes <= SELECT_FAN;
        refresh_level(svc, at, children, top);
        if (top) {
            return best_of_nodes(svc, svc->index->levels[at].nodes, 0, nodes).server;
        }
        children = nodes;
    }
}

/* A place for count items of size in the block, which starts aligned for any type; nodes
 * come first, the smaller items behind them. */
static void *carve(char **at, uint32_t count, size_t size)
{
    void *place = *at;

    *at += count * size;
    return place;
}

static size_t bytes_for(uint32_t capacity)
{
    size_t bytes = 0;

    for (uint32_t nodes = over(capacity);; nodes = over(nodes)) {
        bytes += nodes * (sizeof(struct load_node) + sizeof(uint32_t) + sizeof(bool));
        if (nodes <= SELECT_FAN) {
            return bytes;
        }
    }
}

static void lay_out(struct load_index *index, uint32_t capacity)
{
    char *at = index->block;
    uint32_t counts[SELECT_LEVELS];
    unsigned levels = 0;

    for (uint32_t nodes = over(capacity);; nodes = over(nodes)) {
        counts[levels++] = nodes;
        if (nodes <= SELECT_FAN) {
            break;
        }
    }
    for (unsigned i = 0; i < levels; i++) {
        index->levels[i].nodes = carve(&at, counts[i], sizeof(struct load_node));
    }
    for (unsigned i = 0; i < levels; i++) {
        index->levels[i].queue = carve(&at, counts[i], sizeof(uint32_t));
    }
    for (unsigned i = 0; i < levels; i++) {
        index->levels[i].queued = carve(&at, counts[i], sizeof(bool));
    }
}

int locus_select_resize(struct locus_service *svc, uint32_t capacity)
{
    struct load_index *index = alloc_zeroed(&svc->allocator, sizeof(*index));

    if (index == NULL) {
        return LOCUS_ENOMEM;
    }
    index->block_bytes = bytes_for(capacity);
    index->block = alloc_zeroed(&svc->allocator, index->block_bytes);
    if (index->block == NULL) {
        release(&svc->allocator, index, sizeof(*index));
        return LOCUS_ENOMEM;
    }
    lay_out(index, capacity);
    locus_select_fini(svc);
    svc->index = index;
    return LOCUS_OK;
}

void locus_select_fini(struct locus_service *svc)
{
    if (svc->index != NULL) {
        release(&svc->allocator, svc->index->block, svc->index->block_bytes);
        release(&svc->allocator, svc->index, sizeof(*svc->index));
        svc->index = NULL;
    }
}

void locus_select_reset(struct locus_service *svc)
{
    const struct load_rule *load = &svc->load;
    uint64_t most =
        load->per_active > load->per_inactive ? load->per_active : load->per_inactive;

    /* cost <= base + most * (2^31 - 1), and divisors are at most weight_max. */
    uint64_t cost_max = load->base + most * INT32_MAX;
    svc->narrow = svc->weight_max <= UINT64_MAX / cost_max;
    svc->indexed = svc->slots > SELECT_SCAN;
    for (uint32_t i = 0; svc->indexed && i < svc->slots; i += SELECT_FAN) {
        select_changed(svc, i);
    }
}
