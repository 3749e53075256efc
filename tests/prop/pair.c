/* SPDX-License-Identifier: MIT */
#include "pair.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../model/model_parts.h"
#include "../support/poke.h"

enum { BATCH_MAX = 64 };

static bool fail(struct pair *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool fail(struct pair *p, const char *format, ...)
{
    if (!p->failed) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(p->error, sizeof(p->error), format, arguments);
        va_end(arguments);
    }
    p->failed = true;
    return false;
}

/* One number of the library against the model's. */
static bool same(struct pair *p, const char *what, uint64_t library, uint64_t model)
{
    if (library == model) {
        return true;
    }
    return fail(p, "%s: library %" PRId64 ", model %" PRId64, what, (int64_t)library,
                (int64_t)model);
}

/* ---- what the two call things ---------------------------------------------------- */

static uint64_t big_endian(const uint8_t *bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++) {
        value = value << 8 | bytes[i];
    }
    return value;
}

static struct model_key model_key_of(enum locus_family family,
                                     const union locus_key *key)
{
    if (family == LOCUS_IPV4) {
        return (struct model_key){0, key->ipv4};
    }
    return (struct model_key){big_endian(key->bytes), big_endian(key->bytes + 8)};
}

static union locus_key make_key(enum locus_family family, uint32_t index,
                                uint32_t space)
{
    union locus_key key;
    memset(&key, 0, sizeof(key));
    if (family == LOCUS_IPV4) {
        key.ipv4 = index + space;
    } else if (family == LOCUS_IPV6) {
        uint32_t words[4] = {0x20010db8, space, index * 2654435761u, index};
        for (int i = 0; i < 16; i++) {
            key.bytes[i] = (uint8_t)(words[i / 4] >> (24 - i % 4 * 8));
        }
    } else {
        char name[32];
        int length =
            snprintf(name, sizeof(name), "host%" PRIu32 ".%" PRIu32, index, space);
        key = locus_key_from_name(name, (size_t)length);
    }
    return key;
}

union locus_key pair_destination(const struct pair *p, uint32_t index)
{
    index %= p->config.destinations;
    if (p->config.scattered && p->config.service.family == LOCUS_IPV4) {
        union locus_key key = {.ipv4 = index * 2654435761u};
        return key;
    }
    return make_key(p->config.service.family, index, 0x0a010000);
}

struct locus_address pair_address(const struct pair *p, uint32_t index)
{
    struct locus_address address;
    memset(&address, 0, sizeof(address));
    index %= p->config.addresses;
    address.family = p->config.service.family;
    address.port = (uint16_t)(80 + index % 3);
    address.key = make_key(address.family, index / 3, 0x0a000001);
    return address;
}

static int64_t at_least_one(uint64_t number)
{
    return number > 0 ? (int64_t)number : 1;
}

/* Less than one tick is one. */
static int64_t ticks_of(uint64_t ns, uint64_t tick_ns)
{
    return ns == 0 ? 0 : at_least_one(ns / tick_ns);
}

struct model_rules pair_rules(const struct locus_rules *rules, uint64_t tick_ns)
{
    static const enum model_threshold thresholds[] = {
        [LOCUS_THRESHOLD_EDGE] = MODEL_EDGE,
        [LOCUS_THRESHOLD_CLASSIC] = MODEL_CLASSIC,
        [LOCUS_THRESHOLD_PLAIN] = MODEL_PLAIN,
    };
    static const enum model_no_server answers[] = {
        [LOCUS_NO_SERVER_REFUSE] = MODEL_REFUSE,
        [LOCUS_NO_SERVER_BYPASS] = MODEL_PASS_BY,
        [LOCUS_NO_SERVER_ANY] = MODEL_TAKE_ANY,
    };
    return (struct model_rules){
        .active_cost = rules->active_cost,
        .threshold = thresholds[rules->threshold],
        .oldest_first = rules->tie_break == LOCUS_TIE_OLDEST,
        .max_entries = rules->max_entries,
        .soft_entries = rules->soft_entries,
        .evict = rules->evict,
        .leak_entries = rules->leak_entries,
        .gc_full_every = rules->gc_full_every,
        .gc_strict = rules->gc_strict,
        .gc_interval = (int64_t)(rules->gc_interval_ns / tick_ns),
        .gc_stale = (int64_t)(rules->gc_stale_ns / tick_ns),
        .spill_counts_total = rules->spill_counts_total,
        .spill_eligible_only = rules->spill_eligible_only,
        .lblc_checks_threshold = rules->lblc_checks_threshold,
        .trim_on_every_hit = rules->trim_on_every_hit,
        .return_member_only = rules->return_member_only,
        .lastuse_on_failure = rules->lastuse_on_failure,
        .set_decay = rules->set_decay_ns == UINT64_MAX
                         ? MODEL_NEVER
                         : (int64_t)(rules->set_decay_ns / tick_ns),
        .load_bound_percent = rules->load_bound_percent,
        .no_server = answers[rules->no_server],
        .slow_start = ticks_of(rules->slow_start_ns, tick_ns),
        .slow_start_step = at_least_one(rules->slow_start_ns / 256 / tick_ns),
        .slow_start_exponent = rules->slow_start_exponent,
        .slow_start_floor_percent = rules->slow_start_floor_percent,
        .purge_removed = rules->purge_removed,
        .trash_interval = (int64_t)(rules->trash_ns / tick_ns),
        .trash_idle = (int64_t)(rules->trash_idle_ns / tick_ns),
        .timer_wheel = rules->timer_wheel,
    };
}

static int status_of(enum model_status status)
{
    static const int statuses[] = {
        [MODEL_OK] = LOCUS_OK,         [MODEL_EINVAL] = LOCUS_EINVAL,
        [MODEL_ERANGE] = LOCUS_ERANGE, [MODEL_EEXIST] = LOCUS_EEXIST,
        [MODEL_ENOENT] = LOCUS_ENOENT,
    };
    return statuses[status];
}

static unsigned why_of(unsigned why)
{
    static const unsigned flags[][2] = {
        {MODEL_HIT, LOCUS_WHY_HIT},
        {MODEL_NEW, LOCUS_WHY_NEW},
        {MODEL_FORGOTTEN, LOCUS_WHY_FORGOTTEN},
        {MODEL_MOVED, LOCUS_WHY_MOVED},
        {MODEL_GROWN, LOCUS_WHY_GROWN},
        {MODEL_TRIMMED, LOCUS_WHY_TRIMMED},
        {MODEL_SPILLED, LOCUS_WHY_SPILLED},
        {MODEL_DOWN, LOCUS_WHY_DOWN},
        {MODEL_REFUSED, LOCUS_WHY_REFUSED},
        {MODEL_BYPASS, LOCUS_WHY_BYPASS},
        {MODEL_ANY, LOCUS_WHY_ANY},
    };
    unsigned out = 0;
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        out |= why & flags[i][0] ? flags[i][1] : 0;
    }
    return out;
}

static uint32_t handle_of(const struct pair *p, uint32_t slot)
{
    return slot == MODEL_NONE ? LOCUS_NO_SERVER : p->handles[slot];
}

static void note_handle(struct pair *p, uint32_t slot, uint32_t handle)
{
    if (slot >= p->handles_room) {
        size_t room = p->m->slots;
        p->handles = model_resize(p->handles, room, sizeof(*p->handles));
        for (size_t i = p->handles_room; i < room; i++) {
            p->handles[i] = LOCUS_NO_SERVER;
        }
        p->handles_room = room;
    }
    p->handles[slot] = handle;
    p->m->servers[slot].handle = handle;
}

static int64_t ticks(const struct pair *p, uint64_t ns)
{
    return (int64_t)(ns / p->config.service.tick_ns);
}

/* ---- life ------------------------------------------------------------------------ */

struct pair *pair_create(const struct pair_config *config)
{
    struct pair *p = model_resize(NULL, 1, sizeof(*p));
    memset(p, 0, sizeof(*p));
    p->config = *config;
    struct locus_service_config *service = &p->config.service;
    p->rules = *service->rules;
    service->rules = &p->rules;
    service->family = service->family ? service->family : LOCUS_IPV4;
    service->tick_ns = service->tick_ns ? service->tick_ns : 1000000;
    p->hooks = testalloc_hooks(&p->memory);
    service->allocator = &p->hooks;
    p->now_ns = service->now_ns;
    if (locus_service_create(service, &p->svc) != LOCUS_OK) {
        free(p);
        return NULL;
    }
    struct model_rules rules = pair_rules(service->rules, service->tick_ns);
    if (service->max_entries != 0) {
        rules.max_entries = service->max_entries;
        rules.soft_entries = service->max_entries - service->max_entries / 3;
    }
    p->m = model_create(&rules, ticks(p, p->now_ns), service->seed);
    p->m->wide = service->family != LOCUS_IPV4;
    p->m->expiration = service->expiration_ns != 0
                           ? service->expiration_ns / (int64_t)service->tick_ns
                           : ticks(p, UINT64_C(86400000000000));
    model_set_scheduler(p->m, model_scheduler_find(service->scheduler),
                        service->scheduler_flags & LOCUS_FLAG_FALLBACK,
                        service->scheduler_flags & LOCUS_FLAG_PORT);
    return p;
}

bool pair_destroy(struct pair *p)
{
    locus_service_destroy(p->svc);
    size_t left = p->memory.live_bytes;
    if (left != 0) {
        fprintf(stderr, "%zu bytes left after locus_service_destroy()\n", left);
    }
    model_destroy(p->m);
    free(p->handles);
    free(p->conns);
    free(p);
    return left == 0;
}

/* ---- comparisons ----------------------------------------------------------------- */

static bool compare_server(struct pair *p, uint32_t slot)
{
    const struct model_server *s = &p->m->servers[slot];
    struct locus_server_info info;
    if (locus_server_get(p->svc, p->handles[slot], &info) != LOCUS_OK) {
        return fail(p, "the library does not know server %" PRIu32, p->handles[slot]);
    }
    return same(p, "weight", info.weight, (uint64_t)s->weight) &&
           same(p, "last_weight", info.last_weight, (uint64_t)s->last_weight) &&
           same(p, "upper_threshold", info.upper_threshold, (uint64_t)s->upper) &&
           same(p, "lower_threshold", info.lower_threshold, (uint64_t)s->lower) &&
           same(p, "capacity", info.capacity, (uint64_t)s->capacity) &&
           same(p, "weight_256ths", info.weight_256ths, (uint64_t)s->share) &&
           same(p, "active", info.active, (uint64_t)s->active) &&
           same(p, "inactive", info.inactive, (uint64_t)s->inactive) &&
           same(p, "overloaded", info.overloaded, s->overloaded) &&
           same(p, "in_service", info.in_service, s->listed) &&
           same(p, "tag", info.tag, s->tag) &&
           same(p, "port", info.address.port, (uint64_t)s->port);
}

static bool compare_stats(struct pair *p)
{
    struct locus_service_stats stats;
    locus_service_get_stats(p->svc, &stats);
    const struct model_stats *want = &p->m->stats;
    return same(p, "picks", stats.picks, want->picks) &&
           same(p, "refusals", stats.refusals, want->refusals) &&
           same(p, "hits", stats.hits, want->hits) &&
           same(p, "added", stats.added, want->added) &&
           same(p, "moved", stats.moved, want->moved) &&
           same(p, "grown", stats.grown, want->grown) &&
           same(p, "trimmed", stats.trimmed, want->trimmed) &&
           same(p, "forgotten", stats.forgotten, want->forgotten) &&
           same(p, "expired", stats.expired, want->expired) &&
           same(p, "evicted", stats.evicted, want->evicted) &&
           same(p, "bypasses", stats.bypasses, want->bypasses) &&
           same(p, "any", stats.any, want->any) &&
           same(p, "servers", stats.servers, p->m->listed) &&
           same(p, "trash", stats.trash, p->m->trashed) &&
           (p->purging || (same(p, "destinations", stats.destinations, p->m->linked) &&
                           same(p, "entries", stats.entries, (uint64_t)p->m->entries)));
}

static bool compare_members(struct pair *p, const struct model_dest *dest,
                            const struct locus_destination *got,
                            const uint32_t *servers)
{
    uint64_t tick_ns = p->config.service.tick_ns;
    if (!same(p, "members", got->servers, dest->size) ||
        !same(p, "lastuse", got->lastuse_ns, (uint64_t)dest->lastuse * tick_ns) ||
        !same(p, "lastmod", got->lastmod_ns, (uint64_t)dest->lastmod * tick_ns)) {
        return false;
    }
    for (size_t i = 0; i < dest->size; i++) {
        if (!same(p, "member", servers[i], p->handles[dest->members[i]])) {
            return false;
        }
    }
    return true;
}

static bool compare_dest(struct pair *p, const union locus_key *key)
{
    uint32_t servers[1024];
    struct locus_destination got;
    bool found = locus_destination_get(p->svc, key, &got, servers, 1024);
    const struct model_dest *dest =
        model_dest_find(p->m, model_key_of(p->config.service.family, key));
    return same(p, "destination found", found, dest != NULL) &&
           (!found || compare_members(p, dest, &got, servers));
}

static bool compare_due(struct pair *p)
{
    int64_t due = model_due(p->m);
    if (p->purging) {
        return true;
    }
    uint64_t want =
        due == MODEL_NEVER ? LOCUS_NEVER : (uint64_t)due * p->config.service.tick_ns;
    return same(p, "locus_tick_due", locus_tick_due(p->svc), want);
}

struct found_dest {
    struct model_key key;
    const struct model_dest *dest;
};

struct visit {
    struct pair *p;
    struct found_dest *sorted;
    size_t seen;
    size_t *references; /* by slot of the model */
};

static int by_key(const void *left, const void *right)
{
    const struct found_dest *a = left;
    const struct found_dest *b = right;
    if (a->key.hi != b->key.hi) {
        return a->key.hi < b->key.hi ? -1 : 1;
    }
    return a->key.lo < b->key.lo ? -1 : a->key.lo > b->key.lo;
}

static void visit_dest(void *arg, const struct locus_destination *destination,
                       const uint32_t *servers)
{
    struct visit *visit = arg;
    struct pair *p = visit->p;
    struct found_dest wanted = {
        .key = model_key_of(p->config.service.family, &destination->key)};
    const struct found_dest *found =
        bsearch(&wanted, visit->sorted, p->m->linked, sizeof(wanted), by_key);
    visit->seen++;
    if (!found) {
        fail(p, "the library has a destination that the model has not");
    } else {
        compare_members(p, found->dest, destination, servers);
    }
}

static bool check_map(struct pair *p)
{
    const struct model *m = p->m;
    struct visit visit = {.p = p};
    visit.sorted = model_resize(NULL, m->linked, sizeof(*visit.sorted));
    for (size_t i = 0; i < m->linked; i++) {
        visit.sorted[i] = (struct found_dest){m->dests[i].key, &m->dests[i]};
    }
    qsort(visit.sorted, m->linked, sizeof(*visit.sorted), by_key);
    if (locus_destinations_visit(p->svc, visit_dest, &visit) != LOCUS_OK) {
        fail(p, "locus_destinations_visit failed");
    }
    same(p, "destinations visited", visit.seen, m->linked);
    free(visit.sorted);
    return !p->failed;
}

/* How often each server is named, in one pass: the model's own count is a search each. */
static bool check_references(struct pair *p)
{
    const struct model *m = p->m;
    size_t *count = calloc(m->slots + 1, sizeof(*count));
    for (size_t i = 0; i < m->table_size; i++) {
        count[m->table[i] == MODEL_NONE ? m->slots : m->table[i]]++;
    }
    for (size_t i = 0; i < m->linked; i++) {
        for (size_t j = 0; j < m->dests[i].size; j++) {
            count[m->dests[i].members[j]]++;
        }
    }
    for (uint32_t i = 0; i < m->slots && !p->failed; i++) {
        struct locus_server_info info;
        if (m->servers[i].used &&
            locus_server_get(p->svc, p->handles[i], &info) == LOCUS_OK) {
            same(p, "destinations of a server", info.destinations, count[i]);
        }
    }
    free(count);
    return !p->failed;
}

static bool check_servers(struct pair *p)
{
    const struct model *m = p->m;
    uint32_t handle = locus_server_next(p->svc, LOCUS_NO_SERVER);
    for (size_t i = 0; i < m->listed; i++) {
        if (!same(p, "server in the list", handle, p->handles[m->list[i]]) ||
            !compare_server(p, m->list[i])) {
            return false;
        }
        handle = locus_server_next(p->svc, handle);
    }
    if (!same(p, "end of the list", handle, LOCUS_NO_SERVER)) {
        return false;
    }
    handle = locus_trash_next(p->svc, LOCUS_NO_SERVER);
    for (size_t i = 0; i < m->trashed; i++) {
        if (!same(p, "server in the trash", handle, p->handles[m->trash[i]]) ||
            !compare_server(p, m->trash[i])) {
            return false;
        }
        handle = locus_trash_next(p->svc, handle);
    }
    return same(p, "end of the trash", handle, LOCUS_NO_SERVER);
}

/* ---- a scheduler's own state ----------------------------------------------------- */

struct described {
    struct pair *p;
    uint32_t count;
};

static uint64_t expected_value(const struct pair *p, const char *name, uint32_t bucket)
{
    const struct model *m = p->m;
    const struct {
        const char *name;
        uint64_t value;
    } values[] = {
        {"last", handle_of(p, m->rr_last)},
        {"cl", handle_of(p, m->wrr_current)},
        {"cw", (uint64_t)m->wrr_weight},
        {"mw", (uint64_t)m->wrr_max},
        {"di", (uint64_t)m->wrr_step},
        {"gcd", (uint64_t)m->mh_gcd},
        {"rshift", (uint64_t)m->mh_shift},
        {"entries", (uint64_t)m->entries},
        {"linked", m->linked},
        {"max_size", (uint64_t)m->rules.soft_entries},
        {"rover", (uint64_t)m->rover},
        {"counter", (uint64_t)m->counter},
    };
    if (strcmp(name, "bucket") == 0) {
        return bucket < m->table_size ? handle_of(p, m->table[bucket]) : UINT64_MAX;
    }
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        if (strcmp(values[i].name, name) == 0) {
            return values[i].value;
        }
    }
    return UINT64_MAX;
}

static void see_value(void *arg, const char *name, enum locus_value_kind kind,
                      uint64_t value)
{
    struct described *seen = arg;
    bool bucket = strcmp(name, "bucket") == 0;
    bool server = bucket || strcmp(name, "last") == 0 || strcmp(name, "cl") == 0;
    same(seen->p, name, value, expected_value(seen->p, name, seen->count));
    same(seen->p, "kind of value", kind,
         server ? LOCUS_VALUE_SERVER : LOCUS_VALUE_NUMBER);
    seen->count += bucket;
}

static bool check_scheduler(struct pair *p)
{
    struct described seen = {p, 0};
    uint32_t flags = 0;
    const char *name = locus_service_scheduler(p->svc, &flags);
    if (strcmp(name, model_scheduler_name(p->m->scheduler)) != 0) {
        return fail(p, "scheduler: library %s, model %s", name,
                    model_scheduler_name(p->m->scheduler));
    }
    same(p, "fallback", (flags & LOCUS_FLAG_FALLBACK) != 0, p->m->fallback);
    same(p, "port", (flags & LOCUS_FLAG_PORT) != 0, p->m->port);
    locus_scheduler_describe(p->svc, see_value, &seen);
    same(p, "buckets", seen.count, p->m->table_size);
    return !p->failed;
}

static bool tick_until_done(struct pair *p, uint64_t now_ns, uint32_t budget)
{
    p->purging = false;
    if (budget == 0) {
        return locus_tick(p->svc, now_ns, SIZE_MAX) ||
               fail(p, "locus_tick without a bound left something over");
    }
    for (uint32_t i = 0; !locus_tick(p->svc, now_ns, budget); i++) {
        if (i > 10000000) {
            return fail(p, "locus_tick in slices never ends");
        }
    }
    return true;
}

/* What is due now is done by both. */
static bool tick_now(struct pair *p)
{
    model_tick_late(p->m);
    return tick_until_done(p, p->now_ns, 0);
}

bool pair_check(struct pair *p)
{
    if (p->purging && !tick_now(p)) {
        return false;
    }
    return !p->failed && compare_stats(p) && compare_due(p) && check_servers(p) &&
           check_scheduler(p) && check_map(p) && check_references(p);
}

/* ---- picks ----------------------------------------------------------------------- */

static struct locus_request request_of(const struct pair *p, const struct op *op)
{
    struct locus_request request;
    memset(&request, 0, sizeof(request));
    request.dst = pair_destination(p, op->a);
    request.src = make_key(p->config.service.family, op->b, 0xac100000);
    request.src_port = (uint16_t)op->c;
    return request;
}

static struct model_pick model_answer(struct pair *p,
                                      const struct locus_request *request)
{
    struct model_request wanted = {
        .dst = model_key_of(p->config.service.family, &request->dst),
        .src = model_key_of(p->config.service.family, &request->src),
        .src_port = request->src_port,
    };
    return model_schedule(p->m, &wanted);
}

static void remember_conn(struct pair *p, uint32_t slot, bool active)
{
    if (p->conn_count == p->conn_room) {
        p->conn_room = p->conn_room * 2 + 64;
        p->conns = model_resize(p->conns, p->conn_room, sizeof(*p->conns));
    }
    p->conns[p->conn_count++] = (struct pair_conn){slot, active};
}

static bool compare_pick(struct pair *p, const struct locus_pick *got,
                         const struct model_pick *want)
{
    return same(p, "pick", got->server, handle_of(p, want->server)) &&
           same(p, "why", got->why, why_of(want->why)) &&
           same(p, "trimmed member", got->trimmed, handle_of(p, want->trimmed));
}

static bool do_connect(struct pair *p, const struct op *op, uint64_t now_ns)
{
    struct locus_request request = request_of(p, op);
    struct locus_pick got = {0, 0, 0};
    bool active = op->small & OP_CONNECT_ACTIVE;
    bool bound = !(op->small & OP_CONNECT_UNBOUND);
    struct model_pick want = model_answer(p, &request);
    int status = bound ? locus_connect(p->svc, &request, now_ns,
                                       active ? LOCUS_ACTIVE : LOCUS_INACTIVE, &got)
                       : locus_schedule(p->svc, &request, now_ns, &got);
    enum model_status counted = MODEL_OK;
    if (bound && want.server != MODEL_NONE) {
        counted = model_bind(p->m, want.server, active);
    }
    int wanted = want.server == MODEL_NONE ? LOCUS_ENOSERVER : status_of(counted);
    if (!same(p, "status of the pick", (uint64_t)status, (uint64_t)wanted)) {
        return false;
    }
    if (counted == MODEL_OK && !compare_pick(p, &got, &want)) {
        return false;
    }
    if (want.server == MODEL_NONE) {
        return compare_dest(p, &request.dst);
    }
    if (bound && counted == MODEL_OK) {
        remember_conn(p, want.server, active);
    }
    return compare_server(p, want.server) && compare_dest(p, &request.dst);
}

static bool do_batch(struct pair *p, const struct op *op)
{
    struct locus_request requests[BATCH_MAX];
    uint32_t servers[BATCH_MAX];
    uint32_t count = op->c % BATCH_MAX + 1;
    bool active = op->small & 1;
    for (uint32_t i = 0; i < count; i++) {
        struct op one = {.a = op->a + i * (1 + op->b % 5), .b = op->b + i, .c = i};
        requests[i] = request_of(p, &one);
    }
    size_t bound = locus_connect_batch(p->svc, requests, count, p->now_ns,
                                       active ? LOCUS_ACTIVE : LOCUS_INACTIVE, servers);
    size_t want_bound = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct model_pick want = model_answer(p, &requests[i]);
        if (want.server != MODEL_NONE &&
            model_bind(p->m, want.server, active) != MODEL_OK) {
            want.server = MODEL_NONE;
        }
        if (!same(p, "pick of a batch", servers[i], handle_of(p, want.server))) {
            return false;
        }
        if (want.server != MODEL_NONE) {
            want_bound++;
            remember_conn(p, want.server, active);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!compare_dest(p, &requests[i].dst)) {
            return false;
        }
    }
    return same(p, "bound by a batch", bound, want_bound);
}

/* ---- connections ----------------------------------------------------------------- */

static enum locus_conn_state state_of(bool active)
{
    return active ? LOCUS_ACTIVE : LOCUS_INACTIVE;
}

/* A used slot at or after that place; MODEL_NONE: there is no server at all. */
static uint32_t any_slot(const struct pair *p, uint32_t place)
{
    for (size_t i = 0; i < p->m->slots; i++) {
        uint32_t slot = (uint32_t)((place + i) % p->m->slots);
        if (p->m->servers[slot].used) {
            return slot;
        }
    }
    return MODEL_NONE;
}

static bool do_bind(struct pair *p, const struct op *op)
{
    uint32_t slot = any_slot(p, op->a);
    if (slot == MODEL_NONE) {
        return true;
    }
    bool active = op->small & 1;
    int status = locus_conn_bind(p->svc, p->handles[slot], state_of(active));
    enum model_status want = model_bind(p->m, slot, active);
    if (want == MODEL_OK) {
        remember_conn(p, slot, active);
    }
    return same(p, "status of a bind", (uint64_t)status, (uint64_t)status_of(want)) &&
           compare_server(p, slot);
}

/* The place of a connection whose server there still is, or conn_count. */
static size_t any_conn(const struct pair *p, uint32_t place)
{
    size_t at = p->conn_count ? place % p->conn_count : 0;
    bool usable = at < p->conn_count && p->m->servers[p->conns[at].server].used;
    return usable ? at : p->conn_count;
}

static bool do_move(struct pair *p, const struct op *op)
{
    size_t at = any_conn(p, op->a);
    if (at == p->conn_count) {
        return true;
    }
    struct pair_conn *conn = &p->conns[at];
    bool to = op->small & 1;
    int status = locus_conn_move(p->svc, p->handles[conn->server],
                                 state_of(conn->active), state_of(to));
    enum model_status want = model_move(p->m, conn->server, conn->active, to);
    if (want == MODEL_OK) {
        conn->active = to;
    }
    return same(p, "status of a move", (uint64_t)status, (uint64_t)status_of(want)) &&
           compare_server(p, conn->server);
}

static bool do_close(struct pair *p, const struct op *op)
{
    size_t at = any_conn(p, op->a);
    if (at == p->conn_count) {
        return true;
    }
    struct pair_conn conn = p->conns[at];
    p->conns[at] = p->conns[--p->conn_count];
    int status =
        locus_conn_unbind(p->svc, p->handles[conn.server], state_of(conn.active));
    enum model_status want = model_unbind(p->m, conn.server, conn.active);
    return same(p, "status of an unbind", (uint64_t)status,
                (uint64_t)status_of(want)) &&
           compare_server(p, conn.server);
}

static bool do_counts(struct pair *p, const struct op *op)
{
    uint32_t slot = any_slot(p, op->a);
    if (slot == MODEL_NONE) {
        return true;
    }
    uint32_t active = op->b & INT32_MAX;
    uint32_t inactive = op->c & INT32_MAX;
    inactive = inactive <= INT32_MAX - active ? inactive : INT32_MAX - active;
    poke_counts(p->svc, p->handles[slot], active, inactive);
    model_set_counts(p->m, slot, active, inactive);
    return compare_server(p, slot);
}

/* ---- servers --------------------------------------------------------------------- */

static bool do_add(struct pair *p, const struct op *op)
{
    struct locus_server_config config = {
        .address = pair_address(p, op->a),
        .weight = op->b,
        .upper_threshold = op->c,
        .lower_threshold = (uint32_t)op->n,
        .capacity = op->small,
        .warm = op->a >> 31,
        .tag = op->a,
    };
    struct model_server wanted = {
        .address = model_key_of(config.address.family, &config.address.key),
        .port = config.address.port,
        .weight = op->b,
        .upper = op->c,
        .lower = (uint32_t)op->n,
        .capacity = op->small,
        .warm = op->a >> 31,
        .tag = op->a,
    };
    uint32_t slot = MODEL_NONE;
    uint32_t handle = LOCUS_NO_SERVER;
    enum model_status want = model_add(p->m, &wanted, &slot);
    int status = locus_server_add(p->svc, &config, p->now_ns, &handle);
    if (!same(p, "status of an add", (uint64_t)status, (uint64_t)status_of(want))) {
        return false;
    }
    uint32_t found = locus_server_find(p->svc, &config.address);
    if (want == MODEL_OK) {
        note_handle(p, slot, handle);
        return same(p, "server found", found, handle) && compare_server(p, slot);
    }
    slot = model_find(p->m, wanted.address, wanted.port);
    return same(p, "server found", found, handle_of(p, slot));
}

static uint32_t any_listed(const struct pair *p, uint32_t place)
{
    return p->m->listed ? p->m->list[place % p->m->listed] : MODEL_NONE;
}

static bool do_edit(struct pair *p, const struct op *op)
{
    uint32_t slot = any_listed(p, op->a);
    if (slot == MODEL_NONE) {
        return true;
    }
    struct locus_server_config config = {
        .weight = op->b,
        .upper_threshold = op->c,
        .lower_threshold = (uint32_t)op->n,
        .capacity = op->small,
        .warm = op->a >> 31,
    };
    int status = locus_server_edit(p->svc, p->handles[slot], &config);
    enum model_status want = model_edit(p->m, slot, op->b, op->c, (uint32_t)op->n);
    if (want == MODEL_OK) {
        model_set_capacity(p->m, slot, op->small);
        if (config.warm) {
            model_set_warm(p->m, slot);
        }
    }
    return same(p, "status of an edit", (uint64_t)status, (uint64_t)status_of(want)) &&
           compare_server(p, slot);
}

static bool do_weight(struct pair *p, const struct op *op)
{
    uint32_t slot = any_listed(p, op->a);
    if (slot == MODEL_NONE) {
        return true;
    }
    const struct model_server *s = &p->m->servers[slot];
    int status = locus_server_set_weight(p->svc, p->handles[slot], op->b);
    enum model_status want = model_edit(p->m, slot, op->b, s->upper, s->lower);
    return same(p, "status of a weight", (uint64_t)status, (uint64_t)status_of(want)) &&
           compare_server(p, slot);
}

static bool do_remove(struct pair *p, const struct op *op)
{
    uint32_t slot = any_listed(p, op->a);
    if (slot == MODEL_NONE) {
        return true;
    }
    int status = locus_server_remove(p->svc, p->handles[slot], p->now_ns);
    enum model_status want = model_remove(p->m, slot);
    bool bounded = p->m->rules.max_entries != UINT32_MAX;
    p->purging |= p->m->rules.purge_removed;
    return same(p, "status of a remove", (uint64_t)status, (uint64_t)status_of(want)) &&
           (!p->purging || (!bounded && !(op->small & 1)) || tick_now(p)) &&
           compare_server(p, slot);
}

/* Every call must know that there is no such server, in the trash or not. */
static bool stray_handle(struct pair *p, uint32_t handle, bool trashed)
{
    struct locus_server_config config = {.weight = 1};
    struct locus_server_info info;
    uint64_t none = (uint64_t)LOCUS_ENOENT;
    same(p, "edit", (uint64_t)locus_server_edit(p->svc, handle, &config), none);
    same(p, "weight", (uint64_t)locus_server_set_weight(p->svc, handle, 1), none);
    same(p, "remove", (uint64_t)locus_server_remove(p->svc, handle, p->now_ns), none);
    if (!trashed) {
        same(p, "get", (uint64_t)locus_server_get(p->svc, handle, &info), none);
        same(p, "bind", (uint64_t)locus_conn_bind(p->svc, handle, LOCUS_ACTIVE), none);
        same(p, "unbind", (uint64_t)locus_conn_unbind(p->svc, handle, LOCUS_ACTIVE),
             none);
        same(p, "move",
             (uint64_t)locus_conn_move(p->svc, handle, LOCUS_ACTIVE, LOCUS_INACTIVE),
             none);
    }
    return !p->failed;
}

static bool do_stray(struct pair *p)
{
    if (p->m->trashed > 0 && !stray_handle(p, p->handles[p->m->trash[0]], true)) {
        return false;
    }
    return stray_handle(p, LOCUS_NO_SERVER, false) && stray_handle(p, INT32_MAX, false);
}

/* ---- time and configuration ------------------------------------------------------ */

/* Handles of servers that the model has freed must be unknown to the library. */
static bool forget_freed(struct pair *p)
{
    for (size_t i = 0; i < p->handles_room; i++) {
        struct locus_server_info info;
        if (p->m->servers[i].used || p->handles[i] == LOCUS_NO_SERVER) {
            continue;
        }
        if (locus_server_get(p->svc, p->handles[i], &info) != LOCUS_ENOENT) {
            return fail(p, "server %" PRIu32 " should have been freed", p->handles[i]);
        }
        p->handles[i] = LOCUS_NO_SERVER;
    }
    return true;
}

static bool do_time(struct pair *p, const struct op *op)
{
    uint64_t tick_ns = p->config.service.tick_ns;
    uint64_t until_ns = p->now_ns + (uint64_t)op->n * tick_ns;
    if (op->small & 2 && model_due(p->m) != MODEL_NEVER) {
        until_ns = (uint64_t)model_due(p->m) * tick_ns;
    }
    while (model_due(p->m) <= ticks(p, until_ns)) {
        p->now_ns = (uint64_t)model_due(p->m) * tick_ns;
        model_advance(p->m, model_due(p->m));
        if (!tick_until_done(p, p->now_ns, op->c) || !compare_due(p) ||
            !forget_freed(p)) {
            return false;
        }
    }
    p->now_ns = until_ns;
    model_advance(p->m, ticks(p, p->now_ns));
    return tick_until_done(p, p->now_ns, op->c);
}

static bool do_late(struct pair *p, const struct op *op)
{
    p->now_ns += (uint64_t)op->n * p->config.service.tick_ns;
    model_set_clock(p->m, ticks(p, p->now_ns));
    model_tick_late(p->m);
    return tick_until_done(p, p->now_ns, op->c) && forget_freed(p);
}

static bool do_back(struct pair *p, const struct op *op)
{
    uint64_t back_ns = (uint64_t)op->n * p->config.service.tick_ns;
    return do_connect(p, op, back_ns < p->now_ns ? p->now_ns - back_ns : 0);
}

static bool do_sched(struct pair *p, const struct op *op)
{
    enum model_scheduler scheduler = (enum model_scheduler)(op->a % MODEL_SCHEDULERS);
    uint32_t flags = op->b & (LOCUS_FLAG_FALLBACK | LOCUS_FLAG_PORT);
    model_set_scheduler(p->m, scheduler, flags & LOCUS_FLAG_FALLBACK,
                        flags & LOCUS_FLAG_PORT);
    int status = locus_service_set_scheduler(p->svc, model_scheduler_name(scheduler),
                                             flags, p->now_ns);
    return same(p, "status of set_scheduler", (uint64_t)status, LOCUS_OK) &&
           (p->purging || check_scheduler(p));
}

static bool do_expire(struct pair *p, const struct op *op)
{
    p->m->expiration = op->n;
    locus_service_set_expiration(p->svc, op->n * (int64_t)p->config.service.tick_ns);
    return true;
}

static bool do_dice(struct pair *p, const struct op *op)
{
    p->m->dice = op->a;
    locus_service_set_seed(p->svc, op->a);
    return true;
}

static bool do_wheel(struct pair *p, const struct op *op)
{
    p->m->rules.timer_wheel = op->small & 1;
    locus_service_set_timer_wheel(p->svc, op->small & 1);
    return true;
}

static bool do_bound(struct pair *p, const struct op *op)
{
    bool allowed = op->n > 100 && op->n <= 10000;
    if (allowed) {
        p->m->rules.load_bound_percent = op->n;
    }
    int status = locus_service_set_load_bound(p->svc, (uint32_t)op->n);
    return same(p, "status of set_load_bound", (uint64_t)status,
                (uint64_t)(allowed ? LOCUS_OK : LOCUS_ERANGE));
}

static bool apply(struct pair *p, const struct op *op)
{
    switch (op->kind) {
    case OP_CONNECT:
        return do_connect(p, op, p->now_ns);
    case OP_BATCH:
        return do_batch(p, op);
    case OP_BIND:
        return do_bind(p, op);
    case OP_MOVE:
        return do_move(p, op);
    case OP_CLOSE:
        return do_close(p, op);
    case OP_ADD:
        return do_add(p, op);
    case OP_EDIT:
        return do_edit(p, op);
    case OP_WEIGHT:
        return do_weight(p, op);
    case OP_REMOVE:
        return do_remove(p, op);
    case OP_COUNTS:
        return do_counts(p, op);
    case OP_TIME:
        return do_time(p, op);
    case OP_LATE:
        return do_late(p, op);
    case OP_BACK:
        return do_back(p, op);
    case OP_SCHED:
        return do_sched(p, op);
    case OP_EXPIRE:
        return do_expire(p, op);
    case OP_DICE:
        return do_dice(p, op);
    case OP_WHEEL:
        return do_wheel(p, op);
    case OP_STRAY:
        return do_stray(p);
    case OP_BOUND:
        return do_bound(p, op);
    case OP_KINDS:
        break;
    }
    return fail(p, "no such event");
}

bool pair_apply(struct pair *p, const struct op *op)
{
    return !p->failed && apply(p, op) && compare_stats(p) && compare_due(p);
}

/* ---- restarts -------------------------------------------------------------------- */

static int keep_bytes(void *arg, const void *bytes, size_t size)
{
    return fwrite(bytes, 1, size, arg) == size ? LOCUS_OK : LOCUS_EIO;
}

static int give_bytes(void *arg, void *bytes, size_t size)
{
    return fread(bytes, 1, size, arg) == size ? LOCUS_OK : LOCUS_EIO;
}

struct saved {
    char *bytes;
    size_t size;
};

static bool save(struct pair *p, struct saved *saved)
{
    FILE *out = open_memstream(&saved->bytes, &saved->size);
    int status = locus_snapshot_save(p->svc, p->now_ns, keep_bytes, out);
    fclose(out);
    return same(p, "status of a save", (uint64_t)status, LOCUS_OK);
}

/* The service as its configuration makes it; its servers oldest first. */
static struct locus_service *configured_alike(struct pair *p, bool with_servers)
{
    struct locus_service_config config = p->config.service;
    struct locus_service *svc = NULL;
    config.scheduler = locus_service_scheduler(p->svc, &config.scheduler_flags);
    config.now_ns = p->now_ns;
    if (locus_service_create(&config, &svc) != LOCUS_OK) {
        fail(p, "no service to load into");
        return NULL;
    }
    locus_service_set_expiration(svc,
                                 p->m->expiration * (int64_t)p->config.service.tick_ns);
    locus_service_set_timer_wheel(svc, p->m->rules.timer_wheel);
    same(p, "status of set_load_bound again",
         (uint64_t)locus_service_set_load_bound(
             svc, (uint32_t)p->m->rules.load_bound_percent),
         LOCUS_OK);
    for (size_t i = with_servers ? p->m->listed : 0; i-- > 0;) {
        struct locus_server_info info;
        uint32_t handle;
        if (locus_server_get(p->svc, p->handles[p->m->list[i]], &info) != LOCUS_OK) {
            fail(p, "a server of the list is unknown");
            break;
        }
        struct locus_server_config server = {
            .address = info.address,
            .weight = info.weight,
            .upper_threshold = info.upper_threshold,
            .lower_threshold = info.lower_threshold,
            .capacity = info.capacity,
            .tag = info.tag,
        };
        same(p, "status of an add again",
             (uint64_t)locus_server_add(svc, &server, p->now_ns, &handle), LOCUS_OK);
    }
    return svc;
}

static bool load(struct pair *p, struct locus_service *svc, const struct saved *saved)
{
    struct locus_snapshot_options options = {
        .now_ns = p->now_ns, .add_servers = true, .connections = true};
    struct locus_snapshot_report report;
    FILE *in = fmemopen(saved->bytes, saved->size, "rb");
    int status = locus_snapshot_load(svc, &options, give_bytes, in, &report);
    fclose(in);
    return same(p, "status of a load", (uint64_t)status, LOCUS_OK) &&
           same(p, "destinations loaded", report.loaded, p->m->linked) &&
           same(p, "servers loaded", report.servers, p->m->listed + p->m->trashed) &&
           same(p, "left out",
                report.unknown_servers + report.thinned + report.skipped +
                    report.expired + report.beyond_bound,
                0);
}

/* In service and in the trash they come in the model's order. */
static void note_handles_again(struct pair *p)
{
    for (size_t i = 0; i < p->handles_room; i++) {
        p->handles[i] = LOCUS_NO_SERVER;
    }
    uint32_t handle = LOCUS_NO_SERVER;
    for (size_t i = 0; i < p->m->listed; i++) {
        handle = locus_server_next(p->svc, handle);
        note_handle(p, p->m->list[i], handle);
    }
    handle = LOCUS_NO_SERVER;
    for (size_t i = 0; i < p->m->trashed; i++) {
        handle = locus_trash_next(p->svc, handle);
        note_handle(p, p->m->trash[i], handle);
    }
}

static void compare_saved(struct pair *p, const struct saved *first,
                          const struct saved *second)
{
    same(p, "bytes saved again", second->size, first->size);
    for (size_t i = 0; i < first->size && !p->failed; i++) {
        if (first->bytes[i] != second->bytes[i]) {
            fail(p, "byte %zu of %zu is not the same again", i, first->size);
        }
    }
}

bool pair_restart(struct pair *p, bool with_servers)
{
    struct saved first = {NULL, 0};
    struct saved second = {NULL, 0};
    p->purging = false;
    struct locus_service *svc =
        save(p, &first) ? configured_alike(p, with_servers) : NULL;
    if (svc != NULL && load(p, svc, &first)) {
        locus_service_destroy(p->svc);
        p->svc = svc;
        memset(&p->m->stats, 0, sizeof(p->m->stats));
        note_handles_again(p);
        if (save(p, &second)) {
            compare_saved(p, &first, &second);
        }
    } else {
        locus_service_destroy(svc);
    }
    free(first.bytes);
    free(second.bytes);
    return !p->failed && pair_check(p);
}

/* ---- reports --------------------------------------------------------------------- */

void op_print(FILE *out, const struct op *op)
{
    static const char *const names[OP_KINDS] = {
        [OP_CONNECT] = "connect", [OP_BATCH] = "batch",   [OP_BIND] = "bind",
        [OP_MOVE] = "move",       [OP_CLOSE] = "close",   [OP_ADD] = "add",
        [OP_EDIT] = "edit",       [OP_WEIGHT] = "weight", [OP_REMOVE] = "remove",
        [OP_COUNTS] = "counts",   [OP_TIME] = "time",     [OP_LATE] = "late",
        [OP_BACK] = "back",       [OP_SCHED] = "sched",   [OP_EXPIRE] = "expire",
        [OP_DICE] = "dice",       [OP_WHEEL] = "wheel",   [OP_STRAY] = "stray",
        [OP_BOUND] = "bound",
    };
    fprintf(out,
            "%-8s small=%" PRIu32 " a=%" PRIu32 " b=%" PRIu32 " c=%" PRIu32
            " n=%" PRId64 "\n",
            names[op->kind], op->small, op->a, op->b, op->c, op->n);
}
