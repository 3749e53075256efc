/* SPDX-License-Identifier: MIT */
/*
 * The face of pool.h: checks arguments, keeps the figures, and stands in for a Redis that
 * is away when told to fail open. What a pool does is in pool_mem.c and pool_redis.c.
 */
#include "pool_ops.h"

#include <locus/coalesce.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "clock.h"
#include "scheme.h"
#include "text.h"

enum { TTL_DAYS_MAX = 30, COALESCED_MAX = 256 };

struct locus_pool {
    const struct pool_ops *ops;
    void *self;
    struct locus_pool_config config;
    pthread_mutex_t lock; /* of what follows; never held over a call of ops */
    struct locus_pool_stats stats;
    void *local; /* fail open: a memory pool with the members last seen, or NULL */
    uint64_t looked_ns;            /* when it was last made, or could not be */
    bool refreshing;               /* one thread is at it */
    pthread_rwlock_t local_lock;   /* readers use local, the writer changes it */
    struct locus_coalescer *picks; /* NULL: single picks go one by one */
    char (*batches)[LOCUS_POOL_MEMBER_SIZE]; /* COALESCED_MAX for each call at once */
};

int locus_pool_compare(uint64_t count_a, const char *a, uint64_t count_b, const char *b)
{
    if (count_a != count_b) {
        return count_a < count_b ? -1 : 1;
    }
    return strcmp(a, b); /* as unsigned bytes, like Redis */
}

static bool is_member(const char *text)
{
    return text_is_name(text, LOCUS_POOL_MEMBER_SIZE - 1, "");
}

static bool is_away(int status)
{
    return status == LOCUS_EIO || status == LOCUS_ETIMEDOUT ||
           status == LOCUS_EAMBIGUOUS;
}

/* Counts a failure, passes every status on. */
static int noted_calls(struct locus_pool *pool, int status, size_t calls)
{
    if (is_away(status)) {
        pthread_mutex_lock(&pool->lock);
        pool->stats.failures += calls;
        pthread_mutex_unlock(&pool->lock);
    }
    return status;
}

static int noted(struct locus_pool *pool, int status)
{
    return noted_calls(pool, status, 1);
}

/* ---- failing open ---------------------------------------------------------------- */

/* A memory pool with the live members of a list, at their counts. NULL: no memory. */
static void *copy_of(const struct locus_pool *pool, const struct locus_pool_list *list)
{
    char unused[1];
    void *copy = NULL;
    size_t added = 0;

    if (locus_pool_mem_ops.open("", "", &pool->config, &copy, unused, 0) != LOCUS_OK) {
        return NULL;
    }
    for (size_t i = 0; i < list->count; i++) {
        const struct locus_pool_member *m = &list->members[i];
        const char *const name = m->name;
        if (m->state == LOCUS_POOL_LIVE &&
            locus_pool_mem_ops.add(copy, &name, 1, LOCUS_POOL_START_AT, m->count,
                                   &added) != LOCUS_OK) {
            locus_pool_mem_ops.close(copy);
            return NULL;
        }
    }
    return copy;
}

/* Sees who is live while Redis answers, so that it is known when it does not. */
static void see(struct locus_pool *pool)
{
    struct locus_pool_list list = {0};
    void *seen = NULL;

    pthread_mutex_lock(&pool->lock);
    bool due = !pool->refreshing &&
               (pool->looked_ns == 0 ||
                clock_now_ns() - pool->looked_ns >= pool->config.snapshot_ns);
    pool->refreshing = pool->refreshing || due;
    pthread_mutex_unlock(&pool->lock);
    if (!due) {
        return;
    }
    if (pool->ops->list(pool->self, &list) == LOCUS_OK) {
        seen = copy_of(pool, &list);
    }
    free(list.members);
    pthread_rwlock_wrlock(&pool->local_lock);
    pthread_mutex_lock(&pool->lock);
    void *old = seen != NULL ? pool->local : NULL;
    if (seen != NULL) {
        pool->local = seen;
    }
    pool->looked_ns = clock_now_ns();
    pool->refreshing = false;
    pthread_mutex_unlock(&pool->lock);
    pthread_rwlock_unlock(&pool->local_lock);
    if (old != NULL) {
        locus_pool_mem_ops.close(old);
    }
}

/* The status stands when nothing has ever been seen. */
static int pick_local(struct locus_pool *pool, int status, size_t n,
                      char (*members)[LOCUS_POOL_MEMBER_SIZE])
{
    pthread_rwlock_rdlock(&pool->local_lock);
    if (pool->local != NULL &&
        locus_pool_mem_ops.pick(pool->local, n, members) == LOCUS_OK) {
        status = LOCUS_OK;
    }
    pthread_rwlock_unlock(&pool->local_lock);
    if (status == LOCUS_OK) {
        pthread_mutex_lock(&pool->lock);
        pool->stats.local_picks += n;
        pthread_mutex_unlock(&pool->lock);
    }
    return status;
}

/* ---- picks ----------------------------------------------------------------------- */

static void count_picks(struct locus_pool *pool, int first, int status, size_t n,
                        size_t calls)
{
    pthread_mutex_lock(&pool->lock);
    pool->stats.picks += status == LOCUS_OK ? n : 0;
    pool->stats.empty += first == LOCUS_ENOSERVER ? calls : 0;
    pool->stats.ambiguous += first == LOCUS_EAMBIGUOUS ? n : 0;
    pthread_mutex_unlock(&pool->lock);
}

/* n members for so many calls of the user. */
static int pick(struct locus_pool *pool, size_t n, size_t calls,
                char (*members)[LOCUS_POOL_MEMBER_SIZE])
{
    int first = noted_calls(pool, pool->ops->pick(pool->self, n, members), calls);
    int status = first;

    if (pool->config.fail == LOCUS_POOL_FAIL_OPEN && pool->ops != &locus_pool_mem_ops) {
        if (is_away(first)) {
            status = pick_local(pool, first, n, members);
        } else {
            see(pool);
        }
    }
    count_picks(pool, first, status, n, calls);
    if (status != LOCUS_OK) {
        members[0][0] = '\0';
    }
    return status;
}

/*
 * A locus_batch_fn: the keys are pointers to the callers' own buffers. They stay valid
 * since these callers wait for ever, and a pool is closed only when nobody waits.
 */
static int pick_batch(void *ctx, struct locus_batch *batch)
{
    struct locus_pool *pool = ctx;
    char(*members)[LOCUS_POOL_MEMBER_SIZE] =
        pool->batches + (size_t)batch->slot * COALESCED_MAX;
    int status = pick(pool, batch->count, batch->count, members);

    for (size_t i = 0; i < batch->count; i++) {
        char *member;
        memcpy(&member, batch->items[i].key, sizeof(member));
        batch->items[i].status = status;
        if (status == LOCUS_OK) {
            memcpy(member, members[i], strlen(members[i]) + 1);
        }
    }
    return LOCUS_OK;
}

static int start_coalescing(struct locus_pool *pool)
{
    const struct locus_coalescer_config config = {
        .batch = pick_batch,
        .ctx = pool,
        .concurrency = pool->config.coalesce,
        .max_batch = COALESCED_MAX,
        .share = LOCUS_SHARE_NONE,
    };

    pool->batches =
        calloc(pool->config.coalesce, COALESCED_MAX * sizeof(*pool->batches));
    return pool->batches != NULL ? locus_coalescer_create(&config, &pool->picks)
                                 : LOCUS_ENOMEM;
}

static int pick_coalesced(struct locus_pool *pool, char *member)
{
    struct locus_result *result;

    member[0] = '\0';
    int status = locus_coalescer_get(pool->picks, &member, sizeof(member), 0, &result);
    locus_result_release(result);
    return status;
}

int locus_pool_pick(struct locus_pool *pool, char *member)
{
    if (pool->picks != NULL) {
        return pick_coalesced(pool, member);
    }
    /* An array of one; the caller's buffer has that size by contract. */
    return pick(pool, 1, 1, (char(*)[LOCUS_POOL_MEMBER_SIZE])(void *)member);
}

int locus_pool_pick_many(struct locus_pool *pool, size_t n,
                         char (*members)[LOCUS_POOL_MEMBER_SIZE], size_t *picked)
{
    *picked = 0;
    if (n == 0 || n > LOCUS_POOL_PICKS_MAX) {
        return LOCUS_ERANGE;
    }
    int status = pick(pool, n, 1, members);
    if (status == LOCUS_OK) {
        *picked = n;
    }
    return status;
}

static bool to_ms(uint64_t ttl_ns, uint64_t *out)
{
    *out = ttl_ns / NS_PER_MS;
    return *out >= 1 && *out <= UINT64_C(86400000) * TTL_DAYS_MAX;
}

/* ---- opening --------------------------------------------------------------------- */

static const struct pool_ops *ops_for(const char *uri)
{
    static const struct pool_ops *const kinds[] = {
        &locus_pool_mem_ops,
        &locus_pool_redis_ops,
    };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (uri_has_scheme(uri, kinds[i]->scheme)) {
            return kinds[i];
        }
    }
    return NULL;
}

static void set_defaults(struct locus_pool_config *config)
{
    config->fail_after = config->fail_after != 0 ? config->fail_after : 3;
    config->restore_after = config->restore_after != 0 ? config->restore_after : 2;
    config->snapshot_ns = config->snapshot_ns != 0 ? config->snapshot_ns : 5 * NS_PER_S;
}

static int refuse(char *error, size_t size, int status, const char *reason)
{
    if (size > 0) {
        snprintf(error, size, "%s", reason);
    }
    return status;
}

/* NULL: nothing. */
static const char *wrong_with(const struct locus_pool_config *config)
{
    uint64_t unused_ms;

    if (config->lease_limit > POOL_HELD_MAX) {
        return "expected a lease limit of at most 1048576";
    }
    if (config->coalesce > LOCUS_CONCURRENCY_MAX) {
        return "expected at most 1024 coalesced calls at once";
    }
    if (config->lifetime_ns != 0 &&
        (config->lifetime_ns < NS_PER_S || !to_ms(config->lifetime_ns, &unused_ms))) {
        return "expected a lifetime of 1 s to 30 days";
    }
    return NULL;
}

static int init_locks(struct locus_pool *pool)
{
    if (pthread_mutex_init(&pool->lock, NULL) != 0) {
        return LOCUS_ENOMEM;
    }
    if (pthread_rwlock_init(&pool->local_lock, NULL) != 0) {
        pthread_mutex_destroy(&pool->lock);
        return LOCUS_ENOMEM;
    }
    return LOCUS_OK;
}

int locus_pool_open(const char *uri, const char *name,
                    const struct locus_pool_config *config, struct locus_pool **out,
                    char *error, size_t error_size)
{
    const struct locus_pool_config defaults = {0};
    const struct pool_ops *ops = ops_for(uri);

    *out = NULL;
    config = config != NULL ? config : &defaults;
    if (ops == NULL) {
        return refuse(error, error_size, LOCUS_EINVAL, URI_FORMS " as the URI");
    }
    if (!text_is_name(name, LOCUS_POOL_NAME_MAX, "{}")) {
        return refuse(
            error, error_size, LOCUS_EINVAL,
            "expected a pool's name of 1 to 200 bytes without braces or control "
            "characters");
    }
    const char *wrong = wrong_with(config);
    if (wrong != NULL) {
        return refuse(error, error_size, LOCUS_EINVAL, wrong);
    }
    struct locus_pool *pool = calloc(1, sizeof(*pool));
    if (pool == NULL || init_locks(pool) != LOCUS_OK) {
        free(pool);
        return refuse(error, error_size, LOCUS_ENOMEM, "out of memory");
    }
    pool->config = *config;
    set_defaults(&pool->config);
    pool->ops = ops;
    int status = ops->open(uri, name, &pool->config, &pool->self, error, error_size);
    if (status == LOCUS_OK && pool->config.coalesce > 0 && ops != &locus_pool_mem_ops) {
        status = start_coalescing(pool);
    }
    if (status == LOCUS_ENOMEM) {
        refuse(error, error_size, status, "out of memory");
    }
    if (status != LOCUS_OK) {
        locus_pool_close(pool);
        return status;
    }
    *out = pool;
    return LOCUS_OK;
}

void locus_pool_close(struct locus_pool *pool)
{
    if (pool == NULL) {
        return;
    }
    locus_coalescer_destroy(pool->picks);
    free(pool->batches);
    if (pool->self != NULL) {
        pool->ops->close(pool->self);
    }
    if (pool->local != NULL) {
        locus_pool_mem_ops.close(pool->local);
    }
    pthread_rwlock_destroy(&pool->local_lock);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

/* ---- members --------------------------------------------------------------------- */

int locus_pool_add(struct locus_pool *pool, const char *const *members, size_t count,
                   enum locus_pool_start start, uint64_t value, size_t *added)
{
    size_t became = 0;

    if (added != NULL) {
        *added = 0;
    }
    for (size_t i = 0; i < count; i++) {
        if (!is_member(members[i])) {
            return LOCUS_EINVAL;
        }
    }
    if ((unsigned)start > LOCUS_POOL_START_AT) {
        return LOCUS_EINVAL;
    }
    if (start == LOCUS_POOL_START_AT && value > LOCUS_POOL_START_LIMIT) {
        return LOCUS_ERANGE;
    }
    int status =
        noted(pool, pool->ops->add(pool->self, members, count, start, value, &became));
    if (added != NULL) {
        *added = became;
    }
    return status;
}

int locus_pool_remove(struct locus_pool *pool, const char *member, bool drop)
{
    return is_member(member) ? noted(pool, pool->ops->remove(pool->self, member, drop))
                             : LOCUS_EINVAL;
}

int locus_pool_restore(struct locus_pool *pool, const char *member, bool exact)
{
    return is_member(member)
               ? noted(pool, pool->ops->restore(pool->self, member, exact))
               : LOCUS_EINVAL;
}

int locus_pool_report(struct locus_pool *pool, const char *member, bool success,
                      enum locus_pool_state *state)
{
    enum locus_pool_state unwanted;

    if (!is_member(member)) {
        return LOCUS_EINVAL;
    }
    return noted(pool, pool->ops->report(pool->self, member, success,
                                         state != NULL ? state : &unwanted));
}

/* Live ones as they would be picked, then the others by name. */
static int listed_before(const void *a, const void *b)
{
    const struct locus_pool_member *x = a;
    const struct locus_pool_member *y = b;
    bool x_out = x->state != LOCUS_POOL_LIVE;
    bool y_out = y->state != LOCUS_POOL_LIVE;

    if (x_out != y_out) {
        return x_out ? 1 : -1;
    }
    return locus_pool_compare(x_out ? 0 : x->count, x->name, y_out ? 0 : y->count,
                              y->name);
}

int locus_pool_list(struct locus_pool *pool, struct locus_pool_list **out)
{
    struct locus_pool_list *list = calloc(1, sizeof(*list));

    *out = NULL;
    if (list == NULL) {
        return LOCUS_ENOMEM;
    }
    int status = noted(pool, pool->ops->list(pool->self, list));
    if (status != LOCUS_OK) {
        locus_pool_list_free(list);
        return status;
    }
    qsort(list->members, list->count, sizeof(*list->members), listed_before);
    *out = list;
    return LOCUS_OK;
}

void locus_pool_list_free(struct locus_pool_list *list)
{
    if (list != NULL) {
        free(list->members);
        free(list);
    }
}

int locus_pool_get(struct locus_pool *pool, const char *member,
                   struct locus_pool_member *out)
{
    memset(out, 0, sizeof(*out));
    if (!is_member(member)) {
        return LOCUS_EINVAL;
    }
    int status = noted(pool, pool->ops->get(pool->self, member, out));
    if (status == LOCUS_OK) {
        memcpy(out->name, member, strlen(member) + 1);
    } else {
        memset(out, 0, sizeof(*out));
    }
    return status;
}

int locus_pool_rebase(struct locus_pool *pool)
{
    return noted(pool, pool->ops->rebase(pool->self));
}

int locus_pool_clear(struct locus_pool *pool)
{
    return noted(pool, pool->ops->clear(pool->self));
}

/* ---- leases ---------------------------------------------------------------------- */

static bool is_id(const char *text)
{
    return text != NULL &&
           strnlen(text, LOCUS_LEASE_ID_SIZE) == LOCUS_LEASE_ID_SIZE - 1 &&
           strspn(text, "0123456789abcdef") == LOCUS_LEASE_ID_SIZE - 1;
}

static int make_id(char id[LOCUS_LEASE_ID_SIZE])
{
    uint8_t bytes[(LOCUS_LEASE_ID_SIZE - 1) / 2];
    ssize_t got;

    do {
        got = getrandom(bytes, sizeof(bytes), 0);
    } while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof(bytes)) {
        return LOCUS_EIO;
    }
    for (size_t i = 0; i < sizeof(bytes); i++) {
        snprintf(id + 2 * i, 3, "%02x", bytes[i]);
    }
    return LOCUS_OK;
}

int locus_lease_acquire(struct locus_pool *pool, uint64_t ttl_ns,
                        struct locus_lease *out)
{
    uint64_t ttl_ms;

    memset(out, 0, sizeof(*out));
    if (!to_ms(ttl_ns, &ttl_ms)) {
        return LOCUS_ERANGE;
    }
    int status = make_id(out->id);
    if (status == LOCUS_OK) {
        status = noted(pool, pool->ops->acquire(pool->self, ttl_ms, out));
    }
    if (status != LOCUS_OK) {
        bool unknown = status == LOCUS_EAMBIGUOUS || status == LOCUS_ETIMEDOUT ||
                       status == LOCUS_EFORMAT;
        memset(out->member, 0, sizeof(out->member));
        memset(out->id, 0, unknown ? 0 : sizeof(out->id));
        out->held = 0;
    }
    return status;
}

int locus_lease_renew(struct locus_pool *pool, const char *id, uint64_t ttl_ns)
{
    uint64_t ttl_ms;

    if (!is_id(id)) {
        return LOCUS_EINVAL;
    }
    if (!to_ms(ttl_ns, &ttl_ms)) {
        return LOCUS_ERANGE;
    }
    return noted(pool, pool->ops->renew(pool->self, id, ttl_ms));
}

int locus_lease_release(struct locus_pool *pool, const char *id, bool *was_held)
{
    bool held = false;

    if (was_held != NULL) {
        *was_held = false;
    }
    if (!is_id(id)) {
        return LOCUS_EINVAL;
    }
    int status = noted(pool, pool->ops->release(pool->self, id, &held));
    if (was_held != NULL) {
        *was_held = held;
    }
    return status;
}

int locus_lease_set_limit(struct locus_pool *pool, const char *member, uint32_t limit)
{
    if (!is_member(member)) {
        return LOCUS_EINVAL;
    }
    if (limit > POOL_HELD_MAX) {
        return LOCUS_ERANGE;
    }
    return noted(pool, pool->ops->set_limit(pool->self, member, limit));
}

/* ---- figures --------------------------------------------------------------------- */

void locus_pool_get_stats(struct locus_pool *pool, struct locus_pool_stats *out)
{
    pthread_mutex_lock(&pool->lock);
    *out = pool->stats;
    pthread_mutex_unlock(&pool->lock);
    if (pool->ops->stats != NULL) {
        pool->ops->stats(pool->self, out);
    }
}

void locus_pool_error(struct locus_pool *pool, char *text, size_t size)
{
    if (size > 0) {
        text[0] = '\0';
    }
    if (pool->ops->error != NULL) {
        pool->ops->error(pool->self, text, size);
    }
}
