/* SPDX-License-Identifier: MIT */
/*
 * Snapshots: nanoseconds per destination to save and to load, and the bytes that one takes. The
 * caller's memory is there before, so that it costs a copy. With a queue (rules->evict)
 * destinations are saved in its order, each found in the map; else segment by segment,
 * sorted.
 */
#include "snapshot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

enum { ROUNDS = 5, SERVERS = 16, BYTES_EACH = 32, BYTES_BESIDE = 65536 };

struct store {
    char *bytes;
    size_t size, at, room;
};

static int put(void *arg, const void *bytes, size_t size)
{
    struct store *store = arg;

    if (size > store->room - store->size) {
        return LOCUS_ENOMEM;
    }
    memcpy(store->bytes + store->size, bytes, size);
    store->size += size;
    return LOCUS_OK;
}

static int get(void *arg, void *bytes, size_t size)
{
    struct store *store = arg;

    if (size > store->size - store->at) {
        return LOCUS_EFORMAT;
    }
    memcpy(bytes, store->bytes + store->at, size);
    store->at += size;
    return LOCUS_OK;
}

static struct locus_service *make(enum locus_family family, bool queue)
{
    struct locus_rules rules = *locus_rules_find("article");
    struct locus_service_config config = {
        .scheduler = "lblc", .family = family, .rules = &rules};
    struct locus_service *svc;

    rules.evict = queue;
    if (locus_service_create(&config, &svc) != LOCUS_OK) {
        must(NULL);
    }
    return svc;
}

static void fill(struct locus_service *svc, uint32_t destinations)
{
    for (uint32_t i = 0; i < SERVERS; i++) {
        struct locus_server_config server = {
            .address = {.family = LOCUS_IPV4, .key = {.ipv4 = i}}, .weight = 1000};
        uint32_t handle;
        if (locus_server_add(svc, &server, 0, &handle) != LOCUS_OK) {
            must(NULL);
        }
    }
    for (uint32_t i = 0; i < destinations; i++) {
        struct locus_request request = {.dst = {.words = {0, 0}}};
        struct locus_pick pick;
        request.dst.words[0] = i * UINT64_C(0x9e3779b97f4a7c15);
        (void)!locus_schedule(svc, &request, 0, &pick);
    }
}

static bool load(struct store *store, enum locus_family family, bool queue,
                 uint32_t destinations, struct samples *samples)
{
    struct locus_snapshot_options options = {.add_servers = true};
    struct locus_snapshot_report report = {.loaded = 0};
    struct locus_service *svc = make(family, queue);

    store->at = 0;
    uint64_t start = cpu_ns();
    int status = locus_snapshot_load(svc, &options, get, store, &report);
    samples_add(samples, (double)(cpu_ns() - start) / destinations);
    locus_service_destroy(svc);
    return status == LOCUS_OK && report.loaded == destinations;
}

static bool measure(enum locus_family family, bool queue, uint32_t destinations,
                    struct field fields[4])
{
    struct store store = {.room = (size_t)destinations * BYTES_EACH + BYTES_BESIDE};
    struct samples saved = {.count = 0}, loaded = {.count = 0};
    struct locus_service *svc = make(family, queue);
    bool good = true;

    store.bytes = must(malloc(store.room));
    memset(store.bytes, 1, store.room);
    fill(svc, destinations);
    for (int round = 0; round < ROUNDS; round++) {
        store.size = 0;
        uint64_t start = cpu_ns();
        good = locus_snapshot_save(svc, 0, put, &store) == LOCUS_OK && good;
        samples_add(&saved, (double)(cpu_ns() - start) / destinations);
        good = load(&store, family, queue, destinations, &loaded) && good;
    }
    fields[0] = (struct field){"dest", destinations, 0};
    fields[1] = (struct field){"save ns", samples_quantile(&saved, 0.5), 1};
    fields[2] = (struct field){"load ns", samples_quantile(&loaded, 0.5), 1};
    fields[3] = (struct field){"bytes/dest", (double)store.size / destinations, 1};
    locus_service_destroy(svc);
    free(store.bytes);
    return good;
}

bool bench_snapshot(uint32_t destinations, enum format format, bool first)
{
    static const struct variant {
        const char *name;
        enum locus_family family;
        bool queue;
    } variants[] = {
        {"IPv4", LOCUS_IPV4, false},
        {"IPv4, evict", LOCUS_IPV4, true},
        {"IPv6 or name", LOCUS_NAME, false},
    };
    bool good = true;

    for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++) {
        const struct variant *v = &variants[i];
        struct field fields[4];
        good = measure(v->family, v->queue, destinations, fields) && good;
        print_record(format, first && i == 0, "snapshot", v->name, fields, 4);
    }
    return good;
}
