/* SPDX-License-Identifier: MIT */
/*
 * A few servers are simply scanned: that is faster than keeping anything. Above SELECT_SCAN, a
 * tree. LBLC and LBLCR change counters on every connection and ask for the least loaded
 * server rarely, WLC asks every time; so a change only queues its leaf, and asking
 * recomputes the queued leaves, then what stands above them. One pick after an open, a close
 * and an expiry looks at about 3 * SELECT_FAN servers or nodes per level.
 */
#include "select.h"

#include "load.h"
#include "share.h"

/* a * b < c * d. narrow: no such product exceeds 64 bits. */
static inline bool is_less(uint64_t a, uint32_t b, uint64_t c, uint32_t d, bool narrow)
{
    return narrow ? a * b < c * d : product_less(a, b, c, d);
}

/*
 * The best of count loads that lie stride bytes apart; one of divisor 0 when nobody may be
 * picked. Such a divisor makes no load less than any other; it has to be told apart among
 * equals only. Downwards: servers added later have higher slots as a rule, so that of
 * equals the first one met stays and the branches are predicted.
 */
static ALWAYS_INLINE const struct load *least_of(const void *first, size_t stride,
                                                 uint32_t count, bool narrow)
{
    static const struct load nobody = {.cost = 1, .server = LOCUS_NO_SERVER};
    const struct load *best = &nobody;

    for (const char *at = (const char *)first + count * stride; at != first;) {
        at -= stride;
        const struct load *load = (const struct load *)(const void *)at;
        if (is_less(best->cost, load->divisor, load->cost, best->divisor, narrow)) {
            continue;
        }
        if (is_less(load->cost, best->divisor, best->cost, load->divisor, narrow) ||
            (load->divisor != 0 && load->rank > best->rank)) {
            best = load;
        }
    }
    return best;
}

/* Products of 80 bits: rarely needed, and larger than all the rest. */
static NOINLINE const struct load *least_of_wide(const void *first, size_t stride,
                                                 uint32_t count)
{
    return least_of(first, stride, count, false);
}

static ALWAYS_INLINE const struct load *least_server(const struct locus_service *svc,
                                                     uint32_t from, uint32_t count)
{
    const struct server *first = svc->servers + from;

    return LIKELY(svc->narrow) ? least_of(first, sizeof(*first), count, true)
                               : least_of_wide(first, sizeof(*first), count);
}

static ALWAYS_INLINE const struct load *
least_node(const struct locus_service *svc, const struct load *first, uint32_t count)
{
    return LIKELY(svc->narrow) ? least_of(first, sizeof(*first), count, true)
                               : least_of_wide(first, sizeof(*first), count);
}

/* How many nodes stand over that many servers or nodes. */
static uint32_t over(uint32_t count)
{
    return (count + SELECT_FAN - 1) / SELECT_FAN;
}

/* Recomputes the queued nodes of a level over its children (servers below the lowest),
 * and queues the parents of those that changed if there is a level above. */
static void refresh_level(struct locus_service *svc, unsigned at, uint32_t children,
                          bool top)
{
    struct load_level *level = &svc->index->levels[at];

    for (uint32_t i = 0; i < level->queue_length; i++) {
        uint32_t node = level->queue[i], from = node * SELECT_FAN;
        uint32_t count = children - from < SELECT_FAN ? children - from : SELECT_FAN;
        const struct load *least = at == 0
                                       ? least_server(svc, from, count)
                                       : least_node(svc, level[-1].nodes + from, count);
        struct load *mine = &level->nodes[node];
        level->queued[node] = false;
        if (mine->server == least->server && mine->cost == least->cost &&
            mine->divisor == least->divisor && mine->rank == least->rank) {
            continue;
        }
        *mine = *least;
        if (!top) {
            load_level_queue(level + 1, node / SELECT_FAN);
        }
    }
    level->queue_length = 0;
}

static NOINLINE uint32_t ask_index(struct locus_service *svc)
{
    uint32_t children = svc->slots;

    for (unsigned at = 0;; at++) {
        uint32_t nodes = over(children);
        bool top = nodes <= SELECT_FAN;
        refresh_level(svc, at, children, top);
        if (top) {
            return least_node(svc, svc->index->levels[at].nodes, nodes)->server;
        }
        children = nodes;
    }
}

uint32_t locus_least_loaded(struct locus_service *svc)
{
    if (UNLIKELY(svc->slots == 0)) {
        return LOCUS_NO_SERVER; /* nor is there an array to step through */
    }
    return svc->indexed ? ask_index(svc) : least_server(svc, 0, svc->slots)->server;
}

/* 2 available, 1 overloaded, 0 quiesced */
static unsigned availability(const struct server *s)
{
    return s->weight == 0 ? 0 : s->overloaded ? 1 : 2;
}

/* Quiesced servers have connections, but no weight to compare them by. */
static bool harms_less(const struct server *a, const struct server *b)
{
    if (availability(a) != availability(b)) {
        return availability(a) > availability(b);
    }
    uint64_t left = (uint64_t)server_total(a) * (b->weight > 0 ? b->weight : 1);
    uint64_t right = (uint64_t)server_total(b) * (a->weight > 0 ? a->weight : 1);
    return left != right ? left < right : a->load.rank > b->load.rank;
}

uint32_t locus_any_server(const struct locus_service *svc)
{
    uint32_t best = svc->list.head;

    for (uint32_t i = best; i != LOCUS_NO_SERVER; i = svc->servers[i].next) {
        if (harms_less(&svc->servers[i], &svc->servers[best])) {
            best = i;
        }
    }
    return best;
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
        bytes += nodes * (sizeof(struct load) + sizeof(uint32_t) + sizeof(bool));
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
        index->levels[i].nodes = carve(&at, counts[i], sizeof(struct load));
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
    const struct load_rule *rule = &svc->load_rule;
    uint64_t most =
        rule->per_active > rule->per_inactive ? rule->per_active : rule->per_inactive;

    /* cost <= base + most * (2^31 - 1). */
    uint64_t cost_max = rule->base + most * INT32_MAX;
    svc->narrow = share_divisor_max(svc) <= UINT64_MAX / cost_max;
    for (uint32_t i = 0; !svc->indexed && svc->slots > SELECT_SCAN && i < svc->slots;
         i++) {
        svc->servers[i].watched_from = 0;
    }
    svc->indexed = svc->slots > SELECT_SCAN;
    for (uint32_t i = 0; svc->indexed && i < svc->slots; i += SELECT_FAN) {
        select_changed(svc, i);
    }
}
