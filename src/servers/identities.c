/* SPDX-License-Identifier: MIT */
#include "identities.h"

#include "slots.h"

/* An allocation that fails leaves the table as it was; the add then finds out. */
#undef uthash_malloc
#undef uthash_free
#undef uthash_nonfatal_oom
#define uthash_malloc(size) alloc_bytes(&svc->allocator, size)
#define uthash_free(ptr, size) release(&svc->allocator, ptr, size)
#define uthash_nonfatal_oom(element) ((element)->slot = LOCUS_NO_SERVER)

static void set_key(struct identity *identity, const struct locus_address *address)
{
    memset(&identity->key, 0, sizeof(identity->key));
    identity->key.family = (uint32_t)address->family;
    identity->key.port = address->port;
    if (address->family == LOCUS_IPV4) {
        memcpy(identity->key.bytes, &address->key.ipv4, sizeof(address->key.ipv4));
    } else {
        memcpy(identity->key.bytes, address->key.bytes, sizeof(identity->key.bytes));
    }
}

struct locus_address locus_identity_address(const struct identity *identity)
{
    struct locus_address address;

    memset(&address, 0, sizeof(address));
    address.family = (enum locus_family)identity->key.family;
    address.port = (uint16_t)identity->key.port;
    if (address.family == LOCUS_IPV4) {
        memcpy(&address.key.ipv4, identity->key.bytes, sizeof(address.key.ipv4));
    } else {
        memcpy(address.key.bytes, identity->key.bytes, sizeof(identity->key.bytes));
    }
    return address;
}

struct identity *locus_identity_find(const struct locus_service *svc,
                                     const struct locus_address *address)
{
    struct identity wanted, *found;

    set_key(&wanted, address);
    HASH_FIND(hh, svc->by_address, &wanted.key, sizeof(wanted.key), found);
    return found;
}

int locus_identity_make(struct locus_service *svc, const struct locus_address *address,
                        uint32_t *out)
{
    struct identity *identity = alloc_zeroed(&svc->allocator, sizeof(*identity));

    if (identity == NULL || locus_slot_take(svc, out) != LOCUS_OK) {
        release(&svc->allocator, identity, sizeof(*identity));
        return LOCUS_ENOMEM;
    }
    set_key(identity, address);
    identity->slot = *out;
    HASH_ADD(hh, svc->by_address, key, sizeof(identity->key), identity);
    if (identity->slot == LOCUS_NO_SERVER) {
        locus_slot_give(svc, *out);
        release(&svc->allocator, identity, sizeof(*identity));
        return LOCUS_ENOMEM;
    }
    svc->identities[*out] = identity;
    return LOCUS_OK;
}

void locus_identity_unname(struct locus_service *svc, struct identity *identity)
{
    HASH_DELETE(hh, svc->by_address, identity);
}

bool locus_identity_named(const struct locus_service *svc, bool in_trash)
{
    return !in_trash || !svc->rules.purge_removed;
}

void locus_identity_drop(struct locus_service *svc, uint32_t slot, bool in_trash)
{
    struct identity *identity = svc->identities[slot];

    if (locus_identity_named(svc, in_trash)) {
        locus_identity_unname(svc, identity);
    }
    release(&svc->allocator, identity, sizeof(*identity));
    locus_slot_give(svc, slot);
}

void locus_identities_fini(struct locus_service *svc)
{
    HASH_CLEAR(hh, svc->by_address);
    for (uint32_t i = 0; i < svc->slots; i++) {
        release(&svc->allocator, svc->identities[i], sizeof(struct identity));
    }
}
