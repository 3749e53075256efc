/* SPDX-License-Identifier: MIT */
/* The page of 'locus inspect', for people. */
#include "inspect_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../base/texts.h"
#include "../base/values.h"

void inspect_name(const struct inspect_report *p, size_t index, char *text, size_t size)
{
    const struct keyset_entry *e = &p->found.keys.entries[index];

    trace_key_text(p->trace, e->family, &e->key, text, size);
}

/* "1.25 s", "2 h 05 min": three digits that matter. */
static const char *time_text(uint64_t ns, char out[32])
{
    double s = (double)ns / 1e9;

    if (ns < 1000) {
        snprintf(out, 32, "%" PRIu64 " ns", ns);
    } else if (ns < 1000000) {
        snprintf(out, 32, "%.3g us", s * 1e6);
    } else if (ns < NS_PER_S) {
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
    time_t when = (time_t)(ns / NS_PER_S);
    struct tm tm;

    if (gmtime_r(&when, &tm) == NULL ||
        strftime(out, 32, "%Y-%m-%d %H:%M:%S", &tm) == 0) {
        return "?";
    }
    return out;
}

static void print_head(const struct inspect_report *p)
{
    const struct trace_summary *s = p->summary;
    char a[32];
    char b[32];
    char c[32];

    printf("trace         ");
    for (size_t i = 0; i < p->path_count; i++) {
        const char *slash = strrchr(p->paths[i], '/');
        printf("%s%s", i > 0 ? ", " : "", slash != NULL ? slash + 1 : p->paths[i]);
    }
    printf(" (%s)\n", s->formats[0] == '\0' ? "empty" : s->formats);
    printf("records       %s, %s bad", text_count(s->records, a),
           text_count(s->bad, b));
    if (s->skipped > 0) {
        printf(", %s outside the window or sample", text_count(s->skipped, c));
    }
    if (s->others > 0) {
        printf(", %s lines are none", text_count(s->others, c));
    }
    printf("\n");
}

static void print_bad(const struct inspect_report *p)
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

static void print_span(const struct inspect_report *p)
{
    const struct trace_summary *s = p->summary;
    char a[32];
    char b[32];
    char c[32];

    if (s->timeless) {
        printf("span          the trace has no times; %" PRIu64 "/s is assumed\n",
               p->arrival_per_s);
    } else {
        printf("span          %s, %s to %s UTC\n",
               time_text(s->last_ns - s->first_ns, a), date_text(s->first_ns, b),
               date_text(s->last_ns, c));
    }
}

static void print_order(const struct inspect_report *p)
{
    char a[32];

    if (p->summary->steps_back > 0) {
        printf("order         %s records are stamped before the one in front of them\n",
               text_count(p->summary->steps_back, a));
    }
}

static void print_time(const struct inspect_report *p)
{
    const struct inspection *f = &p->found;
    char a[32];
    char b[32];

    print_span(p);
    double span_s = (double)f->span_ns / 1e9;
    printf("rate          %.3g/s, %s in the busiest second, longest gap %s\n",
           span_s > 0 ? (double)f->records / span_s : (double)f->records,
           text_count(f->busiest_second, a), time_text(f->longest_gap_ns, b));
    print_rate_line(f);
    print_order(p);
}

static void print_kinds(const struct inspect_report *p)
{
    const struct inspection *f = &p->found;
    char a[32];
    char b[32];
    char c[32];
    char d[32];

    printf("protocols     tcp %s, udp %s, other %s\n", text_count(f->tcp, a),
           text_count(f->udp, b), text_count(f->other, c));
    printf("concurrency   p50 %s, p99 %s, peak %s, mean %.3g",
           text_count(f->active_p50, a), text_count(f->active_p99, b),
           text_count(f->active_peak, c), f->active_mean);
    if (f->with_duration < f->records) {
        printf(" (%s without a duration taken as %s)",
               text_count(f->records - f->with_duration, a),
               time_text(p->assumed_ns, b));
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

static void print_destinations(const struct inspect_report *p)
{
    const struct inspection *f = &p->found;
    char a[32];
    char name[256];

    printf("clients       %s\n", text_count(p->summary->clients, a));
    printf("destinations  %s; %.1f %% of the records go to one seen before\n",
           text_count(f->keys.count, a),
           inspect_percent(inspect_repeats(f), f->records));
    printf("skew          the first takes %.1f %%, the first ten %.1f %%",
           inspect_percent(f->ranked[0].records, f->records),
           inspect_percent(f->top10_records, f->records));
    if (f->zipf_ranks >= 3) {
        printf("; Zipf exponent %.2f", f->zipf);
    }
    printf("\n");
    if (p->top > 0) {
        printf("\n   rank     records   share  destination\n");
    }
    for (size_t i = 0; i < f->keys.count && i < p->top; i++) {
        inspect_name(p, f->ranked[i].index, name, sizeof(name));
        printf("%7zu %11s %6.2f%%  %s\n", i + 1, text_count(f->ranked[i].records, a),
               inspect_percent(f->ranked[i].records, f->records), name);
    }
}

static void print_answers(const struct inspect_report *p)
{
    struct inspect_answer answers[INSPECT_ANSWERS];

    inspect_answer(p, answers);
    printf("\nwhat it can answer\n");
    for (size_t i = 0; i < INSPECT_ANSWERS; i++) {
        printf("  %-7s %s\n          %s\n", inspect_verdicts[answers[i].verdict],
               answers[i].question, answers[i].why);
    }
}

static void print_brief(const struct inspect_report *p)
{
    char a[32];

    print_span(p);
    print_order(p);
    printf("clients       %s\n", text_count(p->summary->clients, a));
    printf("destinations  %s\n", text_count(p->summary->destinations, a));
}

void inspect_print_page(const struct inspect_report *p)
{
    print_head(p);
    if (p->brief && p->summary->records > 0) {
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
