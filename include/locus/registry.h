/* SPDX-License-Identifier: MIT */
/*
 * locus/registry.h - which endpoints serve which cluster, and a guard on taking them out.
 *
 * WHAT IT IS. A registry maps the name of a cluster to its endpoints: address, weight,
 * health, and since when. It lives in this process (mem:) or on a Redis server, where any
 * number of threads, processes and machines share it.
 *
 *     locus_registry_open("redis://registry.example/0", "prod", NULL, &registry, ...);
 *     locus_registry_put(registry, "web", "10.0.0.1:80", 100, true);
 *     struct locus_endpoints list;
 *     if (locus_registry_list_endpoints(registry, "web", timeout_ns, &list) == LOCUS_OK) {
 *         ... list.items[0 .. list.count-1] ...
 *         locus_endpoints_release(&list);
 *     }
 *
 * Single reads and single changes do not cost a round trip each: those of all threads go
 * through coalescers (coalesce.h), a batch of them in one script call.
 *
 * WORDS. live: healthy, with a weight above 0. size: the number of endpoints that a
 * cluster is expected to have. It grows with each endpoint added beyond it, and shrinks only
 * by LOCUS_REGISTRY_RESIZE or when the last endpoint goes. floor: how many live endpoints a
 * guard wants to remain.
 *
 * THE GUARD. A change that takes an endpoint out may carry a guard: at least min_healthy
 * live endpoints must remain, and at least min_percent of the cluster's size, rounded up. A
 * change that would leave fewer is refused, and nothing happens. The percentage is of the
 * size, not of what is left; otherwise a mass removal would never meet a floor: half of 20
 * is 10, but half of what is left, again and again, goes down to 1. Taking out an endpoint
 * that is not live lowers nothing and is never refused. Each decision and its change are one
 * step, and those of a cluster are ordered, whoever makes them. So a removal of everything
 * stops exactly at the floor. PUT is not guarded, because what health checks observe is a
 * fact; LOCUS_REGISTRY_DOWN is.
 *
 * WHERE IT LIVES. In Redis, the registry NAME is one hash per cluster and a set of their
 * names. All have one hash tag, {locus-registry:NAME}, so that one script may read or change
 * many of them, in Redis Cluster too (on one of its nodes).
 *
 * URIS and what happens WHEN REDIS IS AWAY: as in pool.h. Only reads are tried again after
 * they were sent and not answered. A change then returns LOCUS_EAMBIGUOUS, and may simply be
 * made again: removing what has gone is LOCUS_ENOENT.
 *
 * THREADS. A registry may be used by any number of threads at once. Closing waits for
 * nobody: no call may be running. FORK. A registry in Redis belongs to the process that
 * opened it; a child opens its own.
 *
 * ERRORS. See status.h. Besides those named below, a call on Redis may return EIO,
 * ETIMEDOUT, EAMBIGUOUS, EREFUSED (also: the server said no), EFULL (also: the server is out
 * of memory), EFORMAT (the key holds something else), and every call ENOMEM and
 * EINVAL (a malformed name). locus_registry_error() has the server's words.
 */
#ifndef LOCUS_REGISTRY_H
#define LOCUS_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <locus/coalesce.h>
#include <locus/status.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LOCUS_CLUSTER_MAX 200           /* bytes of a cluster's or registry's name */
#define LOCUS_ENDPOINT_MAX 255          /* bytes of an address */
#define LOCUS_CLUSTER_ENDPOINTS 10000   /* of one cluster */
#define LOCUS_ENDPOINT_WEIGHT INT32_MAX /* weights: 0..2^31-1 */

struct locus_registry;

/* Zero-initialise; zero means the default. All but the allocator is for Redis. */
struct locus_registry_config {
    uint64_t connect_timeout_ns; /* 1 s */
    uint64_t command_timeout_ns; /* 1 s */
    uint64_t total_timeout_ns;   /* 3 s; for one script call with all that it tries */
    uint32_t concurrency; /* script calls at once, each for reads and changes; 2 */
    uint32_t max_batch;   /* reads or changes in one, 1..1024; 64 */
    uint64_t linger_ns;   /* as in coalesce.h; 0 */
    const struct locus_allocator *allocator; /* copied; NULL: malloc and free. The Redis
                                                client has its own */
};

/*
 * Opens the registry of that name (1 to LOCUS_CLUSTER_MAX bytes, no braces, no control
 * characters); config is copied and may be NULL. Connects on first use. EINVAL; ENOTSUP: a
 * Redis URI in a build without hiredis; ERANGE. The reason goes to error, cut to error_size.
 */
LOCUS_API int locus_registry_open(const char *uri, const char *name,
                                  const struct locus_registry_config *config,
                                  struct locus_registry **out, char *error,
                                  size_t error_size) LOCUS_NODISCARD;
/* What is in Redis stays; what is in mem: is gone. NULL is fine. Lists stay valid. */
LOCUS_API void locus_registry_close(struct locus_registry *registry);

/* ---- reading --------------------------------------------------------------------- */

struct locus_endpoint {
    const char *address; /* any word, as it was put */
    uint32_t weight;     /* 0: quiesced, nothing new */
    bool healthy;
    uint64_t since_ns; /* when it was added or its health last changed: since 1970, by
                            the clock of the registry's home */
};

struct locus_endpoints {
    const struct locus_endpoint *items; /* by address, in the order of bytes */
    size_t count;
    uint32_t live;               /* of them */
    uint32_t size;               /* of the cluster: see WORDS */
    struct locus_result *result; /* not yours */
};

/*
 * The endpoints of a cluster, at one moment of the call. It waits for at most timeout_ns;
 * if that is 0 or less, as long as the deadlines of Redis allow. ENOENT: no such cluster. On
 * failure *out is zeroed; otherwise release it once. Threads that ask for the same cluster
 * at the same time share the answer.
 */
LOCUS_API int
locus_registry_list_endpoints(struct locus_registry *registry, const char *cluster,
                              int64_t timeout_ns,
                              struct locus_endpoints *out) LOCUS_NODISCARD;
LOCUS_API void locus_endpoints_release(struct locus_endpoints *list);

struct locus_clusters {
    const char *const *names; /* in the order of bytes */
    size_t count;
    struct locus_result *result; /* not yours */
};
/* The names of all clusters; in Redis a round trip of its own. */
LOCUS_API int locus_registry_list_clusters(struct locus_registry *registry,
                                           struct locus_clusters *out) LOCUS_NODISCARD;
LOCUS_API void locus_clusters_release(struct locus_clusters *list);

/* ---- changing -------------------------------------------------------------------- */

/* What must remain. The higher of the two applies; all zero: no guard. */
struct locus_guard {
    uint32_t min_healthy; /* live endpoints */
    uint32_t min_percent; /* of the cluster's size, rounded up; 0..100 */
};

enum locus_registry_op {
    LOCUS_REGISTRY_PUT,     /* adds an endpoint or sets weight and health */
    LOCUS_REGISTRY_REMOVE,  /* takes it off the list; guarded, as the next two are */
    LOCUS_REGISTRY_QUIESCE, /* its weight becomes 0 */
    LOCUS_REGISTRY_DOWN,    /* it becomes unhealthy */
    LOCUS_REGISTRY_RESIZE,  /* sets the cluster's size */
};

struct locus_registry_change {
    enum locus_registry_op op;
    const char *cluster;
    const char *address; /* not for RESIZE */
    uint32_t weight;     /* PUT */
    bool healthy;        /* PUT */
    uint32_t size;       /* RESIZE: 0..LOCUS_CLUSTER_ENDPOINTS */
    struct locus_guard guard;

    /* out: */
    int status;     /* LOCUS_OK; ENOENT: no such cluster or endpoint; EREFUSED: by the
                       guard; EFULL: LOCUS_CLUSTER_ENDPOINTS reached; ERANGE: a number;
                       or why it could not be tried */
    uint32_t live;  /* of the cluster, after it; with OK, ENOENT, EREFUSED */
    uint32_t floor; /* that the guard asked for */
};

/*
 * Makes changes, in order and each for itself: one that fails does not hinder the others. In
 * Redis, max_batch of them are one script call. Returns the first status that is not LOCUS_OK.
 */
LOCUS_API int locus_registry_apply(struct locus_registry *registry,
                                   struct locus_registry_change *changes,
                                   size_t count) LOCUS_NODISCARD;

/* Makes one change and returns its status; many threads at once share script calls. It may
 * wait for one running batch first, and so for twice config.total_timeout_ns. */
LOCUS_API int
locus_registry_change(struct locus_registry *registry,
                      struct locus_registry_change *change) LOCUS_NODISCARD;

/* The two usual ones. guard NULL: none. */
LOCUS_API int locus_registry_put(struct locus_registry *registry, const char *cluster,
                                 const char *address, uint32_t weight,
                                 bool healthy) LOCUS_NODISCARD;
LOCUS_API int locus_registry_remove(struct locus_registry *registry,
                                    const char *cluster, const char *address,
                                    const struct locus_guard *guard) LOCUS_NODISCARD;

/* ---- figures --------------------------------------------------------------------- */

struct locus_registry_stats {
    uint64_t lists;   /* of endpoints, successful */
    uint64_t changes; /* made */
    uint64_t refused; /* by a guard */
    uint64_t commands, round_trips, connects, connect_failures, ambiguous; /* Redis */
    struct locus_coalescer_figures reads, writes;                          /* Redis */
};
LOCUS_API void locus_registry_get_stats(struct locus_registry *registry,
                                        struct locus_registry_stats *out);

/* The coalescers' metrics (see coalesce.h), labelled registry_reads and registry_changes;
 * nothing for mem:. */
LOCUS_API int locus_registry_write_metrics(struct locus_registry *registry,
                                           locus_text_fn *write,
                                           void *ctx) LOCUS_NODISCARD;

/* The words of the last failure of any thread at the server; "" if there was none. */
LOCUS_API void locus_registry_error(struct locus_registry *registry, char *text,
                                    size_t size);

#ifdef __cplusplus
}
#endif

#endif
