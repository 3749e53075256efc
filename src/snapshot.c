/* SPDX-License-Identifier: MIT */
/*
 * A service as a stream of numbers (blocks.h says how they are wrapped):
 *
 *     head         family 1, length of the scheduler's name 1, name, tick_ns 8,
 *                  servers in service 4, in the trash 4, destinations 4,
 *                  entries that are none (leaks) 4, rover 4, counter 4,
 *                  ticks until the collector runs 8, until the trash is looked through 8,
 *                  which of the two is first at the same tick 1 (1: the collector),
 *                  twos' dice 8, the number of wrr's turn 8
 *     server       in list order, newest first, then the trash, latest first:
 *                  family 1, port 2, key, tag 8, weight 4, last weight above 0 4,
 *                  upper and lower threshold 4 4, capacity 4, active 4, inactive 4,
 *                  flags 1 (1 overloaded, 2 idle in the trash, 4 rr's and wrr's last),
 *                  ticks idle 8
 *     destination  key, ticks since lastuse 4, since lastmod 4, members 4 each, oldest first:
 *                  place of the server above; bit 30: another follows;
 *                  bit 31 of the first: used since the queue of rules->evict took it in
 *     key          IPv4: 4; IPv6: 16 bytes in network order; name: 8 8
 *
 * Destinations come in the order of the queue if there is one, else in that of their hashes:
 * no table's size or history shows.
 *
 * Loading fills the service's own map, which is empty, and prepares servers that nobody
 * sees; not before the last checksum do they come into service. A failure empties the map
 * again and drops them.
 */
#include "blocks.h"
#include "identities.h"
#include "locality.h"
#include "server.h"

enum {
    SERVER_OVERLOADED = 1,
    SERVER_IDLE = 2,
    SERVER_LAST = 4,
    SERVER_FLAGS = 7,
    SERVERS_MAX = 1 << 24,
};

#define MEMBER_FOLLOWS (UINT32_C(1) << 30)
#define DEST_USED (UINT32_C(1) << 31)

/* ---- saving ---- */

struct hashed {
    uint64_t hash;
    const struct dest *dest;
};

struct saving {
    struct locus_service *svc;
    struct block_writer out;
    uint32_t *places;      /* of servers, by slot */
    struct hashed *sorted; /* destinations of one segment */
    size_t count, capacity;
};

static void put_key(struct saving *save, enum locus_family family,
                    const union locus_key *key)
{
    if (family == LOCUS_IPV4) {
        locus_blocks_put(&save->out, key->ipv4, 4);
    } else if (family == LOCUS_NAME) {
        locus_blocks_put(&save->out, key->words[0], 8);
        locus_blocks_put(&save->out, key->words[1], 8);
    } else {
        for (int i = 0; i < 16; i++) {
            locus_blocks_put(&save->out, key->bytes[i], 1);
        }
    }
}

static uint64_t ticks_until(const struct locus_service *svc, const struct timer *timer)
{
    return timer->due == LOCUS_NEVER ? LOCUS_NEVER : timer->due - svc->tick;
}

static struct turn turn_of(const struct locus_service *svc)
{
    return svc->ops->turn != NULL ? svc->ops->turn(svc)
                                  : (struct turn){LOCUS_NO_SERVER, 0};
}

static void put_head(struct saving *save)
{
    static const struct locality none = {.gc = {.due = LOCUS_NEVER}};
    const struct locus_service *svc = save->svc;
    const struct locality *loc = svc->locality != NULL ? svc->locality : &none;
    struct block_writer *out = &save->out;
    size_t length = strlen(svc->ops->name);

    locus_blocks_put(out, svc->family, 1);
    locus_blocks_put(out, length, 1);
    for (size_t i = 0; i < length; i++) {
        locus_blocks_put(out, (unsigned char)svc->ops->name[i], 1);
    }
    locus_blocks_put(out, svc->tick_ns, 8);
    locus_blocks_put(out, svc->list.count, 4);
    locus_blocks_put(out, svc->trash.count, 4);
    locus_blocks_put(out, loc->map.count, 4);
    locus_blocks_put(out, loc->entries - loc->map.count, 4);
    locus_blocks_put(out, loc->rover, 4);
    locus_blocks_put(out, loc->counter, 4);
    locus_blocks_put(out, ticks_until(svc, &loc->gc), 8);
    locus_blocks_put(out, ticks_until(svc, &svc->trash_timer), 8);
    bool collector_first = loc != &none && svc->trash_timer.due != LOCUS_NEVER &&
                           loc->gc.order < svc->trash_timer.order;
    locus_blocks_put(out, collector_first, 1);
    locus_blocks_put(out, svc->rng, 8);
    locus_blocks_put(out, (uint64_t)turn_of(svc).number, 8);
}

static void put_server(struct saving *save, uint32_t slot)
{
    const struct server *s = &save->svc->servers[slot];
    const struct identity *identity = save->svc->identities[slot];
    struct block_writer *out = &save->out;
    struct locus_server_info info;

    if (locus_server_get(save->svc, slot, &info) != LOCUS_OK) {
        return; /* not of the lists' */
    }
    locus_blocks_put(out, info.address.family, 1);
    locus_blocks_put(out, info.address.port, 2);
    put_key(save, info.address.family, &info.address.key);
    locus_blocks_put(out, info.tag, 8);
    locus_blocks_put(out, info.weight, 4);
    locus_blocks_put(out, info.last_weight, 4);
    locus_blocks_put(out, info.upper_threshold, 4);
    locus_blocks_put(out, info.lower_threshold, 4);
    locus_blocks_put(out, info.capacity, 4);
    locus_blocks_put(out, info.active, 4);
    locus_blocks_put(out, info.inactive, 4);
    bool idle = s->state == SERVER_IN_TRASH && identity->idle;
    unsigned flags = info.overloaded ? SERVER_OVERLOADED : 0;
    flags |= idle ? SERVER_IDLE : 0;
    flags |= turn_of(save->svc).server == slot ? SERVER_LAST : 0;
    locus_blocks_put(out, flags, 1);
    locus_blocks_put(out, idle ? save->svc->tick - identity->idle_since : 0, 8);
}

static void put_list(struct saving *save, const struct server_list *list,
                     uint32_t place)
{
    for (uint32_t i = list->head; i != LOCUS_NO_SERVER;
         i = save->svc->servers[i].next) {
        save->places[i] = place++;
        put_server(save, i);
    }
}

static void put_dest(struct saving *save, const struct dest *dest, bool used)
{
    const struct locality *loc = save->svc->locality;
    union locus_key key = locus_dest_key(&loc->map, dest);
    const uint32_t *members;
    uint32_t single, count = dest_members(loc, dest, &single, &members);

    put_key(save, save->svc->family, &key);
    locus_blocks_put(&save->out, tick32(save->svc) - dest->lastuse, 4);
    locus_blocks_put(&save->out, tick32(save->svc) - dest->lastmod, 4);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t member = save->places[members[i]];
        member |= i + 1 < count ? MEMBER_FOLLOWS : 0;
        member |= i == 0 && used ? DEST_USED : 0;
        locus_blocks_put(&save->out, member, 4);
    }
}

static void put_queue(struct saving *save)
{
    const struct locality *loc = save->svc->locality;
    struct keyqueue_place place = {NULL, 0, false};
    struct keyqueue_item item;

    while (locus_keyqueue_next(&loc->queue, &place, &item)) {
        const struct dest *dest =
            destmap_find(&loc->map, &item.key, destmap_hash(&loc->map, &item.key));
        put_dest(save, dest, dest->lastuse != item.tick);
    }
}

/* By hash, then key. */
static bool precedes(const struct destmap *map, const struct hashed *a,
                     const struct hashed *b)
{
    if (a->hash != b->hash) {
        return a->hash < b->hash;
    }
    union locus_key left = locus_dest_key(map, a->dest);
    union locus_key right = locus_dest_key(map, b->dest);
    return memcmp(left.bytes, right.bytes, sizeof(left.bytes)) < 0;
}

/* Lets the item at a place of the heap sink to where it belongs. */
static void sink(struct saving *save, size_t at, size_t count)
{
    const struct destmap *map = &save->svc->locality->map;
    struct hashed *heap = save->sorted, item = heap[at];

    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        child += child + 1 < count && precedes(map, &heap[child], &heap[child + 1]);
        if (!precedes(map, &item, &heap[child])) {
            break;
        }
        heap[at] = heap[child];
    }
    heap[at] = item;
}

/* Writes the destinations that were gathered, in order. */
static void put_sorted(struct saving *save)
{
    for (size_t i = save->count / 2; i-- > 0;) {
        sink(save, i, save->count);
    }
    for (size_t left = save->count; left > 1;) {
        struct hashed last = save->sorted[--left];
        save->sorted[left] = save->sorted[0];
        save->sorted[0] = last;
        sink(save, 0, left);
    }
    for (size_t i = 0; i < save->count; i++) {
        put_dest(save, save->sorted[i].dest, false);
    }
    save->count = 0;
}

static int gather(struct saving *save, const struct dest *dest)
{
    const struct destmap *map = &save->svc->locality->map;
    const struct locus_allocator *allocator = &save->svc->allocator;
    union locus_key key = locus_dest_key(map, dest);

    if (save->count == save->capacity) {
        size_t capacity = 2 * save->capacity + 64;
        struct hashed *grown = alloc_bytes(allocator, capacity * sizeof(*grown));
        if (grown == NULL) {
            return LOCUS_ENOMEM;
        }
        if (save->count > 0) {
            memcpy(grown, save->sorted, save->count * sizeof(*grown));
        }
        release(allocator, save->sorted, save->capacity * sizeof(*grown));
        save->sorted = grown;
        save->capacity = capacity;
    }
    save->sorted[save->count++] = (struct hashed){destmap_hash(map, &key), dest};
    return LOCUS_OK;
}

/* Segments divide the hashes into ranges, which come in order. */
static int put_map(struct saving *save)
{
    struct destmap_place place = {0, 0};
    uint64_t segment = 0;
    const struct dest *dest;
    int status = LOCUS_OK;

    while (status == LOCUS_OK &&
           (dest = locus_destmap_next(&save->svc->locality->map, &place)) != NULL) {
        if (place.directory != segment) {
            put_sorted(save);
            segment = place.directory;
        }
        status = gather(save, dest);
    }
    put_sorted(save);
    return status;
}

static int put_all(struct saving *save)
{
    const struct locus_service *svc = save->svc;
    int status = LOCUS_OK;

    put_head(save);
    put_list(save, &svc->list, 0);
    put_list(save, &svc->trash, svc->list.count);
    if (svc->locality != NULL && svc->rules.evict) {
        put_queue(save);
    } else if (svc->locality != NULL) {
        status = put_map(save);
    }
    return status != LOCUS_OK ? status : locus_blocks_finish(&save->out);
}

int locus_snapshot_save(struct locus_service *svc, uint64_t now_ns,
                        locus_write_fn *write, void *arg)
{
    struct saving save = {.svc = svc};

    locus_tick(svc, now_ns, SIZE_MAX);
    size_t bytes = svc->slots * sizeof(*save.places);
    if (svc->slots > 0) {
        save.places = alloc_bytes(&svc->allocator, bytes);
        if (save.places == NULL) {
            return LOCUS_ENOMEM;
        }
    }
    locus_blocks_begin(&save.out, write, arg);
    int status = put_all(&save);
    release(&svc->allocator, save.places, bytes);
    release(&svc->allocator, save.sorted, save.capacity * sizeof(*save.sorted));
    return status;
}

/* ---- loading ---- */

struct saved_server {
    struct locus_server_config config;
    struct server_past past;
    uint32_t active, inactive;
    bool overloaded;
    bool last;     /* picked by rr or wrr */
    bool prepared; /* false: the service has it, or does not know it */
    uint32_t slot; /* LOCUS_NO_SERVER: unknown */
};

struct loading {
    struct locus_service *svc;
    const struct locus_snapshot_options *options;
    struct block_reader in;
    uint64_t tick;    /* of the service when it goes on */
    uint64_t tick_ns; /* of the snapshot */
    struct saved_server *servers;
    uint32_t server_count, server_capacity; /* read so far; room for */
    uint32_t servers_promised;
    uint32_t trash_from; /* servers from here on are trash */
    uint32_t *named_by;  /* by slot: number of the last destination that names it */
    size_t named_by_bytes;
    uint32_t destinations, leaks, rover, counter;
    uint64_t collector_ticks, trash_ticks, rng;
    int64_t turn;
    bool collector_first;
    struct locus_snapshot_report report;
};

static uint32_t get32(struct loading *load)
{
    return (uint32_t)locus_blocks_get(&load->in, 4);
}

static union locus_key get_key(struct loading *load, enum locus_family family)
{
    union locus_key key = {.words = {0, 0}};

    if (family == LOCUS_IPV4) {
        key.ipv4 = get32(load);
    } else if (family == LOCUS_NAME) {
        key.words[0] = locus_blocks_get(&load->in, 8);
        key.words[1] = locus_blocks_get(&load->in, 8);
    } else {
        for (int i = 0; i < 16; i++) {
            key.bytes[i] = (uint8_t)locus_blocks_get(&load->in, 1);
        }
    }
    return key;
}

static uint64_t sum_up_to_max(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Ticks of the snapshot as ticks of the service, after some more time. */
static uint64_t ticks_now(const struct loading *load, uint64_t ticks, uint64_t more_ns)
{
    uint64_t own_ns = load->svc->tick_ns;

    if (load->tick_ns == own_ns) {
        return sum_up_to_max(ticks, more_ns / own_ns);
    }
    uint64_t ns =
        ticks > UINT64_MAX / load->tick_ns ? UINT64_MAX : ticks * load->tick_ns;
    return sum_up_to_max(ns, more_ns) / own_ns;
}

/* The age of a destination; those that 32 bits could lose are held where they are safe,
 * unless they are what they were. */
static uint32_t age_now(const struct loading *load, uint32_t ticks)
{
    uint64_t now = ticks_now(load, ticks, load->options->away_ns);

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
    load->trash_from = get32(load);
    uint64_t servers = (uint64_t)load->trash_from + get32(load);
    load->servers_promised = (uint32_t)servers;
    load->destinations = get32(load);
    load->leaks = get32(load);
    load->rover = get32(load);
    load->counter = get32(load);
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

static int get_server(struct loading *load, struct saved_server *s)
{
    struct block_reader *in = &load->in;
    struct locus_server_config *config = &s->config;

    config->address.family = (enum locus_family)locus_blocks_get(in, 1);
    config->address.port = (uint16_t)locus_blocks_get(in, 2);
    config->address.key = get_key(load, config->address.family);
    config->tag = locus_blocks_get(in, 8);
    config->weight = get32(load);
    s->past.last_weight = get32(load);
    config->upper_threshold = get32(load);
    config->lower_threshold = get32(load);
    config->capacity = get32(load);
    s->active = get32(load);
    s->inactive = get32(load);
    uint64_t flags = locus_blocks_get(in, 1);
    s->overloaded = (flags & SERVER_OVERLOADED) != 0 && config->upper_threshold != 0;
    s->past.idle = (flags & SERVER_IDLE) != 0;
    s->last = (flags & SERVER_LAST) != 0 && !s->past.in_trash;
    s->past.idle_since =
        load->tick - ticks_now(load, locus_blocks_get(in, 8), load->options->away_ns);
    config->warm = true; /* its clients never left */
    s->slot = LOCUS_NO_SERVER;
    if (config->address.family < LOCUS_IPV4 || config->address.family > LOCUS_NAME ||
        s->past.last_weight > INT32_MAX || s->active > INT32_MAX ||
        s->inactive > INT32_MAX - s->active || flags > SERVER_FLAGS) {
        locus_blocks_reject(in);
    }
    return in->status;
}

/* Room for one more server; not for as many as the stream promises. */
static int make_room(struct loading *load, uint32_t servers)
{
    const struct locus_allocator *allocator = &load->svc->allocator;
    uint32_t capacity = 2 * load->server_capacity + 16;

    if (servers < load->server_capacity) {
        return LOCUS_OK;
    }
    struct saved_server *grown = alloc_bytes(allocator, capacity * sizeof(*grown));
    if (grown == NULL) {
        return LOCUS_ENOMEM;
    }
    if (servers > 0) {
        memcpy(grown, load->servers, servers * sizeof(*grown));
    }
    release(allocator, load->servers, load->server_capacity * sizeof(*grown));
    load->servers = grown;
    load->server_capacity = capacity;
    return LOCUS_OK;
}

static int get_servers(struct loading *load)
{
    int status = LOCUS_OK;

    for (uint32_t i = 0; i < load->servers_promised && status == LOCUS_OK; i++) {
        status = make_room(load, i);
        if (status == LOCUS_OK) {
            load->servers[i] =
                (struct saved_server){.past.in_trash = i >= load->trash_from};
            status = get_server(load, &load->servers[i]);
            load->server_count = i + 1;
        }
    }
    return status;
}

/* Finds the server in the service, or prepares it. Rules that purge never find who is in the
 * trash by his address, and may have left a namesake there for rules that do. */
static int match_server(struct loading *load, struct saved_server *s)
{
    bool named = !s->past.in_trash || !load->svc->rules.purge_removed;
    uint32_t found =
        named ? locus_server_find(load->svc, &s->config.address) : LOCUS_NO_SERVER;

    if (found != LOCUS_NO_SERVER || !load->options->add_servers) {
        s->slot = found;
        return LOCUS_OK;
    }
    int status =
        locus_server_prepare(load->svc, &s->config, s->past.in_trash, &s->slot);
    s->prepared = status == LOCUS_OK;
    if (status == LOCUS_EEXIST) {
        return s->past.in_trash ? LOCUS_OK : LOCUS_EFORMAT;
    }
    return status;
}

/* Oldest first, so that slots are given as they were. */
static int match_servers(struct loading *load, uint32_t from, uint32_t to)
{
    int status = LOCUS_OK;

    for (uint32_t i = to; i-- > from && status == LOCUS_OK;) {
        status = match_server(load, &load->servers[i]);
    }
    return status;
}

/* Sees to it that each server of the service is that of one of the snapshot at most. */
static int count_servers(struct loading *load)
{
    struct locus_service *svc = load->svc;

    load->named_by_bytes = svc->slots * sizeof(*load->named_by);
    if (svc->slots > 0) {
        load->named_by = alloc_zeroed(&svc->allocator, load->named_by_bytes);
        if (load->named_by == NULL) {
            return LOCUS_ENOMEM;
        }
    }
    for (uint32_t i = 0; i < load->server_count; i++) {
        struct saved_server *s = &load->servers[i];
        if (s->slot != LOCUS_NO_SERVER && load->named_by[s->slot]++ > 0) {
            if (!s->past.in_trash) {
                return LOCUS_EFORMAT;
            }
            s->slot = LOCUS_NO_SERVER;
        }
        load->report.servers += s->slot != LOCUS_NO_SERVER;
        load->report.unknown_servers += s->slot == LOCUS_NO_SERVER;
    }
    return LOCUS_OK;
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
    uint32_t member = get32(load);
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
        member = get32(load);
        status = status != LOCUS_OK ? status : load->in.status;
    }
    return status;
}

static int get_destination(struct loading *load, uint32_t index)
{
    uint32_t max = load->svc->rules.max_entries;
    bool beyond = load->destinations > max && index < load->destinations - max;
    /* Numbers of servers' first mention begin at 1. */
    struct saved_dest saved = {.key = get_key(load, load->svc->family),
                               .number = index + 2};
    uint32_t used_age = age_now(load, get32(load));
    uint32_t changed_age = age_now(load, get32(load));
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

    status = status != LOCUS_OK ? status : get_servers(load);
    status = status != LOCUS_OK ? status : match_servers(load, 0, load->trash_from);
    status = status != LOCUS_OK
                 ? status
                 : match_servers(load, load->trash_from, load->server_count);
    status = status != LOCUS_OK ? status : count_servers(load);
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
    uint64_t left = ticks_now(load, ticks, 0);

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
