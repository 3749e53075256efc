/* SPDX-License-Identifier: MIT */
/*
 * Pools in Redis: each operation is one script. pool_scripts.h tells the keys, and
 * pool_replies.c reads what the scripts answer.
 */
#include "pool_ops.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "pool_replies.h"
#include "pool_scripts.h"
#include "redis.h"

enum { KEYS = 8, KEY_SIZE = LOCUS_POOL_NAME_MAX + 32, ARGS_MAX = POOL_ADD_CHUNK + 3 };

#define REBASE_AT (UINT64_C(1) << 52)

struct redis_pool {
    struct locus_redis *redis;
    struct locus_pool_config config;
    char keys[KEYS][KEY_SIZE];
    _Atomic uint64_t outlived_ns; /* when its end was put off last; 0: not yet */
};

static const struct locus_redis_script script_pick = {SCRIPT_PICK};
static const struct locus_redis_script script_add = {SCRIPT_ADD};
static const struct locus_redis_script script_remove = {SCRIPT_REMOVE};
static const struct locus_redis_script script_restore = {SCRIPT_RESTORE};
static const struct locus_redis_script script_report = {SCRIPT_REPORT};
static const struct locus_redis_script script_list = {SCRIPT_LIST};
static const struct locus_redis_script script_get = {SCRIPT_GET};
static const struct locus_redis_script script_rebase = {SCRIPT_REBASE};
static const struct locus_redis_script script_acquire = {SCRIPT_ACQUIRE};
static const struct locus_redis_script script_renew = {SCRIPT_RENEW};
static const struct locus_redis_script script_release = {SCRIPT_RELEASE};
static const struct locus_redis_script script_limit = {SCRIPT_LIMIT};
static const struct locus_redis_script script_outlive = {SCRIPT_OUTLIVE};

static int redis_open(const char *uri, const char *name,
                      const struct locus_pool_config *config, void **out, char *error,
                      size_t error_size)
{
    static const char *const suffixes[KEYS] = {
        "", ":kept", ":health", ":limits", ":load", ":held", ":deadlines", ":leases"};
    const struct locus_redis_options options = {
        .connect_timeout_ns = config->connect_timeout_ns,
        .command_timeout_ns = config->command_timeout_ns,
        .total_timeout_ns = config->total_timeout_ns,
        .connections = config->connections,
    };
    struct redis_pool *pool = calloc(1, sizeof(*pool));

    if (pool == NULL) {
        snprintf(error, error_size, "out of memory");
        return LOCUS_ENOMEM;
    }
    int status = locus_redis_open(uri, &options, &pool->redis, error, error_size);
    if (status != LOCUS_OK) {
        free(pool);
        return status;
    }
    pool->config = *config;
    for (size_t i = 0; i < KEYS; i++) {
        snprintf(pool->keys[i], KEY_SIZE, "locus:{%s}%s", name, suffixes[i]);
    }
    *out = pool;
    return LOCUS_OK;
}

static void redis_close(void *self)
{
    struct redis_pool *pool = self;

    locus_redis_close(pool->redis);
    free(pool);
}

/* Runs the command, and puts off the pool's end in the same round trip, or another time. */
static int run_and_outlive(struct redis_pool *pool,
                           const struct locus_redis_command *command,
                           struct locus_redis_reply **reply)
{
    char lifetime[24];
    const char *argv[KEYS + 1];
    const struct locus_redis_command commands[] = {
        *command,
        {.script = &script_outlive,
         .argv = argv,
         .argc = KEYS + 1,
         .keys = KEYS,
         .repeatable = true},
    };
    struct locus_redis_result results[2];

    snprintf(lifetime, sizeof(lifetime), "%llu",
             (unsigned long long)(pool->config.lifetime_ns / NS_PER_MS));
    for (size_t i = 0; i < KEYS; i++) {
        argv[i] = pool->keys[i];
    }
    argv[KEYS] = lifetime;
    uint64_t now_ns = clock_now_ns();
    (void)!locus_redis_run(pool->redis, commands, 2, 0, results);
    if (results[1].status == LOCUS_OK) {
        atomic_store(&pool->outlived_ns, now_ns);
    }
    locus_reply_free(results[1].reply);
    *reply = results[0].reply;
    return results[0].status;
}

/* changes: it may have made a key, which has no end of its own yet. */
static int run_command(struct redis_pool *pool,
                       const struct locus_redis_command *command, bool changes,
                       struct locus_redis_reply **reply)
{
    uint64_t lifetime_ns = pool->config.lifetime_ns;
    uint64_t last_ns = atomic_load(&pool->outlived_ns);
    bool due = lifetime_ns != 0 &&
               (changes || last_ns == 0 || clock_now_ns() - last_ns >= lifetime_ns / 4);

    return due ? run_and_outlive(pool, command, reply)
               : locus_redis_run_one(pool->redis, command, 0, reply);
}

/* A script with all keys before its arguments. */
static int run(struct redis_pool *pool, const struct locus_redis_script *script,
               const char *const *args, size_t count, bool repeatable,
               struct locus_redis_reply **reply)
{
    const char *argv[KEYS + ARGS_MAX];
    const struct locus_redis_command command = {
        .script = script,
        .argv = argv,
        .argc = KEYS + count,
        .keys = KEYS,
        .repeatable = repeatable,
    };

    for (size_t i = 0; i < KEYS; i++) {
        argv[i] = pool->keys[i];
    }
    for (size_t i = 0; i < count; i++) {
        argv[KEYS + i] = args[i];
    }
    return run_command(pool, &command, true, reply);
}

/* A script that may be repeated and answers with a number. */
static int run_number(struct redis_pool *pool, const struct locus_redis_script *script,
                      const char *const *args, size_t count, bool repeatable,
                      int64_t *out)
{
    struct locus_redis_reply *reply;
    int status = run(pool, script, args, count, repeatable, &reply);

    if (status == LOCUS_OK && !locus_reply_integer(reply, out)) {
        status = LOCUS_EFORMAT;
    }
    locus_reply_free(reply);
    return status;
}

/* One that answers 1, or 0 when there is no such member or lease. */
static int run_found(struct redis_pool *pool, const struct locus_redis_script *script,
                     const char *const *args, size_t count)
{
    int64_t found;
    int status = run_number(pool, script, args, count, true, &found);

    if (status != LOCUS_OK) {
        return status;
    }
    if (found != 0 && found != 1) {
        return LOCUS_EFORMAT;
    }
    return found == 1 ? LOCUS_OK : LOCUS_ENOENT;
}

static int redis_rebase(void *self)
{
    int64_t done;

    return run_number(self, &script_rebase, NULL, 0, true, &done);
}

static int redis_pick(void *self, size_t n, char (*members)[LOCUS_POOL_MEMBER_SIZE])
{
    struct redis_pool *pool = self;
    char how_many[24];
    const char *argv[] = {pool->keys[0], how_many};
    const struct locus_redis_command command = {
        .script = &script_pick,
        .argv = argv,
        .argc = 2,
        .keys = 1,
    };
    struct locus_redis_reply *reply;
    uint64_t last;

    snprintf(how_many, sizeof(how_many), "%zu", n);
    int status = run_command(pool, &command, false, &reply);
    if (status != LOCUS_OK) {
        return status;
    }
    if (locus_reply_kind(reply) == LOCUS_REPLY_ARRAY && locus_reply_count(reply) == 0) {
        locus_reply_free(reply);
        return LOCUS_ENOSERVER;
    }
    bool ok = locus_reply_count(reply) == n + 1 &&
              locus_pool_read_count(locus_reply_at(reply, 0), &last);
    for (size_t i = 0; ok && i < n; i++) {
        ok = locus_pool_read_name(locus_reply_at(reply, i + 1), members[i]);
    }
    locus_reply_free(reply);
    if (ok && last >= REBASE_AT) {
        /* The picks stand either way; whoever picks next tries again. */
        (void)!redis_rebase(pool);
    }
    return ok ? LOCUS_OK : LOCUS_EFORMAT;
}

static int add_chunk(struct redis_pool *pool, const char *const *members, size_t count,
                     const char *start, const char *value, size_t *added)
{
    char cap[24];
    const char *args[ARGS_MAX] = {start, value, cap};
    struct locus_redis_reply *reply;
    uint64_t became, full;

    snprintf(cap, sizeof(cap), "%d", LOCUS_POOL_MEMBERS_MAX);
    memcpy(args + 3, members, count * sizeof(*members));
    int status = run(pool, &script_add, args, count + 3, true, &reply);
    if (status != LOCUS_OK) {
        return status;
    }
    if (!locus_pool_read_count(locus_reply_at(reply, 0), &became) || became > count ||
        !locus_pool_read_count(locus_reply_at(reply, 1), &full)) {
        status = LOCUS_EFORMAT;
    } else {
        *added += (size_t)became;
        status = full != 0 ? LOCUS_EFULL : LOCUS_OK;
    }
    locus_reply_free(reply);
    return status;
}

static int redis_add(void *self, const char *const *members, size_t count,
                     enum locus_pool_start start, uint64_t value, size_t *added)
{
    static const char *const starts[] = {
        [LOCUS_POOL_START_MIN] = "min",
        [LOCUS_POOL_START_MEAN] = "mean",
        [LOCUS_POOL_START_ZERO] = "at",
        [LOCUS_POOL_START_AT] = "at",
    };
    char number[24];

    snprintf(number, sizeof(number), "%llu",
             start == LOCUS_POOL_START_AT ? (unsigned long long)value : 0ull);
    for (size_t done = 0; done < count;) {
        size_t chunk = count - done < POOL_ADD_CHUNK ? count - done : POOL_ADD_CHUNK;
        int status =
            add_chunk(self, members + done, chunk, starts[start], number, added);
        if (status != LOCUS_OK) {
            return status;
        }
        done += chunk;
    }
    return LOCUS_OK;
}

static int redis_remove(void *self, const char *member, bool drop)
{
    const char *args[] = {member, drop ? "1" : "0"};

    return run_found(self, &script_remove, args, 2);
}

static int redis_restore(void *self, const char *member, bool exact)
{
    const char *args[] = {member, exact ? "1" : "0"};

    return run_found(self, &script_restore, args, 2);
}

static int redis_report(void *self, const char *member, bool success,
                        enum locus_pool_state *state)
{
    struct redis_pool *pool = self;
    char after[3][16];
    const char *args[] = {member, success ? "1" : "0", after[0], after[1], after[2]};
    int64_t answer;

    snprintf(after[0], sizeof(after[0]), "%u", pool->config.fail_after);
    snprintf(after[1], sizeof(after[1]), "%u", pool->config.restore_after);
    snprintf(after[2], sizeof(after[2]), "%u", pool->config.min_live);
    int status = run_number(pool, &script_report, args, 5, false, &answer);
    if (status != LOCUS_OK) {
        return status;
    }
    if (answer < -1 || answer > LOCUS_POOL_UNHEALTHY) {
        return LOCUS_EFORMAT;
    }
    if (answer == -1) {
        return LOCUS_ENOENT;
    }
    *state = (enum locus_pool_state)answer;
    return LOCUS_OK;
}

static int redis_list(void *self, struct locus_pool_list *out)
{
    struct locus_redis_reply *reply;
    int status = run(self, &script_list, NULL, 0, true, &reply);

    if (status == LOCUS_OK) {
        status = locus_pool_read_list(reply, out);
    }
    locus_reply_free(reply);
    return status;
}

static int redis_get(void *self, const char *member, struct locus_pool_member *out)
{
    const char *args[] = {member};
    struct locus_redis_reply *reply;
    int status = run(self, &script_get, args, 1, true, &reply);

    if (status == LOCUS_OK) {
        status = locus_pool_read_member(reply, out);
    }
    locus_reply_free(reply);
    return status;
}

static int redis_clear(void *self)
{
    struct redis_pool *pool = self;
    const char *argv[KEYS + 1] = {"DEL"};
    const struct locus_redis_command command = {
        .argv = argv,
        .argc = KEYS + 1,
        .route = 1,
        .repeatable = true,
    };
    struct locus_redis_reply *reply;

    for (size_t i = 0; i < KEYS; i++) {
        argv[i + 1] = pool->keys[i];
    }
    int status = locus_redis_run_one(pool->redis, &command, 0, &reply);
    locus_reply_free(reply);
    return status;
}

/* The first argument of the lease scripts. */
static const char *reap_argument(char text[16])
{
    snprintf(text, 16, "%d", POOL_REAP_MAX);
    return text;
}

static int redis_acquire(void *self, uint64_t ttl_ms, struct locus_lease *lease)
{
    struct redis_pool *pool = self;
    char reap[16], ttl[24], limit[16];
    const char *args[] = {reap_argument(reap), lease->id, ttl, limit};
    struct locus_redis_reply *reply;
    uint64_t outcome;

    snprintf(ttl, sizeof(ttl), "%llu", (unsigned long long)ttl_ms);
    snprintf(limit, sizeof(limit), "%u",
             pool->config.lease_limit != 0 ? pool->config.lease_limit : POOL_HELD_MAX);
    /* The id is ours: the server answers a second sending with the first one's lease. */
    int status = run(pool, &script_acquire, args, 4, true, &reply);
    if (status != LOCUS_OK) {
        return status;
    }
    if (!locus_pool_read_count(locus_reply_at(reply, 0), &outcome) || outcome > 2) {
        status = LOCUS_EFORMAT;
    } else if (outcome != 1) {
        status = outcome == 0 ? LOCUS_ENOSERVER : LOCUS_EFULL;
    } else if (!locus_pool_read_name(locus_reply_at(reply, 1), lease->member) ||
               !locus_pool_read_count(locus_reply_at(reply, 2), &lease->held)) {
        status = LOCUS_EFORMAT;
    }
    locus_reply_free(reply);
    return status;
}

static int redis_renew(void *self, const char *id, uint64_t ttl_ms)
{
    char reap[16], ttl[24];
    const char *args[] = {reap_argument(reap), id, ttl};

    snprintf(ttl, sizeof(ttl), "%llu", (unsigned long long)ttl_ms);
    return run_found(self, &script_renew, args, 3);
}

static int redis_release(void *self, const char *id, bool *was_held)
{
    char reap[16];
    const char *args[] = {reap_argument(reap), id};
    int status = run_found(self, &script_release, args, 2);

    *was_held = status == LOCUS_OK;
    return status == LOCUS_ENOENT ? LOCUS_OK : status;
}

static int redis_set_limit(void *self, const char *member, uint32_t limit)
{
    char number[16];
    const char *args[] = {member, number};

    snprintf(number, sizeof(number), "%u", limit);
    return run_found(self, &script_limit, args, 2);
}

static void redis_stats(void *self, struct locus_pool_stats *out)
{
    struct redis_pool *pool = self;
    struct locus_redis_stats stats;

    locus_redis_get_stats(pool->redis, &stats);
    out->commands = stats.commands;
    out->round_trips = stats.round_trips;
    out->connects = stats.connects;
    out->connect_failures = stats.connect_failures;
    out->retries = stats.retries;
    out->redirects = stats.redirects;
    out->noscript = stats.noscript;
}

static void redis_error(void *self, char *text, size_t size)
{
    struct redis_pool *pool = self;

    locus_redis_error(pool->redis, text, size);
}

const struct pool_ops locus_pool_redis_ops = {
    .scheme = "redis",
    .open = redis_open,
    .close = redis_close,
    .pick = redis_pick,
    .add = redis_add,
    .remove = redis_remove,
    .restore = redis_restore,
    .report = redis_report,
    .list = redis_list,
    .get = redis_get,
    .rebase = redis_rebase,
    .clear = redis_clear,
    .acquire = redis_acquire,
    .renew = redis_renew,
    .release = redis_release,
    .set_limit = redis_set_limit,
    .stats = redis_stats,
    .error = redis_error,
};
