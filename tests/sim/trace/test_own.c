/* SPDX-License-Identifier: MIT */
/* locus' own files: read in place or sorted, and every way in which one can be wrong. */
#include "../suite.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command.h"
#include "records/locus_file.h"
#include "trace/stream.h"
#include "trace_text.h"

/* Two destinations, a name and an address; one client. */
struct file {
    struct locus_file_header header;
    struct locus_file_key name;
    char text[8];
    struct locus_file_key address, client;
    struct numbered_record records[3];
} __attribute__((packed));

static const struct trace_options defaults = {.max_bad = UINT64_MAX};

static struct file make_file(void)
{
    struct file f = {
        .header = {.version = LOCUS_FILE_VERSION,
                   .record_bytes = 40,
                   .count = 3,
                   .destinations = 2,
                   .clients = 1},
        .name = {.key = {.words = {1, 2}}, .family = LOCUS_NAME, .name_bytes = 8},
        .text = {'a', '.', 'e', 'x', 'a', 'm', 'p', 'l'},
        .address = {.key = {.ipv4 = 0x0a000001}, .family = LOCUS_IPV4},
        .client = {.key = {.ipv4 = 0xc0000201}, .family = LOCUS_IPV4},
    };

    memcpy(f.header.magic, LOCUS_FILE_MAGIC, sizeof(f.header.magic));
    for (uint32_t i = 0; i < 3; i++) {
        f.records[i] = (struct numbered_record){
            .start_ns = (i + 1) * 1000000000u,
            .duration_ns = 500000000,
            .bytes = 10 + i,
            .dst = i % 2,
            .src = i == 2 ? NO_CLIENT : 0,
            .proto = 6,
            .flags = RECORD_HAS_TIME | RECORD_HAS_DURATION | RECORD_HAS_BYTES |
                     (i == 2 ? 0 : RECORD_HAS_CLIENT),
        };
    }
    return f;
}

static const char whole[] = "1 0.5 a.exampl < 192.0.2.1 6 10\n"
                            "2 0.5 10.0.0.1 < 192.0.2.1 6 11\n"
                            "3 0.5 a.exampl < - 6 12\n";

static const char *read_it(const struct file *f)
{
    return read_text(&defaults, f, sizeof(*f));
}

START_TEST(a_file_in_order_is_read_in_place_and_one_out_of_order_sorted)
{
    struct file f = make_file();
    struct trace *trace;

    ck_assert_str_eq(read_it(&f), whole);
    struct numbered_record first = f.records[0];
    f.records[0] = f.records[2];
    f.records[2] = first;
    ck_assert_str_eq(read_it(&f), whole);
    ck_assert_int_eq(open_text(&defaults, &f, sizeof(f), &trace), 0);
    ck_assert_uint_eq(trace_summary(trace)->steps_back, 2);
    trace_close(trace);
}
END_TEST

static void check_summary(const struct trace_options *options, const struct file *f,
                          uint64_t records, uint64_t destinations, uint64_t clients)
{
    struct trace *trace;

    ck_assert_int_eq(open_text(options, f, sizeof(*f), &trace), 0);
    const struct trace_summary *s = trace_summary(trace);
    ck_assert_uint_eq(s->records, records);
    ck_assert_uint_eq(s->destinations, destinations);
    ck_assert_uint_eq(s->clients, clients);
    ck_assert_uint_eq(s->skipped, 3 - records);
    ck_assert_str_eq(s->formats, "locus");
    ck_assert(!s->timeless);
    trace_close(trace);
}

START_TEST(the_summary_counts_what_records_use_not_what_the_tables_hold)
{
    struct trace_options window = {.max_bad = 0, .from_ns = 1500000000};
    struct file f = make_file();
    struct trace *trace;

    check_summary(&defaults, &f, 3, 2, 1);
    check_summary(&window, &f, 1, 1, 0);
    f.records[1].dst = 0;
    check_summary(&defaults, &f, 3, 1, 1);
    f.records[0].dst = f.records[1].dst = f.records[2].dst = 1;
    ck_assert_int_eq(open_text(&defaults, &f, sizeof(f), &trace), 0);
    ck_assert(trace_summary(trace)->all_ipv4);
    ck_assert_uint_eq(trace_summary(trace)->first_ns, 1000000000);
    ck_assert_uint_eq(trace_summary(trace)->last_ns, 3000000000);
    ck_assert_uint_eq(trace_summary(trace)->end_ns, 3500000000);
    trace_close(trace);
}
END_TEST

START_TEST(the_client_may_stand_for_the_destination)
{
    struct trace_options options = {.max_bad = UINT64_MAX, .key = KEY_CLIENT};
    struct file f = make_file();

    ck_assert_str_eq(read_text(&options, &f, sizeof(f)),
                     "1 0.5 192.0.2.1 < 192.0.2.1 6 10\n"
                     "2 0.5 192.0.2.1 < 192.0.2.1 6 11\n"
                     "! 1 no client\n");
}
END_TEST

/* One field each, somewhere in the file, and what comes of it. */
static const struct {
    size_t offset, size;
    uint64_t value;
    const char *result;
} faults[] = {
#define FIELD(field) offsetof(struct file, field), sizeof(((struct file *)0)->field)
#define NO_SECOND                                                    \
    "1 0.5 a.exampl < 192.0.2.1 6 10\n3 0.5 a.exampl < - 6 12\n! 1 " \
    "record is damaged\n"
    {FIELD(header.version), 1, "exit 1"},
    {FIELD(header.version), 3, "exit 1"},
    {FIELD(header.record_bytes), 64, "exit 1"},
    {FIELD(header.destinations), UINT64_MAX, "exit 1"},
    {FIELD(header.destinations), KEYSET_FULL, "exit 1"},
    {FIELD(header.destinations), 1, /* all shifts */
     "! 3 record is damaged\n! 1 file goes on after its last record\n"},
    {FIELD(header.clients), UINT64_MAX, "exit 1"},
    {FIELD(header.clients), KEYSET_FULL, "exit 1"},
    {FIELD(header.count), 0, "! 1 file goes on after its last record\n"},
    {FIELD(header.count), 2,
     "1 0.5 a.exampl < 192.0.2.1 6 10\n2 0.5 10.0.0.1 < 192.0.2.1 6 11\n"
     "! 1 file goes on after its last record\n"},
    {FIELD(name.family), 0, "exit 1"},
    {FIELD(name.family), 4, "exit 1"},
    {FIELD(name.family), LOCUS_IPV4, "exit 1"},
    {FIELD(name.name_bytes), UINT16_MAX, "exit 1"},
    {FIELD(address.family), 0, "exit 1"},
    {FIELD(client.family), 255, "exit 1"},
    {FIELD(records[1].dst), 2, NO_SECOND},
    {FIELD(records[1].dst), UINT32_MAX, NO_SECOND},
    {FIELD(records[1].src), 1, NO_SECOND},
    {FIELD(records[1].src), NO_CLIENT, NO_SECOND},
    {FIELD(records[1].start_ns), (uint64_t)1 << 63, NO_SECOND},
    {FIELD(records[1].duration_ns), (uint64_t)1 << 63, NO_SECOND},
    {FIELD(records[1].flags), 16, NO_SECOND},
    {FIELD(records[1].flags), RECORD_HAS_TIME,
     NO_SECOND}, /* a client without the flag */
    {FIELD(records[1].flags), RECORD_HAS_CLIENT, "exit 2"}, /* no time among times */
};

START_TEST(a_field_out_of_range_is_said_and_its_record_left_out)
{
    struct file f = make_file();

    memcpy((char *)&f + faults[_i].offset, &faults[_i].value, faults[_i].size);
    const char *got = read_it(&f);
    if (strncmp(faults[_i].result, "exit", 4) == 0) {
        ck_assert_int_eq(strncmp(got, faults[_i].result, 6), 0);
    } else {
        ck_assert_str_eq(got, faults[_i].result);
    }
}
END_TEST

START_TEST(more_records_promised_than_there_are_is_one_bad_record)
{
    static const uint64_t counts[] = {4, UINT32_MAX, (uint64_t)1 << 60, UINT64_MAX};
    struct file f = make_file();
    char expected[256];

    snprintf(expected, sizeof(expected), "%s! 1 file ends before its last record\n",
             whole);
    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        f.header.count = counts[i];
        ck_assert_str_eq(read_it(&f), expected);
    }
}
END_TEST

/* As 'cat' makes it of two: the second would be lost. */
START_TEST(a_file_behind_another_is_not_passed_over_in_silence)
{
    struct file twice[2] = {make_file(), make_file()};
    char expected[256];

    snprintf(expected, sizeof(expected), "%s! 1 file goes on after its last record\n",
             whole);
    ck_assert_str_eq(read_text(&defaults, twice, sizeof(twice)), expected);
    ck_assert_str_eq(read_text(&defaults, twice, sizeof(twice[0]) + 1), expected);
}
END_TEST

START_TEST(the_same_key_twice_is_refused)
{
    struct file f = make_file();

    f.header.destinations = 3;
    f.header.clients = 0;
    f.client = f.address;
    ck_assert_int_eq(strncmp(read_it(&f), "exit 1", 6), 0);
}
END_TEST

/* Whatever is cut off or flipped: an end, and what is read is in order and as counted. */
static void survive(const void *bytes, size_t size)
{
    struct numbered_record batch[2];
    struct trace *trace;
    uint64_t count = 0, last_ns = 0;
    ssize_t got;

    open_text(&defaults, bytes, size, &trace);
    if (trace == NULL) {
        return;
    }
    while ((got = trace_next_numbered(trace, batch, 2)) > 0) {
        for (ssize_t i = 0; i < got; i++, count++) {
            ck_assert_uint_ge(batch[i].start_ns, last_ns);
            last_ns = batch[i].start_ns;
        }
    }
    ck_assert_int_eq(got, 0);
    ck_assert_uint_eq(count, trace_summary(trace)->records);
    trace_close(trace);
}

START_TEST(a_file_cut_anywhere_or_with_any_bit_flipped_is_survived)
{
    struct file f = make_file();
    struct file flipped;

    for (size_t size = 0; size < sizeof(f); size++) {
        survive(&f, size);
    }
    for (size_t bit = 0; bit < 8 * sizeof(f); bit++) {
        flipped = f;
        ((uint8_t *)&flipped)[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        survive(&flipped, sizeof(flipped));
    }
}
END_TEST

/* What reading on says on stderr; it must fail. */
static const char *words_of_failure(struct trace *trace, char *text, size_t size)
{
    struct numbered_record batch[4];
    FILE *file = tmpfile();
    int kept = dup(STDERR_FILENO);

    dup2(fileno(file), STDERR_FILENO);
    ck_assert(trace_rewind(trace));
    ck_assert_int_eq(trace_next_numbered(trace, batch, 4), -1);
    dup2(kept, STDERR_FILENO);
    close(kept);
    rewind(file);
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
    return text;
}

/* The descriptor by which the path is open, besides this one. */
static int find_descriptor(const char *path, int besides)
{
    char link[32], target[64];

    for (int fd = 3; fd < 64; fd++) {
        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        ssize_t length = readlink(link, target, sizeof(target));
        if (fd != besides && length == (ssize_t)strlen(path) &&
            memcmp(target, path, (size_t)length) == 0) {
            return fd;
        }
    }
    return -1;
}

/* A folder takes the file's place: it can be open, but not be read. */
START_TEST(a_read_error_is_not_called_a_change)
{
    char path[] = "/tmp/locus-test-XXXXXX", text[256];
    char *paths[] = {path};
    struct file f = make_file();
    struct trace *trace;
    int fd = mkstemp(path), folder = open("/tmp", O_RDONLY | O_DIRECTORY);

    ck_assert_int_eq(write(fd, &f, sizeof(f)), sizeof(f));
    ck_assert_int_eq(trace_open(&defaults, paths, 1, &trace), 0);
    int inner = find_descriptor(path, fd);
    ck_assert_int_ge(inner, 0);
    ck_assert_int_eq(dup2(folder, inner), inner);
    ck_assert_ptr_nonnull(
        strstr(words_of_failure(trace, text, sizeof(text)), "Is a directory"));
    ck_assert_ptr_null(strstr(text, "changed"));
    trace_close(trace);
    unlink(path);
    close(fd);
    close(folder);
}
END_TEST

/* What was looked at once is not believed for ever. */
START_TEST(a_file_that_changes_after_it_was_opened_is_an_error)
{
    char path[] = "/tmp/locus-test-XXXXXX", text[256];
    char *paths[] = {path};
    struct file f = make_file();
    struct numbered_record batch[4];
    struct trace *trace;
    int fd = mkstemp(path);

    ck_assert_int_eq(write(fd, &f, sizeof(f)), sizeof(f));
    ck_assert_int_eq(trace_open(&defaults, paths, 1, &trace), 0);
    ck_assert_int_eq(trace_next_numbered(trace, batch, 4), 3);
    f.records[2].dst = 7;
    ck_assert_int_eq(pwrite(fd, &f, sizeof(f), 0), sizeof(f));
    ck_assert_ptr_nonnull(
        strstr(words_of_failure(trace, text, sizeof(text)), "changed while"));
    ck_assert_int_eq(ftruncate(fd, sizeof(f) - 50), 0);
    ck_assert_ptr_nonnull(
        strstr(words_of_failure(trace, text, sizeof(text)), "changed while"));
    trace_close(trace);
    unlink(path);
    close(fd);
}
END_TEST

/* Who opens a pipe and closes it again ends the process that writes to it. */
START_TEST(a_named_pipe_is_not_opened_to_look_at_it)
{
    char path[64], event[4096];
    const struct stream_progress progress = {0};
    struct stream_summary summary;
    struct record_keys keys;

    snprintf(path, sizeof(path), "/tmp/locus-test-%ld", (long)getpid());
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    int watch = inotify_init1(IN_NONBLOCK);
    ck_assert_int_ge(inotify_add_watch(watch, path, IN_OPEN), 0);
    record_keys_init(&keys);
    ck_assert_ptr_null(stream_open(path, &progress, &keys, &summary));
    ck_assert_int_eq(read(watch, event, sizeof(event)), -1);
    record_keys_free(&keys);
    unlink(path);
    close(watch);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("own files");
    TCase *tcase = suite_case(suite, "own files");

    tcase_add_test(tcase, a_file_in_order_is_read_in_place_and_one_out_of_order_sorted);
    tcase_add_test(tcase, the_summary_counts_what_records_use_not_what_the_tables_hold);
    tcase_add_test(tcase, the_client_may_stand_for_the_destination);
    tcase_add_loop_test(tcase, a_field_out_of_range_is_said_and_its_record_left_out, 0,
                        (int)(sizeof(faults) / sizeof(faults[0])));
    tcase_add_test(tcase, more_records_promised_than_there_are_is_one_bad_record);
    tcase_add_test(tcase, a_file_behind_another_is_not_passed_over_in_silence);
    tcase_add_test(tcase, the_same_key_twice_is_refused);
    tcase_add_test(tcase, a_file_cut_anywhere_or_with_any_bit_flipped_is_survived);
    tcase_add_test(tcase, a_file_that_changes_after_it_was_opened_is_an_error);
    tcase_add_test(tcase, a_read_error_is_not_called_a_change);
    tcase_add_test(tcase, a_named_pipe_is_not_opened_to_look_at_it);
    return suite_run(suite);
}
