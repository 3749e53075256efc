/* SPDX-License-Identifier: MIT */
/*
 * leastalloc: the shared allocation pool as a balancer. Whoever was picked least often is
 * next; what became of the connections does not count. A server that comes back starts at
 * the count of the least picked one, as a member that is restored does.
 *
 * What changes between two picks reaches the pool at the second one: a server that was full
 * for a moment, when nobody asked, has not been away.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include <locus/pool.h>

#include "policy.h"

/* Picks of one call where nothing changes in between: one by one they would be the same. */
enum { AHEAD_MAX = 256 };

/* What a run that was killed leaves in Redis goes by itself after so long. */
#define LIFETIME_NS (UINT64_C(86400) * 1000000000)

struct place {
    bool wanted; /* as offered last */
    bool in;     /* the pool has it live */
    bool known;  /* the pool has its count */
    bool queued; /* among those whose offer changed */
};

struct leastalloc {
    struct policy_setup setup;
    struct locus_pool *pool;
    char name[64];        /* of the pool, no other run's */
    size_t in;            /* members that the pool has live */
    bool left;            /* there may be something of the pool to remove */
    struct place *places; /* by server */
    uint32_t *queue;      /* servers whose offer changed since the last pick */
    uint32_t queue_length;
    size_t next, ahead; /* of picks: to be handed out, and there */
    char picks[AHEAD_MAX][LOCUS_POOL_MEMBER_SIZE];
};

/* Puts the words of a failure where the caller wants them, passes the status on. */
static int failed(struct leastalloc *self, int status)
{
    char words[256] = "";

    locus_pool_error(self->pool, words, sizeof(words));
    snprintf(self->setup.error, POLICY_ERROR_SIZE, "%s%s%s%s", locus_strerror(status),
             words[0] != '\0' ? " (" : "", words, words[0] != '\0' ? ")" : "");
    return status;
}

/* Among equals the pool takes the first by name, the schedulers the server that was added
 * last: so names count down. */
static void member_name(const struct leastalloc *self, uint32_t server,
                        char out[LOCUS_POOL_MEMBER_SIZE])
{
    snprintf(out, LOCUS_POOL_MEMBER_SIZE, "%05u %s", SERVERS_MAX - server,
             self->setup.servers->items[server].name);
}

/* LOCUS_EFORMAT: it is none of those that are in. */
static int member_server(struct leastalloc *self, const char *member, uint32_t *server)
{
    unsigned long number = SERVERS_MAX - strtoul(member, NULL, 10);

    if (number >= self->setup.servers->count || !self->places[number].in) {
        snprintf(self->setup.error, POLICY_ERROR_SIZE,
                 "somebody else changed the pool '%s': it gave '%s'", self->name,
                 member);
        return LOCUS_EFORMAT;
    }
    *server = (uint32_t)number;
    return LOCUS_OK;
}

/* ---- beginning and end ----------------------------------------------------------- */

static int remove_pool(struct leastalloc *self)
{
    int status = locus_pool_clear(self->pool);

    self->left = status != LOCUS_OK;
    return status;
}

static void leastalloc_destroy(void *state)
{
    struct leastalloc *self = state;

    if (self == NULL) {
        return;
    }
    if (self->left && remove_pool(self) != LOCUS_OK) {
        fprintf(stderr,
                "locus: leastalloc: the pool '%s' may be left on the server: remove it "
                "with 'locus pool --pool %s clear'\n",
                self->name, self->name);
    }
    locus_pool_close(self->pool);
    free(self->places);
    free(self->queue);
    free(self);
}

static int open_pool(struct leastalloc *self)
{
    const struct locus_pool_config config = {.lifetime_ns = LIFETIME_NS};
    const char *uri = self->setup.pool_uri;
    uint64_t random = 0;

    if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random)) {
        return LOCUS_EIO;
    }
    snprintf(self->name, sizeof(self->name), "locus-replay-%ld-%016" PRIx64,
             (long)getpid(), random);
    int status = locus_pool_open(uri != NULL ? uri : "mem:", self->name, &config,
                                 &self->pool, self->setup.error, POLICY_ERROR_SIZE);
    if (status != LOCUS_OK) {
        return status;
    }
    /* Nothing is there to clear; but a server that is away shows now, not in mid-run. */
    status = locus_pool_clear(self->pool);
    return status == LOCUS_OK ? LOCUS_OK : failed(self, status);
}

static int leastalloc_make(const struct policy_setup *setup, void **state)
{
    struct leastalloc *self = calloc(1, sizeof(*self));
    size_t count = setup->servers->count;

    *state = NULL;
    if (self == NULL) {
        return LOCUS_ENOMEM;
    }
    self->setup = *setup;
    self->places = calloc(count, sizeof(*self->places));
    self->queue = calloc(count, sizeof(*self->queue));
    int status =
        self->places != NULL && self->queue != NULL ? open_pool(self) : LOCUS_ENOMEM;
    if (status != LOCUS_OK) {
        leastalloc_destroy(self);
        return status;
    }
    *state = self;
    return LOCUS_OK;
}

static int leastalloc_finish(void *state)
{
    struct leastalloc *self = state;
    int status = remove_pool(self);

    return status == LOCUS_OK ? LOCUS_OK : failed(self, status);
}

/* ---- picks ----------------------------------------------------------------------- */

static void leastalloc_offer(void *state, uint32_t server, bool available)
{
    struct leastalloc *self = state;
    struct place *place = &self->places[server];

    place->wanted = available;
    if (!place->queued && place->wanted != place->in) {
        place->queued = true;
        self->queue[self->queue_length++] = server;
    }
}

static int bring(struct leastalloc *self, uint32_t server)
{
    struct place *place = &self->places[server];
    char name[LOCUS_POOL_MEMBER_SIZE];
    const char *const names = name;
    int status;

    place->queued = false;
    if (place->wanted == place->in) {
        return LOCUS_OK;
    }
    member_name(self, server, name);
    self->left = true;
    if (!place->wanted) {
        status = locus_pool_remove(self->pool, name, false);
    } else if (place->known) {
        status = locus_pool_restore(self->pool, name, false);
    } else {
        status = locus_pool_add(self->pool, &names, 1, LOCUS_POOL_START_MIN, 0, NULL);
    }
    if (status != LOCUS_OK) {
        return failed(self, status);
    }
    place->in = place->wanted;
    if (place->in) {
        self->in++;
    } else {
        self->in--;
    }
    place->known = true;
    return LOCUS_OK;
}

/* A failure is the end of the run: what is still in the queue is not looked at again. */
static int pick_ahead(struct leastalloc *self)
{
    int status = LOCUS_OK;

    for (uint32_t i = 0; status == LOCUS_OK && i < self->queue_length; i++) {
        status = bring(self, self->queue[i]);
    }
    self->queue_length = 0;
    self->next = 0;
    self->ahead = 0;
    if (status != LOCUS_OK) {
        return status;
    }
    status = locus_pool_pick_many(self->pool, self->setup.steady ? AHEAD_MAX : 1,
                                  self->picks, &self->ahead);
    if (status == LOCUS_ENOSERVER && self->in > 0) {
        snprintf(self->setup.error, POLICY_ERROR_SIZE,
                 "somebody else emptied the pool '%s'", self->name);
        return LOCUS_EFORMAT;
    }
    return status == LOCUS_OK || status == LOCUS_ENOSERVER ? status
                                                           : failed(self, status);
}

static int leastalloc_pick(void *state, uint32_t *server)
{
    struct leastalloc *self = state;
    int status = self->next == self->ahead ? pick_ahead(self) : LOCUS_OK;

    return status == LOCUS_OK ? member_server(self, self->picks[self->next++], server)
                              : status;
}

const struct policy_ops leastalloc_ops = {
    .name = "leastalloc",
    .about =
        "the server that was picked least often: the allocation pool of locus pool",
    .make = leastalloc_make,
    .offer = leastalloc_offer,
    .pick = leastalloc_pick,
    .finish = leastalloc_finish,
    .destroy = leastalloc_destroy,
};
