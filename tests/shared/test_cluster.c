/* SPDX-License-Identifier: MIT */
/*
 * The pool on a Redis Cluster of three nodes and a replica, on the loopback: slots are
 * found, followed while they move, and found again after a node has died.
 */
#include <locus/pool.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../../src/shared/redis.h"
#include "../support/suite.h"
#include "redis_server.h"

enum { NODES = 4, MASTERS = 3, POOLS = 24 };

static const char *const cluster_words[] = {
    "--cluster-enabled",
    "yes",
    "--cluster-node-timeout",
    "1000",
    "--cluster-require-full-coverage",
    "no",
    "--cluster-replica-validity-factor",
    "0",
    "--repl-diskless-sync-delay",
    "0",
    NULL,
};

static struct redis_server nodes[NODES];
static char uri[64];

static void pause_ms(long ms)
{
    const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    nanosleep(&pause, NULL);
}

/* Waits until the node's answer to words contains text, for a minute at most. */
static bool answers(int node, const char *words, const char *text)
{
    for (int i = 0; i < 600; i++) {
        if (strstr(redis_server_cli(&nodes[node], words), text) != NULL) {
            return true;
        }
        pause_ms(100);
    }
    fprintf(stderr, "node %d, %s: %s\n", node, words,
            redis_server_cli(&nodes[node], words));
    return false;
}

static const char *id_of(int node, char id[64])
{
    snprintf(id, 64, "%s", redis_server_cli(&nodes[node], "cluster myid"));
    return id;
}

static bool form_cluster(void)
{
    char words[128], id[64];
    bool ok = true;

    for (int i = 0; i < MASTERS; i++) {
        snprintf(words, sizeof(words), "cluster addslotsrange %d %d", i * 5462,
                 i == MASTERS - 1 ? 16383 : i * 5462 + 5461);
        redis_server_cli(&nodes[i], words);
    }
    for (int i = 1; i < NODES; i++) {
        snprintf(words, sizeof(words), "cluster meet 127.0.0.1 %d", nodes[i].port);
        redis_server_cli(&nodes[0], words);
    }
    for (int i = 0; i < NODES; i++) {
        ok = ok && answers(i, "cluster info", "cluster_known_nodes:4") &&
             answers(i, "cluster info", "cluster_slots_ok:16384") &&
             answers(i, "cluster info", "cluster_state:ok");
    }
    snprintf(words, sizeof(words), "cluster replicate %s", id_of(0, id));
    redis_server_cli(&nodes[MASTERS], words);
    return ok && answers(MASTERS, "role", "connected");
}

static void start_cluster(void)
{
    bool ok = true;

    for (int i = 0; i < NODES && ok; i++) {
        ok = redis_server_start_on_a_port(&nodes[i], cluster_words);
    }
    if (!ok || !form_cluster()) {
        fprintf(stderr, "the cluster did not come up\n");
        exit(EXIT_FAILURE);
    }
    snprintf(uri, sizeof(uri), "redis://127.0.0.1:%d", nodes[1].port);
}

static void stop_cluster(void)
{
    for (int i = 0; i < NODES; i++) {
        redis_server_stop(&nodes[i]);
    }
}

static struct locus_pool *open_named(const char *name)
{
    const struct locus_pool_config config = {.total_timeout_ns = 30000000000u,
                                             .command_timeout_ns = 10000000000u};
    struct locus_pool *pool;
    char why[200] = "";

    ck_assert_msg(locus_pool_open(uri, name, &config, &pool, why, sizeof(why)) ==
                      LOCUS_OK,
                  "%s", why);
    return pool;
}

static void fill(struct locus_pool *pool)
{
    const char *const members[] = {"a", "b", "c"};

    ck_assert_int_eq(locus_pool_clear(pool), LOCUS_OK);
    ck_assert_int_eq(locus_pool_add(pool, members, 3, LOCUS_POOL_START_ZERO, 0, NULL),
                     LOCUS_OK);
}

static void check_picks(struct locus_pool *pool, int picks)
{
    char member[LOCUS_POOL_MEMBER_SIZE];

    for (int i = 0; i < picks; i++) {
        ck_assert_int_eq(locus_pool_pick(pool, member), LOCUS_OK);
    }
}

static void check_sum(struct locus_pool *pool, uint64_t expected)
{
    struct locus_pool_list *list;
    uint64_t sum = 0;

    ck_assert_int_eq(locus_pool_list(pool, &list), LOCUS_OK);
    for (size_t i = 0; i < list->count; i++) {
        sum += list->members[i].count;
    }
    locus_pool_list_free(list);
    ck_assert_uint_eq(sum, expected);
}

START_TEST(pools_of_all_slots_are_reached_from_one_node)
{
    for (int i = 0; i < POOLS; i++) {
        struct locus_pool_stats stats;
        struct locus_lease lease;
        char name[16];
        snprintf(name, sizeof(name), "pool%d", i);
        struct locus_pool *pool = open_named(name);
        fill(pool);
        check_picks(pool, 7);
        check_sum(pool, 7);
        ck_assert_int_eq(locus_lease_acquire(pool, 1000000000, &lease), LOCUS_OK);
        ck_assert_int_eq(locus_lease_release(pool, lease.id, NULL), LOCUS_OK);
        locus_pool_get_stats(pool, &stats);
        ck_assert_uint_le(stats.redirects, 1); /* the map is learnt from the first */
        locus_pool_close(pool);
    }
}
END_TEST

/* Hands all keys of a slot from one node to another, as redis-cli --cluster reshard does,
 * with a look at the pool at each step. */
START_TEST(a_slot_that_moves_is_followed)
{
    struct locus_pool *pool = open_named("moving");
    const char *key = "locus:{moving}";
    unsigned slot = locus_redis_slot(key, strlen(key));
    int from = (int)slot / 5462, to = (from + 1) % MASTERS;
    char words[256], from_id[64], to_id[64];
    struct locus_pool_stats stats;

    fill(pool);
    check_picks(pool, 5);
    id_of(from, from_id);
    id_of(to, to_id);
    snprintf(words, sizeof(words), "cluster setslot %u importing %s", slot, from_id);
    ck_assert_str_eq(redis_server_cli(&nodes[to], words), "OK");
    snprintf(words, sizeof(words), "cluster setslot %u migrating %s", slot, to_id);
    ck_assert_str_eq(redis_server_cli(&nodes[from], words), "OK");
    check_picks(pool, 5); /* the key is still there */
    snprintf(words, sizeof(words), "migrate 127.0.0.1 %d '%s' 0 5000", nodes[to].port,
             key);
    ck_assert_str_eq(redis_server_cli(&nodes[from], words), "OK");
    check_picks(pool, 5); /* ASK */
    locus_pool_get_stats(pool, &stats);
    ck_assert_uint_ge(stats.redirects, 5);
    for (int i = 0; i < MASTERS; i++) {
        snprintf(words, sizeof(words), "cluster setslot %u node %s", slot, to_id);
        ck_assert_str_eq(redis_server_cli(&nodes[i], words), "OK");
    }
    check_picks(pool, 5); /* MOVED */
    check_sum(pool, 20);
    locus_pool_close(pool);
}
END_TEST

/* Last: it leaves node 0 dead. */
START_TEST(the_slots_of_a_dead_node_are_found_at_its_replica)
{
    struct locus_pool *pool;
    char name[16], member[LOCUS_POOL_MEMBER_SIZE], key[32], words[200];
    int i = 0;

    do { /* a pool that lives on node 0 */
        snprintf(name, sizeof(name), "dead%d", i++);
        snprintf(key, sizeof(key), "locus:{%s}", name);
    } while (locus_redis_slot(key, strlen(key)) >= 5462);
    pool = open_named(name);
    fill(pool);
    check_picks(pool, 6);
    /* WAIT speaks of the writes of its own connection, so it makes one behind all others. */
    snprintf(words, sizeof(words), "<<'END'\nset {%s}last 1\nwait 1 20000\nEND\n",
             name);
    ck_assert_str_eq(redis_server_cli(&nodes[0], words), "OK\n1");
    redis_server_kill(&nodes[0]);
    int status;
    do {
        status = locus_pool_pick(pool, member);
        /* On its way to the dead node nothing was done. */
        locus_pool_error(pool, words, sizeof(words));
        ck_assert_msg(status == LOCUS_OK || status == LOCUS_EIO ||
                          status == LOCUS_ETIMEDOUT,
                      "%s: %s", locus_strerror(status), words);
    } while (status != LOCUS_OK && i++ < 10);
    ck_assert_int_eq(status, LOCUS_OK);
    check_sum(pool, 7);
    locus_pool_close(pool);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cluster");
    TCase *tc = suite_case(s, "cluster");

    if (!redis_server_installed()) {
        printf("1..0 # SKIP no redis-server\n");
        return EXIT_SUCCESS;
    }
    tcase_add_unchecked_fixture(tc, start_cluster, stop_cluster);
    tcase_add_test(tc, pools_of_all_slots_are_reached_from_one_node);
    tcase_add_test(tc, a_slot_that_moves_is_followed);
    tcase_add_test(tc, the_slots_of_a_dead_node_are_found_at_its_replica);
    return suite_run(s);
}
