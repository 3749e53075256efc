/* SPDX-License-Identifier: MIT */
/*
 * Replies of any shape, and the slots of keys; no server is needed.
 */
#include "redis.h"

#include <string.h>

#include "../support/suite.h"

START_TEST(slots_are_those_of_the_cluster_specification)
{
    /* CRC-16/XMODEM of "123456789" is 0x31c3. */
    ck_assert_uint_eq(locus_redis_slot("123456789", 9), 0x31c3 % 16384);
    ck_assert_uint_eq(locus_redis_slot("", 0), 0);
    ck_assert_uint_eq(locus_redis_slot("{user1000}.following", 20),
                      locus_redis_slot("user1000", 8));
    ck_assert_uint_eq(locus_redis_slot("foo{bar}{zap}", 13),
                      locus_redis_slot("bar", 3));
    ck_assert_uint_eq(locus_redis_slot("foo{{bar}}zap", 13),
                      locus_redis_slot("{bar", 4));
    ck_assert_uint_ne(locus_redis_slot("foo{}{bar}", 10), locus_redis_slot("bar", 3));
    ck_assert_uint_ne(locus_redis_slot("foo{bar", 7), locus_redis_slot("bar", 3));
}
END_TEST

static struct locus_redis_reply *parse(const char *text)
{
    struct locus_redis_reply *reply;

    ck_assert_int_eq(locus_redis_parse(text, strlen(text), &reply), LOCUS_OK);
    ck_assert_ptr_nonnull(reply);
    return reply;
}

START_TEST(accessors_answer_for_any_reply)
{
    struct locus_redis_reply *reply =
        parse("*5\r\n$3\r\nabc\r\n:-7\r\n$-1\r\n-ERR x\r\n*0\r\n");
    int64_t number = 99;
    size_t length = 99;

    ck_assert_int_eq(locus_reply_kind(reply), LOCUS_REPLY_ARRAY);
    ck_assert_uint_eq(locus_reply_count(reply), 5);
    ck_assert_str_eq(locus_reply_text(locus_reply_at(reply, 0), &length), "abc");
    ck_assert_uint_eq(length, 3);
    ck_assert(!locus_reply_integer(locus_reply_at(reply, 0), &number));
    ck_assert(locus_reply_integer(locus_reply_at(reply, 1), &number));
    ck_assert_int_eq(number, -7);
    ck_assert_int_eq(locus_reply_kind(locus_reply_at(reply, 2)), LOCUS_REPLY_NIL);
    ck_assert_int_eq(locus_reply_kind(locus_reply_at(reply, 3)), LOCUS_REPLY_ERROR);
    ck_assert_ptr_null(locus_reply_text(locus_reply_at(reply, 3), NULL));
    ck_assert_uint_eq(locus_reply_count(locus_reply_at(reply, 4)), 0);
    ck_assert_ptr_null(locus_reply_at(reply, 5));
    ck_assert_ptr_null(locus_reply_at(NULL, 0));
    ck_assert_int_eq(locus_reply_kind(NULL), LOCUS_REPLY_NONE);
    ck_assert(!locus_reply_integer(NULL, &number));
    ck_assert_uint_eq(locus_reply_count(locus_reply_at(reply, 0)), 0);
    locus_reply_free(reply);
    locus_reply_free(NULL);
}
END_TEST

static const struct {
    const char *reply;
    bool ok;
    int64_t value;
} integers[] = {
    {"$1\r\n0\r\n", true, 0},
    {"$2\r\n-0\r\n", true, 0},
    {"$19\r\n9223372036854775807\r\n", true, INT64_MAX},
    {"$20\r\n-9223372036854775808\r\n", true, INT64_MIN},
    {"$19\r\n9223372036854775808\r\n", false, 0},
    {"$20\r\n-9223372036854775809\r\n", false, 0},
    {"$20\r\n18446744073709551616\r\n", false, 0},
    {"$0\r\n\r\n", false, 0},
    {"$1\r\n-\r\n", false, 0},
    {"$2\r\n+1\r\n", false, 0},
    {"$2\r\n 1\r\n", false, 0},
    {"$2\r\n1 \r\n", false, 0},
    {"$3\r\n1.0\r\n", false, 0},
    {"$3\r\n1e3\r\n", false, 0},
    {"$3\r\ninf\r\n", false, 0},
};

START_TEST(texts_are_integers_only_in_plain_decimal)
{
    struct locus_redis_reply *reply = parse(integers[_i].reply);
    int64_t value = 0;

    ck_assert(locus_reply_integer(reply, &value) == integers[_i].ok);
    ck_assert_int_eq(value, integers[_i].value);
    locus_reply_free(reply);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("redis replies");
    TCase *t = suite_case(s, "replies");

    tcase_add_test(t, slots_are_those_of_the_cluster_specification);
    tcase_add_test(t, accessors_answer_for_any_reply);
    tcase_add_loop_test(t, texts_are_integers_only_in_plain_decimal, 0,
                        (int)(sizeof(integers) / sizeof(integers[0])));
    return suite_run(s);
}
