/* SPDX-License-Identifier: MIT */
/*
 * Destination -> servers.
 *
 * A directory of small open-addressing tables (extendible hashing): the top bits of a
 * key's hash choose the segment, its low 32 bits the slot in it. A segment that gets full
 * is rebuilt a little larger or, at SEGMENT_SLOTS_MAX, split in two; so growth, shrinking
 * and freeing touch one segment at a time, and no pick ever waits for a whole map. Slots
 * are probed linearly and never wrap: a few spare slots follow the last home, the very
 * last of them is always empty, and a probe ends there without any bounds check. Deleting
 * shifts the rest of the cluster back; there are no tombstones.
 *
 * An entry is 16 bytes for IPv4 keys, 32 for the others:
 *
 *     ref 0            the slot is free
 *     ref 1..2^31-1    one server: its slot + 1
 *     ref, top bit set a handle of the set pool: two servers or more
 *
 * The map knows nothing of servers, rules or time; what lastuse and lastmod mean is up to
 * its caller. Neither its sizes nor its seed changes what can be found in it.
 */
#ifndef LOCUS_DESTMAP_H
#define LOCUS_DESTMAP_H

#include "../base/alloc.h"
#include "../base/compiler.h"
#include "../base/hash.h"
#include "serverset.h"

struct dest {
    uint32_t ref;
    uint32_t lastuse, lastmod; /* ticks, 32 bits of them */
    uint32_t ipv4;             /* the key of IPv4 maps; unused in others */
    uint64_t words[];          /* the key of the others: two words */
};

struct segment {
    unsigned char *slots;
    uint32_t slot_count; /* homes; the spare slots come on top */
    uint16_t used;       /* entries; kept at the segment's first directory place only */
    uint8_t depth;       /* how many hash bits its keys have in common */
};

struct destmap {
    struct segment *directory; /* 2^depth places, depth at least 1; none when clear */
    unsigned shift;            /* of a hash to its place: 64 - depth */
    bool wide;                 /* 32-byte entries */
    uint32_t load;  /* percent of slots in use at which a segment grows; 0: automatic */
    uint64_t count; /* entries */
    uint64_t slot_count; /* homes in all */
    uint64_t bytes;      /* directory and segments */
    struct hash_seed seed;
    struct setpool sets;
    const struct locus_allocator *allocator;
    struct segment none[2]; /* a directory in which nothing is found, and its slot */
    uint64_t none_slots[4];
};

/* allocator is borrowed until the fini. No memory is taken. The map must stay where it is. */
void locus_destmap_init(struct destmap *map, bool wide, uint32_t load, uint64_t seed,
                        const struct locus_allocator *allocator);
void locus_destmap_fini(struct destmap *map);
/* Makes room for that many entries; as far as memory goes. The map must be empty. */
void locus_destmap_reserve(struct destmap *map, uint64_t entries);

static inline uint64_t destmap_hash(const struct destmap *map,
                                    const union locus_key *key)
{
    return hash_key(&map->seed, key, map->wide);
}

static inline struct segment *destmap_segment(const struct destmap *map, uint64_t hash)
{
    return &map->directory[hash >> map->shift];
}

static inline size_t dest_size(bool wide)
{
    return wide ? 32 : 16;
}

static inline size_t segment_home(uint32_t slot_count, uint64_t hash)
{
    return (size_t)(((hash & UINT32_MAX) * slot_count) >> 32);
}

static inline bool dest_has_key(const struct dest *dest, const union locus_key *key,
                                bool wide)
{
    return wide ? dest->words[0] == key->words[0] && dest->words[1] == key->words[1]
                : dest->ipv4 == key->ipv4;
}

static inline struct dest *destmap_probe(const struct segment *segment,
                                         const union locus_key *key, uint64_t hash,
                                         bool wide)
{
    unsigned char *at =
        segment->slots + segment_home(segment->slot_count, hash) * dest_size(wide);
    struct dest *dest = (struct dest *)(void *)at;

    /* Free slots may still have a key. */
    if (LIKELY(dest_has_key(dest, key, wide) && dest->ref != 0)) {
        return dest;
    }
    while (dest->ref != 0 && !dest_has_key(dest, key, wide)) {
        at += dest_size(wide);
        dest = (struct dest *)(void *)at;
    }
    return dest->ref != 0 ? dest : NULL;
}

/* The entry, valid until the next insert or remove, or NULL. */
static inline struct dest *destmap_find(const struct destmap *map,
                                        const union locus_key *key, uint64_t hash)
{
    const struct segment *segment = destmap_segment(map, hash);

    return map->wide ? destmap_probe(segment, key, hash, true)
                     : destmap_probe(segment, key, hash, false);
}

/* Has the lines fetched that a find will touch: that of its home, and the one that a short
 * cluster may reach into. Inline always: gcc takes a function that
 * does nothing else for one without effect, and drops its calls. */
static ALWAYS_INLINE void destmap_prefetch(const struct destmap *map, uint64_t hash)
{
#if defined(__GNUC__)
    const struct segment *segment = destmap_segment(map, hash);
    size_t home = segment_home(segment->slot_count, hash);
    __builtin_prefetch(segment->slots + home * dest_size(map->wide));
    __builtin_prefetch(segment->slots + (home + 3) * dest_size(map->wide));
#else
    (void)map;
    (void)hash;
#endif
}

/* Adds a key that is not there, with that ref (not 0) and both times at tick. NULL: no
 * memory, nothing changed. Moves entries. */
struct dest *locus_destmap_insert(struct destmap *map, const union locus_key *key,
                                  uint64_t hash, uint32_t ref, uint32_t tick);
/* Takes an entry out; its set, if any, must have been freed. Moves entries. */
void locus_destmap_remove(struct destmap *map, struct dest *dest);

union locus_key locus_dest_key(const struct destmap *map, const struct dest *dest);

/* ---- the ground plan, for those who walk over it ---- */

enum { SPARE_SLOTS = 128 };

/* Homes and spare slots together. */
static inline size_t segment_slots(uint32_t slot_count)
{
    return (size_t)slot_count + (slot_count < SPARE_SLOTS ? slot_count : SPARE_SLOTS);
}

static inline struct dest *segment_slot(const struct destmap *map, unsigned char *slots,
                                        size_t index)
{
    return (struct dest *)(void *)(slots + index * dest_size(map->wide));
}

static inline bool destmap_is_clear(const struct destmap *map)
{
    return map->directory == map->none;
}

static inline unsigned destmap_depth(const struct destmap *map)
{
    return 64 - map->shift;
}

/* How many directory places share the segment at index, and the first of them. */
static inline uint64_t destmap_places(const struct destmap *map, uint64_t index)
{
    return (uint64_t)1 << (destmap_depth(map) - map->directory[index].depth);
}

static inline uint64_t destmap_first_place(const struct destmap *map, uint64_t index)
{
    return index & ~(destmap_places(map, index) - 1);
}

/* The first place of the segment that a hash belongs to: where it is counted. */
static inline uint64_t destmap_home(const struct destmap *map, uint64_t hash)
{
    return destmap_first_place(map,
                               (uint64_t)(destmap_segment(map, hash) - map->directory));
}

/* Takes an entry of that segment out, which is the one that its keys are counted at. */
void locus_destmap_take(struct destmap *map, struct segment *segment,
                        struct dest *dest);
/* Gives memory back if the segment at its first place holds less than half of what it could;
 * how many slots were looked at for it. */
size_t locus_destmap_shrink(struct destmap *map, uint64_t first);

#endif
