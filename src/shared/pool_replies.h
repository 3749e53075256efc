/* SPDX-License-Identifier: MIT */
/*
 * What the pool's scripts answer, checked before it is believed: anybody may write to the same
 * keys.
 */
#ifndef LOCUS_SHARED_POOL_REPLIES_H
#define LOCUS_SHARED_POOL_REPLIES_H

#include <locus/pool.h>

#include "redis.h"

/* A member's name as pool.h has it, into LOCUS_POOL_MEMBER_SIZE bytes. */
bool locus_pool_read_name(const struct locus_redis_reply *reply, char *out);
bool locus_pool_read_count(const struct locus_redis_reply *reply, uint64_t *out);
/* SCRIPT_LIST's; by name. EFORMAT, ENOMEM; out->members is the caller's to free anyway. */
int locus_pool_read_list(const struct locus_redis_reply *reply,
                         struct locus_pool_list *out);
/* SCRIPT_GET's, without the name. EFORMAT; ENOENT: there is no such member. */
int locus_pool_read_member(const struct locus_redis_reply *reply,
                           struct locus_pool_member *out);

#endif
