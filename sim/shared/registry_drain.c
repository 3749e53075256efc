/* SPDX-License-Identifier: MIT */
/*
 * 'locus registry drain': removes all endpoints at once, from many threads, and shows where the
 * guard stops it.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/errors.h"
#include "../base/now.h"
#include "../base/output.h"
#include "registry_client.h"

struct removal {
    struct locus_registry_change change;
    char cluster[LOCUS_CLUSTER_MAX + 1];
    char address[LOCUS_ENDPOINT_MAX + 1];
    bool live; /* when the drain began: what is not may go below any floor */
};

struct drain {
    const struct registry_client *client;
    struct removal *removals; /* in an order in which neighbours are of many clusters */
    size_t count, room;
    _Atomic size_t next;
    uint64_t removed, refused, failed;
    uint64_t below; /* live endpoints taken out below the floor: a broken guard */
    uint64_t round_trips, elapsed_ns;
};

static int drain_collect(const struct registry_client *c, const char *cluster,
                         const struct locus_endpoints *list, void *arg)
{
    struct drain *drain = arg;

    (void)c;
    if (drain->room - drain->count < list->count) {
        size_t room = 2 * drain->room + list->count;
        struct removal *removals = realloc(drain->removals, room * sizeof(*removals));
        if (removals == NULL) {
            return memory_error("registry");
        }
        drain->removals = removals;
        drain->room = room;
    }
    for (size_t i = 0; i < list->count; i++) {
        const struct locus_endpoint *e = &list->items[i];
        struct removal *r = &drain->removals[drain->count++];
        snprintf(r->cluster, sizeof(r->cluster), "%s", cluster);
        snprintf(r->address, sizeof(r->address), "%s", e->address);
        r->live = e->healthy && e->weight > 0;
    }
    return EXIT_OK;
}

/* A fixed shuffle: a mass removal does not come cluster by cluster. */
static void drain_shuffle(struct drain *drain)
{
    uint64_t state = 88172645463325252u;

    for (size_t i = drain->count; i > 1; i--) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        struct removal swap = drain->removals[i - 1];
        drain->removals[i - 1] = drain->removals[state % i];
        drain->removals[state % i] = swap;
    }
}

static void *drain_thread(void *arg)
{
    struct drain *drain = arg;
    size_t i;

    while ((i = atomic_fetch_add(&drain->next, 1)) < drain->count) {
        struct removal *r = &drain->removals[i];
        r->change = (struct locus_registry_change){
            .op = LOCUS_REGISTRY_REMOVE,
            .cluster = r->cluster,
            .address = r->address,
            .guard = drain->client->guard,
        };
        (void)!locus_registry_change(drain->client->registry, &r->change);
    }
    return NULL;
}

static int drain_run(struct drain *drain)
{
    struct locus_registry *registry = drain->client->registry;
    struct locus_registry_stats before, after;
    pthread_t threads[REGISTRY_THREADS_MAX];
    size_t started = 0;

    locus_registry_get_stats(registry, &before);
    drain->elapsed_ns = now_ns();
    while (started < drain->client->threads &&
           pthread_create(&threads[started], NULL, drain_thread, drain) == 0) {
        started++;
    }
    for (size_t i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
    }
    drain->elapsed_ns = now_ns() - drain->elapsed_ns;
    locus_registry_get_stats(registry, &after);
    drain->round_trips = after.round_trips - before.round_trips;
    if (started == 0) {
        fprintf(stderr, "locus registry: cannot start a thread\n");
        return EXIT_RUNTIME;
    }
    return EXIT_OK;
}

static int print_refused(const struct registry_client *c,
                         const struct locus_registry_change *change)
{
    if (c->json) {
        return output_json("registry", "{s:s,s:s}", "refused", change->address,
                           "cluster", change->cluster);
    }
    printf("refused %s %s\n", change->cluster, change->address);
    return EXIT_OK;
}

static int drain_judge(struct drain *drain)
{
    const struct registry_client *c = drain->client;
    int code = EXIT_OK;

    for (size_t i = 0; i < drain->count; i++) {
        const struct locus_registry_change *change = &drain->removals[i].change;
        if (change->status == LOCUS_OK) {
            drain->removed++;
            drain->below += drain->removals[i].live && change->live < change->floor;
        } else if (change->status != LOCUS_EREFUSED) {
            drain->failed++;
            code = registry_failed(c, change->address, change->status);
        } else {
            drain->refused++;
            code = c->quiet ? code : print_refused(c, change);
        }
    }
    return code;
}

static int drain_report(const struct drain *drain)
{
    const struct registry_client *c = drain->client;

    if (isatty(STDERR_FILENO) == 1) {
        fprintf(stderr, "%.3f s\n", (double)drain->elapsed_ns * 1e-9);
    }
    if (c->json) {
        return output_json(
            "registry", "{s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "asked",
            (json_int_t)drain->count, "removed", (json_int_t)drain->removed, "refused",
            (json_int_t)drain->refused, "failed", (json_int_t)drain->failed,
            "below_floor", (json_int_t)drain->below, "round_trips",
            (json_int_t)drain->round_trips, "elapsed_us",
            (json_int_t)(drain->elapsed_ns / 1000));
    }
    printf("%zu removals asked by %" PRIu64 " threads at once: %" PRIu64
           " removed, %" PRIu64 " refused, %" PRIu64 " failed\n"
           "live endpoints taken out below their cluster's floor: %" PRIu64 "\n",
           drain->count, c->threads, drain->removed, drain->refused, drain->failed,
           drain->below);
    if (drain->round_trips > 0) {
        printf("round trips to Redis: %" PRIu64 "\n", drain->round_trips);
    }
    return EXIT_OK;
}

enum { DEMO_ENDPOINTS = 20 };

/* Puts, or takes away, the clusters of --demo. */
static int demo(const struct registry_client *c, enum locus_registry_op op)
{
    for (uint64_t n = 0; n < c->demo; n++) {
        struct locus_registry_change changes[DEMO_ENDPOINTS];
        char cluster[32], addresses[DEMO_ENDPOINTS][32];
        snprintf(cluster, sizeof(cluster), "demo-%06" PRIu64, n);
        for (unsigned e = 0; e < DEMO_ENDPOINTS; e++) {
            snprintf(addresses[e], sizeof(addresses[e]), "10.%u.%u.%u:80",
                     (unsigned)(n >> 8) & 255, (unsigned)n & 255, e + 1);
            changes[e] = (struct locus_registry_change){
                .op = op,
                .cluster = cluster,
                .address = addresses[e],
                .weight = 1,
                .healthy = true,
            };
        }
        int status = locus_registry_apply(c->registry, changes, DEMO_ENDPOINTS);
        if (status != LOCUS_OK &&
            !(status == LOCUS_ENOENT && op == LOCUS_REGISTRY_REMOVE)) {
            return registry_failed(c, cluster, status);
        }
    }
    return EXIT_OK;
}

static int drain(const struct registry_client *c)
{
    struct drain drain = {.client = c};
    int code = registry_each_cluster(c, false, drain_collect, &drain);

    if (code == EXIT_OK && drain.count == 0) {
        fprintf(stderr, "locus registry: drain: there are no endpoints\n");
        code = EXIT_EMPTY;
    }
    if (code == EXIT_OK) {
        drain_shuffle(&drain);
        code = drain_run(&drain);
    }
    if (code == EXIT_OK) {
        code = drain_judge(&drain);
        int report = drain_report(&drain);
        code = code == EXIT_OK ? report : code;
    }
    if (drain.below > 0) {
        code = EXIT_RUNTIME;
    }
    free(drain.removals);
    return code;
}

int registry_drain(const struct registry_client *c)
{
    if (c->min_healthy == NULL) {
        return usage_error("registry",
                           "drain: which floor? Give --min-healthy N or N%%");
    }
    if (c->demo == 0) {
        return drain(c);
    }
    if (c->count > 0) {
        return usage_error("registry", "drain: --demo makes its own clusters");
    }
    int code = demo(c, LOCUS_REGISTRY_PUT);
    if (code == EXIT_OK) {
        code = drain(c);
    }
    int last = demo(c, LOCUS_REGISTRY_REMOVE);
    return code == EXIT_OK ? last : code;
}
