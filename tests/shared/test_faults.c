/* SPDX-License-Identifier: MIT */
/*
 * The pool when Redis is away, slow, restarted, or not Redis at all. What must hold in every
 * case: a call ends, nothing crashes, and the sum of counts is at least the picks that were
 * handed out, and at most those plus the ambiguous ones.
 */
#include <locus/pool.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../support/suite.h"
#include "fake_server.h"
#include "redis_server.h"

#define MS UINT64_C(1000000)

static struct redis_server server;
static const char *const durable[] = {"--appendonly", "yes", "--appendfsync", "always",
                                      NULL};

static struct locus_pool *open_with(const char *uri, const char *name,
                                    const struct locus_pool_config *config)
{
    struct locus_pool *pool;
    char why[200] = "";

    if (locus_pool_open(uri, name, config, &pool, why, sizeof(why)) != LOCUS_OK) {
        ck_abort_msg("%s", why);
    }
    return pool;
}

/* For what must not fail, however slow the machine. */
static const struct locus_pool_config patient_config = {
    .total_timeout_ns = 60000 * MS,
    .command_timeout_ns = 30000 * MS,
    .connect_timeout_ns = 30000 * MS};

static struct locus_pool *open_patient(const char *name)
{
    struct locus_pool *pool = open_with(server.uri, name, &patient_config);

    ck_assert_int_eq(locus_pool_clear(pool), LOCUS_OK);
    return pool;
}

static struct locus_pool *open_hasty(const char *uri)
{
    const struct locus_pool_config config = {.total_timeout_ns = 100 * MS,
                                             .command_timeout_ns = 50 * MS,
                                             .connect_timeout_ns = 50 * MS};
    return open_with(uri, "hasty", &config);
}

static void add(struct locus_pool *pool, const char *member)
{
    ck_assert_int_eq(locus_pool_add(pool, &member, 1, LOCUS_POOL_START_ZERO, 0, NULL),
                     LOCUS_OK);
}

static void pause_ms(uint64_t ms)
{
    const struct timespec pause = {.tv_sec = (time_t)(ms / 1000),
                                   .tv_nsec = (long)(ms % 1000 * MS)};
    nanosleep(&pause, NULL);
}

/* ---- no server ------------------------------------------------------------------- */

START_TEST(opening_needs_no_server_and_a_pick_without_one_did_nothing)
{
    char member[LOCUS_POOL_MEMBER_SIZE], words[200];
    struct locus_pool_stats stats;
    const struct locus_pool_config config = {.total_timeout_ns = 3000 * MS};
    struct locus_pool *pool =
        open_with("redis+unix:///nowhere/at/all.sock", "away", &config);

    ck_assert_int_eq(locus_pool_pick(pool, member), LOCUS_EIO);
    ck_assert_str_eq(member, "");
    locus_pool_error(pool, words, sizeof(words));
    ck_assert_ptr_nonnull(strstr(words, "/nowhere/at/all.sock"));
    locus_pool_get_stats(pool, &stats);
    ck_assert_uint_eq(stats.failures, 1);
    ck_assert_uint_eq(stats.ambiguous, 0);
    ck_assert_uint_ge(stats.connect_failures, 2);
    ck_assert_uint_lt(stats.connect_failures, 40); /* it backs off */
    locus_pool_close(pool);
}
END_TEST

START_TEST(a_malformed_uri_is_refused_without_showing_its_password)
{
    static const char *const bad[] = {
        "",
        "mem",
        "mem:x",
        "http://h",
        "redis:/h",
        "redis://",
        "redis://:hunter2@",
        "redis://hunter2@h",
        "redis://u:hunter2@h:port",
        "redis://u:hunter2@h:0",
        "redis://u:hunter2@h:65536",
        "redis://u:hunter2%@h",
        "redis://u:hunter2%4@h",
        "redis://u:hunter2%00@h",
        "redis://u:hunter2@h/x",
        "redis://u:hunter2@h/99999",
        "redis://u:hunter2@[::1/0",
        "redis://u:hunter2@[::1]x/0",
        "redis+unix://u:hunter2@path",
        "redis+unix:///p?db=",
        "redis+unix:///p?x=1",
        "redis://a,,b",
        "redis://u:hunter2@h/0?cert=/c",
        "rediss://u:hunter2@h/0?",
        "rediss://u:hunter2@h/0?cert",
        "rediss://u:hunter2@h/0?cert=",
        "rediss://u:hunter2@h/0?cert=%0a",
        "rediss://u:hunter2@h/0?cert=%zz",
        "rediss://u:hunter2@h/0?cert=/c&",
        "rediss://u:hunter2@h/0?cert=/c&cert=/c",
        "rediss://u:hunter2@h/0?key=/k",
        "rediss://u:hunter2@h/0?db=1",
        "rediss://u:hunter2@h/x?cert=/c",
    };
    struct locus_pool *pool;
    char why[200];

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ck_assert_msg(locus_pool_open(bad[i], "p", NULL, &pool, why, sizeof(why)) ==
                          LOCUS_EINVAL,
                      "%s", bad[i]);
        ck_assert_ptr_null(pool);
        ck_assert_ptr_null(strstr(why, "hunter2"));
    }
    ck_assert_int_eq(locus_pool_open("mem:", "a{b}", NULL, &pool, NULL, 0),
                     LOCUS_EINVAL);
    ck_assert_int_eq(locus_pool_open("mem:", "", NULL, &pool, NULL, 0), LOCUS_EINVAL);
    ck_assert_int_eq(
        locus_pool_open("redis://a,b:1,[::1]:2/3", "p", NULL, &pool, why, 200),
        LOCUS_OK);
    locus_pool_close(pool);
}
END_TEST

START_TEST(failing_open_picks_from_the_members_last_seen)
{
    const struct locus_pool_config config = {.total_timeout_ns = 3000 * MS,
                                             .command_timeout_ns = 3000 * MS,
                                             .connect_timeout_ns = 3000 * MS,
                                             .fail = LOCUS_POOL_FAIL_OPEN,
                                             .snapshot_ns = 1};
    struct redis_server own;
    struct locus_pool_stats stats;
    char member[LOCUS_POOL_MEMBER_SIZE];

    ck_assert(redis_server_start(&own, 0, NULL));
    struct locus_pool *pool = open_with(own.uri, "open", &config);
    add(pool, "a");
    add(pool, "b");
    add(pool, "out");
    ck_assert_int_eq(locus_pool_remove(pool, "out", false), LOCUS_OK);
    ck_assert_int_eq(locus_pool_pick(pool, member), LOCUS_OK);
    redis_server_kill(&own);
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(locus_pool_pick(pool, member), LOCUS_OK);
        ck_assert_str_eq(member, i % 2 == 0 ? "b" : "a");
    }
    locus_pool_get_stats(pool, &stats);
    ck_assert_uint_eq(stats.local_picks, 4);
    ck_assert_uint_eq(stats.picks, 5);
    ck_assert(redis_server_restart(&own, NULL));        /* it has kept nothing */
    while (locus_pool_pick(pool, member) == LOCUS_OK) { /* still backing off */
    }
    locus_pool_get_stats(pool, &stats);
    ck_assert_uint_eq(stats.empty, 1);
    locus_pool_close(pool);
    redis_server_stop(&own);
}
END_TEST

/* ---- no Redis -------------------------------------------------------------------- */

static const struct reply {
    const char *bytes;
    size_t length;
} nonsense[] = {
#define BYTES(text)              \
    {                            \
        (text), sizeof(text) - 1 \
    }
    BYTES("HTTP/1.1 400 Bad Request\r\n\r\n"),
    BYTES("+OK\r\n"),
    BYTES("+\r\n"),
    BYTES(":1\r\n"),
    BYTES(":-1\r\n"),
    BYTES(":9223372036854775807\r\n"),
    BYTES(":99999999999999999999\r\n"),
    BYTES(":x\r\n"),
    BYTES("$-1\r\n"),
    BYTES("$0\r\n\r\n"),
    BYTES("$3\r\na\0b\r\n"),
    BYTES("$-2\r\n"),
    BYTES("$99999999999999\r\nabc"),
    BYTES("*-1\r\n"),
    BYTES("*-2\r\n"),
    BYTES("*1\r\n$-1\r\n"),
    BYTES("*1\r\n*0\r\n"),
    BYTES("*2\r\n$1\r\n1\r\n$0\r\n\r\n"),
    BYTES("*2\r\n$1\r\n1\r\n$3\r\na\0b\r\n"),
    BYTES("*2\r\n$1\r\nx\r\n$1\r\na\r\n"),
    BYTES("*2\r\n:-5\r\n$1\r\na\r\n"),
    BYTES("*2\r\n$1\r\n1\r\n:7\r\n"),
    BYTES("*2\r\n$1\r\n1\r\n-ERR inside\r\n"),
    BYTES("*3\r\n$1\r\n1\r\n$1\r\na\r\n$1\r\nb\r\n"),
    BYTES("*4\r\n*2\r\n$1\r\na\r\n$1\r\nx\r\n*0\r\n*0\r\n*0\r\n"),
    BYTES("*4\r\n*2\r\n$0\r\n\r\n$1\r\n1\r\n*0\r\n*0\r\n*0\r\n"),
    BYTES("*4\r\n*0\r\n*2\r\n$1\r\na\r\n$3\r\nq:1\r\n*0\r\n*0\r\n"),
    BYTES("*4\r\n$1\r\nx\r\n$-1\r\n$-1\r\n$-1\r\n"),
    BYTES("*2000000000\r\n"),
    BYTES("*1048577\r\n"),
    BYTES("*99999999999999\r\n"),
    BYTES("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n"),
    BYTES("%1\r\n+a\r\n+b\r\n"),
    BYTES("~1\r\n+a\r\n"),
    BYTES(",1.5\r\n"),
    BYTES("#t\r\n"),
    BYTES("_\r\n"),
    BYTES(">1\r\n+a\r\n"),
    BYTES("-\r\n"),
    BYTES("-ERR no\r\n"),
    BYTES("-NOPERM you may not\r\n"),
    BYTES("-OOM no\r\n"),
    BYTES("-WRONGTYPE no\r\n"),
    BYTES("-NOSCRIPT never heard of it\r\n"),
    BYTES("-MOVED\r\n"),
    BYTES("-MOVED x\r\n"),
    BYTES("-MOVED 1 nowhere\r\n"),
    BYTES("-MOVED 99999 127.0.0.1:1\r\n"),
    BYTES("-MOVED 1 127.0.0.1:99999\r\n"),
    BYTES("-MOVED 1 127.0.0.1:1\r\n"),
    BYTES("-ASK 1 127.0.0.1:1\r\n"),
    BYTES("-ASK 1 :\r\n"),
    BYTES("-BUSY wait\r\n"),
    BYTES("-LOADING wait\r\n"),
    BYTES("-READONLY no\r\n"),
    BYTES("-CLUSTERDOWN wait\r\n"),
    BYTES("-ERR max number of clients reached\r\n"),
    BYTES("\0\0\0\0\r\n"),
    BYTES("\r\n\r\n"),
    BYTES("*1\r\n$1\r\n"),
    BYTES("+\x1b[31mred\r\n"),
};

/* None of these is an answer to any of these calls: no call may succeed. */
static void try_calls(struct locus_pool *pool)
{
    char member[LOCUS_POOL_MEMBER_SIZE];
    char members[5][LOCUS_POOL_MEMBER_SIZE];
    struct locus_pool_list *list;
    struct locus_pool_member one;
    struct locus_lease lease;
    size_t picked;

    MUST(locus_pool_pick(pool, member) != LOCUS_OK);
    MUST(member[0] == '\0');
    MUST(locus_pool_pick_many(pool, 5, members, &picked) != LOCUS_OK);
    MUST(picked == 0);
    MUST(locus_pool_list(pool, &list) != LOCUS_OK);
    MUST(list == NULL);
    MUST(locus_pool_get(pool, "a", &one) != LOCUS_OK);
    MUST(locus_lease_acquire(pool, 1000 * MS, &lease) != LOCUS_OK);
    MUST(lease.member[0] == '\0');
}

static void *try_malformed(void *arg)
{
    const struct reply *reply = arg;
    struct fake_server fake;

    fake_server_start(&fake, FAKE_ANSWER, reply->bytes, reply->length);
    struct locus_pool *pool = open_hasty(fake.uri);
    const char *member = "a";
    size_t added;
    enum locus_pool_state state;
    bool held;
    try_calls(pool);
    /* These take a number for an answer; they must not crash. */
    (void)!locus_pool_add(pool, &member, 1, LOCUS_POOL_START_MIN, 0, &added);
    (void)!locus_pool_report(pool, "a", true, &state);
    (void)!locus_lease_release(pool, "0123456789abcdef0123456789abcdef", &held);
    char words[300];
    locus_pool_error(pool, words, sizeof(words));
    MUST(strchr(words, 0x1b) == NULL);
    locus_pool_close(pool);
    fake_server_stop(&fake);
    return NULL;
}

static void *try_closing(void *arg)
{
    const struct reply *reply = arg;
    struct fake_server fake;

    fake_server_start(&fake, FAKE_ANSWER_CLOSE, reply->bytes, reply->length);
    struct locus_pool *pool = open_hasty(fake.uri);
    try_calls(pool);
    locus_pool_close(pool);
    fake_server_stop(&fake);
    return NULL;
}

/* Many at once, since most calls wait until their deadline. */
enum { AT_ONCE = 10, REPLIES = sizeof(nonsense) / sizeof(nonsense[0]) };

static void try_some(void *(*try)(void *), size_t from, size_t to)
{
    pthread_t threads[AT_ONCE];

    for (size_t i = from; i < to; i++) {
        MUST(pthread_create(&threads[i - from], NULL, try,
                            (void *)(uintptr_t)&nonsense[i]) == 0);
    }
    for (size_t i = from; i < to; i++) {
        pthread_join(threads[i - from], NULL);
    }
}

START_TEST(every_malformed_reply_is_an_error)
{
    size_t from = (size_t)_i * AT_ONCE;

    try_some(try_malformed, from, from + AT_ONCE < REPLIES ? from + AT_ONCE : REPLIES);
}
END_TEST

START_TEST(a_server_that_closes_after_each_answer_is_an_error)
{
    try_some(try_closing, 0, AT_ONCE);
}
END_TEST

START_TEST(a_server_that_drips_a_byte_now_and_then_does_not_hold_a_caller)
{
    static const char endless[] =
        "$40\r\naaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    struct fake_server fake;
    char member[LOCUS_POOL_MEMBER_SIZE];

    fake_server_start(&fake, FAKE_DRIP, endless, sizeof(endless) - 1);
    struct locus_pool *pool = open_hasty(fake.uri);
    ck_assert_int_ne(locus_pool_pick(pool, member), LOCUS_OK);
    locus_pool_close(pool);
    fake_server_stop(&fake);
}
END_TEST

START_TEST(a_pick_that_was_sent_and_not_answered_is_ambiguous)
{
    static const char sha[] = "$40\r\n0123456789012345678901234567890123456789\r\n";
    const struct locus_pool_config config = {.total_timeout_ns = 30000 * MS,
                                             .command_timeout_ns = 3000 * MS,
                                             .connect_timeout_ns = 30000 * MS};
    struct locus_pool_stats stats;
    struct fake_server fake;
    char member[LOCUS_POOL_MEMBER_SIZE];

    /* The SHA is given, and the connection is closed before the pick's own answer. */
    fake_server_start(&fake, FAKE_ANSWER, sha, sizeof(sha) - 1);
    struct locus_pool *pool = open_with(fake.uri, "sent", &config);
    ck_assert_int_eq(locus_pool_pick(pool, member), LOCUS_EFORMAT); /* a SHA, no pick */
    atomic_store(&fake.manner, _i == 0 ? FAKE_HANG_UP : FAKE_SILENT);
    ck_assert_int_eq(locus_pool_pick(pool, member), LOCUS_EAMBIGUOUS);
    locus_pool_get_stats(pool, &stats);
    ck_assert_uint_eq(stats.ambiguous, 1);
    locus_pool_close(pool);
    fake_server_stop(&fake);
}
END_TEST

START_TEST(a_peer_that_closes_does_not_kill_the_caller)
{
    struct fake_server fake;
    char member[LOCUS_POOL_MEMBER_SIZE];

    signal(SIGPIPE, SIG_DFL);
    fake_server_start(&fake, FAKE_CLOSE, "", 0);
    struct locus_pool *pool = open_hasty(fake.uri);
    while (atomic_load(&fake.connections) < 3) {
        ck_assert_int_ne(locus_pool_pick(pool, member), LOCUS_OK);
    }
    locus_pool_close(pool);
    fake_server_stop(&fake);
}
END_TEST

/* ---- real servers ---------------------------------------------------------------- */

START_TEST(a_key_of_another_type_is_an_error)
{
    struct locus_pool *pool = open_patient("wrong");
    char member[LOCUS_POOL_MEMBER_SIZE];

    redis_server_cli(&server, "set 'locus:{wrong}' x");
    ck_assert_int_eq(locus_pool_pick(pool, member), LOCUS_EFORMAT);
    redis_server_cli(&server, "del 'locus:{wrong}'");
    ck_assert_int_eq(locus_pool_pick(pool, member), LOCUS_ENOSERVER);
    /* What a stranger has written is told, not passed on. */
    redis_server_cli(&server, "zadd 'locus:{wrong}' 0.5 a");
    ck_assert_int_eq(locus_pool_pick(pool, member), LOCUS_EFORMAT);
    redis_server_cli(&server, "zadd 'locus:{wrong}' -7 a");
    ck_assert_int_eq(locus_pool_pick(pool, member), LOCUS_EFORMAT);
    locus_pool_close(pool);
}
END_TEST

START_TEST(a_pick_needs_the_sorted_set_and_no_other_key)
{
    struct locus_pool *pool = open_patient("acl");
    struct locus_pool_list *list;
    char member[LOCUS_POOL_MEMBER_SIZE], uri[200];

    add(pool, "a");
    locus_pool_close(pool);
    redis_server_cli(&server, "acl setuser worker on '>s:cr@t' '~locus:{acl}' +eval "
                              "+evalsha '+script|load' +zrange +zincrby");
    snprintf(uri, sizeof(uri), "redis+unix://worker:s%%3acr%%40t@%s/s", server.folder);
    pool = open_with(uri, "acl", &patient_config);
    ck_assert_int_eq(locus_pool_pick(pool, member), LOCUS_OK);
    ck_assert_str_eq(member, "a");
    ck_assert_int_eq(locus_pool_list(pool, &list), LOCUS_EREFUSED);
    locus_pool_close(pool);
}
END_TEST

START_TEST(a_list_that_fails_does_not_go_with_every_pick)
{
    enum { PICKS = 40 };
    struct locus_pool_config config = patient_config;
    char member[LOCUS_POOL_MEMBER_SIZE];
    struct locus_pool_stats stats;

    config.fail = LOCUS_POOL_FAIL_OPEN;
    config.snapshot_ns = 3600000 * MS;
    struct locus_pool *pool = open_with(server.uri, "unlisted", &config);
    add(pool, "a");
    redis_server_cli(&server, "set 'locus:{unlisted}:kept' text");
    for (int i = 0; i < PICKS; i++) {
        ck_assert_int_eq(locus_pool_pick(pool, member), LOCUS_OK);
    }
    locus_pool_get_stats(pool, &stats);
    ck_assert_uint_lt(stats.round_trips, PICKS + 5);
    locus_pool_close(pool);
}
END_TEST

START_TEST(a_wrong_password_is_refused_at_once_and_not_shown)
{
    char uri[200], member[LOCUS_POOL_MEMBER_SIZE], words[200];
    struct locus_pool_stats stats;

    snprintf(uri, sizeof(uri), "redis+unix://nobody:hunter2@%s/s", server.folder);
    struct locus_pool *pool = open_with(uri, "auth", &patient_config);
    ck_assert_int_eq(locus_pool_pick(pool, member), LOCUS_EREFUSED);
    locus_pool_error(pool, words, sizeof(words));
    ck_assert_ptr_nonnull(strstr(words, "WRONGPASS"));
    ck_assert_ptr_null(strstr(words, "hunter2"));
    locus_pool_get_stats(pool, &stats);
    ck_assert_uint_eq(stats.connect_failures, 1);
    locus_pool_close(pool);
}
END_TEST

/* As servers that do not know AUTH answer it. */
START_TEST(a_password_that_the_server_repeats_is_not_shown)
{
    static const char *const answers[] = {
        "-ERR unknown command `AUTH`, with args beginning with: `hunter2`, \r\n",
        "-ERR what is hunter2?\r\n",
        "-hunter2\r\n",
        "-ERR unknown command 'AUTH', with args beginning with: 'hunter'\r\n",
    };
    char uri[200], member[LOCUS_POOL_MEMBER_SIZE], words[200];
    struct fake_server fake;

    fake_server_start(&fake, FAKE_ANSWER, answers[_i], strlen(answers[_i]));
    snprintf(uri, sizeof(uri), "redis+unix://:hunter2@%s/s", fake.folder);
    struct locus_pool *pool = open_with(uri, "echo", &patient_config);
    ck_assert_int_eq(locus_pool_pick(pool, member), LOCUS_EREFUSED);
    locus_pool_error(pool, words, sizeof(words));
    ck_assert_msg(strstr(words, "AUTH: ") != NULL, "%s", words);
    ck_assert_msg(strstr(words, "hunter") == NULL, "%s", words);
    locus_pool_close(pool);
    fake_server_stop(&fake);
}
END_TEST

START_TEST(databases_are_apart)
{
    char uri[200], member[LOCUS_POOL_MEMBER_SIZE];
    struct locus_pool *zero = open_patient("db");

    snprintf(uri, sizeof(uri), "%s?db=3", server.uri);
    struct locus_pool *three = open_with(uri, "db", &patient_config);
    add(three, "a");
    ck_assert_int_eq(locus_pool_pick(zero, member), LOCUS_ENOSERVER);
    ck_assert_int_eq(locus_pool_pick(three, member), LOCUS_OK);
    ck_assert_int_eq(locus_pool_clear(three), LOCUS_OK);
    locus_pool_close(zero);
    locus_pool_close(three);
}
END_TEST

/* Milliseconds, or -1: for ever, or -2: no such key. */
static long end_of(const char *key)
{
    char words[100];

    snprintf(words, sizeof(words), "pttl 'locus:{killed}%s'", key);
    return strtol(redis_server_cli(&server, words), NULL, 10);
}

START_TEST(a_pool_with_a_lifetime_ends_without_its_maker)
{
    const struct timespec pause = {.tv_nsec = 20000000};
    struct locus_pool_config config = patient_config;
    char member[LOCUS_POOL_MEMBER_SIZE];

    config.lifetime_ns = 3600000 * MS;
    struct locus_pool *pool = open_with(server.uri, "killed", &config);
    add(pool, "a");
    add(pool, "b");
    ck_assert_int_eq(locus_pool_remove(pool, "b", false), LOCUS_OK);
    ck_assert_int_gt(end_of(""), 0);
    ck_assert_int_gt(end_of(":kept"), 0);
    /* Those that only pick put it off, too. */
    locus_pool_close(pool);
    config.lifetime_ns = 6000 * MS;
    pool = open_with(server.uri, "killed", &config);
    for (int i = 0; i < 2; i++) {
        redis_server_cli(&server, "persist 'locus:{killed}'");
        redis_server_cli(&server, "persist 'locus:{killed}:kept'");
        do {
            ck_assert_int_eq(locus_pool_pick(pool, member), LOCUS_OK);
            nanosleep(&pause, NULL);
        } while (end_of("") == -1 || end_of(":kept") == -1);
    }
    locus_pool_close(pool);
    while (end_of("") != -2 || end_of(":kept") != -2) {
        nanosleep(&pause, NULL);
    }
}
END_TEST

START_TEST(a_pool_without_a_lifetime_stays)
{
    struct locus_pool *pool = open_patient("killed");

    add(pool, "a");
    ck_assert_int_eq(end_of(""), -1);
    locus_pool_close(pool);
}
END_TEST

START_TEST(a_lifetime_has_bounds)
{
    static const uint64_t wrong[] = {1, 999 * MS, (30 * UINT64_C(86400000) + 1) * MS,
                                     UINT64_MAX};
    struct locus_pool_config config = patient_config;
    struct locus_pool *pool;
    char why[200] = "";

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        config.lifetime_ns = wrong[i];
        ck_assert_int_eq(
            locus_pool_open(server.uri, "p", &config, &pool, why, sizeof(why)),
            LOCUS_EINVAL);
        ck_assert_ptr_nonnull(strstr(why, "lifetime"));
    }
}
END_TEST

START_TEST(a_script_that_the_server_forgot_is_sent_whole)
{
    struct locus_pool *pool = open_patient("noscript");
    struct locus_pool_stats stats;
    char member[LOCUS_POOL_MEMBER_SIZE];

    add(pool, "a");
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(locus_pool_pick(pool, member), LOCUS_OK);
        redis_server_cli(&server, "script flush");
    }
    locus_pool_get_stats(pool, &stats);
    ck_assert_uint_eq(stats.noscript, 2);
    struct locus_pool_member one;
    ck_assert_int_eq(locus_pool_get(pool, "a", &one), LOCUS_OK);
    ck_assert_uint_eq(one.count, 3);
    locus_pool_close(pool);
}
END_TEST

START_TEST(a_crashed_holder_leaks_nothing)
{
    struct locus_pool *pool = open_patient("crash");
    struct locus_pool_member one;
    struct locus_lease lease;
    int status;

    add(pool, "a");
    pid_t pid = fork();
    if (pid == 0) {
        struct locus_pool *own = open_with(server.uri, "crash", &patient_config);
        for (int i = 0; i < 50; i++) {
            ck_assert_int_eq(locus_lease_acquire(own, 5000 * MS, &lease), LOCUS_OK);
        }
        kill(getpid(), SIGKILL);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(locus_pool_get(pool, "a", &one), LOCUS_OK);
    ck_assert_uint_eq(one.held, 50);
    do {
        pause_ms(100);
        ck_assert_int_eq(locus_lease_acquire(pool, 20000 * MS, &lease), LOCUS_OK);
        ck_assert_int_eq(locus_lease_release(pool, lease.id, NULL), LOCUS_OK);
    } while (lease.held > 1);
    ck_assert_int_eq(locus_pool_get(pool, "a", &one), LOCUS_OK);
    ck_assert_uint_eq(one.held, 0);
    locus_pool_close(pool);
}
END_TEST

START_TEST(an_idle_pool_keeps_no_key_of_a_lease)
{
    struct locus_pool *pool = open_patient("idle");
    struct locus_lease lease;

    add(pool, "a");
    ck_assert_int_eq(locus_lease_acquire(pool, 2000 * MS, &lease), LOCUS_OK);
    ck_assert_int_eq(locus_lease_release(pool, lease.id, NULL), LOCUS_OK);
    ck_assert_int_eq(locus_lease_acquire(pool, 100 * MS, &lease), LOCUS_OK);
    /* Nobody calls again: Redis alone has to forget them. */
    for (int i = 0; i < 300; i++) {
        if (strcmp(redis_server_cli(&server, "keys 'locus:{idle}*'"), "locus:{idle}") ==
            0) {
            break;
        }
        pause_ms(100);
    }
    ck_assert_str_eq(redis_server_cli(&server, "keys 'locus:{idle}*'"), "locus:{idle}");
    ck_assert_int_eq(locus_lease_acquire(pool, 100 * MS, &lease), LOCUS_OK);
    ck_assert_uint_eq(lease.held, 1);
    locus_pool_close(pool);
}
END_TEST

START_TEST(counts_of_leases_that_redis_expired_are_void)
{
    struct locus_pool *pool = open_patient("void");
    struct locus_lease lease;

    add(pool, "a");
    ck_assert_int_eq(locus_lease_acquire(pool, 20000 * MS, &lease), LOCUS_OK);
    redis_server_cli(&server, "del 'locus:{void}:deadlines'");
    ck_assert_int_eq(locus_lease_acquire(pool, 20000 * MS, &lease), LOCUS_OK);
    ck_assert_uint_eq(lease.held, 1);
    locus_pool_close(pool);
}
END_TEST

static uint64_t skewed_clock(void *arg)
{
    (void)arg;
    return UINT64_MAX / 2;
}

START_TEST(the_clock_of_the_client_does_not_matter)
{
    struct locus_pool_config config = patient_config;
    config.now_ns = skewed_clock;
    struct locus_pool *pool = open_patient("skew");
    struct locus_pool *skewed = open_with(server.uri, "skew", &config);
    struct locus_lease lease;
    bool held;

    add(pool, "a");
    ck_assert_int_eq(locus_lease_acquire(skewed, 60000 * MS, &lease), LOCUS_OK);
    ck_assert_int_eq(locus_lease_renew(pool, lease.id, 60000 * MS), LOCUS_OK);
    ck_assert_int_eq(locus_lease_release(pool, lease.id, &held), LOCUS_OK);
    ck_assert(held);
    locus_pool_close(pool);
    locus_pool_close(skewed);
}
END_TEST

/* ---- faults in mid-run ----------------------------------------------------------- */

enum { RUNNERS = 8, MEMBERS = 5 };

struct runner {
    struct locus_pool *pool;
    atomic_bool *stop;
    uint64_t picked, ambiguous, not_done, other;
};

static void *run_picks(void *arg)
{
    struct runner *r = arg;
    char member[LOCUS_POOL_MEMBER_SIZE];

    while (!atomic_load(r->stop)) {
        int status = locus_pool_pick(r->pool, member);
        r->picked += status == LOCUS_OK;
        r->ambiguous += status == LOCUS_EAMBIGUOUS;
        r->not_done += status == LOCUS_EIO || status == LOCUS_ETIMEDOUT;
        r->other += status != LOCUS_OK && status != LOCUS_EAMBIGUOUS &&
                    status != LOCUS_EIO && status != LOCUS_ETIMEDOUT;
    }
    return NULL;
}

typedef void fault_fn(struct redis_server *own);

static void kill_clients(struct redis_server *own)
{
    redis_server_cli(own, "client kill type normal");
}

static void flush_scripts(struct redis_server *own)
{
    redis_server_cli(own, "script flush");
}

static void stop_for_a_while(struct redis_server *own)
{
    kill(own->pid, SIGSTOP);
    pause_ms(300);
    kill(own->pid, SIGCONT);
}

static void slow_script(struct redis_server *own)
{
    redis_server_cli(own,
                     "eval \"local t = redis.call('TIME') local u repeat u = "
                     "redis.call('TIME') until (u[1] - t[1]) * 1000000 + u[2] - t[2] "
                     "> 300000 return 1\" 0");
}

static void kill_and_restart(struct redis_server *own)
{
    redis_server_kill(own);
    pause_ms(50);
    ck_assert(redis_server_restart(own, durable));
}

static fault_fn *const faults[] = {kill_clients, flush_scripts, stop_for_a_while,
                                   slow_script, kill_and_restart};

static uint64_t sum_of(struct locus_pool *pool)
{
    struct locus_pool_list *list;
    uint64_t sum = 0;

    ck_assert_int_eq(locus_pool_list(pool, &list), LOCUS_OK);
    for (size_t i = 0; i < list->count; i++) {
        sum += list->members[i].count;
    }
    ck_assert_uint_eq(list->count, MEMBERS);
    ck_assert_uint_le(list->members[MEMBERS - 1].count - list->members[0].count, 1);
    locus_pool_list_free(list);
    return sum;
}

/* Picks go on while rounds faults happen; then the books must balance. */
static void run_with_faults(const char *uri, struct redis_server *own, fault_fn *fault,
                            int rounds)
{
    const struct locus_pool_config config = {.command_timeout_ns = 100 * MS,
                                             .connect_timeout_ns = 500 * MS,
                                             .total_timeout_ns = 3000 * MS,
                                             .connections = 4};
    const struct locus_pool_config patient = {.command_timeout_ns = 10000 * MS,
                                              .total_timeout_ns = 20000 * MS};
    struct runner runners[RUNNERS] = {0};
    pthread_t threads[RUNNERS];
    atomic_bool stop = false;
    uint64_t picked = 0, ambiguous = 0;
    struct locus_pool *pool = open_with(uri, "faults", &config);
    struct locus_pool *judge = open_with(uri, "faults", &patient);

    for (int m = 0; m < MEMBERS; m++) {
        char name[8];
        snprintf(name, sizeof(name), "m%d", m);
        add(judge, name);
    }
    for (int i = 0; i < RUNNERS; i++) {
        runners[i].pool = pool;
        runners[i].stop = &stop;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, run_picks, &runners[i]), 0);
    }
    for (int i = 0; i < rounds; i++) {
        pause_ms(100);
        fault(own);
    }
    pause_ms(100);
    atomic_store(&stop, true);
    for (int i = 0; i < RUNNERS; i++) {
        pthread_join(threads[i], NULL);
        picked += runners[i].picked;
        ambiguous += runners[i].ambiguous;
        ck_assert_uint_eq(runners[i].other, 0);
    }
    uint64_t counted = sum_of(judge);
    /* After a failover the judge may be reading at a replica, which is a moment behind. */
    for (int tries = 0; counted < picked && tries < 500; tries++) {
        pause_ms(20);
        counted = sum_of(judge);
    }
    ck_assert_uint_gt(picked, 0);
    ck_assert_msg(counted >= picked && counted <= picked + ambiguous,
                  "counted %llu, picked %llu, ambiguous %llu",
                  (unsigned long long)counted, (unsigned long long)picked,
                  (unsigned long long)ambiguous);
    locus_pool_close(pool);
    locus_pool_close(judge);
}

START_TEST(nothing_is_lost_and_the_miscount_is_bounded_in_mid_run)
{
    struct redis_server own;

    ck_assert(redis_server_start(&own, 0, durable));
    run_with_faults(own.uri, &own, faults[_i], 4);
    redis_server_stop(&own);
}
END_TEST

static struct redis_server pair[2];

static void fail_over(struct redis_server *unused)
{
    int primary = strstr(redis_server_cli(&pair[0], "role"), "master") != NULL ? 0 : 1;

    (void)unused;
    redis_server_cli(&pair[primary], "failover timeout 5000");
    for (int i = 0; i < 200 && strstr(redis_server_cli(&pair[1 - primary], "role"),
                                      "master") == NULL;
         i++) {
        pause_ms(20);
    }
}

START_TEST(a_failover_between_two_hosts_is_followed)
{
    char uri[128], words[128];

    for (int i = 0; i < 2; i++) {
        ck_assert(redis_server_start_on_a_port(&pair[i], NULL));
    }
    snprintf(words, sizeof(words), "replicaof 127.0.0.1 %d", pair[0].port);
    redis_server_cli(&pair[1], words);
    for (int i = 0; i < 500 && strstr(redis_server_cli(&pair[1], "info replication"),
                                      "master_link_status:up") == NULL;
         i++) {
        pause_ms(20);
    }
    snprintf(uri, sizeof(uri), "redis://127.0.0.1:%d,127.0.0.1:%d", pair[0].port,
             pair[1].port);
    run_with_faults(uri, &pair[0], fail_over, 2);
    redis_server_stop(&pair[0]);
    redis_server_stop(&pair[1]);
}
END_TEST

/* The kernel goes on taking connections for a process that was stopped. */
START_TEST(a_host_that_hangs_is_left_for_the_next)
{
    const struct locus_pool_config config = {.total_timeout_ns = 60000 * MS,
                                             .command_timeout_ns = 300 * MS};
    char uri[128];

    for (int i = 0; i < 2; i++) {
        ck_assert(redis_server_start_on_a_port(&pair[i], NULL));
    }
    snprintf(uri, sizeof(uri), "redis://127.0.0.1:%d,127.0.0.1:%d", pair[0].port,
             pair[1].port);
    struct locus_pool *pool = open_with(uri, "hung", &config);
    add(pool, "a");
    kill(pair[0].pid, SIGSTOP);
    add(pool, "a");
    locus_pool_close(pool);
    redis_server_stop(&pair[0]);
    redis_server_stop(&pair[1]);
}
END_TEST

static void start_server(void)
{
    redis_server_must_start(&server);
}

static void stop_server(void)
{
    redis_server_stop(&server);
}

int main(void)
{
    Suite *s = suite_create("faults");
    TCase *away = suite_case(s, "away");
    TCase *fake = suite_case(s, "fake");
    TCase *real = suite_case(s, "real");

    if (!redis_server_installed()) {
        printf("1..0 # SKIP no redis-server\n");
        return EXIT_SUCCESS;
    }
    tcase_add_test(away, opening_needs_no_server_and_a_pick_without_one_did_nothing);
    tcase_add_test(away, a_malformed_uri_is_refused_without_showing_its_password);
    tcase_add_test(away, failing_open_picks_from_the_members_last_seen);
    tcase_add_loop_test(fake, every_malformed_reply_is_an_error, 0,
                        (REPLIES + AT_ONCE - 1) / AT_ONCE);
    tcase_add_test(fake, a_server_that_closes_after_each_answer_is_an_error);
    tcase_add_test(fake,
                   a_server_that_drips_a_byte_now_and_then_does_not_hold_a_caller);
    tcase_add_loop_test(fake, a_pick_that_was_sent_and_not_answered_is_ambiguous, 0, 2);
    tcase_add_test(fake, a_peer_that_closes_does_not_kill_the_caller);
    tcase_add_unchecked_fixture(real, start_server, stop_server);
    tcase_add_test(real, a_key_of_another_type_is_an_error);
    tcase_add_test(real, a_pick_needs_the_sorted_set_and_no_other_key);
    tcase_add_test(real, a_list_that_fails_does_not_go_with_every_pick);
    tcase_add_test(real, a_wrong_password_is_refused_at_once_and_not_shown);
    tcase_add_loop_test(fake, a_password_that_the_server_repeats_is_not_shown, 0, 4);
    tcase_add_test(real, databases_are_apart);
    tcase_add_test(real, a_pool_with_a_lifetime_ends_without_its_maker);
    tcase_add_test(real, a_pool_without_a_lifetime_stays);
    tcase_add_test(real, a_lifetime_has_bounds);
    tcase_add_test(real, a_script_that_the_server_forgot_is_sent_whole);
    tcase_add_test(real, a_crashed_holder_leaks_nothing);
    tcase_add_test(real, an_idle_pool_keeps_no_key_of_a_lease);
    tcase_add_test(real, counts_of_leases_that_redis_expired_are_void);
    tcase_add_test(real, the_clock_of_the_client_does_not_matter);
    tcase_add_loop_test(real, nothing_is_lost_and_the_miscount_is_bounded_in_mid_run, 0,
                        (int)(sizeof(faults) / sizeof(faults[0])));
    tcase_add_test(real, a_failover_between_two_hosts_is_followed);
    tcase_add_test(real, a_host_that_hangs_is_left_for_the_next);
    return suite_run(s);
}
