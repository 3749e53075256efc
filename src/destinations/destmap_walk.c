/* SPDX-License-Identifier: MIT */
#include "destmap_walk.h"

const struct dest *locus_destmap_next(const struct destmap *map,
                                      struct destmap_place *place)
{
    uint64_t directory = destmap_is_clear(map) ? 0 : (uint64_t)1 << destmap_depth(map);

    while (place->directory < directory) {
        const struct segment *segment = &map->directory[place->directory];
        while (place->slot < segment_slots(segment->slot_count)) {
            const struct dest *dest = segment_slot(map, segment->slots, place->slot++);
            if (dest->ref != 0) {
                return dest;
            }
        }
        place->directory += destmap_places(map, place->directory);
        place->slot = 0;
    }
    return NULL;
}

/* The segment that the walk works on: the one in hand if it is still what it was, else the
 * one that ends at walk->below. Returns its first place. */
static uint64_t walk_segment(const struct destmap *map, struct destmap_walk *walk)
{
    const struct segment *segment = destmap_segment(map, walk->below - 1);

    if (segment->slots != walk->slots || segment->slot_count != walk->slot_count) {
        walk->slots = segment->slots;
        walk->slot_count = segment->slot_count;
        walk->position = segment_slots(segment->slot_count);
        walk->removed = false;
    }
    return destmap_home(map, walk->below - 1);
}

/* Done with a segment. Returns how many slots had to be looked at once more to give memory
 * back. */
static size_t walk_on(struct destmap *map, struct destmap_walk *walk, uint64_t first)
{
    bool shrink = walk->removed || walk->shrink;
    size_t looked = shrink ? locus_destmap_shrink(map, first) : 0;

    walk->below = first << map->shift;
    walk->slots = NULL;
    walk->finished = first == 0;
    return looked;
}

enum { CHUNK = 64 }; /* slots that are sifted before any of their entries is visited */

/* The entries of a chunk that may be of interest, downwards; how many. Without a branch:
 * which slots are free and which entries are old nobody can predict. */
static size_t sift(const struct destmap *map, const struct destmap_walk *walk,
                   unsigned char *slots, size_t from, size_t count,
                   struct dest *found[CHUNK])
{
    size_t n = 0;

    for (size_t i = from + count; i-- > from;) {
        struct dest *dest = segment_slot(map, slots, i);
        bool old = (walk->tick - dest->lastuse >= walk->age) |
                   (walk->tick - dest->lastmod > INT32_MAX);
        found[n] = dest;
        n += (dest->ref != 0) & old;
    }
    return n;
}

/* Visits what is of interest in the next chunk of a segment; how many slots that counts. */
static size_t walk_chunk(struct destmap *map, struct destmap_walk *walk,
                         struct segment *segment, size_t count, destmap_visit_fn *visit,
                         void *arg)
{
    struct dest *found[CHUNK];
    size_t n, removed = 0;

    walk->position -= count;
    n = sift(map, walk, segment->slots, walk->position, count, found);
    for (size_t i = 0; i < n; i++) {
        if (visit(arg, found[i])) {
            locus_destmap_take(map, segment, found[i]);
            removed++;
        }
    }
    walk->removed = walk->removed || removed > 0;
    return count + removed * WALK_REMOVAL;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t locus_destmap_walk(struct destmap *map, struct destmap_walk *walk, size_t budget,
                          destmap_visit_fn *visit, void *arg)
{
    size_t looked = 0;

    if (destmap_is_clear(map)) {
        walk->finished = true;
    }
    /* Downwards, since closing a gap shifts entries down: from where the walk has been. */
    while (!walk->finished && looked < budget) {
        uint64_t first = walk_segment(map, walk);
        struct segment *segment = &map->directory[first];
        while (walk->position > 0 && looked < budget) {
            size_t count = least(least(CHUNK, walk->position), budget - looked);
            looked += walk_chunk(map, walk, segment, count, visit, arg);
        }
        if (walk->position == 0) {
            looked += walk_on(map, walk, first);
        }
    }
    return least(looked, budget);
}
