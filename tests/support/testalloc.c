/* SPDX-License-Identifier: MIT */
#include "testalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Before each block; as large as the strictest alignment. */
union header {
    size_t size;
    max_align_t align;
};

static void *test_alloc(void *ctx, size_t size)
{
    struct testalloc *t = ctx;
    t->calls++;
    bool due = t->fail_at != 0 &&
               (t->calls == t->fail_at || (t->fail_on && t->calls > t->fail_at));
    if (due || (t->limit_bytes != 0 && t->live_bytes + size > t->limit_bytes)) {
        t->failed++;
        return NULL;
    }
    union header *block = malloc(sizeof(*block) + size);
    if (!block) {
        return NULL;
    }
    block->size = size;
    memset(block + 1, 0xa5, size);
    t->live_bytes += size;
    t->live_blocks++;
    return block + 1;
}

static void test_free(void *ctx, void *ptr, size_t size)
{
    struct testalloc *t = ctx;
    if (!ptr) {
        fputs("free hook called with NULL\n", stderr);
        abort();
    }
    union header *block = (union header *)ptr - 1;
    if (block->size != size) {
        fprintf(stderr, "a block of %zu bytes freed as one of %zu\n", block->size,
                size);
        abort();
    }
    t->live_bytes -= size;
    t->live_blocks--;
    memset(ptr, 0x5a, size);
    free(block);
}

struct locus_allocator testalloc_hooks(struct testalloc *t)
{
    return (struct locus_allocator){test_alloc, test_free, t};
}
