/* SPDX-License-Identifier: MIT */
/*
 * The page: report.html with the report's JSON and Chart.js put in its two places. The numbers
 * are report_object()'s; "page" adds what only the charts need.
 */
#include <stdlib.h>
#include <string.h>

#include "embedded.h"
#include "report.h"

/* Of the phases the more telling figures are shown. */
enum { PAGE_SERVERS = 32, PHASE_RANK = 12 };

static json_t *number(uint64_t value)
{
    return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

static json_t *figures_array(void)
{
    static const char *const units[] = {
        [FIGURE_COUNT] = "count", [FIGURE_SHARE] = "share", [FIGURE_RATIO] = "ratio",
        [FIGURE_MS] = "time",     [FIGURE_BYTES] = "bytes",
    };
    json_t *array = json_array();

    for (int rank = 1; rank < 64; rank++) {
        for (const struct figure_spec *s = figure_specs; s->name != NULL; s++) {
            if (s->rank == rank) {
                json_array_append_new(
                    array, json_pack("{sssssssssb}", "name", s->name, "label", s->label,
                                     "unit", units[s->unit], "about", s->about, "phase",
                                     s->rank <= PHASE_RANK && !s->run_wide));
            }
        }
    }
    return array;
}

/* Which servers the page shows: all, or those with the most connections. */
static size_t choose_servers(const struct report *report,
                             const struct policy_report *policy,
                             size_t chosen[PAGE_SERVERS])
{
    size_t count = 0;

    for (size_t i = 0; i < report->servers->count; i++) {
        size_t at = count < PAGE_SERVERS ? count++ : PAGE_SERVERS;
        while (at > 0 && report->servers->count > PAGE_SERVERS &&
               policy->servers[chosen[at - 1]].connections <
                   policy->servers[i].connections) {
            if (at < PAGE_SERVERS) {
                chosen[at] = chosen[at - 1];
            }
            at--;
        }
        if (at < PAGE_SERVERS) {
            chosen[at] = i;
        }
    }
    return count;
}

static json_t *loads_array(const struct report *report,
                           const struct policy_report *policy)
{
    const struct timeline *t = policy->timeline;
    json_t *array = json_array();
    size_t chosen[PAGE_SERVERS];
    size_t count = choose_servers(report, policy, chosen);

    for (size_t i = 0; i < count; i++) {
        json_t *server = json_object();
        json_t *active = json_array();
        for (size_t p = 0; p < t->count; p++) {
            json_array_append_new(
                active, number(t->servers[p * t->server_count + chosen[i]].active));
        }
        json_object_set_new(server, "address",
                            json_string(report->servers->items[chosen[i]].name));
        json_object_set_new(server, "active", active);
        json_array_append_new(array, server);
    }
    return array;
}

static json_t *course_object(const struct report *report,
                             const struct policy_report *policy)
{
    const struct timeline *t = policy->timeline;
    json_t *object = json_object();
    json_t *imbalance = json_array();
    json_t *moves = json_array();
    json_t *refused = json_array();

    for (size_t p = 0; p < t->count; p++) {
        json_array_append_new(imbalance, number(t->points[p].imbalance_ppm));
        json_array_append_new(moves, number(t->points[p].moves));
        json_array_append_new(refused, number(t->points[p].refused));
    }
    json_object_set_new(object, "policy", json_string(policy->name));
    json_object_set_new(object, "imbalance_ppm", imbalance);
    json_object_set_new(object, "moves", moves);
    json_object_set_new(object, "refused", refused);
    json_object_set_new(object, "servers", loads_array(report, policy));
    return object;
}

static json_t *page_object(const struct report *report)
{
    json_t *page = json_object();
    json_t *policies = json_array();
    json_t *times = json_array();
    json_t *phases = json_array();
    const struct timeline *longest = report->policies[0].timeline;

    for (size_t i = 0; i < report->policy_count; i++) {
        const struct policy_report *policy = &report->policies[i];
        if (policy->timeline->count > longest->count) {
            longest = policy->timeline;
        }
        json_array_append_new(policies, course_object(report, policy));
    }
    for (size_t p = 0; p < longest->count; p++) {
        json_array_append_new(times, number(longest->points[p].at_ns / 1000000u));
    }
    for (size_t p = 0; p < report->phase_count; p++) {
        const struct report_phase *phase = &report->phases[p];
        json_array_append_new(phases,
                              json_pack("{sssIss}", "name", phase->name, "from_ms",
                                        (json_int_t)(phase->from_ns / 1000000u),
                                        "events", phase->events));
    }
    json_object_set_new(page, "interval_ms", number(report->interval_ns / 1000000u));
    json_object_set_new(page, "figures", figures_array());
    json_object_set_new(page, "times_ms", times);
    json_object_set_new(page, "phases", phases);
    json_object_set_new(page, "arrivals_end_ms",
                        number(report_arrivals_end_ms(report)));
    json_object_set_new(page, "policies", policies);
    return page;
}

/* No "</script>" and no "<!--" may appear inside a script element. */
static void write_data(FILE *out, const char *json)
{
    for (; *json != '\0'; json++) {
        if (*json == '<') {
            fputs("\\u003c", out);
        } else {
            fputc(*json, out);
        }
    }
}

/* The template up to marker; returns what is behind it. */
static const char *write_until(FILE *out, const char *template, const char *marker)
{
    const char *at = strstr(template, marker);

    fwrite(template, 1, (size_t)(at - template), out);
    return at + strlen(marker);
}

bool report_html(FILE *out, const struct report *report)
{
    json_t *object = report_object(report);
    char *json = NULL;

    if (object != NULL &&
        json_object_set_new(object, "page", page_object(report)) == 0) {
        json = json_dumps(object, JSON_COMPACT);
    }
    json_decref(object);
    if (json == NULL) {
        return false;
    }
    /* The template ends with the '\0' that embed.py puts behind every file. */
    const char *rest = (const char *)page_template;
    rest = write_until(out, rest, "/*DATA*/");
    write_data(out, json);
    rest = write_until(out, rest, "/*CHART_JS*/");
    fwrite(chart_js, 1, chart_js_size, out);
    fputs(rest, out);
    free(json);
    return true;
}
