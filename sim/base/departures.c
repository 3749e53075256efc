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
    return at_ns >> (DEPARTURE_BITS * level) << (DEPARTURE_BITS * level);
}

static unsigned level_of(const struct departures *queue, uint64_t at_ns)
{
    uint64_t differ = at_ns ^ queue->base_ns;

    return (63 - (unsigned)__builtin_clzll(differ | 1)) / DEPARTURE_BITS;
}

static void link_node(struct departures *queue, uint32_t node)
{
    uint64_t at_ns = queue->nodes[node].at_ns;
    unsigned level = level_of(queue, at_ns);
    unsigned slot = (at_ns >> (DEPARTURE_BITS * level)) % DEPARTURE_SLOTS;

    queue->nodes[node].next = queue->head[level][slot];
    queue->head[level][slot] = node;
    queue->used[level] |= (uint64_t)1 << slot;
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

static void mark_empty(struct departures *queue, unsigned level, unsigned slot)
{
    queue->head[level][slot] = NO_NODE;
    queue->used[level] &= ~((uint64_t)1 << slot);
    if (queue->used[level] == 0) {
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

/* Takes the first entry of a list. */
static void take(struct departures *queue, unsigned level, unsigned slot,
                 struct departure *out)
{
    uint32_t node = queue->head[level][slot];
    struct departure *entry = &queue->nodes[node];

    *out = *entry;
    if (entry->next == NO_NODE) {
        mark_empty(queue, level, slot);
    } else {
        queue->head[level][slot] = entry->next;
    }
    entry->next = queue->free;
    queue->free = node;
    queue->count--;
}

bool departures_pop(struct departures *queue, uint64_t now_ns, struct departure *out)
{
    if (now_ns < queue->bound_ns) {
        return false;
    }
    while (queue->levels != 0) {
        unsigned level = (unsigned)__builtin_ctz(queue->levels);
        unsigned slot = (unsigned)__builtin_ctzll(queue->used[level]);
        const struct departure *first = &queue->nodes[queue->head[level][slot]];
        /* One entry alone is the earliest of all, wherever it is; of several at a higher
         * level only the slot's start is known. */
        bool exact = level == 0 || first->next == NO_NODE;
        uint64_t at_ns = exact ? first->at_ns : slot_start(first->at_ns, level);
        if (at_ns > now_ns) {
            queue->bound_ns = at_ns;
            return false;
        }
        if (exact) {
            take(queue, level, slot, out);
            queue->base_ns = out->at_ns;
            return true;
        }
        cascade(queue, level, slot, now_ns);
    }
    queue->bound_ns = UINT64_MAX;
    return false;
}

/* Empties a slot that ends by now as far as there is room. */
static size_t empty_slot(struct departures *queue, unsigned level, unsigned slot,
                         struct timed *out, size_t room)
{
    size_t count = 0;

    while (count < room && (queue->used[level] >> slot & 1) != 0) {
        struct departure entry;
        take(queue, level, slot, &entry);
        out[count++] = (struct timed){entry.at_ns, entry.payload};
    }
    return count;
}

size_t departures_take(struct departures *queue, uint64_t now_ns, struct timed *out,
                       size_t room)
{
    size_t count = 0;

    while (queue->levels != 0 && count < room) {
        unsigned level = (unsigned)__builtin_ctz(queue->levels);
        unsigned slot = (unsigned)__builtin_ctzll(queue->used[level]);
        uint64_t start_ns =
            slot_start(queue->nodes[queue->head[level][slot]].at_ns, level);
        uint64_t last_ns = start_ns | (((uint64_t)1 << (DEPARTURE_BITS * level)) - 1);
        if (start_ns > now_ns) {
            queue->bound_ns = start_ns;
            return count;
        }
        if (last_ns <= now_ns) {
            count += empty_slot(queue, level, slot, out + count, room - count);
        } else {
            cascade(queue, level, slot, now_ns);
        }
    }
    queue->bound_ns = queue->levels == 0 ? UINT64_MAX : queue->base_ns;
    return count;
}
