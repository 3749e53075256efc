/* SPDX-License-Identifier: MIT */
/* 'locus registry import': endpoints from a file, many with each call. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/errors.h"
#include "../base/output.h"
#include "../base/values.h"
#include "registry_client.h"

enum { CHUNK = 1024 };

struct endpoint_import {
    const struct registry_client *client;
    const char *file;
    uint64_t line; /* of the file, read last */
    uint64_t imported, bad;
    /* What goes with the next call. */
    size_t count;
    struct locus_registry_change changes[CHUNK];
    char *texts[CHUNK]; /* owned: the lines, which the changes point into */
    size_t sizes[CHUNK];
    uint64_t lines[CHUNK];
};

static void malformed(struct endpoint_import *import, uint64_t line, const char *reason)
{
    fprintf(stderr, "locus registry: %s:%" PRIu64 ": %s\n", import->file, line, reason);
    import->bad++;
}

/* "CLUSTER ADDRESS [WEIGHT [up|down]]" cut in place; the reason, or NULL. */
static const char *parse_line(uint64_t weight, char *line,
                              struct locus_registry_change *out)
{
    char *words[5] = {NULL};
    size_t count = 0;
    char *rest;

    for (char *word = strtok_r(line, " \t\r\n", &rest); word != NULL && count < 5;
         word = strtok_r(NULL, " \t\r\n", &rest)) {
        words[count++] = word;
    }
    if (count < 2 || count > 4) {
        return "expected CLUSTER ADDRESS [WEIGHT [up|down]]";
    }
    if (count > 2 && (!read_number(words[2], strlen(words[2]), &weight) ||
                      weight > LOCUS_ENDPOINT_WEIGHT)) {
        return "weight: expected 0 to 2147483647";
    }
    if (count > 3 && strcmp(words[3], "up") != 0 && strcmp(words[3], "down") != 0) {
        return "health: expected up or down";
    }
    *out = (struct locus_registry_change){
        .op = LOCUS_REGISTRY_PUT,
        .cluster = words[0],
        .address = words[1],
        .weight = (uint32_t)weight,
        .healthy = count < 4 || strcmp(words[3], "up") == 0,
    };
    return NULL;
}

/* Reads lines until there are enough for a call. False: that was the last one. */
static bool read_chunk(struct endpoint_import *import, FILE *in)
{
    import->count = 0;
    while (import->count < CHUNK) {
        size_t i = import->count;
        if (getline(&import->texts[i], &import->sizes[i], in) < 0) {
            return false;
        }
        import->line++;
        const char *text = import->texts[i] + strspn(import->texts[i], " \t\r\n");
        if (*text == '\0' || *text == '#') {
            continue;
        }
        const char *reason =
            parse_line(import->client->weight, import->texts[i], &import->changes[i]);
        if (reason != NULL) {
            malformed(import, import->line, reason);
            continue;
        }
        import->lines[import->count++] = import->line;
    }
    return true;
}

static int send_chunk(struct endpoint_import *import)
{
    const struct registry_client *c = import->client;
    int code = EXIT_OK;

    (void)!locus_registry_apply(c->registry, import->changes, import->count);
    for (size_t i = 0; i < import->count; i++) {
        int status = import->changes[i].status;
        if (status == LOCUS_EINVAL) {
            malformed(import, import->lines[i], "malformed name");
        } else if (status != LOCUS_OK && code == EXIT_OK) {
            code = registry_failed(c, import->changes[i].address, status);
        }
        import->imported += status == LOCUS_OK;
    }
    return code;
}

static int import_all(struct endpoint_import *import, FILE *in)
{
    int code = EXIT_OK;

    for (bool more = true; more && code == EXIT_OK;) {
        more = read_chunk(import, in);
        bool failed = !more && ferror(in);
        if (failed) {
            fprintf(stderr, "locus registry: %s: %s\n", import->file, strerror(errno));
        }
        code = send_chunk(import);
        code = failed ? EXIT_RUNTIME : code;
    }
    for (size_t i = 0; i < CHUNK; i++) {
        free(import->texts[i]);
    }
    return code;
}

int registry_import(const struct registry_client *c)
{
    struct endpoint_import import = {.client = c, .file = c->arguments[0]};
    bool standard = strcmp(import.file, "-") == 0;
    FILE *in = standard ? stdin : fopen(import.file, "re");

    if (in == NULL) {
        fprintf(stderr, "locus registry: %s: %s\n", import.file, strerror(errno));
        return EXIT_RUNTIME;
    }
    int code = import_all(&import, in);
    if (!standard) {
        fclose(in);
    }
    if (c->json) {
        (void)output_json("registry", "{s:I,s:I}", "imported",
                          (json_int_t)import.imported, "bad", (json_int_t)import.bad);
    } else {
        printf("%" PRIu64 " imported, %" PRIu64 " lines malformed\n", import.imported,
               import.bad);
    }
    return code == EXIT_OK && import.bad > c->max_bad ? EXIT_BAD_DATA : code;
}
