/* SPDX-License-Identifier: MIT */
/*
 * The clock of a service, which the caller's arguments set, in ticks; ages; and the kernel's
 * timers, by which periodic work falls due.
 */
#ifndef LOCUS_CLOCK_H
#define LOCUS_CLOCK_H

#include "core.h"

static inline void set_tick(struct locus_service *svc, uint64_t now_ns)
{
    svc->tick = now_ns / svc->tick_ns;
    svc->tick_end_ns = svc->tick < UINT64_MAX / svc->tick_ns
                           ? (svc->tick + 1) * svc->tick_ns
                           : UINT64_MAX;
}

/* The clock as an argument: a step back counts as no time passed. */
static inline void clock_set(struct locus_service *svc, uint64_t now_ns)
{
    if (now_ns >= svc->tick_end_ns) {
        set_tick(svc, now_ns);
    }
}

static inline uint32_t tick32(const struct locus_service *svc)
{
    return (uint32_t)svc->tick;
}

/* Ticks since; 32-bit ticks wrap, ages do not. */
static inline int64_t tick_age(const struct locus_service *svc, uint32_t since)
{
    return (int64_t)(uint32_t)(tick32(svc) - since);
}

/* A span of time, rounded down. */
int64_t locus_ticks_of(const struct locus_service *svc, int64_t ns);

/* Arms a timer to fire after that many ns, as the rules round it. */
void locus_timer_arm(struct locus_service *svc, struct timer *timer, uint64_t delay_ns);

#endif
