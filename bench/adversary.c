/* SPDX-License-Identifier: MIT */
/*
 * Destinations as an adversary would choose them, beside random ones: what does a pick that
 * remembers one cost, and a pick that finds it again? The map's seed is the adversary's
 * only gap in knowledge, as in a service that takes its seed from the system.
 */
#include "adversary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

enum { ROUNDS = 7 };

static union locus_key ipv4(uint32_t address)
{
    return (union locus_key){.ipv4 = address};
}

/* The bytes of two numbers in network order. */
static union locus_key ipv6(uint64_t high, uint64_t low)
{
    union locus_key key;

    for (unsigned i = 0; i < 8; i++) {
        key.bytes[i] = (uint8_t)(high >> (56 - 8 * i));
        key.bytes[8 + i] = (uint8_t)(low >> (56 - 8 * i));
    }
    return key;
}

/* The number whose product with odd is 1, by Newton's iteration. */
static uint64_t inverse(uint64_t odd)
{
    uint64_t x = odd;

    for (int i = 0; i < 6; i++) {
        x *= 2 - odd * x;
    }
    return x;
}

static const uint64_t PREFIX = 0x20010db800000000u, GOLDEN = 0x9e3779b97f4a7c15u;

static union locus_key random4(uint32_t i)
{
    uint64_t state = (i + 1) * GOLDEN;

    random_next(&state);
    return ipv4((uint32_t)(random_next(&state) >> 32));
}

static union locus_key sequence4(uint32_t i)
{
    return ipv4(0x0a000000u + i);
}

static union locus_key reversed4(uint32_t i)
{
    return ipv4(i << 24 | (i << 8 & 0xff0000) | (i >> 8 & 0xff00) | i >> 24);
}

static union locus_key stride4(uint32_t i)
{
    return ipv4(i << 16 | i >> 16);
}

/* All in the first of the kernel's 1,024 chains, up to 2^22 of them. */
static union locus_key chain4(uint32_t i)
{
    return ipv4(i * (uint32_t)inverse(0x61c88647u));
}

static union locus_key golden4(uint32_t i)
{
    return ipv4(i * (uint32_t)inverse(GOLDEN));
}

static union locus_key random6(uint32_t i)
{
    uint64_t state = (i + 1) * GOLDEN;
    uint64_t high = random_next(&state);

    return ipv6(high, random_next(&state));
}

static union locus_key hosts6(uint32_t i)
{
    return ipv6(PREFIX, i);
}

static union locus_key shifted6(uint32_t i)
{
    return ipv6(PREFIX, (uint64_t)i << 32);
}

static union locus_key golden6(uint32_t i)
{
    union locus_key key = ipv6(PREFIX, 0);

    key.words[1] = i * inverse(GOLDEN);
    return key;
}

/* The two halves differ by the same bits in all of them. */
static union locus_key halves6(uint32_t i)
{
    return ipv6(PREFIX ^ i, i);
}

/* The four words of all have the same xor, which is what a kernel hashes. */
static union locus_key folded6(uint32_t i)
{
    return ipv6(PREFIX, (uint64_t)i << 32 | i);
}

static const struct kind {
    const char *name;
    enum locus_family family;
    union locus_key (*key)(uint32_t i);
} kinds[] = {
    {"IPv4, random", LOCUS_IPV4, random4}, /* the first of a family is its measure */
    {"IPv4, one after the other", LOCUS_IPV4, sequence4},
    {"IPv4, bytes reversed", LOCUS_IPV4, reversed4},
    {"IPv4, steps of 65,536", LOCUS_IPV4, stride4},
    {"IPv4, one chain of a kernel", LOCUS_IPV4, chain4},
    {"IPv4, against a golden hash", LOCUS_IPV4, golden4},
    {"IPv6, random", LOCUS_IPV6, random6},
    {"IPv6 /64, one after the other", LOCUS_IPV6, hosts6},
    {"IPv6 /64, steps of 2^32", LOCUS_IPV6, shifted6},
    {"IPv6 /64, against a golden hash", LOCUS_IPV6, golden6},
    {"IPv6 /64, one chain of a kernel", LOCUS_IPV6, folded6},
    {"IPv6, halves that cancel", LOCUS_IPV6, halves6},
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static double pick_all(struct locus_service *svc, const union locus_key *keys,
                       uint32_t count, uint64_t now_ns)
{
    uint64_t start = cpu_ns();

    for (uint32_t i = 0; i < count; i++) {
        struct locus_request request = {.dst = keys[i]};
        struct locus_pick pick;
        if (locus_schedule(svc, &request, now_ns, &pick) != LOCUS_OK) {
            abort();
        }
    }
    return (double)(cpu_ns() - start) / count;
}

static void shuffle(union locus_key *keys, uint32_t count)
{
    uint64_t random = 1;

    for (uint32_t i = count; i > 1; i--) {
        uint32_t other = (uint32_t)(random_next(&random) % i);
        union locus_key key = keys[i - 1];
        keys[i - 1] = keys[other];
        keys[other] = key;
    }
}

/* Shuffled, so that all kinds come in an order that caches know nothing of. */
static void measure(const struct kind *kind, union locus_key *keys, uint32_t count,
                    struct samples *add, struct samples *find)
{
    struct locus_service *svc = make_service(kind->family, 0, 1);

    for (uint32_t i = 0; i < count; i++) {
        keys[i] = kind->key(i);
    }
    shuffle(keys, count);
    samples_add(add, pick_all(svc, keys, count, 0));
    shuffle(keys, count);
    samples_add(find, pick_all(svc, keys, count, 1));
    locus_service_destroy(svc);
}

void bench_adversary(uint32_t destinations, enum format format)
{
    static struct samples add[KINDS], find[KINDS];
    union locus_key *keys = must(malloc(destinations * sizeof(*keys)));
    int base = 0;

    memset(add, 0, sizeof(add));
    memset(find, 0, sizeof(find));
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < KINDS; i++) {
            measure(&kinds[i], keys, destinations, &add[i], &find[i]);
        }
    }
    free(keys);
    for (int i = 0; i < KINDS; i++) {
        base = kinds[i].family != kinds[base].family ? i : base;
        double add_ns = samples_quantile(&add[i], 0.5);
        double find_ns = samples_quantile(&find[i], 0.5);
        struct field fields[] = {
            {"dest", destinations, 0},
            {"add ns", add_ns, 1},
            {"find ns", find_ns, 1},
            {"add ratio", add_ns / samples_quantile(&add[base], 0.5), 2},
            {"find ratio", find_ns / samples_quantile(&find[base], 0.5), 2},
        };
        print_record(format, i == 0, "keys", kinds[i].name, fields, 5);
    }
}
