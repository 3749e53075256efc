/* SPDX-License-Identifier: MIT */
#include "plan.h"

#include <stdlib.h>
#include <string.h>

#include <locus/status.h>

/* The greatest number that still fits twice, and a bit, into a payload. */
enum { SLOTS_MAX = INT32_MAX };

void plan_init(struct plan *plan, uint64_t tcp_ns, uint64_t udp_ns)
{
    memset(plan, 0, sizeof(*plan));
    departures_init(&plan->queue);
    plan->tcp_ns = tcp_ns;
    plan->udp_ns = udp_ns;
}

void plan_fini(struct plan *plan)
{
    departures_fini(&plan->queue);
    free(plan->spare);
    free(plan->idle);
}

static bool grow(struct arrival_batch *batch)
{
    size_t capacity =
        batch->departure_capacity == 0 ? 1024 : 2 * batch->departure_capacity;
    struct timed *grown = realloc(batch->departures, capacity * sizeof(*grown));

    if (grown == NULL) {
        return false;
    }
    batch->departures = grown;
    batch->departure_capacity = capacity;
    return true;
}

/* What is due of earlier batches. */
static bool collect(struct plan *plan, struct arrival_batch *batch, uint64_t now_ns)
{
    size_t got = 1;

    batch->departure_count = 0;
    while (got > 0) {
        if (batch->departure_count == batch->departure_capacity && !grow(batch)) {
            return false;
        }
        got = departures_take(&plan->queue, now_ns,
                              batch->departures + batch->departure_count,
                              batch->departure_capacity - batch->departure_count);
        batch->departure_count += got;
    }
    return true;
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
static bool enter(struct plan *plan, struct arrival_batch *batch, size_t index,
                  uint64_t last_ns)
{
    struct arrival *a = &batch->arrivals[index];
    uint64_t until_ns = add_time(a->start_ns, a->duration_ns);

    until_ns = add_time(until_ns, a->udp ? plan->udp_ns : plan->tcp_ns);
    if (!take_slot(plan, &a->slot)) {
        return false;
    }
    uint32_t payload = 2 * a->slot + a->udp;
    if (until_ns > last_ns) {
        return departures_push(&plan->queue, until_ns, payload) == LOCUS_OK;
    }
    if (batch->departure_count == batch->departure_capacity && !grow(batch)) {
        return false;
    }
    batch->departures[batch->departure_count++] =
        (struct timed){until_ns, (uint64_t)(index + 1) << 32 | payload};
    return true;
}

/* Sorts. What is due of earlier batches was collected first, arrivals come by time, and
 * sorting is stable, so that nothing waits behind one whose own arrival is still to come. */
static bool finish(struct plan *plan, struct arrival_batch *batch)
{
    if (plan->spare_capacity < batch->departure_capacity) {
        free(plan->spare);
        plan->spare = malloc(batch->departure_capacity * sizeof(*plan->spare));
        plan->spare_capacity = plan->spare != NULL ? batch->departure_capacity : 0;
    }
    if (plan->spare_capacity < batch->departure_capacity) {
        return false;
    }
    struct timed *sorted =
        radix_sort(batch->departures, plan->spare, batch->departure_count);
    if (sorted != batch->departures) {
        size_t capacity = plan->spare_capacity;
        plan->spare = batch->departures;
        plan->spare_capacity = batch->departure_capacity;
        batch->departures = sorted;
        batch->departure_capacity = capacity;
    }
    for (size_t i = 0; i < batch->departure_count; i++) {
        plan->idle[plan->idle_count++] = departure_slot(&sorted[i]);
    }
    batch->slot_count = plan->slot_count;
    return true;
}

int plan_batch(struct plan *plan, struct arrival_batch *batch)
{
    uint64_t last_ns = batch->arrivals[batch->count - 1].start_ns;

    if (!collect(plan, batch, last_ns)) {
        return LOCUS_ENOMEM;
    }
    for (size_t i = 0; i < batch->count; i++) {
        if (!enter(plan, batch, i, last_ns)) {
            return LOCUS_ENOMEM;
        }
    }
    return finish(plan, batch) ? LOCUS_OK : LOCUS_ENOMEM;
}

int plan_rest(struct plan *plan, struct arrival_batch *batch)
{
    struct departure d;

    batch->count = 0;
    batch->departure_count = 0;
    batch->slot_count = plan->slot_count;
    if (batch->departure_capacity == 0 && !grow(batch)) {
        return LOCUS_ENOMEM;
    }
    while (batch->departure_count < batch->departure_capacity &&
           departures_pop(&plan->queue, UINT64_MAX, &d)) {
        batch->departures[batch->departure_count++] =
            (struct timed){d.at_ns, d.payload};
    }
    return LOCUS_OK;
}
