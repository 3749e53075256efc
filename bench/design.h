/* SPDX-License-Identifier: MIT */
/*
 * The designs that are measured side by side. All schedule by the same rules
 * (kernel-classic, unbounded map) and must make the same decisions:
 *
 *   locus    liblocus through its public interface
 *   uthash   what one writes in an afternoon: a stock uthash map, servers in an array of
 *            structs, a scan for the least loaded
 *   chained  as a kernel module would: 1,024 chains, a linked list of servers
 *   floor    no scheduler at all: one cache line touched per pick, and the counters
 */
#ifndef LOCUS_BENCH_DESIGN_H
#define LOCUS_BENCH_DESIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NOBODY UINT32_MAX

enum policy { POLICY_WLC, POLICY_LBLC, POLICY_LBLCR };

struct setup {
    enum policy policy;
    uint32_t server_count;
    const uint32_t *weights; /* by server, in the order of adding */
    uint32_t destination_count;
    bool batch; /* locus only: locus_connect_batch() */
};

/*
 * What a design is driven by: destinations in a ring, and the connections it has opened. A
 * connection is active for open_for further picks, then inactive for idle_for, then gone.
 */
struct load {
    const uint32_t *destinations; /* count a power of two */
    size_t destination_mask;
    size_t at;        /* picks so far */
    uint32_t *opened; /* servers picked, a ring */
    size_t opened_mask;
    size_t open_for, idle_for;
    uint32_t zero; /* 0, but the compiler does not know: makes one pick wait for the
                                result of the other */
};

struct design {
    const char *name;
    void *(*create)(const struct setup *setup);
    void (*destroy)(void *self);
    /* That many rounds of pick + open + close + expire; returns a checksum of the picks. */
    uint64_t (*run)(void *self, struct load *load, size_t count, bool isolated);
    /* Remembers a destination without looking for it, and opens a connection; NULL: run does
     * it as fast. */
    void (*fill)(void *self, uint32_t destination, uint32_t server);
    void (*fin)(void *self, uint32_t server);
    void (*expire)(void *self, uint32_t server);
    /* Bytes that the map takes; NULL: not known. */
    uint64_t (*map_bytes)(void *self);
};

extern const struct design design_locus, design_uthash, design_chained, design_floor;

#endif
