/* SPDX-License-Identifier: MIT */
/*
 * The pool when what answers is not Redis: every call ends in an error, and nothing crashes.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "fake_server.h"
#include "pool_handles.h"

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

int main(void)
{
    Suite *s = suite_create("pool_replies");
    TCase *fake = suite_case(s, "fake");

    tcase_add_loop_test(fake, every_malformed_reply_is_an_error, 0,
                        (REPLIES + AT_ONCE - 1) / AT_ONCE);
    tcase_add_test(fake, a_server_that_closes_after_each_answer_is_an_error);
    tcase_add_test(fake,
                   a_server_that_drips_a_byte_now_and_then_does_not_hold_a_caller);
    tcase_add_loop_test(fake, a_pick_that_was_sent_and_not_answered_is_ambiguous, 0, 2);
    tcase_add_test(fake, a_peer_that_closes_does_not_kill_the_caller);
    return redis_suite_run(s);
}
