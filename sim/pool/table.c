/* SPDX-License-Identifier: MIT */
/*
 * The table that ipvsadm -Ln prints, with connections or with --thresholds, and the one in
 * /proc/net/ip_vs. A file may hold both tables of a service, one after the other.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "../base/errors.h"
#include "parse.h"

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
            status = service != NULL ? EXIT_OK : memory_error(parse->command);
            current = service != NULL ? (size_t)(service - parse->services) : SIZE_MAX;
            if (service != NULL && count > 2) {
                snprintf(service->list.scheduler, sizeof(service->list.scheduler), "%s",
                         words[2]);
            }
            if (service != NULL && count > 3 && words[3][0] == '(') {
                status = pool_flags(parse, "Flags", words[3] + 1, &service->flags);
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
