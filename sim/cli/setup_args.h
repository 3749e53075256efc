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

extern const char *const setup_order_choices[];
extern const char *const setup_proto_choices[];

#define SETUP_ARGS_AT(type, field) \
    (offsetof(type, setup) + offsetof(struct setup_args, field))

/* Entries of an option table, for a struct with a member "struct setup_args setup". */
#define SETUP_ARGS_OPTIONS(type)                                                       \
    {"servers",                                                                        \
     's',                                                                              \
     OPTION_STRING,                                                                    \
     SETUP_ARGS_AT(type, servers),                                                     \
     "LIST",                                                                           \
     "How many servers, or, with commas between, "                                     \
     "ADDRESS[:PORT][*WEIGHT[@CAPACITY][/UPPER[/LOWER]]]. Servers without "            \
     "weights get the same one, chosen so that all together hold 1.25 times the 99th " \
     "percentile over time of the trace's concurrency, at least 2 each.",              \
     0,                                                                                \
     0,                                                                                \
     NULL},                                                                            \
        {"pool",                                                                       \
         0,                                                                            \
         OPTION_STRING,                                                                \
         SETUP_ARGS_AT(type, pool),                                                    \
         "FILE",                                                                       \
         "Servers from the output of ipvsadm -S or -Ln, an ipvsadm script, "           \
         "keepalived.conf "                                                            \
         "or a plain list.",                                                           \
         0,                                                                            \
         0,                                                                            \
         NULL},                                                                        \
        {"service",                                                                    \
         0,                                                                            \
         OPTION_STRING,                                                                \
         SETUP_ARGS_AT(type, service),                                                 \
         "NAME",                                                                       \
         "Which of the pool file's services: ADDRESS:PORT or the fwmark's number.",    \
         0,                                                                            \
         0,                                                                            \
         NULL},                                                                        \
        {"order",                                                                      \
         0,                                                                            \
         OPTION_CHOICE,                                                                \
         SETUP_ARGS_AT(type, order),                                                   \
         NULL,                                                                         \
         "The order in which the pool's servers are added (default file; a table "     \
         "that is "                                                                    \
         "not sorted by address is taken to be newest first, as the kernel lists "     \
         "it).",                                                                       \
         0,                                                                            \
         0,                                                                            \
         setup_order_choices},                                                         \
        {"rules",                                                                      \
         'r',                                                                          \
         OPTION_STRING,                                                                \
         SETUP_ARGS_AT(type, rules),                                                   \
         "NAME",                                                                       \
         "kernel (default), kernel-classic (what most machines run), article (as "     \
         "published) or "                                                              \
         "locus (what we would run).",                                                 \
         0,                                                                            \
         0,                                                                            \
         NULL},                                                                        \
        {"cache",                                                                      \
         0,                                                                            \
         OPTION_STRING,                                                                \
         SETUP_ARGS_AT(type, cache),                                                   \
         "SIZE",                                                                       \
         "A cache on each server, 10GiB or 100000objects: shows hit ratios and "       \
         "origin "                                                                     \
         "traffic.",                                                                   \
         0,                                                                            \
         0,                                                                            \
         NULL},                                                                        \
        {"evict",                                                                      \
         0,                                                                            \
         OPTION_CHOICE,                                                                \
         SETUP_ARGS_AT(type, evict),                                                   \
         NULL,                                                                         \
         "What that cache drops (default lru).",                                       \
         0,                                                                            \
         0,                                                                            \
         cache_policy_names},                                                          \
        {"proto",                                                                      \
         0,                                                                            \
         OPTION_CHOICE,                                                                \
         SETUP_ARGS_AT(type, proto),                                                   \
         NULL,                                                                         \
         "Which records are replayed (default tcp; requests without a protocol are "   \
         "TCP).",                                                                      \
         0,                                                                            \
         0,                                                                            \
         setup_proto_choices},                                                         \
        {"duration",                                                                   \
         0,                                                                            \
         OPTION_STRING,                                                                \
         SETUP_ARGS_AT(type, duration),                                                \
         "MODEL",                                                                      \
         "How long a record without a duration lasts: const:TIME, "                    \
         "lognormal:MEDIAN:SIGMA or "                                                  \
         "rate:BYTES per second (default const:1s).",                                  \
         0,                                                                            \
         0,                                                                            \
         NULL},                                                                        \
        {"speed",                                                                      \
         0,                                                                            \
         OPTION_STRING,                                                                \
         SETUP_ARGS_AT(type, speed),                                                   \
         "FACTOR",                                                                     \
         "Arrivals that many times as fast; durations stay (default 1).",              \
         0,                                                                            \
         0,                                                                            \
         NULL},                                                                        \
        {"tcpfin",                                                                     \
         0,                                                                            \
         OPTION_DURATION,                                                              \
         SETUP_ARGS_AT(type, tcpfin_ns),                                               \
         "TIME",                                                                       \
         "How long a closed TCP connection counts as inactive (default 120s, as "      \
         "ipvsadm "                                                                    \
         "--set).",                                                                    \
         0,                                                                            \
         0,                                                                            \
         NULL},                                                                        \
        {"udp-timeout",                                                                \
         0,                                                                            \
         OPTION_DURATION,                                                              \
         SETUP_ARGS_AT(type, udp_ns),                                                  \
         "TIME",                                                                       \
         "How long a UDP flow counts after its last packet (default 300s).",           \
         0,                                                                            \
         0,                                                                            \
         NULL},                                                                        \
    {                                                                                  \
        "seed", 0, OPTION_NUMBER, SETUP_ARGS_AT(type, seed), "N",                      \
            "Seed of everything random: duration models, twos (default 1).", 0, 0,     \
            NULL                                                                       \
    }

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
