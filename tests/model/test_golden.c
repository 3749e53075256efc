/* SPDX-License-Identifier: MIT */
/*
 * Every golden script, run on the reference model: its output must be what the kernel (or
 * its code, or the reasoning in the script's comments) recorded. A model that passes may
 * judge the library.
 */
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/suite.h"
#include "../support/textfile.h"
#include "script.h"

struct recording {
    const char *folder;
    const char *suffix; /* of the recorded output */
    const char *rules;
};

static const struct recording recordings[] = {
    {"code", "out", "kernel"},
    {"code", "old", "kernel-classic"},
    {"kernel", "out", "kernel"},
    {"article", "out", "article"},
};

static struct golden_case {
    char name[256];
    const struct recording *recording;
} * cases;
static int case_count;

static void add_case(const struct recording *recording, const char *file)
{
    const char *end = strstr(file, ".ev");
    if (!end || (strcmp(end, ".ev") != 0 && strcmp(end, ".ev.gz") != 0)) {
        return;
    }
    cases = realloc(cases, (size_t)(case_count + 1) * sizeof(*cases));
    struct golden_case *added = &cases[case_count++];
    added->recording = recording;
    snprintf(added->name, sizeof(added->name), "%.*s", (int)(end - file), file);
}

static void find_cases(void)
{
    for (size_t i = 0; i < sizeof(recordings) / sizeof(recordings[0]); i++) {
        char folder[4096];
        snprintf(folder, sizeof(folder), "%s/%s", GOLDEN_DIR, recordings[i].folder);
        struct dirent **files = NULL;
        int count = scandir(folder, &files, NULL, alphasort);
        for (int j = 0; j < count; j++) {
            add_case(&recordings[i], files[j]->d_name);
            free(files[j]);
        }
        free(files);
    }
}

static char *read_part(const struct golden_case *c, const char *suffix)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s/%s.%s", GOLDEN_DIR, c->recording->folder,
             c->name, suffix);
    char *text = textfile_read(path);
    ck_assert_msg(text, "cannot read %s", path);
    return text;
}

START_TEST(the_model_gives_the_recorded_output)
{
    const struct golden_case *c = &cases[_i];
    char *script = read_part(c, "ev");
    char *want = read_part(c, c->recording->suffix);
    char *got = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&got, &length);
    ck_assert_ptr_nonnull(out);
    unsigned bad = script_run(script, c->recording->rules, out);
    fclose(out);
    ck_assert_msg(bad == 0, "%s/%s: line %u of the script is malformed",
                  c->recording->folder, c->name, bad);
    char got_line[200];
    char want_line[200];
    unsigned line = textfile_differ(got, want, got_line, want_line, sizeof(got_line));
    ck_assert_msg(line == 0, "%s/%s (%s): line %u is \"%s\", recorded \"%s\"",
                  c->recording->folder, c->name, c->recording->rules, line, got_line,
                  want_line);
    free(got);
    free(want);
    free(script);
}
END_TEST

START_TEST(no_golden_script_is_missing)
{
    int count[4] = {0};
    for (int i = 0; i < case_count; i++) {
        count[cases[i].recording - recordings]++;
    }
    ck_assert_int_eq(count[0], 132);
    ck_assert_int_eq(count[1], 132);
    ck_assert_int_eq(count[2], 92);
    ck_assert_int_gt(count[3], 0);
}
END_TEST

int main(void)
{
    find_cases();
    Suite *suite = suite_create("golden_model");
    TCase *tcase = suite_case(suite, "golden_model");
    tcase_add_test(tcase, no_golden_script_is_missing);
    tcase_add_loop_test(tcase, the_model_gives_the_recorded_output, 0, case_count);
    int status = suite_run(suite);
    free(cases);
    return status;
}
