/* SPDX-License-Identifier: MIT */
/*
 * Bytes -> a snapshot under good checksums -> a service. It is refused and leaves the service as
 * it was, or what comes of it can be used, saved, and loaded again as the same bytes. The
 * first byte chooses the service, the second the options.
 */
#include <stdlib.h>
#include <string.h>

#include "../support/forge.h"
#include "../support/snapshot.h"
#include "../support/testalloc.h"

enum { CHOICES = 2, SIZE_MAX_BYTES = 20000 };

#define REQUIRE(condition) ((condition) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct choice {
    struct locus_service_config config;
    struct locus_rules rules;
    struct locus_snapshot_options options;
    uint32_t servers; /* that the service has already */
};

static struct choice choice_from(const uint8_t *data)
{
    static const char *const schedulers[] = {"lblc", "lblcr", "wrr", "mh"};
    struct choice choice = {.rules = *locus_rules_find(locus_rules_name(data[0] & 3))};
    choice.config = (struct locus_service_config){
        .scheduler = schedulers[data[0] >> 2 & 3],
        .family = (enum locus_family)(1 + (data[0] >> 4) % 3),
        .max_entries = data[1] & 32 ? 20 : 0,
        .tick_ns = data[1] & 16 ? 4000000 : 1000000,
        .now_ns = 50000000000,
    };
    choice.options = (struct locus_snapshot_options){
        .now_ns = 50000000000,
        .away_ns = data[1] & 8 ? 3600000000000 : 0,
        .add_servers = data[1] & 1,
        .connections = data[1] & 2,
    };
    choice.servers = data[1] & 4 ? 2 : 0;
    return choice;
}

static struct locus_service *create(struct choice *choice, uint32_t servers,
                                    const struct locus_allocator *hooks)
{
    struct locus_service *svc = NULL;
    choice->config.rules = &choice->rules;
    choice->config.allocator = hooks;
    REQUIRE(locus_service_create(&choice->config, &svc) == LOCUS_OK);
    for (uint32_t i = 1; i <= servers; i++) {
        struct locus_server_config server = {.weight = 1 + i, .tag = i};
        uint32_t handle;
        server.address.family = LOCUS_IPV4;
        server.address.port = 80;
        server.address.key.ipv4 = i;
        REQUIRE(locus_server_add(svc, &server, 0, &handle) == LOCUS_OK);
    }
    return svc;
}

static struct tape saved(struct locus_service *svc, uint64_t now_ns)
{
    struct tape tape = {.room = 0};
    REQUIRE(locus_snapshot_save(svc, now_ns, tape_write, &tape) == LOCUS_OK);
    return tape;
}

/* What was loaded is a snapshot again, and that one is what comes of it. */
static void save_and_load(struct choice *choice, struct locus_service *svc,
                          const struct locus_allocator *hooks)
{
    static const struct locus_snapshot_options whole = {
        .now_ns = 50000000000, .add_servers = true, .connections = true};
    struct tape first = saved(svc, 50000000000);
    struct locus_service *again = create(choice, 0, hooks);
    REQUIRE(locus_snapshot_load(again, &whole, tape_read, &first, NULL) == LOCUS_OK);
    struct tape second = saved(again, 50000000000);
    REQUIRE(first.size == second.size);
    REQUIRE(memcmp(first.bytes, second.bytes, first.size) == 0);
    tape_free(&first);
    tape_free(&second);
    locus_service_destroy(again);
}

static void use(struct locus_service *svc)
{
    for (uint32_t i = 0; i < 40; i++) {
        uint64_t now_ns = 50000000000 + i * UINT64_C(50000000000);
        struct locus_request request = {.dst = {.words = {i % 7, 0}}};
        struct locus_pick pick;
        if (locus_connect(svc, &request, now_ns, LOCUS_ACTIVE, &pick) == LOCUS_OK &&
            i % 5 == 4) {
            REQUIRE(locus_server_remove(svc, pick.server, now_ns) == LOCUS_OK);
        }
        locus_tick(svc, now_ns, SIZE_MAX);
    }
}

static void load(struct choice *choice, struct tape *tape,
                 const struct locus_allocator *hooks)
{
    struct locus_service *svc = create(choice, choice->servers, hooks);
    char *before = snapshot(svc, choice->config.family);
    int status = locus_snapshot_load(svc, &choice->options, tape_read, tape, NULL);
    if (status == LOCUS_OK) {
        save_and_load(choice, svc, hooks);
        use(svc);
    } else {
        char *after = snapshot(svc, choice->config.family);
        REQUIRE(strcmp(before, after) == 0);
        free(after);
    }
    free(before);
    locus_service_destroy(svc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct testalloc memory = {.limit_bytes = 16 << 20};
    struct locus_allocator hooks = testalloc_hooks(&memory);
    if (size < CHOICES || size > SIZE_MAX_BYTES) {
        return 0;
    }
    struct choice choice = choice_from(data);
    struct tape tape = {.room = 0};
    REQUIRE(tape_write(&tape, data + CHOICES, size - CHOICES) == LOCUS_OK);
    forge_checksums(tape.bytes, tape.size);
    load(&choice, &tape, &hooks);
    tape_free(&tape);
    REQUIRE(memory.live_bytes == 0);
    REQUIRE(memory.failed == 0);
    return 0;
}
