/* SPDX-License-Identifier: MIT */
/*
 * The phases of a replay with events: before the first, after the last, during in between,
 * each with what began it, and how long it took until the balance was again what it had been.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../pool/scenario.h"
#include "report.h"

enum { EVENTS_NAMED = 3 };

static void append(char *text, size_t size, const char *more)
{
    size_t used = strlen(text);

    snprintf(text + used, size - used, "%s", more);
}

/* The events of one moment, the first few by name; returns the index behind them. */
static size_t describe(const struct server_list *list, size_t first, char *text,
                       size_t size)
{
    char event[EVENT_TEXT], rest[32];
    size_t end = first;

    for (; end < list->event_count &&
           list->events[end].at_ns == list->events[first].at_ns;
         end++) {
        if (end - first < EVENTS_NAMED) {
            server_event_text(list, &list->events[end], event);
            append(text, size, end > first ? ", " : "");
            append(text, size, event);
        }
    }
    if (end - first > EVENTS_NAMED) {
        snprintf(rest, sizeof(rest), " and %zu more", end - first - EVENTS_NAMED);
        append(text, size, rest);
    }
    return end;
}

uint64_t report_arrivals_end_ms(const struct report *report)
{
    const struct trace_summary *t = report->trace;
    figure_sum ms = (figure_sum)(t->last_ns - t->first_ns) /
                    (1000 * (figure_sum)report->arrivals->speed_milli);

    return ms == 0 ? 1 : (uint64_t)ms;
}

static void name_phases(struct report_phase *phases, size_t count)
{
    snprintf(phases[0].name, sizeof(phases[0].name), "before");
    for (size_t i = 1; i + 1 < count; i++) {
        if (count == 3) {
            snprintf(phases[i].name, sizeof(phases[i].name), "during");
        } else {
            snprintf(phases[i].name, sizeof(phases[i].name), "during %zu", i);
        }
    }
    if (count > 1) {
        snprintf(phases[count - 1].name, sizeof(phases[count - 1].name), "after");
    }
}

size_t report_list_phases(const struct server_list *list, struct report_phase *phases)
{
    size_t count = 1;

    memset(&phases[0], 0, sizeof(phases[0]));
    for (size_t i = 0; i < list->event_count && count < PHASES_MAX;) {
        struct report_phase phase = {.from_ns = list->events[i].at_ns};
        i = describe(list, i, phase.events, sizeof(phase.events));
        /* Events at time zero are how the replay begins. */
        if (phase.from_ns > 0) {
            phases[count++] = phase;
        }
    }
    name_phases(phases, count);
    return count;
}

/* The first whole interval of the phase that is about as even as the time before was. */
static uint64_t recovery_ms(const struct policy_report *policy,
                            const struct report_phase *phase, uint64_t until_ns,
                            uint64_t interval_ns)
{
    const struct timeline *t = policy->timeline;
    uint64_t before_ppm = policy->phases[0].imbalance_mean_ppm;
    uint64_t even_ppm = before_ppm > 0 ? before_ppm : 1000000; /* nothing was active */

    even_ppm += even_ppm / RECOVERED_WITHIN;
    for (size_t i = 0; i < t->count && t->points[i].at_ns <= until_ns; i++) {
        const struct timeline_point *point = &t->points[i];
        if (point->at_ns >= phase->from_ns + interval_ns && point->imbalance_ppm > 0 &&
            point->imbalance_ppm <= even_ppm) {
            return (point->at_ns - phase->from_ns) / 1000000u;
        }
    }
    return NEVER_RECOVERED;
}

void report_find_recoveries(const struct report *report, struct policy_report *policy)
{
    for (size_t p = 1; p < policy->phase_count; p++) {
        uint64_t until_ns =
            p + 1 < policy->phase_count ? report->phases[p + 1].from_ns : UINT64_MAX;
        policy->recovery_ms[p] =
            recovery_ms(policy, &report->phases[p], until_ns, report->interval_ns);
    }
}
