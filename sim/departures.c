/* SPDX-License-Identifier: MIT */
#include "departures.h"

#include <stdlib.h>
#include <string.h>

#include <locus/locus.h>

#define NO_NODE UINT32_MAX

void departures_init(struct departures *queue)
{
    memset(queue, 0, sizeof(*queue));
    memset(queue->head, 0xff, sizeof(queue->head));
    queue->bound_ns = UINT64_MAX;
    queue->free = NO_NODE;
}

void departures_fini(struct departures *queue)
{
    free(queue->nodes);
    queue->nodes = NULL;
}

static int grow(struct departures *queue)
{
    uint32_t capacity = queue->capacity == 0 ? 1024 : queue->capacity * 2;
    struct departure *nodes;

    if (queue->capacity > UINT32_MAX / 4) {
        return LOCUS_ENOMEM;
    }
    nodes = realloc(queue->nodes, capacity * sizeof(*nodes));
    if (nodes == NULL) {
        return LOCUS_ENOMEM;
    }
    for (uint32_t i = queue->capacity; i < capacity; i++) {
        nodes[i].next = i + 1 < capacity ? i + 1 : NO_NODE;
    }
    queue->free = queue->capacity;
    queue->nodes = nodes;
    queue->capacity = capacity;
    return LOCUS_OK;
}

/* The first moment of the slot in which at_ns lies. */
static uint64_t slot_start(uint64_t at_ns, unsigned level)
{
    return at_ns >> (8 * level) << (8 * level);
}

static unsigned level_of(const struct departures *queue, uint64_t at_ns)
{
    uint64_t differ = at_ns ^ queue->base_ns;

    return differ == 0 ? 0 : (63 - (unsigned)__builtin_clzll(differ)) / 8;
}

static void link_node(struct departures *queue, uint32_t node)
{
    uint64_t at_ns = queue->nodes[node].at_ns;
    unsigned level = level_of(queue, at_ns);
    unsigned slot = (at_ns >> (8 * level)) & 0xff;

    queue->nodes[node].next = queue->head[level][slot];
    queue->head[level][slot] = node;
    queue->used[level][slot / 64] |= (uint64_t)1 << (slot % 64);
    queue->levels |= 1u << level;
}

int departures_push(struct departures *queue, uint64_t at_ns, uint32_t payload)
{
    if (queue->free == NO_NODE && grow(queue) != LOCUS_OK) {
        return LOCUS_ENOMEM;
    }
    uint32_t node = queue->free;
    struct departure *entry = &queue->nodes[node];
    queue->free = entry->next;
    entry->at_ns = at_ns < queue->base_ns ? queue->base_ns : at_ns;
    entry->payload = payload;
    link_node(queue, node);
    queue->count++;

    uint64_t start = slot_start(entry->at_ns, level_of(queue, entry->at_ns));
    if (start < queue->bound_ns) {
        queue->bound_ns = start;
    }
    return LOCUS_OK;
}

static unsigned first_slot(const uint64_t used[DEPARTURE_SLOTS / 64])
{
    unsigned word = 0;

    while (used[word] == 0) {
        word++;
    }
    return 64 * word + (unsigned)__builtin_ctzll(used[word]);
}

static void mark_empty(struct departures *queue, unsigned level, unsigned slot)
{
    uint64_t *used = queue->used[level];

    queue->head[level][slot] = NO_NODE;
    used[slot / 64] &= ~((uint64_t)1 << (slot % 64));
    if ((used[0] | used[1] | used[2] | used[3]) == 0) {
        queue->levels &= ~(1u << level);
    }
}

/* Moves the clock into the earliest slot, as far as now_ns allows, and its entries down. */
static void cascade(struct departures *queue, unsigned level, unsigned slot,
                    uint64_t now_ns)
{
    uint32_t list = queue->head[level][slot];
    uint64_t base_ns = now_ns;

    for (uint32_t n = list; n != NO_NODE; n = queue->nodes[n].next) {
        if (queue->nodes[n].at_ns < base_ns) {
            base_ns = queue->nodes[n].at_ns;
        }
    }
    mark_empty(queue, level, slot);
    queue->base_ns = base_ns;
    while (list != NO_NODE) {
        uint32_t next = queue->nodes[list].next;
        link_node(queue, list);
        list = next;
    }
}

static void take(struct departures *queue, unsigned slot, struct departure *out)
{
    uint32_t node = queue->head[0][slot];
    struct departure *entry = &queue->nodes[node];

    *out = *entry;
    if (entry->next == NO_NODE) {
        mark_empty(queue, 0, slot);
    } else {
        queue->head[0][slot] = entry->next;
    }
    entry->next = queue->free;
    queue->free = node;
    queue->count--;
    queue->base_ns = out->at_ns;
}

bool departures_pop(struct departures *queue, uint64_t now_ns, struct departure *out)
{
    if (now_ns < queue->bound_ns) {
        return false;
    }
    while (queue->levels != 0) {
        unsigned level = (unsigned)__builtin_ctz(queue->levels);
        unsigned slot = first_slot(queue->used[level]);
        /* Any entry of the slot gives the slot's start. */
        uint64_t at_ns = queue->nodes[queue->head[level][slot]].at_ns;
        uint64_t start_ns = slot_start(at_ns, level);
        if (start_ns > now_ns) {
            queue->bound_ns = start_ns;
            return false;
        }
        if (level == 0) {
            take(queue, slot, out);
            return true;
        }
        cascade(queue, level, slot, now_ns);
    }
    queue->bound_ns = UINT64_MAX;
    return false;
}
