/* SPDX-License-Identifier: MIT */
/*
 * Records whose two ends are numbers: of a destination and of a client, each in a table of
 * distinct keys. 40 bytes, of which nothing is hashed again: what is sorted, spooled, kept in
 * locus' own files and replayed.
 */
#ifndef LOCUS_SIM_NUMBERED_H
#define LOCUS_SIM_NUMBERED_H

#include <stdbool.h>
#include <stdint.h>

#include "keyset.h"
#include "record.h"

#define NO_CLIENT UINT32_MAX

struct numbered_record {
    uint64_t start_ns, duration_ns, bytes; /* as in struct record */
    uint32_t dst;
    uint32_t src; /* NO_CLIENT without RECORD_HAS_CLIENT */
    uint16_t dst_port, src_port;
    uint8_t proto;
    uint8_t flags; /* RECORD_* */
    uint8_t unused[2];
};

/* Numbered in the order of their first appearance. */
struct record_keys {
    struct keyset destinations, clients;
};

void record_keys_init(struct record_keys *keys);
void record_keys_free(struct record_keys *keys);

/* The names are kept with keys that are new; texts of NULL: none. False: out of memory. */
bool record_number(struct record_keys *keys, const struct record *record,
                   struct slice dst_name, struct slice src_name,
                   struct numbered_record *out);
/* The same, but *out has its two numbers only after record_keys_settle(): that overlaps the
 * cache misses of many. */
bool record_note(struct record_keys *keys, const struct record *record,
                 struct slice dst_name, struct slice src_name,
                 struct numbered_record *out);
bool record_keys_settle(struct record_keys *keys);
void record_restore(const struct record_keys *keys,
                    const struct numbered_record *numbered, struct record *out);

#endif
