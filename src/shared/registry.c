/* SPDX-License-Identifier: MIT */
/*
 * The face of registry.h: checks what comes in, and lets the single calls of many threads
 * go to a distant home together. What a registry does is in registry_mem.c and
 * registry_redis.c.
 */
#include "registry_ops.h"

#include <stdatomic.h>
#include <stdio.h>

#include "coalesce_result.h"
#include "scheme.h"
#include "text.h"

enum { DEFAULT_CONCURRENCY = 2, DEFAULT_MAX_BATCH = 64 };

#define DEFAULT_TOTAL_NS UINT64_C(3000000000)

struct locus_registry {
    const struct registry_ops *ops;
    void *self;
    struct locus_registry_config config;
    struct locus_allocator hooks;
    struct locus_coalescer *reads, *changes; /* NULL where not worth it */
    struct registry_read *read_slots;        /* [concurrency][max_batch], for reads */
    struct locus_registry_change **change_slots; /* the same for changes */
    _Atomic uint64_t lists, changed, refused;
};

/* ---- checks ---------------------------------------------------------------------- */

static bool is_cluster(const char *text)
{
    return text_is_name(text, LOCUS_CLUSTER_MAX, "");
}

static int check_change(const struct locus_registry_change *change)
{
    if (!is_cluster(change->cluster) || (unsigned)change->op > LOCUS_REGISTRY_RESIZE) {
        return LOCUS_EINVAL;
    }
    if (change->op == LOCUS_REGISTRY_RESIZE) {
        return change->size <= LOCUS_CLUSTER_ENDPOINTS ? LOCUS_OK : LOCUS_ERANGE;
    }
    if (!text_is_name(change->address, LOCUS_ENDPOINT_MAX, " ")) {
        return LOCUS_EINVAL;
    }
    if (change->guard.min_percent > 100 ||
        (change->op == LOCUS_REGISTRY_PUT && change->weight > LOCUS_ENDPOINT_WEIGHT)) {
        return LOCUS_ERANGE;
    }
    return LOCUS_OK;
}

/* ---- batches --------------------------------------------------------------------- */

/* A locus_batch_fn: the keys are names of clusters. */
static int read_batch(void *ctx, struct locus_batch *batch)
{
    struct locus_registry *registry = ctx;
    struct registry_read *reads =
        registry->read_slots + (size_t)batch->slot * registry->config.max_batch;

    for (size_t i = 0; i < batch->count; i++) {
        reads[i] = (struct registry_read){
            .cluster = batch->items[i].key,
            .length = batch->items[i].key_length,
        };
    }
    registry->ops->read(registry->self, reads, batch->count);
    for (size_t i = 0; i < batch->count; i++) {
        batch->items[i].status = reads[i].status;
        batch->items[i].value = reads[i].list;
    }
    return LOCUS_OK;
}

/*
 * A locus_batch_fn: the keys are pointers to the callers' own changes, whose status is told
 * there. They stay valid since callers of locus_registry_change() wait for ever, and a
 * registry is closed only when nobody waits.
 */
static int change_batch(void *ctx, struct locus_batch *batch)
{
    struct locus_registry *registry = ctx;
    struct locus_registry_change **changes =
        registry->change_slots + (size_t)batch->slot * registry->config.max_batch;

    for (size_t i = 0; i < batch->count; i++) {
        memcpy(&changes[i], batch->items[i].key, sizeof(changes[i]));
        batch->items[i].status = LOCUS_OK;
    }
    registry->ops->apply(registry->self, changes, batch->count);
    return LOCUS_OK;
}

/* ---- opening --------------------------------------------------------------------- */

static const struct registry_ops *ops_for(const char *uri)
{
    static const struct registry_ops *const homes[] = {
        &locus_registry_mem_ops,
        &locus_registry_redis_ops,
    };

    for (size_t i = 0; i < sizeof(homes) / sizeof(homes[0]); i++) {
        if (uri_has_scheme(uri, homes[i]->scheme)) {
            return homes[i];
        }
    }
    return NULL;
}

static int start_coalescers(struct locus_registry *registry)
{
    const struct locus_registry_config *config = &registry->config;
    size_t slots = (size_t)config->concurrency * config->max_batch;
    struct locus_coalescer_config coalescer = {
        .batch = read_batch,
        .free_value = locus_listing_free,
        .ctx = registry,
        .concurrency = config->concurrency,
        .max_batch = config->max_batch,
        .linger_ns = config->linger_ns,
        .batch_bound_ns = config->total_timeout_ns,
        .allocator = &registry->hooks,
    };

    registry->read_slots =
        memory_zalloc(&registry->hooks, slots * sizeof(*registry->read_slots));
    registry->change_slots =
        memory_zalloc(&registry->hooks, slots * sizeof(*registry->change_slots));
    if (registry->read_slots == NULL || registry->change_slots == NULL) {
        return LOCUS_ENOMEM;
    }
    int status = locus_coalescer_create(&coalescer, &registry->reads);
    if (status == LOCUS_OK) {
        coalescer.batch = change_batch;
        coalescer.free_value = NULL;
        coalescer.share = LOCUS_SHARE_NONE;
        status = locus_coalescer_create(&coalescer, &registry->changes);
    }
    return status;
}

static void complete_config(struct locus_registry_config *config)
{
    config->allocator = NULL;
    if (config->concurrency == 0) {
        config->concurrency = DEFAULT_CONCURRENCY;
    }
    if (config->max_batch == 0) {
        config->max_batch = DEFAULT_MAX_BATCH;
    }
    if (config->total_timeout_ns == 0) {
        config->total_timeout_ns = DEFAULT_TOTAL_NS;
    }
}

int locus_registry_open(const char *uri, const char *name,
                        const struct locus_registry_config *config,
                        struct locus_registry **out, char *error, size_t error_size)
{
    const struct registry_ops *ops = ops_for(uri);
    struct locus_registry_config complete = {0};
    struct locus_allocator hooks =
        memory_hooks(config != NULL ? config->allocator : NULL);

    *out = NULL;
    if (ops == NULL) {
        return text_refuse(error, error_size, LOCUS_EINVAL, URI_FORMS " as the URI");
    }
    if (!text_is_name(name, LOCUS_CLUSTER_MAX, "{}")) {
        return text_refuse(
            error, error_size, LOCUS_EINVAL,
            "expected a registry's name of 1 to 200 bytes without braces or "
            "control characters");
    }
    if (config != NULL) {
        complete = *config;
    }
    complete_config(&complete);
    if (complete.max_batch > REGISTRY_BATCH_MAX ||
        complete.concurrency > LOCUS_CONCURRENCY_MAX ||
        complete.linger_ns > INT64_MAX || complete.total_timeout_ns > INT64_MAX) {
        return text_refuse(
            error, error_size, LOCUS_ERANGE,
            "expected at most 1024 in a batch, and 1024 batches at once");
    }
    struct locus_registry *registry = memory_zalloc(&hooks, sizeof(*registry));
    if (registry == NULL) {
        return text_refuse(error, error_size, LOCUS_ENOMEM, "out of memory");
    }
    registry->hooks = hooks;
    registry->config = complete;
    registry->ops = ops;
    complete.allocator = &registry->hooks;
    int status = ops->open(uri, name, &complete, &registry->self, error, error_size);
    if (status == LOCUS_OK && ops->remote) {
        status = start_coalescers(registry);
        if (status != LOCUS_OK) {
            text_refuse(error, error_size, status, locus_strerror(status));
        }
    }
    if (status != LOCUS_OK) {
        locus_registry_close(registry);
        return status;
    }
    *out = registry;
    return LOCUS_OK;
}

void locus_registry_close(struct locus_registry *registry)
{
    if (registry == NULL) {
        return;
    }
    size_t slots = (size_t)registry->config.concurrency * registry->config.max_batch;
    locus_coalescer_destroy(registry->reads);
    locus_coalescer_destroy(registry->changes);
    memory_release(&registry->hooks, registry->read_slots,
                   slots * sizeof(*registry->read_slots));
    memory_release(&registry->hooks, registry->change_slots,
                   slots * sizeof(*registry->change_slots));
    if (registry->self != NULL) {
        registry->ops->close(registry->self);
    }
    struct locus_allocator hooks = registry->hooks;
    memory_release(&hooks, registry, sizeof(*registry));
}

/* ---- reading --------------------------------------------------------------------- */

/* A list as a result, so that it is released as those of a coalescer are. */
static int wrap_list(struct locus_registry *registry, struct listing *list,
                     struct locus_result **out)
{
    *out = locus_result_wrap(&registry->hooks, list, locus_listing_free, NULL);
    if (*out == NULL) {
        locus_listing_free(NULL, list);
        return LOCUS_ENOMEM;
    }
    return LOCUS_OK;
}

static int read_one(struct locus_registry *registry, const char *cluster,
                    int64_t timeout_ns, struct locus_result **out)
{
    struct registry_read read = {.cluster = cluster, .length = strlen(cluster)};

    if (registry->reads != NULL) {
        return locus_coalescer_get(registry->reads, cluster, read.length, timeout_ns,
                                   out);
    }
    registry->ops->read(registry->self, &read, 1);
    return read.status == LOCUS_OK ? wrap_list(registry, read.list, out) : read.status;
}

int locus_registry_list_endpoints(struct locus_registry *registry, const char *cluster,
                                  int64_t timeout_ns, struct locus_endpoints *out)
{
    struct locus_result *result;

    memset(out, 0, sizeof(*out));
    if (!is_cluster(cluster)) {
        return LOCUS_EINVAL;
    }
    int status = read_one(registry, cluster, timeout_ns, &result);
    if (status != LOCUS_OK) {
        return status;
    }
    const struct listing *list = locus_result_value(result);
    *out = (struct locus_endpoints){
        .items = list->items,
        .count = list->count,
        .live = list->live,
        .size = list->size,
        .result = result,
    };
    atomic_fetch_add_explicit(&registry->lists, 1, memory_order_relaxed);
    return LOCUS_OK;
}

void locus_endpoints_release(struct locus_endpoints *list)
{
    locus_result_release(list->result);
    memset(list, 0, sizeof(*list));
}

int locus_registry_list_clusters(struct locus_registry *registry,
                                 struct locus_clusters *out)
{
    struct listing *list;

    memset(out, 0, sizeof(*out));
    int status = registry->ops->clusters(registry->self, &list);
    if (status == LOCUS_OK) {
        status = wrap_list(registry, list, &out->result);
    }
    if (status == LOCUS_OK) {
        out->names = locus_listing_names(list);
        out->count = list->count;
    }
    return status;
}

void locus_clusters_release(struct locus_clusters *list)
{
    locus_result_release(list->result);
    memset(list, 0, sizeof(*list));
}

/* ---- changing -------------------------------------------------------------------- */

static int noted(struct locus_registry *registry,
                 const struct locus_registry_change *change)
{
    if (change->status == LOCUS_OK) {
        atomic_fetch_add_explicit(&registry->changed, 1, memory_order_relaxed);
    } else if (change->status == LOCUS_EREFUSED && change->floor > 0) {
        atomic_fetch_add_explicit(&registry->refused, 1, memory_order_relaxed);
    }
    return change->status;
}

static void prepare(struct locus_registry_change *change)
{
    change->live = 0;
    change->floor = 0;
    change->status = check_change(change);
}

int locus_registry_apply(struct locus_registry *registry,
                         struct locus_registry_change *changes, size_t count)
{
    struct locus_registry_change *chunk[REGISTRY_BATCH_MAX];
    size_t used = 0;
    int first = LOCUS_OK;

    for (size_t i = 0; i < count; i++) {
        prepare(&changes[i]);
        if (changes[i].status == LOCUS_OK) {
            chunk[used++] = &changes[i];
        }
        if (used > 0 && (used == registry->config.max_batch || i + 1 == count)) {
            registry->ops->apply(registry->self, chunk, used);
            used = 0;
        }
    }
    for (size_t i = 0; i < count; i++) {
        int status = noted(registry, &changes[i]);
        first = first == LOCUS_OK ? status : first;
    }
    return first;
}

int locus_registry_change(struct locus_registry *registry,
                          struct locus_registry_change *change)
{
    struct locus_result *result = NULL;

    prepare(change);
    if (change->status != LOCUS_OK) {
        return change->status;
    }
    if (registry->changes == NULL) {
        registry->ops->apply(registry->self, &change, 1);
    } else {
        int status =
            locus_coalescer_get(registry->changes, &change, sizeof(change), 0, &result);
        locus_result_release(result);
        if (status != LOCUS_OK) {
            change->status = status;
        }
    }
    return noted(registry, change);
}

int locus_registry_put(struct locus_registry *registry, const char *cluster,
                       const char *address, uint32_t weight, bool healthy)
{
    struct locus_registry_change change = {
        .op = LOCUS_REGISTRY_PUT,
        .cluster = cluster,
        .address = address,
        .weight = weight,
        .healthy = healthy,
    };

    return locus_registry_change(registry, &change);
}

int locus_registry_remove(struct locus_registry *registry, const char *cluster,
                          const char *address, const struct locus_guard *guard)
{
    struct locus_registry_change change = {
        .op = LOCUS_REGISTRY_REMOVE,
        .cluster = cluster,
        .address = address,
        .guard = guard != NULL ? *guard : (struct locus_guard){0},
    };

    return locus_registry_change(registry, &change);
}

/* ---- figures --------------------------------------------------------------------- */

void locus_registry_get_stats(struct locus_registry *registry,
                              struct locus_registry_stats *out)
{
    memset(out, 0, sizeof(*out));
    out->lists = atomic_load_explicit(&registry->lists, memory_order_relaxed);
    out->changes = atomic_load_explicit(&registry->changed, memory_order_relaxed);
    out->refused = atomic_load_explicit(&registry->refused, memory_order_relaxed);
    if (registry->reads != NULL) {
        locus_coalescer_get_figures(registry->reads, &out->reads);
        locus_coalescer_get_figures(registry->changes, &out->writes);
    }
    if (registry->ops->stats != NULL) {
        registry->ops->stats(registry->self, out);
    }
}

int locus_registry_write_metrics(struct locus_registry *registry, locus_text_fn *write,
                                 void *ctx)
{
    if (registry->reads == NULL) {
        return LOCUS_OK;
    }
    int status =
        locus_coalescer_write_metrics(registry->reads, "registry_reads", write, ctx);
    if (status != LOCUS_OK) {
        return status;
    }
    return locus_coalescer_write_metrics(registry->changes, "registry_changes", write,
                                         ctx);
}

void locus_registry_error(struct locus_registry *registry, char *text, size_t size)
{
    if (size > 0) {
        text[0] = '\0';
    }
    if (registry->ops->error != NULL) {
        registry->ops->error(registry->self, text, size);
    }
}
