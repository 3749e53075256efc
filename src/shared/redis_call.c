/* SPDX-License-Identifier: MIT */
/*
 * A call: choose a node for what is pending, take a connection, exchange, sort the answers;
 * until nothing is pending or the deadline has passed. What may be sent again is decided in
 * one place, settle() and unanswered().
 */
#include "redis_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    REDIRECTS_MAX = 8, /* per command and call; a moving slot needs two */
    ARGC_MAX = 65536,
    INLINE_PENDING = 16,
};

/* What a call still has to do for one of its commands. */
struct pending {
    size_t target;   /* the node that a redirect named, or NO_NODE */
    size_t end;      /* of its bytes in the output of the exchange at hand */
    const char *sha; /* of its script in the exchange at hand; "" where it has none */
    unsigned redirects;
    bool done;
    bool sent;   /* once at least, and not answered */
    bool whole;  /* send the script's source: the server does not know its SHA */
    bool asking; /* target was named by ASK, not MOVED */
    bool here;   /* takes part in the exchange at hand */
};

struct call {
    struct locus_redis *redis;
    const struct locus_redis_command *commands;
    struct pending *pending;
    struct locus_redis_result *results;
    size_t count;
    uint64_t deadline_ns;
    bool wait;         /* back off before the next round */
    bool failed;       /* a try has, and said why */
    bool takes_writes; /* the node of the exchange at hand, as far as it said */
    unsigned waits;
    int last; /* why what is pending is pending: EIO or ETIMEDOUT */
};

static void finish(struct call *call, size_t i, int status, redisReply *reply)
{
    call->pending[i].done = true;
    call->results[i].status = status;
    call->results[i].reply = (struct locus_redis_reply *)(void *)reply;
}

static bool is_garbage(const redisContext *context)
{
    return context->err == REDIS_ERR_PROTOCOL || context->err == REDIS_ERR_OOM;
}

/* After locus_redis_next_reply() has returned NULL. */
static void say_failure(struct locus_redis *redis, const struct node *node,
                        const redisContext *context)
{
    if (context->err == 0) {
        locus_redis_count(redis, &redis->stats.timeouts, 1);
    }
    locus_redis_say(
        redis, "%s%s%s: %s", node->host, node->port[0] != '\0' ? ":" : "", node->port,
        context->err != 0 ? context->errstr : "no answer within the deadline");
}

/* ---- sending --------------------------------------------------------------------- */

/* Puts the commands of this exchange into the output buffer; *appended is its length. */
static int write_commands(struct call *call, struct connection *connection,
                          const struct node *node, uint64_t deadline_ns,
                          size_t *appended)
{
    redisContext *context = connection->context;

    for (size_t i = 0; i < call->count; i++) {
        const struct locus_redis_command *command = &call->commands[i];
        struct pending *pending = &call->pending[i];
        pending->sha = "";
        if (!pending->here || command->script == NULL) {
            continue;
        }
        /* All SHAs are asked for before anything is appended, and only once: a server that
         * did not tell one might do so, or fail, the second time. */
        pending->sha = locus_redis_script_sha(call->redis, connection,
                                              command->script->source, deadline_ns);
        if (pending->sha == NULL) {
            say_failure(call->redis, node, context);
            return is_garbage(context) ? LOCUS_EFORMAT : LOCUS_EIO;
        }
    }
    for (size_t i = 0; i < call->count; i++) {
        const struct locus_redis_command *command = &call->commands[i];
        struct pending *pending = &call->pending[i];
        if (!pending->here) {
            continue;
        }
        int status = pending->asking ? locus_redis_append_asking(context) : LOCUS_OK;
        if (status == LOCUS_OK) {
            status = locus_redis_append(context, command, pending->whole, pending->sha);
        }
        if (status != LOCUS_OK) {
            return status;
        }
        pending->end = locus_redis_unsent(connection);
    }
    *appended = locus_redis_unsent(connection);
    return LOCUS_OK;
}

/* ---- answers, or none ------------------------------------------------------------ */

static void follow(struct call *call, size_t i, const redisReply *reply,
                   const struct node *from)
{
    struct pending *pending = &call->pending[i];
    struct locus_redis *redis = call->redis;
    unsigned slot = 0;
    size_t node = locus_redis_redirected(redis, reply, from, &slot);

    locus_redis_say(redis, "%s", reply->str);
    if (node == NO_NODE) {
        finish(call, i, LOCUS_EFORMAT, NULL);
        return;
    }
    pending->target = node;
    pending->asking = locus_reply_begins(reply, "ASK");
    call->last = LOCUS_EIO;
    /* Nodes that send each other's way settle their dispute in time, or never. */
    call->wait = call->wait || ++pending->redirects > REDIRECTS_MAX;
    pthread_mutex_lock(&redis->lock);
    redis->stats.redirects++;
    if (!pending->asking) {
        locus_redis_map_set(redis, slot, node);
    }
    pthread_mutex_unlock(&redis->lock);
}

/* Sorts one answer: done, or pending still because nothing was done. The reply is taken. */
static void settle(struct call *call, size_t i, redisReply *reply,
                   const struct node *from)
{
    struct pending *pending = &call->pending[i];

    if (reply->type != REDIS_REPLY_ERROR) {
        finish(call, i, LOCUS_OK, reply);
        return;
    }
    pending->target = NO_NODE;
    pending->asking = false;
    if (locus_reply_begins(reply, "MOVED") || locus_reply_begins(reply, "ASK")) {
        follow(call, i, reply, from);
    } else if (locus_reply_begins(reply, "NOSCRIPT") &&
               call->commands[i].script != NULL && !pending->whole) {
        pending->whole = true;
        locus_redis_count(call->redis, &call->redis->stats.noscript, 1);
    } else {
        locus_redis_say(call->redis, "%s", reply->str);
        if (locus_reply_asks_for_patience(reply)) {
            call->wait = true;
            call->last = LOCUS_ETIMEDOUT;
            if (locus_reply_begins(reply, "READONLY") ||
                locus_reply_begins(reply, "MASTERDOWN") ||
                locus_reply_begins(reply, "LOADING")) {
                call->takes_writes = false;
            }
        } else if (locus_reply_begins(reply, "WRONGTYPE")) {
            finish(call, i, LOCUS_EFORMAT, NULL);
        } else {
            finish(call, i,
                   locus_reply_begins(reply, "OOM") ? LOCUS_EFULL : LOCUS_EREFUSED,
                   NULL);
        }
    }
    freeReplyObject(reply);
}

/* The connection failed before this one was answered. */
static void unanswered(struct call *call, size_t i, bool sent, bool garbage)
{
    call->wait = true;
    call->failed = true;
    call->last = sent ? LOCUS_ETIMEDOUT : LOCUS_EIO;
    call->pending[i].sent = call->pending[i].sent || sent;
    call->pending[i].target = NO_NODE;
    call->pending[i].asking = false;
    if (garbage && sent) {
        finish(call, i, LOCUS_EFORMAT, NULL);
    } else if (sent && !call->commands[i].repeatable) {
        finish(call, i, LOCUS_EAMBIGUOUS, NULL);
        locus_redis_count(call->redis, &call->redis->stats.ambiguous, 1);
    } else {
        locus_redis_count(call->redis, &call->redis->stats.retries, 1);
    }
}

/* Reads the answers to what was appended; false when the connection is of no more use. */
static bool read_answers(struct call *call, struct connection *connection,
                         const struct node *node, uint64_t deadline_ns, size_t appended)
{
    redisContext *context = connection->context;
    uint64_t answered = 0;
    bool moved = false;
    size_t i;

    for (i = 0; i < call->count; i++) {
        if (!call->pending[i].here) {
            continue;
        }
        redisReply *reply = locus_redis_next_reply(connection, deadline_ns);
        if (reply != NULL && call->pending[i].asking) {
            freeReplyObject(reply); /* ASKING's own */
            reply = locus_redis_next_reply(connection, deadline_ns);
        }
        if (reply == NULL) {
            break;
        }
        moved = moved || (reply->type == REDIS_REPLY_ERROR &&
                          locus_reply_begins(reply, "MOVED"));
        settle(call, i, reply, node);
        answered++;
    }
    locus_redis_count(call->redis, &call->redis->stats.commands, answered);
    if (i == call->count) {
        return !moved ||
               locus_redis_map_ask(call->redis, node, connection, deadline_ns);
    }
    bool garbage = is_garbage(context);
    say_failure(call->redis, node, context);
    size_t written = appended - locus_redis_unsent(connection);
    for (; i < call->count; i++) {
        if (call->pending[i].here) {
            unanswered(call, i, call->pending[i].end <= written, garbage);
        }
    }
    return false;
}

/* ---- rounds ---------------------------------------------------------------------- */

static size_t target_of(const struct call *call, size_t i)
{
    const struct locus_redis_command *command = &call->commands[i];
    bool keyed = command->route < command->argc;
    unsigned slot = 0;

    if (call->pending[i].target != NO_NODE) {
        return call->pending[i].target;
    }
    if (keyed) {
        const char *key = command->argv[command->route];
        slot = locus_redis_slot(key, command->lengths != NULL
                                         ? command->lengths[command->route]
                                         : strlen(key));
    }
    return locus_redis_node_for(call->redis, keyed, slot);
}

/* Marks those pending that go to the same node as the first of them. NO_NODE: none is. */
static size_t choose(struct call *call)
{
    size_t chosen = NO_NODE;

    for (size_t i = 0; i < call->count; i++) {
        call->pending[i].here = false;
        if (call->pending[i].done) {
            continue;
        }
        size_t target = target_of(call, i);
        if (chosen == NO_NODE) {
            chosen = target;
        }
        call->pending[i].here = target == chosen;
    }
    return chosen;
}

/* No connection: those meant for this node stay pending, or end if that is final. */
static void unconnected(struct call *call, int status)
{
    call->last = status;
    call->failed = true;
    for (size_t i = 0; i < call->count; i++) {
        if (!call->pending[i].here) {
            continue;
        }
        call->pending[i].target = NO_NODE;
        call->pending[i].asking = false;
        if (status != LOCUS_EIO && status != LOCUS_ETIMEDOUT) {
            finish(call, i, status, NULL);
        }
    }
}

/* One exchange with one node. */
static void exchange(struct call *call, size_t at)
{
    struct locus_redis *redis = call->redis;
    struct connection *connection;
    size_t appended;

    pthread_mutex_lock(&redis->lock);
    struct node *node = redis->nodes[at];
    pthread_mutex_unlock(&redis->lock);
    int status = locus_redis_checkout(redis, node, call->deadline_ns, &connection);
    if (status != LOCUS_OK) {
        unconnected(call, status);
        return;
    }
    uint64_t until_ns =
        clock_earlier(call->deadline_ns,
                      clock_after(clock_now_ns(), redis->options.command_timeout_ns));
    locus_redis_count(redis, &redis->stats.round_trips, 1);
    status = write_commands(call, connection, node, until_ns, &appended);
    if (status != LOCUS_OK) {
        call->wait = true;
        unconnected(call, status);
        locus_redis_checkin(redis, node, connection, false);
        return;
    }
    call->takes_writes = true;
    bool usable = read_answers(call, connection, node, until_ns, appended);
    /* Where no writes are taken, the host's name may lead to another server by now. */
    locus_redis_checkin(redis, node, connection, usable && call->takes_writes);
}

/* A try that the call's deadline cut short has nothing to tell but that; an earlier one has
 * said what is wrong. */
static void exchange_again(struct call *call, size_t at)
{
    char words[sizeof(call->redis->error)];

    locus_redis_error(call->redis, words, sizeof(words));
    exchange(call, at);
    if (clock_now_ns() >= call->deadline_ns) {
        locus_redis_say(call->redis, "%s", words);
    }
}

static void sleep_until(uint64_t time_ns)
{
    struct timespec at = clock_timespec(time_ns);

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR) {
    }
}

static void back_off(struct call *call)
{
    pthread_mutex_lock(&call->redis->lock);
    uint64_t wait_ns = locus_redis_backoff_ns(call->redis, ++call->waits);
    pthread_mutex_unlock(&call->redis->lock);
    sleep_until(clock_earlier(call->deadline_ns, clock_after(clock_now_ns(), wait_ns)));
    call->wait = false;
}

static void run(struct call *call)
{
    size_t at;

    while ((at = choose(call)) != NO_NODE) {
        if (call->wait) {
            back_off(call);
        }
        if (clock_now_ns() >= call->deadline_ns) {
            break;
        }
        (call->failed ? exchange_again : exchange)(call, at);
    }
    for (size_t i = 0; i < call->count; i++) {
        if (!call->pending[i].done) {
            finish(call, i, call->pending[i].sent ? LOCUS_ETIMEDOUT : call->last, NULL);
        }
    }
}

static bool sendable(const struct locus_redis_command *command)
{
    return command->argc <= ARGC_MAX &&
           (command->argc > 0 || command->script != NULL) &&
           command->keys <= command->argc;
}

int locus_redis_run(struct locus_redis *redis,
                    const struct locus_redis_command *commands, size_t count,
                    uint64_t timeout_ns, struct locus_redis_result *results)
{
    struct pending inline_pending[INLINE_PENDING];
    uint64_t wait_ns = timeout_ns != 0 ? timeout_ns : redis->options.total_timeout_ns;
    struct call call = {
        .redis = redis,
        .commands = commands,
        .pending = inline_pending,
        .results = results,
        .count = count,
        .deadline_ns = clock_after(clock_now_ns(), wait_ns),
        .last = LOCUS_ETIMEDOUT,
    };
    int status = LOCUS_OK;

    for (size_t i = 0; i < count; i++) {
        results[i] = (struct locus_redis_result){.status = LOCUS_EINVAL};
        status = sendable(&commands[i]) ? status : LOCUS_EINVAL;
    }
    if (status != LOCUS_OK || count == 0) {
        return status;
    }
    if (count > INLINE_PENDING) {
        call.pending = calloc(count, sizeof(*call.pending));
        if (call.pending == NULL) {
            for (size_t i = 0; i < count; i++) {
                results[i].status = LOCUS_ENOMEM;
            }
            return LOCUS_ENOMEM;
        }
    }
    for (size_t i = 0; i < count; i++) {
        call.pending[i] = (struct pending){.target = NO_NODE};
    }
    run(&call);
    for (size_t i = 0; i < count && status == LOCUS_OK; i++) {
        status = results[i].status;
    }
    if (call.pending != inline_pending) {
        free(call.pending);
    }
    return status;
}

int locus_redis_run_one(struct locus_redis *redis,
                        const struct locus_redis_command *command, uint64_t timeout_ns,
                        struct locus_redis_reply **reply)
{
    struct locus_redis_result result;
    int status = locus_redis_run(redis, command, 1, timeout_ns, &result);

    *reply = result.reply;
    return status;
}

void locus_redis_results_clear(struct locus_redis_result *results, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        locus_reply_free(results[i].reply);
        results[i].reply = NULL;
    }
}
