/* SPDX-License-Identifier: MIT */
/* What a trace can answer: each question has one function that looks at the figures. */
#include "inspect_report.h"

#include <inttypes.h>
#include <stdio.h>

#include "../base/values.h"

const char *const inspect_verdicts[] = {"no", "partly", "yes"};

double inspect_percent(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0 : 100 * (double)part / (double)whole;
}

uint64_t inspect_repeats(const struct inspection *f)
{
    return f->records - f->keys.count;
}

static void answer_load(const struct inspect_report *p, struct inspect_answer *a)
{
    const struct inspection *f = &p->found;

    a->question = "load: wlc, lc, sed, nq against rr, wrr";
    if (f->active_peak < 2) {
        a->verdict = VERDICT_NO;
        snprintf(a->why, sizeof(a->why), "never two connections at once");
    } else if (f->with_duration * 10 < f->records * 9) {
        a->verdict = VERDICT_PARTLY;
        snprintf(a->why, sizeof(a->why),
                 "%.0f %% of the records have a duration; others need a model",
                 inspect_percent(f->with_duration, f->records));
    } else {
        a->verdict = VERDICT_YES;
        snprintf(a->why, sizeof(a->why),
                 "durations are there; up to %" PRIu64 " at once", f->active_peak);
    }
}

static void answer_locality(const struct inspect_report *p, struct inspect_answer *a)
{
    const struct inspection *f = &p->found;
    double share = inspect_percent(inspect_repeats(f), f->records);

    a->question = "locality: lblc, lblcr against dh, mh";
    a->verdict = f->keys.count < 2 || share < 5 ? VERDICT_NO
                 : share < 30                   ? VERDICT_PARTLY
                                                : VERDICT_YES;
    if (f->keys.count < 2) {
        snprintf(a->why, sizeof(a->why), "there is one destination; try another --key");
    } else {
        snprintf(a->why, sizeof(a->why),
                 "%.1f %% of the records go to a destination seen before", share);
    }
}

static void answer_hot(const struct inspect_report *p, struct inspect_answer *a)
{
    const struct inspection *f = &p->found;
    uint64_t first = f->keys.count == 0 ? 0 : f->ranked[0].records;
    double share = inspect_percent(first, f->records);

    a->question = "a hot destination: lblcr against lblc";
    a->verdict = share < 3 || first < 20 ? VERDICT_NO
                 : share < 10            ? VERDICT_PARTLY
                                         : VERDICT_YES;
    snprintf(a->why, sizeof(a->why), "the first takes %.1f %%", share);
}

static void answer_clients(const struct inspect_report *p, struct inspect_answer *a)
{
    const struct inspection *f = &p->found;
    uint64_t clients = p->summary->clients;

    a->question = "clients: sh, persistence";
    a->verdict = clients < 2 ? VERDICT_NO : clients < 20 ? VERDICT_PARTLY : VERDICT_YES;
    if (f->with_client == 0) {
        snprintf(a->why, sizeof(a->why), "no clients are recorded");
    } else {
        snprintf(a->why, sizeof(a->why), "%" PRIu64 " client%s", clients,
                 clients == 1 ? "" : "s");
    }
}

static void answer_cache(const struct inspect_report *p, struct inspect_answer *a)
{
    const struct inspection *f = &p->found;
    bool sized = f->with_bytes * 10 >= f->records * 9;

    a->question = "caches behind the servers: hit ratio, origin traffic";
    a->verdict = inspect_repeats(f) == 0 ? VERDICT_NO
                 : sized                 ? VERDICT_YES
                                         : VERDICT_PARTLY;
    snprintf(a->why, sizeof(a->why), "%s",
             inspect_repeats(f) == 0 ? "nothing is asked for twice"
             : sized                 ? "sizes are there, and repeats"
                                     : "repeats are there, but sizes are not");
}

static void answer_expiry(const struct inspect_report *p, struct inspect_answer *a)
{
    uint64_t span_ns = p->found.span_ns;

    a->question = "expiry: idle destinations, sets that shrink";
    a->verdict = span_ns < 360 * NS_PER_S     ? VERDICT_NO
                 : span_ns < 86400 * NS_PER_S ? VERDICT_PARTLY
                                              : VERDICT_YES;
    snprintf(a->why, sizeof(a->why), "%s",
             a->verdict == VERDICT_NO
                 ? "shorter than the 6 minutes after which any is stale"
             : a->verdict == VERDICT_PARTLY
                 ? "shorter than the default 24 h; set a shorter expiry"
                 : "longer than the default 24 h");
}

static void answer_bound(const struct inspect_report *p, struct inspect_answer *a)
{
    uint64_t count = p->found.keys.count;

    a->question = "the bound on destinations";
    a->verdict = count > 16384 ? VERDICT_YES : VERDICT_NO;
    snprintf(a->why, sizeof(a->why),
             "%" PRIu64 " destination%s; the kernel's soft bound is 16384", count,
             count == 1 ? "" : "s");
}

void inspect_answer(const struct inspect_report *p,
                    struct inspect_answer answers[INSPECT_ANSWERS])
{
    static void (*const ask[INSPECT_ANSWERS])(const struct inspect_report *,
                                              struct inspect_answer *) = {
        answer_load,  answer_locality, answer_hot,  answer_clients,
        answer_cache, answer_expiry,   answer_bound};

    for (size_t i = 0; i < INSPECT_ANSWERS; i++) {
        ask[i](p, &answers[i]);
    }
}
