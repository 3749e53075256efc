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

#include "alloc.h"
#include "compiler.h"
#include "hash.h"
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

/* The entries one after the other, from a zeroed place; NULL at the end. The map must not
 * change in between. */
struct destmap_place {
    uint64_t directory;
    size_t slot;
};
const struct dest *locus_destmap_next(const struct destmap *map,
                                      struct destmap_place *place);

/*
 * A walk over all entries that can stop after any slot and go on later, whatever has
 * happened to the map meanwhile. Zero-initialise. Entries that stay in the map during the
 * whole walk and are not moved by a rebuild are seen exactly once; a rebuild under the
 * walk repeats a segment, a removal by others never hides an entry from it.
 */
struct destmap_walk {
    uint64_t below; /* hashes from here on are done; 0 at the start means all */
    const unsigned char *slots; /* the segment in hand, NULL: none */
    size_t position;            /* its slots from here on are done */
    uint32_t slot_count;
    bool removed, finished;
    bool shrink; /* looks for memory to give back everywhere */
    /* Entries may be passed over that at tick were used less than age ticks ago, and whose
     * lastmod is not older than 2^31 ticks; 0: none. To be set before each part of a walk. */
    uint32_t tick, age;
};

/* What to do with an entry: true takes it out (free its set first). */
enum { WALK_REMOVAL = 8 };
typedef bool destmap_visit_fn(void *arg, struct dest *dest);

/* Visits entries until the walk is finished or budget slots were looked at; returns how
 * many were. One that is taken out counts as WALK_REMOVAL more, by what it takes. Segments
 * that the walk emptied give their memory back, and count once more for it. */
size_t locus_destmap_walk(struct destmap *map, struct destmap_walk *walk, size_t budget,
                          destmap_visit_fn *visit, void *arg);

#endif
