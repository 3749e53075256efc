/* SPDX-License-Identifier: MIT */
/*
 * A service read back.
 *
 * Loading fills the service's own map, which is empty, and prepares servers that nobody
 * sees; not before the last checksum do they come into service. A failure empties the map
 * again and drops them.
 */
#include "../destinations/locality.h"
#include "../sched/schedulers.h"
#include "../servers/identities.h"
#include "../state/clock.h"
#include "format.h"
#include "servers.h"

/* The age of a destination; those that 32 bits could lose are held where they are safe,
 * unless they are what they were. */
static uint32_t age_now(const struct loading *load, uint32_t ticks)
{
    uint64_t now = loading_ticks(load, ticks, load->options->away_ns);

    return now == ticks || now <= INT32_MAX ? (uint32_t)now : INT32_MAX;
}

/* Whether the stream is of this service's kind. */
static int check_kind(struct loading *load)
{
    const struct locus_service *svc = load->svc;
    bool alike = locus_blocks_get(&load->in, 1) == svc->family;
    uint64_t length = locus_blocks_get(&load->in, 1);
    const char *name = svc->ops->name;

    for (uint64_t i = 0; i < length; i++) {
        char letter = (char)locus_blocks_get(&load->in, 1);
        alike = alike && *name == letter;
        name += alike;
    }
    alike = alike && *name == '\0';
    return load->in.status != LOCUS_OK ? load->in.status
           : alike                     ? LOCUS_OK
                                       : LOCUS_EINVAL;
}

static int get_head(struct loading *load)
{
    struct block_reader *in = &load->in;
    int status = check_kind(load);

    if (status != LOCUS_OK) {
        return status;
    }
    load->tick_ns = locus_blocks_get(in, 8);
    load->trash_from = loading_get32(load);
    uint64_t servers = (uint64_t)load->trash_from + loading_get32(load);
    load->servers_promised = (uint32_t)servers;
    load->destinations = loading_get32(load);
    load->leaks = loading_get32(load);
    load->rover = loading_get32(load);
    load->counter = loading_get32(load);
    load->collector_ticks = locus_blocks_get(in, 8);
    load->trash_ticks = locus_blocks_get(in, 8);
    load->collector_first = locus_blocks_get(in, 1) != 0;
    load->rng = locus_blocks_get(in, 8);
    load->turn = (int64_t)locus_blocks_get(in, 8);
    if (load->tick_ns == 0 || servers > SERVERS_MAX || load->rover >= GC_BUCKETS ||
        (load->svc->locality == NULL && load->destinations > 0) ||
        load->leaks > UINT32_MAX - load->destinations) {
        locus_blocks_reject(in);
    }
    return in->status;
}

struct saved_dest {
    union locus_key key;
    uint32_t number;
    uint32_t lastuse, lastmod;
    bool left_out;     /* for its age or place: its members are read, no more */
    bool lacks;        /* an unknown server */
    struct dest *dest; /* NULL: no known member so far */
};

static int add_first(struct loading *load, struct saved_dest *saved, uint32_t slot,
                     bool used)
{
    const struct destmap *map = &load->svc->locality->map;

    if (destmap_find(map, &saved->key, destmap_hash(map, &saved->key)) != NULL) {
        return LOCUS_EFORMAT;
    }
    saved->dest =
        locus_locality_restore(load->svc, &saved->key, slot, saved->lastuse, used);
    if (saved->dest == NULL) {
        return LOCUS_ENOMEM;
    }
    saved->dest->lastmod = saved->lastmod;
    return LOCUS_OK;
}

static int add_member(struct loading *load, struct saved_dest *saved, uint32_t place,
                      bool used)
{
    if (place >= load->server_count) {
        return LOCUS_EFORMAT;
    }
    const struct saved_server *s = &load->servers[place];
    uint32_t slot = s->slot;
    bool purged = s->past.in_trash && load->svc->rules.purge_removed;
    if (slot == LOCUS_NO_SERVER || purged) {
        saved->lacks = true;
        return LOCUS_OK;
    }
    if (load->named_by[slot] == saved->number) {
        return LOCUS_EFORMAT;
    }
    load->named_by[slot] = saved->number;
    if (saved->left_out) {
        return LOCUS_OK;
    }
    if (saved->dest == NULL) {
        return add_first(load, saved, slot, used);
    }
    return locus_dest_push(load->svc, saved->dest, slot) ? LOCUS_OK : LOCUS_ENOMEM;
}

static int get_members(struct loading *load, struct saved_dest *saved)
{
    uint32_t member = loading_get32(load);
    bool used = (member & DEST_USED) != 0;
    bool sets = load->svc->ops == &locus_sched_lblcr;
    int status = load->in.status;

    member &= ~DEST_USED;
    while (status == LOCUS_OK) {
        bool follows = (member & MEMBER_FOLLOWS) != 0;
        status = follows && !sets
                     ? LOCUS_EFORMAT
                     : add_member(load, saved, member & ~MEMBER_FOLLOWS, used);
        if (!follows) {
            break;
        }
        member = loading_get32(load);
        status = status != LOCUS_OK ? status : load->in.status;
    }
    return status;
}

static int get_destination(struct loading *load, uint32_t index)
{
    uint32_t max = load->svc->rules.max_entries;
    bool beyond = load->destinations > max && index < load->destinations - max;
    /* Numbers of servers' first mention begin at 1. */
    struct saved_dest saved = {.key =
                                   locus_snapshot_get_key(&load->in, load->svc->family),
                               .number = index + 2};
    uint32_t used_age = age_now(load, loading_get32(load));
    uint32_t changed_age = age_now(load, loading_get32(load));
    bool expired = load->options->away_ns > 0 && age_has_expired(load->svc, used_age);

    saved.left_out = beyond || expired;
    saved.lastuse = (uint32_t)load->tick - used_age;
    saved.lastmod = (uint32_t)load->tick - changed_age;
    int status = get_members(load, &saved);
    if (saved.left_out) {
        load->report.beyond_bound += beyond;
        load->report.expired += !beyond;
    } else {
        load->report.loaded += saved.dest != NULL;
        load->report.skipped += saved.dest == NULL;
        load->report.thinned += saved.dest != NULL && saved.lacks;
    }
    return status;
}

static int get_all(struct loading *load)
{
    int status = get_head(load);

    status = status != LOCUS_OK ? status : locus_loading_servers(load);
    for (uint32_t i = 0; i < load->destinations && status == LOCUS_OK; i++) {
        status = get_destination(load, i);
    }
    return status != LOCUS_OK ? status : locus_blocks_close(&load->in);
}

/* ---- the end of a load ---- */

/* Nothing of it was to be seen yet but destinations. */
static void give_up(struct loading *load)
{
    const struct locality *loc = load->svc->locality;

    if (loc != NULL && loc->map.count > 0) {
        locus_locality_clear(load->svc);
    }
    for (uint32_t i = 0; i < load->server_count; i++) {
        const struct saved_server *s = &load->servers[i];
        if (s->prepared) {
            locus_identity_drop(load->svc, s->slot, s->past.in_trash);
        }
    }
}

/* Thresholds that the caller has changed decide anew. */
static bool is_overloaded(const struct locus_service *svc, const struct saved_server *s)
{
    const struct identity *now = svc->identities[s->slot];

    if (now->upper == s->config.upper_threshold &&
        now->lower == s->config.lower_threshold) {
        return s->overloaded;
    }
    return now->upper > 0 && s->active + s->inactive >= now->upper;
}

/* As a timer that was armed some time ago, unless it is twice as far off as one armed now
 * (rules->timer_wheel may have been on then): no rules of now say that. */
static void go_on(struct loading *load, struct timer *timer, uint64_t every_ns,
                  uint64_t ticks)
{
    uint64_t left = loading_ticks(load, ticks, 0);

    locus_timer_arm(load->svc, timer, every_ns);
    if (timer->due != LOCUS_NEVER && left / 2 <= timer->due - load->tick) {
        timer->due = load->tick + left;
    }
}

static void go_on_collecting(struct loading *load)
{
    struct locality *loc = load->svc->locality;

    if (loc != NULL) {
        loc->rover = load->rover;
        loc->counter = load->counter;
        loc->entries += load->svc->rules.leak_entries ? load->leaks : 0;
        go_on(load, &loc->gc, load->svc->rules.gc_interval_ns, load->collector_ticks);
    }
}

static void take_over(struct loading *load)
{
    struct locus_service *svc = load->svc;
    struct turn turn = {LOCUS_NO_SERVER, load->turn};

    clock_set(svc, load->options->now_ns);
    svc->rng = load->rng;
    for (uint32_t i = load->server_count; i-- > 0;) {
        const struct saved_server *s = &load->servers[i];
        if (s->prepared) {
            locus_server_enter(svc, s->slot, &s->config, &s->past);
        } else if (s->slot != LOCUS_NO_SERVER) {
            locus_server_recall_weight(svc, s->slot, s->past.last_weight);
        }
        if (s->slot != LOCUS_NO_SERVER && s->last) {
            turn.server = s->slot;
        }
        if (s->slot != LOCUS_NO_SERVER && load->options->connections) {
            locus_server_set_counts(svc, s->slot, s->active, s->inactive,
                                    is_overloaded(svc, s));
        }
    }
    if (svc->ops->set_turn != NULL) {
        svc->ops->set_turn(svc, turn);
    }
    if (load->collector_first) {
        go_on_collecting(load);
    }
    /* It may run though whoever was in the trash has come back. */
    if (svc->trash.count > 0 || load->trash_ticks != LOCUS_NEVER) {
        go_on(load, &svc->trash_timer, svc->rules.trash_ns, load->trash_ticks);
    }
    if (!load->collector_first) {
        go_on_collecting(load);
    }
}

static bool is_fresh(const struct locus_service *svc, bool connections)
{
    const struct locality *loc = svc->locality;

    if (svc->trash.count > 0 || svc->trash_running ||
        (loc != NULL && (loc->entries > 0 || loc->job != JOB_NONE))) {
        return false;
    }
    for (uint32_t i = svc->list.head; connections && i != LOCUS_NO_SERVER;
         i = svc->servers[i].next) {
        if (server_total(&svc->servers[i]) > 0) {
            return false;
        }
    }
    return true;
}

int locus_snapshot_load(struct locus_service *svc,
                        const struct locus_snapshot_options *options,
                        locus_read_fn *read, void *arg,
                        struct locus_snapshot_report *report)
{
    struct loading load = {.svc = svc, .options = options, .tick = svc->tick};

    if (!is_fresh(svc, options->connections)) {
        return LOCUS_EBUSY;
    }
    if (options->now_ns >= svc->tick_end_ns) {
        load.tick = options->now_ns / svc->tick_ns;
    }
    locus_blocks_open(&load.in, read, arg);
    int status = get_all(&load);
    if (status == LOCUS_OK) {
        take_over(&load);
    } else {
        give_up(&load);
    }
    release(&svc->allocator, load.servers,
            load.server_capacity * sizeof(*load.servers));
    release(&svc->allocator, load.named_by, load.named_by_bytes);
    if (status == LOCUS_OK && report != NULL) {
        *report = load.report;
    }
    return status;
}
