/* SPDX-License-Identifier: MIT */
/*
 * locus-bench pool URI [SECONDS]: picks per second and latency of a shared pool, for 1, 8 and 64
 * threads:
 *
 *   read, add     ZRANGE, then ZINCRBY by plain hiredis, a connection per thread: two round
 *                 trips, and others pick in between
 *   pick          one script call per pick (locus_pool_pick)
 *   pick n        one script call per n picks (locus_pool_pick_many)
 *
 * and how far the counts of the members are apart afterwards, which ought to be at most 1.
 * URI: redis://host[:port] or redis+unix:///path, without password and database; or mem:, the
 * pool in memory alone. The pool's keys are deleted at the end.
 */
#include <locus/pool.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <hiredis/hiredis.h>

#include "programs.h"

enum { MEMBERS = 16, THREADS_MAX = 64, SAMPLES = 1 << 16 };

struct bench {
    struct locus_pool *pool;
    const char *uri;
    size_t n; /* picks per call; 0: read, add */
    atomic_bool stop;
};

struct worker {
    struct bench *bench;
    pthread_t thread;
    redisContext *redis; /* of read, add */
    uint64_t picks, failures, calls;
    uint32_t samples[SAMPLES]; /* ns of a call, the latest ones */
};

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static redisContext *connect_to(const char *uri)
{
    static const char unix_scheme[] = "redis+unix://";
    const size_t scheme = sizeof(unix_scheme) - 1;
    char host[128] = "";
    int port = 6379;

    if (strncmp(uri, unix_scheme, scheme) == 0) {
        return redisConnectUnix(uri + scheme);
    }
    return sscanf(uri, "redis://%127[^:/]:%d", host, &port) >= 1
               ? redisConnect(host, port)
               : NULL;
}

/* What is done without a script. Members are added to the set by name, so the pool's own
 * list shows what came of it. */
static bool read_and_add(redisContext *redis)
{
    static const char key[] = "locus:{bench}";
    const char *read[] = {"ZRANGE", key, "0", "0"};
    redisReply *least = redisCommandArgv(redis, 4, read, NULL);
    bool ok = false;

    if (least != NULL && least->type == REDIS_REPLY_ARRAY && least->elements == 1) {
        const char *add[] = {"ZINCRBY", key, "1", least->element[0]->str};
        redisReply *counted = redisCommandArgv(redis, 4, add, NULL);
        ok = counted != NULL && counted->type == REDIS_REPLY_STRING;
        freeReplyObject(counted);
    }
    freeReplyObject(least);
    return ok;
}

static void *work(void *arg)
{
    static _Thread_local char members[LOCUS_POOL_PICKS_MAX][LOCUS_POOL_MEMBER_SIZE];
    struct worker *w = arg;
    const struct bench *b = w->bench;

    if (b->n == 0) {
        w->redis = connect_to(b->uri);
        if (w->redis == NULL || w->redis->err != 0) {
            w->failures = 1;
            return NULL;
        }
    }
    while (!atomic_load_explicit(&b->stop, memory_order_relaxed)) {
        uint64_t start_ns = now_ns();
        size_t picked = 1;
        bool ok = b->n == 0 ? read_and_add(w->redis)
                            : locus_pool_pick_many(b->pool, b->n, members, &picked) ==
                                  LOCUS_OK;
        uint64_t took_ns = now_ns() - start_ns;
        w->samples[w->calls++ % SAMPLES] =
            took_ns < UINT32_MAX ? (uint32_t)took_ns : UINT32_MAX;
        w->picks += ok ? picked : 0;
        w->failures += !ok;
    }
    return NULL;
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* Fills the pool anew; the highest count less the lowest through spread(). */
static bool prepare(struct locus_pool *pool)
{
    char names[MEMBERS][24];
    const char *members[MEMBERS];

    for (int i = 0; i < MEMBERS; i++) {
        snprintf(names[i], sizeof(names[i]), "192.0.2.%d:8080", i);
        members[i] = names[i];
    }
    return locus_pool_clear(pool) == LOCUS_OK &&
           locus_pool_add(pool, members, MEMBERS, LOCUS_POOL_START_ZERO, 0, NULL) ==
               LOCUS_OK;
}

static uint64_t spread(struct locus_pool *pool)
{
    struct locus_pool_list *list;
    uint64_t apart = UINT64_MAX;

    if (locus_pool_list(pool, &list) == LOCUS_OK && list->count > 0) {
        apart = list->members[list->count - 1].count - list->members[0].count;
        locus_pool_list_free(list);
    }
    return apart;
}

static uint64_t pool_commands(const struct bench *b)
{
    struct locus_pool_stats stats;

    locus_pool_get_stats(b->pool, &stats);
    return stats.commands;
}

static void report(const char *name, size_t threads, struct worker *workers,
                   uint64_t took_ns, uint64_t commands, uint64_t apart)
{
    uint64_t picks = 0, failures = 0;
    size_t count = 0;
    uint32_t *samples = calloc(threads * SAMPLES, sizeof(*samples));

    for (size_t i = 0; i < threads; i++) {
        size_t have = workers[i].calls < SAMPLES ? (size_t)workers[i].calls : SAMPLES;
        picks += workers[i].picks;
        failures += workers[i].failures;
        if (samples != NULL) {
            memcpy(samples + count, workers[i].samples, have * sizeof(*samples));
            count += have;
        }
    }
    if (samples == NULL || count == 0) {
        free(samples);
        return;
    }
    qsort(samples, count, sizeof(*samples), compare);
    printf("%-10s %7zu %12.0f %9.1f %9.1f %9.1f %9.3f %9" PRIu64 " %8" PRIu64 "\n",
           name, threads, (double)picks * 1e9 / (double)took_ns,
           (double)samples[count / 2] / 1e3, (double)samples[count * 99 / 100] / 1e3,
           (double)samples[count - 1] / 1e3,
           picks > 0 ? (double)commands / (double)picks : 0, apart, failures);
    free(samples);
}

static bool measure(struct bench *b, const char *name, size_t n, size_t threads,
                    double seconds)
{
    struct worker *workers = calloc(threads, sizeof(*workers));
    const struct timespec time = {
        .tv_sec = (time_t)seconds,
        .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    size_t started = 0;

    if (workers == NULL || !prepare(b->pool)) {
        fprintf(stderr, "locus-bench pool: cannot fill the pool\n");
        free(workers);
        return false;
    }
    b->n = n;
    atomic_store(&b->stop, false);
    uint64_t before = pool_commands(b);
    uint64_t start_ns = now_ns();
    for (; started < threads; started++) {
        workers[started].bench = b;
        if (pthread_create(&workers[started].thread, NULL, work, &workers[started]) !=
            0) {
            break;
        }
    }
    nanosleep(&time, NULL);
    atomic_store(&b->stop, true);
    uint64_t by_hand = 0;
    for (size_t i = 0; i < started; i++) {
        pthread_join(workers[i].thread, NULL);
        by_hand += n == 0 ? 2 * workers[i].calls : 0;
    }
    uint64_t took_ns = now_ns() - start_ns;
    report(name, started, workers, took_ns, pool_commands(b) - before + by_hand,
           spread(b->pool));
    for (size_t i = 0; i < started; i++) {
        redisFree(workers[i].redis);
    }
    free(workers);
    return true;
}

int bench_pool(int argc, char **argv)
{
    static const struct {
        const char *name;
        size_t n;
    } ways[] = {{"read, add", 0}, {"pick", 1}, {"pick 8", 8}, {"pick 64", 64}};
    static const size_t threads[] = {1, 8, 64};
    struct bench b = {0};
    char why[200] = "out of memory";
    bool ok = true;

    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: locus-bench pool mem:|redis://... [SECONDS]\n");
        return 2;
    }
    double seconds = argc == 3 ? strtod(argv[2], NULL) : 1;
    bool is_redis = strcmp(argv[1], "mem:") != 0;
    b.uri = argv[1];
    if (locus_pool_open(argv[1], "bench", NULL, &b.pool, why, sizeof(why)) !=
        LOCUS_OK) {
        fprintf(stderr, "locus-bench pool: %s\n", why);
        return 1;
    }
    printf(
        "%d members; %.1f s each; microseconds of a call\n%-10s %7s %12s %9s %9s %9s "
        "%9s %9s %8s\n",
        MEMBERS, seconds, "way", "threads", "picks/s", "p50", "p99", "max", "cmd/pick",
        "spread", "failures");
    for (size_t t = 0; t < sizeof(threads) / sizeof(threads[0]); t++) {
        for (size_t w = is_redis ? 0 : 1; ok && w < sizeof(ways) / sizeof(ways[0]);
             w++) {
            ok = measure(&b, ways[w].name, ways[w].n, threads[t], seconds);
        }
    }
    ok = locus_pool_clear(b.pool) == LOCUS_OK && ok;
    locus_pool_close(b.pool);
    return ok ? 0 : 1;
}
