/* SPDX-License-Identifier: MIT */
#include "pool_replies.h"

#include <stdlib.h>
#include <string.h>

bool locus_pool_read_name(const struct locus_redis_reply *reply, char *out)
{
    size_t length;
    const char *text = locus_reply_text(reply, &length);

    if (text == NULL || length == 0 || length >= LOCUS_POOL_MEMBER_SIZE ||
        memchr(text, '\0', length) != NULL) {
        return false;
    }
    memcpy(out, text, length + 1);
    return true;
}

bool locus_pool_read_count(const struct locus_redis_reply *reply, uint64_t *out)
{
    int64_t value;

    if (!locus_reply_integer(reply, &value) || value < 0) {
        return false;
    }
    *out = (uint64_t)value;
    return true;
}

/* "r:12" or "u:12". */
static bool read_kept(const struct locus_redis_reply *reply,
                      struct locus_pool_member *out)
{
    size_t length;
    const char *text = locus_reply_text(reply, &length);

    if (text == NULL || length < 3 || length > 20 || text[1] != ':' ||
        (text[0] != 'r' && text[0] != 'u') ||
        strspn(text + 2, "0123456789") != length - 2) {
        return false;
    }
    out->count = strtoull(text + 2, NULL, 10);
    out->state = text[0] == 'r' ? LOCUS_POOL_REMOVED : LOCUS_POOL_UNHEALTHY;
    return true;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct locus_pool_member *)a)->name,
                  ((const struct locus_pool_member *)b)->name);
}

/* Puts a hash's numbers into the members that it names; others are let be. */
static void join(const struct locus_redis_reply *hash, struct locus_pool_list *list,
                 void (*put)(struct locus_pool_member *member, uint64_t value))
{
    for (size_t i = 0; i + 1 < locus_reply_count(hash); i += 2) {
        struct locus_pool_member key;
        uint64_t value;
        if (!locus_pool_read_name(locus_reply_at(hash, i), key.name) ||
            !locus_pool_read_count(locus_reply_at(hash, i + 1), &value)) {
            continue;
        }
        struct locus_pool_member *found =
            bsearch(&key, list->members, list->count, sizeof(key), compare_names);
        if (found != NULL) {
            put(found, value);
        }
    }
}

static void put_streak(struct locus_pool_member *member, uint64_t value)
{
    member->streak = value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

static void put_held(struct locus_pool_member *member, uint64_t value)
{
    member->held = value;
}

static bool is_list(const struct locus_redis_reply *reply)
{
    bool ok = locus_reply_count(reply) == 4;

    for (size_t i = 0; ok && i < 4; i++) {
        ok = locus_reply_kind(locus_reply_at(reply, i)) == LOCUS_REPLY_ARRAY;
    }
    return ok;
}

static bool read_list(const struct locus_redis_reply *reply,
                      struct locus_pool_list *out)
{
    const struct locus_redis_reply *live = locus_reply_at(reply, 0);
    const struct locus_redis_reply *kept = locus_reply_at(reply, 1);

    for (size_t i = 0; i + 1 < locus_reply_count(live); i += 2) {
        struct locus_pool_member *m = &out->members[out->count++];
        if (!locus_pool_read_name(locus_reply_at(live, i), m->name) ||
            !locus_pool_read_count(locus_reply_at(live, i + 1), &m->count)) {
            return false;
        }
    }
    for (size_t i = 0; i + 1 < locus_reply_count(kept); i += 2) {
        struct locus_pool_member *m = &out->members[out->count++];
        if (!locus_pool_read_name(locus_reply_at(kept, i), m->name) ||
            !read_kept(locus_reply_at(kept, i + 1), m)) {
            return false;
        }
    }
    qsort(out->members, out->count, sizeof(*out->members), compare_names);
    join(locus_reply_at(reply, 2), out, put_streak);
    join(locus_reply_at(reply, 3), out, put_held);
    return true;
}

int locus_pool_read_list(const struct locus_redis_reply *reply,
                         struct locus_pool_list *out)
{
    size_t room = (locus_reply_count(locus_reply_at(reply, 0)) +
                   locus_reply_count(locus_reply_at(reply, 1))) /
                  2;

    out->members = calloc(room + 1, sizeof(*out->members));
    if (out->members == NULL) {
        return LOCUS_ENOMEM;
    }
    return is_list(reply) && read_list(reply, out) ? LOCUS_OK : LOCUS_EFORMAT;
}

int locus_pool_read_member(const struct locus_redis_reply *reply,
                           struct locus_pool_member *out)
{
    const struct locus_redis_reply *live = locus_reply_at(reply, 0);
    const struct locus_redis_reply *kept = locus_reply_at(reply, 1);
    uint64_t value;

    if (locus_reply_count(reply) != 4) {
        return LOCUS_EFORMAT;
    }
    if (locus_reply_kind(live) == LOCUS_REPLY_NIL &&
        locus_reply_kind(kept) == LOCUS_REPLY_NIL) {
        return LOCUS_ENOENT;
    }
    if (!locus_pool_read_count(live, &out->count) && !read_kept(kept, out)) {
        return LOCUS_EFORMAT;
    }
    if (locus_pool_read_count(locus_reply_at(reply, 2), &value)) {
        put_streak(out, value);
    }
    if (locus_pool_read_count(locus_reply_at(reply, 3), &value)) {
        put_held(out, value);
    }
    return LOCUS_OK;
}
