/* SPDX-License-Identifier: MIT */
#include "slowstart.h"

#include "../load/derived.h"
#include "../load/share.h"
#include "../state/clock.h"

enum {
    STEPS = 256,    /* of a window, if ticks are fine enough */
    PART_BITS = 16, /* of fractions of an increase */
    PART_ALL = 1 << PART_BITS,
};

void locus_slowstart_init(struct locus_service *svc)
{
    svc->slow = (struct slow_start){
        .timer = {.due = LOCUS_NEVER},
        .head = LOCUS_NO_SERVER,
        .cursor = LOCUS_NO_SERVER,
        .window = svc->rules.slow_start_ns / svc->tick_ns,
    };
    if (svc->rules.slow_start_ns != 0 && svc->slow.window == 0) {
        svc->slow.window = 1;
    }
}

void locus_slowstart_fit(struct locus_service *svc)
{
    unsigned shift = svc->slow.shift;

    if (svc->slow.window == 0) {
        return;
    }
    while (share_of_weight(svc->weight_max) >> svc->slow.shift > UINT32_MAX) {
        svc->slow.shift++;
    }
    if (svc->slow.shift != shift) {
        locus_servers_refresh(svc);
    }
}

/* ---- those that grow ---- */

static struct ramp *ramp_of(const struct locus_service *svc, uint32_t slot)
{
    return &svc->identities[slot]->ramp;
}

static void link_ramp(struct locus_service *svc, uint32_t slot)
{
    struct slow_start *slow = &svc->slow;
    struct ramp *ramp = ramp_of(svc, slot);

    ramp->growing = true;
    ramp->prev = LOCUS_NO_SERVER;
    ramp->next = slow->head;
    if (slow->head != LOCUS_NO_SERVER) {
        ramp_of(svc, slow->head)->prev = slot;
    } else {
        slow->timer = (struct timer){.due = svc->tick, .order = svc->timer_order++};
    }
    slow->head = slot;
}

/* A look through them that is under way goes on behind it. */
static void unlink_ramp(struct locus_service *svc, uint32_t slot)
{
    struct slow_start *slow = &svc->slow;
    struct ramp *ramp = ramp_of(svc, slot);

    if (!ramp->growing) {
        return;
    }
    ramp->growing = false;
    if (slow->cursor == slot) {
        slow->cursor = ramp->next;
    }
    if (ramp->next != LOCUS_NO_SERVER) {
        ramp_of(svc, ramp->next)->prev = ramp->prev;
    }
    if (ramp->prev != LOCUS_NO_SERVER) {
        ramp_of(svc, ramp->prev)->next = ramp->next;
    } else {
        slow->head = ramp->next;
    }
    if (slow->head == LOCUS_NO_SERVER) {
        slow->timer.due = LOCUS_NEVER;
    }
}

/* ---- shares ---- */

/* What a ramp has come to after so many ticks, fewer than a window, rounded up. Windows are
 * below 2^47 ticks, shares below 2^39. */
static uint64_t share_after(const struct locus_service *svc, const struct ramp *ramp,
                            uint64_t ticks)
{
    uint64_t time = (ticks << PART_BITS) / svc->slow.window;
    uint64_t least = PART_ALL * (uint64_t)svc->rules.slow_start_floor_percent / 100;
    uint64_t part = PART_ALL;

    for (uint32_t i = 0; i < svc->rules.slow_start_exponent; i++) {
        part = part * time >> PART_BITS;
    }
    part = least + ((PART_ALL - least) * part >> PART_BITS);
    return ramp->from + (((ramp->to - ramp->from) * part + PART_ALL - 1) >> PART_BITS);
}

void locus_slowstart_weighted(struct locus_service *svc, uint32_t slot, bool warm)
{
    struct ramp *ramp = ramp_of(svc, slot);
    uint64_t goal = share_of_weight(svc->servers[slot].weight);

    if (svc->slow.window == 0 || warm || goal <= ramp->share) {
        unlink_ramp(svc, slot);
        ramp->share = goal;
        return;
    }
    if (ramp->growing && goal <= ramp->to) {
        return; /* it goes on, and ends sooner if that is lower */
    }
    ramp->from = ramp->share;
    ramp->to = goal;
    ramp->begun = LOCUS_NEVER;
    ramp->share = share_after(svc, ramp, 0);
    if (!ramp->growing) {
        link_ramp(svc, slot);
    }
}

void locus_slowstart_removed(struct locus_service *svc, uint32_t slot)
{
    unlink_ramp(svc, slot);
    ramp_of(svc, slot)->share = 0;
}

/* ---- periodic work ---- */

void locus_slowstart_begin(struct locus_service *svc)
{
    svc->slow.running = true;
    svc->slow.now = svc->tick;
    svc->slow.cursor = svc->slow.head;
    locus_timer_arm(svc, &svc->slow.timer, svc->rules.slow_start_ns / STEPS);
}

static void grow(struct locus_service *svc, uint32_t slot)
{
    struct ramp *ramp = ramp_of(svc, slot);
    uint64_t whole = share_of_weight(svc->servers[slot].weight);

    if (ramp->begun == LOCUS_NEVER) {
        ramp->begun = svc->slow.now;
    }
    uint64_t ticks = svc->slow.now - ramp->begun;
    uint64_t share = ticks < svc->slow.window ? share_after(svc, ramp, ticks) : whole;
    if (share >= whole) {
        share = whole;
        unlink_ramp(svc, slot);
    }
    ramp->share = share;
    locus_server_refresh(svc, slot);
}

size_t locus_slowstart_run(struct locus_service *svc, size_t budget)
{
    struct slow_start *slow = &svc->slow;
    size_t looked = 0;

    while (slow->cursor != LOCUS_NO_SERVER && looked < budget) {
        uint32_t slot = slow->cursor;
        slow->cursor = ramp_of(svc, slot)->next;
        grow(svc, slot);
        looked++;
    }
    slow->running = slow->cursor != LOCUS_NO_SERVER;
    return looked;
}
