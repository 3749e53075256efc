/* SPDX-License-Identifier: MIT */
#include "../suite.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <archive.h>
#include <archive_entry.h>

#include "formats/input.h"

static char path[] = "/tmp/locus-input-XXXXXX";

static void make_file(const void *bytes, size_t size)
{
    strcpy(path + strlen(path) - 6, "XXXXXX");
    int fd = mkstemp(path);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes, size), (ssize_t)size);
    close(fd);
}

/* Compresses with libarchive's own filter of that code. */
static size_t compress(int filter, const char *text, size_t length, char *out,
                       size_t size)
{
    struct archive *a = archive_write_new();
    struct archive_entry *entry = archive_entry_new();
    size_t used = 0;

    ck_assert_int_eq(archive_write_set_format_raw(a), ARCHIVE_OK);
    ck_assert_int_eq(archive_write_add_filter(a, filter), ARCHIVE_OK);
    archive_write_set_bytes_in_last_block(a, 1);
    ck_assert_int_eq(archive_write_open_memory(a, out, size, &used), ARCHIVE_OK);
    archive_entry_set_filetype(entry, AE_IFREG);
    ck_assert_int_eq(archive_write_header(a, entry), ARCHIVE_OK);
    ck_assert_int_eq(archive_write_data(a, text, length), (la_ssize_t)length);
    archive_entry_free(entry);
    ck_assert_int_eq(archive_write_close(a), ARCHIVE_OK);
    archive_write_free(a);
    return used;
}

static void expect_line(struct input *input, const char *expected)
{
    struct slice line;

    ck_assert_int_eq(input_line(input, &line), INPUT_OK);
    ck_assert_msg(slice_equals(line, expected), "'%.*s' is not '%s'", (int)line.length,
                  line.text, expected);
}

static void expect_end(struct input *input)
{
    struct slice line;

    ck_assert_int_eq(input_line(input, &line), INPUT_END);
    ck_assert_int_eq(input_line(input, &line), INPUT_END);
    input_close(input);
    unlink(path);
}

static const int filters[] = {ARCHIVE_FILTER_NONE, ARCHIVE_FILTER_GZIP,
                              ARCHIVE_FILTER_BZIP2, ARCHIVE_FILTER_XZ,
                              ARCHIVE_FILTER_ZSTD};

START_TEST(compressed_or_not_the_lines_are_the_same)
{
    char out[4096];
    struct slice head;

    make_file(out, compress(filters[_i], "one\ntwo\r\n\nfour", 14, out, sizeof(out)));
    struct input *input = input_open(path);
    ck_assert_ptr_nonnull(input);
    ck_assert(input_head(input, &head));
    ck_assert_uint_eq(head.length, 14);
    expect_line(input, "one");
    ck_assert_uint_eq(input_line_number(input), 1);
    expect_line(input, "two");
    expect_line(input, "");
    ck_assert(input_line_ended(input));
    expect_line(input, "four");
    ck_assert(!input_line_ended(input));
    ck_assert_uint_eq(input_line_number(input), 4);
    ck_assert_uint_eq(input_done_bytes(input), input_total_bytes(input));
    expect_end(input);
}
END_TEST

START_TEST(joined_compressed_files_are_one)
{
    char out[8192];

    if (filters[_i] == ARCHIVE_FILTER_NONE) {
        return;
    }
    size_t first = compress(filters[_i], "one\n", 4, out, sizeof(out));
    size_t second = compress(filters[_i], "two\n", 4, out + first, sizeof(out) - first);
    make_file(out, first + second);
    struct input *input = input_open(path);
    expect_line(input, "one");
    expect_line(input, "two");
    expect_end(input);
}
END_TEST

START_TEST(a_compressed_file_that_is_cut_is_an_error)
{
    static char text[100000];
    static char out[200000];
    struct slice line;
    uint64_t random = 1;
    enum input_status got = INPUT_OK;

    if (filters[_i] == ARCHIVE_FILTER_NONE) {
        return;
    }
    for (size_t i = 0; i < sizeof(text); i++) {
        text[i] = i % 50 == 49 ? '\n' : (char)('a' + next_random(&random) % 26);
    }
    make_file(out, compress(filters[_i], text, sizeof(text), out, sizeof(out)) / 2);
    struct input *input = input_open(path);
    while (input != NULL && got == INPUT_OK) {
        got = input_line(input, &line);
    }
    ck_assert(input == NULL || got == INPUT_ERROR);
    input_close(input);
    unlink(path);
}
END_TEST

START_TEST(a_line_too_long_is_skipped_and_the_next_is_whole)
{
    size_t length = (size_t)3 * INPUT_LINE_MAX;
    char *text = malloc(length + 6);
    struct slice line;

    memset(text, 'x', length);
    memcpy(text + length, "\nnext\n", 6);
    make_file(text, length + 6);
    struct input *input = input_open(path);
    ck_assert_int_eq(input_line(input, &line), INPUT_LONG);
    expect_line(input, "next");
    ck_assert_uint_eq(input_line_number(input), 2);
    expect_end(input);
    make_file(text, length); /* and without an end */
    input = input_open(path);
    ck_assert_int_eq(input_line(input, &line), INPUT_LONG);
    expect_end(input);
    free(text);
}
END_TEST

START_TEST(lines_across_blocks_are_whole)
{
    enum { COUNT = 40000 };
    char *text = malloc(COUNT * 64);
    size_t length = 0;

    for (int i = 0; i < COUNT; i++) {
        length += (size_t)sprintf(text + length, "%d %.*s\n", i, i % 50,
                                  "--------------------------------------------------");
    }
    make_file(text, length);
    struct input *input = input_open(path);
    for (int i = 0; i < COUNT; i++) {
        char expected[64];
        sprintf(expected, "%d %.*s", i, i % 50,
                "--------------------------------------------------");
        expect_line(input, expected);
    }
    expect_end(input);
    free(text);
}
END_TEST

START_TEST(bytes_come_as_asked_and_say_when_they_do_not)
{
    char bytes[8];

    make_file("0123456789", 10);
    struct input *input = input_open(path);
    ck_assert_int_eq(input_bytes(input, bytes, 4), INPUT_OK);
    ck_assert_mem_eq(bytes, "0123", 4);
    ck_assert_int_eq(input_bytes(input, bytes, 8), INPUT_LONG);
    ck_assert_int_eq(input_bytes(input, bytes, 8), INPUT_END);
    input_close(input);
    unlink(path);
}
END_TEST

START_TEST(an_empty_file_has_no_lines)
{
    struct slice head;

    make_file("", 0);
    struct input *input = input_open(path);
    ck_assert(input_head(input, &head));
    ck_assert_uint_eq(head.length, 0);
    expect_end(input);
}
END_TEST

START_TEST(stdin_is_read_under_a_dash)
{
    char out[4096];

    make_file(out, compress(ARCHIVE_FILTER_GZIP, "piped\n", 6, out, sizeof(out)));
    ck_assert_int_ge(dup2(open(path, O_RDONLY), STDIN_FILENO), 0);
    struct input *input = input_open("-");
    ck_assert_str_eq(input_name(input), "stdin");
    expect_line(input, "piped");
    expect_end(input);
}
END_TEST

START_TEST(what_cannot_be_read_is_refused)
{
    ck_assert_ptr_null(input_open("/nowhere/to/be/found"));
    ck_assert_ptr_null(input_open("/tmp"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("input");
    TCase *tcase = suite_case(suite, "input");
    int count = (int)(sizeof(filters) / sizeof(filters[0]));

    tcase_add_loop_test(tcase, compressed_or_not_the_lines_are_the_same, 0, count);
    tcase_add_loop_test(tcase, joined_compressed_files_are_one, 0, count);
    tcase_add_loop_test(tcase, a_compressed_file_that_is_cut_is_an_error, 0, count);
    tcase_add_test(tcase, a_line_too_long_is_skipped_and_the_next_is_whole);
    tcase_add_test(tcase, lines_across_blocks_are_whole);
    tcase_add_test(tcase, bytes_come_as_asked_and_say_when_they_do_not);
    tcase_add_test(tcase, an_empty_file_has_no_lines);
    tcase_add_test(tcase, stdin_is_read_under_a_dash);
    tcase_add_test(tcase, what_cannot_be_read_is_refused);
    return suite_run(suite);
}
