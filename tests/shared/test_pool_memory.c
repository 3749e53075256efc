/* SPDX-License-Identifier: MIT */
/*
 * Every allocation of the pool may fail, in memory and over Redis: the call then says so and
 * has changed nothing, or could do without; nothing leaks. The allocator's functions are
 * those below, put in their place by the linker (--wrap); hiredis keeps its own.
 */
#include <locus/pool.h>

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "redis_suite.h"

/* ---- the allocator --------------------------------------------------------------- */

static _Atomic long left = -1; /* until one fails; -1: none does */
static atomic_bool once;       /* one alone; else all after it too */
static atomic_long live;
static atomic_bool fired;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *ptr, size_t size);
char *__real_strndup(const char *text, size_t length);
void __real_free(void *ptr);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *ptr, size_t size);
char *__wrap_strndup(const char *text, size_t length);
void __wrap_free(void *ptr);

static bool fails(void)
{
    long n = atomic_load(&left);

    if (n > 0) {
        atomic_store(&left, n - 1);
    } else if (n == 0) {
        atomic_store(&fired, true);
        atomic_store(&left, atomic_load(&once) ? -1 : 0);
    }
    return n == 0;
}

static void *counted(void *ptr)
{
    live += ptr != NULL;
    return ptr;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : counted(__real_calloc(count, size));
}

void *__wrap_realloc(void *ptr, size_t size)
{
    if (fails()) {
        return NULL;
    }
    void *grown = __real_realloc(ptr, size);
    live += ptr == NULL && grown != NULL;
    return grown;
}

char *__wrap_strndup(const char *text, size_t length)
{
    return fails() ? NULL : counted(__real_strndup(text, length));
}

void __wrap_free(void *ptr)
{
    live -= ptr != NULL;
    __real_free(ptr);
}

/* The n-th allocation from now on fails, alone or with all after it. */
static void fail_at(long n, bool alone)
{
    once = alone;
    fired = false;
    left = n;
}

/* Whether one did. */
static bool failed(void)
{
    left = -1;
    return fired;
}

/* ---- what is done ---------------------------------------------------------------- */

enum { MANY = 300 };

static char names[MANY][LOCUS_POOL_MEMBER_SIZE];
static char picks[LOCUS_POOL_PICKS_MAX][LOCUS_POOL_MEMBER_SIZE];
static struct locus_lease held; /* of the pool that an operation finds */

static int add_one(struct locus_pool *pool)
{
    const char *const name = "new";

    return locus_pool_add(pool, &name, 1, LOCUS_POOL_START_MIN, 0, NULL);
}

static int add_many(struct locus_pool *pool)
{
    const char *members[MANY];

    for (size_t i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof(names[i]), "many-%zu", i);
        members[i] = names[i];
    }
    return locus_pool_add(pool, members, MANY, LOCUS_POOL_START_MIN, 0, NULL);
}

static int pick(struct locus_pool *pool)
{
    return locus_pool_pick(pool, picks[0]);
}

static int pick_many(struct locus_pool *pool)
{
    size_t picked;

    return locus_pool_pick_many(pool, LOCUS_POOL_PICKS_MAX, picks, &picked);
}

static int remove_one(struct locus_pool *pool)
{
    return locus_pool_remove(pool, "a", false);
}

static int drop_one(struct locus_pool *pool)
{
    return locus_pool_remove(pool, "a", true);
}

static int restore(struct locus_pool *pool)
{
    return locus_pool_restore(pool, "out", false);
}

static int report(struct locus_pool *pool)
{
    return locus_pool_report(pool, "a", false, NULL);
}

static int list(struct locus_pool *pool)
{
    struct locus_pool_list *listed;
    int status = locus_pool_list(pool, &listed);

    locus_pool_list_free(listed);
    return status;
}

static int get(struct locus_pool *pool)
{
    struct locus_pool_member member;

    return locus_pool_get(pool, "a", &member);
}

static int acquire(struct locus_pool *pool)
{
    struct locus_lease lease;

    return locus_lease_acquire(pool, 60000000000u, &lease);
}

/* One lease after the other, so that what holds them grows. */
static int acquire_many(struct locus_pool *pool)
{
    int status = LOCUS_OK;

    for (int i = 0; status == LOCUS_OK && i < 40; i++) {
        status = acquire(pool);
    }
    return status;
}

static int renew(struct locus_pool *pool)
{
    return locus_lease_renew(pool, held.id, 60000000000u);
}

static int release(struct locus_pool *pool)
{
    return locus_lease_release(pool, held.id, NULL);
}

static int set_limit(struct locus_pool *pool)
{
    return locus_lease_set_limit(pool, "a", 3);
}

static const struct {
    const char *name;
    int (*run)(struct locus_pool *pool);
    bool in_parts; /* what came before the failure stays */
} operations[] = {
    {"add", add_one, false},
    {"add many", add_many, true},
    {"pick", pick, false},
    {"pick many", pick_many, false},
    {"remove", remove_one, false},
    {"drop", drop_one, false},
    {"restore", restore, false},
    {"report", report, false},
    {"list", list, false},
    {"get", get, false},
    {"rebase", locus_pool_rebase, false},
    {"clear", locus_pool_clear, false},
    {"acquire", acquire, false},
    {"acquire many", acquire_many, true},
    {"renew", renew, false},
    {"release", release, false},
    {"limit", set_limit, false},
};
enum { OPERATIONS = sizeof(operations) / sizeof(operations[0]) };

/* ---- the sweep ------------------------------------------------------------------- */

/* Check allocates with every assertion that it passes: in here, MUST counts nothing. */
static struct locus_pool *open_plain(const char *uri)
{
    const struct locus_pool_config config = {.total_timeout_ns = 20000000000u,
                                             .command_timeout_ns = 20000000000u};
    struct locus_pool *pool;

    MUST(locus_pool_open(uri, "sweep", &config, &pool, NULL, 0) == LOCUS_OK);
    return pool;
}

/* Two live members, one removed, one lease. */
static void fill(struct locus_pool *pool)
{
    const char *const members[] = {"a", "b", "out"};

    MUST(locus_pool_clear(pool) == LOCUS_OK);
    MUST(locus_pool_add(pool, members, 3, LOCUS_POOL_START_AT, 7, NULL) == LOCUS_OK);
    MUST(locus_pool_remove(pool, "out", false) == LOCUS_OK);
    MUST(locus_lease_acquire(pool, 60000000000u, &held) == LOCUS_OK);
}

static void describe(struct locus_pool *pool, char *text, size_t size)
{
    struct locus_pool_list *listed;
    size_t used = 0;

    MUST(locus_pool_list(pool, &listed) == LOCUS_OK);
    text[0] = '\0';
    for (size_t i = 0; i < listed->count && used < size; i++) {
        const struct locus_pool_member *m = &listed->members[i];
        used += (size_t)snprintf(text + used, size - used, "%s=%llu/%d/%u/%llu ",
                                 m->name, (unsigned long long)m->count, (int)m->state,
                                 m->streak, (unsigned long long)m->held);
    }
    locus_pool_list_free(listed);
}

/* Over Redis a handle of its own does it, so that connecting may fail as well. */
static bool sweep_once(size_t op, const char *uri, struct locus_pool *observer, long n,
                       bool alone)
{
    struct locus_pool *pool = observer != NULL ? observer : open_plain(uri);
    struct locus_pool *own = observer != NULL ? open_plain(uri) : pool;
    char before[512], after[512];

    fill(pool);
    describe(pool, before, sizeof(before));
    fail_at(n, alone);
    int status = operations[op].run(own);
    bool some_failed = failed();
    if (status == LOCUS_ENOMEM) {
        describe(pool, after, sizeof(after));
        if (!operations[op].in_parts && strcmp(before, after) != 0) {
            ck_abort_msg("%s, allocation %ld: %s became %s", operations[op].name, n,
                         before, after);
        }
        status = operations[op].run(own);
    }
    if (status != LOCUS_OK) {
        ck_abort_msg("%s, allocation %ld: %s", operations[op].name, n,
                     locus_strerror(status));
    }
    locus_pool_close(own);
    return some_failed;
}

START_TEST(a_call_without_memory_changes_nothing_and_leaks_nothing)
{
    bool alone = _i % 2 == 0;
    bool over_redis = _i >= 2 * OPERATIONS;
    size_t op = (size_t)_i / 2 % OPERATIONS;
    long n = 0;
    struct locus_pool *observer = over_redis ? open_plain(server.uri) : NULL;

    if (over_redis) {
        fill(observer);
    }
    for (bool again = true; again; n++) {
        long at_first = live;
        again = sweep_once(op, over_redis ? server.uri : "mem:", observer, n, alone);
        long in_the_end = live;
        ck_assert_msg(at_first == in_the_end, "%s, allocation %ld: %ld are left",
                      operations[op].name, n, in_the_end - at_first);
    }
    ck_assert_int_gt(n, over_redis ? 1 : 0); /* connecting takes memory */
    locus_pool_close(observer);
}
END_TEST

/* Opening, and the first pick behind it. */
START_TEST(a_pool_is_opened_or_not)
{
    const struct locus_pool_config config = {
        .total_timeout_ns = 20000000000u,
        .command_timeout_ns = 20000000000u,
        .coalesce = 2,
        .snapshot_ns = 1,
        .fail = _i < 4 ? LOCUS_POOL_FAIL_CLOSED : LOCUS_POOL_FAIL_OPEN,
    };
    bool over_redis = _i / 2 % 2 == 1;
    const char *uri = over_redis ? server.uri : "mem:";
    struct locus_pool *filler = open_plain(server.uri);
    int status = LOCUS_ENOMEM;
    long n = 0;

    fill(filler);
    for (; status != LOCUS_OK; n++) {
        struct locus_pool *pool = filler; /* must be cleared */
        char why[100] = "", member[LOCUS_POOL_MEMBER_SIZE] = "?";
        long at_first = live;
        fail_at(n, _i % 2 == 0);
        status = locus_pool_open(uri, "sweep", &config, &pool, why, sizeof(why));
        int picked = status == LOCUS_OK ? locus_pool_pick(pool, member) : LOCUS_OK;
        bool some_failed = failed();
        locus_pool_close(pool);
        long in_the_end = live;
        ck_assert_int_eq(at_first, in_the_end);
        ck_assert_int_eq(status == LOCUS_OK, pool != NULL);
        ck_assert(status == LOCUS_OK || status == LOCUS_ENOMEM);
        ck_assert_str_eq(why, status == LOCUS_OK ? "" : "out of memory");
        if (status == LOCUS_OK && over_redis) {
            ck_assert(picked == LOCUS_OK || picked == LOCUS_ENOMEM);
            ck_assert_str_eq(member, picked == LOCUS_OK ? "a" : "");
            fill(filler);
        }
        status = some_failed ? LOCUS_ENOMEM : status;
    }
    ck_assert_int_gt(n, over_redis ? 8 : 2);
    locus_pool_close(filler);
}
END_TEST

START_TEST(rules_are_made_or_not_and_a_candidate_is_judged_or_not)
{
    const struct locus_eligibility_config config = {.schemes = "http,socks5",
                                                    .ports = "80,8000-8999",
                                                    .allow =
                                                        "10.1.0.0/16,2001:db8::/32",
                                                    .deny = "10.1.2.0/24"};
    int status = LOCUS_ENOMEM;
    long n = 0;

    for (; status != LOCUS_OK; n++) {
        const struct locus_candidate candidate = {
            .scheme = "http", .host = "10.1.0.1", .port = 80};
        char member[LOCUS_POOL_MEMBER_SIZE], why[100];
        const char *reason = NULL;
        struct locus_eligibility *rules;
        long at_first = live;
        fail_at(n, _i % 2 == 0);
        int made = locus_eligibility_create(&config, &rules, why, sizeof(why));
        int judged = made == LOCUS_OK
                         ? locus_eligibility_judge(rules, &candidate, member, &reason)
                         : made;
        bool some_failed = failed();
        int again = made == LOCUS_OK
                        ? locus_eligibility_judge(rules, &candidate, member, &reason)
                        : LOCUS_OK;
        locus_eligibility_destroy(rules);
        long in_the_end = live;
        ck_assert_int_eq(at_first, in_the_end);
        ck_assert(judged == LOCUS_OK || judged == LOCUS_ENOMEM);
        /* What was judged without memory is still new. */
        ck_assert_int_eq(again, made != LOCUS_OK || judged != LOCUS_OK ? LOCUS_OK
                                                                       : LOCUS_EEXIST);
        status = some_failed ? LOCUS_ENOMEM : judged;
    }
    ck_assert_int_gt(n, 6);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("pool memory");
    TCase *tc = redis_case(s, "memory");

    tcase_add_loop_test(tc, a_call_without_memory_changes_nothing_and_leaks_nothing, 0,
                        4 * OPERATIONS);
    tcase_add_loop_test(tc, a_pool_is_opened_or_not, 0, 8);
    tcase_add_loop_test(tc, rules_are_made_or_not_and_a_candidate_is_judged_or_not, 0,
                        2);
    return redis_suite_run(s);
}
