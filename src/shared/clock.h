/* SPDX-License-Identifier: MIT */
/* Times in nanoseconds: of CLOCK_MONOTONIC, unless a clock is named. */
#ifndef LOCUS_SHARED_CLOCK_H
#define LOCUS_SHARED_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)

static inline uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static inline uint64_t clock_now_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

static inline struct timespec clock_timespec(uint64_t ns)
{
    return (struct timespec){
        .tv_sec = (time_t)(ns / NS_PER_S),
        .tv_nsec = (long)(ns % NS_PER_S),
    };
}

static inline uint64_t clock_earlier(uint64_t a_ns, uint64_t b_ns)
{
    return a_ns < b_ns ? a_ns : b_ns;
}

/* UINT64_MAX, which is never, where the sum does not fit. */
static inline uint64_t clock_after(uint64_t now_ns, uint64_t wait_ns)
{
    return wait_ns > UINT64_MAX - now_ns ? UINT64_MAX : now_ns + wait_ns;
}

#endif
