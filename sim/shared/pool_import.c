/* SPDX-License-Identifier: MIT */
/* 'locus pool import': judges the candidates of a file, adds those that may come in, and says
 * how many it refused and why. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../base/errors.h"
#include "../base/output.h"
#include "client.h"
#include "import.h"
#include "pool_client.h"

static int print_summary(const struct pool_client *c, const struct import *import,
                         size_t added)
{
    if (c->json) {
        json_t *reasons = json_object();
        for (size_t i = 0; i < import->reason_count; i++) {
            json_object_set_new(reasons, import->reasons[i].reason,
                                json_integer((json_int_t)import->reasons[i].count));
        }
        return output_json("pool", "{s:I,s:I,s:I,s:I,s:I,s:I,s:o}", "lines",
                           (json_int_t)import->lines, "eligible",
                           (json_int_t)import->count, "added", (json_int_t)added,
                           "refused", (json_int_t)import->refused, "duplicates",
                           (json_int_t)import->duplicates, "malformed",
                           (json_int_t)import->malformed, "reasons", reasons);
    }
    printf("%zu eligible, %zu added; %" PRIu64 " refused, %" PRIu64
           " duplicates, %" PRIu64 " malformed\n",
           import->count, added, import->refused, import->duplicates,
           import->malformed);
    for (size_t i = 0; i < import->reason_count; i++) {
        printf("%8" PRIu64 "  %s\n", import->reasons[i].count,
               import->reasons[i].reason);
    }
    return EXIT_OK;
}

static int read_candidates(const struct pool_client *c, struct locus_eligibility *rules,
                           struct import *import)
{
    const char *path = c->arguments[0];
    bool is_stdin = strcmp(path, "-") == 0;
    FILE *in = is_stdin ? stdin : fopen(path, "re");

    if (in == NULL) {
        fprintf(stderr, "locus pool: %s: cannot open: %s\n", path, strerror(errno));
        return EXIT_RUNTIME;
    }
    int code = import_read(in, is_stdin ? "stdin" : path, (enum import_format)c->format,
                           rules, stderr, import);
    if (!is_stdin) {
        fclose(in);
    }
    if (code == EXIT_OK && import->malformed > c->max_bad) {
        fprintf(stderr, "locus pool: %s: %" PRIu64 " malformed lines, nothing added\n",
                path, import->malformed);
        code = EXIT_BAD_DATA;
    }
    return code;
}

int pool_import(const struct pool_client *c)
{
    const struct locus_eligibility_config config = {
        .schemes = c->schemes,
        .ports = c->ports,
        .allow = c->allow,
        .deny = c->deny,
        .only_allowed = c->only_allowed,
        .names = c->names,
    };
    struct locus_eligibility *rules;
    struct import import = {0};
    char why[CLIENT_WORDS] = "out of memory";
    size_t added = 0;

    if (locus_eligibility_create(&config, &rules, why, sizeof(why)) != LOCUS_OK) {
        return usage_error("pool", "%s", why);
    }
    int code = read_candidates(c, rules, &import);
    locus_eligibility_destroy(rules);
    if (code == EXIT_OK && import.count > 0 && !c->dry_run) {
        code = pool_add_members(c, (const char *const *)import.members, import.count,
                                &added);
    }
    for (size_t i = 0; code == EXIT_OK && c->dry_run && !c->json && i < import.count;
         i++) {
        printf("%s\n", import.members[i]);
    }
    if (code == EXIT_OK) {
        code = print_summary(c, &import, added);
    }
    import_free(&import);
    return code;
}
