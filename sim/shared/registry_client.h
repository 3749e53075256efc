/* SPDX-License-Identifier: MIT */
/*
 * 'locus registry': what was asked, and those subcommands that are more than one change. They
 * print what the library answers, as text or as JSON, and return an exit_code.
 */
#ifndef LOCUS_SIM_REGISTRY_CLIENT_H
#define LOCUS_SIM_REGISTRY_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <locus/registry.h>

enum { REGISTRY_THREADS_MAX = 1024 };

struct registry_client {
    struct locus_registry *registry; /* NULL until registry_client_open() */
    struct locus_guard guard;        /* of min_healthy, set by it too */
    char *const *arguments;          /* those after the subcommand */
    size_t count;

    /* The options. */
    const char *uri, *name, *min_healthy;
    uint64_t weight, timeout_ns, interval_ns, rounds, threads, demo, max_bad;
    bool down, json, quiet;
};

/* Opens the registry, which the caller closes. An exit_code. */
int registry_client_open(struct registry_client *client);
/* Says what went wrong; the exit_code for it. */
int registry_failed(const struct registry_client *c, const char *what, int status);

/* Calls visit with the endpoints of each cluster that the arguments name, or of all, until one
 * returns another exit_code than EXIT_OK. A cluster that does not exist is an error, or, if
 * missing_ok, left out. */
typedef int registry_visit_fn(const struct registry_client *c, const char *cluster,
                              const struct locus_endpoints *list, void *arg);
int registry_each_cluster(const struct registry_client *c, bool missing_ok,
                          registry_visit_fn *visit, void *arg);

int registry_list(const struct registry_client *c);
/* Until *stop is not 0. */
int registry_watch(const struct registry_client *c, const volatile int *stop);
int registry_import(const struct registry_client *c);
int registry_drain(const struct registry_client *c);

#endif
