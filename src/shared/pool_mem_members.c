/* SPDX-License-Identifier: MIT */
#include "pool_mem_members.h"

#include <stdlib.h>
#include <string.h>

static bool before(const struct heap_item *a, const struct heap_item *b)
{
    const struct member *x = (const struct member *)(const void *)a;
    const struct member *y = (const struct member *)(const void *)b;

    return pool_compare(x->count, x->name, y->count, y->name) < 0;
}

static void enter(struct members *members, struct member *member, uint64_t count)
{
    member->count = count;
    member->state = LOCUS_POOL_LIVE;
    member->streak = 0;
    member->turn = 0;
    heap_add(&members->live, &member->live, before);
}

static struct member *lookup(struct members *members, const char *name)
{
    struct member *member;

    HASH_FIND(hh, members->by_name, name, strlen(name), member);
    return member;
}

struct member *locus_members_find(struct members *members, const char *name)
{
    struct member *member = lookup(members, name);

    return member != NULL && !member->gone ? member : NULL;
}

int locus_members_add(struct members *members, const char *name, uint64_t count)
{
    struct member *member = lookup(members, name);
    size_t length = strlen(name);

    if (member != NULL) {
        member->gone = false;
        enter(members, member, count);
        return LOCUS_OK;
    }
    if (HASH_COUNT(members->by_name) >= LOCUS_POOL_MEMBERS_MAX) {
        return LOCUS_EFULL;
    }
    if (!heap_reserve(&members->live, HASH_COUNT(members->by_name) + 1u)) {
        return LOCUS_ENOMEM;
    }
    member = calloc(1, sizeof(*member) + length + 1);
    if (member == NULL) {
        return LOCUS_ENOMEM;
    }
    memcpy(member->name, name, length + 1);
    HASH_ADD_KEYPTR(hh, members->by_name, member->name, length, member);
    if (member->hh.tbl == NULL) { /* uthash had no memory */
        free(member);
        return LOCUS_ENOMEM;
    }
    enter(members, member, count);
    return LOCUS_OK;
}

void locus_members_picked(struct members *members)
{
    struct member *first = members_live(members, 0);

    first->count++;
    heap_update(&members->live, &first->live, before);
}

void locus_members_revive(struct members *members, struct member *member, bool exact)
{
    uint64_t floor = exact ? 0 : members_lowest(members);

    enter(members, member, member->count > floor ? member->count : floor);
}

void locus_members_leave(struct members *members, struct member *member,
                         enum locus_pool_state state)
{
    if (member->live.at != HEAP_OUTSIDE) {
        heap_remove(&members->live, &member->live, before);
    }
    member->state = state;
    member->streak = 0;
}

static void erase(struct members *members, struct member *member)
{
    HASH_DELETE(hh, members->by_name, member); /* NOLINT(clang-analyzer-*): uthash */
    free(member);
}

void locus_members_drop(struct members *members, struct member *member)
{
    locus_members_leave(members, member, LOCUS_POOL_REMOVED);
    member->limit = 0;
    member->gone = true;
    if (member->held == 0) {
        erase(members, member);
    }
}

void locus_members_unheld(struct members *members, struct member *member)
{
    if (--member->held == 0 && member->gone) {
        erase(members, member);
    }
}

/* Everybody loses as much, so the heap stays one. */
void locus_members_rebase(struct members *members)
{
    uint64_t by = members_lowest(members);

    for (struct member *m = members->by_name; m != NULL; m = m->hh.next) {
        m->count = m->count > by ? m->count - by : 0;
    }
}
