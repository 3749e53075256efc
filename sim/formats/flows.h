/* SPDX-License-Identifier: MIT */
/*
 * Connections put together from their two directions: what pcap and nfdump share. A flow is
 * found by its two endpoints, whichever sent.
 */
#ifndef LOCUS_SIM_READERS_FLOWS_H
#define LOCUS_SIM_READERS_FLOWS_H

#include <uthash.h>

#include "reader.h"

struct endpoint {
    union locus_key address;
    uint8_t family;
    uint16_t port;
};

struct flow_key { /* no padding: hashed as bytes; the lesser endpoint comes first */
    uint8_t address[2][16];
    uint16_t port[2];
    uint8_t family;
    uint8_t proto;
    uint16_t zero;
};

struct flow {
    struct flow_key key;
    uint8_t client;             /* which endpoint of the key, 0 or 1 */
    bool seen[2];               /* something came from that endpoint */
    uint8_t flags;              /* the reader's own */
    uint64_t first_ns, last_ns; /* of its packets or rows */
    uint64_t bytes_from[2];
    UT_hash_handle hh; /* in the order of the last touch */
};

struct flow_table {
    struct flow *flows;
    size_t count;
};

enum { FLOWS_MAX = 1 << 20 };

/* Which endpoint of *key is "from" (0 or 1). */
uint8_t flow_key_make(struct flow_key *key, const struct endpoint *from,
                      const struct endpoint *to, uint8_t proto);
struct flow *flow_find(const struct flow_table *table, const struct flow_key *key);
/* A new flow, zeroed but for its key; the least recently touched goes out by emit first when
 * the table is full. NULL and *status after an error. */
struct flow *flow_add(struct reader *reader, struct flow_table *table,
                      const struct flow_key *key, int *status);
/* Puts it behind all others. False when out of memory (said). */
bool flow_touch(struct flow_table *table, struct flow *flow);
/* Hands the flow out as a record and frees it; flow_flush() all of them, those whose last_ns
 * is before_ns or later excepted. 0 or an exit_code. */
int flow_emit(struct reader *reader, struct flow_table *table, struct flow *flow);
int flow_flush(struct reader *reader, struct flow_table *table, uint64_t before_ns);
void flow_table_free(struct flow_table *table);

#endif
