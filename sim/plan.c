/* SPDX-License-Identifier: MIT */
#include "plan.h"

#include <stdlib.h>
#include <string.h>

#include <locus/status.h>

/* The greatest number that still fits twice, and a bit, into a payload. */
enum { SLOTS_MAX = INT32_MAX };

void plan_init(struct plan *plan, uint64_t udp_ns)
{
    memset(plan, 0, sizeof(*plan));
    departures_init(&plan->queue);
    plan->udp_ns = udp_ns;
}

void plan_fini(struct plan *plan)
{
    departures_fini(&plan->queue);
    free(plan->idle);
}

/* UINT64_MAX is "never"; the last moment there is comes just before it. */
static uint64_t add_time(uint64_t a, uint64_t b)
{
    uint64_t sum;

    return __builtin_add_overflow(a, b, &sum) || sum == UINT64_MAX ? UINT64_MAX - 1
                                                                   : sum;
}

static bool grow_departures(struct arrival_batch *batch)
{
    size_t capacity =
        batch->departure_capacity == 0 ? 1024 : 2 * batch->departure_capacity;
    struct planned_departure *departures =
        realloc(batch->departures, capacity * sizeof(*departures));

    if (departures == NULL) {
        return false;
    }
    batch->departures = departures;
    batch->departure_capacity = capacity;
    return true;
}

static bool leave(struct plan *plan, struct arrival_batch *batch, uint64_t now_ns)
{
    struct departure d;

    while (batch->departure_count < batch->departure_capacity ||
           grow_departures(batch)) {
        if (!departures_pop(&plan->queue, now_ns, &d)) {
            return true;
        }
        batch->departures[batch->departure_count++] = (struct planned_departure){
            .at_ns = d.at_ns, .slot = d.payload >> 1, .udp = d.payload & 1};
        plan->idle[plan->idle_count++] = d.payload >> 1;
    }
    return false;
}

static bool grow_slots(struct plan *plan)
{
    uint32_t capacity = plan->slot_capacity == 0 ? 1024 : 2 * plan->slot_capacity;

    if (capacity > SLOTS_MAX) {
        return false;
    }
    uint32_t *idle = realloc(plan->idle, capacity * sizeof(*idle));
    if (idle == NULL) {
        return false;
    }
    plan->idle = idle;
    plan->slot_capacity = capacity;
    return true;
}

static bool enter(struct plan *plan, struct arrival *a)
{
    uint64_t until_ns = add_time(a->start_ns, a->duration_ns);

    if (a->udp) {
        until_ns = add_time(until_ns, plan->udp_ns);
    }
    if (plan->idle_count > 0) {
        a->slot = plan->idle[--plan->idle_count];
    } else {
        if (plan->slot_count == plan->slot_capacity && !grow_slots(plan)) {
            return false;
        }
        a->slot = plan->slot_count++;
    }
    return departures_push(&plan->queue, until_ns, 2 * a->slot + a->udp) == LOCUS_OK;
}

int plan_batch(struct plan *plan, struct arrival_batch *batch)
{
    batch->departure_count = 0;
    for (size_t i = 0; i < batch->count; i++) {
        if (!leave(plan, batch, batch->arrivals[i].start_ns) ||
            !enter(plan, &batch->arrivals[i])) {
            return LOCUS_ENOMEM;
        }
    }
    batch->slot_count = plan->slot_count;
    return LOCUS_OK;
}

int plan_rest(struct plan *plan, struct arrival_batch *batch)
{
    batch->count = 0;
    batch->departure_count = 0;
    batch->slot_count = plan->slot_count;
    return leave(plan, batch, UINT64_MAX) ? LOCUS_OK : LOCUS_ENOMEM;
}
