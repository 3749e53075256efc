/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "report.h"

/* Text of a trace or file name may be any bytes; JSON holds UTF-8 only. */
static json_t *text_value(const char *text)
{
    char clean[512];
    json_t *value = json_string(text);
    size_t length = strlen(text);

    if (value != NULL) {
        return value;
    }
    length = length < sizeof(clean) ? length : sizeof(clean) - 1;
    for (size_t i = 0; i < length; i++) {
        clean[i] = (unsigned char)text[i] < 0x80 ? text[i] : '?';
    }
    return json_stringn(clean, length);
}

/* JSON integers are signed here; what is larger (it would take 292 years in ns) is held. */
static int set_number(json_t *object, const char *name, uint64_t value)
{
    return json_object_set_new(
        object, name, json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value));
}

static int set_text(json_t *object, const char *name, const char *text)
{
    return json_object_set_new(object, name, text_value(text));
}

static json_t *reasons_array(const struct trace_summary *t)
{
    json_t *array = json_array();

    for (size_t i = 0; i < t->reason_count; i++) {
        json_t *reason = json_object();
        set_text(reason, "reason", t->reasons[i].reason);
        set_number(reason, "count", t->reasons[i].count);
        json_array_append_new(array, reason);
    }
    return array;
}

static json_t *trace_object(const struct report *report)
{
    const struct trace_summary *t = report->trace;
    const struct arrival_counts *c = report->counts;
    json_t *object = json_object();
    json_t *files = json_array();
    json_t *examples = json_array();

    for (size_t i = 0; i < report->path_count; i++) {
        json_array_append_new(files, text_value(report->paths[i]));
    }
    for (size_t i = 0; i < t->example_count; i++) {
        json_array_append_new(examples, text_value(t->examples[i]));
    }
    json_object_set_new(object, "files", files);
    set_text(object, "formats", t->formats);
    set_number(object, "records", t->records);
    set_number(object, "bad", t->bad);
    set_number(object, "skipped", t->skipped);
    set_number(object, "arrivals", c->arrivals);
    set_number(object, "other_protocols", c->other_protocols);
    set_number(object, "without_duration", c->without_duration);
    set_number(object, "without_bytes", c->without_bytes);
    set_number(object, "destinations", t->destinations);
    set_number(object, "clients", t->clients);
    set_number(object, "first_ms", t->first_ns / 1000000u);
    set_number(object, "span_s", (t->last_ns - t->first_ns) / 1000000000u);
    set_number(object, "span_ms", (t->last_ns - t->first_ns) / 1000000u);
    set_number(object, "steps_back", t->steps_back);
    json_object_set_new(object, "timeless", json_boolean(t->timeless));
    json_object_set_new(object, "interrupted", json_boolean(report->interrupted));
    json_object_set_new(object, "bad_reasons", reasons_array(t));
    json_object_set_new(object, "bad_examples", examples);
    return object;
}

static json_t *servers_array(const struct server_list *list)
{
    json_t *array = json_array();

    for (size_t i = 0; i < list->count; i++) {
        const struct server_spec *s = &list->items[i];
        json_t *server = json_object();
        set_text(server, "address", s->name);
        set_number(server, "weight", s->weight);
        if (s->capacity != 0) {
            set_number(server, "capacity", s->capacity);
        }
        set_number(server, "upper_threshold", s->upper);
        set_number(server, "lower_threshold", s->lower);
        json_object_set_new(server, "later", json_boolean(s->later));
        json_array_append_new(array, server);
    }
    return array;
}

static json_t *settings_object(const struct report *report)
{
    static const char *const protocols[] = {"tcp", "udp", "all"};
    json_t *object = json_object();

    set_text(object, "rules", report->rules);
    if (report->rules_changed_count > 0) {
        json_t *changed = json_array();
        for (size_t i = 0; i < report->rules_changed_count; i++) {
            json_array_append_new(changed, json_string(report->rules_changed[i]));
        }
        json_object_set_new(object, "rules_changed", changed);
    }
    if (report->director_by != NULL) {
        json_object_set_new(object, "director_by", json_string(report->director_by));
        json_object_set_new(object, "stagger", json_boolean(report->stagger));
    }
    set_text(object, "proto", protocols[report->arrivals->proto]);
    set_number(object, "tcpfin_ms", report->tcpfin_ns / 1000000u);
    set_number(object, "udp_ms", report->udp_ns / 1000000u);
    set_number(object, "expiration_ms", report->expiration_ns / 1000000u);
    if (report->phase_count > 1) { /* how exact recovery_ms is */
        set_number(object, "interval_ms", report->interval_ns / 1000000u);
    }
    json_object_set_new(object, "weights_from_trace",
                        json_boolean(report->weights_from_trace));
    if (report->weights_from_trace) {
        set_number(object, "concurrency_p99", report->concurrency_p99);
        set_number(object, "concurrency_peak", report->concurrency_peak);
    }
    if (report->cache.capacity > 0) {
        set_text(object, "evict", cache_policy_names[report->cache.policy]);
        set_number(object, report->cache.objects ? "cache_objects" : "cache_bytes",
                   report->cache.capacity);
    }
    json_object_set_new(object, "servers", servers_array(report->servers));
    return object;
}

static void set_figures(json_t *object, const struct report *report,
                        const struct policy_report *policy,
                        const struct figures *figures)
{
    bool phase = figures != &policy->total;

    for (const struct figure_spec *s = figure_specs; s->name != NULL; s++) {
        if ((!phase || !s->run_wide) &&
            (s->needs == NEEDS_REFUSALS || report_wants(report, s)) &&
            policy_wants(policy, s)) {
            set_number(object, s->name, figure_value(figures, s));
        }
    }
}

static json_t *phases_array(const struct report *report,
                            const struct policy_report *policy)
{
    json_t *array = json_array();

    for (size_t i = 0; i < policy->phase_count; i++) {
        json_t *phase = json_object();
        set_text(phase, "phase", report->phases[i].name);
        set_number(phase, "from_ms", report->phases[i].from_ns / 1000000u);
        set_text(phase, "events", report->phases[i].events);
        if (i > 0) {
            json_object_set_new(phase, "recovery_ms",
                                policy->recovery_ms[i] == NEVER_RECOVERED
                                    ? json_null()
                                    : json_integer((json_int_t)policy->recovery_ms[i]));
        }
        set_figures(phase, report, policy, &policy->phases[i]);
        json_array_append_new(array, phase);
    }
    return array;
}

static json_t *server_figures_array(const struct report *report,
                                    const struct policy_report *policy)
{
    json_t *array = json_array();

    for (size_t i = 0; i < report->servers->count; i++) {
        const struct server_figures *f = &policy->servers[i];
        json_t *server = json_object();
        set_text(server, "address", report->servers->items[i].name);
        set_number(server, "connections", f->connections);
        set_number(server, "bytes", f->bytes);
        set_number(server, "connection_share_ppm", f->connection_share_ppm);
        set_number(server, "request_share_ppm", f->request_share_ppm);
        set_number(server, "weight_share_ppm", f->weight_share_ppm);
        set_number(server, "peak_active", f->peak_active);
        set_number(server, "above_weight_ms", f->above_weight_ms);
        json_array_append_new(array, server);
    }
    return array;
}

static json_t *policies_array(const struct report *report)
{
    json_t *array = json_array();

    for (size_t i = 0; i < report->policy_count; i++) {
        const struct policy_report *p = &report->policies[i];
        json_t *policy = json_object();
        set_text(policy, "policy", p->name);
        set_figures(policy, report, p, &p->total);
        json_object_set_new(policy, "servers", server_figures_array(report, p));
        if (p->phase_count > 1) {
            json_object_set_new(policy, "phases", phases_array(report, p));
        }
        json_array_append_new(array, policy);
    }
    return array;
}

static json_t *hot_array(const struct report *report)
{
    json_t *array = json_array();

    for (size_t i = 0; i < report->hot_count; i++) {
        const struct hot_destination *hot = &report->hot[i];
        json_t *object = json_object();
        json_t *replicas = json_array();
        for (size_t p = 0; p < report->policy_count; p++) {
            const struct recorder *r = report->policies[p].recorder;
            uint32_t count =
                hot->number < r->contact_count
                    ? server_set_count(r->contacts[hot->number].served, r->server_count)
                    : 0;
            json_array_append_new(replicas, json_integer(count));
        }
        set_text(object, "destination", hot->name);
        set_number(object, "connections", hot->connections);
        json_object_set_new(object, "replicas", replicas);
        json_array_append_new(array, object);
    }
    return array;
}

json_t *report_object(const struct report *report)
{
    json_t *object = json_object();

    if (object == NULL ||
        json_object_set_new(object, "trace", trace_object(report)) != 0 ||
        json_object_set_new(object, "settings", settings_object(report)) != 0 ||
        json_object_set_new(object, "policies", policies_array(report)) != 0 ||
        json_object_set_new(object, "hot_destinations", hot_array(report)) != 0) {
        json_decref(object);
        return NULL;
    }
    return object;
}

bool report_json(FILE *out, const struct report *report)
{
    json_t *object = report_object(report);
    bool ok = object != NULL && json_dumpf(object, out, JSON_INDENT(1)) == 0;

    if (ok) {
        fputc('\n', out);
    }
    json_decref(object);
    return ok;
}
