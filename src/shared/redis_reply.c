/* SPDX-License-Identifier: MIT */
/*
 * Replies of a server: what callers may ask of any of them, and what this client looks for in
 * errors.
 */
#include "redis_internal.h"

#include <string.h>

enum { ELEMENTS_MAX = 1 << 20 }; /* of one array in a reply */

static const redisReply *raw(const struct locus_redis_reply *reply)
{
    return (const redisReply *)(const void *)reply;
}

enum locus_reply_kind locus_reply_kind(const struct locus_redis_reply *reply)
{
    if (reply == NULL) {
        return LOCUS_REPLY_NONE;
    }
    switch (raw(reply)->type) {
    case REDIS_REPLY_NIL:
        return LOCUS_REPLY_NIL;
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
        return LOCUS_REPLY_TEXT;
    case REDIS_REPLY_INTEGER:
        return LOCUS_REPLY_INTEGER;
    case REDIS_REPLY_ARRAY:
        return LOCUS_REPLY_ARRAY;
    case REDIS_REPLY_ERROR:
        return LOCUS_REPLY_ERROR;
    default:
        return LOCUS_REPLY_NONE;
    }
}

const char *locus_reply_text(const struct locus_redis_reply *reply, size_t *length)
{
    if (locus_reply_kind(reply) != LOCUS_REPLY_TEXT || raw(reply)->str == NULL) {
        return NULL;
    }
    if (length != NULL) {
        *length = raw(reply)->len;
    }
    return raw(reply)->str;
}

bool locus_reply_integer(const struct locus_redis_reply *reply, int64_t *out)
{
    size_t length;

    if (locus_reply_kind(reply) == LOCUS_REPLY_INTEGER) {
        *out = raw(reply)->integer;
        return true;
    }
    const char *text = locus_reply_text(reply, &length);
    if (text == NULL || length == 0 || length > 20) {
        return false;
    }
    bool negative = text[0] == '-';
    if (negative && length == 1) {
        return false;
    }
    uint64_t limit = (uint64_t)INT64_MAX + negative;
    uint64_t value = 0;
    for (size_t i = negative; i < length; i++) {
        uint64_t digit = (uint64_t)(text[i] - '0');
        if (text[i] < '0' || text[i] > '9' || value > (limit - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
    }
    *out = negative ? (int64_t)(~value + 1) : (int64_t)value;
    return true;
}

size_t locus_reply_count(const struct locus_redis_reply *reply)
{
    return locus_reply_kind(reply) == LOCUS_REPLY_ARRAY ? raw(reply)->elements : 0;
}

const struct locus_redis_reply *locus_reply_at(const struct locus_redis_reply *reply,
                                               size_t index)
{
    if (index >= locus_reply_count(reply)) {
        return NULL;
    }
    return (const struct locus_redis_reply *)(const void *)raw(reply)->element[index];
}

void locus_reply_free(struct locus_redis_reply *reply)
{
    if (reply != NULL) {
        freeReplyObject(reply);
    }
}

/* ---- errors ---------------------------------------------------------------------- */

bool locus_reply_begins(const redisReply *reply, const char *word)
{
    size_t length = strlen(word);

    return reply->str != NULL && reply->len >= length &&
           memcmp(reply->str, word, length) == 0 &&
           (reply->len == length || reply->str[length] == ' ');
}

bool locus_reply_asks_for_patience(const redisReply *reply)
{
    static const char *const words[] = {"LOADING",
                                        "BUSY",
                                        "TRYAGAIN",
                                        "CLUSTERDOWN",
                                        "MASTERDOWN",
                                        "READONLY",
                                        "ERR max number of clients reached"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (locus_reply_begins(reply, words[i])) {
            return true;
        }
    }
    return false;
}

/* ---- the reader ------------------------------------------------------------------ */

/* The reader takes NULL for lack of memory, and gives up. */
static void *bounded_array(const redisReadTask *task, redis_element_count elements)
{
    const struct bound *bound = task->privdata;

    return (size_t)elements > ELEMENTS_MAX ? NULL : bound->create_array(task, elements);
}

void locus_reply_bound(redisReader *reader, struct bound *bound)
{
    bound->functions = *reader->fn;
    bound->create_array = reader->fn->createArray;
    bound->functions.createArray = bounded_array;
    reader->fn = &bound->functions;
    reader->privdata = bound;
}

int locus_redis_parse(const char *bytes, size_t length, struct locus_redis_reply **out)
{
    redisReader *reader = redisReaderCreate();
    struct bound bound;
    void *reply = NULL;
    int status = LOCUS_OK;

    *out = NULL;
    if (reader == NULL) {
        return LOCUS_ENOMEM;
    }
    locus_reply_bound(reader, &bound);
    if (redisReaderFeed(reader, bytes, length) != REDIS_OK) {
        status = LOCUS_ENOMEM;
    } else if (redisReaderGetReply(reader, &reply) != REDIS_OK) {
        status = LOCUS_EFORMAT;
    }
    redisReaderFree(reader);
    *out = reply;
    return status;
}
