/* SPDX-License-Identifier: MIT */
/*
 * Commands as the server gets them. A script is sent by its SHA, which the server tells when it
 * is loaded; whole where it would not tell.
 */
#include "redis_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INLINE_ARGS = 32 };

/* NULL: not known. The lock is held. */
static const char *known_sha(const struct locus_redis *redis, const char *source)
{
    for (size_t i = 0; i < redis->script_count; i++) {
        if (redis->scripts[i].source == source) {
            return redis->scripts[i].sha;
        }
    }
    return NULL;
}

/* The SHA as it is known from now on; "" where there is no room. */
static const char *learn_sha(struct locus_redis *redis, const char *source,
                             const char *text)
{
    pthread_mutex_lock(&redis->lock);
    const char *sha = known_sha(redis, source); /* others ask at the same time */
    if (sha == NULL && redis->script_count < SCRIPTS_MAX) {
        struct known_script *known = &redis->scripts[redis->script_count++];
        known->source = source;
        memcpy(known->sha, text, SHA_LENGTH + 1);
        sha = known->sha;
    }
    pthread_mutex_unlock(&redis->lock);
    return sha != NULL ? sha : "";
}

const char *locus_redis_script_sha(struct locus_redis *redis,
                                   struct connection *connection, const char *source,
                                   uint64_t deadline_ns)
{
    const char *argv[] = {"SCRIPT", "LOAD", source};

    pthread_mutex_lock(&redis->lock);
    const char *sha = known_sha(redis, source);
    pthread_mutex_unlock(&redis->lock);
    if (sha != NULL) {
        return sha;
    }
    if (redisAppendCommandArgv(connection->context, 3, argv, NULL) != REDIS_OK) {
        return NULL;
    }
    redisReply *reply = locus_redis_next_reply(connection, deadline_ns);
    if (reply == NULL) {
        return NULL;
    }
    sha = "";
    if (reply->type == REDIS_REPLY_STRING && reply->len == SHA_LENGTH &&
        strspn(reply->str, "0123456789abcdef") == SHA_LENGTH) {
        sha = learn_sha(redis, source, reply->str);
    }
    freeReplyObject(reply);
    return sha;
}

int locus_redis_append(redisContext *context, const struct locus_redis_command *command,
                       bool whole, const char *sha)
{
    const char *inline_argv[INLINE_ARGS];
    size_t inline_lengths[INLINE_ARGS];
    const char **argv = inline_argv;
    size_t *lengths = inline_lengths;
    char keys[24];
    size_t used = 0;
    int status = LOCUS_ENOMEM;

    if (command->argc + 3 > INLINE_ARGS) {
        argv = calloc(command->argc + 3, sizeof(*argv));
        lengths = calloc(command->argc + 3, sizeof(*lengths));
    }
    if (argv == NULL || lengths == NULL) {
        goto free_arrays;
    }
    if (command->script != NULL) {
        whole = whole || sha[0] == '\0';
        snprintf(keys, sizeof(keys), "%zu", command->keys);
        argv[used++] = whole ? "EVAL" : "EVALSHA";
        argv[used++] = whole ? command->script->source : sha;
        argv[used++] = keys;
        for (size_t i = 0; i < used; i++) {
            lengths[i] = strlen(argv[i]);
        }
    }
    for (size_t i = 0; i < command->argc; i++, used++) {
        argv[used] = command->argv[i];
        lengths[used] =
            command->lengths != NULL ? command->lengths[i] : strlen(command->argv[i]);
    }
    if (redisAppendCommandArgv(context, (int)used, argv, lengths) == REDIS_OK) {
        status = LOCUS_OK;
    }

free_arrays:
    if (argv != inline_argv) {
        free(argv);
    }
    if (lengths != inline_lengths) {
        free(lengths);
    }
    return status;
}

int locus_redis_append_asking(redisContext *context)
{
    const char *argv[] = {"ASKING"};

    return redisAppendCommandArgv(context, 1, argv, NULL) == REDIS_OK ? LOCUS_OK
                                                                      : LOCUS_ENOMEM;
}
