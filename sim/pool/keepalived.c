/* SPDX-License-Identifier: MIT */
/*
 * keepalived.conf, as far as it says which servers there are: virtual_server blocks with their
 * real_servers, includes and plain ${VARIABLES}. Checks, scripts and VRRP are passed over.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/errors.h"
#include "../base/values.h"
#include "parse.h"

enum {
    VARIABLES_MAX = 64,
    INCLUDES_MAX = 8,
    NESTING_MAX = 32,
    LINE_MAX_BYTES = 1 << 20
};

struct variable {
    char name[64];
    char value[POOL_WORD];
};

#define NAME_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"

enum block { BLOCK_SKIP, BLOCK_SERVICE, BLOCK_SERVER };

struct keepalived {
    struct pool_parse *parse;
    struct variable variables[VARIABLES_MAX];
    size_t variable_count;
    enum block blocks[NESTING_MAX];
    size_t nesting;
    size_t service;            /* the number of the one we are in */
    uint16_t port;             /* its */
    struct server_spec server; /* of the real_server block we are in */
};

/* Silent where the words are known and say nothing about servers. */
static const char *const ignored[] = {
    "lvs_sched",
    "lb_algo",
    "lvs_method",
    "lb_kind",
    "persistence_timeout",
    "persistence_granularity",
    "persistence_engine",
    "protocol",
    "delay_loop",
    "delay_before_retry",
    "retry",
    "warmup",
    "quorum",
    "quorum_up",
    "quorum_down",
    "hysteresis",
    "sorry_server",
    "sorry_server_inhibit",
    "sorry_server_lvs_method",
    "inhibit_on_failure",
    "virtualhost",
    "alpha",
    "omega",
    "ops",
    "ha_suspend",
    "smtp_alert",
    "notify_up",
    "notify_down",
    "hashed",
    "ip_family",
    "connect_timeout",
    "log_all_failures",
    "snmp_name",
    "service_type",
    "lvs_flags",
};

static bool is_ignored(const char *word)
{
    for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++) {
        if (strcmp(ignored[i], word) == 0) {
            return true;
        }
    }
    return false;
}

/* The value of the variable that text ("$NAME..." or "${NAME}...") begins with, the last
 * definition first; *length: how much of text names it. NULL: text names none. */
static const char *find_variable(const struct keepalived *k, const char *text,
                                 size_t *length)
{
    bool braces = text[1] == '{';
    const char *name = text + 1 + braces;
    size_t letters = strspn(name, NAME_LETTERS);

    *length = 1 + letters + 2 * (size_t)braces;
    for (size_t i = k->variable_count; i > 0 && (!braces || name[letters] == '}');
         i--) {
        const struct variable *v = &k->variables[i - 1];
        if (strlen(v->name) == letters && memcmp(v->name, name, letters) == 0) {
            return v->value;
        }
    }
    return NULL;
}

/* A copy of the line with the values of its variables, to free(). An exit_code. */
static int expand(const struct keepalived *k, const char *line, char **out)
{
    char *text = NULL;
    size_t size = 0, used = 0, length = 0;
    FILE *file = open_memstream(&text, &size);

    *out = NULL;
    while (file != NULL && *line != '\0' && used < LINE_MAX_BYTES) {
        const char *value = *line == '$' ? find_variable(k, line, &length) : NULL;
        if (value != NULL) {
            fputs(value, file);
            used += strlen(value);
            line += length;
        } else {
            fputc(*line++, file);
            used++;
        }
    }
    if (file == NULL || fclose(file) != 0) {
        free(text);
        return memory_error(k->parse->command);
    }
    if (*line != '\0') {
        free(text);
        return pool_error(k->parse, "a line of more than %d bytes", LINE_MAX_BYTES);
    }
    *out = text;
    return EXIT_OK;
}

/* "$NAME = value"; the value reaches to the end of the line and may hold variables known by
 * then. One that is too long for what we read is as unknown as any word. */
static int define(struct keepalived *k, const char *line)
{
    size_t name = strspn(line + 1, NAME_LETTERS);
    const char *value = line + 1 + name;

    value += strspn(value, " \t");
    if (name == 0 || name >= sizeof(k->variables[0].name) || *value != '=' ||
        k->variable_count == VARIABLES_MAX) {
        pool_skip_word(k->parse, line);
        return EXIT_OK;
    }
    value++;
    char *text;
    int status = expand(k, value + strspn(value, " \t"), &text);
    if (status != EXIT_OK) {
        return status;
    }
    text[strcspn(text, "\r!#")] = '\0';
    if (strlen(text) >= sizeof(k->variables[0].value)) {
        pool_skip_word(k->parse, line);
    } else {
        struct variable *v = &k->variables[k->variable_count++];
        snprintf(v->name, sizeof(v->name), "%.*s", (int)name, line + 1);
        snprintf(v->value, sizeof(v->value), "%s", text);
    }
    free(text);
    return EXIT_OK;
}

static bool read_address(const char *address, const char *port,
                         struct locus_address *out)
{
    uint64_t number = 0;

    if (!server_address_parse(address, strlen(address), out) ||
        (port != NULL &&
         (!read_number(port, strlen(port), &number) || number > UINT16_MAX))) {
        return false;
    }
    if (port != NULL) {
        out->port = (uint16_t)number;
    }
    return true;
}

/* virtual_server ADDRESS [PORT] | fwmark N | group NAME */
static int open_service(struct keepalived *k, char **words, size_t count)
{
    struct locus_address address = {0};
    char name[POOL_WORD], text[LOCUS_ADDRESS_TEXT];

    if (count < 2) {
        return pool_error(k->parse,
                          "virtual_server: expected ADDRESS PORT, fwmark N or "
                          "group NAME");
    }
    const char *first = words[1];
    const char *second = count > 2 ? words[2] : NULL;
    if (second != NULL &&
        (strcmp(first, "fwmark") == 0 || strcmp(first, "group") == 0)) {
        snprintf(name, sizeof(name), "%s %s", first, second);
    } else if (read_address(first, second, &address)) {
        locus_address_format(&address, text, sizeof(text));
        snprintf(name, sizeof(name), "service %s", text);
    } else {
        return pool_error(k->parse,
                          "virtual_server: expected ADDRESS PORT, not '%s%s%s'", first,
                          second != NULL ? " " : "", second != NULL ? second : "");
    }
    struct pool_service *service = pool_service_get(k->parse, name);
    if (service == NULL) {
        return memory_error(k->parse->command);
    }
    k->service = (size_t)(service - k->parse->services);
    k->port = address.port;
    return EXIT_OK;
}

static int open_server(struct keepalived *k, char **words, size_t count)
{
    const char *address = count > 1 ? words[1] : "nothing";
    const char *port = count > 2 ? words[2] : NULL;
    struct server_spec *spec = &k->server;

    *spec = (struct server_spec){.weight = 1, .weighted = true};
    if (!read_address(address, port, &spec->address)) {
        return pool_error(k->parse,
                          "real_server: expected ADDRESS [PORT], not '%s%s%s'", address,
                          port != NULL ? " " : "", port != NULL ? port : "");
    }
    if (spec->address.port == 0) {
        spec->address.port = k->port;
    }
    server_name(&spec->address, address, spec->name);
    return EXIT_OK;
}

static enum block current_block(const struct keepalived *k)
{
    return k->nesting > 0 ? k->blocks[k->nesting - 1] : BLOCK_SKIP;
}

static int enter(struct keepalived *k, char **words, size_t count)
{
    enum block block = BLOCK_SKIP;
    int status = EXIT_OK;

    if (k->nesting == NESTING_MAX) {
        return pool_error(k->parse, "more than %d blocks inside each other",
                          NESTING_MAX);
    }
    if (count > 0 && strcmp(words[0], "virtual_server") == 0 && k->nesting == 0) {
        block = BLOCK_SERVICE;
        status = open_service(k, words, count);
    } else if (count > 0 && strcmp(words[0], "real_server") == 0 &&
               current_block(k) == BLOCK_SERVICE) {
        block = BLOCK_SERVER;
        status = open_server(k, words, count);
    }
    k->blocks[k->nesting++] = block;
    return status;
}

static int leave(struct keepalived *k)
{
    if (k->nesting == 0) {
        return pool_error(k->parse, "'}' without '{'");
    }
    k->nesting--;
    if (k->blocks[k->nesting] != BLOCK_SERVER) {
        return EXIT_OK;
    }
    return pool_add_server(k->parse, &k->parse->services[k->service].list, &k->server);
}

static int server_word(struct keepalived *k, char **words, size_t count)
{
    static const struct {
        const char *word;
        size_t offset;
    } numbers[] = {
        {"weight", offsetof(struct server_spec, weight)},
        {"uthreshold", offsetof(struct server_spec, upper)},
        {"lthreshold", offsetof(struct server_spec, lower)},
    };

    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        if (strcmp(words[0], numbers[i].word) == 0) {
            return pool_number(
                k->parse, words[0], count > 1 ? words[1] : NULL,
                (uint32_t *)(void *)((char *)&k->server + numbers[i].offset));
        }
    }
    if (!is_ignored(words[0])) {
        pool_skip_word(k->parse, words[0]);
    }
    return EXIT_OK;
}

static int statement(struct keepalived *k, char **words, size_t count)
{
    switch (current_block(k)) {
    case BLOCK_SERVER:
        return server_word(k, words, count);
    case BLOCK_SERVICE:
        if (count > 1 &&
            (strcmp(words[0], "lb_algo") == 0 || strcmp(words[0], "lvs_sched") == 0)) {
            struct server_list *list = &k->parse->services[k->service].list;
            snprintf(list->scheduler, sizeof(list->scheduler), "%s", words[1]);
        } else if (pool_flag(k->parse, words[0],
                             &k->parse->services[k->service].flags)) {
            break;
        } else if (!is_ignored(words[0])) {
            pool_skip_word(k->parse, words[0]);
        }
        break;
    case BLOCK_SKIP:
        break;
    }
    return EXIT_OK;
}

static int parse_text(struct keepalived *k, char *text);

static int include_one(struct keepalived *k, const char *path)
{
    struct pool_parse *parse = k->parse;
    const char *outer_path = parse->path;
    unsigned outer_line = parse->line;
    char *text;
    int status = pool_read_file(parse, path, &text);

    if (status == EXIT_OK) {
        parse->path = path;
        parse->line = 0;
        parse->depth++;
        status = parse_text(k, text);
        parse->depth--;
    }
    free(text);
    if (status == EXIT_OK) {
        parse->path = outer_path;
        parse->line = outer_line;
    }
    return status;
}

/* Relative to the including file; a pattern may match nothing, a plain name must not. */
static int include(struct keepalived *k, const char *name)
{
    const char *slash = strrchr(k->parse->path, '/');
    char path[4096];
    glob_t found;
    int status = EXIT_OK;

    if (k->parse->depth == INCLUDES_MAX) {
        return pool_error(k->parse, "more than %d includes inside each other",
                          INCLUDES_MAX);
    }
    snprintf(path, sizeof(path), "%.*s%s",
             name[0] == '/' || slash == NULL ? 0 : (int)(slash + 1 - k->parse->path),
             k->parse->path, name);
    int result = glob(path, 0, NULL, &found);
    if (result == GLOB_NOMATCH) {
        return strpbrk(name, "*?[") != NULL
                   ? EXIT_OK
                   : pool_error(k->parse, "include: cannot find '%s'", path);
    }
    if (result != 0) {
        return pool_error(k->parse, "include: cannot look for '%s'", path);
    }
    for (size_t i = 0; status == EXIT_OK && i < found.gl_pathc; i++) {
        status = include_one(k, found.gl_pathv[i]);
        if (status != EXIT_OK) {
            k->parse->path = "(included file)";
        }
    }
    globfree(&found);
    return status;
}

/* Braces end statements wherever they stand in a line. */
static int parse_line(struct keepalived *k, char **words, size_t count)
{
    size_t first = 0;
    int status = EXIT_OK;

    if (count > 0 && words[0][0] == '@') {
        pool_skip_word(k->parse, words[0]);
        return EXIT_OK;
    }
    if (count > 1 && strcmp(words[0], "include") == 0) {
        return include(k, words[1]);
    }
    for (size_t i = 0; status == EXIT_OK && i < count; i++) {
        if (strcmp(words[i], "{") == 0) {
            status = enter(k, words + first, i - first);
            first = i + 1;
        } else if (strcmp(words[i], "}") == 0) {
            if (i > first) {
                status = statement(k, words + first, i - first);
            }
            if (status == EXIT_OK) {
                status = leave(k);
            }
            first = i + 1;
        }
    }
    if (status == EXIT_OK && first < count) {
        status = statement(k, words + first, count - first);
    }
    return status;
}

/* Blanks around braces, so that they become words; '!' begins a comment as '#' does. out has
 * room for three times the line. */
static void space_braces(const char *line, char *out)
{
    size_t used = 0;

    for (; *line != '\0'; line++) {
        if (*line == '!' &&
            (used == 0 || out[used - 1] == ' ' || out[used - 1] == '\t')) {
            break;
        }
        if (*line == '{' && used > 0 && out[used - 1] == '$') {
            /* A variable that nobody defined: one word. */
            size_t length = strcspn(line, "}");
            length += line[length] != '\0';
            memcpy(out + used, line, length);
            used += length;
            line += length - 1;
        } else if (*line == '{' || *line == '}') {
            out[used++] = ' ';
            out[used++] = *line;
            out[used++] = ' ';
        } else {
            out[used++] = *line;
        }
    }
    out[used] = '\0';
}

static int parse_text_line(struct keepalived *k, const char *line)
{
    char *words[POOL_WORDS_MAX];

    if (*line == '$') {
        return define(k, line);
    }
    if (strstr(line, "~SEQ") != NULL || strstr(line, "~LST") != NULL) {
        return pool_error(k->parse,
                          "~SEQ and ~LST are not read: write out what they stand for");
    }
    char *expanded;
    int status = expand(k, line, &expanded);
    if (status != EXIT_OK) {
        return status;
    }
    char *spaced = malloc(3 * strlen(expanded) + 1);
    if (spaced == NULL) {
        status = memory_error(k->parse->command);
    } else {
        space_braces(expanded, spaced);
        status = parse_line(k, words, pool_split(spaced, words));
    }
    free(spaced);
    free(expanded);
    return status;
}

static int parse_text(struct keepalived *k, char *text)
{
    char *line;
    int status = EXIT_OK;

    while (status == EXIT_OK && (line = pool_next_line(k->parse, &text)) != NULL) {
        status = parse_text_line(k, line);
    }
    return status;
}

int pool_parse_keepalived(struct pool_parse *parse, char *text)
{
    struct keepalived k = {.parse = parse};
    int status = parse_text(&k, text);

    if (status == EXIT_OK && k.nesting > 0) {
        return pool_error(parse, "a '{' is never closed");
    }
    return status;
}
