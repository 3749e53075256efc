/* SPDX-License-Identifier: MIT */
/*
 * Flights and results: the same thing, before and after its batch has run.
 */
#include "coalesce_result.h"

#include "coalesce_internal.h"

void locus_result_release(struct locus_result *result)
{
    if (result == NULL ||
        atomic_fetch_sub_explicit(&result->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    if (result->value != NULL && result->free_value != NULL) {
        result->free_value(result->ctx, result->value);
    }
    struct locus_allocator hooks = result->hooks;
    memory_release(&hooks, result, sizeof(*result) + result->key_length);
}

const void *locus_result_value(const struct locus_result *result)
{
    return result->value;
}

static struct locus_result *make_result(const struct locus_allocator *hooks,
                                        size_t key_length,
                                        locus_value_free_fn *free_value, void *ctx)
{
    struct locus_result *result = memory_zalloc(hooks, sizeof(*result) + key_length);

    if (result != NULL) {
        result->refs = 1;
        result->free_value = free_value;
        result->ctx = ctx;
        result->hooks = *hooks;
        result->key_length = key_length;
    }
    return result;
}

struct locus_result *locus_result_wrap(const struct locus_allocator *hooks, void *value,
                                       locus_value_free_fn *free_value, void *ctx)
{
    struct locus_result *result = make_result(hooks, 0, free_value, ctx);

    if (result != NULL) {
        result->value = value;
    }
    return result;
}

/* ---- flights --------------------------------------------------------------------- */

struct locus_result *locus_flight_find(struct locus_coalescer *c, const void *key,
                                       size_t key_length)
{
    struct locus_result *flight = NULL;

    if (c->config.share != LOCUS_SHARE_NONE) {
        HASH_FIND(hh, c->table, key, key_length, flight);
    }
    return flight;
}

struct locus_result *locus_flight_make(struct locus_coalescer *c, const void *key,
                                       size_t key_length)
{
    struct locus_result *flight =
        make_result(&c->hooks, key_length, c->config.free_value, c->config.ctx);

    if (flight == NULL) {
        return NULL;
    }
    if (key_length > 0) {
        memcpy(flight->key, key, key_length);
    }
    if (c->config.share == LOCUS_SHARE_NONE) {
        return flight;
    }
    HASH_ADD_KEYPTR(hh, c->table, flight->key, key_length, flight);
    if (flight->hh.tbl == NULL) { /* uthash had no memory */
        locus_result_release(flight);
        return NULL;
    }
    return flight;
}

void locus_flight_hide(struct locus_coalescer *c, struct locus_result *flight)
{
    if (flight->hh.tbl != NULL) {
        HASH_DEL(c->table, flight); /* NOLINT(clang-analyzer-*): uthash */
        flight->hh.tbl = NULL;
    }
}
