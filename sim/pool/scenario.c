/* SPDX-License-Identifier: MIT */
#include "scenario.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/errors.h"
#include "../base/values.h"
#include "../policy/policy.h"
#include "parse.h"

static const struct {
    const char *word;
    enum server_event_kind kind;
    size_t numbers; /* how many follow the server */
    const char *usage;
} event_words[] = {
    {"weight", EVENT_WEIGHT, 1, "weight SERVER N"},
    {"thresholds", EVENT_THRESHOLDS, 2, "thresholds SERVER UPPER LOWER"},
    {"add", EVENT_ADD, 1, "add SERVER WEIGHT"},
    {"remove", EVENT_REMOVE, 0, "remove SERVER"},
    {"fail", EVENT_FAIL, 0, "fail SERVER"},
    {"restore", EVENT_RESTORE, 0, "restore SERVER"},
    {"break", EVENT_BREAK, 0, "break SERVER"},
    {"mend", EVENT_MEND, 0, "mend SERVER"},
    {"scheduler", EVENT_SCHEDULER, 0, "scheduler NAME"},
    {"guard", EVENT_GUARD, 0, "guard N or guard N%"},
};
enum { EVENT_WORDS = sizeof(event_words) / sizeof(*event_words) };

void server_event_text(const struct server_list *list, const struct server_event *event,
                       char text[EVENT_TEXT])
{
    const char *server = list->items[event->server].name;
    const char *word = "";
    char scheduler[POLICY_TEXT];

    for (size_t i = 0; i < EVENT_WORDS; i++) {
        word = event_words[i].kind == event->kind ? event_words[i].word : word;
    }
    switch (event->kind) {
    case EVENT_WEIGHT:
    case EVENT_ADD:
        snprintf(text, EVENT_TEXT, "%s %s %" PRIu32, word, server, event->weight);
        break;
    case EVENT_THRESHOLDS:
        snprintf(text, EVENT_TEXT, "%s %s %" PRIu32 " %" PRIu32, word, server,
                 event->upper, event->lower);
        break;
    case EVENT_REMOVE:
    case EVENT_FAIL:
    case EVENT_RESTORE:
    case EVENT_BREAK:
    case EVENT_MEND:
        snprintf(text, EVENT_TEXT, "%s %s", word, server);
        break;
    case EVENT_SCHEDULER:
        policy_text(event->scheduler, event->flags, event->load_bound_percent,
                    scheduler, sizeof(scheduler));
        snprintf(text, EVENT_TEXT, "%s %s", word, scheduler);
        break;
    case EVENT_GUARD:
        snprintf(text, EVENT_TEXT, "%s %" PRIu32 "%s", word, event->floor,
                 event->percent ? "%" : "");
        break;
    }
}

/* "10.0.0.1" is enough where only one port is in use. How many servers have the address, with
 * any port; *found: one of them. */
static size_t find_portless(const struct server_list *list,
                            const struct locus_address *address, int64_t *found)
{
    size_t count = 0;

    for (size_t i = 0; i < list->count; i++) {
        struct server_spec spec = {.address = list->items[i].address};
        struct server_list one = {.items = &spec, .count = 1};
        spec.address.port = 0;
        if (servers_find(&one, address) == 0) {
            *found = (int64_t)i;
            count++;
        }
    }
    return count;
}

static int name_server(struct pool_parse *parse, struct server_list *list,
                       struct server_event *event, const char *text)
{
    struct server_spec spec = {.later = true, .weighted = true};
    int64_t found;

    if (!pool_address(text, 0, &spec.address)) {
        return pool_error(parse, "expected a server's address, not '%s'", text);
    }
    found = servers_find(list, &spec.address);
    if (found < 0 && spec.address.port == 0 &&
        find_portless(list, &spec.address, &found) > 1) {
        return pool_error(parse, "several servers '%s': say which port", text);
    }
    if (found < 0 && event->kind != EVENT_ADD) {
        return pool_error(parse, "no server '%s'", text);
    }
    if (found < 0) {
        server_name(&spec.address, text, spec.name);
        spec.weight = event->weight;
        found = (int64_t)list->count;
        int status = pool_add_server(parse, list, &spec);
        if (status != EXIT_OK) {
            return status;
        }
    }
    event->server = (uint32_t)found;
    return EXIT_OK;
}

static int name_scheduler(struct pool_parse *parse, struct server_event *event,
                          const char *text)
{
    struct policy policy;

    if (!policy_parse(text, strlen(text), &policy) || policy.ops != NULL) {
        return pool_error(parse, "scheduler: no scheduler '%s'", text);
    }
    snprintf(event->scheduler, sizeof(event->scheduler), "%s", policy.scheduler);
    event->flags = policy.flags;
    event->load_bound_percent = policy.load_bound_percent;
    return EXIT_OK;
}

/* "3" or "50%". */
static int read_floor(struct pool_parse *parse, struct server_event *event,
                      const char *text)
{
    size_t length = strlen(text);
    uint64_t floor;

    event->percent = length > 0 && text[length - 1] == '%';
    if (!read_number(text, length - event->percent, &floor) ||
        floor > (event->percent ? 100 : SERVERS_MAX)) {
        return pool_error(parse,
                          "guard: expected a number of servers or a percentage, "
                          "not '%s'",
                          text);
    }
    event->floor = (uint32_t)floor;
    return EXIT_OK;
}

static int read_numbers(struct pool_parse *parse, struct server_event *event,
                        char **words)
{
    int status = EXIT_OK;

    if (event->kind == EVENT_WEIGHT || event->kind == EVENT_ADD) {
        status = pool_number(parse, "weight", words[3], &event->weight);
    } else if (event->kind == EVENT_THRESHOLDS) {
        status = pool_number(parse, "upper threshold", words[3], &event->upper);
        if (status == EXIT_OK) {
            status = pool_number(parse, "lower threshold", words[4], &event->lower);
        }
        if (status == EXIT_OK && event->lower > event->upper) {
            status = pool_error(parse, "the lower threshold is above the upper one");
        }
    }
    return status;
}

static int scenario_line(struct pool_parse *parse, struct server_list *list,
                         char **words, size_t count)
{
    struct server_event event = {.kind = EVENT_WEIGHT};
    size_t kind = 0;
    int status;

    while (kind < EVENT_WORDS &&
           (count < 2 || strcmp(words[1], event_words[kind].word) != 0)) {
        kind++;
    }
    if (kind == EVENT_WORDS) {
        return pool_error(
            parse,
            "expected TIME and weight, thresholds, add, remove, fail, restore, break, "
            "mend, scheduler or guard, not '%s'",
            count < 2 ? words[0] : words[1]);
    }
    if (!read_duration_ns(words[0], strlen(words[0]), &event.at_ns)) {
        return pool_error(parse, "expected a time such as 90, 250ms or 2h, not '%s'",
                          words[0]);
    }
    if (count != 3 + event_words[kind].numbers) {
        return pool_error(parse, "expected TIME %s", event_words[kind].usage);
    }
    event.kind = event_words[kind].kind;
    status = read_numbers(parse, &event, words);
    if (status == EXIT_OK && event.kind == EVENT_SCHEDULER) {
        status = name_scheduler(parse, &event, words[2]);
    } else if (status == EXIT_OK && event.kind == EVENT_GUARD) {
        status = read_floor(parse, &event, words[2]);
    } else if (status == EXIT_OK) {
        status = name_server(parse, list, &event, words[2]);
    }
    if (status == EXIT_OK && servers_add_event(list, &event) != LOCUS_OK) {
        status = memory_error(parse->command);
    }
    return status;
}

/* Whether the event finds its server in a state that it would not change. */
static bool is_idle(const struct server_event *event, bool in_service)
{
    switch (event->kind) {
    case EVENT_ADD:
    case EVENT_RESTORE:
        return in_service;
    case EVENT_REMOVE:
    case EVENT_FAIL:
        return !in_service;
    case EVENT_WEIGHT:
    case EVENT_THRESHOLDS:
    case EVENT_BREAK:
    case EVENT_MEND:
    case EVENT_SCHEDULER:
    case EVENT_GUARD:
        break;
    }
    return false;
}

/* Says which events change nothing: most often the server's name was mistaken. Not where a
 * guard decides what takes place. */
static int report_idle_events(const struct pool_parse *parse,
                              const struct server_list *list)
{
    bool *out = calloc(list->count + 1, sizeof(*out));
    char text[EVENT_TEXT];

    if (out == NULL) {
        return memory_error(parse->command);
    }
    for (size_t i = 0; i < list->count; i++) {
        out[i] = list->items[i].later;
    }
    for (size_t i = 0; i < list->event_count && list->events[i].kind != EVENT_GUARD;
         i++) {
        const struct server_event *event = &list->events[i];
        if (is_idle(event, !out[event->server])) {
            server_event_text(list, event, text);
            fprintf(stderr, "locus %s: %s: '%s' changes nothing: the server is %s\n",
                    parse->command, parse->path, text,
                    out[event->server] ? "not in service" : "in service");
        }
        if (event->kind == EVENT_REMOVE || event->kind == EVENT_FAIL) {
            out[event->server] = true;
        } else if (event->kind == EVENT_ADD || event->kind == EVENT_RESTORE) {
            out[event->server] = false;
        }
    }
    free(out);
    return EXIT_OK;
}

int scenario_read(const char *command, const char *path, struct server_list *list)
{
    struct pool_parse parse = {.command = command, .path = path};
    char *words[POOL_WORDS_MAX];
    char *text, *line;
    int status = pool_read_file(&parse, path, &text);
    char *rest = text;

    while (status == EXIT_OK && (line = pool_next_line(&parse, &rest)) != NULL) {
        size_t count = pool_split(line, words);
        if (count > 0) {
            status = scenario_line(&parse, list, words, count);
        }
    }
    free(text);
    servers_sort_events(list);
    return status == EXIT_OK ? report_idle_events(&parse, list) : status;
}
