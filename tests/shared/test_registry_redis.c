/* SPDX-License-Identifier: MIT */
/*
 * What a registry in Redis alone has: round trips, foreign data, a server that is away.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "registry_homes.h"

static struct locus_registry *registry; /* what the threads of a test read */

static unsigned calls_of(const char *command)
{
    char name[64];
    unsigned calls = 0;

    snprintf(name, sizeof(name), "cmdstat_%s:calls=", command);
    const char *found = strstr(redis_server_cli(&server, "info commandstats"), name);
    if (found != NULL) {
        ck_assert_int_eq(sscanf(found + strlen(name), "%u", &calls), 1);
    }
    return calls;
}

enum { STAMPEDE = 300, STAMPEDE_BATCH = 25 };

static void *one_read(void *arg)
{
    struct locus_endpoints list;
    char cluster[16];

    snprintf(cluster, sizeof(cluster), "c%u", (unsigned)(uintptr_t)arg);
    ck_assert_int_eq(locus_registry_list_endpoints(registry, cluster, 0, &list),
                     LOCUS_ENOENT);
    return NULL;
}

START_TEST(reads_that_wait_go_to_redis_in_full_batches)
{
    pthread_t threads[STAMPEDE];
    struct locus_registry_stats stats;

    close_all(fresh(REDIS));
    registry = open_home(REDIS, (struct locus_registry_config){
                                    .concurrency = 2,
                                    .max_batch = STAMPEDE_BATCH,
                                });
    /* The script is known after the first call; what follows is EVALSHA alone. */
    one_read(NULL);
    redis_server_cli(&server, "config resetstat");
    kill(server.pid, SIGSTOP);
    for (uintptr_t i = 0; i < STAMPEDE; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, one_read, (void *)i), 0);
    }
    do {
        locus_registry_get_stats(registry, &stats);
    } while (stats.reads.queued + stats.reads.inflight < STAMPEDE);
    kill(server.pid, SIGCONT);
    for (int i = 0; i < STAMPEDE; i++) {
        pthread_join(threads[i], NULL);
    }
    ck_assert_uint_le(calls_of("evalsha"), STAMPEDE / STAMPEDE_BATCH + 2);
    ck_assert_uint_eq(calls_of("eval"), 0);
    ck_assert_uint_eq(calls_of("hgetall"), STAMPEDE);
    close_all(registry);
}
END_TEST

static _Atomic unsigned tickets;

static void *many_reads(void *arg)
{
    (void)arg;
    for (;;) {
        unsigned ticket = atomic_fetch_add(&tickets, 1);
        if (ticket >= 10000) {
            return NULL;
        }
        /* All names differ: none is shared. */
        one_read((void *)(uintptr_t)ticket);
    }
}

START_TEST(ten_thousand_single_reads_become_few_commands)
{
    enum { THREADS = 200, BATCH = 64, CONCURRENCY = 2 };
    pthread_t threads[THREADS];

    close_all(fresh(REDIS));
    registry = open_home(REDIS, (struct locus_registry_config){
                                    .concurrency = CONCURRENCY,
                                    .max_batch = BATCH,
                                    .linger_ns = 2000000000,
                                });
    tickets = 0;
    redis_server_cli(&server, "config resetstat");
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, many_reads, NULL), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    unsigned commands = calls_of("evalsha") + calls_of("eval");
    ck_assert_uint_le(commands, 10000 / BATCH + CONCURRENCY);
    ck_assert_uint_eq(calls_of("hgetall"), 10000);
    close_all(registry);
}
END_TEST

START_TEST(foreign_data_is_an_error_of_its_cluster_alone)
{
    static const char *const values[] = {"junk",
                                         "''",
                                         "'1 1'",
                                         "'1 2 3'",
                                         "'-1 1 1'",
                                         "'1 1 1 1'",
                                         "'99999999999 1 1'",
                                         "'1 1 99999999999999999999'"};
    struct locus_registry *r = fresh(REDIS);
    char command[256];

    put(r, "good", "a", 1, true);
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        snprintf(command, sizeof(command),
                 "hset '{locus-registry:test}:bad%zu' x %s '' 1", i, values[i]);
        redis_server_cli(&server, command);
        snprintf(command, sizeof(command), "bad%zu", i);
        ck_assert_str_eq(listed(r, command), locus_strerror(LOCUS_EFORMAT));
    }
    redis_server_cli(&server, "hset '{locus-registry:test}:size' x '1 1 1' '' x");
    ck_assert_str_eq(listed(r, "size"), locus_strerror(LOCUS_EFORMAT));
    ck_assert_int_eq(locus_registry_put(r, "size", "b", 1, true), LOCUS_EFORMAT);
    ck_assert_int_eq(locus_registry_put(r, "bad0", "b", 1, true), LOCUS_EFORMAT);
    ck_assert_int_eq(locus_registry_remove(r, "bad0", "x", NULL), LOCUS_EFORMAT);
    redis_server_cli(&server, "set '{locus-registry:test}:string' x");
    ck_assert_int_eq(locus_registry_put(r, "string", "b", 1, true), LOCUS_EFORMAT);
    ck_assert_str_eq(listed(r, "good"), "a 1 up (1 live of 1)");
    close_all(r);
}
END_TEST

START_TEST(a_server_that_is_away_is_an_error_until_it_is_back)
{
    struct locus_registry *r;
    struct locus_endpoints list;
    struct locus_registry_change change = {
        .op = LOCUS_REGISTRY_PUT,
        .cluster = "web",
        .address = "a",
        .weight = 1,
    };
    char words[200];

    close_all(fresh(REDIS));
    r = open_home(REDIS, (struct locus_registry_config){.total_timeout_ns = 300000000});
    put(r, "web", "a", 1, true);
    redis_server_kill(&server);
    int status = locus_registry_list_endpoints(r, "web", 0, &list);
    ck_assert(status == LOCUS_EIO || status == LOCUS_ETIMEDOUT);
    status = locus_registry_change(r, &change);
    ck_assert(status == LOCUS_EIO || status == LOCUS_ETIMEDOUT ||
              status == LOCUS_EAMBIGUOUS);
    ck_assert_int_eq(change.status, status);
    locus_registry_error(r, words, sizeof(words));
    ck_assert_str_ne(words, "");
    /* Here the reads' deadline is the caller's own. */
    ck_assert_int_lt(locus_registry_list_endpoints(r, "web", 1000000, &list), 0);
    ck_assert(redis_server_restart(&server, NULL));
    do {
        status = locus_registry_put(r, "web", "a", 1, true);
    } while (status != LOCUS_OK);
    close_all(r);
}
END_TEST

START_TEST(a_forgotten_script_is_sent_again)
{
    struct locus_registry *r = fresh(REDIS);

    put(r, "web", "a", 1, true);
    redis_server_cli(&server, "script flush");
    put(r, "web", "b", 1, true);
    redis_server_cli(&server, "script flush");
    ck_assert_uint_eq(live_of(r, "web"), 2);
    close_all(r);
}
END_TEST

static int collect(void *ctx, const char *text, size_t length)
{
    size_t used = strlen(ctx);

    ck_assert_uint_lt(used + length, 65536);
    memcpy((char *)ctx + used, text, length);
    ((char *)ctx)[used + length] = '\0';
    return 0;
}

START_TEST(metrics_are_those_of_both_coalescers)
{
    static char text[65536];
    struct locus_registry *r = fresh(REDIS);

    put(r, "web", "a", 1, true);
    ck_assert_int_eq(locus_registry_write_metrics(r, collect, text), LOCUS_OK);
    ck_assert_ptr_nonnull(strstr(
        text, "calls_total{coalescer=\"registry_changes\",outcome=\"answered\"} 1\n"));
    ck_assert_ptr_nonnull(strstr(
        text, "calls_total{coalescer=\"registry_reads\",outcome=\"answered\"} 0\n"));
    close_all(r);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("registry_redis");
    TCase *t = homes_case(s);

    if (with_redis) {
        tcase_add_test(t, reads_that_wait_go_to_redis_in_full_batches);
        tcase_add_test(t, ten_thousand_single_reads_become_few_commands);
        tcase_add_test(t, foreign_data_is_an_error_of_its_cluster_alone);
        tcase_add_test(t, a_forgotten_script_is_sent_again);
        tcase_add_test(t, metrics_are_those_of_both_coalescers);
        tcase_add_test(t, a_server_that_is_away_is_an_error_until_it_is_back);
    }
    return suite_run(s);
}
