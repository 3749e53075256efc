/* SPDX-License-Identifier: MIT */
/*
 * Periodic work: the collector of destinations, the trash and slow start, each by its timer and
 * a little at a time.
 */
#include "../destinations/locality.h"
#include "../servers/slowstart.h"
#include "../servers/trash.h"
#include "../state/clock.h"

static bool at_work(const struct locus_service *svc)
{
    return svc->trash_running || svc->slow.running ||
           (svc->locality != NULL && svc->locality->job != JOB_NONE);
}

static size_t work(struct locus_service *svc, size_t budget)
{
    if (svc->slow.running) {
        return locus_slowstart_run(svc, budget);
    }
    return svc->trash_running ? locus_trash_run(svc, budget)
                              : locus_locality_run(svc, budget);
}

static bool fires_before(const struct timer *a, const struct timer *b)
{
    return a->due != b->due ? a->due < b->due : a->order < b->order;
}

/* The timer that fires next; due may be LOCUS_NEVER. */
static const struct timer *next_timer(const struct locus_service *svc)
{
    const struct timer *next = &svc->trash_timer;

    if (fires_before(&svc->slow.timer, next)) {
        next = &svc->slow.timer;
    }
    if (svc->locality != NULL && fires_before(&svc->locality->gc, next)) {
        next = &svc->locality->gc;
    }
    return next;
}

/* Begins what is due; false: nothing is. */
static bool begin_work(struct locus_service *svc)
{
    const struct timer *next = next_timer(svc);

    if (svc->locality != NULL && svc->locality->purge_wanted) {
        locus_locality_purge(svc);
    } else if (next->due > svc->tick) {
        return false;
    } else if (next == &svc->trash_timer) {
        locus_trash_begin(svc);
    } else if (next == &svc->slow.timer) {
        locus_slowstart_begin(svc);
    } else {
        locus_locality_collect(svc);
    }
    return true;
}

bool locus_tick(struct locus_service *svc, uint64_t now_ns, size_t budget)
{
    clock_set(svc, now_ns);
    do {
        while (at_work(svc)) {
            if (budget == 0) {
                return false;
            }
            budget -= work(svc, budget);
        }
    } while (begin_work(svc));
    return true;
}

uint64_t locus_tick_due(const struct locus_service *svc)
{
    uint64_t due = next_timer(svc)->due;

    if (at_work(svc) || (svc->locality != NULL && svc->locality->purge_wanted)) {
        due = svc->tick;
    }
    return due > UINT64_MAX / svc->tick_ns ? LOCUS_NEVER : due * svc->tick_ns;
}
