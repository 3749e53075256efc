/* SPDX-License-Identifier: MIT */
#include "numbered.h"

void record_keys_init(struct record_keys *keys)
{
    keyset_init(&keys->destinations);
    keyset_init(&keys->clients);
}

void record_keys_free(struct record_keys *keys)
{
    keyset_free(&keys->destinations);
    keyset_free(&keys->clients);
}

bool record_number(struct record_keys *keys, const struct record *record,
                   struct slice dst_name, struct slice src_name,
                   struct numbered_record *out)
{
    size_t dst =
        keyset_add(&keys->destinations, record->dst_family, &record->dst, dst_name);
    size_t src = NO_CLIENT;

    if (record->flags & RECORD_HAS_CLIENT) {
        src = keyset_add(&keys->clients, record->src_family, &record->src, src_name);
    }
    if (dst == SIZE_MAX || src == SIZE_MAX) {
        return false;
    }
    *out = (struct numbered_record){
        .start_ns = record->start_ns,
        .duration_ns = record->duration_ns,
        .bytes = record->bytes,
        .dst = (uint32_t)dst,
        .src = (uint32_t)src,
        .dst_port = record->dst_port,
        .src_port = record->src_port,
        .proto = record->proto,
        .flags = record->flags,
    };
    return true;
}

void record_restore(const struct record_keys *keys,
                    const struct numbered_record *numbered, struct record *out)
{
    const struct keyset_entry *dst = &keys->destinations.entries[numbered->dst];

    *out = (struct record){
        .start_ns = numbered->start_ns,
        .duration_ns = numbered->duration_ns,
        .bytes = numbered->bytes,
        .dst = dst->key,
        .dst_family = dst->family,
        .dst_port = numbered->dst_port,
        .src_port = numbered->src_port,
        .proto = numbered->proto,
        .flags = numbered->flags,
    };
    if (numbered->src != NO_CLIENT) {
        const struct keyset_entry *src = &keys->clients.entries[numbered->src];
        out->src = src->key;
        out->src_family = src->family;
    }
}
