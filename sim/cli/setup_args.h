/* SPDX-License-Identifier: MIT */
/*
 * The options that say what is simulated, the same for replay, lint and advise: which servers,
 * under which rules, which connections. How the trace is read is in read_args.h.
 */
#ifndef LOCUS_SIM_SETUP_ARGS_H
#define LOCUS_SIM_SETUP_ARGS_H

#include <stddef.h>
#include <stdint.h>

#include "../engine/arrivals.h"
#include "../engine/cache.h"
#include "../servers/servers.h"
#include "options.h"

struct setup_args {
    const char *servers, *pool, *service;
    const char *rules, *cache, *duration, *speed;
    int order, evict, proto;
    uint64_t tcpfin_ns, udp_ns, seed;
};

#define SETUP_ARGS_DEFAULT                                                             \
    {                                                                                  \
        .tcpfin_ns = 120 * (uint64_t)1000000000, .udp_ns = 300 * (uint64_t)1000000000, \
        .seed = 1                                                                      \
    }

/* The options, as a group of a command's: OPT_GROUP(setup_options, AT(setup)). */
extern const struct option_spec setup_options[];
extern const char *const setup_order_choices[];
extern const char *const setup_proto_choices[];

/* What the arguments come to. */
struct setup {
    const struct locus_rules *rules;
    const char *rules_name;
    struct cache_config cache; /* capacity 0: none */
    struct arrival_options arrivals;
    struct server_list servers; /* servers_free() */
};

/* An exit_code, after a line on stderr. */
int setup_args_resolve(const char *command, const struct setup_args *args,
                       struct setup *out);
/* Whether "-", the standard input, is asked for once at most. An exit_code. scenario may be
 * NULL. */
int setup_check_stdin(const char *command, const struct setup_args *args,
                      const char *scenario, char *const *paths, size_t count);
/* Says that --policy has no such name, and which there are. EXIT_USAGE. */
int setup_unknown_policy(const char *command, const char *name, size_t length);

#endif
