/* SPDX-License-Identifier: MIT */
/*
 * The servers: server, weight, edit, del. A script calls a server by an ID, which stays
 * with its address when the server is deleted.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "../base/errors.h"
#include "state.h"

enum {
    SERVER_ID_MAX = 16777215,
    DEFAULT_SERVER_BASE = 0x0a000000, /* 10.0.0.0 plus the ID */
    DEFAULT_SERVER_PORT = 80,
};

static int server_refusal(const struct drive *drive, uint32_t id, int status)
{
    char text[16];

    snprintf(text, sizeof(text), "%" PRIu32, id);
    return drive_refusal(drive, text, status);
}

struct server_id *drive_find_id(const struct drive *drive, uint32_t id)
{
    struct server_id *found;

    HASH_FIND(hh, drive->ids, &id, sizeof(id), found);
    return found;
}

static bool read_id(const struct drive *drive, uint32_t *out)
{
    uint64_t id;

    if (!script_number(&drive->script, 1, "ID", SERVER_ID_MAX, &id)) {
        return false;
    }
    *out = (uint32_t)id;
    return true;
}

/* A weight out of range is passed on as UINT32_MAX, so that the service refuses it. */
static bool read_weight(const struct drive *drive, struct locus_server_config *config)
{
    int64_t weight;

    if (!script_integer(&drive->script, 2, "W", &weight)) {
        return false;
    }
    bool fits = weight >= 0 && weight <= LOCUS_WEIGHT_MAX;
    config->weight = fits ? (uint32_t)weight : UINT32_MAX;
    return true;
}

static bool read_thresholds(const struct drive *drive,
                            struct locus_server_config *config)
{
    uint64_t upper, lower;

    if (!script_number(&drive->script, 3, "U", UINT32_MAX, &upper) ||
        !script_number(&drive->script, 4, "L", UINT32_MAX, &lower)) {
        return false;
    }
    config->upper_threshold = (uint32_t)upper;
    config->lower_threshold = (uint32_t)lower;
    return true;
}

/* server's words behind the ID: W, W U L, W ADDR:PORT or W U L ADDR:PORT. */
static bool read_server(const struct drive *drive, struct locus_server_config *config)
{
    const size_t count = drive->script.count;

    return read_weight(drive, config) &&
           (count < 5 || read_thresholds(drive, config)) &&
           (count % 2 != 0 ||
            script_endpoint(&drive->script, count - 1, &config->address));
}

/* Keeps what the script calls a server that the core has just taken. */
static int keep_id(struct drive *drive, uint32_t id,
                   const struct locus_address *address, uint32_t handle)
{
    struct server_id *entry = drive_find_id(drive, id);
    bool in_table = true;

    if (entry == NULL) {
        entry = calloc(1, sizeof(*entry));
        if (entry == NULL) {
            return drive_failure(drive, LOCUS_ENOMEM);
        }
        entry->id = id;
        HASH_ADD(hh, drive->ids, id, sizeof(entry->id), entry);
        if (!in_table) {
            free(entry);
            return drive_failure(drive, LOCUS_ENOMEM);
        }
    }
    entry->handle = handle;
    entry->address = *address;
    entry->forward = drive->forward;
    return EXIT_OK;
}

int event_server(struct drive *drive)
{
    struct locus_server_config config = {0};
    const struct server_id *known;
    uint32_t id, handle;

    if (!read_id(drive, &id)) {
        return EXIT_USAGE;
    }
    known = drive_find_id(drive, id);
    if (known != NULL) {
        config.address = known->address;
    } else {
        config.address.family = LOCUS_IPV4;
        config.address.key.ipv4 = DEFAULT_SERVER_BASE + id;
        config.address.port = DEFAULT_SERVER_PORT;
    }
    config.tag = id;
    if (!read_server(drive, &config)) {
        return EXIT_USAGE;
    }
    if (known != NULL && known->handle != LOCUS_NO_SERVER) {
        return server_refusal(drive, id, LOCUS_EEXIST);
    }
    int status = locus_server_add(drive->service, &config,
                                  jiffy_clock_core(&drive->clock), &handle);
    if (status != LOCUS_OK) {
        return server_refusal(drive, id, status);
    }
    return keep_id(drive, id, &config.address, handle);
}

/* weight and edit. */
static int change_server(struct drive *drive, bool with_thresholds)
{
    struct locus_server_config config = {0};
    struct server_id *entry;
    uint32_t id;
    int status;

    if (!read_id(drive, &id) || !read_weight(drive, &config) ||
        (with_thresholds && !read_thresholds(drive, &config))) {
        return EXIT_USAGE;
    }
    entry = drive_find_id(drive, id);
    if (entry == NULL || entry->handle == LOCUS_NO_SERVER) {
        return server_refusal(drive, id, LOCUS_ENOENT);
    }
    if (with_thresholds) {
        status = locus_server_edit(drive->service, entry->handle, &config);
    } else {
        status = locus_server_set_weight(drive->service, entry->handle, config.weight);
    }
    if (status == LOCUS_OK) {
        entry->forward = drive->forward;
    }
    return server_refusal(drive, id, status);
}

int event_weight(struct drive *drive)
{
    return change_server(drive, false);
}

int event_edit(struct drive *drive)
{
    return change_server(drive, true);
}

int event_del(struct drive *drive)
{
    struct server_id *entry;
    uint32_t id;

    if (!read_id(drive, &id)) {
        return EXIT_USAGE;
    }
    entry = drive_find_id(drive, id);
    if (entry == NULL || entry->handle == LOCUS_NO_SERVER) {
        return server_refusal(drive, id, LOCUS_ENOENT);
    }
    int status = locus_server_remove(drive->service, entry->handle,
                                     jiffy_clock_core(&drive->clock));
    if (status == LOCUS_OK) {
        entry->handle = LOCUS_NO_SERVER;
    }
    return server_refusal(drive, id, status);
}
