/* SPDX-License-Identifier: MIT */
/*
 * Picks side by side: for each size, every design is filled with all destinations, checked to
 * decide as the others do, then measured in rounds, one after the other in rotating order,
 * so that whatever disturbs the machine disturbs all of them.
 */
#include "schedule.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "design.h"
#include "fixture.h"
#include "measure.h"

enum { DESIGNS = 5, ROUNDS = 11 };

static const struct column {
    const char *name;
    const struct design *design;
    bool batch;
} columns[DESIGNS] = {
    {"locus", &design_locus, false},   {"locus-batch", &design_locus, true},
    {"uthash", &design_uthash, false}, {"chained", &design_chained, false},
    {"floor", &design_floor, false},
};

struct contender {
    const struct design *design;
    void *self;
    struct load load;
    size_t round; /* picks per round */
    struct samples overlapped, isolated;
};

/* Addresses that are neither in order nor random: an odd multiple of the rank. */
static uint32_t address_of(uint32_t rank)
{
    return rank * 2654435761u;
}

static size_t power_of_two(size_t least)
{
    size_t power = 1;

    while (power < least) {
        power *= 2;
    }
    return power;
}

/* Ranks drawn by Zipf's law of that exponent (0: all alike), by inversion of its integral. */
static uint32_t *draw_destinations(const struct bench_case *c, size_t count)
{
    uint32_t *out = must(malloc(count * sizeof(*out)));
    uint64_t random = 88172645463325252u;
    double n = c->destinations;

    for (size_t i = 0; i < count; i++) {
        double u = (double)(random_next(&random) >> 11) * 0x1p-53;
        double rank = u * n;
        if (c->skew > 0) {
            double e = 1 - c->skew;
            rank = fabs(e) < 1e-9 ? exp(u * log(n)) - 1
                                  : pow(u * (pow(n, e) - 1) + 1, 1 / e) - 1;
        }
        out[i] = address_of(rank < n ? (uint32_t)rank : c->destinations - 1);
    }
    return out;
}

static void close_all(const struct contender *c)
{
    const struct load *load = &c->load;
    size_t idle = load->at > load->open_for ? load->at - load->open_for : 0;
    size_t gone = idle > load->idle_for ? idle - load->idle_for : 0;

    for (size_t i = idle; i < load->at; i++) {
        c->design->fin(c->self, load->opened[i & load->opened_mask]);
    }
    for (size_t i = gone; i < load->at; i++) {
        c->design->expire(c->self, load->opened[i & load->opened_mask]);
    }
}

/* As run() would, but told the servers. */
static void fill_by_hand(struct contender *c, const uint32_t *servers, size_t count)
{
    struct load *load = &c->load;

    for (; load->at < count; load->at++) {
        size_t at = load->at;
        c->design->fill(c->self, load->destinations[at], servers[at]);
        load->opened[at & load->opened_mask] = servers[at];
        if (at >= load->open_for) {
            c->design->fin(c->self,
                           load->opened[(at - load->open_for) & load->opened_mask]);
        }
        if (at >= load->open_for + load->idle_for) {
            c->design->expire(c->self,
                              load->opened[(at - load->open_for - load->idle_for) &
                                           load->opened_mask]);
        }
    }
}

/* Every destination once, in every contender; the first one's picks are what those that
 * cannot look up fast enough are told. */
static void fill(struct contender *contenders, const struct bench_case *c)
{
    size_t count = c->destinations, ring = power_of_two(count);
    uint32_t *destinations = must(malloc(ring * sizeof(*destinations)));
    uint32_t *opened = must(calloc(ring, sizeof(*opened)));
    uint32_t *first = must(calloc(ring, sizeof(*first)));

    for (size_t i = 0; i < ring; i++) {
        destinations[i] = address_of((uint32_t)(i % count));
    }
    for (int i = 0; i < DESIGNS; i++) {
        struct contender *k = &contenders[i];
        struct load measured = k->load;
        k->load.destinations = destinations;
        k->load.destination_mask = ring - 1;
        k->load.opened = i == 0 ? first : opened;
        k->load.opened_mask = ring - 1;
        if (k->load.open_for + k->load.idle_for >= ring) {
            k->load.open_for = k->load.idle_for = ring / 2 - 1;
        }
        if (k->design->fill != NULL) {
            fill_by_hand(k, first, count);
        } else {
            k->design->run(k->self, &k->load, count, false);
        }
        close_all(k);
        k->load = measured;
    }
    free(destinations);
    free(opened);
    free(first);
}

/* Whether the floor, which knows no rules, is meant. */
static bool has_rules(const struct contender *c)
{
    return c->design != &design_floor;
}

static bool decisions_agree(struct contender *contenders, size_t count)
{
    uint64_t expected = 0;
    bool agree = true;

    for (int i = 0; i < DESIGNS; i++) {
        struct contender *k = &contenders[i];
        uint64_t sum = k->design->run(k->self, &k->load, count, false);
        /* A batch of 64 closes connections later than one by one: other events. */
        if (columns[i].batch || !has_rules(k)) {
            continue;
        }
        if (i == 0) {
            expected = sum;
        }
        agree = agree && sum == expected;
    }
    return agree;
}

/* The first run is not timed: the others have had the caches since. */
static void measure(struct contender *k)
{
    k->design->run(k->self, &k->load, k->round, false);

    uint64_t start = cpu_ns();
    k->design->run(k->self, &k->load, k->round, false);
    samples_add(&k->overlapped, (double)(cpu_ns() - start) / (double)k->round);

    start = cpu_ns();
    k->design->run(k->self, &k->load, k->round, true);
    samples_add(&k->isolated, (double)(cpu_ns() - start) / (double)k->round);
}

/*
 * As many picks as take about the time, found by doubling. On a large map they must be enough
 * to touch its pages more than once, or what is timed is how the machine finds memory
 * that was not used for a while; unless even that takes far too long.
 */
static void find_round(struct contender *k, double seconds, size_t destinations)
{
    k->round = 64;
    for (;;) {
        uint64_t start = cpu_ns();
        k->design->run(k->self, &k->load, k->round, false);
        double taken = (double)(cpu_ns() - start) * 1e-9;
        if (k->round >= 1u << 26 || taken >= 10 * seconds ||
            (taken >= seconds && k->round >= destinations / 16)) {
            return;
        }
        k->round *= 2;
    }
}

static void start(struct contender *contenders, const struct bench_case *c)
{
    uint32_t *weights = must(malloc(c->servers * sizeof(*weights)));
    size_t count =
        power_of_two(c->destinations < 1u << 20 ? 1u << 20 : c->destinations);
    uint32_t *destinations = draw_destinations(c, count);
    uint64_t capacity = 0;

    for (uint32_t i = 0; i < c->servers; i++) {
        weights[i] = 20 + i * 7 % 60;
        capacity += weights[i];
    }
    for (int i = 0; i < DESIGNS; i++) {
        struct setup setup = {c->policy, c->servers, weights, c->destinations,
                              columns[i].batch};
        struct contender *k = &contenders[i];
        memset(k, 0, sizeof(*k));
        k->design = columns[i].design;
        k->self = must(k->design->create(&setup));
        k->load = (struct load){
            .destinations = destinations,
            .destination_mask = count - 1,
            .open_for =
                capacity * 6 / 10, /* servers are in use to 60 % of their weight */
            .idle_for = capacity * 6 / 10,
            .opened_mask = power_of_two(capacity * 12 / 10 + 256) - 1,
        };
        k->load.opened = must(calloc(k->load.opened_mask + 1, sizeof(uint32_t)));
    }
    free(weights);
}

static void finish(struct contender *contenders)
{
    free((void *)(uintptr_t)contenders[0].load.destinations);
    for (int i = 0; i < DESIGNS; i++) {
        contenders[i].design->destroy(contenders[i].self);
        free(contenders[i].load.opened);
    }
}

static void print_row(struct contender *contenders, const struct bench_case *c,
                      bool agree)
{
    double base = samples_quantile(&contenders[2].overlapped, 0.5);
    double base_isolated = samples_quantile(&contenders[2].isolated, 0.5);

    for (int i = 0; i < DESIGNS; i++) {
        struct contender *k = &contenders[i];
        double overlapped = samples_quantile(&k->overlapped, 0.5);
        double isolated = samples_quantile(&k->isolated, 0.5);
        printf("%-6s %9u %7u %5.2f  %-12s %10.1f %10.1f %10.1f  %10.1f %8.2fx %8.2fx",
               c->name, c->destinations, c->servers, c->skew, columns[i].name,
               overlapped, samples_quantile(&k->overlapped, 0),
               samples_quantile(&k->overlapped, 1), isolated, base / overlapped,
               base_isolated / isolated);
        if (k->design->map_bytes != NULL && c->policy != POLICY_WLC) {
            printf(" %7.1f", (double)k->design->map_bytes(k->self) / c->destinations);
        }
        printf("%s\n", has_rules(k) && !columns[i].batch && !agree ? "  DIFFERS" : "");
    }
}

static void print_json(struct contender *contenders, const struct bench_case *c,
                       bool agree)
{
    for (int i = 0; i < DESIGNS; i++) {
        struct contender *k = &contenders[i];
        printf("{\"policy\": \"%s\", \"destinations\": %u, \"servers\": %u, \"skew\": "
               "%.2f, "
               "\"design\": \"%s\", \"ns\": %.2f, \"ns_min\": %.2f, \"ns_max\": %.2f, "
               "\"ns_isolated\": %.2f, \"agree\": %s}\n",
               c->name, c->destinations, c->servers, c->skew, columns[i].name,
               samples_quantile(&k->overlapped, 0.5),
               samples_quantile(&k->overlapped, 0), samples_quantile(&k->overlapped, 1),
               samples_quantile(&k->isolated, 0.5), agree ? "true" : "false");
    }
}

static void markdown_cells(struct contender *contenders, bool isolated)
{
    for (int i = 0; i < DESIGNS; i++) {
        struct contender *k = &contenders[i];
        printf(" %.0f |",
               samples_quantile(isolated ? &k->isolated : &k->overlapped, 0.5));
    }
    printf("\n");
}

static void print_markdown(struct contender *contenders, const struct bench_case *c,
                           bool agree)
{
    printf("| %s, ", c->name);
    if (c->policy != POLICY_WLC) {
        printf("%u destinations, ", c->destinations);
    }
    printf("%u servers%s |", c->servers, agree ? "" : " (DIFFERS)");
    markdown_cells(contenders, false);
    if (c->policy != POLICY_WLC) {
        printf("| the same, each pick waiting for the one before |");
        markdown_cells(contenders, true);
    }
}

static void text_heading(void)
{
    printf("# ns of CPU time per pick + open + close: median, least and most of %d "
           "rounds;\n"
           "# isolated: each pick waits for the one before; ratios to uthash\n"
           "%-6s %9s %7s %5s  %-12s %10s %10s %10s  %10s %9s %9s %7s\n",
           ROUNDS, "policy", "dest", "servers", "skew", "design", "ns", "least", "most",
           "isolated", "ratio", "isolated", "B/dest");
}

static void markdown_heading(void)
{
    printf("|");
    for (int i = 0; i < DESIGNS; i++) {
        printf(" | %s", columns[i].name);
    }
    printf(" |\n|---|");
    for (int i = 0; i < DESIGNS; i++) {
        printf("---|");
    }
    printf("\n");
}

void bench_schedule_heading(enum format format)
{
    if (format == FORMAT_TEXT) {
        text_heading();
    } else if (format == FORMAT_MARKDOWN) {
        markdown_heading();
    }
}

bool bench_schedule(const struct bench_case *c, double seconds, enum format format)
{
    struct contender contenders[DESIGNS];
    size_t check = c->destinations >= 100000 ? 2000 : 100000;

    start(contenders, c);
    if (c->policy != POLICY_WLC) {
        fill(contenders, c);
    }
    bool agree = decisions_agree(contenders, check);
    for (int i = 0; i < DESIGNS; i++) {
        find_round(&contenders[i], seconds / (3 * ROUNDS), c->destinations);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < DESIGNS; i++) {
            measure(&contenders[(i + round) % DESIGNS]);
        }
    }
    if (format == FORMAT_JSON) {
        print_json(contenders, c, agree);
    } else if (format == FORMAT_MARKDOWN) {
        print_markdown(contenders, c, agree);
    } else {
        print_row(contenders, c, agree);
    }
    finish(contenders);
    return agree;
}
