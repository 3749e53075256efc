/* SPDX-License-Identifier: MIT */
/*
 * What a scheduler is. A new one is a file in sched/ and a line in sched/schedulers.def, its
 * rule in tests/model, and a golden script.
 */
#ifndef LOCUS_SCHED_H
#define LOCUS_SCHED_H

#include <locus/locus.h>

/* cost = base + per_active * active + per_inactive * inactive; load = cost / weight, or cost
 * alone where weights only say yes or no. */
struct load_rule {
    uint32_t base, per_active, per_inactive;
    bool weighted;
};

enum server_event { SERVER_ADDED, SERVER_UPDATED, SERVER_REMOVED };

struct turn {
    uint32_t server;
    int64_t number;
};

struct looked_up;

struct sched_ops {
    const char *name;
    const char *about; /* one line */
    size_t state_size; /* zeroed bytes at svc->state */
    size_t slot_size;  /* zeroed bytes per slot at svc->slot_state */
    /* The load rule that select.c keeps up to date; NULL: overhead over weight. */
    struct load_rule (*load)(const struct locus_rules *rules);
    /* Starts with the servers there are. Takes no memory, cannot fail. */
    void (*init)(struct locus_service *svc);
    void (*fini)(struct locus_service *svc);
    /* The list has changed: a server was added at its head, edited, or is off the list (its
     * own links still say where it stood). Forget every pointer to a removed one. */
    void (*server_event)(struct locus_service *svc, uint32_t server,
                         enum server_event event);
    /* A server's load.divisor is no longer what it was: by an event (told afterwards) or by a
     * threshold. */
    void (*divisor_changed)(struct locus_service *svc, uint32_t server, uint32_t was);
    /* The server for a request, or LOCUS_NO_SERVER; pick->why and pick->trimmed as it
     * sees fit. Touches its own state only, never counters of servers. */
    uint32_t (*schedule)(struct locus_service *svc, const struct locus_request *request,
                         struct locus_pick *pick);
    /* Instead, of a scheduler with a struct locality: the same for a destination that is new
     * (dest is NULL), or whose server is not one that just serves it. */
    uint32_t (*place)(struct locus_service *svc, const struct looked_up *what,
                      struct locus_pick *pick);
    void (*describe)(const struct locus_service *svc, locus_value_fn *visit, void *arg);
    /* Whose turn it is, where there are turns: for snapshots. The server is one in service or
     * LOCUS_NO_SERVER; any number may come back. */
    struct turn (*turn)(const struct locus_service *svc);
    void (*set_turn)(struct locus_service *svc, struct turn turn);
};

#endif
