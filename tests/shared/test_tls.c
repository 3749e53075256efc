/* SPDX-License-Identifier: MIT */
/*
 * The pool over TLS: real servers with certificates of an authority that the test makes
 * itself, and ports where something else listens.
 */
#include <locus/pool.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/err.h>

#include "../support/suite.h"
#include "redis_internal.h"
#include "tls_servers.h"

#define MS UINT64_C(1000000)

enum { MEMBERS = 1000 };

static struct redis_server server, stranger; /* the right name; another one */
static char words[300];                      /* of the last failure */

static void trust(const char *file)
{
    char path[64];

    snprintf(path, sizeof(path), "%s/%s", folder, file);
    setenv("SSL_CERT_FILE", path, 1);
    setenv("SSL_CERT_DIR", folder, 1);
}

/* Before each test: one may have changed it. */
static void trust_authority(void)
{
    trust("ca.pem");
}

static struct locus_pool *open_at(const char *scheme, const char *host, int port,
                                  uint64_t timeout_ns)
{
    const struct locus_pool_config config = {.total_timeout_ns = timeout_ns,
                                             .command_timeout_ns = timeout_ns,
                                             .connect_timeout_ns = timeout_ns};
    struct locus_pool *pool;
    char uri[100], why[200] = "";

    snprintf(uri, sizeof(uri), "%s://%s:%d", scheme, host, port);
    ck_assert_msg(locus_pool_open(uri, "tls", &config, &pool, why, sizeof(why)) ==
                      LOCUS_OK,
                  "%s", why);
    return pool;
}

/* What a failure is known by at once, on the slowest machine; and what is tried again and
 * again until the deadline. */
static const uint64_t long_ns = 60000 * MS, short_ns = 1500 * MS;

/* The status of a pick there, with its words. */
static int try_at(const char *scheme, const char *host, int port, uint64_t timeout_ns)
{
    struct locus_pool *pool = open_at(scheme, host, port, timeout_ns);
    char member[LOCUS_POOL_MEMBER_SIZE];
    int status = locus_pool_pick(pool, member);

    locus_pool_error(pool, words, sizeof(words));
    locus_pool_close(pool);
    return status;
}

/* Replies of many records, requests of many, and none. */
START_TEST(picks_and_lists_go_over_tls)
{
    static const char *const hosts[] = {"localhost", "127.0.0.1"};
    static char names[MEMBERS][LOCUS_POOL_MEMBER_SIZE];
    static char picks[MEMBERS][LOCUS_POOL_MEMBER_SIZE];
    static const char *members[MEMBERS];
    struct locus_pool_list *list;
    size_t picked;

    struct locus_pool *pool = open_at("rediss", hosts[_i], server.port, 20000 * MS);
    for (int i = 0; i < MEMBERS; i++) {
        snprintf(names[i], sizeof(names[i]), "%04d-%0200d", i, 0);
        members[i] = names[i];
    }
    ck_assert_int_eq(locus_pool_clear(pool), LOCUS_OK);
    ck_assert_int_eq(
        locus_pool_add(pool, members, MEMBERS, LOCUS_POOL_START_ZERO, 0, NULL),
        LOCUS_OK);
    ck_assert_int_eq(locus_pool_pick_many(pool, MEMBERS, picks, &picked), LOCUS_OK);
    ck_assert_int_eq(memcmp(picks, names, sizeof(names)), 0);
    ck_assert_int_eq(locus_pool_list(pool, &list), LOCUS_OK);
    ck_assert_uint_eq(list->count, MEMBERS);
    ck_assert_uint_eq(list->members[MEMBERS - 1].count, 1);
    locus_pool_list_free(list);
    locus_pool_close(pool);
}
END_TEST

START_TEST(a_certificate_of_an_unknown_authority_is_refused)
{
    trust("right.key"); /* no certificate in it */
    ck_assert_int_eq(try_at("rediss", "localhost", server.port, long_ns),
                     LOCUS_EREFUSED);
    ck_assert_msg(strstr(words, "certificate") != NULL, "%s", words);
}
END_TEST

START_TEST(a_certificate_for_another_name_is_refused)
{
    ck_assert_int_eq(try_at("rediss", "localhost", stranger.port, long_ns),
                     LOCUS_EREFUSED);
    ck_assert_msg(strstr(words, "mismatch") != NULL, "%s", words);
    ck_assert_int_eq(try_at("rediss", "127.0.0.1", stranger.port, long_ns),
                     LOCUS_EREFUSED);
    ck_assert_msg(strstr(words, "mismatch") != NULL, "%s", words);
    ck_assert_int_eq(try_at("rediss", "127.0.0.2", stranger.port, short_ns), LOCUS_EIO);
}
END_TEST

/* It says so only after the handshake. */
START_TEST(a_server_that_wants_a_certificate_is_understood)
{
    struct redis_server strict;

    ck_assert(start_tls_server(&strict, "right", true));
    int tries = 0;
    do { /* the last try may be cut short */
        ck_assert_int_eq(try_at("rediss", "localhost", strict.port, short_ns),
                         LOCUS_EIO);
    } while (strstr(words, "certificate required") == NULL && ++tries < 20);
    ck_assert_msg(tries < 20, "%s", words);
    redis_server_stop(&strict);
}
END_TEST

/* Once it has refused and closed, whatever comes is answered by a reset. */
static void provoke_a_reset(int fd)
{
    struct pollfd reset = {.fd = fd, .events = 0};

    while (poll(&reset, 1, 20) == 0) {
        (void)!send(fd, "", 1, MSG_NOSIGNAL);
    }
}

START_TEST(a_client_too_slow_for_a_refusal_hears_its_reason_after_the_reset)
{
    const char *argv[] = {"PING"};
    const struct locus_redis_options options = {.connect_timeout_ns = long_ns};
    struct redis_server strict;
    struct locus_redis *redis;
    struct connection *connection;
    char uri[100];

    ck_assert(start_tls_server(&strict, "right", true));
    snprintf(uri, sizeof(uri), "rediss://localhost:%d", strict.port);
    ck_assert_int_eq(locus_redis_open(uri, &options, &redis, NULL, 0), LOCUS_OK);
    uint64_t until_ns = clock_after(clock_now_ns(), long_ns);
    ck_assert_int_eq(
        locus_redis_checkout(redis, redis->nodes[0], until_ns, &connection), LOCUS_OK);
    provoke_a_reset(connection->context->fd);
    ck_assert_int_eq(redisAppendCommandArgv(connection->context, 1, argv, NULL),
                     REDIS_OK);
    ck_assert_ptr_null(locus_redis_next_reply(connection, until_ns));
    ck_assert_msg(strstr(connection->context->errstr, "certificate required") != NULL,
                  "%s", connection->context->errstr);
    locus_redis_checkin(redis, redis->nodes[0], connection, false);
    locus_redis_close(redis);
    redis_server_stop(&strict);
}
END_TEST

/* $: the test's folder. */
static void with_folder(const char *text, char *out, size_t size)
{
    size_t used = 0;

    for (; *text != '\0' && used + sizeof(folder) < size; text++) {
        if (*text == '$') {
            used += (size_t)snprintf(out + used, size - used, "%s", folder);
        } else {
            out[used++] = *text;
        }
    }
    out[used] = '\0';
}

/* Both in one file, or each in its own; nothing in the environment helps. */
START_TEST(a_server_that_wants_a_certificate_is_shown_one)
{
    static const char *const files[] = {
        "cacert=$/ca.pem&cert=$/client.pem&key=$/client.key",
        "cert=$/client%20%26%20key.pem&cacert=$/ca.pem",
    };
    struct redis_server strict;
    struct locus_pool *pool;
    char uri[400], query[300], picked[LOCUS_POOL_MEMBER_SIZE];
    char why[300] = "";

    trust("right.key");
    ck_assert(start_tls_server(&strict, "right", true));
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        with_folder(files[i], query, sizeof(query));
        snprintf(uri, sizeof(uri), "rediss://localhost:%d/1?%s", strict.port, query);
        ck_assert_msg(locus_pool_open(uri, "tls", NULL, &pool, why, sizeof(why)) ==
                          LOCUS_OK,
                      "%s", why);
        int status;
        do { /* a slow machine */
            status = locus_pool_pick(pool, picked);
        } while (status == LOCUS_ETIMEDOUT || status == LOCUS_EAMBIGUOUS);
        locus_pool_error(pool, words, sizeof(words));
        ck_assert_msg(status == LOCUS_ENOSERVER, "%d %s", status, words);
        locus_pool_close(pool);
    }
    redis_server_stop(&strict);
}
END_TEST

static const struct {
    const char *query, *named, *why;
} useless[] = {
    {"cacert=$/none.pem", "$/none.pem", "No such file"},
    {"cacert=$/right.key", "$/right.key", ""},
    {"cert=$/none.pem&key=$/client.key", "$/none.pem", "No such file"},
    {"cert=$/client.key&key=$/client.key", "$/client.key", ""},
    {"cert=$/client.pem", "the key from $/client.pem", ""},
    {"cert=$/client.pem&key=$/none.key", "$/none.key", "No such file"},
    {"cert=$/client.pem&key=$/right.key", "$/right.key", "mismatch"},
    {"cert=$/client.pem&key=$/secret.key", "$/secret.key", "password"},
    {"cert=$", "the certificate from $", ""},
};

START_TEST(a_file_of_no_use_is_named)
{
    struct locus_pool *pool;
    char uri[400], query[300], named[100], why[300] = "";

    with_folder(useless[_i].query, query, sizeof(query));
    with_folder(useless[_i].named, named, sizeof(named));
    snprintf(uri, sizeof(uri), "rediss://:hunter2@localhost/0?%s", query);
    ck_assert_int_eq(locus_pool_open(uri, "tls", NULL, &pool, why, sizeof(why)),
                     LOCUS_EINVAL);
    ck_assert_ptr_null(pool);
    ck_assert_msg(strstr(why, named) != NULL && strstr(why, useless[_i].why) != NULL,
                  "%s", why);
    ck_assert_int_eq((int)ERR_peek_error(), 0);
}
END_TEST

static atomic_bool answered;

static void *hang_up(void *unused)
{
    while (!answered) {
        redis_server_cli(&server, "client kill type normal");
        usleep(100000);
    }
    return unused;
}

/* In mid-call, and without TLS' word for it. */
START_TEST(a_server_that_hangs_up_is_said_to_have_closed)
{
    struct locus_pool *pool = open_at("rediss", "localhost", server.port, long_ns);
    char picked[LOCUS_POOL_MEMBER_SIZE];
    pthread_t thread;

    ck_assert_int_eq(locus_pool_clear(pool), LOCUS_OK);
    ck_assert_int_eq(locus_pool_pick(pool, picked), LOCUS_ENOSERVER);
    redis_server_cli(&server, "client pause 100000 write");
    answered = false;
    ck_assert_int_eq(pthread_create(&thread, NULL, hang_up, NULL), 0);
    ck_assert_int_eq(locus_pool_pick(pool, picked), LOCUS_EAMBIGUOUS);
    answered = true;
    pthread_join(thread, NULL);
    redis_server_cli(&server, "client unpause");
    locus_pool_error(pool, words, sizeof(words));
    ck_assert_msg(strstr(words, "closed the connection") != NULL, "%s", words);
    locus_pool_close(pool);
}
END_TEST

START_TEST(plain_and_tls_do_not_mix)
{
    ck_assert_int_ne(try_at("redis", "localhost", server.port, short_ns), LOCUS_OK);
    struct redis_server plain;
    ck_assert(redis_server_start_on_a_port(&plain, NULL));
    ck_assert_int_eq(try_at("rediss", "localhost", plain.port, short_ns), LOCUS_EIO);
    ck_assert_msg(strstr(words, "TLS: ") != NULL, "%s", words);
    redis_server_stop(&plain);
}
END_TEST

/* Connections are taken by the kernel; nobody answers them. */
START_TEST(a_silent_server_does_not_hold_a_caller)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, size), 0);
    ck_assert_int_eq(listen(fd, 16), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    ck_assert_int_eq(try_at("rediss", "127.0.0.1", ntohs(address.sin_port), short_ns),
                     LOCUS_EIO);
    close(fd);
}
END_TEST

/* Each thread has one queue of errors, for all who use OpenSSL in it. More is sent than the
 * socket takes at once. */
START_TEST(an_error_that_the_caller_left_behind_is_not_ours)
{
    static char large[1 << 20];
    const int little = 4096;
    const char *const set[] = {"SET", "large", large};
    const size_t lengths[] = {3, 5, sizeof(large)};
    const struct locus_redis_command put = {
        .argv = set, .lengths = lengths, .argc = 3, .route = 1};
    const struct locus_redis_options options = {.connect_timeout_ns = 60000 * MS,
                                                .command_timeout_ns = 60000 * MS,
                                                .total_timeout_ns = 60000 * MS};
    struct locus_redis *redis;
    struct locus_redis_reply *reply;
    struct locus_redis_stats stats;
    char uri[100];

    snprintf(uri, sizeof(uri), "rediss://localhost:%d", server.port);
    ck_assert_int_eq(locus_redis_open(uri, &options, &redis, NULL, 0), LOCUS_OK);
    for (int i = 0; i < 3; i++) {
        if (i > 0) {
            ck_assert_int_eq(setsockopt(redis->nodes[0]->idle->context->fd, SOL_SOCKET,
                                        SO_SNDBUF, &little, sizeof(little)),
                             0);
        }
        ERR_raise(ERR_LIB_USER, ERR_R_INTERNAL_ERROR);
        ck_assert_int_eq(locus_redis_run_one(redis, &put, 0, &reply), LOCUS_OK);
        locus_reply_free(reply);
    }
    locus_redis_get_stats(redis, &stats);
    ck_assert_uint_eq(stats.connects, 1);
    locus_redis_close(redis);
}
END_TEST

START_TEST(a_connection_that_was_cut_is_made_anew)
{
    struct locus_pool *pool = open_at("rediss", "localhost", server.port, 20000 * MS);
    const char *const member = "a";
    struct locus_pool_stats stats;
    char picked[LOCUS_POOL_MEMBER_SIZE];

    ck_assert_int_eq(locus_pool_clear(pool), LOCUS_OK);
    ck_assert_int_eq(locus_pool_add(pool, &member, 1, LOCUS_POOL_START_ZERO, 0, NULL),
                     LOCUS_OK);
    for (int i = 0; i < 3; i++) {
        redis_server_cli(&server, "client kill type normal");
        ck_assert_int_eq(locus_pool_pick(pool, picked), LOCUS_OK);
    }
    locus_pool_get_stats(pool, &stats);
    ck_assert_uint_eq(stats.connects, 4);
    locus_pool_close(pool);
}
END_TEST

START_TEST(a_server_that_dies_does_not_kill_the_caller)
{
    struct redis_server mortal;
    const char *const member = "a";
    char picked[LOCUS_POOL_MEMBER_SIZE];

    signal(SIGPIPE, SIG_DFL);
    ck_assert(start_tls_server(&mortal, "right", false));
    struct locus_pool *pool = open_at("rediss", "localhost", mortal.port, 500 * MS);
    while (locus_pool_add(pool, &member, 1, LOCUS_POOL_START_ZERO, 0, NULL) !=
           LOCUS_OK) { /* a slow machine */
    }
    redis_server_kill(&mortal);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_ne(locus_pool_pick(pool, picked), LOCUS_OK);
    }
    locus_pool_close(pool);
    redis_server_stop(&mortal);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("tls");
    TCase *tc = suite_case(s, "tls");

    tcase_add_checked_fixture(tc, trust_authority, NULL);
    tcase_add_loop_test(tc, picks_and_lists_go_over_tls, 0, 2);
    tcase_add_test(tc, a_certificate_of_an_unknown_authority_is_refused);
    tcase_add_test(tc, a_certificate_for_another_name_is_refused);
    tcase_add_test(tc, a_server_that_wants_a_certificate_is_understood);
    tcase_add_test(tc,
                   a_client_too_slow_for_a_refusal_hears_its_reason_after_the_reset);
    tcase_add_test(tc, a_server_that_wants_a_certificate_is_shown_one);
    tcase_add_loop_test(tc, a_file_of_no_use_is_named, 0,
                        sizeof(useless) / sizeof(useless[0]));
    tcase_add_test(tc, a_server_that_hangs_up_is_said_to_have_closed);
    tcase_add_test(tc, plain_and_tls_do_not_mix);
    tcase_add_test(tc, a_silent_server_does_not_hold_a_caller);
    tcase_add_test(tc, an_error_that_the_caller_left_behind_is_not_ours);
    tcase_add_test(tc, a_connection_that_was_cut_is_made_anew);
    tcase_add_test(tc, a_server_that_dies_does_not_kill_the_caller);
    return s;
}

/* NULL: everything is there. */
static const char *missing(void)
{
    if (!redis_server_installed()) {
        return "no redis-server";
    }
    if (system("command -v openssl >/dev/null 2>&1") != 0) {
        return "no openssl";
    }
    struct redis_server plain;
    bool able = redis_server_start(&plain, 0, NULL) &&
                strstr(redis_server_cli(&plain, "config get tls-port"), "tls") != NULL;
    redis_server_stop(&plain);
    return able ? NULL : "this redis-server has no TLS";
}

int main(void)
{
    const char *lack = missing();
    char command[64];

    if (lack != NULL) {
        printf("1..0 # SKIP %s\n", lack);
        return EXIT_SUCCESS;
    }
    int code = EXIT_FAILURE;
    if (!make_folder() || !start_tls_server(&server, "right", false) ||
        !start_tls_server(&stranger, "other", false)) {
        printf("Bail out! cannot make certificates or start a server with them\n");
    } else {
        code = suite_run(suite());
    }
    redis_server_stop(&server);
    redis_server_stop(&stranger);
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command) == 0 ? code : EXIT_FAILURE;
}
