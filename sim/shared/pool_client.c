/* SPDX-License-Identifier: MIT */
#include "pool_client.h"

#include <stdio.h>
#include <stdlib.h>

#include "../base/errors.h"
#include "client.h"

int pool_client_open(struct pool_client *client)
{
    const struct locus_pool_config config = {
        .total_timeout_ns = client->timeout_ns,
        .command_timeout_ns = client->timeout_ns,
        .connect_timeout_ns = client->timeout_ns,
        .connections = 1,
        .fail = client->fail == 1 ? LOCUS_POOL_FAIL_OPEN : LOCUS_POOL_FAIL_CLOSED,
        .fail_after = (uint32_t)client->fail_after,
        .restore_after = (uint32_t)client->restore_after,
        .min_live = (uint32_t)client->min_live,
        .lease_limit = (uint32_t)client->limit,
    };
    const char *uri = client->uri != NULL ? client->uri : getenv("LOCUS_POOL_URI");
    char why[CLIENT_WORDS] = "out of memory";

    if (uri == NULL && client->dry_run) {
        uri = "mem:";
    }
    if (uri == NULL) {
        return usage_error("pool", "which pool? Give --uri, or set LOCUS_POOL_URI");
    }
    int status =
        locus_pool_open(uri, client->name, &config, &client->pool, why, sizeof(why));
    return client_opened("pool", status, why);
}

int pool_failed(const struct pool_client *c, const char *what, int status)
{
    char words[CLIENT_WORDS] = "";

    if (status == LOCUS_ENOSERVER || status == LOCUS_EFULL) {
        fprintf(stderr, "locus pool: %s: %s\n", what,
                status == LOCUS_EFULL
                    ? "all members are at their limits, or the pool is full"
                    : "the pool has no live member");
        return EXIT_EMPTY;
    }
    locus_pool_error(c->pool, words, sizeof(words));
    return client_failed("pool", what, status, words);
}

int pool_result(const struct pool_client *c, const char *what, int status)
{
    return status == LOCUS_OK ? EXIT_OK : pool_failed(c, what, status);
}
