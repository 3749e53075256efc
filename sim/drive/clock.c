/* SPDX-License-Identifier: MIT */
#include "clock.h"

#define FRACTIONS UINT64_C(1000000000) /* of a jiffy, and nanoseconds in a second */

struct jiffy_time jiffy_time_of(uint64_t hz, uint64_t seconds, uint32_t nanoseconds)
{
    uint64_t part = nanoseconds * hz;

    return (struct jiffy_time){
        .jiffies = seconds * hz + part / FRACTIONS,
        .fraction = (uint32_t)(part % FRACTIONS),
    };
}

struct jiffy_time jiffy_time_sum(struct jiffy_time a, struct jiffy_time b)
{
    uint64_t part = (uint64_t)a.fraction + b.fraction;

    return (struct jiffy_time){
        .jiffies = a.jiffies + b.jiffies + part / FRACTIONS,
        .fraction = (uint32_t)(part % FRACTIONS),
    };
}

int jiffy_time_compare(struct jiffy_time a, struct jiffy_time b)
{
    if (a.jiffies != b.jiffies) {
        return a.jiffies < b.jiffies ? -1 : 1;
    }
    return (a.fraction > b.fraction) - (a.fraction < b.fraction);
}

void jiffy_clock_set_hz(struct jiffy_clock *clock, uint64_t hz)
{
    struct jiffy_time old = clock->elapsed;
    /* Below 2^15 * 1e9 * 2^15 < 2^60. */
    uint64_t part =
        (old.jiffies % clock->hz * FRACTIONS + old.fraction) * hz / clock->hz;

    clock->elapsed.jiffies = old.jiffies / clock->hz * hz + part / FRACTIONS;
    clock->elapsed.fraction = (uint32_t)(part % FRACTIONS);
    clock->hz = hz;
}

uint64_t jiffy_clock_print(const struct jiffy_clock *clock, uint64_t core_time)
{
    return (clock->first & ~(uint64_t)UINT32_MAX) + core_time;
}

uint64_t jiffy_clock_core(const struct jiffy_clock *clock)
{
    return (clock->first & UINT32_MAX) + clock->elapsed.jiffies;
}

uint64_t jiffies_from_ns(uint64_t hz, uint64_t ns)
{
    uint64_t seconds = ns / FRACTIONS;

    if (ns == UINT64_MAX || seconds > UINT32_MAX) {
        return UINT64_MAX;
    }
    return jiffy_time_of(hz, seconds, (uint32_t)(ns % FRACTIONS)).jiffies;
}
