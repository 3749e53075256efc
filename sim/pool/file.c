/* SPDX-License-Identifier: MIT */
#include "file.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/errors.h"
#include "../base/values.h"
#include "../policy/policy.h"
#include "parse.h"

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

int pool_out_of_memory(const struct pool_parse *parse)
{
    fprintf(stderr, "locus %s: out of memory\n", parse->command);
    return EXIT_RUNTIME;
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
    return status == LOCUS_OK ? EXIT_OK : pool_out_of_memory(parse);
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

static int list_line(struct pool_parse *parse, struct pool_service *service, char *line)
{
    struct server_spec spec = {.weight = 1};
    char *words[POOL_WORDS_MAX];
    char *comma;

    while ((comma = strpbrk(line, ",;*")) != NULL) {
        *comma = ' ';
    }
    size_t count = pool_split(line, words);
    if (count == 0) {
        return EXIT_OK;
    }
    if (count > 2 || !pool_address(words[0], 0, &spec.address)) {
        return pool_error(parse, "expected ADDRESS[:PORT] [WEIGHT], not '%s'%s",
                          words[0], count > 2 ? " and more" : "");
    }
    server_name(&spec.address, words[0], spec.name);
    spec.weighted = count == 2;
    int status = count == 2 ? pool_number(parse, "weight", words[1], &spec.weight) : 0;
    return status == EXIT_OK ? pool_add_server(parse, &service->list, &spec) : status;
}

static int parse_list(struct pool_parse *parse, char *text)
{
    struct pool_service *service = pool_service_get(parse, "list");
    int status = service != NULL ? EXIT_OK : pool_out_of_memory(parse);
    char *line;

    while (status == EXIT_OK && (line = pool_next_line(parse, &text)) != NULL) {
        status = list_line(parse, service, line);
    }
    return status;
}

/* ---- which kind, which service --------------------------------------------------- */

static bool has_word(const char *text, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = text; (at = strstr(at, word)) != NULL; at += length) {
        bool starts = at == text || isspace((unsigned char)at[-1]) || at[-1] == '/';
        if (starts && (isspace((unsigned char)at[length]) || at[length] == '\0')) {
            return true;
        }
    }
    return false;
}

/* A line that begins with an ipvsadm command letter, as ipvsadm -S writes them. */
static bool has_rule_line(const char *text)
{
    while (text != NULL && *text != '\0') {
        text += strspn(text, " \t");
        if (text[0] == '-' && text[1] != '\0' && strchr("AaEeDdC-", text[1]) != NULL) {
            return true;
        }
        const char *end = strchr(text, '\n');
        text = end != NULL ? end + 1 : NULL;
    }
    return false;
}

static int parse_any(struct pool_parse *parse, char *text, enum pool_kind *kind)
{
    *kind = POOL_IPVSADM;
    if (has_word(text, "virtual_server")) {
        *kind = POOL_KEEPALIVED;
        return pool_parse_keepalived(parse, text);
    }
    if (has_word(text, "->")) {
        return pool_parse_table(parse, text);
    }
    if (has_word(text, "ipvsadm") || has_rule_line(text)) {
        return pool_parse_script(parse, text);
    }
    *kind = POOL_LIST;
    return parse_list(parse, text);
}

static bool is_service(const struct pool_service *service, const char *wanted)
{
    const char *behind = strchr(service->name, ' ');

    return strcmp(service->name, wanted) == 0 ||
           (behind != NULL && strcmp(behind + 1, wanted) == 0);
}

static void list_services(const struct pool_parse *parse)
{
    for (size_t i = 0; i < parse->count; i++) {
        fprintf(stderr, "  --service '%s' (%zu servers)\n", parse->services[i].name,
                parse->services[i].list.count);
    }
}

static struct pool_service *choose(const struct pool_parse *parse, const char *wanted)
{
    struct pool_service *found = NULL;
    size_t candidates = 0;

    for (size_t i = 0; i < parse->count; i++) {
        struct pool_service *service = &parse->services[i];
        if (wanted != NULL ? is_service(service, wanted) : service->list.count > 0) {
            found = service;
            candidates++;
        }
    }
    if (candidates == 1 && found->list.count > 0) {
        return found;
    }
    if (candidates > 1) {
        fprintf(stderr, "locus %s: %s: several services; say which:\n", parse->command,
                parse->path);
        list_services(parse);
    } else if (candidates == 1) {
        fprintf(stderr, "locus %s: %s: service '%s' has no servers\n", parse->command,
                parse->path, found->name);
    } else if (wanted != NULL) {
        fprintf(stderr, "locus %s: %s: no service '%s'; there are:\n", parse->command,
                parse->path, wanted);
        list_services(parse);
    } else {
        fprintf(stderr, "locus %s: %s: there is no server in it\n", parse->command,
                parse->path);
    }
    return NULL;
}

/* The scheduler's flags, behind its name as --policy takes them; it may have none. */
static void name_flags(const struct pool_parse *parse, struct pool_service *service)
{
    char *scheduler = service->list.scheduler;
    char text[sizeof(service->list.scheduler)];
    struct policy policy;

    if (service->flags == 0) {
        return;
    }
    if (policy_parse(scheduler, strlen(scheduler), &policy) &&
        policy_hashes_clients(&policy)) {
        policy_text(policy.scheduler, policy.flags | service->flags,
                    policy.load_bound_percent, text, sizeof(text));
        memcpy(scheduler, text, sizeof(text));
    } else {
        fprintf(stderr,
                "locus %s: %s: only sh and mh have flags; those of scheduler '%s' are "
                "skipped\n",
                parse->command, parse->path, scheduler);
    }
}

static void reverse_servers(struct server_list *list)
{
    servers_reverse(list);
    for (size_t i = 0; i < list->event_count; i++) {
        list->events[i].server = (uint32_t)list->count - 1 - list->events[i].server;
    }
}

int pool_file_read(const char *command, const char *path, const char *service,
                   bool reverse, struct server_list *list)
{
    struct pool_parse parse = {.command = command, .path = path};
    enum pool_kind kind = POOL_LIST;
    char *text;
    int status = pool_read_file(&parse, path, &text);

    if (status == EXIT_OK) {
        status = parse_any(&parse, text, &kind);
        parse.path = path;
    }
    if (status == EXIT_OK) {
        struct pool_service *chosen = choose(&parse, service);
        status = chosen != NULL ? EXIT_OK : EXIT_USAGE;
        if (chosen != NULL) {
            name_flags(&parse, chosen);
            *list = chosen->list;
            list->kind = kind;
            snprintf(list->service, sizeof(list->service), "%s",
                     kind == POOL_LIST ? "" : chosen->name);
            memset(&chosen->list, 0, sizeof(chosen->list));
            servers_sort_events(list);
        }
    }
    if (status == EXIT_OK && reverse) {
        reverse_servers(list);
    }
    for (size_t i = 0; i < parse.count; i++) {
        servers_free(&parse.services[i].list);
    }
    free(parse.services);
    free(text);
    return status;
}
