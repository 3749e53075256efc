/* SPDX-License-Identifier: MIT */
#include "format.h"

void locus_snapshot_put_key(struct block_writer *out, enum locus_family family,
                            const union locus_key *key)
{
    if (family == LOCUS_IPV4) {
        locus_blocks_put(out, key->ipv4, 4);
    } else if (family == LOCUS_NAME) {
        locus_blocks_put(out, key->words[0], 8);
        locus_blocks_put(out, key->words[1], 8);
    } else {
        for (int i = 0; i < 16; i++) {
            locus_blocks_put(out, key->bytes[i], 1);
        }
    }
}

union locus_key locus_snapshot_get_key(struct block_reader *in,
                                       enum locus_family family)
{
    union locus_key key = {.words = {0, 0}};

    if (family == LOCUS_IPV4) {
        key.ipv4 = (uint32_t)locus_blocks_get(in, 4);
    } else if (family == LOCUS_NAME) {
        key.words[0] = locus_blocks_get(in, 8);
        key.words[1] = locus_blocks_get(in, 8);
    } else {
        for (int i = 0; i < 16; i++) {
            key.bytes[i] = (uint8_t)locus_blocks_get(in, 1);
        }
    }
    return key;
}
