/* SPDX-License-Identifier: MIT */
/*
 * Leases: their ids are made here, and those of callers are checked.
 */
#include "pool_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

static bool is_id(const char *text)
{
    return text != NULL &&
           strnlen(text, LOCUS_LEASE_ID_SIZE) == LOCUS_LEASE_ID_SIZE - 1 &&
           strspn(text, "0123456789abcdef") == LOCUS_LEASE_ID_SIZE - 1;
}

static int make_id(char id[LOCUS_LEASE_ID_SIZE])
{
    uint8_t bytes[(LOCUS_LEASE_ID_SIZE - 1) / 2];
    ssize_t got;

    do {
        got = getrandom(bytes, sizeof(bytes), 0);
    } while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof(bytes)) {
        return LOCUS_EIO;
    }
    for (size_t i = 0; i < sizeof(bytes); i++) {
        snprintf(id + 2 * i, 3, "%02x", bytes[i]);
    }
    return LOCUS_OK;
}

int locus_lease_acquire(struct locus_pool *pool, uint64_t ttl_ns,
                        struct locus_lease *out)
{
    uint64_t ttl_ms;

    memset(out, 0, sizeof(*out));
    if (!pool_ttl_ms(ttl_ns, &ttl_ms)) {
        return LOCUS_ERANGE;
    }
    int status = make_id(out->id);
    if (status == LOCUS_OK) {
        status = pool_noted(pool, pool->ops->acquire(pool->self, ttl_ms, out));
    }
    if (status != LOCUS_OK) {
        bool unknown = status == LOCUS_EAMBIGUOUS || status == LOCUS_ETIMEDOUT ||
                       status == LOCUS_EFORMAT;
        memset(out->member, 0, sizeof(out->member));
        memset(out->id, 0, unknown ? 0 : sizeof(out->id));
        out->held = 0;
    }
    return status;
}

int locus_lease_renew(struct locus_pool *pool, const char *id, uint64_t ttl_ns)
{
    uint64_t ttl_ms;

    if (!is_id(id)) {
        return LOCUS_EINVAL;
    }
    if (!pool_ttl_ms(ttl_ns, &ttl_ms)) {
        return LOCUS_ERANGE;
    }
    return pool_noted(pool, pool->ops->renew(pool->self, id, ttl_ms));
}

int locus_lease_release(struct locus_pool *pool, const char *id, bool *was_held)
{
    bool held = false;

    if (was_held != NULL) {
        *was_held = false;
    }
    if (!is_id(id)) {
        return LOCUS_EINVAL;
    }
    int status = pool_noted(pool, pool->ops->release(pool->self, id, &held));
    if (was_held != NULL) {
        *was_held = held;
    }
    return status;
}

int locus_lease_set_limit(struct locus_pool *pool, const char *member, uint32_t limit)
{
    if (!pool_is_member(member)) {
        return LOCUS_EINVAL;
    }
    if (limit > POOL_HELD_MAX) {
        return LOCUS_ERANGE;
    }
    return pool_noted(pool, pool->ops->set_limit(pool->self, member, limit));
}
