/* SPDX-License-Identifier: MIT */
/*
 * Destinations numbered 0, 1, 2 ... in order of first appearance, once per trace, so that
 * every policy keeps what it knows of a destination in a plain array.
 */
#ifndef LOCUS_SIM_INTERN_H
#define LOCUS_SIM_INTERN_H

#include <stddef.h>
#include <stdint.h>

#include <locus/locus.h>

#define INTERN_NONE UINT32_MAX

struct interned_key {
    union locus_key key;
    uint8_t family;
};

struct intern_slot {
    uint64_t hash;
    uint32_t id; /* INTERN_NONE: free */
};

struct intern {
    struct intern_slot *slots;
    size_t mask;               /* slots - 1 */
    struct interned_key *keys; /* by number */
    size_t capacity;           /* of keys */
    uint32_t count;
    uint64_t seed[2];
};

/* seed: any; where traces come from strangers, an unpredictable one. It changes no number. */
int intern_init(struct intern *table, const uint64_t seed[2]);
void intern_fini(struct intern *table);
/* The key's number, INTERN_NONE when there is no memory for a new one. */
uint32_t intern_id(struct intern *table, uint8_t family, const union locus_key *key);

#endif
