/* SPDX-License-Identifier: MIT */
/*
 * Distinct keys, numbered 0, 1, 2 ... in the order of their first appearance, with the text
 * of those that are hashed names. Memory is proportional to distinct keys: 40 bytes each
 * while the table is at its fullest, and the texts.
 */
#ifndef LOCUS_SIM_KEYSET_H
#define LOCUS_SIM_KEYSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <locus/locus.h>

#include "../base/slice.h"

struct keyset_entry {
    union locus_key key;
    uint64_t text : 56; /* 1 + place in texts; 0: none */
    uint64_t family : 8;
};

/* Keys that keyset_note() took and that are not looked up yet. */
enum { KEYSET_NOTED = 32 };
struct keyset_noted {
    union locus_key key;
    uint64_t hash;
    uint32_t *number;
    uint8_t family;
};

struct keyset {
    struct keyset_entry *entries;
    uint32_t *slots; /* 1 + index of an entry; 0: free */
    char *texts;     /* each with its length in front */
    size_t count, entry_capacity, slot_mask;
    size_t text_bytes, text_capacity;
    uint64_t seed[2];
    struct keyset_noted noted[KEYSET_NOTED];
    size_t noted_count;
};

#define KEYSET_FULL (UINT32_MAX - 1)
#define KEYSET_TEXTS ((UINT64_C(1) << 56) - 1) /* bytes: more than memory has */

/* Zero bytes are an empty set too; init only makes placement unpredictable. */
void keyset_init(struct keyset *set);
void keyset_free(struct keyset *set);
/* The key's number, SIZE_MAX when out of memory. A name's text is kept with its key the first
 * time (text.text may be NULL: none); it is cut at 64 KiB. */
size_t keyset_add(struct keyset *set, uint8_t family, const union locus_key *key,
                  struct slice text);
/* As keyset_add() without a text, but looked up later, many at a time, so that cache misses
 * overlap: the number goes to *number, which must stay until then. False: out of memory. */
bool keyset_note(struct keyset *set, uint8_t family, const union locus_key *key,
                 uint32_t *number);
/* Looks up what was noted; adding does so first. */
bool keyset_settle(struct keyset *set);
/* SIZE_MAX: not in the set. */
size_t keyset_find(const struct keyset *set, uint8_t family,
                   const union locus_key *key);
/* Empty, with a text of NULL, when none was kept. */
struct slice keyset_text(const struct keyset *set, size_t index);

#endif
