/* SPDX-License-Identifier: MIT */
/*
 * Servers: slots, list and trash, weights and thresholds, connection counters. The only
 * place that calls a scheduler's server_event.
 */
#include "clock.h"
#include "derived.h"
#include "select.h"
#include "slowstart.h"
#include "thresholds.h"

/* An allocation that fails leaves the table as it was; the add then finds out. */
#undef uthash_malloc
#undef uthash_free
#undef uthash_nonfatal_oom
#define uthash_malloc(size) alloc_bytes(&svc->allocator, size)
#define uthash_free(ptr, size) release(&svc->allocator, ptr, size)
#define uthash_nonfatal_oom(element) ((element)->slot = LOCUS_NO_SERVER)

enum { CACHE_LINE = 64, SLOTS_MAX = 1 << 24 };

/* ---- lists of slots ---- */

static void list_push(struct locus_service *svc, struct server_list *list,
                      uint32_t slot)
{
    struct server *s = &svc->servers[slot];

    svc->identities[slot]->prev = LOCUS_NO_SERVER;
    s->next = list->head;
    if (list->head != LOCUS_NO_SERVER) {
        svc->identities[list->head]->prev = slot;
    }
    list->head = slot;
    list->count++;
}

/* The server's own links stay as they were. */
static void list_remove(struct locus_service *svc, struct server_list *list,
                        uint32_t slot)
{
    uint32_t next = svc->servers[slot].next, prev = svc->identities[slot]->prev;

    if (prev != LOCUS_NO_SERVER) {
        svc->servers[prev].next = next;
    } else {
        list->head = next;
    }
    if (next != LOCUS_NO_SERVER) {
        svc->identities[next]->prev = prev;
    }
    list->count--;
}

/* ---- slots ---- */

static int grow_slots(struct locus_service *svc)
{
    uint32_t capacity = svc->capacity == 0 ? 16 : 2 * svc->capacity;
    size_t block_bytes = capacity * sizeof(struct server) + CACHE_LINE;
    size_t old_bytes = svc->capacity * sizeof(struct server) + CACHE_LINE;
    size_t slot_size = svc->ops->slot_size;
    struct identity **identities;
    void *slot_state;
    char *block;

    if (svc->capacity >= SLOTS_MAX) {
        return LOCUS_ENOMEM;
    }
    block = alloc_zeroed(&svc->allocator, block_bytes);
    identities = alloc_zeroed(&svc->allocator, capacity * sizeof(*identities));
    slot_state =
        slot_size > 0 ? alloc_zeroed(&svc->allocator, capacity * slot_size) : NULL;
    if (block == NULL || identities == NULL || (slot_state == NULL && slot_size > 0) ||
        locus_select_resize(svc, capacity) != 0) {
        release(&svc->allocator, block, block_bytes);
        release(&svc->allocator, identities, capacity * sizeof(*identities));
        release(&svc->allocator, slot_state, capacity * slot_size);
        return LOCUS_ENOMEM;
    }
    struct server *servers =
        (struct server *)(void *)(block + (CACHE_LINE - (uintptr_t)block % CACHE_LINE));
    if (svc->slots > 0) {
        memcpy(servers, svc->servers, svc->slots * sizeof(*servers));
        memcpy(identities, svc->identities, svc->slots * sizeof(*identities));
    }
    if (svc->slots > 0 && slot_size > 0) {
        memcpy(slot_state, svc->slot_state, svc->slots * slot_size);
    }
    release(&svc->allocator, svc->servers_block, old_bytes);
    release(&svc->allocator, svc->identities, svc->capacity * sizeof(*identities));
    release(&svc->allocator, svc->slot_state, svc->capacity * slot_size);
    svc->slot_state = slot_state;
    svc->servers_block = block;
    svc->servers = servers;
    svc->identities = identities;
    svc->capacity = capacity;
    locus_select_reset(svc);
    return LOCUS_OK;
}

static int take_slot(struct locus_service *svc, uint32_t *out)
{
    if (svc->unused != LOCUS_NO_SERVER) {
        *out = svc->unused;
        svc->unused = svc->servers[*out].next;
    } else {
        if (svc->slots == svc->capacity) {
            int status = grow_slots(svc);
            if (status != LOCUS_OK) {
                return status;
            }
        }
        *out = svc->slots++;
    }
    memset(&svc->servers[*out], 0, sizeof(struct server));
    svc->servers[*out].load.server = *out;
    return LOCUS_OK;
}

static void give_slot(struct locus_service *svc, uint32_t slot)
{
    svc->identities[slot] = NULL;
    svc->servers[slot].state = SERVER_FREE;
    svc->servers[slot].next = svc->unused;
    svc->unused = slot;
}

/* ---- identities ---- */

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

static struct locus_address get_address(const struct identity *identity)
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

static struct identity *find_identity(const struct locus_service *svc,
                                      const struct locus_address *address)
{
    struct identity wanted, *found;

    set_key(&wanted, address);
    HASH_FIND(hh, svc->by_address, &wanted.key, sizeof(wanted.key), found);
    return found;
}

/* A slot and an identity for a new address. */
static int make_server(struct locus_service *svc,
                       const struct locus_server_config *config, uint32_t *out)
{
    struct identity *identity = alloc_zeroed(&svc->allocator, sizeof(*identity));

    if (identity == NULL || take_slot(svc, out) != LOCUS_OK) {
        release(&svc->allocator, identity, sizeof(*identity));
        return LOCUS_ENOMEM;
    }
    set_key(identity, &config->address);
    identity->slot = *out;
    HASH_ADD(hh, svc->by_address, key, sizeof(identity->key), identity);
    if (identity->slot == LOCUS_NO_SERVER) {
        give_slot(svc, *out);
        release(&svc->allocator, identity, sizeof(*identity));
        return LOCUS_ENOMEM;
    }
    svc->identities[*out] = identity;
    return LOCUS_OK;
}

static void forget_address(struct locus_service *svc, struct identity *identity)
{
    HASH_DELETE(hh, svc->by_address, identity);
}

/* Rules that purge know nobody in the trash by his address. */
static bool keeps_address(const struct locus_service *svc, bool in_trash)
{
    return !in_trash || !svc->rules.purge_removed;
}

void locus_server_abandon(struct locus_service *svc, uint32_t slot, bool in_trash)
{
    struct identity *identity = svc->identities[slot];

    if (keeps_address(svc, in_trash)) {
        forget_address(svc, identity);
    }
    release(&svc->allocator, identity, sizeof(*identity));
    give_slot(svc, slot);
}

static void free_server(struct locus_service *svc, uint32_t slot)
{
    list_remove(svc, &svc->trash, slot);
    locus_server_abandon(svc, slot, true);
}

void locus_servers_fini(struct locus_service *svc)
{
    HASH_CLEAR(hh, svc->by_address);
    for (uint32_t i = 0; i < svc->slots; i++) {
        release(&svc->allocator, svc->identities[i], sizeof(struct identity));
    }
    locus_select_fini(svc);
    release(&svc->allocator, svc->servers_block,
            svc->capacity * sizeof(struct server) + CACHE_LINE);
    release(&svc->allocator, svc->identities, svc->capacity * sizeof(*svc->identities));
}

/* ---- configuration ---- */

static int check_numbers(const struct locus_service *svc,
                         const struct locus_server_config *config)
{
    if (config->weight > LOCUS_WEIGHT_MAX || config->capacity > LOCUS_WEIGHT_MAX ||
        config->lower_threshold > config->upper_threshold) {
        return LOCUS_ERANGE;
    }
    if (config->upper_threshold > INT32_MAX &&
        svc->rules.threshold != LOCUS_THRESHOLD_CLASSIC) {
        return LOCUS_EINVAL;
    }
    return LOCUS_OK;
}

static void set_weight(struct locus_service *svc, uint32_t slot, uint32_t weight,
                       uint32_t capacity)
{
    svc->identities[slot]->capacity = capacity;
    svc->servers[slot].weight = weight;
    if (weight > svc->weight_max) {
        svc->weight_max = weight;
        locus_slowstart_fit(svc);
        locus_select_reset(svc);
    }
}

static void configure(struct locus_service *svc, uint32_t slot,
                      const struct locus_server_config *config)
{
    set_weight(svc, slot, config->weight, config->capacity);
    locus_slowstart_weighted(svc, slot, config->warm);
    locus_threshold_edited(svc, slot, config->upper_threshold, config->lower_threshold);
    locus_server_refresh(svc, slot);
}

static void notify(struct locus_service *svc, uint32_t slot, enum server_event event)
{
    if (svc->ops->server_event != NULL) {
        svc->ops->server_event(svc, slot, event);
    }
}

/* A server that is about to leave the trash must not be where a look through it goes on. */
static void leave_trash(struct locus_service *svc, uint32_t slot)
{
    if (svc->trash_cursor == slot) {
        svc->trash_cursor = svc->servers[slot].next;
    }
}

static void enter_service(struct locus_service *svc, uint32_t slot,
                          const struct locus_server_config *config)
{
    struct server *s = &svc->servers[slot];

    s->state = SERVER_IN_SERVICE;
    s->load.rank = svc->rules.tie_break == LOCUS_TIE_NEWEST
                       ? svc->next_rank
                       : UINT64_MAX - svc->next_rank;
    svc->next_rank++;
    list_push(svc, &svc->list, slot);
    if (!svc->indexed && svc->slots > SELECT_SCAN) {
        locus_select_reset(svc);
    }
    configure(svc, slot, config);
    notify(svc, slot, SERVER_ADDED);
}

int locus_server_add(struct locus_service *svc,
                     const struct locus_server_config *config, uint64_t now_ns,
                     uint32_t *out)
{
    struct identity *identity = find_identity(svc, &config->address);
    int status = check_numbers(svc, config);
    uint32_t slot;

    if (identity != NULL && svc->servers[identity->slot].state == SERVER_IN_SERVICE) {
        return LOCUS_EEXIST;
    }
    if (config->address.family < LOCUS_IPV4 || config->address.family > LOCUS_NAME) {
        return LOCUS_EINVAL;
    }
    if (status != LOCUS_OK) {
        return status;
    }
    if (identity != NULL) {
        slot = identity->slot;
        leave_trash(svc, slot);
        list_remove(svc, &svc->trash, slot);
    } else {
        status = make_server(svc, config, &slot);
        if (status != LOCUS_OK) {
            return status;
        }
        identity = svc->identities[slot];
    }
    clock_set(svc, now_ns);
    identity->tag = config->tag;
    identity->last_weight = config->weight;
    enter_service(svc, slot, config);
    *out = slot;
    return LOCUS_OK;
}

int locus_server_edit(struct locus_service *svc, uint32_t server,
                      const struct locus_server_config *config)
{
    int status = check_numbers(svc, config);

    if (!server_in_service(svc, server)) {
        return LOCUS_ENOENT;
    }
    if (status != LOCUS_OK) {
        return status;
    }
    if (config->weight != 0) {
        svc->identities[server]->last_weight = config->weight;
    }
    configure(svc, server, config);
    notify(svc, server, SERVER_UPDATED);
    return LOCUS_OK;
}

int locus_server_set_weight(struct locus_service *svc, uint32_t server, uint32_t weight)
{
    struct locus_server_config config = {.weight = weight};

    if (!server_in_service(svc, server)) {
        return LOCUS_ENOENT;
    }
    config.upper_threshold = svc->identities[server]->upper;
    config.lower_threshold = svc->identities[server]->lower;
    config.capacity = svc->identities[server]->capacity;
    return locus_server_edit(svc, server, &config);
}

int locus_server_remove(struct locus_service *svc, uint32_t server, uint64_t now_ns)
{
    if (!server_in_service(svc, server)) {
        return LOCUS_ENOENT;
    }
    clock_set(svc, now_ns);
    struct identity *identity = svc->identities[server];
    list_remove(svc, &svc->list, server);
    svc->servers[server].state = SERVER_IN_TRASH;
    locus_slowstart_removed(svc, server);
    locus_server_refresh(svc, server);
    notify(svc, server, SERVER_REMOVED);
    if (svc->trash.count == 0) {
        locus_timer_arm(svc, &svc->trash_timer, svc->rules.trash_ns);
    }
    identity->idle = false;
    list_push(svc, &svc->trash, server);
    if (svc->rules.purge_removed) {
        forget_address(svc, identity);
    }
    return LOCUS_OK;
}

/* ---- trash ---- */

/* Frees a server that nothing has referred to for long enough. */
static void look_at_trash(struct locus_service *svc, uint32_t slot)
{
    struct identity *identity = svc->identities[slot];
    const struct server *s = &svc->servers[slot];
    uint64_t idle_ticks = svc->rules.trash_idle_ns / svc->tick_ns;

    if (server_total(s) > 0 || s->refs > 0) {
        return;
    }
    if (!identity->idle) {
        identity->idle = true;
        identity->idle_since = svc->trash_now;
    } else if (svc->trash_now - identity->idle_since >= idle_ticks) {
        free_server(svc, slot);
    }
}

size_t locus_trash_run(struct locus_service *svc, size_t budget)
{
    size_t looked = 0;

    while (svc->trash_cursor != LOCUS_NO_SERVER && looked < budget) {
        uint32_t slot = svc->trash_cursor;
        svc->trash_cursor = svc->servers[slot].next;
        look_at_trash(svc, slot);
        looked++;
    }
    if (svc->trash_cursor == LOCUS_NO_SERVER) {
        svc->trash_running = false;
        if (svc->trash.count == 0) {
            svc->trash_timer.due = LOCUS_NEVER;
        }
    }
    return looked;
}

/* ---- servers of a snapshot ---- */

int locus_server_prepare(struct locus_service *svc,
                         const struct locus_server_config *config, bool in_trash,
                         uint32_t *out)
{
    bool named = keeps_address(svc, in_trash);

    if (check_numbers(svc, config) != LOCUS_OK) {
        return LOCUS_ERANGE;
    }
    if (named && find_identity(svc, &config->address) != NULL) {
        return LOCUS_EEXIST;
    }
    int status = make_server(svc, config, out);
    if (status == LOCUS_OK && !named) {
        forget_address(svc, svc->identities[*out]);
    }
    return status;
}

void locus_server_enter(struct locus_service *svc, uint32_t slot,
                        const struct locus_server_config *config,
                        const struct server_past *past)
{
    struct identity *identity = svc->identities[slot];

    identity->tag = config->tag;
    identity->last_weight = past->last_weight;
    if (!past->in_trash) {
        enter_service(svc, slot, config);
        return;
    }
    svc->servers[slot].state = SERVER_IN_TRASH;
    identity->idle = past->idle;
    identity->idle_since = past->idle_since;
    configure(svc, slot, config);
    locus_slowstart_removed(svc, slot);
    list_push(svc, &svc->trash, slot);
}

void locus_server_recall_weight(struct locus_service *svc, uint32_t slot,
                                uint32_t last_weight)
{
    if (svc->servers[slot].weight == 0) {
        svc->identities[slot]->last_weight = last_weight;
        notify(svc, slot, SERVER_UPDATED);
    }
}

void locus_server_set_counts(struct locus_service *svc, uint32_t slot, uint32_t active,
                             uint32_t inactive, bool overloaded)
{
    struct server *s = &svc->servers[slot];

    /* Out of the count of servers under half, which goes by the counters as they were. */
    svc->under_half -= s->spill_load < s->half;
    s->half = 0;
    s->conns[LOCUS_ACTIVE] = active;
    s->conns[LOCUS_INACTIVE] = inactive;
    s->spill_load = active + (svc->rules.spill_counts_total ? inactive : 0);
    s->overloaded = overloaded;
    locus_server_refresh(svc, slot);
}

/* ---- introspection ---- */

uint32_t locus_server_find(const struct locus_service *svc,
                           const struct locus_address *address)
{
    const struct identity *identity = find_identity(svc, address);

    return identity != NULL && server_in_service(svc, identity->slot) ? identity->slot
                                                                      : LOCUS_NO_SERVER;
}

uint32_t locus_server_next(const struct locus_service *svc, uint32_t server)
{
    if (server == LOCUS_NO_SERVER) {
        return svc->list.head;
    }
    return server_in_service(svc, server) ? svc->servers[server].next : LOCUS_NO_SERVER;
}

uint32_t locus_trash_next(const struct locus_service *svc, uint32_t server)
{
    if (server == LOCUS_NO_SERVER) {
        return svc->trash.head;
    }
    return server_known(svc, server) && !server_in_service(svc, server)
               ? svc->servers[server].next
               : LOCUS_NO_SERVER;
}

int locus_server_get(const struct locus_service *svc, uint32_t server,
                     struct locus_server_info *out)
{
    if (!server_known(svc, server)) {
        return LOCUS_ENOENT;
    }
    const struct server *s = &svc->servers[server];
    const struct identity *identity = svc->identities[server];
    *out = (struct locus_server_info){
        .address = get_address(identity),
        .tag = identity->tag,
        .weight = s->weight,
        .last_weight = identity->last_weight,
        .upper_threshold = identity->upper,
        .lower_threshold = identity->lower,
        .capacity = identity->capacity,
        .weight_256ths = identity->ramp.share,
        .active = s->conns[LOCUS_ACTIVE],
        .inactive = s->conns[LOCUS_INACTIVE],
        .overloaded = s->overloaded,
        .in_service = s->state == SERVER_IN_SERVICE,
        .destinations = s->refs,
    };
    return LOCUS_OK;
}
