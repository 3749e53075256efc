/* SPDX-License-Identifier: MIT */
/*
 * LBLC and LBLCR: destinations in an array in order of creation, found by walking it;
 * kernel buckets exist only as a number computed from the key, for the partial collection.
 */
#include <stdlib.h>
#include <string.h>

#include "model.h"
#include "model_parts.h"

static bool same_key(struct model_key a, struct model_key b)
{
    return a.hi == b.hi && a.lo == b.lo;
}

static struct model_dest *find(const struct model *m, struct model_key key)
{
    for (size_t i = 0; i < m->linked; i++) {
        if (same_key(m->dests[i].key, key)) {
            return &m->dests[i];
        }
    }
    return NULL;
}

const struct model_dest *model_dest_find(const struct model *m, struct model_key key)
{
    return find(m, key);
}

static void unlink_dest(struct model *m, struct model_dest *dest)
{
    free(dest->members);
    size_t behind = (size_t)(m->dests + m->linked - dest) - 1;
    memmove(dest, dest + 1, behind * sizeof(*dest));
    m->linked--;
    m->entries--;
}

static void link_dest(struct model *m, struct model_key key, uint32_t server)
{
    if (m->linked == m->dests_room) {
        m->dests_room = m->dests_room * 2 + 16;
        m->dests = model_resize(m->dests, m->dests_room, sizeof(*m->dests));
    }
    struct model_dest *dest = &m->dests[m->linked++];
    dest->key = key;
    dest->lastuse = m->now;
    dest->lastmod = m->now;
    dest->turn = m->turns++;
    dest->asked = m->now;
    dest->members = model_resize(NULL, 1, sizeof(*dest->members));
    dest->members[0] = server;
    dest->size = 1;
    m->entries++;
}

/* ---- sets ------------------------------------------------------------------------ */

static bool is_member(const struct model_dest *dest, uint32_t server)
{
    for (size_t i = 0; i < dest->size; i++) {
        if (dest->members[i] == server) {
            return true;
        }
    }
    return false;
}

static void set_insert(struct model_dest *dest, uint32_t server)
{
    dest->members = model_resize(dest->members, dest->size + 1, sizeof(*dest->members));
    memmove(dest->members + 1, dest->members, dest->size * sizeof(*dest->members));
    dest->members[0] = server;
    dest->size++;
}

static void set_remove(struct model_dest *dest, uint32_t server)
{
    size_t kept = 0;
    for (size_t i = 0; i < dest->size; i++) {
        if (dest->members[i] != server) {
            dest->members[kept++] = dest->members[i];
        }
    }
    dest->size = kept;
}

/* By the weights as configured. */
static bool overhead_less(const struct model *m, uint32_t a, uint32_t b)
{
    model_wide left =
        (model_wide)model_cost(m, a, MODEL_COST_OVERHEAD) * m->servers[b].weight;
    model_wide right =
        (model_wide)model_cost(m, b, MODEL_COST_OVERHEAD) * m->servers[a].weight;
    return left < right;
}

/* The member with the highest load; neither presence nor the threshold flag counts. */
static uint32_t set_most(const struct model *m, const struct model_dest *dest)
{
    uint32_t most = MODEL_NONE;
    for (size_t i = 0; i < dest->size; i++) {
        uint32_t id = dest->members[m->rules.oldest_first ? dest->size - 1 - i : i];
        if (m->servers[id].weight > 0 &&
            (most == MODEL_NONE || overhead_less(m, most, id))) {
            most = id;
        }
    }
    return most;
}

static int64_t decay(const struct model *m)
{
    return m->rules.set_decay == MODEL_NEVER ? m->expiration : m->rules.set_decay;
}

/* Takes one member out if the set has been still for too long; which one, or none. */
static uint32_t set_trim(struct model *m, struct model_dest *dest)
{
    if (dest->size <= 1 || m->now - dest->lastmod <= decay(m)) {
        return MODEL_NONE;
    }
    uint32_t most = set_most(m, dest);
    if (most != MODEL_NONE) {
        set_remove(dest, most);
        dest->lastmod = m->now;
        m->stats.trimmed++;
    }
    return most;
}

/* ---- decisions ------------------------------------------------------------------- */

static int64_t spill_count(const struct model *m, uint32_t server)
{
    const struct model_server *s = &m->servers[server];
    return m->rules.spill_counts_total ? s->active + s->inactive : s->active;
}

/* A quiesced server has none, whatever it was given. */
static int64_t capacity_of(const struct model_server *s)
{
    return s->weight > 0 && s->capacity > 0 ? s->capacity : s->weight;
}

/* Of that, what a server that starts slowly offers others to spill to: its share of its
 * weight in 65,536ths, then that of its capacity, both rounded to the nearest. */
static int64_t offered_by(const struct model *m, const struct model_server *s)
{
    if (m->rules.slow_start == 0 || s->weight == 0) {
        return capacity_of(s);
    }
    int64_t part = (s->share * 256 + s->weight / 2) / s->weight;
    int64_t offered = (capacity_of(s) * part + 32768) / 65536;
    return offered > 0 ? offered : 1;
}

static bool should_spill(const struct model *m, uint32_t server)
{
    if (spill_count(m, server) <= capacity_of(&m->servers[server])) {
        return false;
    }
    for (size_t i = 0; i < m->listed; i++) {
        uint32_t other = m->list[i];
        if (m->rules.spill_eligible_only && !model_usable(m, other)) {
            continue;
        }
        if (2 * spill_count(m, other) < offered_by(m, &m->servers[other])) {
            return true;
        }
    }
    return false;
}

static uint32_t least_of_all(const struct model *m)
{
    return model_least(m, m->list, m->listed, MODEL_COST_OVERHEAD);
}

static struct model_dest *whose_turn(const struct model *m)
{
    struct model_dest *next = &m->dests[0];
    for (size_t i = 1; i < m->linked; i++) {
        if (m->dests[i].turn < next->turn) {
            next = &m->dests[i];
        }
    }
    return next;
}

/* Forgets the first in turn that was not looked up since its last turn, or the 16th. */
static void evict_one(struct model *m)
{
    struct model_dest *dest = whose_turn(m);
    for (int i = 1; i < 16 && dest->lastuse != dest->asked; i++) {
        dest->turn = m->turns++;
        dest->asked = dest->lastuse;
        dest = whose_turn(m);
    }
    unlink_dest(m, dest);
    m->stats.evicted++;
}

static void remember(struct model *m, struct model_key key, struct model_pick *pick)
{
    if (m->rules.evict && m->linked > 0 && m->entries >= m->rules.max_entries) {
        evict_one(m);
    }
    if (m->entries >= m->rules.max_entries) {
        pick->why |= MODEL_FORGOTTEN;
        m->stats.forgotten++;
        return;
    }
    link_dest(m, key, pick->server);
    pick->why |= MODEL_NEW;
    m->stats.added++;
}

static struct model_pick first_time(struct model *m, struct model_key key)
{
    struct model_pick pick = {least_of_all(m), MODEL_NONE, 0};
    if (pick.server != MODEL_NONE) {
        remember(m, key, &pick);
    }
    return pick;
}

static bool lblc_keeps(const struct model *m, uint32_t server, struct model_pick *pick)
{
    const struct model_server *s = &m->servers[server];
    bool up = s->listed && s->weight > 0 &&
              !(m->rules.lblc_checks_threshold && s->overloaded);
    if (!up) {
        pick->why |= MODEL_DOWN;
        return false;
    }
    if (should_spill(m, server)) {
        pick->why |= MODEL_SPILLED;
        return false;
    }
    return true;
}

/* The destination gets another server: a new entry takes the place of the old one. */
static void rehome(struct model *m, struct model_dest *dest, struct model_pick *pick)
{
    struct model_key key = dest->key;
    uint64_t turn = dest->turn;
    int64_t asked = dest->asked;
    unlink_dest(m, dest);
    if (m->rules.leak_entries) {
        m->entries++;
    }
    if (m->entries >= m->rules.max_entries) {
        pick->why |= MODEL_FORGOTTEN;
        m->stats.forgotten++;
        return;
    }
    link_dest(m, key, pick->server);
    m->dests[m->linked - 1].turn = turn;
    m->dests[m->linked - 1].asked = asked;
    pick->why |= MODEL_MOVED;
    m->stats.moved++;
}

struct model_pick model_lblc(struct model *m, struct model_key key)
{
    struct model_dest *dest = find(m, key);
    if (!dest) {
        return first_time(m, key);
    }
    struct model_pick pick = {dest->members[0], MODEL_NONE, 0};
    if (m->rules.lastuse_on_failure) {
        dest->lastuse = m->now;
    }
    if (lblc_keeps(m, pick.server, &pick)) {
        dest->lastuse = m->now;
        pick.why |= MODEL_HIT;
        m->stats.hits++;
        return pick;
    }
    pick.server = least_of_all(m);
    if (pick.server == MODEL_NONE) {
        return pick;
    }
    dest->lastuse = m->now;
    if (pick.server != dest->members[0]) {
        rehome(m, dest, &pick);
    }
    return pick;
}

/* Trims the set. A pick that must stay a member is chosen again if it went. */
static void note_trim(struct model *m, struct model_dest *dest, struct model_pick *pick)
{
    pick->trimmed = set_trim(m, dest);
    if (pick->trimmed == MODEL_NONE) {
        return;
    }
    pick->why |= MODEL_TRIMMED;
    if (m->rules.return_member_only && pick->server == pick->trimmed) {
        pick->server = model_least(m, dest->members, dest->size, MODEL_COST_OVERHEAD);
    }
}

/* The choice among the members; MODEL_NONE when the choice is among all servers. */
static void choose_member(struct model *m, struct model_dest *dest,
                          struct model_pick *pick)
{
    pick->server = model_least(m, dest->members, dest->size, MODEL_COST_OVERHEAD);
    if (m->rules.trim_on_every_hit) {
        note_trim(m, dest, pick);
    }
    if (pick->server == MODEL_NONE) {
        pick->why |= MODEL_DOWN;
    } else if (should_spill(m, pick->server)) {
        pick->why |= MODEL_SPILLED;
        pick->server = MODEL_NONE;
    } else if (!m->rules.trim_on_every_hit) {
        note_trim(m, dest, pick);
    }
}

struct model_pick model_lblcr(struct model *m, struct model_key key)
{
    struct model_dest *dest = find(m, key);
    if (!dest) {
        return first_time(m, key);
    }
    if (m->rules.lastuse_on_failure) {
        dest->lastuse = m->now;
    }
    struct model_pick pick = {MODEL_NONE, MODEL_NONE, 0};
    choose_member(m, dest, &pick);
    if (pick.server != MODEL_NONE) {
        dest->lastuse = m->now;
        pick.why |= MODEL_HIT;
        m->stats.hits++;
        return pick;
    }
    pick.server = least_of_all(m);
    if (pick.server == MODEL_NONE) {
        return pick;
    }
    dest->lastuse = m->now;
    if (!is_member(dest, pick.server)) {
        set_insert(dest, pick.server);
        dest->lastmod = m->now;
        pick.why |= MODEL_GROWN;
        m->stats.grown++;
    }
    return pick;
}

/* ---- collection ------------------------------------------------------------------ */

typedef bool model_doomed_fn(const struct model *m, const struct model_dest *dest);

static bool expired(const struct model *m, const struct model_dest *dest)
{
    int64_t idle = m->now - dest->lastuse;
    return m->rules.gc_strict ? idle > m->expiration : idle >= m->expiration;
}

static bool stale(const struct model *m, const struct model_dest *dest)
{
    return m->now - dest->lastuse >= m->rules.gc_stale;
}

/* Collects the doomed of one bucket, or of all (bucket -1); returns how many. */
static int64_t collect(struct model *m, model_doomed_fn *doomed, int64_t bucket)
{
    size_t kept = 0;
    for (size_t i = 0; i < m->linked; i++) {
        struct model_dest *dest = &m->dests[i];
        bool here =
            bucket < 0 || model_hash32(model_fold(dest->key), 10) == (uint32_t)bucket;
        if (here && doomed(m, dest)) {
            free(dest->members);
        } else {
            m->dests[kept++] = *dest;
        }
    }
    int64_t gone = (int64_t)(m->linked - kept);
    m->linked = kept;
    m->entries -= gone;
    m->stats.expired += (uint64_t)gone;
    return gone;
}

static void collect_partially(struct model *m)
{
    int64_t goal = (m->entries - m->rules.soft_entries) * 4 / 3;
    if (goal > m->rules.soft_entries / 2) {
        goal = m->rules.soft_entries / 2;
    }
    for (int i = 0; i < MODEL_BUCKETS; i++) {
        m->rover = (m->rover + 1) % MODEL_BUCKETS;
        goal -= collect(m, stale, m->rover);
        if (goal <= 0) {
            break;
        }
    }
}

void model_map_gc(struct model *m)
{
    if (m->counter % m->rules.gc_full_every == 0) {
        collect(m, expired, -1);
        m->counter = 1;
    } else if (m->entries <= m->rules.soft_entries) {
        m->counter++;
    } else {
        collect_partially(m);
    }
}

void model_map_flush(struct model *m)
{
    for (size_t i = 0; i < m->linked; i++) {
        free(m->dests[i].members);
    }
    m->linked = 0;
    m->entries = 0;
}

void model_map_purge(struct model *m, uint32_t server)
{
    size_t kept = 0;
    for (size_t i = 0; i < m->linked; i++) {
        struct model_dest *dest = &m->dests[i];
        set_remove(dest, server);
        if (dest->size == 0) {
            free(dest->members);
            m->entries--;
        } else {
            m->dests[kept++] = *dest;
        }
    }
    m->linked = kept;
}
