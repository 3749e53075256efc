/* SPDX-License-Identifier: MIT */
/* locus inspect: what is in a trace, and what it can tell. */
#include "commands.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "../cli/progress.h"
#include "../cli/read_args.h"
#include "../formats/formats.h"
#include "../trace/inspect.h"

static const uint64_t SECOND_NS = 1000000000;

struct inspect_args {
    struct read_args read;
    uint64_t top, assumed_ns;
    bool json, brief, formats;
};

#define AT(field) offsetof(struct inspect_args, field)

static const struct option_spec options[] = {
    OPT_NUMBER("top", 'n', AT(top), "N", 0, 1000000,
               "How many destinations to list (default 10)."),
    OPT_TIME("assume", 0, AT(assumed_ns), 0, 0,
             "How long a record without a duration is taken to last (default 1s)."),
    OPT_FLAG("json", 'j', AT(json), "One JSON object instead of the page."),
    OPT_FLAG("brief", 'b', AT(brief),
             "Only what reading alone tells: records, what is bad, span, how many "
             "destinations and clients."),
    OPT_FLAG("formats", 0, AT(formats), "List the formats that can be read."),
    OPT_GROUP(read_options, AT(read)),
    OPT_END,
};

struct page {
    const struct inspect_args *args;
    const struct arguments *paths;
    struct trace *trace;
    const struct trace_summary *summary;
    struct inspection found;
};

/* ---- what the trace can answer --------------------------------------------------- */

enum { ANSWERS = 7, WHY = 120 };
static const char *const verdicts[] = {"no", "partly", "yes"};
enum verdict { NO, PARTLY, YES };

struct answer {
    const char *question;
    enum verdict verdict;
    char why[WHY];
};

static double percent(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0 : 100 * (double)part / (double)whole;
}

static uint64_t ppm(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0 : (uint64_t)(1e6 * (double)part / (double)whole + 0.5);
}

static uint64_t repeats(const struct inspection *f)
{
    return f->records - f->keys.count;
}

static void answer_load(const struct page *p, struct answer *a)
{
    const struct inspection *f = &p->found;

    a->question = "load: wlc, lc, sed, nq against rr, wrr";
    if (f->active_peak < 2) {
        a->verdict = NO;
        snprintf(a->why, WHY, "never two connections at once");
    } else if (f->with_duration * 10 < f->records * 9) {
        a->verdict = PARTLY;
        snprintf(a->why, WHY,
                 "%.0f %% of the records have a duration; others need a model",
                 percent(f->with_duration, f->records));
    } else {
        a->verdict = YES;
        snprintf(a->why, WHY, "durations are there; up to %" PRIu64 " at once",
                 f->active_peak);
    }
}

static void answer_locality(const struct page *p, struct answer *a)
{
    const struct inspection *f = &p->found;
    double share = percent(repeats(f), f->records);

    a->question = "locality: lblc, lblcr against dh, mh";
    a->verdict = f->keys.count < 2 || share < 5 ? NO : share < 30 ? PARTLY : YES;
    if (f->keys.count < 2) {
        snprintf(a->why, WHY, "there is one destination; try another --key");
    } else {
        snprintf(a->why, WHY, "%.1f %% of the records go to a destination seen before",
                 share);
    }
}

static void answer_hot(const struct page *p, struct answer *a)
{
    const struct inspection *f = &p->found;
    uint64_t first = f->keys.count == 0 ? 0 : f->ranked[0].records;
    double share = percent(first, f->records);

    a->question = "a hot destination: lblcr against lblc";
    a->verdict = share < 3 || first < 20 ? NO : share < 10 ? PARTLY : YES;
    snprintf(a->why, WHY, "the first takes %.1f %%", share);
}

static void answer_clients(const struct page *p, struct answer *a)
{
    const struct inspection *f = &p->found;
    uint64_t clients = p->summary->clients;

    a->question = "clients: sh, persistence";
    a->verdict = clients < 2 ? NO : clients < 20 ? PARTLY : YES;
    if (f->with_client == 0) {
        snprintf(a->why, WHY, "no clients are recorded");
    } else {
        snprintf(a->why, WHY, "%" PRIu64 " client%s", clients, clients == 1 ? "" : "s");
    }
}

static void answer_cache(const struct page *p, struct answer *a)
{
    const struct inspection *f = &p->found;
    bool sized = f->with_bytes * 10 >= f->records * 9;

    a->question = "caches behind the servers: hit ratio, origin traffic";
    a->verdict = repeats(f) == 0 ? NO : sized ? YES : PARTLY;
    snprintf(a->why, WHY, "%s",
             repeats(f) == 0 ? "nothing is asked for twice"
             : sized         ? "sizes are there, and repeats"
                             : "repeats are there, but sizes are not");
}

static void answer_expiry(const struct page *p, struct answer *a)
{
    uint64_t span_ns = p->found.span_ns;

    a->question = "expiry: idle destinations, sets that shrink";
    a->verdict = span_ns < 360 * SECOND_NS     ? NO
                 : span_ns < 86400 * SECOND_NS ? PARTLY
                                               : YES;
    snprintf(a->why, WHY, "%s",
             a->verdict == NO ? "shorter than the 6 minutes after which any is stale"
             : a->verdict == PARTLY
                 ? "shorter than the default 24 h; set a shorter expiry"
                 : "longer than the default 24 h");
}

static void answer_bound(const struct page *p, struct answer *a)
{
    uint64_t count = p->found.keys.count;

    a->question = "the bound on destinations";
    a->verdict = count > 16384 ? YES : NO;
    snprintf(a->why, WHY, "%" PRIu64 " destination%s; the kernel's soft bound is 16384",
             count, count == 1 ? "" : "s");
}

static void answer(const struct page *p, struct answer answers[ANSWERS])
{
    static void (*const ask[ANSWERS])(const struct page *, struct answer *) = {
        answer_load,  answer_locality, answer_hot,  answer_clients,
        answer_cache, answer_expiry,   answer_bound};

    for (size_t i = 0; i < ANSWERS; i++) {
        ask[i](p, &answers[i]);
    }
}

/* ---- the page -------------------------------------------------------------------- */

/* "1,234,567" */
static const char *grouped(uint64_t value, char out[32])
{
    char digits[24];
    int length = snprintf(digits, sizeof(digits), "%" PRIu64, value);
    size_t used = 0;

    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) {
            out[used++] = ',';
        }
        out[used++] = digits[i];
    }
    out[used] = '\0';
    return out;
}

/* "1.25 s", "2 h 05 min": three digits that matter. */
static const char *time_text(uint64_t ns, char out[32])
{
    double s = (double)ns / 1e9;

    if (ns < 1000) {
        snprintf(out, 32, "%" PRIu64 " ns", ns);
    } else if (ns < 1000000) {
        snprintf(out, 32, "%.3g us", s * 1e6);
    } else if (ns < SECOND_NS) {
        snprintf(out, 32, "%.3g ms", s * 1e3);
    } else if (s < 100) {
        snprintf(out, 32, "%.3g s", s);
    } else if (s < 7200) {
        snprintf(out, 32, "%d min %02d s", (int)s / 60, (int)s % 60);
    } else if (s < 172800) {
        snprintf(out, 32, "%d h %02d min", (int)(s / 3600), (int)s % 3600 / 60);
    } else {
        snprintf(out, 32, "%.1f days", s / 86400);
    }
    return out;
}

static const char *bytes_text(double bytes, char out[32])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    size_t unit = 0;

    while (bytes >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        bytes /= 1024;
        unit++;
    }
    snprintf(out, 32, unit == 0 || bytes >= 100 ? "%.0f %s" : "%.3g %s", bytes,
             units[unit]);
    return out;
}

static const char *date_text(uint64_t ns, char out[32])
{
    time_t when = (time_t)(ns / SECOND_NS);
    struct tm tm;

    if (gmtime_r(&when, &tm) == NULL ||
        strftime(out, 32, "%Y-%m-%d %H:%M:%S", &tm) == 0) {
        return "?";
    }
    return out;
}

static void print_head(const struct page *p)
{
    const struct trace_summary *s = p->summary;
    char a[32];
    char b[32];
    char c[32];

    printf("trace         ");
    for (size_t i = 0; i < p->paths->count; i++) {
        const char *slash = strrchr(p->paths->items[i], '/');
        printf("%s%s", i > 0 ? ", " : "",
               slash != NULL ? slash + 1 : p->paths->items[i]);
    }
    printf(" (%s)\n", s->formats[0] == '\0' ? "empty" : s->formats);
    printf("records       %s, %s bad", grouped(s->records, a), grouped(s->bad, b));
    if (s->skipped > 0) {
        printf(", %s outside the window or sample", grouped(s->skipped, c));
    }
    if (s->others > 0) {
        printf(", %s lines are none", grouped(s->others, c));
    }
    printf("\n");
}

static void print_bad(const struct page *p)
{
    const struct trace_summary *s = p->summary;

    for (size_t i = 0; i < s->reason_count; i++) {
        printf("%-14s%" PRIu64 " %s\n", i == 0 ? "bad" : "", s->reasons[i].count,
               s->reasons[i].reason);
    }
    for (size_t i = 0; i < s->example_count; i++) {
        printf("%-14s%s\n", i == 0 ? "  such as" : "", s->examples[i]);
    }
}

/* Blocks of eight heights where the terminal has them; ASCII otherwise. */
static void print_rate_line(const struct inspection *f)
{
    static const char *const blocks[] = {" ",      "\u2581", "\u2582",
                                         "\u2583", "\u2584", "\u2585",
                                         "\u2586", "\u2587", "\u2588"};
    static const char *const ascii[] = {" ", ".", ".", ":", ":", "-", "=", "#", "#"};
    const char *locale = getenv("LC_ALL");
    uint64_t most = 1;

    if (locale == NULL || locale[0] == '\0') {
        locale = getenv("LC_CTYPE");
    }
    if (locale == NULL || locale[0] == '\0') {
        locale = getenv("LANG");
    }
    bool utf8 = locale != NULL && (strstr(locale, "UTF-8") || strstr(locale, "utf8"));
    for (size_t i = 0; i < INSPECT_RATE_CELLS; i++) {
        most = f->rate[i] > most ? f->rate[i] : most;
    }
    printf("              |");
    for (size_t i = 0; i < INSPECT_RATE_CELLS; i++) {
        uint64_t height = (f->rate[i] * 8 + most - 1) / most;
        fputs((utf8 ? blocks : ascii)[height], stdout);
    }
    printf("|\n");
}

static void print_span(const struct page *p)
{
    const struct trace_summary *s = p->summary;
    char a[32];
    char b[32];
    char c[32];

    if (s->timeless) {
        printf("span          the trace has no times; %" PRIu64 "/s is assumed\n",
               p->args->read.arrival);
    } else {
        printf("span          %s, %s to %s UTC\n",
               time_text(s->last_ns - s->first_ns, a), date_text(s->first_ns, b),
               date_text(s->last_ns, c));
    }
}

static void print_order(const struct page *p)
{
    char a[32];

    if (p->summary->steps_back > 0) {
        printf("order         %s records are stamped before the one in front of them\n",
               grouped(p->summary->steps_back, a));
    }
}

static void print_time(const struct page *p)
{
    const struct inspection *f = &p->found;
    char a[32];
    char b[32];

    print_span(p);
    double span_s = (double)f->span_ns / 1e9;
    printf("rate          %.3g/s, %s in the busiest second, longest gap %s\n",
           span_s > 0 ? (double)f->records / span_s : (double)f->records,
           grouped(f->busiest_second, a), time_text(f->longest_gap_ns, b));
    print_rate_line(f);
    print_order(p);
}

static void print_kinds(const struct page *p)
{
    const struct inspection *f = &p->found;
    char a[32];
    char b[32];
    char c[32];
    char d[32];

    printf("protocols     tcp %s, udp %s, other %s\n", grouped(f->tcp, a),
           grouped(f->udp, b), grouped(f->other, c));
    printf("concurrency   p50 %s, p99 %s, peak %s, mean %.3g",
           grouped(f->active_p50, a), grouped(f->active_p99, b),
           grouped(f->active_peak, c), f->active_mean);
    if (f->with_duration < f->records) {
        printf(" (%s without a duration taken as %s)",
               grouped(f->records - f->with_duration, a),
               time_text(p->args->assumed_ns, b));
    }
    printf("\n");
    if (f->with_duration > 0) {
        const struct histogram *h = &f->durations_ns;
        printf("durations     p50 %s, p95 %s, max %s, mean %s\n",
               time_text(histogram_at(h, 500), a), time_text(histogram_at(h, 950), b),
               time_text(h->max, c),
               time_text((uint64_t)(h->sum / (double)h->count), d));
    }
    if (f->with_bytes > 0) {
        const struct histogram *h = &f->bytes;
        char e[32];
        printf("bytes         %s in all; p50 %s, p95 %s, max %s, mean %s\n",
               bytes_text(h->sum, e), bytes_text((double)histogram_at(h, 500), a),
               bytes_text((double)histogram_at(h, 950), b),
               bytes_text((double)h->max, c), bytes_text(h->sum / (double)h->count, d));
    }
}

static void key_name(const struct page *p, size_t index, char *text, size_t size)
{
    const struct keyset_entry *e = &p->found.keys.entries[index];

    trace_key_text(p->trace, e->family, &e->key, text, size);
}

static void print_destinations(const struct page *p)
{
    const struct inspection *f = &p->found;
    char a[32];
    char name[256];

    printf("clients       %s\n", grouped(p->summary->clients, a));
    printf("destinations  %s; %.1f %% of the records go to one seen before\n",
           grouped(f->keys.count, a), percent(repeats(f), f->records));
    printf("skew          the first takes %.1f %%, the first ten %.1f %%",
           percent(f->ranked[0].records, f->records),
           percent(f->top10_records, f->records));
    if (f->zipf_ranks >= 3) {
        printf("; Zipf exponent %.2f", f->zipf);
    }
    printf("\n");
    if (p->args->top > 0) {
        printf("\n   rank     records   share  destination\n");
    }
    for (size_t i = 0; i < f->keys.count && i < p->args->top; i++) {
        key_name(p, f->ranked[i].index, name, sizeof(name));
        printf("%7zu %11s %6.2f%%  %s\n", i + 1, grouped(f->ranked[i].records, a),
               percent(f->ranked[i].records, f->records), name);
    }
}

static void print_answers(const struct page *p)
{
    struct answer answers[ANSWERS];

    answer(p, answers);
    printf("\nwhat it can answer\n");
    for (size_t i = 0; i < ANSWERS; i++) {
        printf("  %-7s %s\n          %s\n", verdicts[answers[i].verdict],
               answers[i].question, answers[i].why);
    }
}

static void print_brief(const struct page *p)
{
    char a[32];

    print_span(p);
    print_order(p);
    printf("clients       %s\n", grouped(p->summary->clients, a));
    printf("destinations  %s\n", grouped(p->summary->destinations, a));
}

static void print_page(const struct page *p)
{
    print_head(p);
    if (p->args->brief && p->summary->records > 0) {
        print_brief(p);
    } else if (p->found.records > 0) {
        print_time(p);
        print_kinds(p);
        print_destinations(p);
        print_answers(p);
    }
    if (p->summary->bad > 0) {
        printf("\n");
        print_bad(p);
    }
}

/* ---- JSON ------------------------------------------------------------------------ */

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

static json_t *json_top(const struct page *p)
{
    const struct inspection *f = &p->found;
    json_t *top = json_array();
    char name[256];

    for (size_t i = 0; i < f->keys.count && i < p->args->top; i++) {
        json_t *one = json_object();
        key_name(p, f->ranked[i].index, name, sizeof(name));
        json_object_set_new(one, "destination", json_string(name));
        put(one, "records", f->ranked[i].records);
        put(one, "share_ppm", ppm(f->ranked[i].records, f->records));
        json_array_append_new(top, one);
    }
    return top;
}

static json_t *json_answers(const struct page *p)
{
    struct answer answers[ANSWERS];
    json_t *array = json_array();

    answer(p, answers);
    for (size_t i = 0; i < ANSWERS; i++) {
        json_array_append_new(array, json_pack("{s:s, s:s, s:s}", "question",
                                               answers[i].question, "verdict",
                                               verdicts[answers[i].verdict], "why",
                                               answers[i].why));
    }
    return array;
}

static void put_found(const struct page *p, json_t *object)
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
    put(object, "repeat_ppm", ppm(repeats(f), f->records));
    put(object, "top1_ppm",
        f->keys.count == 0 ? 0 : ppm(f->ranked[0].records, f->records));
    put(object, "top10_ppm", ppm(f->top10_records, f->records));
    put(object, "zipf_milli", f->zipf > 0 ? (uint64_t)(f->zipf * 1000 + 0.5) : 0);
    json_object_set_new(object, "top", json_top(p));
    if (f->records > 0) {
        json_object_set_new(object, "answers", json_answers(p));
    }
}

static int print_json(const struct page *p)
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
    if (!p->args->brief) {
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

/* ---- the command ----------------------------------------------------------------- */

static int list_formats(void)
{
    const char *about;
    const char *name;

    for (size_t i = 0; (name = trace_format_name(i, &about)) != NULL; i++) {
        printf("%-14s %s\n", name, about);
    }
    return EXIT_OK;
}

static void show_reading(void *arg, uint64_t done_bytes, uint64_t total_bytes)
{
    struct progress *progress = arg;

    progress->total = total_bytes;
    progress_update(progress, done_bytes);
}

static int run_inspect(struct page *p)
{
    struct trace_options reading;
    struct progress progress;
    int status = read_args_resolve("inspect", &p->args->read, &reading);

    if (status != 0) {
        return status;
    }
    progress_begin(&progress, "reading", "B", 0);
    progress_catch_interrupt();
    reading.progress = show_reading;
    reading.progress_arg = &progress;
    reading.stop = &progress_stop;
    status = trace_open(&reading, p->paths->items, p->paths->count, &p->trace);
    progress_end(&progress);
    if (p->trace == NULL) {
        return status;
    }
    p->summary = trace_summary(p->trace);
    if (p->args->brief || inspect(p->trace, p->args->assumed_ns, &p->found)) {
        if (!p->args->json) {
            print_page(p);
        } else if (print_json(p) != EXIT_OK) {
            status = EXIT_RUNTIME;
        }
    } else {
        status = EXIT_RUNTIME;
    }
    if (progress_stop != 0) {
        fprintf(stderr, "locus inspect: interrupted: the first %" PRIu64 " records\n",
                p->summary->records);
        status = EXIT_RUNTIME;
    }
    inspection_free(&p->found);
    trace_close(p->trace);
    return status;
}

static int run(int argc, char **argv)
{
    struct inspect_args args = {
        .read = READ_ARGS_DEFAULT, .top = 10, .assumed_ns = SECOND_NS};
    struct arguments paths;
    struct page *page;

    int status = options_parse(&cmd_inspect, argc, argv, &args, &paths);
    if (status != 0) {
        return status < 0 ? EXIT_OK : status;
    }
    if (args.formats) {
        return list_formats();
    }
    if (paths.count == 0) {
        return usage_error("inspect", "expected a trace; '-' is stdin");
    }
    page = calloc(1, sizeof(*page)); /* its histograms are large for a stack */
    if (page == NULL) {
        fprintf(stderr, "locus inspect: out of memory\n");
        return EXIT_RUNTIME;
    }
    page->args = &args;
    page->paths = &paths;
    status = run_inspect(page);
    free(page);
    return status;
}

const struct command cmd_inspect = {
    .name = "inspect",
    .summary = "what is in a trace, and what it can tell",
    .usage = "[options] TRACE...",
    .description =
        "Reads traces and prints one page: span and rates, destinations and how skewed "
        "their popularity is, concurrency, durations, sizes, what was bad and why, and "
        "which questions about scheduling this trace can answer.\n\n"
        "Concurrency is over time, from the first start to the last end. The Zipf "
        "exponent "
        "is fitted to the logarithms of rank and count, over at most 1,000 ranks that "
        "have "
        "more than one record.",
    .options = options,
    .examples = "locus inspect access.log.gz\n"
                "# the same log, its URLs as destinations\n"
                "locus inspect --key url access.log.gz\n"
                "# can it be read at all?\n"
                "locus inspect --brief --max-bad 0 access.log.gz\n",
    .run = run,
};
