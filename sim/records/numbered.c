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

static bool note_key(struct keyset *keys, uint8_t family, const union locus_key *key,
                     struct slice name, uint32_t *number)
{
    if (name.text == NULL) {
        return keyset_note(keys, family, key, number);
    }
    size_t added = keyset_add(keys, family, key, name);
    *number = (uint32_t)added;
    return added != SIZE_MAX;
}

bool record_note(struct record_keys *keys, const struct record *record,
                 struct slice dst_name, struct slice src_name,
                 struct numbered_record *out)
{
    *out = (struct numbered_record){
        .start_ns = record->start_ns,
        .duration_ns = record->duration_ns,
        .bytes = record->bytes,
        .src = NO_CLIENT,
        .dst_port = record->dst_port,
        .src_port = record->src_port,
        .proto = record->proto,
        .flags = record->flags,
    };
    return note_key(&keys->destinations, record->dst_family, &record->dst, dst_name,
                    &out->dst) &&
           (!(record->flags & RECORD_HAS_CLIENT) ||
            note_key(&keys->clients, record->src_family, &record->src, src_name,
                     &out->src));
}

bool record_keys_settle(struct record_keys *keys)
{
    return keyset_settle(&keys->destinations) && keyset_settle(&keys->clients);
}

bool record_number(struct record_keys *keys, const struct record *record,
                   struct slice dst_name, struct slice src_name,
                   struct numbered_record *out)
{
    return record_note(keys, record, dst_name, src_name, out) &&
           record_keys_settle(keys);
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
