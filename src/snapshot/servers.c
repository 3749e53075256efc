/* SPDX-License-Identifier: MIT */
#include "servers.h"

#include "format.h"

static int get_server(struct loading *load, struct saved_server *s)
{
    struct block_reader *in = &load->in;
    struct locus_server_config *config = &s->config;

    config->address.family = (enum locus_family)locus_blocks_get(in, 1);
    config->address.port = (uint16_t)locus_blocks_get(in, 2);
    config->address.key = locus_snapshot_get_key(&load->in, config->address.family);
    config->tag = locus_blocks_get(in, 8);
    config->weight = loading_get32(load);
    s->past.last_weight = loading_get32(load);
    config->upper_threshold = loading_get32(load);
    config->lower_threshold = loading_get32(load);
    config->capacity = loading_get32(load);
    s->active = loading_get32(load);
    s->inactive = loading_get32(load);
    uint64_t flags = locus_blocks_get(in, 1);
    s->overloaded = (flags & SERVER_OVERLOADED) != 0 && config->upper_threshold != 0;
    s->past.idle = (flags & SERVER_IDLE) != 0;
    s->last = (flags & SERVER_LAST) != 0 && !s->past.in_trash;
    s->past.idle_since = load->tick - loading_ticks(load, locus_blocks_get(in, 8),
                                                    load->options->away_ns);
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

int locus_loading_servers(struct loading *load)
{
    int status = get_servers(load);

    status = status != LOCUS_OK ? status : match_servers(load, 0, load->trash_from);
    status = status != LOCUS_OK
                 ? status
                 : match_servers(load, load->trash_from, load->server_count);
    return status != LOCUS_OK ? status : count_servers(load);
}
