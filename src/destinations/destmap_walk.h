/* SPDX-License-Identifier: MIT */
/* Two ways through all entries of a map: in one go, and in parts between which it may change. */
#ifndef LOCUS_DESTMAP_WALK_H
#define LOCUS_DESTMAP_WALK_H

#include "destmap.h"

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
