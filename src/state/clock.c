/* SPDX-License-Identifier: MIT */
#include "clock.h"

int64_t locus_ticks_of(const struct locus_service *svc, int64_t ns)
{
    int64_t unit = svc->tick_ns > INT64_MAX ? INT64_MAX : (int64_t)svc->tick_ns;

    return ns >= 0 ? ns / unit : -((-ns + unit - 1) / unit);
}

/* The kernel's timer wheel: the further off, the coarser. Up to 63 ticks away a timer fires
 * at the tick after its expiry, up to 63 * 8^n at the next multiple of 8^n. */
static uint64_t wheel(uint64_t now, uint64_t delay)
{
    uint64_t grain = 1;

    while (delay >= 63 * grain && grain < (uint64_t)1 << 57) {
        grain *= 8;
    }
    return ((now + delay) / grain + 1) * grain;
}

void locus_timer_arm(struct locus_service *svc, struct timer *timer, uint64_t delay_ns)
{
    uint64_t delay = delay_ns / svc->tick_ns;

    if (delay == 0) {
        delay = 1;
    }
    timer->order = svc->timer_order++;
    if (delay > UINT64_MAX / 2 - svc->tick) {
        timer->due = LOCUS_NEVER;
    } else {
        timer->due =
            svc->rules.timer_wheel ? wheel(svc->tick, delay) : svc->tick + delay;
    }
}
