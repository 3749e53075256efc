/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a script, under each rule set. Beyond not crashing: the same script gives
 * the same bytes twice, and a script that is refused is refused in one line that names it.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <locus/locus.h>

#include "cli/command.h"
#include "drive/drive.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A week is enough for every timer, and bounds what a short input can ask for. */
enum { CLOCK_LIMIT_S = 7 * 86400 };

struct text {
    char *bytes;
    size_t size;
};

static void check(bool holds)
{
    if (!holds) {
        abort();
    }
}

static int run(const struct locus_rules *rules, const uint8_t *data, size_t size,
               struct text *out, struct text *err)
{
    FILE *in = fmemopen((void *)(uintptr_t)data, size, "r");
    FILE *out_stream = open_memstream(&out->bytes, &out->size);
    FILE *err_stream = open_memstream(&err->bytes, &err->size);

    check(in != NULL && out_stream != NULL && err_stream != NULL);
    int code = drive_run(in, "script", out_stream, err_stream, rules, CLOCK_LIMIT_S);
    fclose(in);
    check(fclose(out_stream) == 0 && fclose(err_stream) == 0);
    return code;
}

static void check_message(int code, const struct text *err)
{
    static const char start[] = "locus drive: script:";

    if (code == EXIT_OK) {
        check(err->size == 0);
        return;
    }
    check(code == EXIT_USAGE);
    check(strncmp(err->bytes, start, strlen(start)) == 0);
    check(strchr(err->bytes, '\n') == err->bytes + err->size - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *name;

    if (size == 0) {
        return 0;
    }
    for (size_t i = 0; (name = locus_rules_name(i)) != NULL; i++) {
        const struct locus_rules *rules = locus_rules_find(name);
        struct text out = {0}, err = {0}, out_again = {0}, err_again = {0};
        int code = run(rules, data, size, &out, &err);

        check_message(code, &err);
        check(run(rules, data, size, &out_again, &err_again) == code);
        check(out.size == out_again.size &&
              memcmp(out.bytes, out_again.bytes, out.size) == 0);
        free(out.bytes);
        free(err.bytes);
        free(out_again.bytes);
        free(err_again.bytes);
    }
    return 0;
}
