/* SPDX-License-Identifier: MIT */
/* Numbers, sizes, times and CSV fields as people read and write them. */
#include "../suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/texts.h"
#include "base/values.h"

typedef bool read_fn(const char *text, size_t length, uint64_t *out);

static const struct {
    read_fn *read;
    const char *text;
    uint64_t value;
} right[] = {
    {read_number, "0", 0},
    {read_number, "18446744073709551615", UINT64_MAX},
    {read_bytes, "512", 512},
    {read_bytes, "1.5K", 1536},
    {read_bytes, "2GiB", (uint64_t)2 << 30},
    {read_duration_ns, "3", 3000000000u},
    {read_duration_ns, "0.25ms", 250000},
    {read_duration_ns, "2H", 7200000000000u},
};

START_TEST(a_value_is_read_with_its_unit)
{
    uint64_t value = 1;

    ck_assert(right[_i].read(right[_i].text, strlen(right[_i].text), &value));
    ck_assert_uint_eq(value, right[_i].value);
}
END_TEST

static const struct {
    read_fn *read;
    const char *text;
} wrong[] = {
    {read_number, ""},
    {read_number, "-1"},
    {read_number, " 1"},
    {read_number, "1x"},
    {read_number, "18446744073709551616"},
    {read_bytes, "1.K"},
    {read_bytes, "1.5.5K"},
    {read_bytes, "16777216TiB"},
    {read_duration_ns, "h"},
    {read_duration_ns, "5 s"},
    {read_duration_ns, "5weeks"},
};

START_TEST(anything_else_is_refused)
{
    uint64_t value;

    ck_assert(!wrong[_i].read(wrong[_i].text, strlen(wrong[_i].text), &value));
}
END_TEST

START_TEST(only_the_given_length_is_read)
{
    uint64_t value;

    ck_assert(read_number("123x", 2, &value));
    ck_assert_uint_eq(value, 12);
    ck_assert(read_duration_ns("10ms", 2, &value));
    ck_assert_uint_eq(value, 10000000000u);
}
END_TEST

START_TEST(a_decimal_is_scaled_and_further_digits_are_cut)
{
    uint64_t value;

    ck_assert(read_decimal("1.25", 4, 3, &value));
    ck_assert_uint_eq(value, 1250);
    ck_assert(read_decimal("1.2599", 6, 2, &value));
    ck_assert_uint_eq(value, 125);
    ck_assert(!read_decimal("1.25e3", 6, 2, &value));
}
END_TEST

START_TEST(a_duration_is_written_in_its_largest_whole_unit)
{
    char text[DURATION_TEXT];

    ck_assert_str_eq(duration_text(5400000000000u, text), "90m");
    ck_assert_str_eq(duration_text(1500000000u, text), "1500ms");
    ck_assert_str_eq(duration_text(1, text), "1ns");
}
END_TEST

START_TEST(numbers_are_written_for_people)
{
    char text[TEXT_SIZE];

    ck_assert_str_eq(text_count(999, text), "999");
    ck_assert_str_eq(text_count(1234567, text), "1,234,567");
    ck_assert_str_eq(text_time(4, text), "0.004s");
    ck_assert_str_eq(text_time(1500, text), "1.5s");
    ck_assert_str_eq(text_time(3553000, text), "59m13s");
    ck_assert_str_eq(text_time(90061000, text), "1d01h");
    ck_assert_str_eq(text_bytes(1023, text), "1023B");
    ck_assert_str_eq(text_bytes(1536, text), "1.5KiB");
}
END_TEST

static const struct {
    const char *text, *field;
} fields[] = {
    {"", ""},
    {"plain text", "plain text"},
    {"a,b", "\"a,b\""},
    {"say \"yes\"", "\"say \"\"yes\"\"\""},
    {"two\nlines", "\"two\nlines\""},
};

START_TEST(a_field_is_quoted_where_it_has_to_be)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    ck_assert_ptr_nonnull(out);
    csv_text(out, fields[_i].text);
    ck_assert_int_eq(fclose(out), 0);
    ck_assert_str_eq(text, fields[_i].field);
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("texts");
    TCase *tcase = suite_case(suite, "texts");

    tcase_add_loop_test(tcase, a_value_is_read_with_its_unit, 0,
                        sizeof(right) / sizeof(*right));
    tcase_add_loop_test(tcase, anything_else_is_refused, 0,
                        sizeof(wrong) / sizeof(*wrong));
    tcase_add_test(tcase, only_the_given_length_is_read);
    tcase_add_test(tcase, a_decimal_is_scaled_and_further_digits_are_cut);
    tcase_add_test(tcase, a_duration_is_written_in_its_largest_whole_unit);
    tcase_add_test(tcase, numbers_are_written_for_people);
    tcase_add_loop_test(tcase, a_field_is_quoted_where_it_has_to_be, 0,
                        sizeof(fields) / sizeof(*fields));
    return suite_run(suite);
}
