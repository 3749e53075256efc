/* SPDX-License-Identifier: MIT */
#include "../suite.h"

#include <stdio.h>
#include <string.h>

#include "formats/addresses.h"
#include "formats/fields.h"
#include "records/keyset.h"

struct time_case {
    const char *text;
    uint64_t unit_ns;
    bool ok;
    uint64_t ns;
};

static const struct time_case times[] = {
    {"0", 1000000000, true, 0},
    {"1493737013.541", 1000000000, true, 1493737013541000000},
    {"1.0000000019", 1000000000, true, 1000000001},
    {"12", 1000000, true, 12000000},
    {"1.5", 1000, true, 1500},
    {"7.9", 1, true, 7},
    {"9223372036", 1000000000, true, 9223372036000000000},
    {"9223372036.854775807", 1000000000, true, INT64_MAX},
    {"9223372036.854775808", 1000000000, false, 0},
    {"9223372037", 1000000000, false, 0},
    {"9999999999999999999", 1, false, 0},
    {"99999999999999999999", 1, false, 0},
    {"", 1, false, 0},
    {".5", 1, false, 0},
    {"5.", 1, false, 0},
    {"-1", 1, false, 0},
    {"+1", 1, false, 0},
    {" 1", 1, false, 0},
    {"1 ", 1, false, 0},
    {"1e5", 1, false, 0},
    {"1.5.2", 1, false, 0},
    {"1.00000000000x", 1, false, 0},
    {"0x10", 1, false, 0},
};

START_TEST(decimal_times_are_exact_or_refused)
{
    const struct time_case *c = &times[_i];
    uint64_t ns = 77;

    ck_assert_msg(slice_time(slice_of(c->text), c->unit_ns, &ns) == c->ok, "%s",
                  c->text);
    ck_assert_uint_eq(ns, c->ok ? c->ns : 77);
}
END_TEST

static const struct time_case dates[] = {
    {"1970-01-01T00:00:00Z", 1, true, 0},
    {"1970-01-01 00:00:01", 1, true, 1000000000},
    {"2021-06-06T16:38:55.855844+0200", 1, true, 1622990335855844000},
    {"2021-06-06T16:38:55.855844+02:00", 1, true, 1622990335855844000},
    {"2018/12/18 14:00:00.000000", 1, true, 1545141600000000000},
    {"2000-02-29T00:00:00Z", 1, true, 951782400000000000},
    {"2016-12-31T23:59:60Z", 1, true, 1483228800000000000},
    {"1969-12-31T23:59:59Z", 1, false, 0},
    {"1900-02-29T00:00:00Z", 1, false, 0},
    {"2021-13-01T00:00:00Z", 1, false, 0},
    {"2021-04-31T00:00:00Z", 1, false, 0},
    {"2021-04-30T24:00:00Z", 1, false, 0},
    {"2021-04-30T23:60:00Z", 1, false, 0},
    {"2021-04-30T23:00:61Z", 1, false, 0},
    {"2021-04-30T23:00:00.Z", 1, false, 0},
    {"2021-04-30T23:00:00+99:00", 1, false, 0},
    {"2021-04-30T23:00:00+01", 1, false, 0},
    {"2021-04-30T23:00:00Zulu", 1, false, 0},
    {"2021-04/30T23:00:00Z", 1, false, 0},
    {"9999-01-01T00:00:00Z", 1, false, 0},
    {"2021-04-30T23:00", 1, false, 0},
    {"06/Jun/2021:16:38:55 +0200", 2, true, 1622990335000000000},
    {"06/Jun/2021:16:38:55.443", 2, true, 1622997535443000000},
    {"30/Feb/2021:16:38:55 +0200", 2, false, 0},
    {"06/Foo/2021:16:38:55 +0200", 2, false, 0},
    {"06/Jun/2021:16:38:55 0200", 2, false, 0},
    {"06/Jun/2021", 2, false, 0},
};

START_TEST(dates_are_exact_or_refused)
{
    const struct time_case *c = &dates[_i];
    uint64_t ns = 77;
    bool ok = c->unit_ns == 1 ? slice_iso_time(slice_of(c->text), &ns)
                              : slice_clf_time(slice_of(c->text), &ns);

    ck_assert_msg(ok == c->ok, "%s", c->text);
    ck_assert_msg(ns == (c->ok ? c->ns : 77), "%s: %llu", c->text,
                  (unsigned long long)ns);
}
END_TEST

START_TEST(whole_numbers_stop_at_64_bits)
{
    uint64_t value = 0;

    ck_assert(slice_u64(slice_of("18446744073709551615"), &value));
    ck_assert_uint_eq(value, UINT64_MAX);
    ck_assert(slice_u64(slice_of("00000000000000000007"), &value));
    ck_assert_uint_eq(value, 7);
    ck_assert(slice_u64(slice_of("10000000000000000000"), &value));
    ck_assert_uint_eq(value, 10000000000000000000u);
    ck_assert(!slice_u64(slice_of("18446744073709551616"), &value));
    ck_assert(!slice_u64(slice_of("19999999999999999999"), &value));
    ck_assert(!slice_u64(slice_of("20000000000000000000"), &value));
    ck_assert(!slice_u64(slice_of("99999999999999999999"), &value));
    ck_assert(!slice_u64(slice_of("184467440737095516150"), &value));
    ck_assert(!slice_u64(slice_of(""), &value));
    ck_assert(!slice_u64(slice_of("1-"), &value));
}
END_TEST

/* Both readers of addresses must agree, on right ones and on wrong ones. */
static void compare_with_library(const char *text, size_t length)
{
    uint8_t family = 0;
    union locus_key key = {.words = {0, 0}};
    struct locus_address address = {.family = 0};
    struct slice s = {text, length};

    bool mine = slice_ip(s, &family, &key);
    bool theirs = locus_address_parse(text, length, &address) == LOCUS_OK &&
                  address.port == 0 && text[0] != '[' && address.family != LOCUS_NAME;
    /* ":0" is a port that says none. */
    theirs = theirs && !(address.family == LOCUS_IPV4 && memchr(text, ':', length));
    ck_assert_msg(mine == theirs, "'%.*s': %d here, %d there", (int)length, text, mine,
                  theirs);
    if (mine) {
        ck_assert_uint_eq(family, address.family);
        size_t bytes = family == LOCUS_IPV4 ? 4 : 16;
        ck_assert_mem_eq(&key, &address.key, bytes);
    }
}

START_TEST(addresses_are_read_as_the_library_reads_them)
{
    static const char *const texts[] = {
        "0.0.0.0",
        "255.255.255.255",
        "10.0.0.1",
        "256.1.1.1",
        "1.2.3",
        "1.2.3.4.5",
        "01.2.3.4",
        "1.2.3.04",
        "1.2.3.",
        "1..2.3",
        " 1.2.3.4",
        "1.2.3.4 ",
        "::",
        "::1",
        "1::",
        "1:2:3:4:5:6:7:8",
        "1:2:3:4:5:6:7::",
        "::2:3:4:5:6:7:8",
        "1::2::3",
        "1:2:3:4:5:6:7",
        "1:2:3:4:5:6:7:8:9",
        ":1",
        "1:",
        ":::",
        "12345::",
        "g::",
        "::ffff:1.2.3.4",
        "::1.2.3.4.5",
        "1:2:3:4:5:6:1.2.3.4",
        "1:2:3:4:5:6:7:1.2.3.4",
        "fe80::1%eth0",
        "2001:DB8::A",
        "2001:db8:2ce:1",
        "1:2:3:4::5:6:7:8",
        "a",
        ":",
        "1",
        "::1.2.3",
        "1.2.3.4::",
    };
    static const char alphabet[] = "0123456789abcf::..";
    uint64_t random = 1;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        compare_with_library(texts[i], strlen(texts[i]));
    }
    for (int i = 0; i < 200000; i++) {
        char text[24];
        size_t length = 1 + next_random(&random) % sizeof(text);
        for (size_t at = 0; at < length; at++) {
            text[at] = alphabet[next_random(&random) % (sizeof(alphabet) - 1)];
        }
        compare_with_library(text, length);
    }
}
END_TEST

struct url_case {
    const char *url, *host;
    uint16_t port;
};

static const struct url_case urls[] = {
    {"http://a.example/x", "a.example", 80},
    {"https://a.example", "a.example", 443},
    {"ftp://a.example/", "a.example", 21},
    {"http://u:p@a.example:81/x?y@z", "a.example", 81},
    {"http://[2001:db8::1]:82/", "2001:db8::1", 82},
    {"http://[2001:db8::1]/", "2001:db8::1", 80},
    {"a.example:443", "a.example", 443},
    {"a.example", "a.example", 0},
    {"192.0.2.1", "192.0.2.1", 0},
    {"cache_object://localhost/5min", "localhost", 0},
    {"http://a.example?x", "a.example", 80},
    {"http:///x", NULL, 0},
    {"/x/y", NULL, 0},
    {"-", "-", 0},
    {"", NULL, 0},
    {"error:invalid-request", NULL, 0},
    {"%BF%7B3", NULL, 0},
    {"http://a b/", NULL, 0},
    {"http://a:70000/", NULL, 0},
    {"http://[::1/", NULL, 0},
    {"http://[]/", NULL, 0},
};

START_TEST(urls_give_host_and_port)
{
    const struct url_case *c = &urls[_i];
    struct slice host = {NULL, 0};
    uint16_t port = 0;

    bool ok = slice_url_host(slice_of(c->url), &host, &port);
    ck_assert_msg(ok == (c->host != NULL), "%s", c->url);
    if (ok) {
        ck_assert_msg(slice_equals(host, c->host), "%s: '%.*s'", c->url,
                      (int)host.length, host.text);
        ck_assert_uint_eq(port, c->port);
    }
}
END_TEST

START_TEST(splitting_finds_every_separator)
{
    char line[64];
    struct slice f[64];
    uint64_t random = 1;

    for (int round = 0; round < 20000; round++) {
        size_t length = next_random(&random) % sizeof(line);
        size_t expected = 1;
        for (size_t i = 0; i < length; i++) {
            /* Bytes that differ from the separator in one bit or by one. */
            line[i] = "\tx\x08\x0a\x89\x00\xff"[next_random(&random) % 7];
            expected += line[i] == '\t';
        }
        size_t count = split_each((struct slice){line, length}, '\t', f, 64);
        ck_assert_uint_eq(count, expected);
        size_t sum = count - 1;
        for (size_t i = 0; i < count; i++) {
            ck_assert(f[i].length == 0 || memchr(f[i].text, '\t', f[i].length) == NULL);
            sum += f[i].length;
        }
        ck_assert_uint_eq(sum, length);
    }
}
END_TEST

START_TEST(quoted_fields_may_hold_separators)
{
    struct slice f[4];

    ck_assert_uint_eq(split_quoted(slice_of("\"a,b\",c,\"d\"\"e\",\"open"), ',', f, 4),
                      4);
    ck_assert(slice_equals(f[0], "a,b"));
    ck_assert(slice_equals(f[1], "c"));
    ck_assert(slice_equals(f[2], "d\"\"e"));
    ck_assert(slice_equals(f[3], "open"));
    ck_assert_uint_eq(split_quoted(slice_of(""), ',', f, 4), 1);
    ck_assert_uint_eq(split_quoted(slice_of("a\"b,c"), ',', f, 4), 2);
    ck_assert(slice_equals(f[0], "a\"b"));
    ck_assert_uint_eq(split_quoted(slice_of("\"\",,\"\""), ',', f, 4), 3);
    ck_assert_uint_eq(f[0].length + f[1].length + f[2].length, 0);
}
END_TEST

/* Each odd byte at each place of a text longer than a word. */
START_TEST(plain_text_ends_at_the_first_byte_that_needs_an_escape)
{
    char text[20];

    for (size_t at = 0; at < sizeof(text); at++) {
        for (int byte = 0; byte < 256; byte++) {
            bool plain = byte >= ' ' && byte <= '~' && byte != '"' && byte != '\\';
            memset(text, 'a' + (int)at, sizeof(text));
            text[at] = (char)byte;
            ck_assert_uint_eq(plain_length((struct slice){text, sizeof(text)}),
                              plain ? sizeof(text) : at);
        }
    }
    ck_assert_uint_eq(plain_length((struct slice){text, 0}), 0);
}
END_TEST

START_TEST(what_is_shown_is_plain_and_fits)
{
    char text[16];

    slice_show((struct slice){"a\0\xff\n", 4}, text, sizeof(text));
    ck_assert_str_eq(text, "a\\x00\\xff...");
    slice_show(slice_of("0123456789abcdef"), text, sizeof(text));
    ck_assert_str_eq(text, "0123456789ab...");
}
END_TEST

START_TEST(a_key_set_numbers_keys_by_first_appearance)
{
    enum { KEYS = 50000 };
    struct keyset set;
    char name[24];

    keyset_init(&set);
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < KEYS; i++) {
            union locus_key key = {.words = {~0ull, i}};
            struct slice text = {name, (size_t)snprintf(name, sizeof(name), "n%u", i)};
            key.ipv4 = i; /* the other bytes of an IPv4 key mean nothing */
            ck_assert_uint_eq(
                keyset_add(&set, LOCUS_IPV4, &key, (struct slice){NULL, 0}),
                2 * (size_t)i);
            key = locus_key_from_name(name, text.length);
            ck_assert_uint_eq(keyset_add(&set, LOCUS_NAME, &key, text),
                              2 * (size_t)i + 1);
        }
    }
    ck_assert_uint_eq(set.count, 2 * KEYS);
    union locus_key key = locus_key_from_name("n777", 4);
    size_t index = keyset_find(&set, LOCUS_NAME, &key);
    ck_assert(slice_equals(keyset_text(&set, index), "n777"));
    ck_assert_ptr_null(keyset_text(&set, index - 1).text);
    ck_assert_uint_eq(keyset_find(&set, LOCUS_IPV6, &key), SIZE_MAX);
    keyset_free(&set);
    ck_assert_uint_eq(keyset_find(&set, LOCUS_NAME, &key), SIZE_MAX);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fields");
    TCase *tcase = suite_case(suite, "fields");

    tcase_add_loop_test(tcase, decimal_times_are_exact_or_refused, 0,
                        (int)(sizeof(times) / sizeof(times[0])));
    tcase_add_loop_test(tcase, dates_are_exact_or_refused, 0,
                        (int)(sizeof(dates) / sizeof(dates[0])));
    tcase_add_test(tcase, whole_numbers_stop_at_64_bits);
    tcase_add_test(tcase, addresses_are_read_as_the_library_reads_them);
    tcase_add_loop_test(tcase, urls_give_host_and_port, 0,
                        (int)(sizeof(urls) / sizeof(urls[0])));
    tcase_add_test(tcase, splitting_finds_every_separator);
    tcase_add_test(tcase, quoted_fields_may_hold_separators);
    tcase_add_test(tcase, plain_text_ends_at_the_first_byte_that_needs_an_escape);
    tcase_add_test(tcase, what_is_shown_is_plain_and_fits);
    tcase_add_test(tcase, a_key_set_numbers_keys_by_first_appearance);
    return suite_run(suite);
}
