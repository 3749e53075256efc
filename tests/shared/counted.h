/* SPDX-License-Identifier: MIT */
/*
 * An allocator for tests with threads: it counts the bytes that are out, and fails when a
 * number of allocations is used up.
 */
#ifndef LOCUS_TESTS_COUNTED_H
#define LOCUS_TESTS_COUNTED_H

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include <locus/status.h>

#include "../support/suite.h"

static _Atomic int64_t live_bytes;
static _Atomic int64_t allocations_left = -1; /* -1: any number */

static void *counted_alloc(void *ctx, size_t size)
{
    (void)ctx;
    int64_t left = atomic_load(&allocations_left);
    if (left == 0) {
        return NULL;
    }
    if (left > 0) {
        atomic_fetch_sub(&allocations_left, 1);
    }
    atomic_fetch_add(&live_bytes, (int64_t)size);
    return malloc(size);
}

static void counted_free(void *ctx, void *ptr, size_t size)
{
    (void)ctx;
    ck_assert_ptr_nonnull(ptr);
    atomic_fetch_sub(&live_bytes, (int64_t)size);
    free(ptr);
}

static const struct locus_allocator counted = {
    .alloc = counted_alloc,
    .free = counted_free,
};

#endif
