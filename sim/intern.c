/* SPDX-License-Identifier: MIT */
#include "intern.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 1024 };

__extension__ typedef unsigned __int128 uint128_t;

/* Both halves of the 128-bit product folded: without the seed no two keys can be made to
 * meet on purpose. */
static uint64_t fold_product(uint64_t a, uint64_t b)
{
    uint128_t product = (uint128_t)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t hash_key(const struct intern *table, uint8_t family,
                         const union locus_key *key)
{
    uint64_t words[2] = {0, 0};

    if (family == LOCUS_IPV4) {
        words[0] = key->ipv4;
    } else {
        memcpy(words, key->bytes, sizeof(words));
    }
    return fold_product(words[0] ^ table->seed[0] ^ ((uint64_t)family << 56),
                        fold_product(words[1] ^ table->seed[1], 0x9e3779b97f4a7c15u) |
                            1u);
}

static bool same_key(const struct interned_key *have, uint8_t family,
                     const union locus_key *key)
{
    if (have->family != family) {
        return false;
    }
    if (family == LOCUS_IPV4) {
        return have->key.ipv4 == key->ipv4;
    }
    return memcmp(have->key.bytes, key->bytes, sizeof(key->bytes)) == 0;
}

static struct intern_slot *new_slots(size_t count)
{
    struct intern_slot *slots = malloc(count * sizeof(*slots));

    for (size_t i = 0; slots != NULL && i < count; i++) {
        slots[i].id = INTERN_NONE;
    }
    return slots;
}

int intern_init(struct intern *table, const uint64_t seed[2])
{
    memset(table, 0, sizeof(*table));
    table->seed[0] = seed[0];
    table->seed[1] = seed[1];
    table->slots = new_slots(FIRST_SLOTS);
    if (table->slots == NULL) {
        return LOCUS_ENOMEM;
    }
    table->mask = FIRST_SLOTS - 1;
    return LOCUS_OK;
}

void intern_fini(struct intern *table)
{
    free(table->slots);
    free(table->keys);
    memset(table, 0, sizeof(*table));
}

static bool grow_slots(struct intern *table)
{
    size_t count = 2 * (table->mask + 1);
    struct intern_slot *slots = new_slots(count);

    if (slots == NULL) {
        return false;
    }
    for (size_t i = 0; i <= table->mask; i++) {
        struct intern_slot old = table->slots[i];
        if (old.id == INTERN_NONE) {
            continue;
        }
        size_t at = old.hash & (count - 1);
        while (slots[at].id != INTERN_NONE) {
            at = (at + 1) & (count - 1);
        }
        slots[at] = old;
    }
    free(table->slots);
    table->slots = slots;
    table->mask = count - 1;
    return true;
}

static bool grow_keys(struct intern *table)
{
    size_t capacity = table->capacity == 0 ? FIRST_SLOTS : 2 * table->capacity;
    struct interned_key *keys = realloc(table->keys, capacity * sizeof(*keys));

    if (keys == NULL) {
        return false;
    }
    table->keys = keys;
    table->capacity = capacity;
    return true;
}

uint32_t intern_id(struct intern *table, uint8_t family, const union locus_key *key)
{
    uint64_t hash = hash_key(table, family, key);
    size_t at = hash & table->mask;

    for (; table->slots[at].id != INTERN_NONE; at = (at + 1) & table->mask) {
        const struct intern_slot *slot = &table->slots[at];
        if (slot->hash == hash && same_key(&table->keys[slot->id], family, key)) {
            return slot->id;
        }
    }
    if (table->count == INTERN_NONE ||
        (table->count == table->capacity && !grow_keys(table))) {
        return INTERN_NONE;
    }
    if (table->count >= table->mask / 2) {
        if (!grow_slots(table)) {
            return INTERN_NONE;
        }
        for (at = hash & table->mask; table->slots[at].id != INTERN_NONE;) {
            at = (at + 1) & table->mask;
        }
    }
    table->keys[table->count] = (struct interned_key){.key = *key, .family = family};
    table->slots[at] = (struct intern_slot){.hash = hash, .id = table->count};
    return table->count++;
}
