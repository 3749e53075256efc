/* SPDX-License-Identifier: MIT */
#include "server_set.h"

#include <stdlib.h>
#include <string.h>

#include <locus/status.h>

/* Behind a word with bit 0 clear. With bit 0 set the word is 2 * server + 1. */
struct block {
    uint32_t count;
    uint32_t capacity; /* of items; 0: items are a bitmap over the universe */
    uint32_t items[];
};

static struct block *block_of(server_set set)
{
    return (struct block *)(uintptr_t)set;
}

static server_set set_of(const struct block *block)
{
    return (server_set)(uintptr_t)block;
}

static bool is_single(server_set set)
{
    return (set & 1) != 0;
}

static uint32_t bitmap_words(uint32_t universe)
{
    return (universe + 31) / 32;
}

/* Where the first item >= server is or would be. */
static uint32_t lower_bound(const struct block *block, uint32_t server)
{
    uint32_t low = 0, high = block->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (block->items[middle] < server) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

bool server_set_has_many(server_set set, uint32_t universe, uint32_t server)
{
    return server_set_next(set, universe, server) == server;
}

static struct block *new_block(uint32_t capacity, uint32_t words)
{
    struct block *block = calloc(1, sizeof(*block) + words * sizeof(uint32_t));

    if (block != NULL) {
        block->capacity = capacity;
    }
    return block;
}

static void insert(struct block *block, uint32_t server)
{
    if (block->capacity == 0) {
        block->items[server / 32] |= 1u << (server % 32);
    } else {
        uint32_t at = lower_bound(block, server);
        memmove(block->items + at + 1, block->items + at,
                (block->count - at) * sizeof(*block->items));
        block->items[at] = server;
    }
    block->count++;
}

/* A block with room for twice as many, or a bitmap where that is no larger. */
static struct block *larger(server_set set, uint32_t universe)
{
    uint32_t count = server_set_count(set, universe);
    uint32_t capacity = count < 2 ? 4 : 2 * count;
    uint32_t words = bitmap_words(universe);
    struct block *block =
        capacity >= words ? new_block(0, words) : new_block(capacity, capacity);

    if (block == NULL) {
        return NULL;
    }
    for (uint32_t s = server_set_next(set, universe, 0); s != SERVER_SET_END;
         s = server_set_next(set, universe, s + 1)) {
        insert(block, s);
    }
    return block;
}

int server_set_add_many(server_set *set, uint32_t universe, uint32_t server)
{
    if (*set == 0) {
        *set = 2 * (uint64_t)server + 1;
        return LOCUS_OK;
    }
    if (server_set_has_many(*set, universe, server)) {
        return LOCUS_OK;
    }
    struct block *block = is_single(*set) ? NULL : block_of(*set);
    if (block == NULL || (block->capacity != 0 && block->count == block->capacity)) {
        struct block *grown = larger(*set, universe);
        if (grown == NULL) {
            return LOCUS_ENOMEM;
        }
        server_set_free(set, universe);
        *set = set_of(grown);
        block = grown;
    }
    insert(block, server);
    return LOCUS_OK;
}

void server_set_remove(server_set *set, uint32_t universe, uint32_t server)
{
    if (!server_set_has(*set, universe, server)) {
        return;
    }
    if (universe <= 64) {
        *set &= ~((uint64_t)1 << server);
        return;
    }
    if (is_single(*set) || block_of(*set)->count == 1) {
        server_set_free(set, universe);
        return;
    }
    struct block *block = block_of(*set);
    block->count--;
    if (block->capacity == 0) {
        block->items[server / 32] &= ~(1u << (server % 32));
        return;
    }
    uint32_t at = lower_bound(block, server);
    memmove(block->items + at, block->items + at + 1,
            (block->count - at) * sizeof(*block->items));
}

uint32_t server_set_count(server_set set, uint32_t universe)
{
    if (universe <= 64) {
        return (uint32_t)__builtin_popcountll(set);
    }
    if (set == 0 || is_single(set)) {
        return set != 0;
    }
    return block_of(set)->count;
}

static uint32_t next_bit(const uint32_t *words, uint32_t universe, uint32_t from)
{
    uint32_t word = from / 32;
    uint32_t bits;

    if (from >= universe) {
        return SERVER_SET_END;
    }
    bits = words[word] & (UINT32_MAX << (from % 32));
    while (bits == 0) {
        if (++word == bitmap_words(universe)) {
            return SERVER_SET_END;
        }
        bits = words[word];
    }
    return 32 * word + (uint32_t)__builtin_ctz(bits);
}

uint32_t server_set_next(server_set set, uint32_t universe, uint32_t from)
{
    if (set == 0) {
        return SERVER_SET_END;
    }
    if (universe <= 64) {
        uint64_t rest = from < 64 ? set & (UINT64_MAX << from) : 0;
        return rest != 0 ? (uint32_t)__builtin_ctzll(rest) : SERVER_SET_END;
    }
    if (is_single(set)) {
        return set >> 1 >= from ? (uint32_t)(set >> 1) : SERVER_SET_END;
    }
    const struct block *block = block_of(set);
    if (block->capacity == 0) {
        return next_bit(block->items, universe, from);
    }
    uint32_t at = lower_bound(block, from);
    return at < block->count ? block->items[at] : SERVER_SET_END;
}

int server_set_copy(server_set *to, server_set from, uint32_t universe)
{
    if (universe <= 64 || from == 0 || is_single(from)) {
        *to = from;
        return LOCUS_OK;
    }
    const struct block *block = block_of(from);
    uint32_t words = block->capacity == 0 ? bitmap_words(universe) : block->capacity;
    struct block *copy = new_block(block->capacity, words);
    if (copy == NULL) {
        return LOCUS_ENOMEM;
    }
    memcpy(copy, block, sizeof(*copy) + words * sizeof(uint32_t));
    *to = set_of(copy);
    return LOCUS_OK;
}

void server_set_free(server_set *set, uint32_t universe)
{
    if (universe > 64 && *set != 0 && !is_single(*set)) {
        free(block_of(*set));
    }
    *set = 0;
}
