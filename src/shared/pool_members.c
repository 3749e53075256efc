/* SPDX-License-Identifier: MIT */
/*
 * Members come and go, are reported on, and listed.
 */
#include "pool_internal.h"

#include <stdlib.h>
#include <string.h>

int locus_pool_add(struct locus_pool *pool, const char *const *members, size_t count,
                   enum locus_pool_start start, uint64_t value, size_t *added)
{
    size_t became = 0;

    if (added != NULL) {
        *added = 0;
    }
    for (size_t i = 0; i < count; i++) {
        if (!pool_is_member(members[i])) {
            return LOCUS_EINVAL;
        }
    }
    if ((unsigned)start > LOCUS_POOL_START_AT) {
        return LOCUS_EINVAL;
    }
    if (start == LOCUS_POOL_START_AT && value > LOCUS_POOL_START_LIMIT) {
        return LOCUS_ERANGE;
    }
    int status = pool_noted(
        pool, pool->ops->add(pool->self, members, count, start, value, &became));
    if (added != NULL) {
        *added = became;
    }
    return status;
}

int locus_pool_remove(struct locus_pool *pool, const char *member, bool drop)
{
    return pool_is_member(member)
               ? pool_noted(pool, pool->ops->remove(pool->self, member, drop))
               : LOCUS_EINVAL;
}

int locus_pool_restore(struct locus_pool *pool, const char *member, bool exact)
{
    return pool_is_member(member)
               ? pool_noted(pool, pool->ops->restore(pool->self, member, exact))
               : LOCUS_EINVAL;
}

int locus_pool_report(struct locus_pool *pool, const char *member, bool success,
                      enum locus_pool_state *state)
{
    enum locus_pool_state unwanted;

    if (!pool_is_member(member)) {
        return LOCUS_EINVAL;
    }
    return pool_noted(pool, pool->ops->report(pool->self, member, success,
                                              state != NULL ? state : &unwanted));
}

int locus_pool_rebase(struct locus_pool *pool)
{
    return pool_noted(pool, pool->ops->rebase(pool->self));
}

int locus_pool_clear(struct locus_pool *pool)
{
    return pool_noted(pool, pool->ops->clear(pool->self));
}

/* ---- reading --------------------------------------------------------------------- */

/* Live ones as they would be picked, then the others by name. */
static int listed_before(const void *a, const void *b)
{
    const struct locus_pool_member *x = a;
    const struct locus_pool_member *y = b;
    bool x_out = x->state != LOCUS_POOL_LIVE;
    bool y_out = y->state != LOCUS_POOL_LIVE;

    if (x_out != y_out) {
        return x_out ? 1 : -1;
    }
    return pool_compare(x_out ? 0 : x->count, x->name, y_out ? 0 : y->count, y->name);
}

int locus_pool_list(struct locus_pool *pool, struct locus_pool_list **out)
{
    struct locus_pool_list *list = calloc(1, sizeof(*list));

    *out = NULL;
    if (list == NULL) {
        return LOCUS_ENOMEM;
    }
    int status = pool_noted(pool, pool->ops->list(pool->self, list));
    if (status != LOCUS_OK) {
        locus_pool_list_free(list);
        return status;
    }
    qsort(list->members, list->count, sizeof(*list->members), listed_before);
    *out = list;
    return LOCUS_OK;
}

void locus_pool_list_free(struct locus_pool_list *list)
{
    if (list != NULL) {
        free(list->members);
        free(list);
    }
}

int locus_pool_get(struct locus_pool *pool, const char *member,
                   struct locus_pool_member *out)
{
    memset(out, 0, sizeof(*out));
    if (!pool_is_member(member)) {
        return LOCUS_EINVAL;
    }
    int status = pool_noted(pool, pool->ops->get(pool->self, member, out));
    if (status == LOCUS_OK) {
        memcpy(out->name, member, strlen(member) + 1);
    } else {
        memset(out, 0, sizeof(*out));
    }
    return status;
}
