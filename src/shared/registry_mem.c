/* SPDX-License-Identifier: MIT */
/*
 * Registries in this process: clusters by name, endpoints by address, one lock. The rules
 * of a change are those of the script in registry_scripts.h, line for line.
 */
#include <pthread.h>

#include "clock.h"
#include "registry_ops.h"

#define uthash_malloc(size) m->hooks.alloc(m->hooks.ctx, (size))
#define uthash_free(ptr, size) m->hooks.free(m->hooks.ctx, (ptr), (size))
#include "names.h"

struct endpoint {
    UT_hash_handle hh;
    uint32_t weight;
    bool healthy;
    uint64_t since_ns;
    size_t length;
    char address[];
};

struct cluster {
    UT_hash_handle hh;
    struct endpoint *endpoints; /* never empty, but while one is being made */
    uint32_t live;
    uint32_t size;
    size_t text_bytes; /* of all addresses, with their NULs */
    size_t length;
    char name[];
};

struct mem_registry {
    struct locus_allocator hooks;
    pthread_mutex_t lock;
    struct cluster *clusters;
    size_t text_bytes; /* of all names, with their NULs */
};

static int mem_open(const char *uri, const char *name,
                    const struct locus_registry_config *config, void **out, char *error,
                    size_t error_size)
{
    struct mem_registry *m = memory_zalloc(config->allocator, sizeof(*m));

    (void)uri;
    (void)name;
    if (m == NULL) {
        if (error_size > 0) {
            error[0] = '\0';
        }
        return LOCUS_ENOMEM;
    }
    m->hooks = *config->allocator;
    pthread_mutex_init(&m->lock, NULL);
    *out = m;
    return LOCUS_OK;
}

/* ---- clusters and endpoints ------------------------------------------------------ */

static struct cluster *find_cluster(struct mem_registry *m, const char *name,
                                    size_t length)
{
    struct cluster *cluster;

    HASH_FIND(hh, m->clusters, name, length, cluster);
    return cluster;
}

static struct cluster *add_cluster(struct mem_registry *m, const char *name)
{
    size_t length = strlen(name);
    struct cluster *cluster = memory_zalloc(&m->hooks, sizeof(*cluster) + length + 1);

    if (cluster == NULL) {
        return NULL;
    }
    cluster->length = length;
    memcpy(cluster->name, name, length + 1);
    HASH_ADD_KEYPTR(hh, m->clusters, cluster->name, length, cluster);
    if (cluster->hh.tbl == NULL) {
        memory_release(&m->hooks, cluster, sizeof(*cluster) + length + 1);
        return NULL;
    }
    m->text_bytes += length + 1;
    return cluster;
}

static void drop_cluster(struct mem_registry *m, struct cluster *cluster)
{
    HASH_DEL(m->clusters, cluster);
    m->text_bytes -= cluster->length + 1;
    memory_release(&m->hooks, cluster, sizeof(*cluster) + cluster->length + 1);
}

static struct endpoint *add_endpoint(struct mem_registry *m, struct cluster *cluster,
                                     const char *address)
{
    size_t length = strlen(address);
    struct endpoint *endpoint =
        memory_zalloc(&m->hooks, sizeof(*endpoint) + length + 1);

    if (endpoint == NULL) {
        return NULL;
    }
    endpoint->length = length;
    memcpy(endpoint->address, address, length + 1);
    HASH_ADD_KEYPTR(hh, cluster->endpoints, endpoint->address, length, endpoint);
    if (endpoint->hh.tbl == NULL) {
        memory_release(&m->hooks, endpoint, sizeof(*endpoint) + length + 1);
        return NULL;
    }
    cluster->text_bytes += length + 1;
    return endpoint;
}

static void drop_endpoint(struct mem_registry *m, struct cluster *cluster,
                          struct endpoint *endpoint)
{
    HASH_DEL(cluster->endpoints, endpoint);
    cluster->text_bytes -= endpoint->length + 1;
    memory_release(&m->hooks, endpoint, sizeof(*endpoint) + endpoint->length + 1);
}

static void mem_close(void *self)
{
    struct mem_registry *m = self;
    struct cluster *cluster, *next_cluster;
    struct endpoint *endpoint, *next_endpoint;

    HASH_ITER(hh, m->clusters, cluster, next_cluster) {
        HASH_ITER(hh, cluster->endpoints, endpoint, next_endpoint) {
            drop_endpoint(m, cluster, endpoint);
        }
        drop_cluster(m, cluster);
    }
    pthread_mutex_destroy(&m->lock);
    struct locus_allocator hooks = m->hooks;
    memory_release(&hooks, m, sizeof(*m));
}

/* ---- reading --------------------------------------------------------------------- */

static int read_cluster(struct mem_registry *m, struct registry_read *read)
{
    struct cluster *cluster = find_cluster(m, read->cluster, read->length);

    if (cluster == NULL) {
        return LOCUS_ENOENT;
    }
    read->list = locus_listing_make(&m->hooks, HASH_COUNT(cluster->endpoints),
                                    cluster->text_bytes);
    if (read->list == NULL) {
        return LOCUS_ENOMEM;
    }
    for (struct endpoint *e = cluster->endpoints; e != NULL; e = e->hh.next) {
        locus_listing_add(read->list,
                          (struct locus_endpoint){
                              .weight = e->weight,
                              .healthy = e->healthy,
                              .since_ns = e->since_ns,
                          },
                          e->address, e->length);
    }
    read->list->size = cluster->size;
    return LOCUS_OK;
}

static void mem_read(void *self, struct registry_read *reads, size_t count)
{
    struct mem_registry *m = self;

    pthread_mutex_lock(&m->lock);
    for (size_t i = 0; i < count; i++) {
        reads[i].status = read_cluster(m, &reads[i]);
    }
    pthread_mutex_unlock(&m->lock);
    for (size_t i = 0; i < count; i++) {
        if (reads[i].status == LOCUS_OK) {
            locus_listing_finish(reads[i].list);
        }
    }
}

static int mem_clusters(void *self, struct listing **out)
{
    struct mem_registry *m = self;

    pthread_mutex_lock(&m->lock);
    *out = locus_listing_make(&m->hooks, HASH_COUNT(m->clusters), m->text_bytes);
    for (struct cluster *c = *out != NULL ? m->clusters : NULL; c != NULL;
         c = c->hh.next) {
        locus_listing_add(*out, (struct locus_endpoint){0}, c->name, c->length);
    }
    pthread_mutex_unlock(&m->lock);
    if (*out == NULL) {
        return LOCUS_ENOMEM;
    }
    locus_listing_finish(*out);
    return LOCUS_OK;
}

/* ---- changing -------------------------------------------------------------------- */

static int put(struct mem_registry *m, const struct locus_registry_change *change)
{
    struct cluster *cluster = find_cluster(m, change->cluster, strlen(change->cluster));
    struct endpoint *endpoint = NULL;

    if (cluster == NULL) {
        cluster = add_cluster(m, change->cluster);
        if (cluster == NULL) {
            return LOCUS_ENOMEM;
        }
    }
    HASH_FIND(hh, cluster->endpoints, change->address, strlen(change->address),
              endpoint);
    if (endpoint == NULL) {
        if (HASH_COUNT(cluster->endpoints) >= LOCUS_CLUSTER_ENDPOINTS) {
            return LOCUS_EFULL;
        }
        endpoint = add_endpoint(m, cluster, change->address);
        if (endpoint == NULL) {
            goto drop_empty;
        }
        endpoint->since_ns = clock_ns(CLOCK_REALTIME);
        endpoint->healthy = change->healthy;
    }
    cluster->live -= is_live(endpoint->weight, endpoint->healthy);
    cluster->live += is_live(change->weight, change->healthy);
    if (endpoint->healthy != change->healthy) {
        endpoint->since_ns = clock_ns(CLOCK_REALTIME);
    }
    endpoint->weight = change->weight;
    endpoint->healthy = change->healthy;
    if (HASH_COUNT(cluster->endpoints) > cluster->size) {
        cluster->size = HASH_COUNT(cluster->endpoints);
    }
    return LOCUS_OK;

drop_empty:
    if (cluster->endpoints == NULL) {
        drop_cluster(m, cluster);
    }
    return LOCUS_ENOMEM;
}

static uint32_t guard_floor(const struct locus_guard *guard, uint32_t size)
{
    /* size <= 10,000, percent <= 100. */
    uint32_t of_size = (size * guard->min_percent + 99) / 100;

    return of_size > guard->min_healthy ? of_size : guard->min_healthy;
}

/* Whatever the way, it is not live afterwards. */
static void take_out(struct mem_registry *m, struct cluster *cluster,
                     struct endpoint *endpoint, enum locus_registry_op op)
{
    cluster->live -= is_live(endpoint->weight, endpoint->healthy);
    if (op == LOCUS_REGISTRY_QUIESCE) {
        endpoint->weight = 0;
    } else if (op == LOCUS_REGISTRY_DOWN) {
        if (endpoint->healthy) {
            endpoint->since_ns = clock_ns(CLOCK_REALTIME);
        }
        endpoint->healthy = false;
    } else {
        drop_endpoint(m, cluster, endpoint);
    }
}

static int apply_one(struct mem_registry *m, struct locus_registry_change *change)
{
    if (change->op == LOCUS_REGISTRY_PUT) {
        return put(m, change);
    }
    struct cluster *cluster = find_cluster(m, change->cluster, strlen(change->cluster));
    struct endpoint *endpoint = NULL;
    if (cluster == NULL) {
        return LOCUS_ENOENT;
    }
    if (change->op == LOCUS_REGISTRY_RESIZE) {
        cluster->size = change->size;
        return LOCUS_OK;
    }
    change->floor = guard_floor(&change->guard, cluster->size);
    HASH_FIND(hh, cluster->endpoints, change->address, strlen(change->address),
              endpoint);
    if (endpoint == NULL) {
        return LOCUS_ENOENT;
    }
    if (is_live(endpoint->weight, endpoint->healthy) &&
        cluster->live - 1 < change->floor) {
        return LOCUS_EREFUSED;
    }
    take_out(m, cluster, endpoint, change->op);
    if (cluster->endpoints == NULL) {
        drop_cluster(m, cluster);
    }
    return LOCUS_OK;
}

static void mem_apply(void *self, struct locus_registry_change *const *changes,
                      size_t count)
{
    struct mem_registry *m = self;

    pthread_mutex_lock(&m->lock);
    for (size_t i = 0; i < count; i++) {
        changes[i]->status = apply_one(m, changes[i]);
        struct cluster *cluster =
            find_cluster(m, changes[i]->cluster, strlen(changes[i]->cluster));
        changes[i]->live = cluster != NULL ? cluster->live : 0;
    }
    pthread_mutex_unlock(&m->lock);
}

const struct registry_ops locus_registry_mem_ops = {
    .scheme = "mem:",
    .open = mem_open,
    .close = mem_close,
    .read = mem_read,
    .apply = mem_apply,
    .clusters = mem_clusters,
};
