/* SPDX-License-Identifier: MIT */
/*
 * The value of --servers: a number of servers, or their addresses with weight, capacity and
 * thresholds.
 */
#include <stdio.h>
#include <string.h>

#include "../base/errors.h"
#include "../base/values.h"
#include "servers.h"

static int make_numbered(const char *command, uint64_t count, struct server_list *list)
{
    for (uint32_t i = 1; i <= count; i++) {
        struct server_spec spec = {
            .address = {.family = LOCUS_IPV4,
                        .port = 80,
                        .key = {.ipv4 = 0x0a000000u + i}},
        };
        locus_address_format(&spec.address, spec.name, sizeof(spec.name));
        if (servers_add(list, &spec) != LOCUS_OK) {
            return memory_error(command);
        }
    }
    return EXIT_OK;
}

static bool parse_number(const char *text, const char *end, uint32_t *out)
{
    uint64_t value;

    if (!read_number(text, (size_t)(end - text), &value) || value > LOCUS_WEIGHT_MAX) {
        return false;
    }
    *out = (uint32_t)value;
    return true;
}

/* "40", "1@40" */
static bool parse_weight(const char *text, const char *end, struct server_spec *spec)
{
    const char *at = memchr(text, '@', (size_t)(end - text));

    return parse_number(text, at != NULL ? at : end, &spec->weight) &&
           (at == NULL ||
            (parse_number(at + 1, end, &spec->capacity) && spec->capacity > 0));
}

/* "40", "1@40", "40/200", "40/200/150" */
static bool parse_numbers(const char *text, size_t length, struct server_spec *spec)
{
    uint32_t *const thresholds[] = {&spec->upper, &spec->lower};
    const char *end = text + length;

    for (size_t i = 0; i < 3; i++) {
        const char *slash = memchr(text, '/', (size_t)(end - text));
        const char *stop = slash != NULL ? slash : end;
        if (i == 0 ? !parse_weight(text, stop, spec)
                   : !parse_number(text, stop, thresholds[i - 1])) {
            return false;
        }
        if (slash == NULL) {
            return spec->lower <= spec->upper;
        }
        text = slash + 1;
    }
    return false;
}

static int parse_one(const char *command, const char *text, size_t length,
                     struct server_list *list)
{
    const char *star = memchr(text, '*', length);
    size_t address = star != NULL ? (size_t)(star - text) : length;
    struct server_spec spec = {.weight = 1, .weighted = star != NULL};
    char written[SERVER_NAME_SIZE] = "";

    if (address >= sizeof(written) ||
        !server_address_parse(text, address, &spec.address)) {
        return usage_error(command,
                           "--servers: expected a number of servers or "
                           "ADDRESS[:PORT][*WEIGHT],..., not '%.*s'",
                           (int)length, text);
    }
    if (star != NULL && !parse_numbers(star + 1, length - address - 1, &spec)) {
        return usage_error(
            command,
            "--servers: expected WEIGHT[@CAPACITY][/UPPER[/LOWER]] behind '*', each "
            "from 0 (CAPACITY: 1) to %d, not '%.*s'",
            LOCUS_WEIGHT_MAX, (int)(length - address - 1), star + 1);
    }
    if (servers_find(list, &spec.address) >= 0) {
        return usage_error(command, "--servers: '%.*s' is there twice", (int)address,
                           text);
    }
    memcpy(written, text, address);
    server_name(&spec.address, written, spec.name);
    int status = servers_add(list, &spec);
    if (status == LOCUS_EFULL) {
        return usage_error(command, "--servers: more than %d servers", SERVERS_MAX);
    }
    return status == LOCUS_OK ? EXIT_OK : memory_error(command);
}

int servers_parse(const char *command, const char *text, struct server_list *list)
{
    uint64_t count;
    int status = EXIT_OK;

    if (read_number(text, strlen(text), &count)) {
        if (count < 1 || count > SERVERS_MAX) {
            return usage_error(command, "--servers: expected 1 to %d servers, not '%s'",
                               SERVERS_MAX, text);
        }
        return make_numbered(command, count, list);
    }
    for (const char *item = text; status == EXIT_OK; item++) {
        size_t length = strcspn(item, ",");
        status = parse_one(command, item, length, list);
        item += length;
        if (*item == '\0') {
            break;
        }
    }
    return status;
}
