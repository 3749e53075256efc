/* SPDX-License-Identifier: MIT */
#include "pool_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/errors.h"
#include "../base/output.h"
#include "../base/values.h"
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

const char *pool_state_word(enum locus_pool_state state)
{
    static const char *const words[] = {
        [LOCUS_POOL_LIVE] = "live",
        [LOCUS_POOL_REMOVED] = "removed",
        [LOCUS_POOL_UNHEALTHY] = "unhealthy",
    };

    return words[state];
}

static int parse_start(const char *text, enum locus_pool_start *start, uint64_t *value)
{
    static const char *const words[] = {
        [LOCUS_POOL_START_MIN] = "min",
        [LOCUS_POOL_START_MEAN] = "mean",
        [LOCUS_POOL_START_ZERO] = "zero",
    };

    *value = 0;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(text, words[i]) == 0) {
            *start = (enum locus_pool_start)i;
            return EXIT_OK;
        }
    }
    *start = LOCUS_POOL_START_AT;
    if (read_number(text, strlen(text), value) && *value <= LOCUS_POOL_START_LIMIT) {
        return EXIT_OK;
    }
    return usage_error("pool", "--start: expected zero, min, mean or a count, not '%s'",
                       text);
}

int pool_add_members(const struct pool_client *c, const char *const *members,
                     size_t count, size_t *added)
{
    enum locus_pool_start start;
    uint64_t value;
    int code = parse_start(c->start, &start, &value);

    if (code != EXIT_OK) {
        return code;
    }
    return pool_result(c, "add",
                       locus_pool_add(c->pool, members, count, start, value, added));
}

int pool_add(const struct pool_client *c)
{
    size_t added;
    int code = pool_add_members(c, (const char *const *)c->arguments, c->count, &added);

    if (code != EXIT_OK) {
        return code;
    }
    if (c->json) {
        return output_json("pool", "{s:I,s:I}", "added", (json_int_t)added, "given",
                           (json_int_t)c->count);
    }
    printf("%zu of %zu added\n", added, c->count);
    return EXIT_OK;
}

int pool_report(const struct pool_client *c)
{
    const char *member = c->arguments[0], *outcome = c->arguments[1];
    enum locus_pool_state state;
    bool success = strcmp(outcome, "ok") == 0;

    if (!success && strcmp(outcome, "fail") != 0) {
        return usage_error("pool", "report: expected MEMBER ok|fail");
    }
    int status = locus_pool_report(c->pool, member, success, &state);
    if (status != LOCUS_OK) {
        return pool_failed(c, member, status);
    }
    if (c->json) {
        return output_json("pool", "{s:s,s:s}", "member", member, "state",
                           pool_state_word(state));
    }
    printf("%s\n", pool_state_word(state));
    return EXIT_OK;
}

int pool_pick(const struct pool_client *c)
{
    char(*members)[LOCUS_POOL_MEMBER_SIZE] = calloc((size_t)c->n, sizeof(*members));
    size_t picked;

    if (members == NULL) {
        return memory_error("pool");
    }
    int status = locus_pool_pick_many(c->pool, (size_t)c->n, members, &picked);
    int code = pool_result(c, "pick", status);
    for (size_t i = 0; i < picked && code == EXIT_OK; i++) {
        if (c->json) {
            code = output_json("pool", "{s:s}", "member", members[i]);
        } else {
            printf("%s\n", members[i]);
        }
    }
    free(members);
    return code;
}

int pool_acquire(const struct pool_client *c)
{
    struct locus_lease lease;
    int status = locus_lease_acquire(c->pool, c->ttl_ns, &lease);

    if (status != LOCUS_OK) {
        if (lease.id[0] != '\0') {
            fprintf(stderr, "locus pool: lease %s may be held\n", lease.id);
        }
        return pool_failed(c, "acquire", status);
    }
    if (c->json) {
        return output_json("pool", "{s:s,s:s,s:I}", "id", lease.id, "member",
                           lease.member, "leases", (json_int_t)lease.held);
    }
    printf("%s %s\n", lease.id, lease.member);
    return EXIT_OK;
}

int pool_limit(const struct pool_client *c)
{
    const char *member = c->arguments[0], *text = c->arguments[1];
    uint64_t limit;

    if (!read_number(text, strlen(text), &limit) || limit > 1 << 20) {
        return usage_error("pool", "limit: expected MEMBER N, N at most 1048576");
    }
    return pool_result(c, member,
                       locus_lease_set_limit(c->pool, member, (uint32_t)limit));
}
