/* SPDX-License-Identifier: MIT */
/*
 * One policy's run over a trace: a virtual clock, arrivals and departures from outside,
 * events and periodic work at their times.
 *
 * A TCP connection is active from its start to its FIN at start + duration, then inactive
 * for tcpfin_ns, then gone. A UDP flow is inactive from its start to udp_ns after its last
 * packet. A policy with several directors has as many services, among which arrivals are
 * shared out; each counts only what it has picked itself. At equal times departures come first, then periodic work, then events, then
 * arrivals.
 *
 *     engine_create(&config, &engine)
 *     engine_run(engine, batch)     ... as often as there are more
 *     engine_finish(engine)         completes the figures
 */
#ifndef LOCUS_SIM_ENGINE_H
#define LOCUS_SIM_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../policy/policy.h"
#include "../servers/servers.h"
#include "arrival.h"
#include "cache.h"
#include "figures.h"
#include "plan.h"

struct engine;

/* Called for every arrival; server is LOCUS_NO_SERVER (the number, not the handle) when it was
 * refused. */
typedef void engine_decision_fn(void *arg, const struct arrival *arrival,
                                uint32_t server, const struct locus_pick *pick,
                                bool cache_hit);
/* Called at every multiple of interval_ns, with all figures brought up to it, and at the end. */
typedef void engine_interval_fn(void *arg, const struct engine *engine,
                                uint64_t now_ns);

/* What decides which of several directors has a connection. */
enum director_by { BY_CONNECTION, BY_CLIENT, BY_DESTINATION };

struct engine_config {
    const struct policy *policy;     /* borrowed, as all pointers here, until destroy */
    const struct locus_rules *rules; /* NULL: "kernel" */
    enum locus_family family;
    int64_t expiration_ns; /* 0: the default of 24 h */
    uint32_t max_entries;  /* 0: as the rules say */
    uint64_t seed;
    const struct server_list *servers;
    uint64_t tcpfin_ns;
    enum director_by director_by;
    bool stagger;         /* directors list the servers from different ones on */
    bool herd;            /* count it */
    const char *pool_uri; /* of leastalloc; NULL: mem: */
    char *error; /* gets the words of a failure, POLICY_ERROR_SIZE bytes; or NULL */
    struct cache_config cache; /* capacity 0: none */
    bool phases;          /* every event's time begins a new phase of the figures */
    uint64_t interval_ns; /* 0: no intervals */
    engine_interval_fn *interval;
    void *interval_arg;
    engine_decision_fn *decision; /* or NULL */
    void *decision_arg;
};

enum { TCPFIN_DEFAULT_S = 120, UDP_DEFAULT_S = 300 };

/* Statuses of the library. ENOENT, EINVAL, ERANGE, ENOTSUP: the configuration. */
int engine_create(const struct engine_config *config, struct engine **out);
void engine_destroy(struct engine *engine);
int engine_run(struct engine *engine, const struct arrival_batch *batch);
int engine_finish(struct engine *engine);

/* Of one director. Between create and run: the map of a snapshot, as of the beginning of the trace; of servers
 * that are in service then. What is open and cached is not part of it. */
int engine_load(struct engine *engine, locus_read_fn *read, void *arg,
                struct locus_snapshot_report *report);
/* After finish. */
int engine_save(struct engine *engine, locus_write_fn *write, void *arg);

const struct recorder *engine_recorder(const struct engine *engine);

#endif
