/* SPDX-License-Identifier: MIT */
/*
 * The Redis client below the pool: pipelines, scripts, threads.
 */
#include "redis_internal.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fake_server.h"
#include "redis_suite.h"

static struct locus_redis *open_client_of(const char *uri, size_t connections)
{
    const struct locus_redis_options options = {.connections = connections,
                                                .command_timeout_ns = 10000000000,
                                                .total_timeout_ns = 20000000000};
    struct locus_redis *redis;
    char why[200] = "";

    ck_assert_msg(locus_redis_open(uri, &options, &redis, why, sizeof(why)) == LOCUS_OK,
                  "%s", why);
    return redis;
}

static struct locus_redis *open_client(size_t connections)
{
    return open_client_of(server.uri, connections);
}

enum { PIPELINE = 3000 };

START_TEST(a_pipeline_is_one_round_trip_and_keeps_its_order)
{
    static const struct locus_redis_script add = {
        "return redis.call('INCRBY', KEYS[1], ARGV[1])"};
    static struct locus_redis_command commands[PIPELINE];
    static struct locus_redis_result results[PIPELINE];
    static const char *argv[PIPELINE][2];
    struct locus_redis *redis = open_client(1);
    struct locus_redis_stats before, after;

    for (int i = 0; i < PIPELINE; i++) {
        argv[i][0] = i % 2 == 0 ? "counter" : "INCR";
        argv[i][1] = i % 2 == 0 ? "10" : "counter";
        commands[i] =
            (struct locus_redis_command){.argv = argv[i], .argc = 2, .route = 1};
        if (i % 2 == 0) {
            commands[i].script = &add;
            commands[i].keys = 1;
            commands[i].route = 0;
        }
    }
    for (int round = 0; round < 2; round++) {
        locus_redis_get_stats(redis, &before);
        ck_assert_int_eq(locus_redis_run(redis, commands, PIPELINE, 0, results),
                         LOCUS_OK);
        locus_redis_get_stats(redis, &after);
        int64_t expected = round * (int64_t)PIPELINE / 2 * 11;
        for (int i = 0; i < PIPELINE; i++) {
            int64_t value;
            expected += i % 2 == 0 ? 10 : 1;
            ck_assert(locus_reply_integer(results[i].reply, &value));
            ck_assert_int_eq(value, expected);
        }
        ck_assert_uint_eq(after.round_trips - before.round_trips, 1);
        ck_assert_uint_eq(after.commands - before.commands, PIPELINE);
        locus_redis_results_clear(results, PIPELINE);
    }
    locus_redis_close(redis);
}
END_TEST

START_TEST(one_failure_in_a_pipeline_is_its_own)
{
    const char *const set[] = {"SET", "text", "x"}, *const wrong[] = {"ZCARD", "text"},
                      *const unknown[] = {"NOSUCH"}, *const get[] = {"GET", "text"};
    const struct locus_redis_command commands[] = {
        {.argv = set, .argc = 3, .route = 1},
        {.argv = wrong, .argc = 2, .route = 1},
        {.argv = unknown, .argc = 1, .route = LOCUS_REDIS_NO_KEY},
        {.argv = get, .argc = 2, .route = 1},
    };
    struct locus_redis_result results[4];
    struct locus_redis *redis = open_client(1);

    ck_assert_int_eq(locus_redis_run(redis, commands, 4, 0, results), LOCUS_EFORMAT);
    ck_assert_int_eq(results[0].status, LOCUS_OK);
    ck_assert_int_eq(results[1].status, LOCUS_EFORMAT);
    ck_assert_int_eq(results[2].status, LOCUS_EREFUSED);
    ck_assert_int_eq(results[3].status, LOCUS_OK);
    ck_assert_str_eq(locus_reply_text(results[3].reply, NULL), "x");
    locus_redis_results_clear(results, 4);
    locus_redis_close(redis);
}
END_TEST

START_TEST(arguments_are_bytes_and_may_be_large)
{
    static char large[200000];
    const char *const set[] = {"SET", "bytes", large}, *const get[] = {"GET", "bytes"};
    const size_t lengths[] = {3, 5, sizeof(large)};
    const struct locus_redis_command put = {
        .argv = set, .lengths = lengths, .argc = 3, .route = 1};
    const struct locus_redis_command take = {.argv = get, .argc = 2, .route = 1};
    struct locus_redis *redis = open_client(1);
    struct locus_redis_reply *reply;
    size_t length;

    for (size_t i = 0; i < sizeof(large); i++) {
        large[i] = (char)(i * 7 % 256);
    }
    ck_assert_int_eq(locus_redis_run_one(redis, &put, 0, &reply), LOCUS_OK);
    locus_reply_free(reply);
    ck_assert_int_eq(locus_redis_run_one(redis, &take, 0, &reply), LOCUS_OK);
    const char *text = locus_reply_text(reply, &length);
    ck_assert_uint_eq(length, sizeof(large));
    ck_assert_int_eq(memcmp(text, large, length), 0);
    locus_reply_free(reply);
    locus_redis_close(redis);
}
END_TEST

enum { LEARNERS = 32 };

struct learner {
    struct locus_redis *redis;
    pthread_barrier_t *start;
    int status;
};

static const struct locus_redis_script one_script = {"return 1"};

static void *learn(void *arg)
{
    const struct locus_redis_command command = {.script = &one_script};
    struct learner *learner = arg;
    struct locus_redis_reply *reply;

    pthread_barrier_wait(learner->start);
    learner->status = locus_redis_run_one(learner->redis, &command, 0, &reply);
    locus_reply_free(reply);
    return NULL;
}

START_TEST(a_script_is_learnt_once_by_however_many_threads)
{
    struct locus_redis *redis = open_client(LEARNERS);
    struct learner learners[LEARNERS];
    pthread_t threads[LEARNERS];
    pthread_barrier_t start;

    ck_assert_int_eq(pthread_barrier_init(&start, NULL, LEARNERS), 0);
    for (int i = 0; i < LEARNERS; i++) {
        learners[i] = (struct learner){redis, &start, LOCUS_EINVAL};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, learn, &learners[i]), 0);
    }
    for (int i = 0; i < LEARNERS; i++) {
        pthread_join(threads[i], NULL);
        ck_assert_int_eq(learners[i].status, LOCUS_OK);
    }
    ck_assert_uint_eq(redis->script_count, 1);
    pthread_barrier_destroy(&start);
    locus_redis_close(redis);
}
END_TEST

START_TEST(what_cannot_be_sent_is_refused)
{
    const struct locus_redis_command none = {.argc = 0};
    const struct locus_redis_command keys = {.script = &(struct locus_redis_script){""},
                                             .keys = 1};
    struct locus_redis *redis = open_client(1);
    struct locus_redis_reply *reply;

    ck_assert_int_eq(locus_redis_run_one(redis, &none, 0, &reply), LOCUS_EINVAL);
    ck_assert_int_eq(locus_redis_run_one(redis, &keys, 0, &reply), LOCUS_EINVAL);
    ck_assert_int_eq(locus_redis_run(redis, NULL, 0, 0, NULL), LOCUS_OK);
    locus_redis_close(redis);
}
END_TEST

static void *increments(void *arg)
{
    const char *const incr[] = {"INCR", "threads"};
    const struct locus_redis_command command = {.argv = incr, .argc = 2, .route = 1};
    struct locus_redis_reply *reply;

    for (int i = 0; i < 200; i++) {
        if (locus_redis_run_one(arg, &command, 0, &reply) != LOCUS_OK) {
            return arg;
        }
        locus_reply_free(reply);
    }
    return NULL;
}

START_TEST(threads_share_no_more_connections_than_given)
{
    struct locus_redis *redis = open_client(3);
    struct locus_redis_stats stats;
    pthread_t threads[32];
    void *failed;

    for (int i = 0; i < 32; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, increments, redis), 0);
    }
    for (int i = 0; i < 32; i++) {
        pthread_join(threads[i], &failed);
        ck_assert_ptr_null(failed);
    }
    locus_redis_get_stats(redis, &stats);
    ck_assert_uint_eq(stats.commands, 6400);
    ck_assert_uint_le(stats.connects, 3);
    ck_assert_str_eq(redis_server_cli(&server, "get threads"), "6400");
    locus_redis_close(redis);
}
END_TEST

/* ---- what only a look inside shows ----------------------------------------------- */

struct waiter {
    struct locus_redis *redis;
    size_t node;
    int status;
};

/* Takes a connection of the node as soon as there is one, and gives it back. */
static void *take_one(void *arg)
{
    struct waiter *waiter = arg;
    struct node *node = waiter->redis->nodes[waiter->node];
    struct connection *connection;

    waiter->status = locus_redis_checkout(
        waiter->redis, node, clock_after(clock_now_ns(), 20 * NS_PER_S), &connection);
    if (waiter->status == LOCUS_OK) {
        locus_redis_checkin(waiter->redis, node, connection, true);
    }
    return NULL;
}

START_TEST(a_connection_that_comes_back_wakes_who_waits_for_its_node)
{
    struct locus_redis *redis = open_client(1);
    struct connection *taken[2];
    struct waiter waiters[2] = {{redis, 1, 0}, {redis, 0, 0}};
    pthread_t threads[2];

    pthread_mutex_lock(&redis->lock); /* the same server, under another name */
    char path[128];
    snprintf(path, sizeof(path), "%s/./s", server.folder);
    ck_assert_uint_eq(locus_redis_node_add(redis, path, strlen(path), ""), 1);
    pthread_mutex_unlock(&redis->lock);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(locus_redis_checkout(redis, redis->nodes[i],
                                              clock_now_ns() + 20 * NS_PER_S,
                                              &taken[i]),
                         LOCUS_OK);
    }
    for (int i = 0; i < 2; i++) { /* who waits longest, waits for the other node */
        ck_assert_int_eq(pthread_create(&threads[i], NULL, take_one, &waiters[i]), 0);
        nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    }
    locus_redis_checkin(redis, redis->nodes[0], taken[0], true);
    pthread_join(threads[1], NULL);
    ck_assert_int_eq(waiters[1].status, LOCUS_OK);
    locus_redis_checkin(redis, redis->nodes[1], taken[1], true);
    pthread_join(threads[0], NULL);
    ck_assert_int_eq(waiters[0].status, LOCUS_OK);
    locus_redis_close(redis);
}
END_TEST

START_TEST(a_reply_too_many_is_not_taken_for_the_next_calls)
{
    static const char twice[] = ":1\r\n:2\r\n";
    const char *const get[] = {"GET", "a"};
    const struct locus_redis_command command = {.argv = get, .argc = 2, .route = 1};
    struct locus_redis_reply *reply;
    struct fake_server fake;
    int64_t value;

    fake_server_start(&fake, FAKE_ANSWER, twice, sizeof(twice) - 1);
    struct locus_redis *redis = open_client_of(fake.uri, 1);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(locus_redis_run_one(redis, &command, 0, &reply), LOCUS_OK);
        ck_assert(locus_reply_integer(reply, &value));
        ck_assert_int_eq(value, 1);
        locus_reply_free(reply);
    }
    locus_redis_close(redis);
    fake_server_stop(&fake);
}
END_TEST

/* Once it has closed one connection. */
static void *fall_silent(void *arg)
{
    struct fake_server *fake = arg;

    while (atomic_load(&fake->connections) < 2) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    atomic_store(&fake->manner, FAKE_SILENT);
    return arg;
}

START_TEST(a_last_try_cut_short_leaves_the_words_of_an_earlier_one)
{
    const char *const get[] = {"GET", "a"};
    const struct locus_redis_command command = {
        .argv = get, .argc = 2, .route = 1, .repeatable = true};
    struct locus_redis_reply *reply;
    struct fake_server fake;
    char words[200];
    pthread_t thread;

    fake_server_start(&fake, FAKE_CLOSE, "", 0);
    struct locus_redis *redis = open_client_of(fake.uri, 1);
    ck_assert_int_eq(pthread_create(&thread, NULL, fall_silent, &fake), 0);
    ck_assert_int_eq(locus_redis_run_one(redis, &command, 3 * NS_PER_S, &reply),
                     LOCUS_ETIMEDOUT);
    pthread_join(thread, NULL);
    locus_redis_error(redis, words, sizeof(words));
    ck_assert_msg(strstr(words, "deadline") == NULL && words[0] != '\0', "%s", words);
    locus_redis_close(redis);
    fake_server_stop(&fake);
}
END_TEST

START_TEST(what_was_sent_once_is_never_said_to_have_met_no_connection)
{
    const char *const get[] = {"GET", "a"};
    const struct locus_redis_command command = {
        .argv = get, .argc = 2, .route = 1, .repeatable = true};
    struct locus_redis_reply *reply;
    struct fake_server fake;
    struct locus_redis *redis;
    struct connection *connection;

    fake_server_start(&fake, FAKE_HANG_UP, "", 0);
    redis = open_client_of(fake.uri, 1);
    uint64_t until_ns = clock_now_ns() + 20 * NS_PER_S;
    ck_assert_int_eq(
        locus_redis_checkout(redis, redis->nodes[0], until_ns, &connection), LOCUS_OK);
    locus_redis_checkin(redis, redis->nodes[0], connection, true);
    char path[80];
    snprintf(path, sizeof(path), "%s/s", fake.folder);
    ck_assert_int_eq(unlink(path), 0); /* nobody connects any more */
    ck_assert_int_eq(locus_redis_run_one(redis, &command, NS_PER_S / 2, &reply),
                     LOCUS_ETIMEDOUT);
    locus_redis_close(redis);
    fake_server_stop(&fake);
}
END_TEST

/* An empty name would mean that any certificate will do. */
START_TEST(a_node_has_a_name)
{
    struct locus_redis *redis = open_client_of("redis://localhost", 1);

    pthread_mutex_lock(&redis->lock);
    ck_assert_uint_eq(locus_redis_node_add(redis, "", 0, "1"), NO_NODE);
    ck_assert_uint_eq(locus_redis_node_add(redis, "\0a", 2, "1"), NO_NODE);
    ck_assert_uint_eq(locus_redis_node_add(redis, "a\0b", 3, "1"), NO_NODE);
    ck_assert_uint_eq(locus_redis_node_add(redis, "a", 1, "1"), 1);
    pthread_mutex_unlock(&redis->lock);
    locus_redis_close(redis);
}
END_TEST

/* Two names of one server stand for two nodes of a cluster. */
START_TEST(a_node_that_was_shunned_is_asked_again_in_time)
{
    const char *const get[] = {"GET", "a"};
    const struct locus_redis_command command = {.argv = get, .argc = 2, .route = 1};
    struct locus_redis *redis = open_client(1);
    struct locus_redis_reply *reply;
    char path[128];

    snprintf(path, sizeof(path), "%s/./s", server.folder);
    unsigned slot = locus_redis_slot("a", 1);
    pthread_mutex_lock(&redis->lock);
    size_t node = locus_redis_node_add(redis, path, strlen(path), "");
    locus_redis_map_set(redis, slot, node);
    pthread_mutex_unlock(&redis->lock);
    ck_assert_int_eq(locus_redis_run_one(redis, &command, 0, &reply), LOCUS_OK);
    locus_reply_free(reply);
    ck_assert_uint_eq(locus_redis_node_for(redis, true, slot), node);
    struct connection *connection;
    ck_assert_int_eq(
        locus_redis_checkout(redis, redis->nodes[node], UINT64_MAX, &connection),
        LOCUS_OK);
    locus_redis_checkin(redis, redis->nodes[node], connection, false);
    while (locus_redis_node_for(redis, true, slot) != node) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    locus_redis_close(redis);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("redis");
    TCase *alone = suite_case(s, "alone");

    tcase_add_test(alone, a_reply_too_many_is_not_taken_for_the_next_calls);
    tcase_add_test(alone, a_last_try_cut_short_leaves_the_words_of_an_earlier_one);
    tcase_add_test(alone, what_was_sent_once_is_never_said_to_have_met_no_connection);
    tcase_add_test(alone, a_node_has_a_name);
    if (!redis_server_installed()) {
        printf("# no redis-server: the tests that need one are left out\n");
        return suite_run(s);
    }
    TCase *real = redis_case(s, "real");
    tcase_add_test(real, a_pipeline_is_one_round_trip_and_keeps_its_order);
    tcase_add_test(real, one_failure_in_a_pipeline_is_its_own);
    tcase_add_test(real, arguments_are_bytes_and_may_be_large);
    tcase_add_test(real, a_script_is_learnt_once_by_however_many_threads);
    tcase_add_test(real, what_cannot_be_sent_is_refused);
    tcase_add_test(real, a_connection_that_comes_back_wakes_who_waits_for_its_node);
    tcase_add_test(real, a_node_that_was_shunned_is_asked_again_in_time);
    tcase_add_test(real, threads_share_no_more_connections_than_given);
    return suite_run(s);
}
