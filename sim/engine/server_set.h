/* SPDX-License-Identifier: MIT */
/*
 * Sets of servers, one per destination and millions of them, so a set is one 64-bit word:
 * with up to 64 servers a bitmap; with more nothing (0), one server, or a pointer to a sorted
 * array that becomes a bitmap once that is smaller.
 */
#ifndef LOCUS_SIM_SERVER_SET_H
#define LOCUS_SIM_SERVER_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SERVER_SET_END UINT32_MAX

typedef uint64_t server_set; /* 0 is the empty set */

/* universe: how many servers there are; the same for every call on a set. */
bool server_set_has_many(server_set set, uint32_t universe, uint32_t server);
int server_set_add_many(server_set *set, uint32_t universe, uint32_t server);
void server_set_remove(server_set *set, uint32_t universe, uint32_t server);
uint32_t server_set_count(server_set set, uint32_t universe);
/* The first member >= from, SERVER_SET_END when there is none. */
uint32_t server_set_next(server_set set, uint32_t universe, uint32_t from);
int server_set_copy(server_set *to, server_set from, uint32_t universe);
void server_set_free(server_set *set, uint32_t universe);

static inline bool server_set_has(server_set set, uint32_t universe, uint32_t server)
{
    if (universe <= 64) {
        return (set >> server & 1) != 0;
    }
    return server_set_has_many(set, universe, server);
}

/* LOCUS_OK, LOCUS_ENOMEM: the set is as it was. */
static inline int server_set_add(server_set *set, uint32_t universe, uint32_t server)
{
    if (universe <= 64) {
        *set |= (uint64_t)1 << server;
        return 0;
    }
    return server_set_add_many(set, universe, server);
}

#endif
