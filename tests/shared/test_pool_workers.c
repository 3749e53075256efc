/* SPDX-License-Identifier: MIT */
/*
 * Pools in memory and in Redis decide alike, step by step; and the counts of many workers add up.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pool_at_hand.h"

/* ---- memory and Redis in lockstep ------------------------------------------------ */

static uint64_t rng_state;

static unsigned rng(unsigned below)
{
    rng_state =
        rng_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(rng_state >> 33) % below;
}

static void compare_lists(struct locus_pool *a, struct locus_pool *b, unsigned step)
{
    struct locus_pool_list *x, *y;

    ck_assert_int_eq(locus_pool_list(a, &x), LOCUS_OK);
    ck_assert_int_eq(locus_pool_list(b, &y), LOCUS_OK);
    ck_assert_uint_eq(x->count, y->count);
    for (size_t i = 0; i < x->count; i++) {
        const struct locus_pool_member *p = &x->members[i], *q = &y->members[i];
        ck_assert_msg(
            strcmp(p->name, q->name) == 0 && p->count == q->count &&
                p->state == q->state && p->streak == q->streak && p->held == q->held,
            "step %u: %s %llu %d %u %llu, %s %llu %d %u %llu", step, p->name,
            (unsigned long long)p->count, (int)p->state, p->streak,
            (unsigned long long)p->held, q->name, (unsigned long long)q->count,
            (int)q->state, q->streak, (unsigned long long)q->held);
    }
    locus_pool_list_free(x);
    locus_pool_list_free(y);
}

enum { HELD = 64 };

struct lockstep {
    struct locus_pool *pools[BACKENDS];
    struct locus_lease leases[BACKENDS][HELD];
    size_t held;
};

static void step_lease(struct lockstep *l)
{
    int status[BACKENDS];

    if (l->held > 0 && (l->held == HELD || rng(2) == 0)) {
        size_t at = rng((unsigned)l->held);
        for (int b = 0; b < BACKENDS; b++) {
            bool held;
            ck_assert_int_eq(
                locus_lease_release(l->pools[b], l->leases[b][at].id, &held), LOCUS_OK);
            ck_assert(held);
            l->leases[b][at] = l->leases[b][l->held - 1];
        }
        l->held--;
        return;
    }
    for (int b = 0; b < BACKENDS; b++) {
        status[b] =
            locus_lease_acquire(l->pools[b], 600000000000, &l->leases[b][l->held]);
    }
    ck_assert_int_eq(status[MEM], status[REDIS]);
    ck_assert_str_eq(l->leases[MEM][l->held].member, l->leases[REDIS][l->held].member);
    ck_assert_uint_eq(l->leases[MEM][l->held].held, l->leases[REDIS][l->held].held);
    l->held += status[MEM] == LOCUS_OK;
}

static void step_member(struct lockstep *l)
{
    char name[8], picked[BACKENDS][5][LOCUS_POOL_MEMBER_SIZE];
    const char *member = name;
    unsigned what = rng(12), value = rng(40), flag = rng(2);
    size_t n = 1 + rng(5), got[BACKENDS] = {0};
    int status[BACKENDS];

    snprintf(name, sizeof(name), "m%u", rng(9));
    memset(picked, 0, sizeof(picked));
    for (int b = 0; b < BACKENDS; b++) {
        struct locus_pool *p = l->pools[b];
        enum locus_pool_state state = LOCUS_POOL_LIVE;
        if (what < 5) {
            status[b] = locus_pool_pick_many(p, n, picked[b], &got[b]);
        } else if (what < 7) {
            status[b] =
                locus_pool_add(p, &member, 1, (enum locus_pool_start)rng(1) + flag * 3,
                               value, &got[b]);
        } else if (what == 7) {
            status[b] = locus_pool_remove(p, member, value < 8);
        } else if (what == 8) {
            status[b] = locus_pool_restore(p, member, flag != 0);
        } else if (what == 9) {
            status[b] = locus_lease_set_limit(p, member, value % 4);
        } else if (what == 10) {
            status[b] = value == 0 ? locus_pool_rebase(p) : LOCUS_OK;
        } else {
            status[b] = locus_pool_report(p, member, flag != 0, &state);
            got[b] = (size_t)state;
        }
    }
    ck_assert_int_eq(status[MEM], status[REDIS]);
    ck_assert_uint_eq(got[MEM], got[REDIS]);
    ck_assert_int_eq(memcmp(picked[MEM], picked[REDIS], n * LOCUS_POOL_MEMBER_SIZE), 0);
}

START_TEST(memory_and_redis_decide_alike)
{
    const struct locus_pool_config config = {
        .fail_after = 2,
        .restore_after = 2,
        .lease_limit = 5,
        .total_timeout_ns = 20000000000u,
        .command_timeout_ns = 10000000000u,
    };
    struct lockstep l = {.held = 0};
    const char *steps = getenv("LOCUS_STEPS");
    unsigned long count = steps != NULL ? strtoul(steps, NULL, 10) : 2000;

    rng_state = (uint64_t)_i + 1;
    for (int b = 0; b < BACKENDS; b++) {
        l.pools[b] = open_with(uri_of(b), "lockstep", &config);
        ck_assert_int_eq(locus_pool_clear(l.pools[b]), LOCUS_OK);
    }
    for (unsigned step = 0; step < count; step++) {
        if (rng(3) == 0) {
            step_lease(&l);
        } else {
            step_member(&l);
        }
        if (step % 8 == 0) {
            compare_lists(l.pools[MEM], l.pools[REDIS], step);
        }
    }
    locus_pool_close(l.pools[MEM]);
    locus_pool_close(l.pools[REDIS]);
}
END_TEST

/* ---- many workers ---------------------------------------------------------------- */

enum { WORKERS = 64, MEMBERS = 10, PICKS = 100 };

struct worker {
    struct locus_pool *pool;
    uint64_t picked[MEMBERS]; /* by name "m0".."m9" */
    uint64_t failed, strangers;
};

static void work(struct worker *worker)
{
    char members[8][LOCUS_POOL_MEMBER_SIZE];

    for (int i = 0; i < PICKS; i++) {
        size_t n = i % 4 == 0 ? 8 : 1, got = 0;
        int status = n == 1 ? locus_pool_pick(worker->pool, members[0])
                            : locus_pool_pick_many(worker->pool, n, members, &got);
        worker->failed += status != LOCUS_OK;
        for (size_t k = 0; status == LOCUS_OK && k < n; k++) {
            int m = members[k][1] - '0';
            if (members[k][0] == 'm' && m >= 0 && m < MEMBERS) {
                worker->picked[m]++;
            } else {
                worker->strangers++;
            }
        }
    }
}

static void *work_thread(void *arg)
{
    work(arg);
    return NULL;
}

/* In a process of its own, with a handle of its own; the figures come back by a pipe. */
static int work_process(const char *uri, const char *name, pid_t *pid)
{
    const struct locus_pool_config config = {.total_timeout_ns = 60000000000u,
                                             .command_timeout_ns = 30000000000u};
    int pipes[2];

    ck_assert_int_eq(pipe(pipes), 0);
    *pid = fork();
    if (*pid == 0) {
        struct worker worker = {.pool = NULL};
        char why[100];
        if (locus_pool_open(uri, name, &config, &worker.pool, why, sizeof(why)) ==
            LOCUS_OK) {
            work(&worker);
        } else {
            worker.failed = 1;
        }
        locus_pool_close(worker.pool);
        worker.pool = NULL;
        ssize_t wrote = write(pipes[1], &worker, sizeof(worker));
        _exit(wrote == (ssize_t)sizeof(worker) ? 0 : 1);
    }
    close(pipes[1]);
    return pipes[0];
}

START_TEST(counts_of_64_workers_add_up_and_differ_by_one_at_most)
{
    const struct locus_pool_config config = {.total_timeout_ns = 60000000000u,
                                             .command_timeout_ns = 30000000000u};
    static struct worker workers[WORKERS];
    pthread_t threads[WORKERS];
    pid_t pids[WORKERS];
    int pipes[WORKERS];
    int processes = _i == REDIS ? WORKERS / 2 : 0;
    struct locus_pool_list *list;
    uint64_t total = 0;

    memset(workers, 0, sizeof(workers));
    begin(_i, "workers", &config);
    for (int m = 0; m < MEMBERS; m++) {
        char name[4];
        snprintf(name, sizeof(name), "m%d", m);
        add(name);
    }
    add_at("excluded", 0);
    ck_assert_int_eq(locus_pool_remove(pool, "excluded", false), LOCUS_OK);
    for (int i = 0; i < processes; i++) { /* before any thread exists */
        pipes[i] = work_process(server.uri, "workers", &pids[i]);
    }
    for (int i = processes; i < WORKERS; i++) {
        workers[i].pool = pool;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, work_thread, &workers[i]),
                         0);
    }
    for (int i = processes; i < WORKERS; i++) {
        pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < processes; i++) {
        ck_assert_int_eq(read(pipes[i], &workers[i], sizeof(workers[i])),
                         (ssize_t)sizeof(workers[i]));
        waitpid(pids[i], NULL, 0);
        close(pipes[i]);
    }
    ck_assert_int_eq(locus_pool_list(pool, &list), LOCUS_OK);
    ck_assert_uint_eq(list->count, MEMBERS + 1);
    ck_assert_uint_le(list->members[MEMBERS - 1].count - list->members[0].count, 1);
    for (size_t i = 0; i < MEMBERS; i++) {
        uint64_t known = 0;
        int m = list->members[i].name[1] - '0';
        for (int w = 0; w < WORKERS; w++) {
            known += workers[w].picked[m];
        }
        ck_assert_uint_eq(known, list->members[i].count);
        total += known;
    }
    ck_assert_uint_eq(total, (uint64_t)WORKERS * (PICKS + PICKS / 4 * 7));
    for (int w = 0; w < WORKERS; w++) {
        ck_assert_uint_eq(workers[w].failed, 0);
        ck_assert_uint_eq(workers[w].strangers, 0);
    }
    locus_pool_list_free(list);
    end();
}
END_TEST

static void *churn_thread(void *arg)
{
    atomic_bool *stop = arg;
    unsigned round = 0;

    while (!atomic_load(stop)) {
        char name[4];
        snprintf(name, sizeof(name), "m%u", round++ % MEMBERS);
        if (locus_pool_remove(pool, name, false) != LOCUS_OK ||
            locus_pool_report(pool, "m0", round % 3 == 0, NULL) != LOCUS_OK ||
            locus_pool_restore(pool, name, false) != LOCUS_OK) {
            return pool;
        }
    }
    return NULL;
}

START_TEST(counts_add_up_while_members_come_and_go)
{
    static struct worker workers[8];
    pthread_t threads[8], churn;
    static atomic_bool stop;
    uint64_t total = 0, counted = 0;
    struct locus_pool_list *list;
    void *failed;

    memset(workers, 0, sizeof(workers));
    stop = false;
    begin(_i, "churn", NULL);
    for (int m = 0; m < MEMBERS; m++) {
        char name[4];
        snprintf(name, sizeof(name), "m%d", m);
        add_at(name, 0);
    }
    ck_assert_int_eq(pthread_create(&churn, NULL, churn_thread, &stop), 0);
    for (int i = 0; i < 8; i++) {
        workers[i].pool = pool;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, work_thread, &workers[i]),
                         0);
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
        for (int m = 0; m < MEMBERS; m++) {
            total += workers[i].picked[m];
        }
        ck_assert_uint_eq(workers[i].failed, 0);
    }
    atomic_store(&stop, true);
    pthread_join(churn, &failed);
    ck_assert_ptr_null(failed);
    ck_assert_int_eq(locus_pool_list(pool, &list), LOCUS_OK);
    for (size_t i = 0; i < list->count; i++) {
        counted += list->members[i].count;
    }
    locus_pool_list_free(list);
    /* A restore may lift a member to the live minimum: never lower, so never fewer. */
    ck_assert_uint_ge(counted, total);
    ck_assert_uint_eq(total, 8u * (PICKS + PICKS / 4 * 7));
    end();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("pool_workers");
    TCase *tc = redis_case(s, "contract");

    tcase_add_loop_test(tc, memory_and_redis_decide_alike, 0, 3);
    tcase_add_loop_test(tc, counts_of_64_workers_add_up_and_differ_by_one_at_most, 0,
                        BACKENDS);
    tcase_add_loop_test(tc, counts_add_up_while_members_come_and_go, 0, BACKENDS);
    return redis_suite_run(s);
}
