/* SPDX-License-Identifier: MIT */
/*
 * The least loaded server, exactly: smallest cost / divisor of the servers that may be
 * picked, the highest rank among equals.
 */
#ifndef LOCUS_SELECT_H
#define LOCUS_SELECT_H

#include "../state/core.h"

/* The least loaded server, LOCUS_NO_SERVER: nobody may be picked. */
uint32_t locus_least_loaded(struct locus_service *svc);

/* The server in service that a connection harms least, even if none may take it;
 * LOCUS_NO_SERVER: there is none. */
uint32_t locus_any_server(const struct locus_service *svc);

/*
 * The index, for more than SELECT_SCAN servers: a tree of the best of every SELECT_FAN
 * servers, the best of every SELECT_FAN of those, and so on, recomputed only where something
 * has changed and only when somebody asks. A change of a server queues its leaf, once.
 */
enum { SELECT_SCAN = 32, SELECT_FAN = 8, SELECT_LEVELS = 8 };

struct load_level {
    struct load *nodes; /* divisor 0: nobody below may be picked */
    uint32_t *queue;    /* nodes to recompute, each at most once */
    bool *queued;
    uint32_t queue_length;
};

struct load_index {
    struct load_level levels[SELECT_LEVELS];
    void *block; /* what all of them lie in */
    size_t block_bytes;
};

static inline void load_level_queue(struct load_level *level, uint32_t node)
{
    if (!level->queued[node]) {
        level->queued[node] = true;
        level->queue[level->queue_length++] = node;
    }
}

/* A server's cost, divisor or rank has changed. */
static inline void select_changed(struct locus_service *svc, uint32_t server)
{
    if (svc->indexed) {
        load_level_queue(&svc->index->levels[0], server / SELECT_FAN);
    }
}

/* Makes the index fit for that many slots. LOCUS_ENOMEM: nothing changed. */
int locus_select_resize(struct locus_service *svc, uint32_t capacity);
void locus_select_fini(struct locus_service *svc);
/* Everything may have changed: the number of servers, the load rule. */
void locus_select_reset(struct locus_service *svc);

#endif
