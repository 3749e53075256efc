/* SPDX-License-Identifier: MIT */
/*
 * Scripts of ipvsadm commands, and the rules that ipvsadm -S prints. A script is replayed: up
 * to the first "sleep" its commands build the pool, after it they are events of the replay.
 */
#include <stdio.h>
#include <string.h>

#include "../base/errors.h"
#include "../base/values.h"
#include "../policy/policy.h"
#include "parse.h"
#include "rule.h"

static int name_service(struct pool_parse *parse, const struct rule *rule,
                        char name[POOL_WORD], struct locus_address *address)
{
    static const char *const protocols[] = {
        ['t'] = "tcp", ['u'] = "udp", ['f'] = "fwmark", ['T'] = "sctp"};

    memset(address, 0, sizeof(*address));
    if (rule->service == NULL) {
        return pool_error(parse, "-%c needs a service: -t, -u or -f", rule->command);
    }
    if (rule->proto != 'f' && !pool_address(rule->service, 0, address)) {
        return pool_error(parse, "-%c: expected ADDRESS:PORT, not '%s'", rule->proto,
                          rule->service);
    }
    snprintf(name, POOL_WORD, "%s %s", protocols[(unsigned char)rule->proto],
             rule->service);
    return EXIT_OK;
}

static int read_server(struct pool_parse *parse, const struct rule *rule,
                       const struct pool_service *service, struct server_spec *spec)
{
    int status = EXIT_OK;

    *spec = (struct server_spec){
        .weight = 1,
        .weighted = true,
        .forward = rule->forward != 0 ? rule->forward : 'g', /* ipvsadm's default */
    };
    if (rule->server == NULL) {
        return pool_error(parse, "-%c needs a server: -r ADDRESS[:PORT]",
                          rule->command);
    }
    if (!pool_address(rule->server, service->address.port, &spec->address)) {
        return pool_error(parse, "-r: expected ADDRESS[:PORT], not '%s'", rule->server);
    }
    server_name(&spec->address, rule->server, spec->name);
    if (rule->weight != NULL) {
        status = pool_number(parse, "-w", rule->weight, &spec->weight);
    }
    if (status == EXIT_OK && rule->upper != NULL) {
        status = pool_number(parse, "-x", rule->upper, &spec->upper);
    }
    if (status == EXIT_OK && rule->lower != NULL) {
        status = pool_number(parse, "-y", rule->lower, &spec->lower);
    }
    return status;
}

/* -a, -e or -d before the replay begins. */
static int build(struct pool_parse *parse, const struct rule *rule,
                 struct server_list *list, const struct server_spec *spec)
{
    int64_t found = servers_find(list, &spec->address);

    if (rule->command == 'a') {
        return pool_add_server(parse, list, spec);
    }
    if (found < 0) {
        return pool_error(parse, "-%c: no server '%s'", rule->command, spec->name);
    }
    if (rule->command == 'd') {
        servers_drop(list, (size_t)found);
    } else {
        list->items[found].weight = spec->weight;
        list->items[found].upper = spec->upper;
        list->items[found].lower = spec->lower;
        list->items[found].forward = spec->forward;
    }
    return EXIT_OK;
}

static int push_event(struct pool_parse *parse, struct server_list *list,
                      enum server_event_kind kind, uint64_t at_ns, int64_t server,
                      const struct server_spec *spec)
{
    struct server_event event = {
        .at_ns = at_ns,
        .kind = kind,
        .server = (uint32_t)server,
        .weight = spec->weight,
        .upper = spec->upper,
        .lower = spec->lower,
    };

    return servers_add_event(list, &event) == LOCUS_OK ? EXIT_OK
                                                       : memory_error(parse->command);
}

/* The same while it runs. */
static int change(struct pool_parse *parse, const struct rule *rule,
                  struct server_list *list, struct server_spec *spec)
{
    int64_t found = servers_find(list, &spec->address);
    int status = EXIT_OK;

    if (found < 0 && rule->command != 'a') {
        return pool_error(parse, "-%c: no server '%s'", rule->command, spec->name);
    }
    if (found < 0) {
        spec->later = true;
        status = pool_add_server(parse, list, spec);
        found = (int64_t)list->count - 1;
    }
    if (status != EXIT_OK) {
        return status;
    }
    switch (rule->command) {
    case 'a':
        return push_event(parse, list, EVENT_ADD, rule->at_ns, found, spec);
    case 'd':
        return push_event(parse, list, EVENT_REMOVE, rule->at_ns, found, spec);
    default:
        status = push_event(parse, list, EVENT_WEIGHT, rule->at_ns, found, spec);
        if (status == EXIT_OK) {
            status =
                push_event(parse, list, EVENT_THRESHOLDS, rule->at_ns, found, spec);
        }
        return status;
    }
}

/* -C, and -D of one service. */
static int clear(struct pool_parse *parse, const struct rule *rule,
                 struct server_list *list)
{
    static const struct server_spec none;
    int status = EXIT_OK;

    if (rule->at_ns == 0) {
        servers_clear(list);
        return EXIT_OK;
    }
    for (size_t i = 0; status == EXIT_OK && i < list->count; i++) {
        status = push_event(parse, list, EVENT_REMOVE, rule->at_ns, (int64_t)i, &none);
    }
    return status;
}

/* -E -s, or -A after -C, while it runs: for every policy that is compared. */
static int change_scheduler(struct pool_parse *parse, const struct rule *rule,
                            uint32_t flags, struct server_list *list)
{
    struct server_event event = {
        .at_ns = rule->at_ns,
        .kind = EVENT_SCHEDULER,
        .flags = flags,
    };
    struct policy policy;

    if (!policy_parse(rule->scheduler, strlen(rule->scheduler), &policy) ||
        policy.ops != NULL) {
        return pool_error(parse, "-s: no scheduler '%s'", rule->scheduler);
    }
    snprintf(event.scheduler, sizeof(event.scheduler), "%s", policy.scheduler);
    event.load_bound_percent = policy.load_bound_percent;
    return servers_add_event(list, &event) == LOCUS_OK ? EXIT_OK
                                                       : memory_error(parse->command);
}

/* -A and -E. A service that is edited without flags has none any more. */
static int set_scheduler(struct pool_parse *parse, const struct rule *rule,
                         struct pool_service *service)
{
    uint32_t flags = 0;
    int status =
        rule->flags != NULL ? pool_flags(parse, "-b", rule->flags, &flags) : EXIT_OK;

    if (status != EXIT_OK || rule->scheduler == NULL) {
        return status;
    }
    if (rule->at_ns > 0) {
        return change_scheduler(parse, rule, flags, &service->list);
    }
    snprintf(service->list.scheduler, sizeof(service->list.scheduler), "%s",
             rule->scheduler);
    service->flags = flags;
    return EXIT_OK;
}

static int obey(struct pool_parse *parse, const struct rule *rule)
{
    struct locus_address address;
    struct server_spec spec;
    char name[POOL_WORD];
    int status = EXIT_OK;

    if (rule->command == 0) {
        return EXIT_OK;
    }
    if (rule->command == 'C') {
        for (size_t i = 0; status == EXIT_OK && i < parse->count; i++) {
            status = clear(parse, rule, &parse->services[i].list);
        }
        return status;
    }
    status = name_service(parse, rule, name, &address);
    if (status != EXIT_OK) {
        return status;
    }
    struct pool_service *service = pool_service_get(parse, name);
    if (service == NULL) {
        return memory_error(parse->command);
    }
    service->address = address;
    if (rule->command == 'D') {
        return clear(parse, rule, &service->list);
    }
    if (rule->command == 'A' || rule->command == 'E') {
        return set_scheduler(parse, rule, service);
    }
    status = read_server(parse, rule, service, &spec);
    if (status != EXIT_OK) {
        return status;
    }
    return rule->at_ns == 0 ? build(parse, rule, &service->list, &spec)
                            : change(parse, rule, &service->list, &spec);
}

static bool is_ipvsadm(const char *word)
{
    const char *slash = strrchr(word, '/');

    return strcmp(slash != NULL ? slash + 1 : word, "ipvsadm") == 0;
}

static int sleep_line(struct pool_parse *parse, char **words, size_t count,
                      uint64_t *now_ns)
{
    uint64_t time_ns;

    if (count != 2 || !read_duration_ns(words[1], strlen(words[1]), &time_ns) ||
        __builtin_add_overflow(*now_ns, time_ns, now_ns)) {
        return pool_error(parse, "sleep: expected a time, not '%s'",
                          count > 1 ? words[1] : "nothing");
    }
    return EXIT_OK;
}

static int script_line(struct pool_parse *parse, char *line, uint64_t *now_ns)
{
    char *words[POOL_WORDS_MAX];
    struct rule rule = {.at_ns = *now_ns};
    size_t count = pool_split(line, words);
    size_t first = 0;

    if (count == 0) {
        return EXIT_OK;
    }
    if (strcmp(words[0], "sleep") == 0) {
        return sleep_line(parse, words, count, now_ns);
    }
    if (first + 1 < count && strcmp(words[first], "sudo") == 0) {
        first++;
    }
    if (is_ipvsadm(words[first])) {
        first++;
    } else if (words[first][0] != '-') {
        pool_skip_word(parse, words[first]);
        return EXIT_OK;
    }
    if (first < count && strcmp(words[first], "--set") == 0) {
        return EXIT_OK;
    }
    int status = rule_read(parse, words + first, count - first, &rule);
    return status == EXIT_OK ? obey(parse, &rule) : status;
}

int pool_parse_script(struct pool_parse *parse, char *text)
{
    uint64_t now_ns = 0;
    int status = EXIT_OK;
    char *line;

    while (status == EXIT_OK && (line = pool_next_line(parse, &text)) != NULL) {
        status = script_line(parse, line, &now_ns);
    }
    return status;
}
