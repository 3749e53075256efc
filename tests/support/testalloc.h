/* SPDX-License-Identifier: MIT */
/*
 * An allocator that counts what is out, checks that every block comes back once and with
 * the size that was asked for, fills blocks with junk, and fails on demand.
 */
#ifndef LOCUS_TESTS_TESTALLOC_H
#define LOCUS_TESTS_TESTALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <locus/status.h>

struct testalloc {
    size_t live_bytes, live_blocks;
    uint64_t calls;     /* of alloc, those that failed included */
    uint64_t fail_at;   /* the call, counted from 1, that fails; 0: none */
    bool fail_on;       /* and all that follow it */
    size_t limit_bytes; /* more than that at once fails, too; 0: no limit */
    uint64_t failed;
};

struct locus_allocator testalloc_hooks(struct testalloc *t);

#endif
