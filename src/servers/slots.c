/* SPDX-License-Identifier: MIT */
#include "slots.h"

#include "../load/select.h"

enum { CACHE_LINE = 64, SLOTS_MAX = 1 << 24 };

static int grow_slots(struct locus_service *svc)
{
    uint32_t capacity = svc->capacity == 0 ? 16 : 2 * svc->capacity;
    size_t block_bytes = capacity * sizeof(struct server) + CACHE_LINE;
    size_t old_bytes = svc->capacity * sizeof(struct server) + CACHE_LINE;
    size_t slot_size = svc->ops->slot_size;
    struct identity **identities;
    void *slot_state;
    char *block;

    if (svc->capacity >= SLOTS_MAX) {
        return LOCUS_ENOMEM;
    }
    block = alloc_zeroed(&svc->allocator, block_bytes);
    identities = alloc_zeroed(&svc->allocator, capacity * sizeof(*identities));
    slot_state =
        slot_size > 0 ? alloc_zeroed(&svc->allocator, capacity * slot_size) : NULL;
    if (block == NULL || identities == NULL || (slot_state == NULL && slot_size > 0) ||
        locus_select_resize(svc, capacity) != 0) {
        release(&svc->allocator, block, block_bytes);
        release(&svc->allocator, identities, capacity * sizeof(*identities));
        release(&svc->allocator, slot_state, capacity * slot_size);
        return LOCUS_ENOMEM;
    }
    struct server *servers =
        (struct server *)(void *)(block + (CACHE_LINE - (uintptr_t)block % CACHE_LINE));
    if (svc->slots > 0) {
        memcpy(servers, svc->servers, svc->slots * sizeof(*servers));
        memcpy(identities, svc->identities, svc->slots * sizeof(*identities));
    }
    if (svc->slots > 0 && slot_size > 0) {
        memcpy(slot_state, svc->slot_state, svc->slots * slot_size);
    }
    release(&svc->allocator, svc->servers_block, old_bytes);
    release(&svc->allocator, svc->identities, svc->capacity * sizeof(*identities));
    release(&svc->allocator, svc->slot_state, svc->capacity * slot_size);
    svc->slot_state = slot_state;
    svc->servers_block = block;
    svc->servers = servers;
    svc->identities = identities;
    svc->capacity = capacity;
    locus_select_reset(svc);
    return LOCUS_OK;
}

int locus_slot_take(struct locus_service *svc, uint32_t *out)
{
    if (svc->unused != LOCUS_NO_SERVER) {
        *out = svc->unused;
        svc->unused = svc->servers[*out].next;
    } else {
        if (svc->slots == svc->capacity) {
            int status = grow_slots(svc);
            if (status != LOCUS_OK) {
                return status;
            }
        }
        *out = svc->slots++;
    }
    memset(&svc->servers[*out], 0, sizeof(struct server));
    svc->servers[*out].load.server = *out;
    return LOCUS_OK;
}

void locus_slot_give(struct locus_service *svc, uint32_t slot)
{
    svc->identities[slot] = NULL;
    svc->servers[slot].state = SERVER_FREE;
    svc->servers[slot].next = svc->unused;
    svc->unused = slot;
}

void locus_slots_fini(struct locus_service *svc)
{
    locus_select_fini(svc);
    release(&svc->allocator, svc->servers_block,
            svc->capacity * sizeof(struct server) + CACHE_LINE);
    release(&svc->allocator, svc->identities, svc->capacity * sizeof(*svc->identities));
}

void locus_list_push(struct locus_service *svc, struct server_list *list, uint32_t slot)
{
    struct server *s = &svc->servers[slot];

    svc->identities[slot]->prev = LOCUS_NO_SERVER;
    s->next = list->head;
    if (list->head != LOCUS_NO_SERVER) {
        svc->identities[list->head]->prev = slot;
    }
    list->head = slot;
    list->count++;
}

void locus_list_remove(struct locus_service *svc, struct server_list *list,
                       uint32_t slot)
{
    uint32_t next = svc->servers[slot].next, prev = svc->identities[slot]->prev;

    if (prev != LOCUS_NO_SERVER) {
        svc->servers[prev].next = next;
    } else {
        list->head = next;
    }
    if (next != LOCUS_NO_SERVER) {
        svc->identities[next]->prev = prev;
    }
    list->count--;
}
