/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>

void *must(void *ptr)
{
    if (ptr == NULL) {
        fprintf(stderr, "locus-bench: out of memory\n");
        exit(1);
    }
    return ptr;
}

struct locus_service *make_service(enum locus_family family, uint32_t load_percent,
                                   uint32_t servers)
{
    struct locus_service_config config = {
        .scheduler = "lblc",
        .family = family,
        .rules = locus_rules_find("article"),
        .map_load_percent = load_percent,
        .expiration_ns = (int64_t)HOUR_NS,
    };
    struct locus_service *svc;

    if (locus_service_create(&config, &svc) != LOCUS_OK) {
        must(NULL);
    }
    for (uint32_t i = 0; i < servers; i++) {
        struct locus_server_config server = {
            .address = {.family = LOCUS_IPV4, .key = {.ipv4 = i}}, .weight = 1000};
        uint32_t handle;
        if (locus_server_add(svc, &server, 0, &handle) != LOCUS_OK) {
            must(NULL);
        }
    }
    return svc;
}

uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}
