/* SPDX-License-Identifier: MIT */
/*
 * Up to SELECT_SCAN servers are simply scanned: that is faster than keeping anything. Above,
 * a tree of fan-out 32 with two levels: leaves over servers, parents over leaves, and a
 * scan over the parents (64 of them for 65,536 servers). LBLC and LBLCR change counters on
 * every connection and ask for the least loaded server rarely, so changes only mark their
 * leaf; asking recomputes the leaves that are marked, then their parents.
 */
#include "select.h"

static uint32_t leaves_for(uint32_t slots)
{
    return (slots + SELECT_FAN - 1) / SELECT_FAN;
}

static uint32_t parents_for(uint32_t slots)
{
    return (leaves_for(slots) + SELECT_FAN - 1) / SELECT_FAN;
}

static uint32_t dirty_words(uint32_t slots)
{
    return (leaves_for(slots) + 63) / 64;
}

static size_t nodes_bytes(uint32_t capacity)
{
    return (leaves_for(capacity) + parents_for(capacity)) * sizeof(struct load_node);
}

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
           (rank > best->rank && !product_less(best->cost, divisor, cost, best->divisor));
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

static struct load_node best_node(const struct load_node *nodes, uint32_t count, bool narrow)
{
    struct load_node best = nobody;

    for (uint32_t i = count; i-- > 0;) {
        const struct load_node *n = &nodes[i];
        if (n->divisor != 0 && beats(n->cost, n->divisor, n->rank, &best, narrow)) {
            best = *n;
        }
    }
    return best;
}

static uint32_t lower(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* The leaves below one parent that are marked, 32 bits. */
static uint32_t dirty_children(const struct locus_service *svc, uint32_t parent)
{
    return (uint32_t)(svc->dirty[parent / 2] >> (parent % 2 * 32));
}

static void refresh_parent(struct locus_service *svc, uint32_t parent, uint32_t marked)
{
    struct load_node *leaves = svc->nodes + parents_for(svc->capacity);
    uint32_t first = parent * SELECT_FAN;
    uint32_t count = lower(leaves_for(svc->slots) - first, SELECT_FAN);

    for (uint32_t i = 0; i < count; i++) {
        if (marked >> i & 1) {
            uint32_t from = (first + i) * SELECT_FAN;
            leaves[first + i] =
                best_of_slots(svc, from, lower(from + SELECT_FAN, svc->slots));
        }
    }
    svc->nodes[parent] = best_node(leaves + first, count, svc->narrow);
}

uint32_t locus_least_loaded(struct locus_service *svc)
{
    uint32_t parents = parents_for(svc->slots);

    if (!svc->indexed) {
        return best_of_slots(svc, 0, svc->slots).server;
    }
    for (uint32_t parent = 0; parent < parents; parent++) {
        uint32_t marked = dirty_children(svc, parent);
        if (marked != 0) {
            refresh_parent(svc, parent, marked);
        }
    }
    memset(svc->dirty, 0, dirty_words(svc->slots) * sizeof(*svc->dirty));
    return best_node(svc->nodes, parents, svc->narrow).server;
}

int locus_select_resize(struct locus_service *svc, uint32_t capacity)
{
    struct load_node *nodes = alloc_bytes(&svc->allocator, nodes_bytes(capacity));
    uint64_t *dirty =
        alloc_zeroed(&svc->allocator, dirty_words(capacity) * sizeof(*dirty));

    if (nodes == NULL || dirty == NULL) {
        release(&svc->allocator, nodes, nodes_bytes(capacity));
        release(&svc->allocator, dirty, dirty_words(capacity) * sizeof(*dirty));
        return LOCUS_ENOMEM;
    }
    locus_select_fini(svc);
    svc->nodes = nodes;
    svc->dirty = dirty;
    return LOCUS_OK;
}

void locus_select_fini(struct locus_service *svc)
{
    release(&svc->allocator, svc->nodes, nodes_bytes(svc->capacity));
    release(&svc->allocator, svc->dirty, dirty_words(svc->capacity) * sizeof(*svc->dirty));
    svc->nodes = NULL;
    svc->dirty = NULL;
}

void locus_select_reset(struct locus_service *svc)
{
    const struct load_rule *load = &svc->load;
    uint64_t most = load->per_active > load->per_inactive ? load->per_active
                                                          : load->per_inactive;

    /* cost <= base + most * (2^31 - 1), and divisors are at most weight_max. */
    uint64_t cost_max = load->base + most * INT32_MAX;
    svc->narrow = svc->weight_max <= UINT64_MAX / cost_max;
    svc->indexed = svc->slots > SELECT_SCAN;
    if (svc->indexed) {
        memset(svc->dirty, 0xff, dirty_words(svc->slots) * sizeof(*svc->dirty));
    }
}
