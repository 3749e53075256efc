/* SPDX-License-Identifier: MIT */
/*
 * The policies that a replay can compare: every scheduler of the library, and those that
 * only the simulator has. A policy of the simulator's own is a file and one line of policies.def; connections are counted by a service all the same.
 */
#ifndef LOCUS_SIM_POLICY_H
#define LOCUS_SIM_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <locus/locus.h>

#include "../servers/servers.h"

enum { POLICY_ERROR_SIZE = 320 };

/* What it points to is borrowed until destroy(). */
struct policy_setup {
    const struct server_list *servers;
    bool steady;          /* who is available never changes */
    const char *pool_uri; /* NULL: mem: */
    char *error;          /* gets the words of a failure, POLICY_ERROR_SIZE bytes */
};

/* A policy knows servers by their number in the list; make() offers it none. Statuses are the
 * library's. */
struct policy_ops {
    const char *name;
    const char *about;
    int (*make)(const struct policy_setup *setup, void **state);
    /* Whether a server may be picked from now on. */
    void (*offer)(void *state, uint32_t server, bool available);
    /* LOCUS_ENOSERVER: none may. */
    int (*pick)(void *state, uint32_t *server);
    /* The last pick was made. */
    int (*finish)(void *state);
    /* Without finish() too; NULL is fine. */
    void (*destroy)(void *state);
};

#define POLICY(name) extern const struct policy_ops name##_ops;
#include "policies.def"
#undef POLICY

enum { POLICY_TEXT = 40 };

struct policy {
    char text[POLICY_TEXT]; /* as asked for: "mh:fallback" */
    const char *scheduler;  /* of the library; "none" with ops */
    uint32_t flags;
    uint32_t load_bound_percent;  /* of chbl; 0: as the rules say */
    uint32_t directors;           /* that share the connections; 0 is 1 */
    const struct policy_ops *ops; /* NULL: the library's */
};

/* Reads "name", "name:fallback:port" or "chbl:1.25"; false when there is no such policy, flag
 * or bound. */
bool policy_parse(const char *text, size_t length, struct policy *out);
/* The same with "@8" behind it: 2 to 256 directors, of the library's policies. */
enum { DIRECTORS_MAX = 256 };
bool policy_parse_directors(const char *text, size_t length, struct policy *out);
/* A scheduler's backwards. */
void policy_text(const char *scheduler, uint32_t flags, uint32_t load_bound_percent,
                 char *text, size_t size);
/* The index-th name, NULL past the end; *about (may be NULL): one line. */
const char *policy_name(size_t index, const char **about);
/* Whether IPVS has it: neither the simulator's own nor chbl nor p2c. */
bool policy_is_of_ipvs(const struct policy *policy);
/* lblc and lblcr keep a map. */
bool policy_has_map(const struct policy *policy);
/* sh and mh go by the client. */
bool policy_hashes_clients(const struct policy *policy);

#endif
