/* SPDX-License-Identifier: MIT */
/*
 * The clock of a script, in jiffies: first + floor(seconds * hz), with what floor() cut
 * off kept exactly, in units of 1e-9 jiffies.
 *
 * The core is given jiffies as if they were nanoseconds and a tick of 1, so that every
 * comparison is made in jiffies, as in the kernel. From the first jiffy a multiple of 2^32
 * is taken off, so that a clock which starts just before its wrap at 2^64 can go on; no
 * period of the timer wheel is longer, so the phases stay.
 */
#ifndef LOCUS_SIM_DRIVE_CLOCK_H
#define LOCUS_SIM_DRIVE_CLOCK_H

#include <stdint.h>

struct jiffy_time {
    uint64_t jiffies;
    uint32_t fraction; /* < 1e9 */
};

struct jiffy_clock {
    uint64_t hz;
    uint64_t first;            /* jiffies at the start */
    struct jiffy_time elapsed; /* since then */
};

/* seconds < 2^32 */
struct jiffy_time jiffy_time_of(uint64_t hz, uint64_t seconds, uint32_t nanoseconds);
struct jiffy_time jiffy_time_sum(struct jiffy_time a, struct jiffy_time b);
/* Below, at or above 0 as a is before, at or after b. */
int jiffy_time_compare(struct jiffy_time a, struct jiffy_time b);

/* Another hz at the same second. Both are below 2^15. */
void jiffy_clock_set_hz(struct jiffy_clock *clock, uint64_t hz);

/* What the kernel calls jiffies for the core's moment, and the core's moment now. */
uint64_t jiffy_clock_print(const struct jiffy_clock *clock, uint64_t core_time);
uint64_t jiffy_clock_core(const struct jiffy_clock *clock);

/* A duration of a rule set in jiffies; UINT64_MAX stays. */
uint64_t jiffies_from_ns(uint64_t hz, uint64_t ns);

#endif
