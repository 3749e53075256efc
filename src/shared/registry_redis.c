/* SPDX-License-Identifier: MIT */
/*
 * Registries in Redis. A cluster is a hash, address -> "weight healthy since", the last in
 * microseconds; its field "" holds the cluster's size. The names of all clusters are a set.
 * All of these have one hash tag, and so live on one node. A batch of reads is therefore one
 * script, and so is a batch of changes: the guard's decisions are as ordered and as
 * indivisible as Redis' scripts are.
 *
 * Replies are checked before they are believed, since anybody may write to the same keys.
 */
#include <inttypes.h>
#include <stdio.h>

#include "redis.h"
#include "registry_ops.h"
#include "registry_scripts.h"

enum { ARGS = 7, INDEX_SIZE = LOCUS_CLUSTER_MAX + 32 };

struct redis_registry {
    struct locus_allocator hooks;
    struct locus_redis *redis;
    char index[INDEX_SIZE]; /* {locus-registry:NAME}; a cluster's key is this:CLUSTER */
};

static int redis_open(const char *uri, const char *name,
                      const struct locus_registry_config *config, void **out,
                      char *error, size_t error_size)
{
    const struct locus_redis_options options = {
        .connect_timeout_ns = config->connect_timeout_ns,
        .command_timeout_ns = config->command_timeout_ns,
        .total_timeout_ns = config->total_timeout_ns,
        /* Reads, changes, and one for what goes past the coalescers. */
        .connections = 2 * (size_t)config->concurrency + 1,
    };
    struct redis_registry *r = memory_zalloc(config->allocator, sizeof(*r));

    if (r == NULL) {
        snprintf(error, error_size, "out of memory");
        return LOCUS_ENOMEM;
    }
    int status = locus_redis_open(uri, &options, &r->redis, error, error_size);
    if (status != LOCUS_OK) {
        memory_release(config->allocator, r, sizeof(*r));
        return status;
    }
    r->hooks = *config->allocator;
    snprintf(r->index, sizeof(r->index), "{locus-registry:%s}", name);
    *out = r;
    return LOCUS_OK;
}

static void redis_close(void *self)
{
    struct redis_registry *r = self;
    struct locus_allocator hooks = r->hooks;

    locus_redis_close(r->redis);
    memory_release(&hooks, r, sizeof(*r));
}

/* ---- what is sent ---------------------------------------------------------------- */

/* A script's words, and the bytes of those that are made here. */
struct words {
    struct locus_allocator hooks;
    size_t size_bytes;
    size_t count;
    const char **argv;
    char *text, *end;
};

static bool words_init(struct words *words, const struct locus_allocator *hooks,
                       size_t count, size_t text_bytes)
{
    words->hooks = *hooks;
    words->size_bytes = count * sizeof(*words->argv) + text_bytes;
    words->count = 0;
    words->argv = memory_zalloc(hooks, words->size_bytes);
    if (words->argv == NULL) {
        return false;
    }
    words->text = (char *)(words->argv + count);
    words->end = words->text + text_bytes;
    return true;
}

static void words_fini(struct words *words)
{
    memory_release(&words->hooks, words->argv, words->size_bytes);
}

/* Borrowed, until the words have been sent. */
static void add_word(struct words *words, const char *text)
{
    words->argv[words->count++] = text;
}

/* prefix and the length bytes at text, within the room of words_init(). */
static void add_key(struct words *words, const char *prefix, const char *text,
                    size_t length)
{
    add_word(words, words->text);
    words->text += snprintf(words->text, (size_t)(words->end - words->text), "%s:%.*s",
                            prefix, (int)length, text) +
                   1;
}

enum { NUMBER_BYTES = 11 };

static void add_number(struct words *words, uint32_t number)
{
    add_word(words, words->text);
    words->text +=
        snprintf(words->text, (size_t)(words->end - words->text), "%" PRIu32, number) +
        1;
}

/* ---- reading --------------------------------------------------------------------- */

/* "weight healthy since_us" */
static bool parse_endpoint(const struct locus_redis_reply *reply,
                           struct locus_endpoint *out)
{
    size_t length;
    const char *text = locus_reply_text(reply, &length);
    uint32_t weight;
    unsigned healthy;
    uint64_t since_us;
    int end = 0;

    if (text == NULL || length > 64 || strspn(text, "0123456789 ") != length ||
        sscanf(text, "%10" SCNu32 " %1u %16" SCNu64 "%n", &weight, &healthy, &since_us,
               &end) != 3 ||
        (size_t)end != length || weight > LOCUS_ENDPOINT_WEIGHT || healthy > 1) {
        return false;
    }
    *out = (struct locus_endpoint){
        .weight = weight,
        .healthy = healthy == 1,
        .since_ns = since_us * 1000,
    };
    return true;
}

/* An address, or the empty field of the size. */
static bool is_field(const char *text, size_t length)
{
    return text != NULL && length <= LOCUS_ENDPOINT_MAX &&
           memchr(text, '\0', length) == NULL;
}

static bool fill_listing(struct listing *list, const struct locus_redis_reply *fields)
{
    for (size_t i = 0; i + 1 < locus_reply_count(fields); i += 2) {
        const struct locus_redis_reply *value = locus_reply_at(fields, i + 1);
        struct locus_endpoint endpoint;
        size_t length;
        const char *text = locus_reply_text(locus_reply_at(fields, i), &length);
        if (length == 0) {
            int64_t size;
            if (!locus_reply_integer(value, &size) || size < 0 ||
                size > LOCUS_CLUSTER_ENDPOINTS) {
                return false;
            }
            list->size = (uint32_t)size;
        } else if (!parse_endpoint(value, &endpoint)) {
            return false;
        } else {
            locus_listing_add(list, endpoint, text, length);
        }
    }
    locus_listing_finish(list);
    return true;
}

static int read_reply(struct redis_registry *r, const struct locus_redis_reply *fields,
                      struct listing **out)
{
    size_t count = locus_reply_count(fields);
    size_t text_bytes = 0;

    if (locus_reply_kind(fields) != LOCUS_REPLY_ARRAY || count % 2 != 0) {
        return LOCUS_EFORMAT;
    }
    if (count == 0) {
        return LOCUS_ENOENT;
    }
    for (size_t i = 0; i < count; i += 2) {
        size_t length;
        const char *text = locus_reply_text(locus_reply_at(fields, i), &length);
        if (!is_field(text, length)) {
            return LOCUS_EFORMAT;
        }
        text_bytes += length + 1;
    }
    struct listing *list = locus_listing_make(&r->hooks, count / 2, text_bytes);
    if (list == NULL) {
        return LOCUS_ENOMEM;
    }
    if (!fill_listing(list, fields)) {
        locus_listing_free(NULL, list);
        return LOCUS_EFORMAT;
    }
    *out = list;
    return LOCUS_OK;
}

static int run_read(struct redis_registry *r, const struct registry_read *reads,
                    size_t count, struct locus_redis_reply **reply)
{
    size_t text_bytes = 0;
    struct words words;

    *reply = NULL;
    for (size_t i = 0; i < count; i++) {
        text_bytes += strlen(r->index) + 1 + reads[i].length + 1;
    }
    if (!words_init(&words, &r->hooks, count, text_bytes)) {
        return LOCUS_ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        add_key(&words, r->index, reads[i].cluster, reads[i].length);
    }
    const struct locus_redis_command command = {
        .script = &script_read,
        .argv = words.argv,
        .argc = words.count,
        .keys = words.count,
        .repeatable = true,
    };
    int status = locus_redis_run_one(r->redis, &command, 0, reply);
    words_fini(&words);
    if (status == LOCUS_OK && locus_reply_count(*reply) != count) {
        status = LOCUS_EFORMAT;
    }
    return status;
}

static void redis_read(void *self, struct registry_read *reads, size_t count)
{
    struct redis_registry *r = self;
    struct locus_redis_reply *reply;
    int status = run_read(r, reads, count, &reply);

    for (size_t i = 0; i < count; i++) {
        reads[i].status = status != LOCUS_OK
                              ? status
                              : read_reply(r, locus_reply_at(reply, i), &reads[i].list);
    }
    locus_reply_free(reply);
}

static int redis_clusters(void *self, struct listing **out)
{
    struct redis_registry *r = self;
    const char *argv[] = {"SMEMBERS", r->index};
    const struct locus_redis_command command = {
        .argv = argv,
        .argc = 2,
        .route = 1,
        .repeatable = true,
    };
    struct locus_redis_reply *reply;
    size_t text_bytes = 0;
    size_t length;

    int status = locus_redis_run_one(r->redis, &command, 0, &reply);
    if (status == LOCUS_OK && locus_reply_kind(reply) != LOCUS_REPLY_ARRAY) {
        status = LOCUS_EFORMAT;
    }
    for (size_t i = 0; status == LOCUS_OK && i < locus_reply_count(reply); i++) {
        const char *text = locus_reply_text(locus_reply_at(reply, i), &length);
        if (!is_field(text, length)) {
            status = LOCUS_EFORMAT;
        }
        text_bytes += length + 1;
    }
    if (status != LOCUS_OK) {
        goto free_reply;
    }
    *out = locus_listing_make(&r->hooks, locus_reply_count(reply), text_bytes);
    if (*out == NULL) {
        status = LOCUS_ENOMEM;
        goto free_reply;
    }
    for (size_t i = 0; i < locus_reply_count(reply); i++) {
        const char *text = locus_reply_text(locus_reply_at(reply, i), &length);
        locus_listing_add(*out, (struct locus_endpoint){0}, text, length);
    }
    locus_listing_finish(*out);

free_reply:
    locus_reply_free(reply);
    return status;
}

/* ---- changing -------------------------------------------------------------------- */

static void add_change(struct words *words, const struct locus_registry_change *change)
{
    static const char *const names[] = {
        [LOCUS_REGISTRY_PUT] = "put",         [LOCUS_REGISTRY_REMOVE] = "remove",
        [LOCUS_REGISTRY_QUIESCE] = "quiesce", [LOCUS_REGISTRY_DOWN] = "down",
        [LOCUS_REGISTRY_RESIZE] = "resize",
    };
    bool resize = change->op == LOCUS_REGISTRY_RESIZE;

    add_word(words, names[change->op]);
    add_word(words, change->cluster);
    add_word(words, resize ? "" : change->address);
    add_number(words, resize ? change->size : change->weight);
    add_word(words, change->healthy ? "1" : "0");
    add_number(words, change->guard.min_healthy);
    add_number(words, change->guard.min_percent);
}

static int run_apply(struct redis_registry *r,
                     struct locus_registry_change *const *changes, size_t count,
                     struct locus_redis_reply **reply)
{
    size_t text_bytes = 0;
    struct words words;

    *reply = NULL;
    for (size_t i = 0; i < count; i++) {
        text_bytes +=
            strlen(r->index) + 1 + strlen(changes[i]->cluster) + 1 + 3 * NUMBER_BYTES;
    }
    if (!words_init(&words, &r->hooks, 1 + count * (1 + ARGS), text_bytes)) {
        return LOCUS_ENOMEM;
    }
    add_word(&words, r->index);
    for (size_t i = 0; i < count; i++) {
        add_key(&words, r->index, changes[i]->cluster, strlen(changes[i]->cluster));
    }
    for (size_t i = 0; i < count; i++) {
        add_change(&words, changes[i]);
    }
    const struct locus_redis_command command = {
        .script = &script_apply,
        .argv = words.argv,
        .argc = words.count,
        .keys = 1 + count,
    };
    int status = locus_redis_run_one(r->redis, &command, 0, reply);
    words_fini(&words);
    if (status == LOCUS_OK && locus_reply_count(*reply) != 3 * count) {
        status = LOCUS_EFORMAT;
    }
    return status;
}

static bool read_number(const struct locus_redis_reply *reply, uint32_t *out)
{
    int64_t number;

    if (!locus_reply_integer(reply, &number) || number < 0 || number > UINT32_MAX) {
        return false;
    }
    *out = (uint32_t)number;
    return true;
}

static void read_outcome(const struct locus_redis_reply *reply, size_t at,
                         struct locus_registry_change *change)
{
    static const int statuses[] = {LOCUS_OK, LOCUS_ENOENT, LOCUS_EREFUSED, LOCUS_EFULL,
                                   LOCUS_EFORMAT};
    uint32_t outcome;

    change->status = LOCUS_EFORMAT;
    if (read_number(locus_reply_at(reply, at), &outcome) &&
        read_number(locus_reply_at(reply, at + 1), &change->live) &&
        read_number(locus_reply_at(reply, at + 2), &change->floor) &&
        outcome < sizeof(statuses) / sizeof(statuses[0])) {
        change->status = statuses[outcome];
    }
}

static void redis_apply(void *self, struct locus_registry_change *const *changes,
                        size_t count)
{
    struct redis_registry *r = self;
    struct locus_redis_reply *reply;
    int status = run_apply(r, changes, count, &reply);

    for (size_t i = 0; i < count; i++) {
        if (status == LOCUS_OK) {
            read_outcome(reply, 3 * i, changes[i]);
        } else {
            changes[i]->status = status;
        }
    }
    locus_reply_free(reply);
}

/* ---- figures --------------------------------------------------------------------- */

static void redis_stats(void *self, struct locus_registry_stats *out)
{
    struct redis_registry *r = self;
    struct locus_redis_stats stats;

    locus_redis_get_stats(r->redis, &stats);
    out->commands = stats.commands;
    out->round_trips = stats.round_trips;
    out->connects = stats.connects;
    out->connect_failures = stats.connect_failures;
    out->ambiguous = stats.ambiguous;
}

static void redis_error(void *self, char *text, size_t size)
{
    struct redis_registry *r = self;

    locus_redis_error(r->redis, text, size);
}

const struct registry_ops locus_registry_redis_ops = {
    .scheme = "redis",
    .remote = true,
    .open = redis_open,
    .close = redis_close,
    .read = redis_read,
    .apply = redis_apply,
    .clusters = redis_clusters,
    .stats = redis_stats,
    .error = redis_error,
};
