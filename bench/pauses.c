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

#include <locus/locus.h>

#include "measure.h"

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

static void print(const struct histogram *h, bool json)
{
    if (json) {
        printf(
            "{\"what\": \"%s\", \"calls\": %llu, \"p50_ns\": %llu, \"p99_ns\": %llu, "
            "\"p999_ns\": %llu, \"max_ns\": %llu, \"disturbed\": %llu, "
            "\"disturbed_max_ns\": %llu}\n",
            h->what, (unsigned long long)h->count, (unsigned long long)quantile(h, 0.5),
            (unsigned long long)quantile(h, 0.99),
            (unsigned long long)quantile(h, 0.999), (unsigned long long)h->most_ns,
            (unsigned long long)h->disturbed, (unsigned long long)h->disturbed_most_ns);
        return;
    }
    printf("%-34s %10llu %9.2f %9.2f %9.2f %9.2f %9llu %9.2f\n", h->what,
           (unsigned long long)h->count, (double)quantile(h, 0.5) / 1000,
           (double)quantile(h, 0.99) / 1000, (double)quantile(h, 0.999) / 1000,
           (double)h->most_ns / 1000, (unsigned long long)h->disturbed,
           (double)h->disturbed_most_ns / 1000);
}

static struct locus_service *make_service(void)
{
    struct locus_service_config config = {
        .scheduler = "lblc",
        /* Unbounded, collects at every run, purges removed servers. */
        .rules = locus_rules_find("article"),
        .expiration_ns = 3600 * INT64_C(1000000000),
    };
    struct locus_service *svc;

    if (locus_service_create(&config, &svc) != LOCUS_OK) {
        fprintf(stderr, "locus-bench: out of memory\n");
        exit(1);
    }
    for (uint32_t i = 0; i < SERVERS; i++) {
        struct locus_server_config server = {
            .address = {.family = LOCUS_IPV4, .key = {.ipv4 = i}}, .weight = 1000};
        uint32_t handle;
        if (locus_server_add(svc, &server, 0, &handle) != LOCUS_OK) {
            exit(1);
        }
    }
    return svc;
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

static void report(struct histogram *h, bool json)
{
    print(h, json);
    fflush(stdout);
    free(h);
}

void bench_pauses(uint32_t destinations, size_t budget, bool json)
{
    const uint64_t hour_ns = 3600 * UINT64_C(1000000000);
    struct locus_service *svc = make_service();
    struct histogram *h;

    if (!json) {
        printf("# microseconds of one call, %u destinations, slices of %zu slots; "
               "disturbed:\n"
               "# the kernel switched or fetched a page meanwhile\n"
               "%-34s %10s %9s %9s %9s %9s %9s %9s\n",
               destinations, budget, "call", "calls", "p50", "p99", "p99.9", "max",
               "disturbed", "their max");
    }
    h = fresh("pick, map growing from empty");
    pick_all(svc, 0, destinations, 0, h);
    report(h, json);

    h = fresh("pick, half of them again");
    pick_all(svc, 0, destinations / 2, hour_ns, h);
    report(h, json);

    h = fresh("slice, half of them collected");
    tick_all(svc, hour_ns + hour_ns / 2, budget, h);
    report(h, json);

    h = fresh("remove a server of 1/16 of them");
    uint64_t start = wall_ns();
    (void)!locus_server_remove(svc, 0, hour_ns + hour_ns / 2);
    add(h, wall_ns() - start);
    report(h, json);

    h = fresh("slice, its destinations purged");
    tick_all(svc, hour_ns + hour_ns / 2, budget, h);
    report(h, json);
    locus_service_destroy(svc);
}
