/* SPDX-License-Identifier: MIT */
#include "parse.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/errors.h"
#include "../base/values.h"

enum { FILE_LIMIT = 64 << 20 };

int pool_error(const struct pool_parse *parse, const char *format, ...)
{
    va_list ap;

    fprintf(stderr, "locus %s: %s:%u: ", parse->command, parse->path, parse->line);
    va_start(ap, format);
    vfprintf(stderr, format, ap);
    va_end(ap);
    fputc('\n', stderr);
    return EXIT_USAGE;
}

void pool_skip_word(struct pool_parse *parse, const char *word)
{
    size_t size = sizeof(parse->warned[0]);

    for (size_t i = 0; i < parse->warned_count; i++) {
        if (strncmp(parse->warned[i], word, size - 1) == 0) {
            return;
        }
    }
    if (parse->warned_count == POOL_WARNINGS) {
        return;
    }
    snprintf(parse->warned[parse->warned_count++], size, "%s", word);
    fprintf(stderr, "locus %s: %s:%u: '%.*s' is not known and skipped\n",
            parse->command, parse->path, parse->line, (int)size, word);
}

struct pool_service *pool_service_get(struct pool_parse *parse, const char *name)
{
    /* From the last one back: that is where a file adds its servers. */
    for (size_t i = parse->count; i > 0; i--) {
        if (strcmp(parse->services[i - 1].name, name) == 0) {
            return &parse->services[i - 1];
        }
    }
    struct pool_service *services =
        realloc(parse->services, (parse->count + 1) * sizeof(*services));
    if (services == NULL) {
        return NULL;
    }
    parse->services = services;
    struct pool_service *service = &services[parse->count++];
    memset(service, 0, sizeof(*service));
    snprintf(service->name, sizeof(service->name), "%s", name);
    return service;
}

static char *read_stream(FILE *file, size_t *length)
{
    size_t capacity = 64 << 10;
    char *text = malloc(capacity + 1);

    *length = 0;
    while (text != NULL) {
        *length += fread(text + *length, 1, capacity - *length, file);
        if (*length < capacity) {
            return text;
        }
        capacity *= 2;
        char *grown = capacity <= FILE_LIMIT ? realloc(text, capacity + 1) : NULL;
        if (grown == NULL) {
            free(text);
            errno = capacity <= FILE_LIMIT ? ENOMEM : EFBIG;
        }
        text = grown;
    }
    return NULL;
}

int pool_read_file(const struct pool_parse *parse, const char *path, char **text)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
    size_t length = 0;
    int status = EXIT_OK;

    *text = file != NULL ? read_stream(file, &length) : NULL;
    if (*text == NULL || ferror(file)) {
        fprintf(stderr, "locus %s: cannot read %s: %s\n", parse->command, path,
                strerror(errno));
        status = EXIT_RUNTIME;
    } else if (memchr(*text, '\0', length) != NULL) {
        fprintf(stderr, "locus %s: %s: expected text, but there is a zero byte\n",
                parse->command, path);
        status = EXIT_USAGE;
    } else {
        (*text)[length] = '\0';
    }
    if (file != NULL && file != stdin) {
        fclose(file);
    }
    if (status != EXIT_OK) {
        free(*text);
        *text = NULL;
    }
    return status;
}

char *pool_next_line(struct pool_parse *parse, char **text)
{
    char *line = *text;
    char *end = strchr(line, '\n');

    if (*line == '\0') {
        return NULL;
    }
    parse->line++;
    if (end != NULL) {
        *end = '\0';
        *text = end + 1;
    } else {
        *text = line + strlen(line);
    }
    return line;
}

size_t pool_split(char *line, char *words[POOL_WORDS_MAX])
{
    size_t count = 0;

    while (count < POOL_WORDS_MAX) {
        line += strspn(line, " \t\r");
        if (*line == '\0' || *line == '#') {
            break;
        }
        if (*line == '"' || *line == '\'') {
            char quote[2] = {*line, '\0'};
            words[count++] = ++line;
            line += strcspn(line, quote);
        } else {
            words[count++] = line;
            line += strcspn(line, " \t\r");
        }
        if (*line != '\0') {
            *line++ = '\0';
        }
    }
    return count;
}

static bool hex_address(const char *text, struct locus_address *out)
{
    static const char digits[] = "0123456789ABCDEFabcdef";
    unsigned address = 0, port = 0;

    /* sscanf() alone would take "0x50" and "-050" as well. */
    if (strspn(text, digits) != 8 || text[8] != ':' || strspn(text + 9, digits) != 4 ||
        text[13] != '\0' || sscanf(text, "%8x:%4x", &address, &port) != 2) {
        return false;
    }
    *out = (struct locus_address){
        .family = LOCUS_IPV4,
        .port = (uint16_t)port,
        .key = {.ipv4 = address},
    };
    return true;
}

bool pool_address(const char *text, uint16_t default_port, struct locus_address *out)
{
    if (!hex_address(text, out) && !server_address_parse(text, strlen(text), out)) {
        return false;
    }
    if (out->port == 0) {
        out->port = default_port;
    }
    return true;
}

int pool_number(const struct pool_parse *parse, const char *field, const char *text,
                uint32_t *out)
{
    uint64_t value;

    if (text == NULL || !read_number(text, strlen(text), &value) ||
        value > LOCUS_WEIGHT_MAX) {
        return pool_error(parse, "%s: expected a number from 0 to %d, not '%s'", field,
                          LOCUS_WEIGHT_MAX, text != NULL ? text : "nothing");
    }
    *out = (uint32_t)value;
    return EXIT_OK;
}

int pool_add_server(struct pool_parse *parse, struct server_list *list,
                    const struct server_spec *spec)
{
    if (servers_find(list, &spec->address) >= 0) {
        return pool_error(parse, "server '%s' is there twice", spec->name);
    }
    int status = servers_add(list, spec);
    if (status == LOCUS_EFULL) {
        return pool_error(parse, "more than %d servers", SERVERS_MAX);
    }
    return status == LOCUS_OK ? EXIT_OK : memory_error(parse->command);
}

bool pool_flag(struct pool_parse *parse, const char *word, uint32_t *flags)
{
    static const struct {
        const char *word;
        uint32_t flag; /* 0: means nothing to any scheduler */
    } words[] = {
        {"sh-fallback", LOCUS_FLAG_FALLBACK},
        {"sh-port", LOCUS_FLAG_PORT},
        {"mh-fallback", LOCUS_FLAG_FALLBACK},
        {"mh-port", LOCUS_FLAG_PORT},
        {"flag-1", LOCUS_FLAG_FALLBACK},
        {"flag-2", LOCUS_FLAG_PORT},
        {"flag-3", 0},
    };

    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (strcmp(word, words[i].word) == 0) {
            *flags |= words[i].flag;
            if (words[i].flag == 0) {
                pool_skip_word(parse, word);
            }
            return true;
        }
    }
    return false;
}

/* ---- plain lists ----------------------------------------------------------------- */

int pool_flags(struct pool_parse *parse, const char *field, const char *text,
               uint32_t *flags)
{
    char word[POOL_WORD];

    *flags = 0;
    while (*text != '\0' && *text != ')') {
        size_t length = strcspn(text, ",)");
        snprintf(word, sizeof(word), "%.*s", (int)length, text);
        if (!pool_flag(parse, word, flags)) {
            return pool_error(parse,
                              "%s: expected sh-fallback, mh-port, flag-1 or the like, "
                              "with commas between, not '%s'",
                              field, word);
        }
        text += length + (text[length] == ',');
    }
    return EXIT_OK;
}
