/* SPDX-License-Identifier: MIT */
/*
 * The policies that a replay can compare: every scheduler of the library, and those that
 * only the simulator has. A policy of the simulator's own is one entry of the table in
 * policy.c; connections are counted by a service all the same.
 */
#ifndef LOCUS_SIM_POLICY_H
#define LOCUS_SIM_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <locus/locus.h>

struct policy_ops {
    const char *name; /* NULL ends the table */
    const char *about;
    int (*make)(uint64_t seed, void **state);
    /* As locus_schedule(): decides, counts nothing. */
    int (*pick)(void *state, struct locus_service *svc,
                const struct locus_request *request, uint64_t now_ns,
                struct locus_pick *pick);
    void (*destroy)(void *state);
};

enum { POLICY_TEXT = 40 };

struct policy {
    char text[POLICY_TEXT]; /* as asked for: "mh:fallback" */
    const char *scheduler;  /* of the library; "none" with ops */
    uint32_t flags;
    const struct policy_ops *ops; /* NULL: the library's */
};

/* Reads "name" or "name:fallback:port"; false when there is no such policy or flag. */
bool policy_parse(const char *text, size_t length, struct policy *out);
/* The index-th name, NULL past the end; *about (may be NULL): one line. */
const char *policy_name(size_t index, const char **about);
/* lblc and lblcr keep a map. */
bool policy_has_map(const struct policy *policy);

#endif
