/* SPDX-License-Identifier: MIT */
/*
 * mh: Maglev hashing (Eisenbud et al., "Maglev: a fast and reliable software network load
 * balancer", NSDI 2016) over 4,093 slots. Every server walks its own permutation of the
 * slots and claims, turn by turn in list order, as many per round as its weight gives it.
 *
 * Weights are the last ones above 0 (or the one given at the add), divided by their greatest
 * common divisor and shifted until the largest share is below 64; so quiescing a server
 * changes no slot: what hashes to it is refused, or with LOCUS_FLAG_FALLBACK goes
 * elsewhere. With more servers than slots the table stays as it was.
 */
#include "table.h"

enum { SLOTS = 4093, SHARE_BITS = 6 };

struct walker { /* a server's place in its permutation */
    uint16_t at, skip;
};

struct state {
    uint32_t gcd, shift;
    uint32_t slots[SLOTS];
    struct walker walkers[SLOTS]; /* by place in the list, while dealing */
};

static uint32_t hash(uint64_t key, uint32_t value)
{
    unsigned char bytes[4];

    for (int i = 0; i < 4; i++) {
        bytes[i] = (unsigned char)(value >> (8 * i));
    }
    return (uint32_t)locus_siphash13(key, key, bytes, sizeof(bytes));
}

static uint32_t hash_slot(uint32_t value)
{
    return hash(2654435761u, value) % SLOTS;
}

static uint32_t last_weight(const struct locus_service *svc, uint32_t server)
{
    return svc->identities[server]->last_weight;
}

static uint32_t gcd(uint32_t a, uint32_t b)
{
    while (b != 0) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static uint32_t bit_length(uint32_t value)
{
    uint32_t bits = 0;

    while (value > 0) {
        value >>= 1;
        bits++;
    }
    return bits;
}

static void measure(const struct locus_service *svc, struct state *st)
{
    uint32_t divisor = 0, highest = 0;

    for (uint32_t i = svc->list.head; i != LOCUS_NO_SERVER; i = svc->servers[i].next) {
        uint32_t weight = last_weight(svc, i);
        divisor = gcd(weight, divisor);
        highest = weight > highest ? weight : highest;
    }
    st->gcd = divisor;
    st->shift = 0;
    if (divisor > 0) {
        uint32_t bits = bit_length(highest / divisor);
        st->shift = bits > SHARE_BITS ? bits - SHARE_BITS : 0;
    }
}

static uint32_t turns(const struct locus_service *svc, const struct state *st,
                      uint32_t server)
{
    uint32_t weight = last_weight(svc, server);
    uint32_t share = weight / st->gcd >> st->shift;

    return share == 0 && weight != 0 ? 1 : share;
}

static void start_walkers(struct locus_service *svc, struct state *st)
{
    uint32_t place = 0;

    for (uint32_t i = svc->list.head; i != LOCUS_NO_SERVER; i = svc->servers[i].next) {
        const struct identity *identity = svc->identities[i];
        union locus_key key;
        uint32_t ipv4;
        memcpy(key.bytes, identity->key.bytes, sizeof(key.bytes));
        memcpy(&ipv4, identity->key.bytes, sizeof(ipv4));
        bool wide = identity->key.family != LOCUS_IPV4;
        uint32_t value = identity->key.port + (wide ? key_fold(&key, true) : ipv4);
        st->walkers[place].at = (uint16_t)hash_slot(value);
        st->walkers[place].skip =
            (uint16_t)(hash(2654446892u, value) % (SLOTS - 1) + 1);
        place++;
    }
}

/* The next slot of a server's permutation that nobody has yet. */
static void claim(struct locus_service *svc, struct state *st, struct walker *walker,
                  uint32_t server)
{
    uint32_t at = walker->at;

    while (st->slots[at] != LOCUS_NO_SERVER) {
        at = (at + walker->skip) % SLOTS;
    }
    table_set(svc, st->slots, at, server);
    walker->at = (uint16_t)((at + walker->skip) % SLOTS);
}

static void deal(struct locus_service *svc)
{
    struct state *st = svc->state;
    uint32_t claimed = 0;

    if (svc->list.count > SLOTS) {
        return;
    }
    table_clear(svc, st->slots, SLOTS);
    measure(svc, st);
    if (st->gcd == 0) {
        return;
    }
    start_walkers(svc, st);
    while (claimed < SLOTS) {
        uint32_t place = 0;
        for (uint32_t i = svc->list.head; i != LOCUS_NO_SERVER && claimed < SLOTS;
             i = svc->servers[i].next) {
            for (uint32_t t = turns(svc, st, i); t > 0 && claimed < SLOTS; t--) {
                claim(svc, st, &st->walkers[place], i);
                claimed++;
            }
            place++;
        }
    }
}

static void init(struct locus_service *svc)
{
    struct state *st = svc->state;

    table_init(st->slots, SLOTS);
    deal(svc);
}

static void fini(struct locus_service *svc)
{
    struct state *st = svc->state;

    table_clear(svc, st->slots, SLOTS);
}

static void server_event(struct locus_service *svc, uint32_t server,
                         enum server_event event)
{
    (void)server;
    (void)event;
    deal(svc);
}

static uint32_t schedule(struct locus_service *svc, const struct locus_request *request,
                         struct locus_pick *pick)
{
    const struct state *st = svc->state;
    uint32_t client = table_client(svc, request);
    uint32_t first = hash_slot(client);
    uint32_t server = st->slots[first];

    (void)pick;
    if (table_usable(svc, server)) {
        return server;
    }
    if (svc->flags & LOCUS_FLAG_FALLBACK) {
        for (uint32_t i = 0; i < SLOTS; i++) {
            uint32_t offset = (i + first) % SLOTS;
            server = st->slots[hash_slot(offset + client)];
            if (table_usable(svc, server)) {
                return server;
            }
        }
    }
    return LOCUS_NO_SERVER;
}

static void describe(const struct locus_service *svc, locus_value_fn *visit, void *arg)
{
    const struct state *st = svc->state;

    visit(arg, "gcd", LOCUS_VALUE_NUMBER, st->gcd);
    visit(arg, "rshift", LOCUS_VALUE_NUMBER, st->shift);
    table_describe(st->slots, SLOTS, visit, arg);
}

const struct sched_ops locus_sched_mh = {
    .name = "mh",
    .about = "Maglev hashing by client: 4,093 slots by weight",
    .state_size = sizeof(struct state),
    .init = init,
    .fini = fini,
    .server_event = server_event,
    .schedule = schedule,
    .describe = describe,
};
