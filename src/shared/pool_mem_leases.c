/* SPDX-License-Identifier: MIT */
#include "pool_mem_leases.h"

#include <stdlib.h>
#include <string.h>

static struct lease *lease_at(const struct leases *leases, size_t i)
{
    return (struct lease *)(void *)leases->ends.items[i];
}

static bool ends_before(const struct heap_item *a, const struct heap_item *b)
{
    return ((const struct lease *)(const void *)a)->deadline_ms <
           ((const struct lease *)(const void *)b)->deadline_ms;
}

struct lease *locus_leases_find(struct leases *leases, const char *id)
{
    struct lease *lease;

    HASH_FIND(hh, leases->by_id, id, LOCUS_LEASE_ID_SIZE - 1, lease);
    return lease;
}

int locus_leases_add(struct leases *leases, struct member *member, uint64_t deadline_ms,
                     const char *id)
{
    struct lease *lease = calloc(1, sizeof(*lease));

    if (lease == NULL || !heap_reserve(&leases->ends, leases->ends.count + 1)) {
        free(lease);
        return LOCUS_ENOMEM;
    }
    memcpy(lease->id, id, LOCUS_LEASE_ID_SIZE);
    HASH_ADD(hh, leases->by_id, id, LOCUS_LEASE_ID_SIZE - 1, lease);
    if (lease->hh.tbl == NULL) { /* uthash had no memory */
        free(lease);
        return LOCUS_ENOMEM;
    }
    lease->member = member;
    lease->deadline_ms = deadline_ms;
    member->held++;
    member->turn = ++leases->turns;
    heap_add(&leases->ends, &lease->end, ends_before);
    return LOCUS_OK;
}

void locus_leases_renew(struct leases *leases, struct lease *lease,
                        uint64_t deadline_ms)
{
    lease->deadline_ms = deadline_ms;
    heap_update(&leases->ends, &lease->end, ends_before);
}

void locus_leases_end(struct leases *leases, struct members *members,
                      struct lease *lease)
{
    locus_members_unheld(members, lease->member);
    heap_remove(&leases->ends, &lease->end, ends_before);
    HASH_DELETE(hh, leases->by_id, lease); /* NOLINT(clang-analyzer-*): uthash */
    free(lease);
}

void locus_leases_reap(struct leases *leases, struct members *members, uint64_t now_ms)
{
    for (int i = 0; i < POOL_REAP_MAX && leases->ends.count > 0 &&
                    lease_at(leases, 0)->deadline_ms <= now_ms;
         i++) {
        locus_leases_end(leases, members, lease_at(leases, 0));
    }
}

void locus_leases_end_all(struct leases *leases, struct members *members)
{
    while (leases->ends.count > 0) {
        locus_leases_end(leases, members, lease_at(leases, leases->ends.count - 1));
    }
}
