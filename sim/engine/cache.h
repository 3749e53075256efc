/* SPDX-License-Identifier: MIT */
/*
 * The cache of each server: what a connection for a destination would find there. An object
 * is a destination; its size is that of its latest transfer.
 *
 *   lru     the least recently used goes first
 *   sieve   one queue and a hand that spares what was used since it last came by (Zhang et
 *           al., NSDI 2024): scans pass through without pushing out what is used
 *   s3fifo  a small queue that most one-timers never leave, a main queue with up to three
 *           lives, and a memory of who left the small one (Yang et al., SOSP 2023)
 */
#ifndef LOCUS_SIM_CACHE_H
#define LOCUS_SIM_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cache_policy { CACHE_LRU, CACHE_SIEVE, CACHE_S3FIFO };
extern const char *const cache_policy_names[];

struct cache_config {
    uint64_t capacity; /* of one server; bytes, or objects; 0: no cache */
    bool objects;      /* capacity counts objects */
    enum cache_policy policy;
};

/* "10GiB", "100000objects" or "100000obj". */
bool cache_capacity_parse(const char *text, struct cache_config *out);

struct cache;

int cache_create(const struct cache_config *config, struct cache **out);
void cache_destroy(struct cache *cache);
/* A request: LOCUS_OK with *hit; LOCUS_ENOMEM. What is larger than the cache passes by. */
int cache_request(struct cache *cache, uint32_t object, uint64_t bytes, bool *hit);
/* Forgets everything. */
void cache_clear(struct cache *cache);
/* In its unit. */
uint64_t cache_used(const struct cache *cache);

#endif
