/* SPDX-License-Identifier: MIT */
/*
 * 'locus pool': what was asked, and those subcommands that print something: what the library
 * answers, as text or as JSON. They return an exit_code.
 */
#ifndef LOCUS_SIM_POOL_CLIENT_H
#define LOCUS_SIM_POOL_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <locus/pool.h>

struct pool_client {
    struct locus_pool *pool; /* NULL until pool_client_open() */
    char *const *arguments;  /* those after the subcommand */
    size_t count;

    /* The options. */
    const char *uri, *name, *start;
    const char *schemes, *ports, *allow, *deny;
    uint64_t n, ttl_ns, limit, timeout_ns, interval_ns, rounds, max_bad;
    uint64_t fail_after, restore_after, min_live;
    int fail, format;
    bool drop, exact, only_allowed, names, dry_run, json;
};

/* Opens the pool, which the caller closes. An exit_code. */
int pool_client_open(struct pool_client *client);
/* Says what went wrong; the exit_code for it. */
int pool_failed(const struct pool_client *c, const char *what, int status);
/* EXIT_OK if nothing did. */
int pool_result(const struct pool_client *c, const char *what, int status);

/* Members and leases. */
int pool_add(const struct pool_client *c);
int pool_report(const struct pool_client *c);
int pool_pick(const struct pool_client *c);
int pool_acquire(const struct pool_client *c);
int pool_limit(const struct pool_client *c);
/* Adds members at the count that --start says. */
int pool_add_members(const struct pool_client *c, const char *const *members,
                     size_t count, size_t *added);
const char *pool_state_word(enum locus_pool_state state);

/* The whole pool: pool_view.c. */
int pool_list(const struct pool_client *c);
int pool_stats(const struct pool_client *c);
/* Until *stop is not 0. */
int pool_watch(const struct pool_client *c, const volatile int *stop);

/* Candidates from a file: pool_import.c. */
int pool_import(const struct pool_client *c);

#endif
