/* SPDX-License-Identifier: MIT */
/*
 * A service as a stream of numbers (blocks.h says how they are wrapped):
 *
 *     head         family 1, length of the scheduler's name 1, name, tick_ns 8,
 *                  servers in service 4, in the trash 4, destinations 4,
 *                  entries that are none (leaks) 4, rover 4, counter 4,
 *                  ticks until the collector runs 8, until the trash is looked through 8,
 *                  which of the two is first at the same tick 1 (1: the collector),
 *                  twos' dice 8, the number of wrr's turn 8
 *     server       in list order, newest first, then the trash, latest first:
 *                  family 1, port 2, key, tag 8, weight 4, last weight above 0 4,
 *                  upper and lower threshold 4 4, capacity 4, active 4, inactive 4,
 *                  flags 1 (1 overloaded, 2 idle in the trash, 4 rr's and wrr's last),
 *                  ticks idle 8
 *     destination  key, ticks since lastuse 4, since lastmod 4, members 4 each, oldest first:
 *                  place of the server above; bit 30: another follows;
 *                  bit 31 of the first: used since the queue of rules->evict took it in
 *     key          IPv4: 4; IPv6: 16 bytes in network order; name: 8 8
 *
 * Destinations come in the order of the queue if there is one, else in that of their hashes:
 * no table's size or history shows.
 */
#ifndef LOCUS_SNAPSHOT_FORMAT_H
#define LOCUS_SNAPSHOT_FORMAT_H

#include "blocks.h"

enum {
    SERVER_OVERLOADED = 1,
    SERVER_IDLE = 2,
    SERVER_LAST = 4,
    SERVER_FLAGS = 7,
    SERVERS_MAX = 1 << 24,
};

#define MEMBER_FOLLOWS (UINT32_C(1) << 30)
#define DEST_USED (UINT32_C(1) << 31)

void locus_snapshot_put_key(struct block_writer *out, enum locus_family family,
                            const union locus_key *key);
union locus_key locus_snapshot_get_key(struct block_reader *in,
                                       enum locus_family family);

#endif
