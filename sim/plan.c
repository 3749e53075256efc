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
    free(plan->due);
    free(plan->spare);
    free(plan->idle);
}

/* UINT64_MAX is "never"; the last moment there is comes just before it. */
static uint64_t add_time(uint64_t a, uint64_t b)
{
    uint64_t sum;

    return __builtin_add_overflow(a, b, &sum) || sum == UINT64_MAX ? UINT64_MAX - 1
                                                                   : sum;
}

static bool grow_due(struct plan *plan)
{
    size_t capacity = plan->due_capacity == 0 ? 1024 : 2 * plan->due_capacity;
    struct timed *due = realloc(plan->due, capacity * sizeof(*due));

    if (due == NULL) {
        return false;
    }
    plan->due = due;
    struct timed *spare = realloc(plan->spare, capacity * sizeof(*spare));
    if (spare == NULL) {
        return false;
    }
    plan->spare = spare;
    plan->due_capacity = capacity;
    return true;
}

/* What is due of earlier batches. */
static bool collect(struct plan *plan, uint64_t now_ns)
{
    plan->due_count = 0;
    for (;;) {
        size_t room = plan->due_capacity - plan->due_count;
        plan->due_count +=
            departures_take(&plan->queue, now_ns, plan->due + plan->due_count, room);
        if (plan->due_count < plan->due_capacity) {
            return true;
        }
        if (!grow_due(plan)) {
            return false;
        }
    }
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

static bool take_slot(struct plan *plan, uint32_t *slot)
{
    if (plan->idle_count > 0) {
        *slot = plan->idle[--plan->idle_count];
        return true;
    }
    if (plan->slot_count == plan->slot_capacity && !grow_slots(plan)) {
        return false;
    }
    *slot = plan->slot_count++;
    return true;
}

/* The index-th arrival of a batch whose last one is at last_ns. */
static bool enter(struct plan *plan, struct arrival *a, size_t index, uint64_t last_ns)
{
    uint64_t until_ns = add_time(a->start_ns, a->duration_ns);

    if (a->udp) {
        until_ns = add_time(until_ns, plan->udp_ns);
    }
    if (!take_slot(plan, &a->slot)) {
        return false;
    }
    uint32_t payload = 2 * a->slot + a->udp;
    if (until_ns > last_ns) {
        return departures_push(&plan->queue, until_ns, payload) == LOCUS_OK;
    }
    if (plan->due_count == plan->due_capacity && !grow_due(plan)) {
        return false;
    }
    plan->due[plan->due_count++] =
        (struct timed){until_ns, (uint64_t)(index + 1) << 32 | payload};
    return true;
}

static bool make_room(struct arrival_batch *batch, size_t count)
{
    if (count > batch->departure_capacity) {
        free(batch->departures);
        batch->departures = malloc(2 * count * sizeof(*batch->departures));
        batch->departure_capacity = batch->departures != NULL ? 2 * count : 0;
    }
    return count <= batch->departure_capacity;
}

/* Puts what is due in front of the first arrival that is not earlier; a connection of no
 * duration departs after its own. Those of earlier batches were collected first and sorting
 * is stable, so that the order by time is the order by arrivals too. */
static bool place(struct plan *plan, struct arrival_batch *batch)
{
    size_t at = 0;

    if (!make_room(batch, plan->due_count)) {
        return false;
    }
    radix_sort(&plan->due, &plan->spare, plan->due_count);
    for (size_t i = 0; i < plan->due_count; i++) {
        const struct timed *due = &plan->due[i];
        uint32_t payload = (uint32_t)due->what;
        size_t own = due->what >> 32;
        while (at < batch->count && batch->arrivals[at].start_ns < due->at_ns) {
            at++;
        }
        batch->departures[i] = (struct planned_departure){
            .at_ns = due->at_ns,
            .slot_udp = payload,
            .before = (uint32_t)(at > own ? at : own),
        };
        plan->idle[plan->idle_count++] = payload >> 1;
    }
    batch->departure_count = plan->due_count;
    batch->slot_count = plan->slot_count;
    return true;
}

int plan_batch(struct plan *plan, struct arrival_batch *batch)
{
    uint64_t last_ns = batch->arrivals[batch->count - 1].start_ns;

    if (!collect(plan, last_ns)) {
        return LOCUS_ENOMEM;
    }
    for (size_t i = 0; i < batch->count; i++) {
        if (!enter(plan, &batch->arrivals[i], i, last_ns)) {
            return LOCUS_ENOMEM;
        }
    }
    return place(plan, batch) ? LOCUS_OK : LOCUS_ENOMEM;
}

int plan_rest(struct plan *plan, struct arrival_batch *batch)
{
    batch->count = 0;
    return collect(plan, UINT64_MAX) && place(plan, batch) ? LOCUS_OK : LOCUS_ENOMEM;
}
