/* SPDX-License-Identifier: MIT */
/* Results that no coalescer made, for calls that need none. */
#ifndef LOCUS_SHARED_COALESCE_RESULT_H
#define LOCUS_SHARED_COALESCE_RESULT_H

#include <locus/coalesce.h>

/* A result that holds value; NULL when out of memory, and value is then not freed. */
struct locus_result *locus_result_wrap(const struct locus_allocator *hooks, void *value,
                                       locus_value_free_fn *free_value, void *ctx);

#endif
