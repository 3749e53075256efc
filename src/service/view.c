/* SPDX-License-Identifier: MIT */
/* What can be seen of a service: its figures, its scheduler's state, its destinations. */
#include "../destinations/locality.h"
#include "../state/clock.h"

void locus_service_get_stats(const struct locus_service *svc,
                             struct locus_service_stats *out)
{
    *out = svc->stats;
    out->picks += svc->easy_hits;
    out->hits += svc->easy_hits;
    out->servers = svc->list.count;
    out->trash = svc->trash.count;
    if (svc->locality != NULL) {
        const struct destmap *map = &svc->locality->map;
        out->destinations = (uint32_t)map->count;
        out->entries = svc->locality->entries;
        out->map_bytes = map->bytes + map->sets.bytes + svc->locality->queue.bytes;
    }
}

void locus_scheduler_describe(const struct locus_service *svc, locus_value_fn *visit,
                              void *arg)
{
    if (svc->ops->describe != NULL) {
        svc->ops->describe(svc, visit, arg);
    }
}

/* 0: before the clock began, as a snapshot may say. */
static uint64_t moment_ns(const struct locus_service *svc, uint32_t tick)
{
    uint64_t age = (uint64_t)tick_age(svc, tick);

    return age < svc->tick ? (svc->tick - age) * svc->tick_ns : 0;
}

static struct locus_destination destination_of(const struct locus_service *svc,
                                               const struct dest *dest,
                                               uint32_t servers)
{
    return (struct locus_destination){
        .key = locus_dest_key(&svc->locality->map, dest),
        .lastuse_ns = moment_ns(svc, dest->lastuse),
        .lastmod_ns = moment_ns(svc, dest->lastmod),
        .servers = servers,
    };
}

/* Members that were not purged, newest first, up to capacity of them; how many in all. */
static uint32_t copy_members(const struct locus_service *svc, const struct dest *dest,
                             uint32_t *servers, size_t capacity)
{
    const uint32_t *members;
    uint32_t single, copied = 0;

    for (uint32_t i = dest_members(svc->locality, dest, &single, &members); i-- > 0;) {
        if (!server_purged(svc, members[i])) {
            if (copied < capacity) {
                servers[copied] = members[i];
            }
            copied++;
        }
    }
    return copied;
}

bool locus_destination_get(const struct locus_service *svc, const union locus_key *key,
                           struct locus_destination *out, uint32_t *servers,
                           size_t capacity)
{
    if (svc->locality == NULL) {
        return false;
    }
    const struct destmap *map = &svc->locality->map;
    const struct dest *dest = destmap_find(map, key, destmap_hash(map, key));
    uint32_t count = dest != NULL ? copy_members(svc, dest, servers, capacity) : 0;
    if (count == 0) {
        return false;
    }
    *out = destination_of(svc, dest, count);
    return true;
}

struct each {
    const struct locus_service *svc;
    locus_destination_fn *visit;
    void *arg;
    uint32_t *servers;
    size_t capacity;
};

/* The buffer grows to the largest set there is. */
static int visit_one(struct each *each, const struct dest *dest)
{
    const struct locus_allocator *allocator = &each->svc->allocator;
    uint32_t count = copy_members(each->svc, dest, each->servers, each->capacity);

    if (count > each->capacity) {
        uint32_t *grown = alloc_bytes(allocator, 2 * count * sizeof(*grown));
        if (grown == NULL) {
            return LOCUS_ENOMEM;
        }
        release(allocator, each->servers, each->capacity * sizeof(*grown));
        each->servers = grown;
        each->capacity = 2 * (size_t)count;
        copy_members(each->svc, dest, grown, each->capacity);
    }
    if (count > 0) {
        struct locus_destination destination = destination_of(each->svc, dest, count);
        each->visit(each->arg, &destination, each->servers);
    }
    return LOCUS_OK;
}

int locus_destinations_visit(const struct locus_service *svc,
                             locus_destination_fn *visit, void *arg)
{
    struct each each = {.svc = svc, .visit = visit, .arg = arg};
    struct destmap_place place = {0, 0};
    const struct dest *dest;
    int status = LOCUS_OK;

    if (svc->locality == NULL) {
        return LOCUS_OK;
    }
    while (status == LOCUS_OK &&
           (dest = locus_destmap_next(&svc->locality->map, &place)) != NULL) {
        status = visit_one(&each, dest);
    }
    release(&svc->allocator, each.servers, each.capacity * sizeof(*each.servers));
    return status;
}
