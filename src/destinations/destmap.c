/* SPDX-License-Identifier: MIT */
#include "destmap.h"

#include "../base/rng.h"

enum {
    SEGMENT_SLOTS_MIN = 16,
    SEGMENT_BYTES_MAX = 65536, /* what one rebuild or split moves at most */
    DEPTH_MAX = 26,
    SMALL_BYTES = 1 << 20, /* below, slots are cheaper than mispredicted probes */
    LOAD_SMALL = 35,
    LOAD_LARGE = 60,
};

static uint32_t slots_max(const struct destmap *map)
{
    return (uint32_t)(SEGMENT_BYTES_MAX / dest_size(map->wide));
}

static size_t segment_bytes(const struct destmap *map, uint32_t slot_count)
{
    return segment_slots(slot_count) * dest_size(map->wide);
}

union locus_key locus_dest_key(const struct destmap *map, const struct dest *dest)
{
    union locus_key key = {.words = {0, 0}};

    if (map->wide) {
        key.words[0] = dest->words[0];
        key.words[1] = dest->words[1];
    } else {
        key.ipv4 = dest->ipv4;
    }
    return key;
}

static uint64_t dest_hash(const struct destmap *map, const struct dest *dest)
{
    union locus_key key;

    if (map->wide) {
        memcpy(key.words, dest->words, sizeof(key.words));
    } else {
        key.ipv4 = dest->ipv4;
    }
    return destmap_hash(map, &key);
}

static bool is_small(const struct destmap *map)
{
    return map->load == 0 && map->slot_count * dest_size(map->wide) < SMALL_BYTES;
}

static uint32_t load_percent(const struct destmap *map)
{
    if (map->load != 0) {
        return map->load;
    }
    return is_small(map) ? LOAD_SMALL : LOAD_LARGE;
}

/* How many slots a rebuilt segment gets for that many entries: twice what they need while
 * the map is small, an eighth more above, where memory counts. */
static uint32_t slots_for(const struct destmap *map, uint32_t entries)
{
    uint64_t needed = (uint64_t)entries * 100 / load_percent(map) + 1;
    uint64_t roomy = is_small(map) ? 2 * needed : needed + needed / 8;

    return roomy < SEGMENT_SLOTS_MIN ? SEGMENT_SLOTS_MIN : (uint32_t)roomy;
}

/* No entries, and no memory for any: two places of one segment, whose only slot is free. */
static void clear(struct destmap *map)
{
    for (int i = 0; i < 2; i++) {
        map->none[i] =
            (struct segment){.slots = (void *)map->none_slots, .slot_count = 1};
    }
    map->directory = map->none;
    map->shift = 63;
    map->count = map->slot_count = map->bytes = 0;
}

void locus_destmap_init(struct destmap *map, bool wide, uint32_t load, uint64_t seed,
                        const struct locus_allocator *allocator)
{
    memset(map, 0, sizeof(*map));
    map->wide = wide;
    map->load = load;
    map->allocator = allocator;
    map->seed.a = rng_next(&seed);
    map->seed.b = rng_next(&seed) | 1; /* a product with 0 would lose the key */
    locus_setpool_init(&map->sets, allocator);
    clear(map);
}

void locus_destmap_fini(struct destmap *map)
{
    uint64_t directory = (uint64_t)1 << destmap_depth(map);

    if (!destmap_is_clear(map)) {
        for (uint64_t i = 0; i < directory; i += destmap_places(map, i)) {
            struct segment *segment = &map->directory[i];
            release(map->allocator, segment->slots,
                    segment_bytes(map, segment->slot_count));
        }
        release(map->allocator, map->directory, directory * sizeof(*map->directory));
    }
    locus_setpool_fini(&map->sets);
    clear(map);
}

static unsigned char *make_slots(struct destmap *map, uint32_t slot_count)
{
    size_t bytes = segment_bytes(map, slot_count);
    unsigned char *slots = alloc_zeroed(map->allocator, bytes);

    if (slots != NULL) {
        map->slot_count += slot_count;
        map->bytes += bytes;
    }
    return slots;
}

static void free_slots(struct destmap *map, unsigned char *slots, uint32_t slot_count)
{
    if (slots != NULL) {
        map->slot_count -= slot_count;
        map->bytes -= segment_bytes(map, slot_count);
        release(map->allocator, slots, segment_bytes(map, slot_count));
    }
}

/* The free slot for a hash, or NULL when its cluster runs into the last spare slot, which
 * stays empty: probes end there. */
static struct dest *free_slot(const struct destmap *map, unsigned char *slots,
                              uint32_t slot_count, uint64_t hash)
{
    size_t last = segment_slots(slot_count) - 1;

    for (size_t i = segment_home(slot_count, hash); i < last; i++) {
        struct dest *dest = segment_slot(map, slots, i);
        if (dest->ref == 0) {
            return dest;
        }
    }
    return NULL;
}

/* Copies the entries of a segment to new slots: those with the hash bit in mask to the
 * second, the others to the first. */
static bool copy_entries(const struct destmap *map, const struct segment *from,
                         struct segment to[2], uint64_t mask)
{
    size_t in_all = segment_slots(from->slot_count);

    for (size_t i = 0; i < in_all; i++) {
        const struct dest *dest = segment_slot(map, from->slots, i);
        if (dest->ref == 0) {
            continue;
        }
        uint64_t hash = dest_hash(map, dest);
        const struct segment *half = &to[(hash & mask) != 0];
        struct dest *copy = free_slot(map, half->slots, half->slot_count, hash);
        if (copy == NULL) {
            return false;
        }
        memcpy(copy, dest, dest_size(map->wide));
    }
    return true;
}

/*
 * New slots for the entries of a segment: count segments of them, 1 or 2, as many slots as
 * each says, or more if a cluster happens to run into the end. false: no memory.
 */
static bool rebuild(struct destmap *map, const struct segment *from,
                    struct segment to[2], unsigned count, uint64_t mask)
{
    for (int attempt = 0; attempt < 8; attempt++) {
        bool made = true;
        for (unsigned i = 0; i < count; i++) {
            to[i].slots = make_slots(map, to[i].slot_count);
            made = made && to[i].slots != NULL;
        }
        if (made && copy_entries(map, from, to, mask)) {
            return true;
        }
        for (unsigned i = 0; i < count; i++) {
            free_slots(map, to[i].slots, to[i].slot_count);
            to[i].slot_count += to[i].slot_count / 8 + 1;
        }
        if (!made) {
            return false;
        }
    }
    return false;
}

/* Writes a segment to all its places; the count belongs to the first of them. */
static void set_places(struct destmap *map, uint64_t first, uint64_t count,
                       const struct segment *segment)
{
    for (uint64_t i = 0; i < count; i++) {
        map->directory[first + i] = *segment;
    }
}

static bool resize(struct destmap *map, uint64_t first, uint32_t slot_count)
{
    struct segment old = map->directory[first], made[2] = {old};

    made[0].slot_count = slot_count;
    if (!rebuild(map, &old, made, 1, 0)) {
        return false;
    }
    free_slots(map, old.slots, old.slot_count);
    set_places(map, first, destmap_places(map, first), &made[0]);
    return true;
}

static bool double_directory(struct destmap *map)
{
    uint64_t old = (uint64_t)1 << destmap_depth(map);
    struct segment *grown;

    if (destmap_depth(map) == DEPTH_MAX) {
        return false;
    }
    grown = alloc_bytes(map->allocator, 2 * old * sizeof(*grown));
    if (grown == NULL) {
        return false;
    }
    for (uint64_t i = 0; i < old; i++) {
        grown[2 * i] = map->directory[i];
        grown[2 * i + 1] = map->directory[i];
    }
    release(map->allocator, map->directory, old * sizeof(*grown));
    map->directory = grown;
    map->shift--;
    map->bytes += old * sizeof(*grown);
    return true;
}

static uint32_t count_masked(const struct destmap *map, const struct segment *segment,
                             uint64_t mask)
{
    size_t in_all = segment_slots(segment->slot_count);
    uint32_t count = 0;

    for (size_t i = 0; i < in_all; i++) {
        const struct dest *dest = segment_slot(map, segment->slots, i);
        count += dest->ref != 0 && (dest_hash(map, dest) & mask) != 0;
    }
    return count;
}

/* Two segments of one, by the next bit of the hash. */
static bool split(struct destmap *map, uint64_t hash)
{
    if (destmap_segment(map, hash)->depth == destmap_depth(map) &&
        !double_directory(map)) {
        return false;
    }
    uint64_t first = destmap_home(map, hash);
    uint64_t half = destmap_places(map, first) / 2;
    struct segment old = map->directory[first], made[2];
    uint64_t mask = (uint64_t)1 << (63 - old.depth);

    memset(made, 0, sizeof(made));
    made[1].used = (uint16_t)count_masked(map, &old, mask);
    made[0].used = (uint16_t)(old.used - made[1].used);
    for (int i = 0; i < 2; i++) {
        made[i].depth = (uint8_t)(old.depth + 1);
        made[i].slot_count = slots_for(map, made[i].used);
    }
    if (!rebuild(map, &old, made, 2, mask)) {
        return false;
    }
    free_slots(map, old.slots, old.slot_count);
    set_places(map, first, half, &made[0]);
    set_places(map, first + half, half, &made[1]);
    return true;
}

static bool make_directory(struct destmap *map)
{
    struct segment segment = {.slot_count = SEGMENT_SLOTS_MIN};
    struct segment *directory = alloc_bytes(map->allocator, 2 * sizeof(*directory));

    if (directory == NULL) {
        return false;
    }
    segment.slots = make_slots(map, segment.slot_count);
    if (segment.slots == NULL) {
        release(map->allocator, directory, 2 * sizeof(*directory));
        return false;
    }
    directory[0] = directory[1] = segment;
    map->directory = directory;
    map->bytes += 2 * sizeof(*directory);
    return true;
}

/* More room where a hash belongs. */
static bool grow(struct destmap *map, uint64_t hash)
{
    uint64_t first = destmap_home(map, hash);
    const struct segment *segment = &map->directory[first];
    uint32_t wanted = slots_for(map, segment->used + 1u);

    /* A segment whose cluster ran into its end before its load did. */
    if (wanted <= segment->slot_count) {
        wanted = segment->slot_count + segment->slot_count / 8 + 1;
    }
    return wanted <= slots_max(map) ? resize(map, first, wanted) : split(map, hash);
}

void locus_destmap_reserve(struct destmap *map, uint64_t entries)
{
    if (entries == 0 || !make_directory(map)) {
        return;
    }
    /* Splitting what is empty is cheap: double until a segment's share fits, then size
     * them all, with room for the uneven shares that hashing gives. */
    uint64_t share = entries;
    unsigned depth = 0;
    while (share > slots_max(map) * (uint64_t)LOAD_SMALL / 100 && depth < DEPTH_MAX) {
        share = (entries >> ++depth) + 1;
    }
    for (uint64_t i = 0; i < (uint64_t)1 << depth; i++) {
        uint64_t hash = depth == 0 ? 0 : i << (64 - depth);
        while (destmap_segment(map, hash)->depth < depth) {
            if (!split(map, hash)) {
                return;
            }
        }
    }
    for (uint64_t i = 0; i < (uint64_t)1 << destmap_depth(map);
         i += destmap_places(map, i)) {
        if (!resize(map, i, slots_for(map, (uint32_t)(share + share / 8)))) {
            return;
        }
    }
}

static struct dest *find_room(struct destmap *map, uint64_t hash)
{
    struct segment *segment = destmap_segment(map, hash);
    uint64_t first = destmap_home(map, hash);
    uint64_t limit = (uint64_t)segment->slot_count * load_percent(map) / 100;

    if (map->directory[first].used >= limit) {
        /* Without memory to grow, the slots that are left are used. */
        (void)grow(map, hash);
        segment = destmap_segment(map, hash);
    }
    struct dest *dest = free_slot(map, segment->slots, segment->slot_count, hash);
    if (dest == NULL && grow(map, hash)) {
        segment = destmap_segment(map, hash);
        dest = free_slot(map, segment->slots, segment->slot_count, hash);
    }
    return dest;
}

struct dest *locus_destmap_insert(struct destmap *map, const union locus_key *key,
                                  uint64_t hash, uint32_t ref, uint32_t tick)
{
    struct dest *dest;

    if (destmap_is_clear(map) && !make_directory(map)) {
        return NULL;
    }
    dest = find_room(map, hash);
    if (dest == NULL) {
        return NULL;
    }
    dest->lastuse = dest->lastmod = tick;
    if (map->wide) {
        dest->words[0] = key->words[0];
        dest->words[1] = key->words[1];
    } else {
        dest->ipv4 = key->ipv4;
    }
    dest->ref = ref;
    map->directory[destmap_home(map, hash)].used++;
    map->count++;
    return dest;
}

/* Shifts the rest of the cluster back over the hole, so that every entry stays reachable
 * from its home. */
static void close_gap(const struct destmap *map, const struct segment *segment,
                      struct dest *dest)
{
    size_t size = dest_size(map->wide);
    size_t hole = (size_t)((unsigned char *)dest - segment->slots) / size;

    for (size_t i = hole + 1;; i++) {
        struct dest *next = segment_slot(map, segment->slots, i);
        if (next->ref == 0) {
            break;
        }
        if (segment_home(segment->slot_count, dest_hash(map, next)) <= hole) {
            memcpy(segment_slot(map, segment->slots, hole), next, size);
            hole = i;
        }
    }
    segment_slot(map, segment->slots, hole)->ref = 0;
}

void locus_destmap_take(struct destmap *map, struct segment *segment, struct dest *dest)
{
    segment->used--;
    map->count--;
    close_gap(map, segment, dest);
}

void locus_destmap_remove(struct destmap *map, struct dest *dest)
{
    locus_destmap_take(map, &map->directory[destmap_home(map, dest_hash(map, dest))],
                       dest);
}

size_t locus_destmap_shrink(struct destmap *map, uint64_t first)
{
    const struct segment *segment = &map->directory[first];
    uint32_t fitting = slots_for(map, segment->used);
    size_t looked = 0;

    if (fitting < segment->slot_count / 2) {
        looked = segment_slots(segment->slot_count);
        (void)resize(map, first, fitting);
    }
    return looked;
}
