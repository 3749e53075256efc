/* SPDX-License-Identifier: MIT */
/* A service is written down: the numbers of snapshot_format.h. */
#include "../destinations/locality.h"
#include "../state/clock.h"
#include "blocks.h"
#include "format.h"

struct hashed {
    uint64_t hash;
    const struct dest *dest;
};

struct saving {
    struct locus_service *svc;
    struct block_writer out;
    uint32_t *places;      /* of servers, by slot */
    struct hashed *sorted; /* destinations of one segment */
    size_t count, capacity;
};

static uint64_t ticks_until(const struct locus_service *svc, const struct timer *timer)
{
    return timer->due == LOCUS_NEVER ? LOCUS_NEVER : timer->due - svc->tick;
}

static struct turn turn_of(const struct locus_service *svc)
{
    return svc->ops->turn != NULL ? svc->ops->turn(svc)
                                  : (struct turn){LOCUS_NO_SERVER, 0};
}

static void put_head(struct saving *save)
{
    static const struct locality none = {.gc = {.due = LOCUS_NEVER}};
    const struct locus_service *svc = save->svc;
    const struct locality *loc = svc->locality != NULL ? svc->locality : &none;
    struct block_writer *out = &save->out;
    size_t length = strlen(svc->ops->name);

    locus_blocks_put(out, svc->family, 1);
    locus_blocks_put(out, length, 1);
    for (size_t i = 0; i < length; i++) {
        locus_blocks_put(out, (unsigned char)svc->ops->name[i], 1);
    }
    locus_blocks_put(out, svc->tick_ns, 8);
    locus_blocks_put(out, svc->list.count, 4);
    locus_blocks_put(out, svc->trash.count, 4);
    locus_blocks_put(out, loc->map.count, 4);
    locus_blocks_put(out, loc->entries - loc->map.count, 4);
    locus_blocks_put(out, loc->rover, 4);
    locus_blocks_put(out, loc->counter, 4);
    locus_blocks_put(out, ticks_until(svc, &loc->gc), 8);
    locus_blocks_put(out, ticks_until(svc, &svc->trash_timer), 8);
    bool collector_first = loc != &none && svc->trash_timer.due != LOCUS_NEVER &&
                           loc->gc.order < svc->trash_timer.order;
    locus_blocks_put(out, collector_first, 1);
    locus_blocks_put(out, svc->rng, 8);
    locus_blocks_put(out, (uint64_t)turn_of(svc).number, 8);
}

static void put_server(struct saving *save, uint32_t slot)
{
    const struct server *s = &save->svc->servers[slot];
    const struct identity *identity = save->svc->identities[slot];
    struct block_writer *out = &save->out;
    struct locus_server_info info;

    if (locus_server_get(save->svc, slot, &info) != LOCUS_OK) {
        return; /* not of the lists' */
    }
    locus_blocks_put(out, info.address.family, 1);
    locus_blocks_put(out, info.address.port, 2);
    locus_snapshot_put_key(&save->out, info.address.family, &info.address.key);
    locus_blocks_put(out, info.tag, 8);
    locus_blocks_put(out, info.weight, 4);
    locus_blocks_put(out, info.last_weight, 4);
    locus_blocks_put(out, info.upper_threshold, 4);
    locus_blocks_put(out, info.lower_threshold, 4);
    locus_blocks_put(out, info.capacity, 4);
    locus_blocks_put(out, info.active, 4);
    locus_blocks_put(out, info.inactive, 4);
    bool idle = s->state == SERVER_IN_TRASH && identity->idle;
    unsigned flags = info.overloaded ? SERVER_OVERLOADED : 0;
    flags |= idle ? SERVER_IDLE : 0;
    flags |= turn_of(save->svc).server == slot ? SERVER_LAST : 0;
    locus_blocks_put(out, flags, 1);
    locus_blocks_put(out, idle ? save->svc->tick - identity->idle_since : 0, 8);
}

static void put_list(struct saving *save, const struct server_list *list,
                     uint32_t place)
{
    for (uint32_t i = list->head; i != LOCUS_NO_SERVER;
         i = save->svc->servers[i].next) {
        save->places[i] = place++;
        put_server(save, i);
    }
}

static void put_dest(struct saving *save, const struct dest *dest, bool used)
{
    const struct locality *loc = save->svc->locality;
    union locus_key key = locus_dest_key(&loc->map, dest);
    const uint32_t *members;
    uint32_t single, count = dest_members(loc, dest, &single, &members);

    locus_snapshot_put_key(&save->out, save->svc->family, &key);
    locus_blocks_put(&save->out, tick32(save->svc) - dest->lastuse, 4);
    locus_blocks_put(&save->out, tick32(save->svc) - dest->lastmod, 4);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t member = save->places[members[i]];
        member |= i + 1 < count ? MEMBER_FOLLOWS : 0;
        member |= i == 0 && used ? DEST_USED : 0;
        locus_blocks_put(&save->out, member, 4);
    }
}

static void put_queue(struct saving *save)
{
    const struct locality *loc = save->svc->locality;
    struct keyqueue_place place = {NULL, 0, false};
    struct keyqueue_item item;

    while (locus_keyqueue_next(&loc->queue, &place, &item)) {
        const struct dest *dest =
            destmap_find(&loc->map, &item.key, destmap_hash(&loc->map, &item.key));
        put_dest(save, dest, dest->lastuse != item.tick);
    }
}

/* By hash, then key. */
static bool precedes(const struct destmap *map, const struct hashed *a,
                     const struct hashed *b)
{
    if (a->hash != b->hash) {
        return a->hash < b->hash;
    }
    union locus_key left = locus_dest_key(map, a->dest);
    union locus_key right = locus_dest_key(map, b->dest);
    return memcmp(left.bytes, right.bytes, sizeof(left.bytes)) < 0;
}

/* Lets the item at a place of the heap sink to where it belongs. */
static void sink(struct saving *save, size_t at, size_t count)
{
    const struct destmap *map = &save->svc->locality->map;
    struct hashed *heap = save->sorted, item = heap[at];

    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        child += child + 1 < count && precedes(map, &heap[child], &heap[child + 1]);
        if (!precedes(map, &item, &heap[child])) {
            break;
        }
        heap[at] = heap[child];
    }
    heap[at] = item;
}

/* Writes the destinations that were gathered, in order. */
static void put_sorted(struct saving *save)
{
    for (size_t i = save->count / 2; i-- > 0;) {
        sink(save, i, save->count);
    }
    for (size_t left = save->count; left > 1;) {
        struct hashed last = save->sorted[--left];
        save->sorted[left] = save->sorted[0];
        save->sorted[0] = last;
        sink(save, 0, left);
    }
    for (size_t i = 0; i < save->count; i++) {
        put_dest(save, save->sorted[i].dest, false);
    }
    save->count = 0;
}

static int gather(struct saving *save, const struct dest *dest)
{
    const struct destmap *map = &save->svc->locality->map;
    const struct locus_allocator *allocator = &save->svc->allocator;
    union locus_key key = locus_dest_key(map, dest);

    if (save->count == save->capacity) {
        size_t capacity = 2 * save->capacity + 64;
        struct hashed *grown = alloc_bytes(allocator, capacity * sizeof(*grown));
        if (grown == NULL) {
            return LOCUS_ENOMEM;
        }
        if (save->count > 0) {
            memcpy(grown, save->sorted, save->count * sizeof(*grown));
        }
        release(allocator, save->sorted, save->capacity * sizeof(*grown));
        save->sorted = grown;
        save->capacity = capacity;
    }
    save->sorted[save->count++] = (struct hashed){destmap_hash(map, &key), dest};
    return LOCUS_OK;
}

/* Segments divide the hashes into ranges, which come in order. */
static int put_map(struct saving *save)
{
    struct destmap_place place = {0, 0};
    uint64_t segment = 0;
    const struct dest *dest;
    int status = LOCUS_OK;

    while (status == LOCUS_OK &&
           (dest = locus_destmap_next(&save->svc->locality->map, &place)) != NULL) {
        if (place.directory != segment) {
            put_sorted(save);
            segment = place.directory;
        }
        status = gather(save, dest);
    }
    put_sorted(save);
    return status;
}

static int put_all(struct saving *save)
{
    const struct locus_service *svc = save->svc;
    int status = LOCUS_OK;

    put_head(save);
    put_list(save, &svc->list, 0);
    put_list(save, &svc->trash, svc->list.count);
    if (svc->locality != NULL && svc->rules.evict) {
        put_queue(save);
    } else if (svc->locality != NULL) {
        status = put_map(save);
    }
    return status != LOCUS_OK ? status : locus_blocks_finish(&save->out);
}

int locus_snapshot_save(struct locus_service *svc, uint64_t now_ns,
                        locus_write_fn *write, void *arg)
{
    struct saving save = {.svc = svc};

    locus_tick(svc, now_ns, SIZE_MAX);
    size_t bytes = svc->slots * sizeof(*save.places);
    if (svc->slots > 0) {
        save.places = alloc_bytes(&svc->allocator, bytes);
        if (save.places == NULL) {
            return LOCUS_ENOMEM;
        }
    }
    locus_blocks_begin(&save.out, write, arg);
    int status = put_all(&save);
    release(&svc->allocator, save.places, bytes);
    release(&svc->allocator, save.sorted, save.capacity * sizeof(*save.sorted));
    return status;
}
