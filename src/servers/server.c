/* SPDX-License-Identifier: MIT */
/*
 * Servers come, are edited, go and are looked at. The only place that calls a scheduler's
 * server_event.
 */
#include "server.h"

#include "../load/derived.h"
#include "../load/select.h"
#include "../load/thresholds.h"
#include "../state/clock.h"
#include "identities.h"
#include "slots.h"
#include "slowstart.h"
#include "trash.h"

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

static void enter_service(struct locus_service *svc, uint32_t slot,
                          const struct locus_server_config *config)
{
    struct server *s = &svc->servers[slot];

    s->state = SERVER_IN_SERVICE;
    s->load.rank = svc->rules.tie_break == LOCUS_TIE_NEWEST
                       ? svc->next_rank
                       : UINT64_MAX - svc->next_rank;
    svc->next_rank++;
    locus_list_push(svc, &svc->list, slot);
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
    struct identity *identity = locus_identity_find(svc, &config->address);
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
        locus_trash_leave(svc, slot);
    } else {
        status = locus_identity_make(svc, &config->address, &slot);
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
    locus_list_remove(svc, &svc->list, server);
    svc->servers[server].state = SERVER_IN_TRASH;
    locus_slowstart_removed(svc, server);
    locus_server_refresh(svc, server);
    notify(svc, server, SERVER_REMOVED);
    locus_trash_enter(svc, server);
    return LOCUS_OK;
}

/* ---- servers of a snapshot ---- */

int locus_server_prepare(struct locus_service *svc,
                         const struct locus_server_config *config, bool in_trash,
                         uint32_t *out)
{
    bool named = locus_identity_named(svc, in_trash);

    if (check_numbers(svc, config) != LOCUS_OK) {
        return LOCUS_ERANGE;
    }
    if (named && locus_identity_find(svc, &config->address) != NULL) {
        return LOCUS_EEXIST;
    }
    int status = locus_identity_make(svc, &config->address, out);
    if (status == LOCUS_OK && !named) {
        locus_identity_unname(svc, svc->identities[*out]);
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
    locus_list_push(svc, &svc->trash, slot);
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
    const struct identity *identity = locus_identity_find(svc, address);

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
        .address = locus_identity_address(identity),
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
