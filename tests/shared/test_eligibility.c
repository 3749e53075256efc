/* SPDX-License-Identifier: MIT */
#include <locus/pool.h>

#include <stdio.h>
#include <string.h>

#include "../support/suite.h"

static struct locus_eligibility *rules_of(const struct locus_eligibility_config *config)
{
    struct locus_eligibility *rules;
    char why[200] = "";

    ck_assert_msg(locus_eligibility_create(config, &rules, why, sizeof(why)) ==
                      LOCUS_OK,
                  "%s", why);
    return rules;
}

/* "member", or "! reason". */
static const char *judge(struct locus_eligibility *rules, const char *text)
{
    static char verdict[LOCUS_POOL_MEMBER_SIZE + 80];
    char storage[600], member[LOCUS_POOL_MEMBER_SIZE];
    struct locus_candidate candidate;
    const char *reason = NULL;

    int status =
        locus_candidate_parse(text, storage, sizeof(storage), &candidate, &reason);
    if (status == LOCUS_OK) {
        status = locus_eligibility_judge(rules, &candidate, member, &reason);
    }
    if (status == LOCUS_OK) {
        ck_assert_ptr_null(reason);
        snprintf(verdict, sizeof(verdict), "%s", member);
    } else {
        ck_assert_ptr_nonnull(reason);
        snprintf(verdict, sizeof(verdict), "! %s", reason);
    }
    return verdict;
}

static const struct {
    const char *text, *verdict;
} by_default[] = {
    {"8.8.8.8:80", "8.8.8.8:80"},
    {"HTTP://8.8.8.8:80", "http://8.8.8.8:80"},
    {"socks5://8.8.8.8:1080 fast, de", "socks5://8.8.8.8:1080"},
    {"[2606:4700::1111]:443", "[2606:4700::1111]:443"},
    {"[2606:4700:0:0::1111]:443", "[2606:4700::1111]:443"},
    {"8.8.8.8", "! no port is given"},
    {"2606:4700::1111", "! no port is given"},
    {"8.8.8.8:", "! port is not a number from 1 to 65535"},
    {"8.8.8.8:0", "! port is not a number from 1 to 65535"},
    {"8.8.8.8:65536", "! port is not a number from 1 to 65535"},
    {"8.8.8.8:80x", "! port is not a number from 1 to 65535"},
    {"8.8.8.8:-1", "! port is not a number from 1 to 65535"},
    {"", "! is empty"},
    {":80", "! host is neither an address nor a name"},
    {"8.8.8:80", "! host is neither an address nor a name"},
    {"08.8.8.8:80", "! host is neither an address nor a name"},
    {"256.8.8.8:80", "! host is neither an address nor a name"},
    {"[2606:4700::1111:443", "! ']' is missing"},
    {"[2606::1]443", "! port is not a number from 1 to 65535"},
    {"[]:1", "! host is neither an address nor a name"},
    {"ht tp://8.8.8.8:1", "! no port is given"},
    {"h@tp://8.8.8.8:1", "! scheme is malformed"},
    {"://8.8.8.8:1", "8.8.8.8:1"},
    {"proxy.example:80", "! host is a name, which is not resolved"},
    {"localhost:80", "! host is loopback"},
    {"LOCALHOST.:80", "! host is loopback"},
    {"a.localhost:80", "! host is loopback"},
    {"0.0.0.0:1", "! address is of this network"},
    {"10.255.255.255:1", "! address is private"},
    {"11.0.0.0:1", "11.0.0.0:1"},
    {"100.63.255.255:1", "100.63.255.255:1"},
    {"100.64.0.1:1", "! address is of a carrier's own range"},
    {"127.0.0.1:1", "! address is loopback"},
    {"127.255.0.1:1", "! address is loopback"},
    {"169.254.169.254:80", "! address is link-local"},
    {"172.15.255.255:1", "172.15.255.255:1"},
    {"172.16.0.0:1", "! address is private"},
    {"172.31.255.255:1", "! address is private"},
    {"172.32.0.0:1", "172.32.0.0:1"},
    {"192.168.0.1:1", "! address is private"},
    {"198.51.100.7:1", "! address is for documentation"},
    {"224.0.0.1:1", "! address is multicast"},
    {"255.255.255.255:1", "! address is reserved"},
    {"[::1]:1", "! address is loopback"},
    {"[::]:1", "! address is reserved"},
    {"[::ffff:10.0.0.1]:1", "! address is private"},
    {"[::ffff:8.8.8.8]:1", "8.8.8.8:1"},
    {"[64:ff9b::a00:1]:1", "! address is private"},
    {"[64:ff9b::808:808]:1", "[64:ff9b::808:808]:1"},
    {"[2002:7f00:1::]:1", "! address is loopback"},
    {"[fe80::1]:1", "! address is link-local"},
    {"[fe80::1%eth0]:1", "! host is neither an address nor a name"},
    {"[fd00::1]:1", "! address is private"},
    {"[ff02::1]:1", "! address is multicast"},
    {"[2001:db8::1]:1", "! address is for documentation"},
    {"[64:ff9b:1::a00:1]:1", "! address is reserved"},
    {"[::ffff:0:a00:1]:1", "! address is reserved"},
    {"[1::1]:1", "! address is reserved"},
    {"[200::1]:1", "! address is reserved"},
    {"[1fff::1]:1", "! address is reserved"},
    {"[2000::1]:1", "[2000::1]:1"},
    {"[2001::1]:1", "! address is reserved"},
    {"[2001:1ff::1]:1", "! address is reserved"},
    {"[2001:200::1]:1", "[2001:200::1]:1"},
    {"[3ffe::1]:1", "[3ffe::1]:1"},
    {"[4000::1]:1", "! address is reserved"},
    {"[5f00::1]:1", "! address is reserved"},
};

START_TEST(what_is_not_public_is_refused_unless_allowed)
{
    struct locus_eligibility *rules = rules_of(NULL);

    ck_assert_str_eq(judge(rules, by_default[_i].text), by_default[_i].verdict);
    locus_eligibility_destroy(rules);
}
END_TEST

START_TEST(a_candidate_enters_once)
{
    struct locus_eligibility *rules = rules_of(NULL);

    ck_assert_str_eq(judge(rules, "8.8.8.8:80"), "8.8.8.8:80");
    ck_assert_str_eq(judge(rules, "8.8.8.8:80 again"), "! is there already");
    ck_assert_str_eq(judge(rules, "8.8.8.8:81"), "8.8.8.8:81");
    ck_assert_str_eq(judge(rules, "http://8.8.8.8:80"), "http://8.8.8.8:80");
    ck_assert_str_eq(judge(rules, "HTTP://8.8.8.8:80"), "! is there already");
    locus_eligibility_destroy(rules);
}
END_TEST

START_TEST(allow_and_deny_decide_in_that_order_of_strength)
{
    const struct locus_eligibility_config config = {
        .allow = "10.1.0.0/16,fd00::/8,127.0.0.1,2002::/16",
        .deny = "10.1.2.0/24,8.8.0.0/16",
    };
    struct locus_eligibility *rules = rules_of(&config);

    ck_assert_str_eq(judge(rules, "10.1.0.1:1"), "10.1.0.1:1");
    ck_assert_str_eq(judge(rules, "10.1.2.1:1"), "! address is in a denied range");
    ck_assert_str_eq(judge(rules, "10.2.0.1:1"), "! address is private");
    ck_assert_str_eq(judge(rules, "127.0.0.1:1"), "127.0.0.1:1");
    ck_assert_str_eq(judge(rules, "127.0.0.2:1"), "! address is loopback");
    ck_assert_str_eq(judge(rules, "[fd12::1]:1"), "[fd12::1]:1");
    ck_assert_str_eq(judge(rules, "8.8.8.8:1"), "! address is in a denied range");
    ck_assert_str_eq(judge(rules, "[::ffff:8.8.8.8]:1"),
                     "! address is in a denied range");
    ck_assert_str_eq(judge(rules, "[64:ff9b::808:808]:1"),
                     "! address is in a denied range");
    ck_assert_str_eq(judge(rules, "[2002:808:808::1]:1"),
                     "! address is in a denied range");
    ck_assert_str_eq(judge(rules, "[2002:a00:1::1]:1"), "[2002:a00:1::1]:1");
    ck_assert_str_eq(judge(rules, "9.9.9.9:1"), "9.9.9.9:1");
    locus_eligibility_destroy(rules);
}
END_TEST

START_TEST(only_what_is_allowed_enters_where_asked_for)
{
    const struct locus_eligibility_config config = {.allow = "192.0.2.0/25",
                                                    .only_allowed = true};
    struct locus_eligibility *rules = rules_of(&config);

    ck_assert_str_eq(judge(rules, "192.0.2.127:1"), "192.0.2.127:1");
    ck_assert_str_eq(judge(rules, "192.0.2.128:1"), "! address is in no allowed range");
    ck_assert_str_eq(judge(rules, "8.8.8.8:1"), "! address is in no allowed range");
    locus_eligibility_destroy(rules);
}
END_TEST

START_TEST(schemes_and_ports_are_the_pools)
{
    const struct locus_eligibility_config config = {
        .schemes = "http,HTTPS", .ports = "80,443,8000-8999", .names = true};
    struct locus_eligibility *rules = rules_of(&config);

    ck_assert_str_eq(judge(rules, "http://8.8.8.8:80"), "http://8.8.8.8:80");
    ck_assert_str_eq(judge(rules, "https://P.Example:8999"), "https://p.example:8999");
    ck_assert_str_eq(judge(rules, "8.8.8.8:80"), "! no scheme is given");
    ck_assert_str_eq(judge(rules, "htt://8.8.8.8:80"), "! scheme is not wanted");
    ck_assert_str_eq(judge(rules, "ftp://8.8.8.8:80"), "! scheme is not wanted");
    ck_assert_str_eq(judge(rules, "http://8.8.8.8:9000"), "! port is not wanted");
    ck_assert_str_eq(judge(rules, "http://localhost:80"), "! host is loopback");
    locus_eligibility_destroy(rules);
}
END_TEST

/* As resolvers read them: the first four are 127.0.0.1. */
START_TEST(an_address_in_other_clothes_is_no_name)
{
    static const char *const dressed[] = {"0x7f000001:80",    "0x7f.1:80",
                                          "127.0.0.0x1:80",   "0177.0.0.0x01.:80",
                                          "a.example.0X1:80", "a.example.1:80"};
    const struct locus_eligibility_config config = {.names = true};
    struct locus_eligibility *rules = rules_of(&config);

    for (size_t i = 0; i < sizeof(dressed) / sizeof(dressed[0]); i++) {
        ck_assert_str_eq(judge(rules, dressed[i]),
                         "! host is neither an address nor a name");
    }
    ck_assert_str_eq(judge(rules, "1.0x1.a1:80"), "1.0x1.a1:80");
    ck_assert_str_eq(judge(rules, "0x7f.0xg:80"), "0x7f.0xg:80");
    ck_assert_str_eq(judge(rules, "127.0.0.1.example.:80"), "127.0.0.1.example.:80");
    locus_eligibility_destroy(rules);
}
END_TEST

static bool even_ports(void *arg, const struct locus_candidate *candidate,
                       const char **reason)
{
    unsigned *calls = arg;

    (*calls)++;
    if (candidate->labels != NULL && strcmp(candidate->labels, "slow") == 0) {
        *reason = "is slow";
        return false;
    }
    return candidate->port % 2 == 0;
}

START_TEST(the_callers_predicate_is_asked_last)
{
    unsigned calls = 0;
    const struct locus_eligibility_config config = {.predicate = even_ports,
                                                    .predicate_arg = &calls};
    struct locus_eligibility *rules = rules_of(&config);

    ck_assert_str_eq(judge(rules, "10.0.0.1:80"), "! address is private");
    ck_assert_uint_eq(calls, 0);
    ck_assert_str_eq(judge(rules, "8.8.8.8:81"), "! refused by the caller");
    ck_assert_str_eq(judge(rules, "8.8.8.8:80 slow"), "! is slow");
    ck_assert_str_eq(judge(rules, "8.8.8.8:80"), "8.8.8.8:80");
    ck_assert_uint_eq(calls, 3);
    locus_eligibility_destroy(rules);
}
END_TEST

static const struct locus_eligibility_config malformed[] = {
    {.allow = ""},
    {.allow = "10.0.0.0/8,"},
    {.allow = "10.0.0.1/8"},
    {.allow = "10.0.0.0/33"},
    {.deny = "2001:db8::/129"},
    {.deny = "10.0.0/8"},
    {.deny = "10.0.0.0/"},
    {.ports = ""},
    {.ports = "80,"},
    {.ports = "0"},
    {.ports = "65536"},
    {.ports = "90-80"},
    {.ports = "80-"},
    {.ports = "x"},
    {.schemes = ""},
    {.schemes = "http,"},
    {.schemes = ",http"},
    {.schemes = "http,,ftp"},
    {.schemes = "http://"},
};

START_TEST(malformed_rules_are_refused_with_a_reason)
{
    struct locus_eligibility *rules;
    char why[200] = "";

    ck_assert_int_eq(locus_eligibility_create(&malformed[_i], &rules, why, sizeof(why)),
                     LOCUS_EINVAL);
    ck_assert_ptr_null(rules);
    ck_assert_ptr_nonnull(strstr(why, "expected"));
    ck_assert_int_eq(locus_eligibility_create(&malformed[_i], &rules, NULL, 0),
                     LOCUS_EINVAL);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("eligibility");
    TCase *tc = suite_case(s, "eligibility");

    tcase_add_loop_test(tc, what_is_not_public_is_refused_unless_allowed, 0,
                        (int)(sizeof(by_default) / sizeof(by_default[0])));
    tcase_add_test(tc, a_candidate_enters_once);
    tcase_add_test(tc, allow_and_deny_decide_in_that_order_of_strength);
    tcase_add_test(tc, only_what_is_allowed_enters_where_asked_for);
    tcase_add_test(tc, schemes_and_ports_are_the_pools);
    tcase_add_test(tc, an_address_in_other_clothes_is_no_name);
    tcase_add_test(tc, the_callers_predicate_is_asked_last);
    tcase_add_loop_test(tc, malformed_rules_are_refused_with_a_reason, 0,
                        (int)(sizeof(malformed) / sizeof(malformed[0])));
    return suite_run(s);
}
