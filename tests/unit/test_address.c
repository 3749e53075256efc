/* SPDX-License-Identifier: MIT */
/* Text forms of addresses, strict reading, the keys of names. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include <locus/locus.h>

#include "../support/random.h"
#include "../support/suite.h"

static const struct {
    const char *text;
    enum locus_family family;
    uint16_t port;
    const char *written; /* NULL: the same */
} good[] = {
    {"0.0.0.0", LOCUS_IPV4, 0, NULL},
    {"192.0.2.1", LOCUS_IPV4, 0, NULL},
    {"255.255.255.255:65535", LOCUS_IPV4, 65535, NULL},
    {"192.0.2.1:80", LOCUS_IPV4, 80, NULL},
    {"::", LOCUS_IPV6, 0, NULL},
    {"::1", LOCUS_IPV6, 0, NULL},
    {"1::", LOCUS_IPV6, 0, NULL},
    {"2001:db8::1", LOCUS_IPV6, 0, NULL},
    {"2001:DB8:0:0:0:0:0:1", LOCUS_IPV6, 0, "2001:db8::1"},
    {"2001:db8:0:1:1:1:1:1", LOCUS_IPV6, 0, NULL},
    {"2001:0:0:1:0:0:0:1", LOCUS_IPV6, 0, "2001:0:0:1::1"},
    {"2001:db8:0:0:1:0:0:1", LOCUS_IPV6, 0, "2001:db8::1:0:0:1"},
    {"0001:0002:0003:0004:0005:0006:0007:0008", LOCUS_IPV6, 0, "1:2:3:4:5:6:7:8"},
    {"1:2:3:4:5:6:7::", LOCUS_IPV6, 0, "1:2:3:4:5:6:7:0"},
    {"::2:3:4:5:6:7:8", LOCUS_IPV6, 0, "0:2:3:4:5:6:7:8"},
    {"64:ff9b::192.0.2.33", LOCUS_IPV6, 0, "64:ff9b::c000:221"},
    {"1:2:3:4:5:6:192.0.2.33", LOCUS_IPV6, 0, "1:2:3:4:5:6:c000:221"},
    {"[::1]:80", LOCUS_IPV6, 80, NULL},
    {"[2001:db8::1]:443", LOCUS_IPV6, 443, NULL},
    {"[2001:db8::1]", LOCUS_IPV6, 0, "2001:db8::1"},
};

static const char *const hostile[] = {
    "",
    " ",
    ".",
    ":",
    "1",
    "1.2.3",
    "1.2.3.",
    "1.2.3.4.",
    "1.2.3.4.5",
    "256.1.1.1",
    "1.1.1.256",
    "01.2.3.4",
    "1.2.3.04",
    "00.0.0.0",
    "1.2.3.-4",
    "+1.2.3.4",
    " 1.2.3.4",
    "1.2.3.4 ",
    "1.2.3.4\n",
    "1.2.3.4:",
    "1.2.3.4:65536",
    "1.2.3.4:99999999999999999999",
    "1.2.3.4:-1",
    "1.2.3.4:+1",
    "1.2.3.4: 80",
    "1.2.3.4:80 ",
    "1.2.3.4:80:80",
    "1.2.3.4:8a",
    "0x7f.0.0.1",
    "127.1",
    "4294967295",
    "1,2,3,4",
    "localhost",
    "[1.2.3.4]:80",
    ":::",
    "::::",
    "1:",
    ":1",
    "1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7:8:9",
    "1:2:3:4:5:6:7:8::",
    "::1:2:3:4:5:6:7:8",
    "1::2::3",
    "12345::",
    "::12345",
    "g::",
    "::1%lo",
    "fe80::1%eth0",
    "::1.2.3",
    "::1.2.3.256",
    "::1.2.3.4:5",
    "1:2:3:4:5:6:7:1.2.3.4",
    "[::1",
    "::1]",
    "[::1]:",
    "[::1]80",
    "[::1]:65536",
    "[]",
    "[]:80",
    "[[::1]]:80",
    "[::1]:80]",
    "999999999999999999999999.1.1.1",
    "1.2.3.4/24",
    "::1/128",
    "\xff\xff",
    "1.2.3.\xb4",
};

START_TEST(an_address_reads_and_writes_in_its_canonical_form)
{
    struct locus_address address;
    char text[LOCUS_ADDRESS_TEXT];
    const char *in = good[_i].text;
    const char *out = good[_i].written ? good[_i].written : in;
    MUST(locus_address_parse(in, strlen(in), &address) == LOCUS_OK);
    MUST(address.family == good[_i].family);
    MUST(address.port == good[_i].port);
    size_t length = locus_address_format(&address, text, sizeof(text));
    ck_assert_str_eq(text, out);
    MUST(length == strlen(out));
    MUST(locus_address_parse(text, length, &address) == LOCUS_OK);
}
END_TEST

START_TEST(anything_else_is_refused_and_leaves_the_output_alone)
{
    struct locus_address address;
    struct locus_address before;
    memset(&address, 0x77, sizeof(address));
    memcpy(&before, &address, sizeof(before));
    const char *in = hostile[_i];
    ck_assert_msg(locus_address_parse(in, strlen(in), &address) == LOCUS_EINVAL,
                  "\"%s\" was taken", in);
    MUST(memcmp(&before, &address, sizeof(before)) == 0);
}
END_TEST

START_TEST(text_is_read_up_to_its_length_and_no_further)
{
    struct locus_address address;
    MUST(locus_address_parse("1.2.3.45", 7, &address) == LOCUS_OK);
    MUST(address.key.ipv4 == 0x01020304);
    MUST(locus_address_parse("1.2.3.4", 6, &address) == LOCUS_EINVAL);
    MUST(locus_address_parse("1.2.3.4\0", 8, &address) == LOCUS_EINVAL);
    MUST(locus_address_parse("::1\0::", 6, &address) == LOCUS_EINVAL);
}
END_TEST

/* What the C library takes, with our forms of a port around it. */
static bool oracle(const char *text)
{
    uint8_t bytes[16];
    char copy[64];
    snprintf(copy, sizeof(copy), "%s", text);
    if (inet_pton(AF_INET6, copy, bytes) == 1) {
        return true;
    }
    char *port = strrchr(copy, ':');
    if (port) {
        char *end = NULL;
        long value = strtol(port + 1, &end, 10);
        bool digits =
            port[1] >= '0' && port[1] <= '9' && *end == '\0' && value <= 65535;
        if (!digits || (port[1] == '0' && port[2] != '\0')) {
            port = NULL;
        } else {
            *port = '\0';
        }
    }
    size_t length = strlen(copy);
    if (copy[0] == '[' && length > 1 && copy[length - 1] == ']') {
        copy[length - 1] = '\0';
        return inet_pton(AF_INET6, copy + 1, bytes) == 1;
    }
    return inet_pton(AF_INET, copy, bytes) == 1;
}

START_TEST(random_text_is_judged_as_the_c_library_does)
{
    static const char letters[] = "0123456789abcf::::....[]1002 %";
    uint64_t random = 17;
    int taken = 0;
    for (int i = 0; i < 400000; i++) {
        char text[48] = "";
        struct locus_address address;
        if (i % 2 == 0) {
            snprintf(text, sizeof(text), "%s",
                     good[random_below(&random, sizeof(good) / sizeof(good[0]))].text);
        } else {
            size_t length = random_below(&random, 12);
            for (size_t j = 0; j < length; j++) {
                text[j] = letters[random_below(&random, sizeof(letters) - 1)];
            }
        }
        for (uint32_t edits = random_below(&random, 3); edits > 0 && text[0]; edits--) {
            text[random_below(&random, (uint32_t)strlen(text))] =
                letters[random_below(&random, sizeof(letters) - 1)];
        }
        bool got = locus_address_parse(text, strlen(text), &address) == LOCUS_OK;
        if (got != oracle(text)) {
            ck_abort_msg("\"%s\": %d", text, got);
        }
        taken += got;
    }
    MUST(taken > 1000);
}
END_TEST

START_TEST(any_ipv6_address_survives_writing_and_reading)
{
    uint64_t random = 5;
    for (int i = 0; i < 100000; i++) {
        struct locus_address address = {.family = LOCUS_IPV6};
        struct locus_address back;
        uint8_t bytes[16];
        char text[LOCUS_ADDRESS_TEXT];
        for (int j = 0; j < 16; j++) {
            address.key.bytes[j] =
                random_percent(&random, 60) ? 0 : (uint8_t)random_next(&random);
        }
        address.port =
            (uint16_t)(random_percent(&random, 50) ? random_next(&random) : 0);
        size_t length = locus_address_format(&address, text, sizeof(text));
        MUST(length < sizeof(text));
        MUST(locus_address_parse(text, length, &back) == LOCUS_OK);
        MUST(memcmp(address.key.bytes, back.key.bytes, 16) == 0);
        MUST(address.port == back.port);
        if (address.port == 0) {
            MUST(inet_pton(AF_INET6, text, bytes) == 1);
            MUST(memcmp(address.key.bytes, bytes, 16) == 0);
        }
    }
}
END_TEST

START_TEST(a_short_buffer_gets_the_beginning_and_a_nul)
{
    struct locus_address address;
    char text[LOCUS_ADDRESS_TEXT];
    char whole[] = "[2001:db8::1]:443";
    MUST(locus_address_parse(whole, strlen(whole), &address) == LOCUS_OK);
    MUST(locus_address_format(&address, NULL, 0) == strlen(whole));
    for (size_t size = 1; size < sizeof(whole) + 2; size++) {
        memset(text, '~', sizeof(text));
        MUST(locus_address_format(&address, text, size) == strlen(whole));
        size_t kept = size <= strlen(whole) ? size - 1 : strlen(whole);
        MUST(memcmp(text, whole, kept) == 0);
        MUST(text[kept] == '\0');
        MUST(text[size] == '~');
    }
}
END_TEST

START_TEST(a_name_is_its_key_in_hexadecimal)
{
    struct locus_address address = {.family = LOCUS_NAME};
    char text[LOCUS_ADDRESS_TEXT];
    char want[64];
    address.key = locus_key_from_name("example.org", 11);
    snprintf(want, sizeof(want), "%016llx%016llx",
             (unsigned long long)address.key.words[0],
             (unsigned long long)address.key.words[1]);
    MUST(locus_address_format(&address, text, sizeof(text)) == 32);
    ck_assert_str_eq(text, want);
}
END_TEST

START_TEST(names_are_any_bytes_and_differ_when_one_bit_does)
{
    uint8_t name[40];
    uint64_t random = 3;
    for (size_t i = 0; i < sizeof(name); i++) {
        name[i] = (uint8_t)random_next(&random);
    }
    union locus_key before = locus_key_from_name("", 0);
    for (size_t length = 1; length <= sizeof(name); length++) {
        union locus_key key = locus_key_from_name(name, length);
        union locus_key again = locus_key_from_name(name, length);
        MUST(memcmp(&key, &again, sizeof(key)) == 0);
        MUST(memcmp(&key, &before, sizeof(key)) != 0);
        for (size_t bit = 0; bit < length * 8; bit++) {
            name[bit / 8] ^= (uint8_t)(1 << bit % 8);
            union locus_key flipped = locus_key_from_name(name, length);
            name[bit / 8] ^= (uint8_t)(1 << bit % 8);
            MUST(key.words[0] != flipped.words[0]);
            MUST(key.words[1] != flipped.words[1]);
        }
        before = key;
    }
}
END_TEST

START_TEST(every_status_has_a_text_and_unknown_ones_too)
{
    for (int status = -20; status <= 5; status++) {
        const char *text = locus_strerror(status);
        ck_assert_ptr_nonnull(text);
        MUST(strlen(text) > 1);
        for (int other = LOCUS_ENOTSUP; other < status && status <= 0; other++) {
            ck_assert_str_ne(text, locus_strerror(other));
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("address");
    TCase *tcase = suite_case(suite, "address");
    tcase_add_loop_test(tcase, an_address_reads_and_writes_in_its_canonical_form, 0,
                        sizeof(good) / sizeof(good[0]));
    tcase_add_loop_test(tcase, anything_else_is_refused_and_leaves_the_output_alone, 0,
                        sizeof(hostile) / sizeof(hostile[0]));
    tcase_add_test(tcase, text_is_read_up_to_its_length_and_no_further);
    tcase_add_test(tcase, random_text_is_judged_as_the_c_library_does);
    tcase_add_test(tcase, any_ipv6_address_survives_writing_and_reading);
    tcase_add_test(tcase, a_short_buffer_gets_the_beginning_and_a_nul);
    tcase_add_test(tcase, a_name_is_its_key_in_hexadecimal);
    tcase_add_test(tcase, names_are_any_bytes_and_differ_when_one_bit_does);
    tcase_add_test(tcase, every_status_has_a_text_and_unknown_ones_too);
    return suite_run(suite);
}
