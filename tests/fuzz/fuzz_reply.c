/* SPDX-License-Identifier: MIT */
/*
 * Bytes from a server that may be anything: every operation of a Redis pool is handed the
 * same reply. The pool's file is compiled here with a client that does no more than
 * parse the input, so that nothing waits and every reply is reached.
 *
 * What must hold whatever comes: no crash, names that are well-formed, no more picks than
 * were asked for.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "redis.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *input;
static size_t input_length;

static int fuzz_open(const char *uri, const struct locus_redis_options *given,
                     struct locus_redis **out, char *error, size_t error_size)
{
    (void)uri;
    (void)given;
    (void)error;
    (void)error_size;
    *out = NULL;
    return LOCUS_OK;
}

static void fuzz_close(struct locus_redis *redis)
{
    (void)redis;
}

static int fuzz_run_one(struct locus_redis *redis,
                        const struct locus_redis_command *command, uint64_t timeout_ns,
                        struct locus_redis_reply **reply)
{
    (void)redis;
    (void)command;
    (void)timeout_ns;
    int status = locus_redis_parse(input, input_length, reply);
    if (status == LOCUS_OK && *reply == NULL) {
        return LOCUS_EAMBIGUOUS; /* it never came whole */
    }
    if (status == LOCUS_OK && locus_reply_kind(*reply) == LOCUS_REPLY_ERROR) {
        locus_reply_free(*reply);
        *reply = NULL;
        return LOCUS_EREFUSED;
    }
    return status;
}

/* From here on the pool talks to the client above. */
#define locus_redis_open fuzz_open
#define locus_redis_close fuzz_close
#define locus_redis_run_one fuzz_run_one
#define locus_pool_redis_ops fuzz_pool_ops
#include "../../src/shared/pool_redis.c"

static void must(bool condition)
{
    if (!condition) {
        abort();
    }
}

static void must_be_member(const char *name)
{
    size_t length = strnlen(name, LOCUS_POOL_MEMBER_SIZE);

    must(length > 0 && length < LOCUS_POOL_MEMBER_SIZE);
}

static void read_members(void *pool)
{
    struct locus_pool_list list = {0};
    struct locus_pool_member one = {.count = 0};

    if (redis_list(pool, &list) == LOCUS_OK) {
        for (size_t i = 0; i < list.count; i++) {
            must_be_member(list.members[i].name);
            must(list.members[i].state <= LOCUS_POOL_UNHEALTHY);
        }
    }
    free(list.members);
    (void)redis_get(pool, "a", &one);
}

static void read_picks(void *pool)
{
    static char members[4][LOCUS_POOL_MEMBER_SIZE];

    for (size_t n = 1; n <= 4; n++) {
        memset(members, 0, sizeof(members));
        if (redis_pick(pool, n, members) == LOCUS_OK) {
            for (size_t i = 0; i < n; i++) {
                must_be_member(members[i]);
            }
        }
    }
}

static void read_others(void *pool)
{
    const char *const names[] = {"a", "b"};
    enum locus_pool_state state = LOCUS_POOL_LIVE;
    struct locus_lease lease = {.id = "0123456789abcdef0123456789abcdef"};
    size_t added = 0;
    bool held;

    (void)redis_add(pool, names, 2, LOCUS_POOL_START_MIN, 0, &added);
    must(added <= 2);
    (void)redis_remove(pool, "a", true);
    (void)redis_restore(pool, "a", true);
    if (redis_report(pool, "a", true, &state) == LOCUS_OK) {
        must(state <= LOCUS_POOL_UNHEALTHY);
    }
    (void)redis_rebase(pool);
    (void)redis_clear(pool);
    (void)redis_renew(pool, lease.id, 1000);
    (void)redis_release(pool, lease.id, &held);
    (void)redis_set_limit(pool, "a", 1);
    if (redis_acquire(pool, 1000, &lease) == LOCUS_OK) {
        must_be_member(lease.member);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct locus_pool_config config = {.fail_after = 3};
    char error[100];
    void *pool;

    input = (const char *)data;
    input_length = size;
    must(redis_open("", "fuzz", &config, &pool, error, sizeof(error)) == LOCUS_OK);
    read_picks(pool);
    read_members(pool);
    read_others(pool);
    redis_close(pool);
    return 0;
}
