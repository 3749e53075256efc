/* SPDX-License-Identifier: MIT */
/*
 * picks DESIGN POLICY DESTINATIONS SERVERS PICKS: fills a design of the benchmark, then runs
 * that many picks with their opens and closes in counted_picks(), which is what
 * instructions.sh has counted. Prints a checksum of the picks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "design.h"

enum { DESTINATIONS_MAX = 1 << 16, RING = 1 << 17 };

static uint32_t destinations[DESTINATIONS_MAX], opened[RING];

/* Not static, so that it keeps its name. */
uint64_t counted_picks(const struct design *design, void *self, struct load *load,
                       size_t count);

__attribute__((noinline)) uint64_t
counted_picks(const struct design *design, void *self, struct load *load, size_t count)
{
    return design->run(self, load, count, false);
}

static const struct design *find_design(const char *name)
{
    return strcmp(name, "uthash") == 0 ? &design_uthash : &design_locus;
}

static enum policy find_policy(const char *name)
{
    return strcmp(name, "wlc") == 0     ? POLICY_WLC
           : strcmp(name, "lblcr") == 0 ? POLICY_LBLCR
                                        : POLICY_LBLC;
}

/* Weights as in the benchmark; returns their sum. */
static size_t set_weights(uint32_t *weights, uint32_t count)
{
    size_t sum = 0;

    for (uint32_t i = 0; i < count; i++) {
        weights[i] = 20 + i * 7 % 60;
        sum += weights[i];
    }
    return sum;
}

static void fill(const struct design *design, void *self, struct load *load,
                 uint32_t count)
{
    uint32_t random = 1;

    for (uint32_t i = 0; i < DESTINATIONS_MAX; i++) {
        destinations[i] = i % count * 2654435761u;
    }
    design->run(self, load, DESTINATIONS_MAX, false);
    for (uint32_t i = 0; i < DESTINATIONS_MAX; i++) {
        random = random * 1664525u + 1013904223u;
        destinations[i] = (random >> 8) % count * 2654435761u;
    }
}

int main(int argc, char **argv)
{
    if (argc != 6) {
        fprintf(stderr, "usage: picks DESIGN POLICY DESTINATIONS SERVERS PICKS\n");
        return 2;
    }
    const struct design *design = find_design(argv[1]);
    uint32_t count = (uint32_t)strtoul(argv[3], NULL, 10);
    uint32_t servers = (uint32_t)strtoul(argv[4], NULL, 10);
    uint32_t *weights = calloc(servers, sizeof(*weights));
    if (weights == NULL || count == 0 || count > DESTINATIONS_MAX) {
        return 2;
    }
    size_t capacity = set_weights(weights, servers);
    struct setup setup = {find_policy(argv[2]), servers, weights, count,
                          strcmp(argv[1], "locus-batch") == 0};
    struct load load = {
        .destinations = destinations,
        .destination_mask = DESTINATIONS_MAX - 1,
        .opened = opened,
        .opened_mask = RING - 1,
        .open_for = capacity * 6 / 10,
        .idle_for = capacity * 6 / 10,
    };
    void *self = design->create(&setup);
    if (self == NULL) {
        return 1;
    }
    fill(design, self, &load, count);
    printf("%016llx\n", (unsigned long long)counted_picks(design, self, &load,
                                                          strtoul(argv[5], NULL, 10)));
    design->destroy(self);
    free(weights);
    return 0;
}
