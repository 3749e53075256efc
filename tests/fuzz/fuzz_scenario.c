/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a scenario over two servers: it is refused, or its events are in order, of
 * servers that there are, and the same when read again; no server is lost.
 */
#include <string.h>

#include "cli/command.h"
#include "pool/scenario.h"
#include "pool_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_scenario(const char *path, struct server_list *list)
{
    require(servers_parse("fuzz", "10.1.0.1:80*4,10.1.0.2:80*4", list) == EXIT_OK,
            "no servers");
    int status = scenario_read("fuzz", path, list);
    require(status == EXIT_OK || status == EXIT_USAGE || status == EXIT_RUNTIME,
            "no such exit code");
    require(list->count >= 2, "a server was lost");
    check_list(list);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct server_list first = {0}, again = {0};

    const char *path = file_of(data, size);
    int status = read_scenario(path, &first);
    require(read_scenario(path, &again) == status, "another answer when read again");
    require_same(&first, &again);
    servers_free(&first);
    servers_free(&again);
    return 0;
}
