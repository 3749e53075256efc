/* SPDX-License-Identifier: MIT */
/*
 * The servers of a replay, each with a number that it keeps for the whole run, whether it is
 * in service or not, and what happens to them on the way.
 */
#ifndef LOCUS_SIM_SERVERS_H
#define LOCUS_SIM_SERVERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <locus/locus.h>

enum { SERVERS_MAX = 65535, SERVER_NAME_SIZE = 80 };

struct server_spec {
    struct locus_address address; /* a name that is no address: LOCUS_NAME */
    char name[SERVER_NAME_SIZE];  /* for reports */
    uint32_t weight;
    uint32_t capacity;         /* of lblc's spill test; 0: the weight */
    uint32_t upper, lower;     /* thresholds; 0: none */
    uint32_t active, inactive; /* connections when the replay begins */
    char forward;              /* g, m or i, as the option of ipvsadm; 0: not known */
    bool weighted;             /* somebody gave the weight; else the trace decides */
    bool later;                /* not in service when the replay begins */
};

enum server_event_kind {
    EVENT_WEIGHT,     /* weight */
    EVENT_THRESHOLDS, /* upper, lower */
    EVENT_ADD,        /* weight, upper, lower: comes into service, cold */
    EVENT_REMOVE,     /* goes out of service */
    EVENT_FAIL,       /* the same, by accident */
    EVENT_RESTORE,    /* comes back with what it had, cold */
    EVENT_BREAK,      /* answers at once, with an error, and passes its checks */
    EVENT_MEND,       /* no longer */
    EVENT_SCHEDULER,  /* scheduler, flags, load_bound_percent */
    EVENT_GUARD,      /* floor, percent: from now on nothing is taken below it */
};

struct server_event {
    uint64_t at_ns; /* since the first record */
    enum server_event_kind kind;
    uint32_t server;
    uint32_t weight, upper, lower;
    uint32_t floor; /* servers in service with a weight; percent: of all there were */
    bool percent;
    char scheduler[24];
    uint32_t flags;
    uint32_t load_bound_percent; /* 0: as it is */
    size_t order;                /* in which they were added */
};

enum pool_kind { POOL_LIST, POOL_IPVSADM, POOL_KEEPALIVED };

struct server_list {
    enum pool_kind kind;       /* where the servers came from */
    char service[128];         /* "tcp 10.0.0.1:80", "fwmark 1"; empty for lists */
    char scheduler[24];        /* its scheduler, where it is known */
    struct server_spec *items; /* in the order in which they are added */
    size_t count;
    uint32_t *slots;   /* by address: 1 + number of a server; 0: free */
    size_t slot_count; /* a power of two, or 0 */
    size_t indexed;    /* servers in slots; fewer than count: no memory for it */
    struct server_event *events; /* by time */
    size_t event_count;
};

void servers_free(struct server_list *list);
/* Reads "192.0.2.1:80", "[2001:db8::1]:80" or a host name with or without ":port"; false
 * when it can be neither. */
bool server_address_parse(const char *text, size_t length, struct locus_address *out);
/* What reports call it: the address with its port, or the host as it was written. */
void server_name(const struct locus_address *address, const char *written,
                 char name[SERVER_NAME_SIZE]);
/* The number of the server of that address, or -1. */
int64_t servers_find(const struct server_list *list,
                     const struct locus_address *address);
/* Whether the service is an address, so that every packet has the same destination; one of
 * fwmark may have many, and of a list nobody knows. */
bool servers_have_one_destination(const struct server_list *list);
/* Whether the scheduler of that name looks at the destination: dh, lblc, lblcr, chbl. */
bool policy_goes_by_destination(const char *scheduler);
/* What lblc and lblcr compare its connections with. */
static inline uint32_t server_capacity(const struct server_spec *spec)
{
    return spec->capacity != 0 ? spec->capacity : spec->weight;
}
/* LOCUS_EFULL: SERVERS_MAX are there. */
int servers_add(struct server_list *list, const struct server_spec *spec);
/* Servers behind it move up. Events are not looked at, here and by the next two. */
void servers_drop(struct server_list *list, size_t number);
void servers_clear(struct server_list *list);
/* The last one becomes the first. */
void servers_reverse(struct server_list *list);
int servers_add_event(struct server_list *list, const struct server_event *event);
/* Sorts events by time, those of one time as they were added. */
void servers_sort_events(struct server_list *list);

/*
 * --servers: "4" (10.0.0.1:80 to 10.0.0.4:80, weights from the trace) or
 * "10.0.0.1:80*40,10.0.0.2:80*1@40/200/150" (weight, capacity behind '@', upper and lower
 * threshold). An exit_code, after a line on stderr.
 */
int servers_parse(const char *command, const char *text, struct server_list *list);

#endif
