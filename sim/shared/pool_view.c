/* SPDX-License-Identifier: MIT */
/* Subcommands of 'locus pool' that show all members: list, stats, watch. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../base/errors.h"
#include "../base/now.h"
#include "../base/output.h"
#include "client.h"
#include "pool_client.h"

enum { TERMINAL_ROWS = 20 }; /* of a table that is redrawn */

static int list_json(const struct locus_pool_list *list)
{
    int code = EXIT_OK;

    for (size_t i = 0; i < list->count && code == EXIT_OK; i++) {
        const struct locus_pool_member *m = &list->members[i];
        code =
            output_json("pool", "{s:s,s:I,s:s,s:I,s:I}", "member", m->name, "count",
                        (json_int_t)m->count, "state", pool_state_word(m->state),
                        "streak", (json_int_t)m->streak, "leases", (json_int_t)m->held);
    }
    return code;
}

static void list_table(const struct locus_pool_list *list, size_t rows)
{
    int width = 6;

    for (size_t i = 0; i < list->count; i++) {
        int length = (int)strlen(list->members[i].name);
        width = length > width ? length : width;
    }
    if (list->count > 0) {
        printf("%-*s %16s %8s %s\n", width, "member", "count", "leases", "state");
    }
    for (size_t i = 0; i < list->count && i < rows; i++) {
        const struct locus_pool_member *m = &list->members[i];
        printf("%-*s %16" PRIu64 " %8" PRIu64 " %s\n", width, m->name, m->count,
               m->held, pool_state_word(m->state));
    }
    if (rows < list->count) {
        printf("... %zu more\n", list->count - rows);
    }
}

int pool_list(const struct pool_client *c)
{
    struct locus_pool_list *list;
    int status = locus_pool_list(c->pool, &list);
    int code = EXIT_OK;

    if (status != LOCUS_OK) {
        return pool_failed(c, "list", status);
    }
    if (c->json) {
        code = list_json(list);
    } else {
        list_table(list, SIZE_MAX);
    }
    locus_pool_list_free(list);
    return code;
}

/* Sums over all members; counts are of the live ones. */
struct totals {
    uint64_t states[3], count, lowest, highest, leases;
};

static struct totals total(const struct locus_pool_list *list)
{
    struct totals t = {.lowest = UINT64_MAX};

    for (size_t i = 0; i < list->count; i++) {
        const struct locus_pool_member *m = &list->members[i];
        t.states[m->state]++;
        t.leases += m->held;
        if (m->state == LOCUS_POOL_LIVE) {
            t.count += m->count;
            t.lowest = m->count < t.lowest ? m->count : t.lowest;
            t.highest = m->count > t.highest ? m->count : t.highest;
        }
    }
    t.lowest = t.states[LOCUS_POOL_LIVE] == 0 ? 0 : t.lowest;
    return t;
}

static int stats_json(const struct totals *t)
{
    return output_json("pool", "{s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "live",
                       (json_int_t)t->states[LOCUS_POOL_LIVE], "removed",
                       (json_int_t)t->states[LOCUS_POOL_REMOVED], "unhealthy",
                       (json_int_t)t->states[LOCUS_POOL_UNHEALTHY], "count",
                       (json_int_t)t->count, "lowest", (json_int_t)t->lowest, "highest",
                       (json_int_t)t->highest, "leases", (json_int_t)t->leases);
}

int pool_stats(const struct pool_client *c)
{
    struct locus_pool_list *list;
    int status = locus_pool_list(c->pool, &list);

    if (status != LOCUS_OK) {
        return pool_failed(c, "stats", status);
    }
    struct totals t = total(list);
    locus_pool_list_free(list);
    if (c->json) {
        return stats_json(&t);
    }
    printf("live       %16" PRIu64 "\nremoved    %16" PRIu64 "\nunhealthy  %16" PRIu64
           "\ncount      %16" PRIu64 "\nlowest     %16" PRIu64 "\nhighest    %16" PRIu64
           "\nleases     %16" PRIu64 "\n",
           t.states[LOCUS_POOL_LIVE], t.states[LOCUS_POOL_REMOVED],
           t.states[LOCUS_POOL_UNHEALTHY], t.count, t.lowest, t.highest, t.leases);
    return EXIT_OK;
}

/* The previous look, for a rate. */
struct watch {
    const struct pool_client *client;
    uint64_t count, at_ns; /* at_ns 0: this is the first look */
};

/* Picks per second. Counts fall when members leave or are rebased: no rate then, rather than a
 * wrong one. */
static uint64_t rate_since(const struct watch *before, uint64_t count, uint64_t at_ns)
{
    if (before->at_ns == 0 || count <= before->count || at_ns <= before->at_ns) {
        return 0;
    }
    return (uint64_t)((double)(count - before->count) * 1e9 /
                      (double)(at_ns - before->at_ns));
}

static int look(void *arg)
{
    struct watch *watch = arg;
    const struct pool_client *c = watch->client;
    struct locus_pool_list *list;
    int status = locus_pool_list(c->pool, &list);
    int code = EXIT_OK;

    if (status != LOCUS_OK) {
        return pool_failed(c, "watch", status);
    }
    uint64_t at_ns = now_ns();
    struct totals t = total(list);
    if (c->json) {
        code = list_json(list);
    } else {
        bool terminal = isatty(STDOUT_FILENO) == 1;
        printf("%s%s: %" PRIu64 " live, %" PRIu64 " removed, %" PRIu64
               " unhealthy; %" PRIu64 " picks/s; spread %" PRIu64 "; %" PRIu64
               " leases\n",
               terminal ? "\033[H\033[J" : "", c->name, t.states[LOCUS_POOL_LIVE],
               t.states[LOCUS_POOL_REMOVED], t.states[LOCUS_POOL_UNHEALTHY],
               rate_since(watch, t.count, at_ns), t.highest - t.lowest, t.leases);
        list_table(list, terminal ? TERMINAL_ROWS : SIZE_MAX);
        fflush(stdout);
    }
    locus_pool_list_free(list);
    watch->count = t.count;
    watch->at_ns = at_ns;
    return code;
}

int pool_watch(const struct pool_client *c, const volatile int *stop)
{
    const struct client_watch how = {c->interval_ns, c->rounds, stop};
    struct watch watch = {.client = c};

    return client_watch(&how, look, &watch);
}
