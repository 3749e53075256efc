/* SPDX-License-Identifier: MIT */
/* The candidates of locus advise, and their runs over the trace. */
#include "search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../engine/crew.h"

enum { CANDIDATES_MAX = 4096, AT_ONCE = 8, MAP_ENTRIES_MAX = 1 << 27 };

/* What is tried for lblc and lblcr; other policies have one candidate each, since scaling
 * all weights changes none of their picks. What IPVS does by itself comes first, since of
 * equals the first is chosen. */
static const uint64_t headrooms[] = {125, 100, 150, 200, 300, 500};
static const uint64_t expirations_s[] = {86400, 3600, 600};
/* Bounds are tried on what is then best: upper thresholds, in percent of the connections that
 * there are (p99 over time, with those that wait for their time-out), and sizes of the map. */
static const uint64_t thresholds[] = {0, 125, 200};
enum {
    HEADROOMS = sizeof(headrooms) / sizeof(*headrooms),
    EXPIRATIONS = sizeof(expirations_s) / sizeof(*expirations_s),
    THRESHOLDS = sizeof(thresholds) / sizeof(*thresholds),
    MAP_SIZES = 3,
};

/* The next candidate, zeroed; NULL after a line on stderr. */
static struct candidate *next_candidate(struct advise *advise)
{
    if (advise->count == CANDIDATES_MAX) {
        usage_error("advise", "--policy: too many");
        return NULL;
    }
    struct candidate *c = &advise->candidates[advise->count];
    memset(c, 0, sizeof(*c));
    return c;
}

static int add_candidate(struct advise *advise, const struct policy *policy,
                         uint64_t headroom_percent, uint64_t expiration_s)
{
    struct candidate *c = next_candidate(advise);
    uint64_t p99 = (uint64_t)advise->session.concurrency_p99;
    uint64_t total = headroom_percent == 0 ? 0 : (p99 * headroom_percent + 99) / 100;

    if (c == NULL) {
        return EXIT_USAGE;
    }
    /* Never 0: that would mean "as given". */
    total = headroom_percent != 0 && total == 0 ? 1 : total;
    c->policy = *policy;
    c->headroom_percent = headroom_percent;
    c->expiration_ns = expiration_s * 1000000000u;
    if (advise_scale_weights(&advise->setup.servers, total, &c->servers) != LOCUS_OK) {
        return memory_error("advise");
    }
    advise->count++;
    return EXIT_OK;
}

/* The same with other bounds. */
static int add_variant(struct advise *advise, const struct candidate *base,
                       uint64_t threshold_percent, uint32_t max_entries)
{
    struct candidate *c = next_candidate(advise);

    if (c == NULL) {
        return EXIT_USAGE;
    }
    c->policy = base->policy;
    c->headroom_percent = base->headroom_percent;
    c->expiration_ns = base->expiration_ns;
    c->threshold_percent = threshold_percent;
    c->max_entries = max_entries;
    if (advise_scale_weights(&base->servers, 0, &c->servers) != LOCUS_OK) {
        return memory_error("advise");
    }
    if (threshold_percent != 0) {
        advise_set_thresholds(&c->servers,
                              (advise->connections_p99 * threshold_percent + 99) / 100);
    }
    advise->count++;
    return EXIT_OK;
}

/* Nothing is idle for longer than the trace lasts: such times are all the same. */
static bool expires_in_trace(const struct advise *advise, uint64_t expiration_s)
{
    const struct trace_summary *t = advise->session.summary;
    figure_sum span_ns = (figure_sum)(t->end_ns - t->first_ns) * 1000;

    return expiration_s * (figure_sum)1000000000 <=
           span_ns / advise->setup.arrivals.speed_milli;
}

static int add_policy(struct advise *advise, const struct policy *policy)
{
    bool given = advise_weights_given(&advise->setup.servers);
    int status = EXIT_OK;

    if (!policy_has_map(policy)) {
        return add_candidate(advise, policy, given ? 0 : 125, 0);
    }
    for (size_t e = 0; e < EXPIRATIONS; e++) {
        if (e > 0 && !expires_in_trace(advise, expirations_s[e])) {
            continue;
        }
        if (status == EXIT_OK && given) {
            status = add_candidate(advise, policy, 0, expirations_s[e]);
        }
        for (size_t h = 0; status == EXIT_OK && h < HEADROOMS; h++) {
            status = add_candidate(advise, policy, headrooms[h], expirations_s[e]);
        }
    }
    return status;
}

static int add_policies(struct advise *advise)
{
    const char *text = advise->args.policies;
    struct policy policy;

    if (text == NULL) {
        text = "wlc,wrr,dh,sh,mh,lblc,lblcr";
    }
    for (;; text++) {
        size_t length = strcspn(text, ",");
        if (!policy_parse(text, length, &policy)) {
            return setup_unknown_policy("advise", text, length);
        }
        int status = add_policy(advise, &policy);
        text += length;
        if (status != EXIT_OK || *text == '\0') {
            return status;
        }
    }
}

/* Sizes of the map that may make a difference, 0 (as the rules say) first: room for all
 * destinations where the rules have less, and for a quarter of them. */
static size_t map_sizes(const struct advise *advise, const struct candidate *base,
                        uint32_t sizes[MAP_SIZES])
{
    uint64_t destinations = advise->session.summary->destinations;
    size_t count = 1;

    sizes[0] = 0;
    if (!policy_has_map(&base->policy)) {
        return count;
    }
    if (destinations > advise->setup.rules->soft_entries &&
        destinations <= MAP_ENTRIES_MAX / 2) {
        /* Collecting begins at two thirds. */
        sizes[count++] = (uint32_t)(destinations + destinations / 2 + 1);
    }
    if (destinations / 4 > 0 && destinations / 4 < advise->setup.rules->max_entries) {
        sizes[count++] = (uint32_t)(destinations / 4);
    }
    return count;
}

static int add_variants(struct advise *advise, const struct candidate *base)
{
    uint32_t sizes[MAP_SIZES];
    size_t size_count = map_sizes(advise, base, sizes);
    int status = EXIT_OK;

    for (size_t t = 0; t < THRESHOLDS; t++) {
        for (size_t m = 0; status == EXIT_OK && m < size_count; m++) {
            /* Neither: the base itself. No connections: nothing to bound. */
            if ((t > 0 && advise->connections_p99 > 0) || (t == 0 && m > 0)) {
                status = add_variant(advise, base, thresholds[t], sizes[m]);
            }
        }
    }
    return status;
}

/* Bounds are tried on the best of each policy: its own front. */
static int add_bounds(struct advise *advise)
{
    bool cache = advise->setup.cache.capacity > 0;
    size_t plain = advise->count;
    int status = EXIT_OK;

    for (size_t first = 0, end = 0; first < plain; first = end) {
        const char *name = advise->candidates[first].policy.text;
        while (end < plain && strcmp(advise->candidates[end].policy.text, name) == 0) {
            end++;
        }
        advise_mark_front(advise->candidates + first, end - first, cache);
        for (size_t i = first; status == EXIT_OK && i < end; i++) {
            if (advise->candidates[i].on_front) {
                status = add_variants(advise, &advise->candidates[i]);
            }
        }
    }
    return status;
}

static int make_engine(struct advise *advise, struct candidate *c, struct engine **out)
{
    struct engine_config config = {
        .policy = &c->policy,
        .rules = advise->setup.rules,
        .family = advise->session.source.family,
        .expiration_ns = (int64_t)c->expiration_ns,
        .max_entries = c->max_entries,
        .seed = advise->args.setup.seed,
        .servers = &c->servers,
        .tcpfin_ns = advise->args.setup.tcpfin_ns,
        .cache = advise->setup.cache,
    };
    int status = engine_create(&config, out);

    if (status != LOCUS_OK) {
        fprintf(stderr, "locus advise: %s: %s\n", c->policy.text,
                locus_strerror(status));
        return status == LOCUS_ENOMEM ? EXIT_RUNTIME : EXIT_USAGE;
    }
    return EXIT_OK;
}

/* A few candidates over the whole trace. */
static int run_some(struct advise *advise, struct candidate *candidates, size_t count)
{
    struct crew_member members[AT_ONCE] = {0};
    int status = EXIT_OK;

    for (size_t i = 0; status == EXIT_OK && i < count; i++) {
        status = make_engine(advise, &candidates[i], &members[i].engine);
    }
    if (status == EXIT_OK && crew_run(&advise->session.source, members, count,
                                      &progress_stop, NULL, NULL) != 0) {
        status = EXIT_RUNTIME;
    }
    for (size_t i = 0; i < count; i++) {
        if (status == EXIT_OK && members[i].status != LOCUS_OK) {
            fprintf(stderr, "locus advise: %s: %s\n", candidates[i].policy.text,
                    locus_strerror(members[i].status));
            status = EXIT_RUNTIME;
        }
        if (status == EXIT_OK) {
            recorder_figures(engine_recorder(members[i].engine), SIZE_MAX,
                             &candidates[i].figures);
        }
        engine_destroy(members[i].engine);
    }
    advise->arrivals = advise->session.source.counts.arrivals;
    if (status == EXIT_OK && !arrivals_rewind(&advise->session.source)) {
        status = EXIT_RUNTIME;
    }
    return status;
}

/* Those from first on. */
static int run_all(struct advise *advise, size_t first)
{
    int status = EXIT_OK;

    for (size_t i = first; status == EXIT_OK && i < advise->count; i += AT_ONCE) {
        size_t left = advise->count - i;
        status =
            run_some(advise, advise->candidates + i, left < AT_ONCE ? left : AT_ONCE);
        progress_update(&advise->progress, i);
        if (status == EXIT_OK && progress_stop != 0) {
            fprintf(stderr, "locus advise: interrupted\n");
            status = EXIT_RUNTIME;
        }
    }
    return status;
}

static int search(struct advise *advise)
{
    int status;

    progress_begin(&advise->progress, "searching", "candidates", advise->count);
    status = run_all(advise, 0);
    if (status == EXIT_OK && advise->arrivals > 0) {
        size_t plain = advise->count;
        status = add_bounds(advise);
        advise->progress.total = advise->count;
        if (status == EXIT_OK) {
            status = run_all(advise, plain);
        }
    }
    progress_end(&advise->progress);
    if (status == EXIT_OK && advise->arrivals == 0) {
        fprintf(stderr, "locus advise: no connection to replay (see --proto)\n");
        return EXIT_EMPTY;
    }
    return status;
}

static void choose(struct advise *advise)
{
    bool cache = advise->setup.cache.capacity > 0;
    struct advise_limits limits = {
        .max_imbalance_ppm = advise->max_imbalance_ppm,
        .ipvs_only = true,
    };

    advise_mark_front(advise->candidates, advise->count, cache);
    advise->choice = advise_choose(advise->candidates, advise->count, cache, &limits);
}

/* What the weights and the thresholds are measured by. */
static int count_connections(struct advise *advise)
{
    struct session *session = &advise->session;
    uint64_t peak;
    int status = session_concurrency(session);

    if (status != EXIT_OK) {
        return status;
    }
    int64_t all = arrivals_concurrency(&session->source, 990000,
                                       advise->args.setup.tcpfin_ns, &peak);
    if (all < 0 || !arrivals_rewind(&session->source)) {
        return EXIT_RUNTIME;
    }
    advise->connections_p99 = (uint64_t)all;
    return EXIT_OK;
}

int advise_search(struct advise *advise, char *const *paths, size_t count)
{
    int status = session_open(&advise->session, &advise->args.read,
                              &advise->setup.arrivals, paths, count);

    if (status == EXIT_OK) {
        status = count_connections(advise);
    }
    advise->candidates = calloc(CANDIDATES_MAX, sizeof(*advise->candidates));
    if (status == EXIT_OK && advise->candidates == NULL) {
        status = memory_error("advise");
    }
    if (status == EXIT_OK) {
        status = add_policies(advise);
    }
    if (status == EXIT_OK) {
        status = search(advise);
    }
    if (status == EXIT_OK) {
        choose(advise);
    }
    if (status == EXIT_OK &&
        advise->candidates[advise->choice].figures.connections == 0) {
        fprintf(stderr, "locus advise: no server takes a connection: is every weight "
                        "0?\n");
        status = EXIT_EMPTY;
    }
    return status;
}

void advise_free(struct advise *advise)
{
    for (size_t i = 0; i < advise->count; i++) {
        servers_free(&advise->candidates[i].servers);
    }
    free(advise->candidates);
    session_fini(&advise->session);
    servers_free(&advise->setup.servers);
}
