/* SPDX-License-Identifier: MIT */
/* A plain list of servers: an address a line, and its weight behind it. */
#include <stdio.h>
#include <string.h>

#include "../base/errors.h"
#include "parse.h"

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

int pool_parse_list(struct pool_parse *parse, char *text)
{
    struct pool_service *service = pool_service_get(parse, "list");
    int status = service != NULL ? EXIT_OK : memory_error(parse->command);
    char *line;

    while (status == EXIT_OK && (line = pool_next_line(parse, &text)) != NULL) {
        status = list_line(parse, service, line);
    }
    return status;
}
