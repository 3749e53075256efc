/* SPDX-License-Identifier: MIT */
/*
 * A service of the library and a reference model that hear the same events. After each
 * event what it touched is compared; pair_check() compares everything. The first
 * difference is kept as text, and the pair is then of no further use.
 */
#ifndef LOCUS_TESTS_PAIR_H
#define LOCUS_TESTS_PAIR_H

#include <stdio.h>

#include <locus/locus.h>

#include "../model/model.h"
#include "../support/testalloc.h"

enum op_kind {
    OP_CONNECT, /* a destination, b client, c its port; small: see OP_CONNECT_* */
    OP_BATCH,   /* a first destination, b client, c how many; small: 1 active */
    OP_BIND,    /* a server slot; small: 1 active */
    OP_MOVE,    /* a connection; small: 1 to active */
    OP_CLOSE,   /* a connection */
    OP_ADD,     /* a address, b weight, c upper, n lower threshold; small: capacity;
                   the top bit of a: warm */
    OP_EDIT,    /* a place in the list, b c n small as above */
    OP_WEIGHT,  /* a place in the list, b weight */
    OP_REMOVE,  /* a place in the list; small: 1 what it leaves is purged at once */
    OP_COUNTS,  /* a server slot, b active, c inactive */
    OP_TIME,    /* n ticks pass, timers fire; c: budget of a slice, 0: no bound;
                   small: 2 up to the next timer exactly, whatever n is */
    OP_LATE,    /* n ticks pass without a look at the timers, then one tick */
    OP_BACK,    /* as OP_CONNECT, with a clock n ticks behind */
    OP_SCHED,   /* a scheduler, b flags */
    OP_EXPIRE,  /* n ticks */
    OP_DICE,    /* a seed */
    OP_WHEEL,   /* small: 1 timers are rounded as by the kernel's wheel from now on */
    OP_STRAY,   /* calls with a server that there is not */
    OP_BOUND,   /* n percent of chbl's bound; those out of range are refused */
    OP_KINDS
};

enum { OP_CONNECT_ACTIVE = 1, OP_CONNECT_UNBOUND = 2 };

/* Places are taken modulo what there is, so that any number is an event. */
struct op {
    enum op_kind kind;
    uint32_t small;
    uint32_t a, b, c;
    int64_t n;
};

struct pair_config {
    struct locus_service_config service; /* rules must not be NULL; allocator is ours */
    uint32_t addresses;                  /* servers that may be added */
    uint32_t destinations;               /* that may be asked for */
    bool scattered;                      /* destinations all over the address space */
};

struct pair_conn {
    uint32_t server; /* slot of the model */
    bool active;
};

struct pair {
    struct pair_config config;
    struct locus_rules rules; /* config.service.rules */
    struct testalloc memory;
    struct locus_allocator hooks;
    struct locus_service *svc;
    struct model *m;
    uint64_t now_ns;
    uint32_t *handles; /* by slot of the model */
    size_t handles_room;
    struct pair_conn *conns;
    size_t conn_count, conn_room;
    bool purging; /* a removed server may be in sets that nobody has looked up since */
    bool failed;
    char error[512];
};

/* Both empty, with the scheduler in force. NULL: the library refused the configuration. */
struct pair *pair_create(const struct pair_config *config);
/* Destroys both; false (with p->error printed) if the library kept memory. */
bool pair_destroy(struct pair *p);

/* The model's words for the library's rules. */
struct model_rules pair_rules(const struct locus_rules *rules, uint64_t tick_ns);

union locus_key pair_destination(const struct pair *p, uint32_t index);
struct locus_address pair_address(const struct pair *p, uint32_t index);

/* False once the two have differed. */
bool pair_apply(struct pair *p, const struct op *op);
bool pair_check(struct pair *p);
/*
 * The director restarts: the library's service is saved and loaded into another one, which is
 * configured alike and has its servers already, or none. The model does not notice, but
 * that counters of picks begin at 0.
 */
bool pair_restart(struct pair *p, bool with_servers);

void op_print(FILE *out, const struct op *op);

#endif
