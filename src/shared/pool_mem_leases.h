/* SPDX-License-Identifier: MIT */
/*
 * The leases of a pool in memory. They are found by id in a hash table, and end in the order of
 * a heap.
 */
#ifndef LOCUS_SHARED_POOL_MEM_LEASES_H
#define LOCUS_SHARED_POOL_MEM_LEASES_H

#include "pool_mem_members.h"

struct lease {
    struct heap_item end;
    UT_hash_handle hh;
    struct member *member; /* dropped or not */
    uint64_t deadline_ms;
    char id[LOCUS_LEASE_ID_SIZE];
};

struct leases {
    struct lease *by_id;
    struct heap ends; /* by deadline */
    uint64_t turns;
};

/* NULL: there is none, or it has been reaped. */
struct lease *locus_leases_find(struct leases *leases, const char *id);
/* A new lease on a member. ENOMEM. */
int locus_leases_add(struct leases *leases, struct member *member, uint64_t deadline_ms,
                     const char *id);
void locus_leases_renew(struct leases *leases, struct lease *lease,
                        uint64_t deadline_ms);
void locus_leases_end(struct leases *leases, struct members *members,
                      struct lease *lease);
/* Ends those whose time is up, POOL_REAP_MAX at most. */
void locus_leases_reap(struct leases *leases, struct members *members, uint64_t now_ms);
void locus_leases_end_all(struct leases *leases, struct members *members);

#endif
