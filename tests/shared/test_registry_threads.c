/* SPDX-License-Identifier: MIT */
/*
 * Random changes of a registry against a plain model, races of threads and processes for the last
 * endpoints above the floor, and readers beside each other.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "registry_homes.h"

/* ---- a model --------------------------------------------------------------------- */

enum { MODEL_CLUSTERS = 3, MODEL_ENDPOINTS = 8 };

struct model {
    struct {
        bool there, healthy;
        uint32_t weight;
    } endpoints[MODEL_CLUSTERS][MODEL_ENDPOINTS];
    uint32_t size[MODEL_CLUSTERS];
};

static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static uint32_t model_count(const struct model *m, unsigned c, bool only_live)
{
    uint32_t count = 0;

    for (unsigned e = 0; e < MODEL_ENDPOINTS; e++) {
        count +=
            m->endpoints[c][e].there &&
            (!only_live || (m->endpoints[c][e].healthy && m->endpoints[c][e].weight));
    }
    return count;
}

static int model_apply(struct model *m, unsigned c, unsigned e,
                       const struct locus_registry_change *change)
{
    if (change->op == LOCUS_REGISTRY_PUT) {
        m->endpoints[c][e].there = true;
        m->endpoints[c][e].healthy = change->healthy;
        m->endpoints[c][e].weight = change->weight;
        uint32_t count = model_count(m, c, false);
        m->size[c] = count > m->size[c] ? count : m->size[c];
        return LOCUS_OK;
    }
    if (model_count(m, c, false) == 0) {
        return LOCUS_ENOENT;
    }
    if (change->op == LOCUS_REGISTRY_RESIZE) {
        m->size[c] = change->size;
        return LOCUS_OK;
    }
    if (!m->endpoints[c][e].there) {
        return LOCUS_ENOENT;
    }
    struct model after = *m;
    if (change->op == LOCUS_REGISTRY_REMOVE) {
        after.endpoints[c][e].there = false;
    } else if (change->op == LOCUS_REGISTRY_QUIESCE) {
        after.endpoints[c][e].weight = 0;
    } else {
        after.endpoints[c][e].healthy = false;
    }
    uint32_t left = model_count(&after, c, true);
    if (left < model_count(m, c, true) &&
        (left < change->guard.min_healthy ||
         left * 100 < m->size[c] * change->guard.min_percent)) {
        return LOCUS_EREFUSED;
    }
    if (model_count(&after, c, false) == 0) {
        after.size[c] = 0;
    }
    *m = after;
    return LOCUS_OK;
}

static const char *model_listed(const struct model *m, unsigned c)
{
    static char text[4096];
    size_t used = 0;

    if (model_count(m, c, false) == 0) {
        return "not found";
    }
    for (unsigned e = 0; e < MODEL_ENDPOINTS; e++) {
        if (m->endpoints[c][e].there) {
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%se%u %u %s",
                                     used > 0 ? ", " : "", e, m->endpoints[c][e].weight,
                                     m->endpoints[c][e].healthy ? "up" : "down");
        }
    }
    snprintf(text + used, sizeof(text) - used, " (%u live of %u)",
             model_count(m, c, true), m->size[c]);
    return text;
}

START_TEST(random_changes_agree_with_a_plain_model)
{
    enum { STEPS = 3000, CHUNK = 7 };
    static const char *const clusters[] = {"c0", "c1", "c2"};
    struct locus_registry *r = fresh(_i);
    struct model m = {0};
    uint64_t random = 20260101;

    for (int step = 0; step < STEPS; step += CHUNK) {
        struct locus_registry_change changes[CHUNK];
        char addresses[CHUNK][8];
        unsigned which[CHUNK][2];
        int expected[CHUNK];
        uint32_t live[CHUNK];
        for (int i = 0; i < CHUNK; i++) {
            unsigned c = which[i][0] =
                (unsigned)(random_next(&random) % MODEL_CLUSTERS);
            unsigned e = which[i][1] =
                (unsigned)(random_next(&random) % MODEL_ENDPOINTS);
            unsigned dice = (unsigned)(random_next(&random) % 20);
            snprintf(addresses[i], sizeof(addresses[i]), "e%u", e);
            changes[i] = (struct locus_registry_change){
                .op = dice < 9    ? LOCUS_REGISTRY_PUT
                      : dice < 14 ? LOCUS_REGISTRY_REMOVE
                      : dice < 16 ? LOCUS_REGISTRY_QUIESCE
                      : dice < 19 ? LOCUS_REGISTRY_DOWN
                                  : LOCUS_REGISTRY_RESIZE,
                .cluster = clusters[c],
                .address = addresses[i],
                .weight = (uint32_t)(random_next(&random) % 4),
                .healthy = random_next(&random) % 4 > 0,
                .size = (uint32_t)(random_next(&random) % 12),
                .guard = {(uint32_t)(random_next(&random) % 4),
                          (uint32_t)(random_next(&random) % 101)},
            };
            expected[i] = model_apply(&m, c, e, &changes[i]);
            live[i] = model_count(&m, c, true);
        }
        (void)!locus_registry_apply(r, changes, CHUNK);
        for (int i = 0; i < CHUNK; i++) {
            ck_assert_msg(changes[i].status == expected[i], "step %d: %s, not %s",
                          step + i, locus_strerror(changes[i].status),
                          locus_strerror(expected[i]));
            ck_assert_uint_eq(changes[i].live, live[i]);
        }
        unsigned c = (unsigned)step % MODEL_CLUSTERS;
        ck_assert_str_eq(listed(r, clusters[c]), model_listed(&m, c));
    }
    close_all(r);
}
END_TEST

/* ---- races ----------------------------------------------------------------------- */

enum { RACERS = 64, RACE_ENDPOINTS = 192 };

static struct {
    struct locus_registry *registry;
    uint32_t floor;
    struct locus_guard guard;
    _Atomic uint32_t done, refused;
    _Atomic bool over;
    unsigned first, step;
} race;

static void *racer(void *arg)
{
    char address[32];

    for (unsigned i = race.first + (unsigned)(uintptr_t)arg; i < RACE_ENDPOINTS;
         i += race.step) {
        snprintf(address, sizeof(address), "10.0.%u.%u:80", i / 250, i % 250);
        struct locus_registry_change change = {
            .op = LOCUS_REGISTRY_REMOVE,
            .cluster = "web",
            .address = address,
            .guard = race.guard,
        };
        int status = locus_registry_change(race.registry, &change);
        ck_assert(status == LOCUS_OK || status == LOCUS_EREFUSED);
        ck_assert_uint_eq(change.floor, race.floor);
        ck_assert_uint_ge(change.live, race.floor);
        /* Refused: because the floor is reached, not for anything else. */
        ck_assert(status == LOCUS_OK || change.live == race.floor);
        atomic_fetch_add(status == LOCUS_OK ? &race.done : &race.refused, 1);
    }
    return NULL;
}

static void *watcher(void *arg)
{
    (void)arg;
    while (!atomic_load(&race.over)) {
        ck_assert_uint_ge(live_of(race.registry, "web"), race.floor);
    }
    return NULL;
}

START_TEST(sixty_four_racing_threads_stop_exactly_at_the_floor)
{
    pthread_t threads[RACERS], watching;
    struct locus_registry *r = fresh(_i % homes);

    put_many(r, "web", RACE_ENDPOINTS);
    memset(&race, 0, sizeof(race));
    race.registry = r;
    race.step = RACERS;
    if (_i / homes == 0) {
        race.guard.min_healthy = race.floor = 17;
    } else {
        race.guard.min_percent = 34;
        race.floor = 66; /* 65.28 */
    }
    ck_assert_int_eq(pthread_create(&watching, NULL, watcher, NULL), 0);
    for (uintptr_t i = 0; i < RACERS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, racer, (void *)i), 0);
    }
    for (int i = 0; i < RACERS; i++) {
        pthread_join(threads[i], NULL);
    }
    atomic_store(&race.over, true);
    pthread_join(watching, NULL);
    ck_assert_uint_eq(race.done, RACE_ENDPOINTS - race.floor);
    ck_assert_uint_eq(race.refused, race.floor);
    ck_assert_uint_eq(live_of(r, "web"), race.floor);
    close_all(r);
}
END_TEST

/* A process of its own: eight of its threads, each eighth endpoint. Starts when the other end
 * of gate is closed. */
static void race_in_child(unsigned which, int gate)
{
    pthread_t threads[8];
    char nothing;

    (void)!read(gate, &nothing, 1);
    race.registry = open_home(REDIS, (struct locus_registry_config){0});
    race.first = which * 8;
    race.step = RACERS;
    for (uintptr_t i = 0; i < 8; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, racer, (void *)i), 0);
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
    }
    locus_registry_close(race.registry);
    _exit((int)race.done);
}

START_TEST(eight_racing_processes_stop_exactly_at_the_floor)
{
    pid_t children[8];
    uint32_t done = 0;
    int gate[2];

    memset(&race, 0, sizeof(race));
    race.guard.min_healthy = race.floor = 50;
    ck_assert_int_eq(pipe(gate), 0);
    /* Before this process has threads: TSan does not like them forked. */
    for (unsigned i = 0; i < 8; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            close(gate[1]);
            race_in_child(i, gate[0]);
        }
    }
    struct locus_registry *r = fresh(REDIS);
    put_many(r, "web", RACE_ENDPOINTS);
    close(gate[1]);
    for (unsigned i = 0; i < 8; i++) {
        int status;
        ck_assert_int_eq(waitpid(children[i], &status, 0), children[i]);
        ck_assert(WIFEXITED(status));
        done += (uint32_t)WEXITSTATUS(status);
        ck_assert_uint_ge(live_of(r, "web"), race.floor);
    }
    close(gate[0]);
    ck_assert_uint_eq(done, RACE_ENDPOINTS - race.floor);
    ck_assert_uint_eq(live_of(r, "web"), race.floor);
    close_all(r);
}
END_TEST

/* ---- readers --------------------------------------------------------------------- */

enum { READERS = 16, READ_CLUSTERS = 40 };

static void *reader(void *arg)
{
    struct locus_registry *r = arg;
    uint64_t random = (uint64_t)(uintptr_t)&random | 1;
    char cluster[16];

    for (int i = 0; i < 300; i++) {
        struct locus_endpoints list;
        unsigned c = (unsigned)(random_next(&random) % READ_CLUSTERS);
        int64_t timeout_ns = i % 2 == 0 ? 0 : 60000000000;
        snprintf(cluster, sizeof(cluster), "c%u", c);
        ck_assert_int_eq(locus_registry_list_endpoints(r, cluster, timeout_ns, &list),
                         LOCUS_OK);
        ck_assert_uint_eq(list.count, 1 + c % 3);
        ck_assert_uint_eq(list.items[0].weight, c);
        locus_endpoints_release(&list);
    }
    return NULL;
}

START_TEST(concurrent_readers_get_their_own_clusters)
{
    struct locus_registry *r = fresh(_i);
    pthread_t threads[READERS];
    char cluster[16], address[16];

    for (unsigned c = 0; c < READ_CLUSTERS; c++) {
        snprintf(cluster, sizeof(cluster), "c%u", c);
        for (unsigned e = 0; e < 1 + c % 3; e++) {
            snprintf(address, sizeof(address), "e%u", e);
            put(r, cluster, address, c, true);
        }
    }
    for (int i = 0; i < READERS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, reader, r), 0);
    }
    for (int i = 0; i < READERS; i++) {
        pthread_join(threads[i], NULL);
    }
    struct locus_registry_stats stats;
    locus_registry_get_stats(r, &stats);
    ck_assert_uint_eq(stats.lists, READERS * 300);
    close_all(r);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("registry_threads");
    TCase *t = homes_case(s);

    tcase_add_loop_test(t, random_changes_agree_with_a_plain_model, 0, homes);
    tcase_add_loop_test(t, concurrent_readers_get_their_own_clusters, 0, homes);
    tcase_add_loop_test(t, sixty_four_racing_threads_stop_exactly_at_the_floor, 0,
                        2 * homes);
    if (with_redis) {
        tcase_add_test(t, eight_racing_processes_stop_exactly_at_the_floor);
    }
    return suite_run(s);
}
