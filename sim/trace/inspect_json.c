/* SPDX-License-Identifier: MIT */
/* The same as JSON, for programs: whole numbers only. */
#include "inspect_report.h"

#include <stdio.h>

#include <jansson.h>

#include "../base/errors.h"

static uint64_t ppm(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0 : (uint64_t)(1e6 * (double)part / (double)whole + 0.5);
}

static void put(json_t *object, const char *name, uint64_t value)
{
    json_object_set_new(
        object, name, json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value));
}

static void put_histogram(json_t *object, const char *name, const struct histogram *h,
                          uint64_t unit)
{
    json_t *inner = json_object();

    put(inner, "count", h->count);
    put(inner, "p50", histogram_at(h, 500) / unit);
    put(inner, "p95", histogram_at(h, 950) / unit);
    put(inner, "p99", histogram_at(h, 990) / unit);
    put(inner, "max", h->max / unit);
    put(inner, "mean",
        h->count == 0 ? 0 : (uint64_t)(h->sum / (double)h->count) / unit);
    json_object_set_new(object, name, inner);
}

static json_t *json_reasons(const struct trace_summary *s)
{
    json_t *reasons = json_object();

    for (size_t i = 0; i < s->reason_count; i++) {
        put(reasons, s->reasons[i].reason, s->reasons[i].count);
    }
    return reasons;
}

static json_t *json_top(const struct inspect_report *p)
{
    const struct inspection *f = &p->found;
    json_t *top = json_array();
    char name[256];

    for (size_t i = 0; i < f->keys.count && i < p->top; i++) {
        json_t *one = json_object();
        inspect_name(p, f->ranked[i].index, name, sizeof(name));
        json_object_set_new(one, "destination", json_string(name));
        put(one, "records", f->ranked[i].records);
        put(one, "share_ppm", ppm(f->ranked[i].records, f->records));
        json_array_append_new(top, one);
    }
    return top;
}

static json_t *json_answers(const struct inspect_report *p)
{
    struct inspect_answer answers[INSPECT_ANSWERS];
    json_t *array = json_array();

    inspect_answer(p, answers);
    for (size_t i = 0; i < INSPECT_ANSWERS; i++) {
        json_array_append_new(array, json_pack("{s:s, s:s, s:s}", "question",
                                               answers[i].question, "verdict",
                                               inspect_verdicts[answers[i].verdict],
                                               "why", answers[i].why));
    }
    return array;
}

static void put_found(const struct inspect_report *p, json_t *object)
{
    const struct inspection *f = &p->found;
    json_t *active = json_object();
    json_t *protocols = json_object();

    put(protocols, "tcp", f->tcp);
    put(protocols, "udp", f->udp);
    put(protocols, "other", f->other);
    json_object_set_new(object, "protocols", protocols);
    put(object, "busiest_second", f->busiest_second);
    put(object, "longest_gap_ms", f->longest_gap_ns / 1000000);
    put(active, "p50", f->active_p50);
    put(active, "p99", f->active_p99);
    put(active, "peak", f->active_peak);
    put(active, "mean_milli", (uint64_t)(f->active_mean * 1000 + 0.5));
    json_object_set_new(object, "concurrency", active);
    put_histogram(object, "duration_us", &f->durations_ns, 1000);
    put_histogram(object, "bytes", &f->bytes, 1);
    put(object, "repeat_ppm", ppm(inspect_repeats(f), f->records));
    put(object, "top1_ppm",
        f->keys.count == 0 ? 0 : ppm(f->ranked[0].records, f->records));
    put(object, "top10_ppm", ppm(f->top10_records, f->records));
    put(object, "zipf_milli", f->zipf > 0 ? (uint64_t)(f->zipf * 1000 + 0.5) : 0);
    json_object_set_new(object, "top", json_top(p));
    if (f->records > 0) {
        json_object_set_new(object, "answers", json_answers(p));
    }
}

int inspect_print_json(const struct inspect_report *p)
{
    const struct trace_summary *s = p->summary;
    json_t *object = json_object();

    json_object_set_new(object, "formats", json_string(s->formats));
    put(object, "records", s->records);
    put(object, "bad", s->bad);
    put(object, "skipped", s->skipped);
    put(object, "others", s->others);
    json_object_set_new(object, "reasons", json_reasons(s));
    put(object, "destinations", s->destinations);
    put(object, "clients", s->clients);
    json_object_set_new(object, "timeless", json_boolean(s->timeless));
    put(object, "first_ms", s->first_ns / 1000000);
    put(object, "span_ms", (s->last_ns - s->first_ns) / 1000000);
    put(object, "steps_back", s->steps_back);
    if (!p->brief) {
        put_found(p, object);
    }
    int failed = json_dumpf(object, stdout, JSON_INDENT(2));
    printf("\n");
    json_decref(object);
    if (failed != 0) {
        fprintf(stderr, "locus inspect: cannot write the output\n");
    }
    return failed != 0 ? EXIT_RUNTIME : EXIT_OK;
}
