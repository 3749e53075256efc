/* SPDX-License-Identifier: MIT */
/*
 * Sleeping on a 32-bit word. Preferred to condition variables because one call wakes
 * all sleepers of a word, and none of them has to take a lock to go on.
 *
 * A wake-up may reach a word whose memory was freed and reused meanwhile: the kernel then
 * wakes whoever sleeps there, which every loop around a futex has to bear anyway.
 */
#ifndef LOCUS_SHARED_FUTEX_H
#define LOCUS_SHARED_FUTEX_H

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"

#define FUTEX_NO_DEADLINE UINT64_MAX

/*
 * Sleeps while *word is expected; false when deadline_ns (CLOCK_MONOTONIC) has passed.
 * True means nothing but: look again.
 */
static inline bool futex_wait(_Atomic uint32_t *word, uint32_t expected,
                              uint64_t deadline_ns)
{
    const struct timespec until = clock_timespec(deadline_ns);
    long status = syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, expected,
                          deadline_ns == FUTEX_NO_DEADLINE ? NULL : &until, NULL,
                          FUTEX_BITSET_MATCH_ANY);
    return status == 0 || errno != ETIMEDOUT;
}

static inline void futex_wake_one(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static inline void futex_wake_all(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

#endif
