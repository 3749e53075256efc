/* SPDX-License-Identifier: MIT */
/*
 * chbl: consistent hashing with bounded loads (V. Mirrokni, M. Thorup, M. Zadimoghaddam,
 * "Consistent hashing with bounded loads", 2016).
 *
 *     every destination has an order of its own of the servers
 *     T, W = connections, weights of all servers that are available
 *     pick the first in that order that is available and has
 *         connections < c * (T + 1) * weight / W
 *
 * Since c > 1 there is always one: if none were below its bound, T would exceed itself.
 * Connections are what the spill test counts: active ones, by some rules inactive ones too.
 *
 * The order is weighted rendezvous hashing (D. Thaler, C. Ravishankar, 1998; weights:
 * C. Schindelhauer, G. Schomaker, 2005) where the article has a ring: a server's place is
 * x / weight for a number x that is drawn with the hash of server and destination for dice and
 * distributed exponentially; the least comes first. So each server is first for its exact
 * share of the destinations; a server that comes, goes or is given another weight moves only
 * destinations that it gains or loses; and those that one pushes away go to all others,
 * where a ring would give all to the next. There is no ring to keep: nothing but a hash per
 * server. The price is a look at every server, twice, per pick.
 *
 * Servers are hashed by their addresses and with no seed, so that all directors agree. Who
 * finds destinations that one server is first for fills it up to its bound, no further.
 */
#include "../base/rng.h"
#include "../load/load.h"

enum { FRACTION_BITS = 58, WHOLE_MAX = 63, COARSE_BITS = 32 };

/* A server's place in the order: x / weight. */
struct place {
    uint64_t x; /* with FRACTION_BITS behind the point */
    uint32_t weight, server;
};

/* Behind all others: 1 / 0. */
static const struct place nowhere = {1, 0, LOCUS_NO_SERVER};

struct bound {
    uint64_t room;   /* percent * (T + 1) */
    uint64_t weight; /* 100 * W */
};

/* The same on every machine. What is hashed tells servers from destinations. */
static uint64_t hash(uint64_t what, const union locus_key *key, bool wide,
                     uint32_t port)
{
    unsigned char bytes[20];
    const uint32_t words[2] = {port, wide ? 0 : key->ipv4};

    for (int i = 0; i < 8; i++) {
        bytes[i] = (unsigned char)(words[i / 4] >> (8 * (i % 4)));
    }
    if (wide) {
        memcpy(bytes + 4, key->bytes, sizeof(key->bytes));
    }
    return locus_siphash13(what, what, bytes, wide ? 20 : 8);
}

static void hash_server(struct locus_service *svc, uint32_t server)
{
    const struct identity *identity = svc->identities[server];
    bool wide = identity->key.family != LOCUS_IPV4;
    uint64_t *hashes = svc->slot_state;
    union locus_key key;

    memcpy(key.bytes, identity->key.bytes, sizeof(key.bytes));
    hashes[server] = hash(1, &key, wide, identity->key.port);
}

static void init(struct locus_service *svc)
{
    for (uint32_t i = svc->list.head; i != LOCUS_NO_SERVER; i = svc->servers[i].next) {
        hash_server(svc, i);
    }
}

static void server_event(struct locus_service *svc, uint32_t server,
                         enum server_event event)
{
    if (event == SERVER_ADDED) {
        hash_server(svc, server);
    }
}

/*
 * A number that exceeds t with probability e^-t, exactly and from comparisons alone
 * (J. von Neumann, "Various techniques used in connection with random digits", 1951): draw
 * while draws fall. If an odd number did, the first is the fraction; if not, the whole part
 * is one more. So it is no less than the first draw.
 */
static uint64_t exponential(uint64_t dice)
{
    for (uint64_t whole = 0; whole < WHOLE_MAX; whole++) {
        uint64_t first = rng_next(&dice), last = first;
        bool odd = true;
        for (uint64_t next = rng_next(&dice); next < last; next = rng_next(&dice)) {
            last = next;
            odd = !odd;
        }
        if (odd) {
            return whole << FRACTION_BITS | first >> (64 - FRACTION_BITS);
        }
    }
    return UINT64_MAX;
}

static bool comes_before(const struct place *a, const struct place *b)
{
    return product_less(a->x, b->weight, b->x, a->weight);
}

/* A percentage of at most 10,000 and 2^24 servers of weights up to 2^31 fit. So do
 * 2^50 connections, which nobody has. */
static struct bound bound_of(const struct locus_service *svc)
{
    const uint64_t most = UINT64_C(1) << 50;
    uint64_t load = 0, weight = 0;

    for (uint32_t i = 0; i < svc->slots; i++) {
        const struct server *s = &svc->servers[i];
        if (s->load.divisor != 0) {
            load += s->spill_load;
            weight += s->load.divisor;
        }
    }
    return (struct bound){
        .room = ((load < most ? load : most) + 1) * svc->rules.load_bound_percent,
        .weight = 100 * weight,
    };
}

static bool below_bound(const struct locus_service *svc, uint32_t server,
                        const struct bound *bound)
{
    const struct server *s = &svc->servers[server];

    return product_less(bound->weight, s->spill_load, bound->room, s->load.divisor);
}

/* By the first draw alone, rounded down, while the other is rounded up: nearly all who are. */
static inline bool is_far_behind(uint64_t draw, uint32_t weight,
                                 const struct place *other)
{
    return (draw >> COARSE_BITS) * other->weight >
           ((other->x >> COARSE_BITS) + 1) * weight;
}

static uint32_t schedule(struct locus_service *svc, const struct locus_request *request,
                         struct locus_pick *pick)
{
    const uint64_t *hashes = svc->slot_state;
    const struct bound bound = bound_of(svc);
    uint64_t destination = hash(0, &request->dst, svc->wide, 0);
    struct place best = nowhere, full = nowhere;

    for (uint32_t i = 0; i < svc->slots; i++) {
        uint32_t weight = svc->servers[i].load.divisor;
        uint64_t dice = hashes[i] ^ destination, state = dice;
        uint64_t draw = rng_next(&state) >> (64 - FRACTION_BITS);
        if (weight == 0 || is_far_behind(draw, weight, &best)) {
            continue;
        }
        struct place *first = below_bound(svc, i, &bound) ? &best : &full;
        if (is_far_behind(draw, weight, first)) {
            continue;
        }
        struct place place = {exponential(dice), weight, i};
        if (comes_before(&place, first)) {
            *first = place;
        }
    }
    if (best.server != LOCUS_NO_SERVER) {
        pick->why |= comes_before(&full, &best) ? LOCUS_WHY_SPILLED : LOCUS_WHY_HIT;
    }
    return best.server;
}

const struct sched_ops locus_sched_chbl = {
    .name = "chbl",
    .about = "consistent hashing by destination with bounded loads",
    .slot_size = sizeof(uint64_t),
    .init = init,
    .server_event = server_event,
    .schedule = schedule,
};
