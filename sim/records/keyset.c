/* SPDX-License-Identifier: MIT */
/*
 * Open addressing over 32-bit numbers of entries that lie in one array: growing moves only
 * the numbers, and the array is the order of appearance. Placement is keyed, since the
 * clients of a log choose destinations.
 */
#include "keyset.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

void keyset_init(struct keyset *set)
{
    memset(set, 0, sizeof(*set));
    if (getrandom(set->seed, sizeof(set->seed), GRND_NONBLOCK) < 0) {
        set->seed[0] = (uint64_t)(uintptr_t)set;
    }
}

void keyset_free(struct keyset *set)
{
    free(set->entries);
    free(set->slots);
    free(set->texts);
    memset(set, 0, sizeof(*set));
}

static uint64_t fold_product(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 u128;
    u128 product = (u128)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* An IPv4 key uses four bytes of the union only; nobody cleared the others. */
static union locus_key whole_key(uint8_t family, const union locus_key *key)
{
    union locus_key whole = {.words = {0, 0}};

    if (family == LOCUS_IPV4) {
        whole.ipv4 = key->ipv4;
    } else {
        whole = *key;
    }
    return whole;
}

static uint64_t hash_key(const struct keyset *set, uint8_t family,
                         const union locus_key *key)
{
    uint64_t x = fold_product(key->words[0] ^ set->seed[0] ^ 0x9e3779b97f4a7c15ull,
                              key->words[1] ^ set->seed[1] ^ 0xd1b54a32d192ed03ull);

    return fold_product(x ^ family, 0xa0761d6478bd642full);
}

static bool same(const struct keyset_entry *entry, uint8_t family,
                 const union locus_key *key)
{
    return entry->family == family && entry->key.words[0] == key->words[0] &&
           entry->key.words[1] == key->words[1];
}

/* The slot that holds the key, or the free one where it belongs. */
static size_t find_slot(const struct keyset *set, uint8_t family,
                        const union locus_key *key, uint64_t hash)
{
    size_t at = hash & set->slot_mask;

    while (set->slots[at] != 0 &&
           !same(&set->entries[set->slots[at] - 1], family, key)) {
        at = (at + 1) & set->slot_mask;
    }
    return at;
}

/* A quarter full at most: a processor cannot foresee whether a key lies where it is looked
 * for first, and waits wherever it does not. */
static bool slots_full(const struct keyset *set)
{
    return set->slots == NULL || set->count * 4 > set->slot_mask;
}

static bool grow_slots(struct keyset *set)
{
    size_t size = set->slots == NULL ? 1024 : (set->slot_mask + 1) * 2;
    uint32_t *grown = calloc(size, sizeof(*grown));

    if (grown == NULL) {
        return false;
    }
    free(set->slots);
    set->slots = grown;
    set->slot_mask = size - 1;
    for (size_t i = 0; i < set->count; i++) {
        const struct keyset_entry *e = &set->entries[i];
        set->slots[find_slot(set, e->family, &e->key,
                             hash_key(set, e->family, &e->key))] = (uint32_t)i + 1;
    }
    return true;
}

static bool grow_entries(struct keyset *set)
{
    size_t capacity = set->entry_capacity == 0 ? 512 : set->entry_capacity * 3 / 2;
    struct keyset_entry *grown = realloc(set->entries, capacity * sizeof(*grown));

    if (grown == NULL) {
        return false;
    }
    set->entries = grown;
    set->entry_capacity = capacity;
    return true;
}

/* Appends a length and that many bytes; 1 + where, 0 when out of memory. */
static uint64_t keep_text(struct keyset *set, struct slice text)
{
    uint16_t length = (uint16_t)(text.length < UINT16_MAX ? text.length : UINT16_MAX);
    size_t needed = set->text_bytes + sizeof(length) + length;

    if (needed > set->text_capacity) {
        size_t capacity = needed + needed / 2 + 4096;
        char *grown = realloc(set->texts, capacity);
        if (grown == NULL) {
            return 0;
        }
        set->texts = grown;
        set->text_capacity = capacity;
    }
    uint64_t at = set->text_bytes;
    memcpy(set->texts + at, &length, sizeof(length));
    memcpy(set->texts + at + sizeof(length), text.text, length);
    set->text_bytes = needed;
    return at + 1;
}

static size_t add(struct keyset *set, uint8_t family, const union locus_key *key,
                  uint64_t hash, struct slice text)
{
    uint64_t kept = 0;

    if (set->slots != NULL) {
        size_t slot = find_slot(set, family, key, hash);
        if (set->slots[slot] != 0) {
            return set->slots[slot] - 1;
        }
    }
    if (set->count == KEYSET_FULL ||
        (set->count == set->entry_capacity && !grow_entries(set)) ||
        (slots_full(set) && !grow_slots(set))) {
        return SIZE_MAX;
    }
    if (text.text != NULL && (kept = keep_text(set, text)) == 0) {
        return SIZE_MAX;
    }
    size_t index = set->count++;
    set->entries[index] = (struct keyset_entry){*key, kept & KEYSET_TEXTS, family};
    set->slots[find_slot(set, family, key, hash)] = (uint32_t)index + 1;
    return index;
}

bool keyset_settle(struct keyset *set)
{
    size_t count = set->noted_count;
    bool ok = true;

    set->noted_count = 0;
    for (size_t i = 0; i < count && set->slots != NULL; i++) {
        uint32_t held = set->slots[set->noted[i].hash & set->slot_mask];
        if (held != 0) {
            __builtin_prefetch(&set->entries[held - 1]);
        }
    }
    for (size_t i = 0; i < count && ok; i++) {
        struct keyset_noted *n = &set->noted[i];
        size_t number = add(set, n->family, &n->key, n->hash, (struct slice){NULL, 0});
        ok = number != SIZE_MAX;
        *n->number = (uint32_t)number;
    }
    return ok;
}

bool keyset_note(struct keyset *set, uint8_t family, const union locus_key *key,
                 uint32_t *number)
{
    struct keyset_noted *n = &set->noted[set->noted_count++];

    n->key = whole_key(family, key);
    n->family = family;
    n->number = number;
    n->hash = hash_key(set, family, &n->key);
    if (set->slots != NULL) {
        __builtin_prefetch(&set->slots[n->hash & set->slot_mask]);
    }
    return set->noted_count < KEYSET_NOTED || keyset_settle(set);
}

size_t keyset_add(struct keyset *set, uint8_t family, const union locus_key *key,
                  struct slice text)
{
    union locus_key whole = whole_key(family, key);

    if (set->noted_count > 0 && !keyset_settle(set)) {
        return SIZE_MAX;
    }
    return add(set, family, &whole, hash_key(set, family, &whole), text);
}

size_t keyset_find(const struct keyset *set, uint8_t family, const union locus_key *key)
{
    union locus_key whole = whole_key(family, key);

    if (set->slots == NULL) {
        return SIZE_MAX;
    }
    uint32_t held =
        set->slots[find_slot(set, family, &whole, hash_key(set, family, &whole))];
    return held == 0 ? SIZE_MAX : held - 1;
}

struct slice keyset_text(const struct keyset *set, size_t index)
{
    uint64_t text = set->entries[index].text;
    uint16_t length;

    if (text == 0) {
        return (struct slice){NULL, 0};
    }
    memcpy(&length, set->texts + text - 1, sizeof(length));
    return (struct slice){set->texts + text - 1 + sizeof(length), length};
}
