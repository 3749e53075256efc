/* SPDX-License-Identifier: MIT */
/*
 * The members of a pool in memory, live or not. Every member is found by name in a hash table.
 * The live ones are also a heap by (count, name), so that a pick costs O(log n) and no search.
 */
#ifndef LOCUS_SHARED_POOL_MEM_MEMBERS_H
#define LOCUS_SHARED_POOL_MEM_MEMBERS_H

#include "heap.h"
#include "names.h"
#include "pool_ops.h"

struct member {
    struct heap_item live; /* outside the heap while it is not live */
    UT_hash_handle hh;
    uint64_t count;
    enum locus_pool_state state;
    uint32_t streak;
    uint32_t held;  /* leases */
    uint32_t limit; /* its own; 0: the pool's */
    uint64_t turn;  /* of its last lease */
    bool gone;      /* dropped, and only remembered for the sake of its leases */
    char name[];
};

struct members {
    struct member *by_name; /* dropped ones that are held too */
    struct heap live;       /* with room for all, so that entering it cannot fail */
};

/* The i-th of the heap; 0 is the next to be picked. */
static inline struct member *members_live(const struct members *members, size_t i)
{
    return (struct member *)(void *)members->live.items[i];
}

/* The lowest count of a live member; 0: none is live. */
static inline uint64_t members_lowest(const struct members *members)
{
    return members->live.count > 0 ? members_live(members, 0)->count : 0;
}

/* NULL: not there, or dropped. */
struct member *locus_members_find(struct members *members, const char *name);
/* Makes a new one live, or one that was dropped. EFULL, ENOMEM. */
int locus_members_add(struct members *members, const char *name, uint64_t count);
/* Counts a pick of the first live member. */
void locus_members_picked(struct members *members);
/* Makes a member live that is not; not below the others' counts, unless exact. */
void locus_members_revive(struct members *members, struct member *member, bool exact);
/* A member is live no more, whether it was or not. */
void locus_members_leave(struct members *members, struct member *member,
                         enum locus_pool_state state);
/* Drops a member. Its leases go on, and count again should it be added again. */
void locus_members_drop(struct members *members, struct member *member);
/* One lease less; the last one takes a dropped member with it. */
void locus_members_unheld(struct members *members, struct member *member);
/* Takes the lowest count off all. */
void locus_members_rebase(struct members *members);

#endif
