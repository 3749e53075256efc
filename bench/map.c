/* SPDX-License-Identifier: MIT */
/*
 * The destination map by itself: nanoseconds to add a destination, to find it, to find out that
 * it is not there, to take it out; and the bytes that it takes, from the count that each
 * map keeps of its own memory. Of locus through its public calls, so that adding and
 * finding are whole picks with one server; of uthash the bare map, with an entry of the
 * same fields, which has 16 bytes of malloc's own on top.
 */
#include "map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "fixture.h"

enum { ROUNDS = 3 };

struct figures {
    struct samples add, find, miss, take;
    double bytes;
};

static union locus_key key_of(enum locus_family family, uint64_t i)
{
    union locus_key key = {.words = {0, 0}};

    if (family == LOCUS_IPV4) {
        key.ipv4 = (uint32_t)i * 2654435761u;
    } else {
        key.words[0] = i * 0x9e3779b97f4a7c15u;
        key.words[1] = i;
    }
    return key;
}

/* The i-th of count in an order that caches know nothing of. */
static uint32_t scattered(uint32_t i, uint32_t count)
{
    return (uint32_t)((i * UINT64_C(2654435761)) % count);
}

static double per_key(uint64_t start, uint32_t count)
{
    return (double)(cpu_ns() - start) / count;
}

static double pick_all(struct locus_service *svc, enum locus_family family,
                       uint32_t count, bool in_order)
{
    uint64_t start = cpu_ns();

    for (uint32_t i = 0; i < count; i++) {
        struct locus_request request = {
            .dst = key_of(family, in_order ? i : scattered(i, count))};
        struct locus_pick pick;
        if (locus_schedule(svc, &request, 0, &pick) != LOCUS_OK) {
            abort();
        }
    }
    return per_key(start, count);
}

static double miss_all(const struct locus_service *svc, enum locus_family family,
                       uint32_t count)
{
    uint64_t start = cpu_ns();

    for (uint32_t i = 0; i < count; i++) {
        union locus_key key = key_of(family, (uint64_t)count + i);
        struct locus_destination destination;
        uint32_t server;
        if (locus_destination_get(svc, &key, &destination, &server, 1)) {
            abort();
        }
    }
    return per_key(start, count);
}

static void measure_locus(struct figures *f, enum locus_family family,
                          uint32_t load_percent, uint32_t count)
{
    struct locus_service *svc = make_service(family, load_percent, 1);
    struct locus_service_stats stats;

    samples_add(&f->add, pick_all(svc, family, count, true));
    samples_add(&f->find, pick_all(svc, family, count, false));
    samples_add(&f->miss, miss_all(svc, family, count));
    locus_service_get_stats(svc, &stats);
    f->bytes = (double)stats.map_bytes / count;
    uint64_t start = cpu_ns();
    (void)locus_tick(svc, 2 * HOUR_NS, SIZE_MAX);
    samples_add(&f->take, per_key(start, count));
    locus_service_destroy(svc);
}

struct entry {
    union locus_key key;
    uint32_t lastuse, lastmod, server;
    UT_hash_handle hh;
};

static size_t key_size(enum locus_family family)
{
    return family == LOCUS_IPV4 ? sizeof(uint32_t) : sizeof(union locus_key);
}

static struct entry *find(struct entry *map, enum locus_family family, uint64_t i)
{
    union locus_key key = key_of(family, i);
    struct entry *e;

    HASH_FIND(hh, map, &key, key_size(family), e);
    return e;
}

static struct entry *add_all(enum locus_family family, uint32_t count)
{
    struct entry *map = NULL;

    for (uint32_t i = 0; i < count; i++) {
        struct entry *e = must(calloc(1, sizeof(*e)));
        e->key = key_of(family, i);
        HASH_ADD(hh, map, key, key_size(family), e);
    }
    return map;
}

static void measure_uthash(struct figures *f, enum locus_family family, uint32_t count)
{
    struct entry *e, *next;
    uint64_t start = cpu_ns();
    struct entry *map = add_all(family, count);

    samples_add(&f->add, per_key(start, count));
    start = cpu_ns();
    for (uint32_t i = 0; i < count; i++) {
        find(map, family, scattered(i, count))->lastuse++;
    }
    samples_add(&f->find, per_key(start, count));
    start = cpu_ns();
    for (uint32_t i = 0; i < count; i++) {
        if (find(map, family, (uint64_t)count + i) != NULL) {
            abort();
        }
    }
    samples_add(&f->miss, per_key(start, count));
    /* The overhead has the handles in it, the entries too. */
    f->bytes = sizeof(*e) + 16 + (double)HASH_OVERHEAD(hh, map) / count -
               sizeof(UT_hash_handle);
    start = cpu_ns();
    HASH_ITER(hh, map, e, next) {
        HASH_DEL(map, e);
        free(e);
    }
    samples_add(&f->take, per_key(start, count));
}

void bench_map(uint32_t destinations, enum format format, bool first)
{
    static const struct variant {
        const char *name;
        enum locus_family family;
        bool uthash;
        uint32_t load_percent;
    } variants[] = {
        {"locus, IPv4", LOCUS_IPV4, false, 0},
        {"locus, IPv4, map_load_percent 80", LOCUS_IPV4, false, 80},
        {"uthash, IPv4", LOCUS_IPV4, true, 0},
        {"locus, IPv6 or name", LOCUS_IPV6, false, 0},
        {"uthash, IPv6 or name", LOCUS_IPV6, true, 0},
    };
    enum { VARIANTS = sizeof(variants) / sizeof(variants[0]) };
    static struct figures figures[VARIANTS];

    memset(figures, 0, sizeof(figures));
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < VARIANTS; i++) {
            const struct variant *v = &variants[i];
            if (v->uthash) {
                measure_uthash(&figures[i], v->family, destinations);
            } else {
                measure_locus(&figures[i], v->family, v->load_percent, destinations);
            }
        }
    }
    for (int i = 0; i < VARIANTS; i++) {
        struct figures *f = &figures[i];
        struct field fields[] = {
            {"dest", destinations, 0},
            {"add ns", samples_quantile(&f->add, 0.5), 1},
            {"find ns", samples_quantile(&f->find, 0.5), 1},
            {"miss ns", samples_quantile(&f->miss, 0.5), 1},
            {"take out ns", samples_quantile(&f->take, 0.5), 1},
            {"bytes/dest", f->bytes, 1},
        };
        print_record(format, first && i == 0, "map", variants[i].name, fields, 6);
    }
}
