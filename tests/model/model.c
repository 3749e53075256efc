/* SPDX-License-Identifier: MIT */
/*
 * Servers, thresholds, connections, trash and timers of the reference model. The list and
 * the trash are arrays, newest first; references are counted by looking for them.
 */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model_parts.h"

static const int64_t number_max = INT32_MAX;

void *model_resize(void *old, size_t count, size_t size)
{
    void *grown = realloc(old, (count ? count : 1) * size);
    if (!grown) {
        fputs("the model is out of memory\n", stderr);
        abort();
    }
    return grown;
}

/* ---- rules and names ------------------------------------------------------------- */

bool model_rules_find(struct model_rules *rules, const char *name, int64_t hz)
{
    struct model_rules kernel = {
        .active_cost = 257,
        .threshold = MODEL_EDGE,
        .max_entries = 24576,
        .soft_entries = 16384,
        .gc_full_every = 30,
        .gc_interval = 60 * hz,
        .gc_stale = 360 * hz,
        .trim_on_every_hit = true,
        .lastuse_on_failure = true,
        .set_decay = MODEL_NEVER,
        .slow_start_exponent = 1,
        .slow_start_floor_percent = 10,
        .load_bound_percent = 125,
        .trash_interval = 60 * hz,
        .trash_idle = 120 * hz,
    };
    *rules = kernel;
    if (strcmp(name, "kernel") == 0) {
        return true;
    }
    if (strcmp(name, "kernel-classic") == 0) {
        rules->active_cost = 256;
        rules->threshold = MODEL_CLASSIC;
        rules->max_entries = UINT32_MAX;
        rules->leak_entries = true;
        return true;
    }
    if (strcmp(name, "article") == 0) {
        rules->active_cost = 1;
        rules->threshold = MODEL_PLAIN;
        rules->oldest_first = true;
        rules->max_entries = UINT32_MAX;
        rules->soft_entries = UINT32_MAX;
        rules->gc_full_every = 1;
        rules->gc_strict = true;
        rules->spill_counts_total = true;
        rules->lblc_checks_threshold = true;
        rules->trim_on_every_hit = false;
        rules->lastuse_on_failure = false;
        rules->purge_removed = true;
        return true;
    }
    if (strcmp(name, "locus") == 0) {
        rules->max_entries = 1 << 20;
        rules->evict = true;
        rules->soft_entries = (2 * (1 << 20) + 2) / 3;
        rules->spill_eligible_only = true;
        rules->lblc_checks_threshold = true;
        rules->return_member_only = true;
        rules->lastuse_on_failure = false;
        rules->purge_removed = true;
        return true;
    }
    return false;
}

static const char *const scheduler_names[MODEL_SCHEDULERS] = {
    [MODEL_RR] = "rr",
    [MODEL_WRR] = "wrr",
    [MODEL_LC] = "lc",
    [MODEL_WLC] = "wlc",
    [MODEL_SED] = "sed",
    [MODEL_NQ] = "nq",
    [MODEL_FO] = "fo",
    [MODEL_OVF] = "ovf",
    [MODEL_DH] = "dh",
    [MODEL_SH] = "sh",
    [MODEL_MH] = "mh",
    [MODEL_TWOS] = "twos",
    [MODEL_LBLC] = "lblc",
    [MODEL_LBLCR] = "lblcr",
    [MODEL_CHBL] = "chbl",
    [MODEL_P2C] = "p2c",
    [MODEL_NO_SCHEDULER] = "none",
};

enum model_scheduler model_scheduler_find(const char *name)
{
    for (int i = 0; i < MODEL_SCHEDULERS; i++) {
        if (strcmp(scheduler_names[i], name) == 0) {
            return (enum model_scheduler)i;
        }
    }
    return MODEL_SCHEDULERS;
}

const char *model_scheduler_name(enum model_scheduler scheduler)
{
    return scheduler_names[scheduler];
}

/* ---- load ------------------------------------------------------------------------ */

int64_t model_cost(const struct model *m, uint32_t server, enum model_cost kind)
{
    const struct model_server *s = &m->servers[server];
    if (kind == MODEL_COST_EXPECTED) {
        return s->active + 1;
    }
    return m->rules.active_cost * s->active + s->inactive;
}

bool model_usable(const struct model *m, uint32_t server)
{
    const struct model_server *s = &m->servers[server];
    return s->listed && s->weight > 0 && !s->overloaded;
}

int64_t model_divisor(const struct model *m, uint32_t server)
{
    if (m->rules.slow_start == 0) {
        return m->servers[server].weight;
    }
    int64_t unit = 1;
    while (m->weight_max * 256 / unit > UINT32_MAX) {
        unit *= 2;
    }
    int64_t divisor = m->servers[server].share / unit;
    return divisor > 1 ? divisor : 1;
}

bool model_less(const struct model *m, uint32_t a, uint32_t b, enum model_cost kind)
{
    model_wide left = (model_wide)model_cost(m, a, kind) * model_divisor(m, b);
    model_wide right = (model_wide)model_cost(m, b, kind) * model_divisor(m, a);
    return left < right;
}

uint32_t model_least(const struct model *m, const uint32_t *ids, size_t count,
                     enum model_cost kind)
{
    uint32_t least = MODEL_NONE;
    for (size_t i = 0; i < count; i++) {
        uint32_t id = ids[m->rules.oldest_first ? count - 1 - i : i];
        if (model_usable(m, id) &&
            (least == MODEL_NONE || model_less(m, id, least, kind))) {
            least = id;
        }
    }
    return least;
}

/* ---- arrays of servers ----------------------------------------------------------- */

static void push_front(uint32_t *ids, size_t *count, uint32_t id)
{
    memmove(ids + 1, ids, *count * sizeof(*ids));
    ids[0] = id;
    ++*count;
}

/* Takes id out; returns the place where it was. */
static size_t take_out(uint32_t *ids, size_t *count, uint32_t id)
{
    size_t place = 0;
    while (ids[place] != id) {
        place++;
    }
    --*count;
    memmove(ids + place, ids + place + 1, (*count - place) * sizeof(*ids));
    return place;
}

static uint32_t new_slot(struct model *m)
{
    for (size_t i = 0; i < m->slots; i++) {
        if (!m->servers[i].used) {
            return (uint32_t)i;
        }
    }
    size_t slots = m->slots + 16;
    m->servers = model_resize(m->servers, slots, sizeof(*m->servers));
    memset(m->servers + m->slots, 0, 16 * sizeof(*m->servers));
    m->list = model_resize(m->list, slots, sizeof(*m->list));
    m->trash = model_resize(m->trash, slots, sizeof(*m->trash));
    uint32_t slot = (uint32_t)m->slots;
    m->slots = slots;
    return slot;
}

static bool same_address(const struct model_server *s, struct model_key address,
                         int64_t port)
{
    return s->address.hi == address.hi && s->address.lo == address.lo &&
           s->port == port;
}

static uint32_t find_in(const struct model *m, const uint32_t *ids, size_t count,
                        struct model_key address, int64_t port)
{
    for (size_t i = 0; i < count; i++) {
        if (same_address(&m->servers[ids[i]], address, port)) {
            return ids[i];
        }
    }
    return MODEL_NONE;
}

/* ---- thresholds ------------------------------------------------------------------ */

static int64_t total(const struct model_server *s)
{
    return s->active + s->inactive;
}

static int64_t effective_lower(const struct model_server *s)
{
    return s->lower ? s->lower : s->upper - s->upper / 4;
}

static void plain_flag(struct model_server *s)
{
    s->overloaded = s->upper > 0 && total(s) >= s->upper;
}

static void threshold_edit(const struct model *m, struct model_server *s, int64_t upper,
                           int64_t lower)
{
    bool differ = s->upper != upper || s->lower != lower;
    bool raised = upper > s->upper;
    s->upper = upper;
    s->lower = lower;
    switch (m->rules.threshold) {
    case MODEL_EDGE:
        if (!differ) {
            break;
        }
        if (upper == 0 || total(s) < effective_lower(s)) {
            s->overloaded = false;
        }
        if (upper != 0 && total(s) >= upper) {
            s->overloaded = true;
        }
        break;
    case MODEL_CLASSIC:
        if (upper == 0 || raised) {
            s->overloaded = false;
        }
        break;
    case MODEL_PLAIN:
        plain_flag(s);
        break;
    }
}

/* After the connection has been counted. */
static void threshold_bind(const struct model *m, struct model_server *s)
{
    switch (m->rules.threshold) {
    case MODEL_EDGE:
        if (total(s) == s->upper) {
            s->overloaded = true;
        }
        break;
    case MODEL_CLASSIC:
        if (s->upper != 0 && total(s) >= s->upper) {
            s->overloaded = true;
        }
        break;
    case MODEL_PLAIN:
        plain_flag(s);
        break;
    }
}

/* After the connection has been taken off. */
static void threshold_unbind(const struct model *m, struct model_server *s)
{
    switch (m->rules.threshold) {
    case MODEL_EDGE:
        if (total(s) + 1 == effective_lower(s)) {
            s->overloaded = false;
        }
        break;
    case MODEL_CLASSIC:
        if (s->lower != 0) {
            if (total(s) < s->lower) {
                s->overloaded = false;
            }
        } else if (s->upper == 0 || 4 * total(s) < 3 * s->upper) {
            s->overloaded = false;
        }
        break;
    case MODEL_PLAIN:
        plain_flag(s);
        break;
    }
}

/* ---- timers ---------------------------------------------------------------------- */

static int64_t fires_at(const struct model *m, int64_t distance)
{
    int64_t expiry = m->now + distance;
    if (!m->rules.timer_wheel) {
        return expiry;
    }
    int64_t step = 1;
    while (distance >= 63 * step) {
        step *= 8;
    }
    return (expiry / step + 1) * step;
}

static void arm_gc(struct model *m)
{
    m->gc_due = fires_at(m, m->rules.gc_interval);
    m->gc_armed_later = true;
}

static void arm_trash(struct model *m)
{
    m->trash_due = fires_at(m, m->rules.trash_interval);
    m->gc_armed_later = false;
}

static void look_through_trash(struct model *m)
{
    size_t kept = 0;
    for (size_t i = 0; i < m->trashed; i++) {
        uint32_t id = m->trash[i];
        struct model_server *s = &m->servers[id];
        bool referred = total(s) > 0 || model_references(m, id) > 0;
        if (!referred && s->idle_start > 0 &&
            m->now >= s->idle_start + m->rules.trash_idle) {
            s->used = false;
            continue;
        }
        if (!referred && s->idle_start == 0) {
            s->idle_start = m->now > 1 ? m->now : 1;
        }
        m->trash[kept++] = id;
    }
    m->trashed = kept;
}

static void run_trash(struct model *m)
{
    m->trash_due = MODEL_NEVER;
    look_through_trash(m);
    if (m->trashed > 0) {
        arm_trash(m);
    }
}

static void run_gc(struct model *m)
{
    model_map_gc(m);
    arm_gc(m);
}

/* ---- slow start ------------------------------------------------------------------ */

/* How much of its increase a server has, in 65,536ths, each step rounded down. */
static int64_t part_grown(const struct model *m, int64_t age)
{
    int64_t floor = 65536 * m->rules.slow_start_floor_percent / 100;
    int64_t time = (int64_t)((model_wide)age * 65536 / m->rules.slow_start);
    int64_t power = 65536;
    for (int64_t i = 0; i < m->rules.slow_start_exponent; i++) {
        power = power * time / 65536;
    }
    return floor + (65536 - floor) * power / 65536;
}

/* The same of its share, rounded up. */
static int64_t share_at(const struct model *m, const struct model_server *s,
                        int64_t age)
{
    int64_t increase = s->share_to - s->share_from;
    return s->share_from + (increase * part_grown(m, age) + 65535) / 65536;
}

static bool any_grows(const struct model *m)
{
    for (size_t i = 0; i < m->slots; i++) {
        if (m->servers[i].grows) {
            return true;
        }
    }
    return false;
}

static void run_slow_start(struct model *m)
{
    for (size_t i = 0; i < m->slots; i++) {
        struct model_server *s = &m->servers[i];
        if (!s->grows) {
            continue;
        }
        if (s->grows_since == MODEL_NEVER) {
            s->grows_since = m->now;
        }
        int64_t age = m->now - s->grows_since;
        s->share = s->weight * 256;
        s->grows = age < m->rules.slow_start && share_at(m, s, age) < s->share;
        if (s->grows) {
            s->share = share_at(m, s, age);
        }
    }
    m->slow_start_due =
        any_grows(m) ? fires_at(m, m->rules.slow_start_step) : MODEL_NEVER;
}

static void stop_growing(struct model *m, struct model_server *s, int64_t share)
{
    s->share = share;
    s->grows = false;
    if (!any_grows(m)) {
        m->slow_start_due = MODEL_NEVER;
    }
}

/* After a server has got its weight. */
static void start_slowly(struct model *m, struct model_server *s, bool warm)
{
    int64_t goal = s->weight * 256;
    m->weight_max = s->weight > m->weight_max ? s->weight : m->weight_max;
    if (m->rules.slow_start == 0 || warm || s->share >= goal) {
        stop_growing(m, s, goal);
    } else if (!s->grows || goal > s->share_to) {
        if (!any_grows(m)) {
            m->slow_start_due = m->now;
        }
        s->grows = true;
        s->grows_since = MODEL_NEVER;
        s->share_from = s->share;
        s->share_to = goal;
        s->share = share_at(m, s, 0);
    }
}

/* ---- what is due ----------------------------------------------------------------- */

int64_t model_due(const struct model *m)
{
    int64_t due = m->gc_due < m->trash_due ? m->gc_due : m->trash_due;
    return due < m->slow_start_due ? due : m->slow_start_due;
}

static bool gc_is_next(const struct model *m)
{
    if (m->gc_due == m->trash_due) {
        return !m->gc_armed_later;
    }
    return m->gc_due < m->trash_due;
}

void model_set_clock(struct model *m, int64_t now)
{
    if (now > m->now) {
        m->now = now;
    }
}

void model_advance(struct model *m, int64_t now)
{
    while (model_due(m) <= now) {
        model_set_clock(m, model_due(m));
        if (m->slow_start_due <= m->now) {
            run_slow_start(m);
        } else if (gc_is_next(m)) {
            run_gc(m);
        } else {
            run_trash(m);
        }
    }
    model_set_clock(m, now);
}

void model_tick_late(struct model *m)
{
    bool gc = m->gc_due <= m->now;
    bool trash = m->trash_due <= m->now;
    bool gc_first = gc_is_next(m);
    if (m->slow_start_due <= m->now) {
        run_slow_start(m);
    }
    if (gc && gc_first) {
        run_gc(m);
    }
    if (trash) {
        run_trash(m);
    }
    if (gc && !gc_first) {
        run_gc(m);
    }
}

/* ---- the service ----------------------------------------------------------------- */

struct model *model_create(const struct model_rules *rules, int64_t now, uint64_t seed)
{
    struct model *m = model_resize(NULL, 1, sizeof(*m));
    memset(m, 0, sizeof(*m));
    m->rules = *rules;
    m->scheduler = MODEL_NO_SCHEDULER;
    m->now = now;
    m->dice = seed;
    m->gc_due = MODEL_NEVER;
    m->trash_due = MODEL_NEVER;
    m->slow_start_due = MODEL_NEVER;
    return m;
}

void model_destroy(struct model *m)
{
    if (!m) {
        return;
    }
    model_map_flush(m);
    free(m->dests);
    free(m->servers);
    free(m->list);
    free(m->trash);
    free(m);
}

static bool has_map(enum model_scheduler scheduler)
{
    return scheduler == MODEL_LBLC || scheduler == MODEL_LBLCR;
}

void model_set_scheduler(struct model *m, enum model_scheduler scheduler, bool fallback,
                         bool port)
{
    m->fallback = fallback;
    m->port = port;
    if (scheduler == m->scheduler) {
        return;
    }
    model_map_flush(m);
    m->gc_due = MODEL_NEVER;
    m->scheduler = scheduler;
    model_simple_init(m);
    if (has_map(scheduler)) {
        m->rover = 0;
        m->counter = 1;
        arm_gc(m);
    }
}

/* ---- servers --------------------------------------------------------------------- */

enum model_status model_check_numbers(const struct model *m, int64_t weight,
                                      int64_t upper, int64_t lower)
{
    if (weight < 0 || weight > number_max || lower > upper) {
        return MODEL_ERANGE;
    }
    if (upper > number_max && m->rules.threshold != MODEL_CLASSIC) {
        return MODEL_EINVAL;
    }
    return MODEL_OK;
}

uint32_t model_find(const struct model *m, struct model_key address, int64_t port)
{
    return find_in(m, m->list, m->listed, address, port);
}

static void set_weight(struct model_server *s, int64_t weight)
{
    s->weight = weight;
    if (weight != 0) {
        s->last_weight = weight;
    }
}

/* The struct that a new server gets: its own from the trash, or a fresh one. */
static uint32_t struct_for(struct model *m, const struct model_server *wanted)
{
    uint32_t id = MODEL_NONE;
    if (!m->rules.purge_removed) {
        id = find_in(m, m->trash, m->trashed, wanted->address, wanted->port);
    }
    if (id != MODEL_NONE) {
        take_out(m->trash, &m->trashed, id);
        return id;
    }
    id = new_slot(m);
    memset(&m->servers[id], 0, sizeof(m->servers[id]));
    m->servers[id].used = true;
    m->servers[id].address = wanted->address;
    m->servers[id].port = wanted->port;
    return id;
}

enum model_status model_add(struct model *m, const struct model_server *wanted,
                            uint32_t *out)
{
    if (model_find(m, wanted->address, wanted->port) != MODEL_NONE) {
        return MODEL_EEXIST;
    }
    enum model_status status =
        model_check_numbers(m, wanted->weight, wanted->upper, wanted->lower);
    if (status != MODEL_OK) {
        return status;
    }
    uint32_t id = struct_for(m, wanted);
    struct model_server *s = &m->servers[id];
    s->tag = wanted->tag;
    s->handle = id;
    s->listed = true;
    s->weight = wanted->weight;
    s->last_weight = wanted->weight;
    s->capacity = wanted->capacity;
    start_slowly(m, s, wanted->warm);
    threshold_edit(m, s, wanted->upper, wanted->lower);
    push_front(m->list, &m->listed, id);
    model_simple_event(m, MODEL_ADDED, id, 0);
    *out = id;
    return MODEL_OK;
}

static bool in_service(const struct model *m, uint32_t server)
{
    return server < m->slots && m->servers[server].used && m->servers[server].listed;
}

enum model_status model_edit(struct model *m, uint32_t server, int64_t weight,
                             int64_t upper, int64_t lower)
{
    if (!in_service(m, server)) {
        return MODEL_ENOENT;
    }
    enum model_status status = model_check_numbers(m, weight, upper, lower);
    if (status != MODEL_OK) {
        return status;
    }
    set_weight(&m->servers[server], weight);
    start_slowly(m, &m->servers[server], false);
    threshold_edit(m, &m->servers[server], upper, lower);
    model_simple_event(m, MODEL_EDITED, server, 0);
    return MODEL_OK;
}

void model_set_capacity(struct model *m, uint32_t server, int64_t capacity)
{
    m->servers[server].capacity = capacity;
}

void model_set_warm(struct model *m, uint32_t server)
{
    start_slowly(m, &m->servers[server], true);
}

enum model_status model_remove(struct model *m, uint32_t server)
{
    if (!in_service(m, server)) {
        return MODEL_ENOENT;
    }
    m->servers[server].listed = false;
    m->servers[server].idle_start = 0;
    stop_growing(m, &m->servers[server], 0);
    size_t place = take_out(m->list, &m->listed, server);
    if (m->trashed == 0) {
        arm_trash(m);
    }
    push_front(m->trash, &m->trashed, server);
    if (m->rules.purge_removed) {
        model_map_purge(m, server);
    }
    model_simple_event(m, MODEL_REMOVED, server, place);
    return MODEL_OK;
}

size_t model_references(const struct model *m, uint32_t server)
{
    size_t found = 0;
    for (size_t i = 0; i < m->table_size; i++) {
        found += m->table[i] == server;
    }
    for (size_t i = 0; i < m->linked; i++) {
        for (size_t j = 0; j < m->dests[i].size; j++) {
            found += m->dests[i].members[j] == server;
        }
    }
    return found;
}

/* ---- connections ----------------------------------------------------------------- */

static struct model_server *known(struct model *m, uint32_t server)
{
    if (server >= m->slots || !m->servers[server].used) {
        return NULL;
    }
    return &m->servers[server];
}

enum model_status model_bind(struct model *m, uint32_t server, bool active)
{
    struct model_server *s = known(m, server);
    if (!s) {
        return MODEL_ENOENT;
    }
    if (total(s) == number_max) {
        return MODEL_ERANGE;
    }
    *(active ? &s->active : &s->inactive) += 1;
    threshold_bind(m, s);
    return MODEL_OK;
}

enum model_status model_move(struct model *m, uint32_t server, bool from, bool to)
{
    struct model_server *s = known(m, server);
    if (!s) {
        return MODEL_ENOENT;
    }
    int64_t *source = from ? &s->active : &s->inactive;
    if (*source == 0) {
        return MODEL_ERANGE;
    }
    --*source;
    *(to ? &s->active : &s->inactive) += 1;
    return MODEL_OK;
}

enum model_status model_unbind(struct model *m, uint32_t server, bool active)
{
    struct model_server *s = known(m, server);
    if (!s) {
        return MODEL_ENOENT;
    }
    int64_t *count = active ? &s->active : &s->inactive;
    if (*count == 0) {
        return MODEL_ERANGE;
    }
    --*count;
    threshold_unbind(m, s);
    return MODEL_OK;
}

void model_set_counts(struct model *m, uint32_t server, int64_t active,
                      int64_t inactive)
{
    struct model_server *s = &m->servers[server];
    s->active = active;
    s->inactive = inactive;
    if (m->rules.threshold == MODEL_PLAIN) {
        plain_flag(s);
    }
}

/* ---- picks ----------------------------------------------------------------------- */

/* The fewest connections for the weight (for 1 if it has none) of the listed servers that
 * pass; the first in the order of ties among equals. */
static uint32_t fewest(const struct model *m, bool weighted, bool overloaded)
{
    uint32_t best = MODEL_NONE;
    for (size_t i = 0; i < m->listed; i++) {
        uint32_t id = m->list[m->rules.oldest_first ? m->listed - 1 - i : i];
        const struct model_server *s = &m->servers[id];
        if ((s->weight > 0) != weighted || (weighted && s->overloaded != overloaded)) {
            continue;
        }
        const struct model_server *b = &m->servers[best == MODEL_NONE ? id : best];
        model_wide mine = (model_wide)total(s) * (weighted ? b->weight : 1);
        model_wide its = (model_wide)total(b) * (weighted ? s->weight : 1);
        if (best == MODEL_NONE || mine < its) {
            best = id;
        }
    }
    return best;
}

static uint32_t any_server(const struct model *m)
{
    uint32_t server = fewest(m, true, false);
    if (server == MODEL_NONE) {
        server = fewest(m, true, true);
    }
    return server != MODEL_NONE ? server : fewest(m, false, false);
}

static void without_server(struct model *m, struct model_pick *pick)
{
    if (m->rules.no_server == MODEL_TAKE_ANY && m->scheduler != MODEL_NO_SCHEDULER) {
        pick->server = any_server(m);
    }
    if (pick->server != MODEL_NONE) {
        pick->why |= MODEL_ANY;
        m->stats.any++;
    } else if (m->rules.no_server == MODEL_PASS_BY) {
        pick->why |= MODEL_BYPASS;
        m->stats.bypasses++;
    } else {
        pick->why |= MODEL_REFUSED;
        m->stats.refusals++;
    }
}

struct model_pick model_schedule(struct model *m, const struct model_request *request)
{
    struct model_pick pick = {MODEL_NONE, MODEL_NONE, 0};
    if (m->scheduler == MODEL_LBLC) {
        pick = model_lblc(m, request->dst);
    } else if (m->scheduler == MODEL_LBLCR) {
        pick = model_lblcr(m, request->dst);
    } else if (m->scheduler == MODEL_CHBL) {
        pick = model_chbl(m, request->dst);
    } else {
        pick.server = model_simple_pick(m, request);
    }
    m->stats.picks++;
    if (pick.server == MODEL_NONE) {
        without_server(m, &pick);
    }
    return pick;
}
