/* SPDX-License-Identifier: MIT */
/* Reads a pool file: finds its kind, has it parsed, and chooses the service. */
#include "file.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/errors.h"
#include "../policy/policy.h"
#include "parse.h"

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

static bool is_keepalived(const char *text)
{
    return has_word(text, "virtual_server");
}

static bool is_table(const char *text)
{
    return has_word(text, "->");
}

static bool is_script(const char *text)
{
    return has_word(text, "ipvsadm") || has_rule_line(text);
}

static bool is_anything(const char *text)
{
    (void)text;
    return true;
}

/* The kinds of pool files, a file each. The first that recognises the text reads it. */
static const struct {
    enum pool_kind kind;
    bool (*recognise)(const char *text);
    int (*parse)(struct pool_parse *parse, char *text);
} kinds[] = {
    {POOL_KEEPALIVED, is_keepalived, pool_parse_keepalived},
    {POOL_IPVSADM, is_table, pool_parse_table},
    {POOL_IPVSADM, is_script, pool_parse_script},
    {POOL_LIST, is_anything, pool_parse_list},
};

static int parse_any(struct pool_parse *parse, char *text, enum pool_kind *kind)
{
    size_t i = 0;

    while (!kinds[i].recognise(text)) { /* the last one takes anything */
        i++;
    }
    *kind = kinds[i].kind;
    return kinds[i].parse(parse, text);
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
