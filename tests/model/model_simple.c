/* SPDX-License-Identifier: MIT */
/*
 * The schedulers without a destination map, each as a walk over the list or a table filled
 * from it.
 */
#include <string.h>

#include "model.h"
#include "model_parts.h"

/* ---- hashes ---------------------------------------------------------------------- */

uint32_t model_hash32(uint32_t value, unsigned bits)
{
    return (uint32_t)(value * UINT32_C(0x61C88647)) >> (32 - bits);
}

uint32_t model_fold(struct model_key key)
{
    uint64_t both = key.hi ^ key.lo;
    return (uint32_t)(both >> 32) ^ (uint32_t)both;
}

static uint64_t rotate(uint64_t value, unsigned by)
{
    return value << by | value >> (64 - by);
}

static void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[0] = rotate(v[0], 32);
    v[2] += v[3];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[2] = rotate(v[2], 32);
}

static void sip_absorb(uint64_t v[4], const uint8_t *bytes, size_t count, uint64_t word)
{
    for (size_t i = 0; i < count; i++) {
        word |= (uint64_t)bytes[i] << 8 * i;
    }
    v[3] ^= word;
    sip_round(v);
    v[0] ^= word;
}

uint64_t model_sip13(const uint8_t *bytes, size_t length, uint64_t key)
{
    uint64_t v[4] = {
        key ^ UINT64_C(0x736f6d6570736575),
        key ^ UINT64_C(0x646f72616e646f6d),
        key ^ UINT64_C(0x6c7967656e657261),
        key ^ UINT64_C(0x7465646279746573),
    };
    size_t at = 0;
    for (; at + 8 <= length; at += 8) {
        sip_absorb(v, bytes + at, 8, 0);
    }
    sip_absorb(v, bytes + at, length - at, (uint64_t)length << 56);
    v[2] ^= 0xff;
    for (int i = 0; i < 3; i++) {
        sip_round(v);
    }
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* Of the four bytes of a number, low half. */
static uint32_t sip13(uint32_t number, uint64_t key)
{
    const uint8_t bytes[4] = {(uint8_t)number, (uint8_t)(number >> 8),
                              (uint8_t)(number >> 16), (uint8_t)(number >> 24)};
    return (uint32_t)model_sip13(bytes, 4, key);
}

static uint32_t mh_hash1(uint32_t number)
{
    return sip13(number, UINT64_C(2654435761));
}

static uint32_t mh_hash2(uint32_t number)
{
    return sip13(number, UINT64_C(2654446892));
}

static int64_t gcd(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* ---- walks over the list --------------------------------------------------------- */

/* Which of equals wins is a choice of the rules where loads are compared (lc, wlc, sed);
 * where the list itself decides, it is the list's order. */

static uint32_t pick_lc(const struct model *m)
{
    uint32_t least = MODEL_NONE;
    for (size_t i = 0; i < m->listed; i++) {
        uint32_t id = m->list[m->rules.oldest_first ? m->listed - 1 - i : i];
        if (!model_usable(m, id)) {
            continue;
        }
        if (least == MODEL_NONE || model_cost(m, id, MODEL_COST_OVERHEAD) <
                                       model_cost(m, least, MODEL_COST_OVERHEAD)) {
            least = id;
        }
    }
    return least;
}

static uint32_t pick_nq(const struct model *m)
{
    for (size_t i = 0; i < m->listed; i++) {
        uint32_t id = m->list[i];
        if (model_usable(m, id) && m->servers[id].active == 0) {
            return id;
        }
    }
    return model_least(m, m->list, m->listed, MODEL_COST_EXPECTED);
}

static uint32_t pick_heaviest(const struct model *m, bool with_room)
{
    uint32_t best = MODEL_NONE;
    for (size_t i = 0; i < m->listed; i++) {
        uint32_t id = m->list[i];
        const struct model_server *s = &m->servers[id];
        if (!model_usable(m, id) || (with_room && s->active > s->weight)) {
            continue;
        }
        if (best == MODEL_NONE || s->weight > m->servers[best].weight) {
            best = id;
        }
    }
    return best;
}

uint64_t model_dice(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = *state;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint64_t model_roll(struct model *m, uint64_t range)
{
    return (uint64_t)((model_wide)(model_dice(&m->dice) >> 32) * range >> 32);
}

static uint32_t twos_choice(const struct model *m, int64_t rest)
{
    for (size_t i = 0; i < m->listed; i++) {
        if (!model_usable(m, m->list[i])) {
            continue;
        }
        rest -= model_divisor(m, m->list[i]);
        if (rest <= 0) {
            return m->list[i];
        }
    }
    return MODEL_NONE;
}

static uint32_t pick_twos(struct model *m)
{
    int64_t sum = 0;
    for (size_t i = 0; i < m->listed; i++) {
        if (model_usable(m, m->list[i])) {
            sum += model_divisor(m, m->list[i]);
        }
    }
    if (sum == 0) {
        return MODEL_NONE;
    }
    uint64_t range = (uint64_t)sum + 1;
    uint32_t first = twos_choice(m, (int64_t)model_roll(m, range));
    uint32_t second = twos_choice(m, (int64_t)model_roll(m, range));
    return model_less(m, second, first, MODEL_COST_OVERHEAD) ? second : first;
}

static size_t place_of(const struct model *m, uint32_t id)
{
    size_t place = 0;
    while (m->list[place] != id) {
        place++;
    }
    return place;
}

static uint32_t pick_rr(struct model *m)
{
    bool at_head = m->rr_last == MODEL_NONE;
    size_t start = at_head ? 0 : place_of(m, m->rr_last) + 1;
    for (size_t i = 0; i < m->listed; i++) {
        uint32_t id = m->list[(start + i) % m->listed];
        if (model_usable(m, id)) {
            m->rr_last = id;
            return id;
        }
    }
    return MODEL_NONE;
}

/* ---- wrr ------------------------------------------------------------------------- */

static void wrr_measure(struct model *m)
{
    int64_t step = 0;
    int64_t max = 0;
    for (size_t i = 0; i < m->listed; i++) {
        int64_t weight = m->servers[m->list[i]].weight;
        step = gcd(step, weight);
        max = weight > max ? weight : max;
    }
    m->wrr_step = step > 0 ? step : 1;
    m->wrr_max = max - (m->wrr_step - 1);
}

static void wrr_event(struct model *m)
{
    m->wrr_current = MODEL_NONE;
    wrr_measure(m);
    if (m->wrr_weight > m->wrr_max || m->wrr_weight == 0) {
        m->wrr_weight = m->wrr_max;
    } else if (m->wrr_step > 1) {
        m->wrr_weight = m->wrr_weight / m->wrr_step * m->wrr_step + 1;
    }
}

static int64_t wrr_heaviest(const struct model *m)
{
    int64_t heaviest = 0;
    for (size_t i = 0; i < m->listed; i++) {
        const struct model_server *s = &m->servers[m->list[i]];
        if (!s->overloaded && s->weight > heaviest) {
            heaviest = s->weight;
        }
    }
    return heaviest;
}

/* Passes that can neither find a server nor be the last before the weight starts over do
 * nothing but take a step off it: take them all at once, or 2^31 of them take for ever. */
static void wrr_skip_idle_passes(struct model *m)
{
    int64_t floor = wrr_heaviest(m);
    floor = floor > m->wrr_step ? floor : m->wrr_step;
    if (m->wrr_weight > floor) {
        int64_t steps = (m->wrr_weight - floor + m->wrr_step - 1) / m->wrr_step;
        m->wrr_weight -= steps * m->wrr_step;
    }
}

static uint32_t pick_wrr(struct model *m)
{
    if (m->wrr_max == 0) {
        return MODEL_NONE;
    }
    const uint32_t start = m->wrr_current;
    uint32_t stop = MODEL_NONE;
    bool last_pass = false;
    bool restarted = false;
    size_t next = start == MODEL_NONE ? 0 : place_of(m, start) + 1;
    for (;;) {
        for (; next < m->listed; next++) {
            uint32_t id = m->list[next];
            const struct model_server *s = &m->servers[id];
            if (!s->overloaded && s->weight >= m->wrr_weight) {
                m->wrr_current = id;
                return id;
            }
            if (id == stop) {
                m->wrr_current = id;
                return MODEL_NONE;
            }
        }
        next = 0;
        m->wrr_weight -= m->wrr_step;
        if (m->wrr_weight <= 0) {
            m->wrr_weight = m->wrr_max;
            if (last_pass || start == MODEL_NONE) {
                m->wrr_current = MODEL_NONE;
                return MODEL_NONE;
            }
            restarted = true;
        }
        wrr_skip_idle_passes(m);
        last_pass = m->wrr_weight <= m->wrr_step;
        if (last_pass && restarted && start != MODEL_NONE) {
            stop = start;
        }
    }
}

/* ---- tables ---------------------------------------------------------------------- */

static void table_clear(struct model *m, size_t size)
{
    m->table_size = size;
    for (size_t i = 0; i < size; i++) {
        m->table[i] = MODEL_NONE;
    }
}

static void dh_fill(struct model *m)
{
    table_clear(m, MODEL_HASH_SIZE);
    for (size_t i = 0; i < MODEL_HASH_SIZE && m->listed > 0; i++) {
        m->table[i] = m->list[i % m->listed];
    }
}

static void sh_fill(struct model *m)
{
    table_clear(m, MODEL_HASH_SIZE);
    size_t bucket = 0;
    for (size_t i = 0; m->listed > 0 && bucket < MODEL_HASH_SIZE; i++) {
        uint32_t id = m->list[i % m->listed];
        int64_t share = m->servers[id].weight > 1 ? m->servers[id].weight : 1;
        while (share-- > 0 && bucket < MODEL_HASH_SIZE) {
            m->table[bucket++] = id;
        }
    }
}

static int64_t mh_measure(struct model *m)
{
    int64_t divisor = 0;
    int64_t max = 0;
    for (size_t i = 0; i < m->listed; i++) {
        int64_t weight = m->servers[m->list[i]].last_weight;
        divisor = gcd(divisor, weight);
        max = weight > max ? weight : max;
    }
    m->mh_gcd = divisor;
    m->mh_shift = 0;
    for (int64_t ratio = divisor > 0 ? max / divisor : 0; ratio >= 64; ratio >>= 1) {
        m->mh_shift++;
    }
    return divisor;
}

static int64_t mh_turns(const struct model *m, uint32_t id)
{
    int64_t weight = m->servers[id].last_weight;
    int64_t turns = weight / m->mh_gcd >> m->mh_shift;
    return turns == 0 && weight != 0 ? 1 : turns;
}

static void mh_fill(struct model *m)
{
    int64_t divisor = mh_measure(m);
    if (m->listed > MODEL_MH_SIZE) {
        return;
    }
    table_clear(m, MODEL_MH_SIZE);
    if (divisor < 1) {
        return;
    }
    uint32_t at[MODEL_MH_SIZE];
    uint32_t skip[MODEL_MH_SIZE];
    for (size_t i = 0; i < m->listed; i++) {
        const struct model_server *s = &m->servers[m->list[i]];
        uint32_t number = model_fold(s->address) + (uint32_t)s->port;
        at[i] = mh_hash1(number) % MODEL_MH_SIZE;
        skip[i] = mh_hash2(number) % (MODEL_MH_SIZE - 1) + 1;
    }
    size_t taken = 0;
    for (size_t i = 0; taken < MODEL_MH_SIZE; i = (i + 1) % m->listed) {
        int64_t turns = mh_turns(m, m->list[i]);
        for (; turns > 0 && taken < MODEL_MH_SIZE; turns--) {
            while (m->table[at[i]] != MODEL_NONE) {
                at[i] = (at[i] + skip[i]) % MODEL_MH_SIZE;
            }
            m->table[at[i]] = m->list[i];
            taken++;
        }
    }
}

static uint32_t from_table(const struct model *m, size_t bucket)
{
    uint32_t id = m->table[bucket];
    return id != MODEL_NONE && model_usable(m, id) ? id : MODEL_NONE;
}

static uint32_t client_bucket(const struct model *m,
                              const struct model_request *request, uint32_t offset)
{
    uint32_t port = m->port ? (uint32_t)request->src_port : 0;
    uint32_t client = port + model_fold(request->src);
    if (m->scheduler == MODEL_SH) {
        return (offset + model_hash32(client, 8)) % MODEL_HASH_SIZE;
    }
    return mh_hash1(offset + client) % MODEL_MH_SIZE;
}

static uint32_t pick_by_client(const struct model *m,
                               const struct model_request *request)
{
    if (m->table_size == 0) {
        return MODEL_NONE;
    }
    uint32_t size = (uint32_t)m->table_size;
    uint32_t home = client_bucket(m, request, 0);
    uint32_t id = from_table(m, home);
    for (uint32_t k = 0; id == MODEL_NONE && m->fallback && k < size; k++) {
        id = from_table(m, client_bucket(m, request, (k + home) % size));
    }
    return id;
}

/* ---- one entry each -------------------------------------------------------------- */

static void fill_table(struct model *m)
{
    if (m->scheduler == MODEL_DH) {
        dh_fill(m);
    } else if (m->scheduler == MODEL_SH) {
        sh_fill(m);
    } else if (m->scheduler == MODEL_MH) {
        mh_fill(m);
    }
}

void model_simple_init(struct model *m)
{
    m->rr_last = MODEL_NONE;
    m->wrr_current = MODEL_NONE;
    wrr_measure(m);
    m->wrr_weight = m->wrr_max;
    table_clear(m, 0);
    fill_table(m);
}

void model_simple_event(struct model *m, enum model_event event, uint32_t server,
                        size_t place)
{
    if (event == MODEL_REMOVED && m->rr_last == server) {
        m->rr_last = place > 0 ? m->list[place - 1] : MODEL_NONE;
    }
    wrr_event(m);
    if (m->scheduler != MODEL_DH || event != MODEL_EDITED) {
        fill_table(m);
    }
}

uint32_t model_simple_pick(struct model *m, const struct model_request *request)
{
    switch (m->scheduler) {
    case MODEL_RR:
        return pick_rr(m);
    case MODEL_WRR:
        return pick_wrr(m);
    case MODEL_LC:
        return pick_lc(m);
    case MODEL_WLC:
        return model_least(m, m->list, m->listed, MODEL_COST_OVERHEAD);
    case MODEL_SED:
        return model_least(m, m->list, m->listed, MODEL_COST_EXPECTED);
    case MODEL_NQ:
        return pick_nq(m);
    case MODEL_FO:
        return pick_heaviest(m, false);
    case MODEL_OVF:
        return pick_heaviest(m, true);
    case MODEL_DH:
        return from_table(m, model_hash32(model_fold(request->dst), 8));
    case MODEL_SH:
    case MODEL_MH:
        return pick_by_client(m, request);
    case MODEL_TWOS:
        return pick_twos(m);
    case MODEL_P2C:
        return model_p2c(m);
    case MODEL_LBLC:
    case MODEL_LBLCR:
    case MODEL_CHBL:
    case MODEL_NO_SCHEDULER:
    case MODEL_SCHEDULERS:
        break;
    }
    return MODEL_NONE;
}
