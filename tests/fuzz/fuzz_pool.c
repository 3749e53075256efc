/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a pool file: ipvsadm rules and tables, keepalived.conf, lists. The first byte
 * chooses the service and the order. Whatever they are, it ends with a list that holds
 * together, or is refused; read twice it is the same, and read in reverse it is the reverse.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "pool/file.h"
#include "pool_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const services[] = {NULL, "10.0.0.1:80", "1", "web"};

static int read_pool(const char *path, const char *service, bool reverse,
                     struct server_list *list)
{
    int status = pool_file_read("fuzz", path, service, reverse, list);

    require(status == EXIT_OK || status == EXIT_USAGE || status == EXIT_RUNTIME,
            "no such exit code");
    require(status != EXIT_OK || list->count > 0, "a pool without a server");
    check_list(list);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct server_list first = {0}, again = {0}, reversed = {0};

    /* What an include finds depends on the machine. */
    if (size == 0 || memmem(data, size, "include", 7) != NULL) {
        return 0;
    }
    const char *service = services[data[0] % 4];
    const char *path = file_of(data + 1, size - 1);
    int status = read_pool(path, service, false, &first);
    require(read_pool(path, service, false, &again) == status,
            "another answer when read again");
    require_same(&first, &again);
    require(read_pool(path, service, true, &reversed) == status &&
                reversed.count == first.count,
            "another answer in reverse");
    for (size_t i = 0; i < first.count; i++) {
        require(strcmp(first.items[i].name, reversed.items[first.count - 1 - i].name) ==
                    0,
                "not the reverse");
    }
    servers_free(&first);
    servers_free(&again);
    servers_free(&reversed);
    return 0;
}
