/* SPDX-License-Identifier: MIT */
/*
 * Times of single calls, by wall clock, each in a histogram. A call during which the kernel
 * took the processor away or had to find a page is not the library's doing: such calls are
 * counted apart. They are told by the thread's own counts of switches and faults, read
 * after every call that took long enough to matter.
 */
#include "pauses.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "fixture.h"

enum { SERVERS = 16, BUCKETS = 64 * 8, SUSPECT_NS = 5000 };

struct histogram {
    const char *what;
    uint64_t counts[BUCKETS]; /* eight to every doubling */
    uint64_t count, most_ns;
    uint64_t disturbed, disturbed_most_ns;
    long switches, faults; /* as of the last call that was looked at */
};

static unsigned bucket_of(uint64_t ns)
{
    unsigned log = 63 - (unsigned)__builtin_clzll(ns | 8);

    return log * 8 + (unsigned)(ns >> (log - 3) & 7);
}

static uint64_t bucket_ns(unsigned bucket)
{
    return (uint64_t)(8 + bucket % 8) << (bucket / 8 - 3);
}

static void read_counts(struct histogram *h)
{
    struct rusage usage;

    getrusage(RUSAGE_THREAD, &usage);
    h->switches = usage.ru_nivcsw + usage.ru_nvcsw;
    h->faults = usage.ru_minflt + usage.ru_majflt;
}

static void add(struct histogram *h, uint64_t ns)
{
    if (ns >= SUSPECT_NS) {
        long switches = h->switches, faults = h->faults;
        read_counts(h);
        if (h->switches != switches || h->faults != faults) {
            h->disturbed++;
            h->disturbed_most_ns =
                ns > h->disturbed_most_ns ? ns : h->disturbed_most_ns;
            return;
        }
    }
    h->counts[bucket_of(ns)]++;
    h->count++;
    h->most_ns = ns > h->most_ns ? ns : h->most_ns;
}

static uint64_t quantile(const struct histogram *h, double q)
{
    uint64_t rest = (uint64_t)(q * (double)h->count);

    for (unsigned i = 0; i < BUCKETS; i++) {
        if (h->counts[i] > rest) {
            return bucket_ns(i);
        }
        rest -= h->counts[i];
    }
    return h->most_ns;
}

static double us(uint64_t ns)
{
    return (double)ns / 1000;
}

static void print(const struct histogram *h, enum format format, bool first)
{
    struct field fields[] = {
        {"calls", (double)h->count, 0},
        {"p50 us", us(quantile(h, 0.5)), 2},
        {"p99 us", us(quantile(h, 0.99)), 2},
        {"p99.9 us", us(quantile(h, 0.999)), 2},
        {"max us", us(h->most_ns), 2},
        {"disturbed", (double)h->disturbed, 0},
        {"their max us", us(h->disturbed_most_ns), 2},
    };

    print_record(format, first, "call", h->what, fields, 7);
}

/* Picks destinations first..last-1, bound and unbound at once so that they spread. */
static void pick_all(struct locus_service *svc, uint32_t first, uint32_t last,
                     uint64_t now_ns, struct histogram *h)
{
    uint32_t open[1024];

    memset(open, 0xff, sizeof(open));
    for (uint32_t i = first; i < last; i++) {
        struct locus_request request = {.dst = {.ipv4 = i * 2654435761u}};
        struct locus_pick pick;
        uint64_t start = wall_ns();
        int status = locus_connect(svc, &request, now_ns, LOCUS_ACTIVE, &pick);
        uint64_t end = wall_ns();
        add(h, end - start);
        if (open[i % 1024] != LOCUS_NO_SERVER) {
            (void)locus_conn_unbind(svc, open[i % 1024], LOCUS_ACTIVE);
        }
        open[i % 1024] = status == LOCUS_OK ? pick.server : LOCUS_NO_SERVER;
    }
    for (uint32_t i = 0; i < 1024; i++) {
        if (open[i] != LOCUS_NO_SERVER) {
            (void)locus_conn_unbind(svc, open[i], LOCUS_ACTIVE);
        }
    }
}

static void tick_all(struct locus_service *svc, uint64_t now_ns, size_t budget,
                     struct histogram *h)
{
    bool done = false;

    while (!done) {
        uint64_t start = wall_ns();
        done = locus_tick(svc, now_ns, budget);
        add(h, wall_ns() - start);
    }
}

static struct histogram *fresh(const char *what)
{
    struct histogram *h = calloc(1, sizeof(*h));

    if (h == NULL) {
        exit(1);
    }
    h->what = what;
    read_counts(h);
    return h;
}

static void report(struct histogram *h, enum format format, bool first)
{
    print(h, format, first);
    fflush(stdout);
    free(h);
}

/* What the figures are of, above a table for people. */
static void explain(uint32_t destinations, size_t budget, enum format format)
{
    if (format == FORMAT_TEXT) {
        printf("# one call, %u destinations, slices of %zu slots; disturbed: the "
               "kernel\n# switched or fetched a page meanwhile\n",
               destinations, budget);
    }
}

void bench_pauses(uint32_t destinations, size_t budget, enum format format)
{
    struct locus_service *svc = make_service(LOCUS_IPV4, 0, SERVERS);
    struct histogram *h;

    explain(destinations, budget, format);
    h = fresh("pick, map growing from empty");
    pick_all(svc, 0, destinations, 0, h);
    report(h, format, true);

    h = fresh("pick, half of them again");
    pick_all(svc, 0, destinations / 2, HOUR_NS, h);
    report(h, format, false);

    h = fresh("slice, half of them collected");
    tick_all(svc, HOUR_NS + HOUR_NS / 2, budget, h);
    report(h, format, false);

    h = fresh("remove a server of 1/16 of them");
    uint64_t start = wall_ns();
    (void)!locus_server_remove(svc, 0, HOUR_NS + HOUR_NS / 2);
    add(h, wall_ns() - start);
    report(h, format, false);

    h = fresh("slice, its destinations purged");
    tick_all(svc, HOUR_NS + HOUR_NS / 2, budget, h);
    report(h, format, false);
    locus_service_destroy(svc);
}

void bench_gc(uint32_t destinations, size_t budget, enum format format)
{
    struct locus_service *svc = make_service(LOCUS_IPV4, 0, SERVERS);
    struct histogram *h = fresh("pick");

    explain(destinations, budget, format);
    pick_all(svc, 0, destinations, 0, h);
    pick_all(svc, 0, destinations / 2, HOUR_NS, h);
    free(h);

    h = fresh("slice, nothing to collect");
    tick_all(svc, HOUR_NS / 2, budget, h);
    report(h, format, true);

    h = fresh("slice, half of them collected");
    tick_all(svc, HOUR_NS + HOUR_NS / 2, budget, h);
    report(h, format, false);

    h = fresh("slice, the rest collected");
    tick_all(svc, 3 * HOUR_NS, budget, h);
    report(h, format, false);
    locus_service_destroy(svc);
}
