/* SPDX-License-Identifier: MIT */
/*
 * What ipvsadm prints and takes. A script is replayed: before any "sleep" its commands build
 * the pool, behind one they are events.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../base/errors.h"
#include "../base/values.h"
#include "../policy/policy.h"
#include "parse.h"

/* ---- scripts --------------------------------------------------------------------- */

enum takes { TAKES_NOTHING, TAKES_VALUE, TAKES_MAYBE };

static const struct {
    char letter; /* 0: none */
    const char *name;
    enum takes takes;
} known[] = {
    {'A', "add-service", TAKES_NOTHING},
    {'E', "edit-service", TAKES_NOTHING},
    {'D', "delete-service", TAKES_NOTHING},
    {'C', "clear", TAKES_NOTHING},
    {'a', "add-server", TAKES_NOTHING},
    {'e', "edit-server", TAKES_NOTHING},
    {'d', "delete-server", TAKES_NOTHING},
    {'t', "tcp-service", TAKES_VALUE},
    {'u', "udp-service", TAKES_VALUE},
    {'f', "fwmark-service", TAKES_VALUE},
    {'T', "sctp-service", TAKES_VALUE}, /* no letter of ipvsadm's; ours */
    {'r', "real-server", TAKES_VALUE},
    {'w', "weight", TAKES_VALUE},
    {'x', "u-threshold", TAKES_VALUE},
    {'y', "l-threshold", TAKES_VALUE},
    {'s', "scheduler", TAKES_VALUE},
    {'p', "persistent", TAKES_MAYBE},
    {'M', "netmask", TAKES_VALUE},
    {'b', "sched-flags", TAKES_VALUE},
    {'o', "ops", TAKES_NOTHING},
    {'g', "gatewaying", TAKES_NOTHING},
    {'m', "masquerading", TAKES_NOTHING},
    {'i', "ipip", TAKES_NOTHING},
    {'6', "ipv6", TAKES_NOTHING},
    {'n', "numeric", TAKES_NOTHING},
    {'L', "list", TAKES_NOTHING},
    {'l', "list", TAKES_NOTHING},
    {'S', "save", TAKES_NOTHING},
    {'R', "restore", TAKES_NOTHING},
    {'Z', "zero", TAKES_NOTHING},
    {0, "pe", TAKES_VALUE},
    {0, "tun-type", TAKES_VALUE},
    {0, "tun-port", TAKES_VALUE},
    {0, "tun-nocsum", TAKES_NOTHING},
    {0, "tun-csum", TAKES_NOTHING},
    {0, "tun-remcsum", TAKES_NOTHING},
    {0, "exact", TAKES_NOTHING},
};
enum { KNOWN = sizeof(known) / sizeof(*known) };

/* One command line: which command letter, and the values by letter. */
struct rule {
    char command; /* A E D C a e d, or 0 */
    char proto;   /* t u f T */
    char forward; /* g m i */
    const char *scheduler, *flags;
    const char *service, *server, *weight, *upper, *lower;
    uint64_t at_ns;
};

static void take_option(struct rule *rule, char letter, const char *value)
{
    switch (letter) {
    case 'A':
    case 'E':
    case 'D':
    case 'C':
    case 'a':
    case 'e':
    case 'd':
        rule->command = letter;
        break;
    case 't':
    case 'u':
    case 'f':
    case 'T':
        rule->proto = letter;
        rule->service = value;
        break;
    case 'g':
    case 'm':
    case 'i':
        rule->forward = letter;
        break;
    case 's':
        rule->scheduler = value;
        break;
    case 'b':
        rule->flags = value;
        break;
    case 'r':
        rule->server = value;
        break;
    case 'w':
        rule->weight = value;
        break;
    case 'x':
        rule->upper = value;
        break;
    case 'y':
        rule->lower = value;
        break;
    default:
        break;
    }
}

static int find_letter(char letter)
{
    for (int i = 0; i < KNOWN; i++) {
        if (known[i].letter == letter && letter != 'T') {
            return i;
        }
    }
    return -1;
}

static int find_name(const char *name, size_t length)
{
    for (int i = 0; i < KNOWN; i++) {
        if (strlen(known[i].name) == length &&
            memcmp(known[i].name, name, length) == 0) {
            return i;
        }
    }
    return -1;
}

/* What an option's word says. */
struct option_word {
    int option;        /* of known[]; -1: none */
    const char *value; /* joined to it; NULL: none */
    bool is_long;
};

/* The letters of "-Lnw5" one after the other; at is in front of the one that is next. */
static struct option_word option_of(const char *at, bool is_long)
{
    struct option_word o = {.is_long = is_long};

    if (is_long) {
        const char *equals = strchr(at, '=');
        o.value = equals != NULL ? equals + 1 : NULL;
        o.option = find_name(at + 2, strcspn(at + 2, "="));
    } else {
        o.value = at[2] != '\0' ? at + 2 : NULL;
        o.option = find_letter(at[1]);
    }
    return o;
}

/* words[0] is an option; returns how many words it took, 0 after an error. */
static size_t read_option(struct pool_parse *parse, struct rule *rule, char **words,
                          size_t count)
{
    const char *at = words[0];
    struct option_word o = option_of(at, at[1] == '-');

    while (o.option >= 0 && known[o.option].takes == TAKES_NOTHING) {
        take_option(rule, known[o.option].letter, NULL);
        if (o.is_long || o.value == NULL) {
            return 1;
        }
        o = option_of(++at, false);
    }
    if (o.option < 0) {
        pool_skip_word(parse, at == words[0] ? at : at + 1);
        return 1;
    }
    char letter = known[o.option].letter;
    bool needed = known[o.option].takes == TAKES_VALUE;
    if (o.value != NULL) {
        take_option(rule, letter, o.value);
        return 1;
    }
    if (count > 1 && (words[1][0] != '-' || needed)) {
        take_option(rule, letter, words[1]);
        return 2;
    }
    if (needed) {
        pool_error(parse, "%s needs a value", words[0]);
        return 0;
    }
    return 1;
}

static int read_rule(struct pool_parse *parse, char **words, size_t count,
                     struct rule *rule)
{
    for (size_t i = 0; i < count;) {
        if (words[i][0] != '-' || words[i][1] == '\0') {
            /* ipvsadm 1.26 wrote "pe sip" and "ops" without dashes. */
            if (strcmp(words[i], "pe") == 0) {
                i++;
            } else if (strcmp(words[i], "ops") != 0) {
                pool_skip_word(parse, words[i]);
            }
            i++;
            continue;
        }
        size_t taken = read_option(parse, rule, words + i, count - i);
        if (taken == 0) {
            return EXIT_USAGE;
        }
        i += taken;
    }
    return EXIT_OK;
}

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
                                                       : pool_out_of_memory(parse);
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

/* "sh-fallback,sh-port", up to the end or a parenthesis. */
static int read_flags(struct pool_parse *parse, const char *field, const char *text,
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
                                                       : pool_out_of_memory(parse);
}

/* -A and -E. A service that is edited without flags has none any more. */
static int set_scheduler(struct pool_parse *parse, const struct rule *rule,
                         struct pool_service *service)
{
    uint32_t flags = 0;
    int status =
        rule->flags != NULL ? read_flags(parse, "-b", rule->flags, &flags) : EXIT_OK;

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
        return pool_out_of_memory(parse);
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
    int status = read_rule(parse, words + first, count - first, &rule);
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

/* ---- tables ---------------------------------------------------------------------- */

enum layout { LAYOUT_CONNECTIONS, LAYOUT_THRESHOLDS, LAYOUT_OTHER };

static enum layout layout_of(char **words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcasecmp(words[i], "Uthreshold") == 0) {
            return LAYOUT_THRESHOLDS;
        }
        if (strcmp(words[i], "Weight") == 0) {
            return LAYOUT_CONNECTIONS;
        }
        if (strcmp(words[i], "Conns") == 0 || strcmp(words[i], "CPS") == 0) {
            return LAYOUT_OTHER;
        }
    }
    return LAYOUT_CONNECTIONS;
}

static char forward_letter(const char *word)
{
    switch (word[0]) {
    case 'M':
        return 'm';
    case 'T':
        return 'i';
    default:
        return 'g';
    }
}

/* Adds the connections of one column to those of the service. */
static int table_connections(struct pool_parse *parse, struct pool_service *service,
                             const char *column, const char *word, uint32_t *out)
{
    service->connections -= *out; /* as the other of the two tables said */
    int status = pool_number(parse, column, word, out);
    service->connections += *out;
    if (status == EXIT_OK && service->connections > POOL_CONNECTIONS_MAX) {
        return pool_error(
            parse,
            "%s: expected at most %d connections in a service, active and "
            "inactive; with these '%s' there are %llu",
            column, POOL_CONNECTIONS_MAX, word,
            (unsigned long long)service->connections);
    }
    return status;
}

/* "-> ADDRESS Forward Weight Active InActive" or "-> ADDRESS Upper Lower Active InActive". */
static int table_server(struct pool_parse *parse, struct pool_service *service,
                        enum layout layout, char **words, size_t count)
{
    struct server_list *list = &service->list;
    struct server_spec spec = {.weight = 1};
    struct server_spec *target = &spec;
    int status = EXIT_OK;

    if (layout == LAYOUT_OTHER || count < 6) {
        return pool_error(parse,
                          "expected '-> ADDRESS FORWARD WEIGHT ACTIVE INACTIVE', as "
                          "ipvsadm -Ln prints it");
    }
    if (!pool_address(words[1], 0, &spec.address)) {
        return pool_error(parse, "expected an address, not '%s'", words[1]);
    }
    server_name(&spec.address, words[1], spec.name);
    int64_t found = servers_find(list, &spec.address);
    if (found >= 0) { /* the other of the two tables had it */
        target = &list->items[found];
    }
    if (layout == LAYOUT_CONNECTIONS) {
        target->forward = forward_letter(words[2]);
        target->weighted = true;
        status = pool_number(parse, "Weight", words[3], &target->weight);
    } else {
        status = pool_number(parse, "Uthreshold", words[2], &target->upper);
        if (status == EXIT_OK) {
            status = pool_number(parse, "Lthreshold", words[3], &target->lower);
        }
    }
    if (status == EXIT_OK) {
        status =
            table_connections(parse, service, "ActiveConn", words[4], &target->active);
    }
    if (status == EXIT_OK) {
        status =
            table_connections(parse, service, "InActConn", words[5], &target->inactive);
    }
    return status == EXIT_OK && found < 0 ? pool_add_server(parse, list, &spec)
                                          : status;
}

static int compare_addresses(const struct locus_address *a,
                             const struct locus_address *b)
{
    int order = a->family == LOCUS_IPV4
                    ? (a->key.ipv4 > b->key.ipv4) - (a->key.ipv4 < b->key.ipv4)
                    : memcmp(a->key.bytes, b->key.bytes, sizeof(a->key.bytes));

    return order != 0 ? order : (int)a->port - (int)b->port;
}

/*
 * A kernel lists the newest server first, so what was added first stands last. ipvsadm sorts
 * by address unless told not to; then nobody knows, and the file's order is as good as any.
 */
static void restore_order(struct server_list *list)
{
    bool ascending = true;

    for (size_t i = 1; i < list->count; i++) {
        ascending = ascending && compare_addresses(&list->items[i - 1].address,
                                                   &list->items[i].address) < 0;
    }
    if (!ascending) {
        servers_reverse(list);
    }
}

static const char *table_protocol(const char *word)
{
    static const char *const names[][2] = {
        {"TCP", "tcp"}, {"UDP", "udp"}, {"SCTP", "sctp"}, {"FWM", "fwmark"}};

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (strcmp(word, names[i][0]) == 0) {
            return names[i][1];
        }
    }
    return NULL;
}

int pool_parse_table(struct pool_parse *parse, char *text)
{
    enum layout layout = LAYOUT_CONNECTIONS;
    size_t current = SIZE_MAX;
    char *words[POOL_WORDS_MAX];
    char name[POOL_WORD];
    char *line;
    int status = EXIT_OK;

    while (status == EXIT_OK && (line = pool_next_line(parse, &text)) != NULL) {
        size_t count = pool_split(line, words);
        if (count == 0 || strcmp(words[0], "IP") == 0) {
            continue;
        }
        if (strcmp(words[0], "Prot") == 0) {
            layout = layout_of(words, count);
        } else if (strcmp(words[0], "->") == 0 && count > 1 &&
                   strncmp(words[1], "RemoteAddress", 13) == 0) {
            layout = layout == LAYOUT_CONNECTIONS ? layout_of(words, count) : layout;
        } else if (strcmp(words[0], "->") == 0) {
            status = current == SIZE_MAX
                         ? pool_error(parse, "a server before any service")
                         : table_server(parse, &parse->services[current], layout, words,
                                        count);
        } else if (table_protocol(words[0]) != NULL && count > 1) {
            snprintf(name, sizeof(name), "%s %s", table_protocol(words[0]), words[1]);
            struct pool_service *service = pool_service_get(parse, name);
            status = service != NULL ? EXIT_OK : pool_out_of_memory(parse);
            current = service != NULL ? (size_t)(service - parse->services) : SIZE_MAX;
            if (service != NULL && count > 2) {
                snprintf(service->list.scheduler, sizeof(service->list.scheduler), "%s",
                         words[2]);
            }
            if (service != NULL && count > 3 && words[3][0] == '(') {
                status = read_flags(parse, "Flags", words[3] + 1, &service->flags);
            }
        } else {
            pool_skip_word(parse, words[0]);
        }
    }
    for (size_t i = 0; i < parse->count; i++) {
        restore_order(&parse->services[i].list);
    }
    return status;
}
