/* SPDX-License-Identifier: MIT */
/*
 * Figures: for Prometheus, and as percentiles.
 */
#include <stdlib.h>
#include <string.h>

#include "coalesce_backend.h"
#include "histogram.h"

static int collect(void *ctx, const char *text, size_t length)
{
    char *all = ctx;
    size_t used = strlen(all);

    ck_assert_uint_lt(used + length, 32768);
    memcpy(all + used, text, length);
    all[used + length] = '\0';
    return 0;
}

static int stop_at_once(void *ctx, const char *text, size_t length)
{
    (void)text;
    (void)length;
    ++*(int *)ctx;
    return 1;
}

START_TEST(the_figures_are_written_for_prometheus)
{
    static char text[32768];
    struct backend b = BACKEND_INIT;
    struct locus_coalescer *c = make(&b, (struct locus_coalescer_config){0});
    int writes = 0;

    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(get(c, "a", FOREVER), LOCUS_OK);
    }
    ck_assert_int_eq(locus_coalescer_write_metrics(c, "a\"b\\c\nd", collect, text),
                     LOCUS_OK);
#define LABEL "{coalescer=\"a\\\"b\\\\c\\nd\""
    ck_assert_ptr_nonnull(
        strstr(text, "locus_coalescer_calls_total" LABEL ",outcome=\"answered\"} 5\n"));
    ck_assert_ptr_nonnull(strstr(text, "# TYPE locus_coalescer_queued gauge\n"));
    ck_assert_ptr_nonnull(
        strstr(text, "locus_coalescer_batch_keys_bucket" LABEL ",le=\"1\"} 5\n"));
    ck_assert_ptr_nonnull(
        strstr(text, "locus_coalescer_batch_keys_bucket" LABEL ",le=\"+Inf\"} 5\n"));
    ck_assert_ptr_nonnull(strstr(text, "locus_coalescer_batch_keys_sum" LABEL "} 5\n"));
    ck_assert_ptr_nonnull(
        strstr(text, "locus_coalescer_call_seconds_count" LABEL "} 5\n"));
    /* Every line is a comment or a sample of one value. */
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        ck_assert(line[0] == '#' || strncmp(line, "locus_coalescer_", 16) == 0);
        ck_assert(line[0] == '#' || strtod(strrchr(line, ' '), NULL) >= 0);
    }
    ck_assert_int_eq(locus_coalescer_write_metrics(c, "x", stop_at_once, &writes),
                     LOCUS_EIO);
    ck_assert_int_eq(writes, 1);
    locus_coalescer_destroy(c);
}
END_TEST

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

START_TEST(percentiles_are_at_most_an_eighth_too_high)
{
    static struct histogram h;
    static uint64_t values[5000];
    struct locus_distribution d;
    uint64_t state = 88172645463325252u + (uint64_t)_i;

    memset(&h, 0, sizeof(h));
    for (size_t i = 0; i < 5000; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        values[i] = state >> (state % 64);
        locus_histogram_add(&h, values[i]);
    }
    qsort(values, 5000, sizeof(values[0]), compare_u64);
    locus_histogram_read(&h, &d);
    const uint64_t exact[] = {values[2499], values[4499], values[4949]};
    const uint64_t shown[] = {d.p50, d.p90, d.p99};
    for (int i = 0; i < 3; i++) {
        ck_assert_uint_ge(shown[i], exact[i]);
        ck_assert_uint_le(shown[i] - exact[i], exact[i] / 8);
    }
    ck_assert_uint_eq(d.max, values[4999]);
    ck_assert_uint_eq(d.count, 5000);
    for (unsigned power = 0; power < 64; power++) {
        uint64_t below = 0;
        while (below < 5000 && values[below] < (uint64_t)1 << power) {
            below++;
        }
        ck_assert_uint_eq(locus_histogram_below(&h, power), below);
    }
}
END_TEST

START_TEST(a_histogram_holds_the_ends_of_the_range)
{
    struct histogram h = {0};
    struct locus_distribution d;

    locus_histogram_read(&h, &d);
    ck_assert_uint_eq(d.count + d.p50 + d.p99 + d.max, 0);
    locus_histogram_add(&h, 0);
    locus_histogram_add(&h, UINT64_MAX);
    locus_histogram_read(&h, &d);
    ck_assert_uint_eq(d.p50, 0);
    ck_assert_uint_eq(d.p99, UINT64_MAX);
    ck_assert_uint_eq(d.max, UINT64_MAX);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("meter");
    TCase *t = suite_case(s, "meter");

    tcase_add_test(t, the_figures_are_written_for_prometheus);
    tcase_add_loop_test(t, percentiles_are_at_most_an_eighth_too_high, 0, 3);
    tcase_add_test(t, a_histogram_holds_the_ends_of_the_range);
    return suite_run(s);
}
