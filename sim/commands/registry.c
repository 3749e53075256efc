/* SPDX-License-Identifier: MIT */
/*
 * locus registry: endpoints by cluster from the shell, and drain, which takes everything
 * out at once and shows where the guard stops it. One subcommand is one function and one
 * line of a table.
 */
#include "commands.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include <locus/registry.h>

#include "../base/output.h"
#include "../cli/progress.h"

#define NS_PER_S UINT64_C(1000000000)

enum { DRAIN_THREADS_MAX = 1024, IMPORT_CHUNK = 1024 };

struct registry_options {
    const char *uri, *name, *min_healthy;
    uint64_t weight, timeout_ns, interval_ns, rounds, threads, demo, max_bad;
    bool down, json, quiet;
};

struct session {
    const struct registry_options *options;
    struct locus_registry *registry;
    struct locus_guard guard;
    char *const *arguments; /* behind the subcommand */
    size_t count;
};

#define AT(field) offsetof(struct registry_options, field)

static const struct option_spec options[] = {
    OPT_TEXT(
        "uri", 'u', AT(uri), "URI",
        "Where the registry is: redis://[[user]:password@]host[:port][/db], "
        "redis+unix:///path or mem: (gone when the command ends). Default: "
        "LOCUS_REGISTRY_URI of the environment, which keeps a password out of ps."),
    OPT_TEXT("registry", 'r', AT(name), "NAME", "The registry's name; default."),
    OPT_FLAG("json", 'j', AT(json), "Print JSON, one object a line."),
    OPT_NUMBER("weight", 'w', AT(weight), "N", 0, LOCUS_ENDPOINT_WEIGHT,
               "put, import: of endpoints that tell none; 1."),
    OPT_FLAG("down", 0, AT(down), "put: as unhealthy."),
    OPT_TEXT("min-healthy", 'm', AT(min_healthy), "N|N%",
             "remove, quiesce, down, drain: refuse what would leave a cluster fewer "
             "live endpoints than that, or than that part of its size, rounded up."),
    OPT_NUMBER("threads", 't', AT(threads), "N", 1, DRAIN_THREADS_MAX,
               "drain: removals at once; 64."),
    OPT_NUMBER("demo", 0, AT(demo), "N", 1, 100000,
               "drain: not of this registry, but of NAME-demo: N clusters of 20 "
               "endpoints each, made first and deleted after."),
    OPT_FLAG("quiet", 'q', AT(quiet),
             "drain: only the sums, not each refused endpoint."),
    OPT_NUMBER("max-bad", 0, AT(max_bad), "N", 0, 0,
               "import: end with 3 when more lines than that are malformed; 0."),
    OPT_TIME("timeout", 0, AT(timeout_ns), 1000000, 86400 * NS_PER_S,
             "Give up on Redis after this; 3s."),
    OPT_TIME("interval", 'i', AT(interval_ns), 10000000, 86400 * NS_PER_S,
             "watch: between two looks; 1s."),
    OPT_NUMBER("rounds", 0, AT(rounds), "N", 0, 0,
               "watch: stop after N looks; 0: never."),
    OPT_END,
};

/* What went wrong, on stderr; the exit code for it. */
static int failure(const struct session *s, const char *what, int status)
{
    char words[256] = "";

    if (status == LOCUS_EREFUSED && s->options->min_healthy != NULL) {
        fprintf(stderr, "locus registry: %s: refused, fewer than %s would remain\n",
                what, s->options->min_healthy);
        return EXIT_RUNTIME;
    }
    if (status != LOCUS_ENOENT && status != LOCUS_EINVAL && status != LOCUS_ERANGE) {
        locus_registry_error(s->registry, words, sizeof(words));
    }
    fprintf(stderr, "locus registry: %s: %s%s%s%s\n", what, locus_strerror(status),
            words[0] != '\0' ? " (" : "", words, words[0] != '\0' ? ")" : "");
    return status == LOCUS_EINVAL || status == LOCUS_ERANGE ? EXIT_USAGE : EXIT_RUNTIME;
}

static int no_memory(void)
{
    fprintf(stderr, "locus registry: out of memory\n");
    return EXIT_RUNTIME;
}

static int print_json(json_t *object)
{
    return output_json_line("registry", object);
}

/* ---- single changes -------------------------------------------------------------- */

/* The same change for each address behind the cluster. */
static int change_each(const struct session *s, struct locus_registry_change change)
{
    int code = EXIT_OK;

    change.cluster = s->arguments[0];
    change.guard = s->guard;
    for (size_t i = 1; i < s->count; i++) {
        change.address = s->arguments[i];
        int status = locus_registry_change(s->registry, &change);
        if (status != LOCUS_OK) {
            code = failure(s, s->arguments[i], status);
        }
    }
    return code;
}

static int run_put(const struct session *s)
{
    return change_each(s, (struct locus_registry_change){
                              .op = LOCUS_REGISTRY_PUT,
                              .weight = (uint32_t)s->options->weight,
                              .healthy = !s->options->down,
                          });
}

static int run_remove(const struct session *s)
{
    return change_each(s, (struct locus_registry_change){.op = LOCUS_REGISTRY_REMOVE});
}

static int run_quiesce(const struct session *s)
{
    return change_each(s, (struct locus_registry_change){.op = LOCUS_REGISTRY_QUIESCE});
}

static int run_down(const struct session *s)
{
    return change_each(s, (struct locus_registry_change){.op = LOCUS_REGISTRY_DOWN});
}

static int run_resize(const struct session *s)
{
    struct locus_registry_change change = {
        .op = LOCUS_REGISTRY_RESIZE,
        .cluster = s->arguments[0],
    };
    uint64_t size;

    if (!read_number(s->arguments[1], strlen(s->arguments[1]), &size) ||
        size > LOCUS_CLUSTER_ENDPOINTS) {
        return usage_error("registry", "resize: expected a size of 0 to %d, not '%s'",
                           LOCUS_CLUSTER_ENDPOINTS, s->arguments[1]);
    }
    change.size = (uint32_t)size;
    int status = locus_registry_change(s->registry, &change);
    return status == LOCUS_OK ? EXIT_OK : failure(s, change.cluster, status);
}

/* ---- list ------------------------------------------------------------------------ */

/* Calls visit for the clusters named, or for all. */
static int each_cluster(const struct session *s,
                        int (*visit)(const struct session *s, const char *cluster,
                                     void *arg),
                        void *arg)
{
    struct locus_clusters all = {0};
    int code = EXIT_OK;

    for (size_t i = 0; i < s->count && code == EXIT_OK; i++) {
        code = visit(s, s->arguments[i], arg);
    }
    if (s->count > 0) {
        return code;
    }
    int status = locus_registry_list_clusters(s->registry, &all);
    if (status != LOCUS_OK) {
        return failure(s, "list", status);
    }
    for (size_t i = 0; i < all.count && code == EXIT_OK; i++) {
        code = visit(s, all.names[i], arg);
    }
    locus_clusters_release(&all);
    return code;
}

static void format_time(uint64_t ns, char *out, size_t size)
{
    time_t seconds = (time_t)(ns / NS_PER_S);
    struct tm parts;

    if (gmtime_r(&seconds, &parts) == NULL ||
        strftime(out, size, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0) {
        snprintf(out, size, "?");
    }
}

static int list_json(const char *cluster, const struct locus_endpoints *list)
{
    int code = EXIT_OK;

    for (size_t i = 0; i < list->count && code == EXIT_OK; i++) {
        const struct locus_endpoint *e = &list->items[i];
        code = print_json(json_pack(
            "{s:s%,s:s%,s:I,s:b,s:I}", "cluster", cluster, strlen(cluster), "address",
            e->address, strlen(e->address), "weight", (json_int_t)e->weight, "healthy",
            (int)e->healthy, "since_ms", (json_int_t)(e->since_ns / 1000000)));
    }
    return code;
}

static void list_table(const char *cluster, const struct locus_endpoints *list)
{
    int width = 7;

    for (size_t i = 0; i < list->count; i++) {
        int length = (int)strlen(list->items[i].address);
        width = length > width ? length : width;
    }
    printf("%s: %" PRIu32 " live of %zu, size %" PRIu32 "\n", cluster, list->live,
           list->count, list->size);
    for (size_t i = 0; i < list->count; i++) {
        const struct locus_endpoint *e = &list->items[i];
        char since[32];
        format_time(e->since_ns, since, sizeof(since));
        printf("  %-*s %10" PRIu32 " %-4s %s\n", width, e->address, e->weight,
               e->healthy ? "up" : "down", since);
    }
}

static int list_one(const struct session *s, const char *cluster, void *arg)
{
    struct locus_endpoints list;
    int code = EXIT_OK;

    (void)arg;
    int status = locus_registry_list_endpoints(s->registry, cluster, 0, &list);
    if (status == LOCUS_ENOENT && s->count == 0) {
        return EXIT_OK; /* gone since the clusters were listed */
    }
    if (status != LOCUS_OK) {
        return failure(s, cluster, status);
    }
    if (s->options->json) {
        code = list_json(cluster, &list);
    } else {
        list_table(cluster, &list);
    }
    locus_endpoints_release(&list);
    return code;
}

static int run_list(const struct session *s)
{
    return each_cluster(s, list_one, NULL);
}

/* ---- import ---------------------------------------------------------------------- */

struct chunk {
    struct locus_registry_change changes[IMPORT_CHUNK];
    char *texts[IMPORT_CHUNK]; /* owned: the line, which the change points into */
    uint64_t lines[IMPORT_CHUNK];
    size_t count;
    uint64_t imported, bad;
};

/* "CLUSTER ADDRESS [WEIGHT [up|down]]" cut in place; the reason, or NULL. */
static const char *parse_line(const struct session *s, char *line,
                              struct locus_registry_change *out)
{
    char *words[5] = {NULL};
    size_t count = 0;
    uint64_t weight = s->options->weight;
    char *rest;

    for (char *word = strtok_r(line, " \t\r\n", &rest); word != NULL && count < 5;
         word = strtok_r(NULL, " \t\r\n", &rest)) {
        words[count++] = word;
    }
    if (count < 2 || count > 4) {
        return "expected CLUSTER ADDRESS [WEIGHT [up|down]]";
    }
    if (count > 2 && (!read_number(words[2], strlen(words[2]), &weight) ||
                      weight > LOCUS_ENDPOINT_WEIGHT)) {
        return "weight: expected 0 to 2147483647";
    }
    if (count > 3 && strcmp(words[3], "up") != 0 && strcmp(words[3], "down") != 0) {
        return "health: expected up or down";
    }
    *out = (struct locus_registry_change){
        .op = LOCUS_REGISTRY_PUT,
        .cluster = words[0],
        .address = words[1],
        .weight = (uint32_t)weight,
        .healthy = count < 4 || strcmp(words[3], "up") == 0,
    };
    return NULL;
}

static int send_chunk(const struct session *s, const char *file, struct chunk *chunk)
{
    int code = EXIT_OK;

    (void)!locus_registry_apply(s->registry, chunk->changes, chunk->count);
    for (size_t i = 0; i < chunk->count; i++) {
        int status = chunk->changes[i].status;
        if (status == LOCUS_EINVAL) {
            fprintf(stderr, "locus registry: %s:%" PRIu64 ": malformed name\n", file,
                    chunk->lines[i]);
            chunk->bad++;
        } else if (status != LOCUS_OK && code == EXIT_OK) {
            code = failure(s, chunk->changes[i].address, status);
        }
        chunk->imported += status == LOCUS_OK;
        free(chunk->texts[i]);
    }
    chunk->count = 0;
    return code;
}

static int import_lines(const struct session *s, FILE *in, const char *file,
                        struct chunk *chunk)
{
    char *line = NULL;
    size_t size = 0;
    int code = EXIT_OK;
    uint64_t number = 0;

    while (code == EXIT_OK && getline(&line, &size, in) >= 0) {
        number++;
        size_t blank = strspn(line, " \t\r\n");
        if (line[blank] == '\0' || line[blank] == '#') {
            continue;
        }
        char *copy = strdup(line);
        if (copy == NULL) {
            code = no_memory();
            break;
        }
        const char *reason = parse_line(s, copy, &chunk->changes[chunk->count]);
        if (reason != NULL) {
            fprintf(stderr, "locus registry: %s:%" PRIu64 ": %s\n", file, number,
                    reason);
            chunk->bad++;
            free(copy);
            continue;
        }
        chunk->texts[chunk->count] = copy;
        chunk->lines[chunk->count++] = number;
        if (chunk->count == IMPORT_CHUNK) {
            code = send_chunk(s, file, chunk);
        }
    }
    free(line);
    if (code == EXIT_OK && ferror(in)) {
        fprintf(stderr, "locus registry: %s: %s\n", file, strerror(errno));
        code = EXIT_RUNTIME;
    }
    int last = send_chunk(s, file, chunk);
    return code == EXIT_OK ? last : code;
}

static int run_import(const struct session *s)
{
    const char *file = s->arguments[0];
    bool standard = strcmp(file, "-") == 0;
    FILE *in = standard ? stdin : fopen(file, "re");
    struct chunk *chunk = calloc(1, sizeof(*chunk));

    if (in == NULL) {
        fprintf(stderr, "locus registry: %s: %s\n", file, strerror(errno));
        free(chunk);
        return EXIT_RUNTIME;
    }
    int code = chunk != NULL ? import_lines(s, in, file, chunk) : no_memory();
    if (chunk != NULL) {
        if (s->options->json) {
            (void)print_json(json_pack("{s:I,s:I}", "imported",
                                       (json_int_t)chunk->imported, "bad",
                                       (json_int_t)chunk->bad));
        } else {
            printf("%" PRIu64 " imported, %" PRIu64 " lines malformed\n",
                   chunk->imported, chunk->bad);
        }
        if (code == EXIT_OK && chunk->bad > s->options->max_bad) {
            code = EXIT_BAD_DATA;
        }
    }
    free(chunk);
    if (!standard) {
        fclose(in);
    }
    return code;
}

/* ---- watch ----------------------------------------------------------------------- */

/* All endpoints at one look, as words; sorted, since clusters and addresses are. */
struct look {
    struct seen {
        char *key; /* "cluster address" */
        char state[32];
    } * items;
    size_t count, room;
};

static void look_free(struct look *look)
{
    for (size_t i = 0; i < look->count; i++) {
        free(look->items[i].key);
    }
    free(look->items);
    memset(look, 0, sizeof(*look));
}

static bool look_add(struct look *look, const char *cluster,
                     const struct locus_endpoint *endpoint)
{
    if (look->count == look->room) {
        size_t room = look->room > 0 ? 2 * look->room : 64;
        struct seen *items = realloc(look->items, room * sizeof(*items));
        if (items == NULL) {
            return false;
        }
        look->items = items;
        look->room = room;
    }
    struct seen *seen = &look->items[look->count];
    if (asprintf(&seen->key, "%s %s", cluster, endpoint->address) < 0) {
        return false;
    }
    snprintf(seen->state, sizeof(seen->state), "%" PRIu32 " %s", endpoint->weight,
             endpoint->healthy ? "up" : "down");
    look->count++;
    return true;
}

static int look_at(const struct session *s, const char *cluster, void *arg)
{
    struct locus_endpoints list;
    bool fits = true;

    int status = locus_registry_list_endpoints(s->registry, cluster, 0, &list);
    if (status == LOCUS_ENOENT) {
        return EXIT_OK;
    }
    if (status != LOCUS_OK) {
        return failure(s, cluster, status);
    }
    for (size_t i = 0; i < list.count && fits; i++) {
        fits = look_add(arg, cluster, &list.items[i]);
    }
    locus_endpoints_release(&list);
    return fits ? EXIT_OK : no_memory();
}

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct seen *)a)->key, ((const struct seen *)b)->key);
}

static int print_difference(const struct session *s, const char *sign,
                            const struct seen *seen)
{
    if (!s->options->json) {
        printf("%s %s %s\n", sign, seen->key, seen->state);
        return EXIT_OK;
    }
    return print_json(json_pack("{s:s,s:s,s:s}", "change",
                                *sign == '+'   ? "added"
                                : *sign == '-' ? "gone"
                                               : "changed",
                                "endpoint", seen->key, "state", seen->state));
}

/* Two sorted looks, merged: what is new, gone, and of another state. */
static int print_differences(const struct session *s, const struct look *before,
                             const struct look *after)
{
    size_t b = 0, a = 0;
    int code = EXIT_OK;

    while (code == EXIT_OK && (b < before->count || a < after->count)) {
        int order = b == before->count  ? 1
                    : a == after->count ? -1
                                        : by_key(&before->items[b], &after->items[a]);
        if (order < 0) {
            code = print_difference(s, "-", &before->items[b++]);
        } else if (order > 0) {
            code = print_difference(s, "+", &after->items[a++]);
        } else {
            if (strcmp(before->items[b].state, after->items[a].state) != 0) {
                code = print_difference(s, "*", &after->items[a]);
            }
            a++;
            b++;
        }
    }
    fflush(stdout);
    return code;
}

static int run_watch(const struct session *s)
{
    const struct timespec pause = {
        .tv_sec = (time_t)(s->options->interval_ns / NS_PER_S),
        .tv_nsec = (long)(s->options->interval_ns % NS_PER_S),
    };
    struct look before = {0}, after = {0};
    int code = EXIT_OK;

    progress_catch_interrupt();
    for (uint64_t round = 1; progress_stop == 0; round++) {
        code = each_cluster(s, look_at, &after);
        if (code == EXIT_OK && after.count > 0) {
            qsort(after.items, after.count, sizeof(after.items[0]), by_key);
        }
        if (code == EXIT_OK) {
            code = print_differences(s, &before, &after);
        }
        look_free(&before);
        before = after;
        memset(&after, 0, sizeof(after));
        if (code != EXIT_OK || ferror(stdout) || round == s->options->rounds) {
            break;
        }
        nanosleep(&pause, NULL);
    }
    look_free(&before);
    return code;
}

/* ---- drain ----------------------------------------------------------------------- */

struct removal {
    struct locus_registry_change change;
    char cluster[LOCUS_CLUSTER_MAX + 1];
    char address[LOCUS_ENDPOINT_MAX + 1];
    bool live; /* when the drain began: what is not may go below any floor */
};

struct drain {
    const struct session *session;
    struct removal *removals; /* in an order in which neighbours are of many clusters */
    size_t count, room;
    _Atomic size_t next;
    uint64_t removed, refused, failed;
    uint64_t below; /* live endpoints taken out below the floor: a broken guard */
    uint64_t round_trips, elapsed_ns;
};

static int drain_collect(const struct session *s, const char *cluster, void *arg)
{
    struct drain *drain = arg;
    struct locus_endpoints list;

    int status = locus_registry_list_endpoints(s->registry, cluster, 0, &list);
    if (status != LOCUS_OK) {
        return failure(s, cluster, status);
    }
    if (drain->room - drain->count < list.count) {
        size_t room = 2 * drain->room + list.count;
        struct removal *removals = realloc(drain->removals, room * sizeof(*removals));
        if (removals == NULL) {
            locus_endpoints_release(&list);
            return no_memory();
        }
        drain->removals = removals;
        drain->room = room;
    }
    for (size_t i = 0; i < list.count; i++) {
        struct removal *r = &drain->removals[drain->count++];
        snprintf(r->cluster, sizeof(r->cluster), "%s", cluster);
        snprintf(r->address, sizeof(r->address), "%s", list.items[i].address);
        r->live = list.items[i].healthy && list.items[i].weight > 0;
    }
    locus_endpoints_release(&list);
    return EXIT_OK;
}

/* A fixed shuffle: a mass removal does not come cluster by cluster. */
static void drain_shuffle(struct drain *drain)
{
    uint64_t state = 88172645463325252u;

    for (size_t i = drain->count; i > 1; i--) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        struct removal swap = drain->removals[i - 1];
        drain->removals[i - 1] = drain->removals[state % i];
        drain->removals[state % i] = swap;
    }
}

static void *drain_thread(void *arg)
{
    struct drain *drain = arg;

    for (;;) {
        size_t i = atomic_fetch_add(&drain->next, 1);
        if (i >= drain->count) {
            return NULL;
        }
        struct removal *r = &drain->removals[i];
        r->change = (struct locus_registry_change){
            .op = LOCUS_REGISTRY_REMOVE,
            .cluster = r->cluster,
            .address = r->address,
            .guard = drain->session->guard,
        };
        (void)!locus_registry_change(drain->session->registry, &r->change);
    }
}

static uint64_t clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static int drain_run(struct drain *drain)
{
    struct locus_registry *registry = drain->session->registry;
    struct locus_registry_stats before, after;
    pthread_t threads[DRAIN_THREADS_MAX];
    size_t started = 0;

    locus_registry_get_stats(registry, &before);
    drain->elapsed_ns = clock_ns();
    while (started < drain->session->options->threads &&
           pthread_create(&threads[started], NULL, drain_thread, drain) == 0) {
        started++;
    }
    for (size_t i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
    }
    drain->elapsed_ns = clock_ns() - drain->elapsed_ns;
    locus_registry_get_stats(registry, &after);
    drain->round_trips = after.round_trips - before.round_trips;
    if (started == 0) {
        fprintf(stderr, "locus registry: cannot start a thread\n");
        return EXIT_RUNTIME;
    }
    return EXIT_OK;
}

static int drain_judge(struct drain *drain)
{
    const struct session *s = drain->session;
    int code = EXIT_OK;

    for (size_t i = 0; i < drain->count; i++) {
        const struct locus_registry_change *c = &drain->removals[i].change;
        bool told = c->status == LOCUS_OK || c->status == LOCUS_EREFUSED;
        drain->removed += c->status == LOCUS_OK;
        drain->refused += c->status == LOCUS_EREFUSED;
        drain->below +=
            c->status == LOCUS_OK && drain->removals[i].live && c->live < c->floor;
        if (!told) {
            drain->failed++;
            code = failure(s, c->address, c->status);
        } else if (c->status == LOCUS_EREFUSED && !s->options->quiet &&
                   !s->options->json) {
            printf("refused %s %s\n", c->cluster, c->address);
        } else if (c->status == LOCUS_EREFUSED && !s->options->quiet) {
            code = print_json(json_pack("{s:s%,s:s%}", "refused", c->address,
                                        strlen(c->address), "cluster", c->cluster,
                                        strlen(c->cluster)));
        }
    }
    return code;
}

static int drain_report(const struct drain *drain)
{
    const struct session *s = drain->session;

    if (isatty(STDERR_FILENO) == 1) {
        fprintf(stderr, "%.3f s\n", (double)drain->elapsed_ns * 1e-9);
    }
    if (s->options->json) {
        return print_json(json_pack(
            "{s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "asked", (json_int_t)drain->count,
            "removed", (json_int_t)drain->removed, "refused",
            (json_int_t)drain->refused, "failed", (json_int_t)drain->failed,
            "below_floor", (json_int_t)drain->below, "round_trips",
            (json_int_t)drain->round_trips, "elapsed_us",
            (json_int_t)(drain->elapsed_ns / 1000)));
    }
    printf("%zu removals asked by %" PRIu64 " threads at once: %" PRIu64
           " removed, %" PRIu64 " refused, %" PRIu64 " failed\n"
           "live endpoints taken out below their cluster's floor: %" PRIu64 "\n",
           drain->count, s->options->threads, drain->removed, drain->refused,
           drain->failed, drain->below);
    if (drain->round_trips > 0) {
        printf("round trips to Redis: %" PRIu64 "\n", drain->round_trips);
    }
    return EXIT_OK;
}

enum { DEMO_ENDPOINTS = 20 };

/* Puts, or takes away, the clusters of --demo. */
static int demo(const struct session *s, enum locus_registry_op op)
{
    for (uint64_t c = 0; c < s->options->demo; c++) {
        struct locus_registry_change changes[DEMO_ENDPOINTS];
        char cluster[32], addresses[DEMO_ENDPOINTS][32];
        snprintf(cluster, sizeof(cluster), "demo-%06" PRIu64, c);
        for (unsigned e = 0; e < DEMO_ENDPOINTS; e++) {
            snprintf(addresses[e], sizeof(addresses[e]), "10.%u.%u.%u:80",
                     (unsigned)(c >> 8) & 255, (unsigned)c & 255, e + 1);
            changes[e] = (struct locus_registry_change){
                .op = op,
                .cluster = cluster,
                .address = addresses[e],
                .weight = 1,
                .healthy = true,
            };
        }
        int status = locus_registry_apply(s->registry, changes, DEMO_ENDPOINTS);
        if (status != LOCUS_OK &&
            !(status == LOCUS_ENOENT && op == LOCUS_REGISTRY_REMOVE)) {
            return failure(s, cluster, status);
        }
    }
    return EXIT_OK;
}

static int drain(const struct session *s)
{
    struct drain drain = {.session = s};
    int code = each_cluster(s, drain_collect, &drain);

    if (code == EXIT_OK && drain.count == 0) {
        fprintf(stderr, "locus registry: drain: there are no endpoints\n");
        code = EXIT_EMPTY;
    }
    if (code == EXIT_OK) {
        drain_shuffle(&drain);
        code = drain_run(&drain);
    }
    if (code == EXIT_OK) {
        code = drain_judge(&drain);
        int report = drain_report(&drain);
        code = code == EXIT_OK ? report : code;
    }
    if (drain.below > 0) {
        code = EXIT_RUNTIME;
    }
    free(drain.removals);
    return code;
}

static int run_drain(const struct session *s)
{
    if (s->options->min_healthy == NULL) {
        return usage_error("registry",
                           "drain: which floor? Give --min-healthy N or N%%");
    }
    if (s->options->demo == 0) {
        return drain(s);
    }
    if (s->count > 0) {
        return usage_error("registry", "drain: --demo makes its own clusters");
    }
    int code = demo(s, LOCUS_REGISTRY_PUT);
    if (code == EXIT_OK) {
        code = drain(s);
    }
    int last = demo(s, LOCUS_REGISTRY_REMOVE);
    return code == EXIT_OK ? last : code;
}

/* ---- the command ----------------------------------------------------------------- */

static const struct subcommand {
    const char *name;
    size_t least, most; /* arguments */
    const char *expected;
    int (*run)(const struct session *s);
} subcommands[] = {
    {"put", 2, SIZE_MAX, "CLUSTER ADDRESS...", run_put},
    {"remove", 2, SIZE_MAX, "CLUSTER ADDRESS...", run_remove},
    {"quiesce", 2, SIZE_MAX, "CLUSTER ADDRESS...", run_quiesce},
    {"down", 2, SIZE_MAX, "CLUSTER ADDRESS...", run_down},
    {"resize", 2, 2, "CLUSTER N", run_resize},
    {"list", 0, SIZE_MAX, "[CLUSTER...]", run_list},
    {"import", 1, 1, "one FILE, or -", run_import},
    {"watch", 0, SIZE_MAX, "[CLUSTER...]", run_watch},
    {"drain", 0, SIZE_MAX, "[CLUSTER...]", run_drain},
};

static const char description[] =
    "Which endpoints serve which cluster. With --min-healthy, what takes an endpoint "
    "out "
    "is decided against the cluster's live endpoints, in one step with the change, so "
    "that a removal of everything stops exactly at the floor, from however many "
    "places it comes. Live: healthy, and of a weight above 0. A percentage is of the "
    "cluster's size, which grows with its endpoints and shrinks only by resize.\n"
    "\n"
    "  put CLUSTER ADDRESS...      adds, or sets --weight and --down\n"
    "  remove CLUSTER ADDRESS...   takes off the list\n"
    "  quiesce CLUSTER ADDRESS...  weight 0: nothing new\n"
    "  down CLUSTER ADDRESS...     marks unhealthy\n"
    "  resize CLUSTER N            sets the size\n"
    "  list [CLUSTER...]           endpoints, all clusters without a name\n"
    "  import FILE                 lines CLUSTER ADDRESS [WEIGHT [up|down]]\n"
    "  watch [CLUSTER...]          prints what comes (+), goes (-) and changes (*)\n"
    "  drain [CLUSTER...]          removes all at once; names what was refused\n"
    "\n"
    "Ends with 1 when an endpoint is unknown or its removal was refused; a drain, only "
    "when something failed or a cluster went below its floor.";

static const char examples[] =
    "# two endpoints; neither may go\n"
    "export LOCUS_REGISTRY_URI=redis://127.0.0.1/0\n"
    "locus registry put web 192.0.2.1:80 192.0.2.2:80\n"
    "locus registry --min-healthy 2 remove web 192.0.2.1:80\n"
    "# 10,000 removals over 500 clusters at once stop at half of each\n"
    "locus registry --uri mem: --demo 500 --min-healthy 50% --quiet drain\n";

static int parse_guard(const char *text, struct locus_guard *out)
{
    size_t length = text != NULL ? strlen(text) : 0;
    bool percent = length > 0 && text[length - 1] == '%';
    uint64_t value;

    if (text == NULL) {
        return 0;
    }
    if (!read_number(text, length - percent, &value) ||
        value > (percent ? 100 : UINT32_MAX)) {
        return usage_error("registry",
                           "--min-healthy: expected a count, or 0%% to 100%%, not '%s'",
                           text);
    }
    *(percent ? &out->min_percent : &out->min_healthy) = (uint32_t)value;
    return 0;
}

static int open_registry(const struct registry_options *o, struct locus_registry **out)
{
    const struct locus_registry_config config = {
        .total_timeout_ns = o->timeout_ns,
        .command_timeout_ns = o->timeout_ns,
        .connect_timeout_ns = o->timeout_ns,
    };
    const char *uri = o->uri != NULL ? o->uri : getenv("LOCUS_REGISTRY_URI");
    char why[256] = "out of memory";
    char name[LOCUS_CLUSTER_MAX + 8];

    snprintf(name, sizeof(name), "%s%s", o->name, o->demo > 0 ? "-demo" : "");
    if (uri == NULL) {
        return usage_error("registry",
                           "which registry? Give --uri, or set LOCUS_REGISTRY_URI");
    }
    int status = locus_registry_open(uri, name, &config, out, why, sizeof(why));
    if (status == LOCUS_EINVAL) {
        return usage_error("registry", "%s", why);
    }
    if (status != LOCUS_OK) {
        fprintf(stderr, "locus registry: %s\n", why);
        return EXIT_RUNTIME;
    }
    return EXIT_OK;
}

static int dispatch(const struct registry_options *o, const struct arguments *arguments)
{
    struct session s = {.options = o};
    const struct subcommand *found = NULL;

    if (arguments->count == 0) {
        return usage_error("registry", "expected a subcommand such as list");
    }
    const char *name = arguments->items[0];
    for (size_t i = 0; i < sizeof(subcommands) / sizeof(subcommands[0]); i++) {
        if (strcmp(name, subcommands[i].name) == 0) {
            found = &subcommands[i];
        }
    }
    if (found == NULL) {
        return usage_error("registry", "no subcommand '%s'", name);
    }
    s.arguments = arguments->items + 1;
    s.count = arguments->count - 1;
    if (s.count < found->least || s.count > found->most) {
        return usage_error("registry", "%s: expected %s", name, found->expected);
    }
    int code = parse_guard(o->min_healthy, &s.guard);
    if (code == 0) {
        code = open_registry(o, &s.registry);
    }
    if (code == EXIT_OK) {
        code = found->run(&s);
    }
    locus_registry_close(s.registry);
    return code;
}

static int run(int argc, char **argv)
{
    struct registry_options given = {
        .name = "default",
        .weight = 1,
        .threads = 64,
        .timeout_ns = 3 * NS_PER_S,
        .interval_ns = NS_PER_S,
    };
    struct arguments arguments;
    int status = options_parse(&cmd_registry, argc, argv, &given, &arguments);

    if (status != 0) {
        return status < 0 ? EXIT_OK : status;
    }
    return dispatch(&given, &arguments);
}

const struct command cmd_registry = {
    .name = "registry",
    .summary = "endpoints by cluster, and a guard on taking them out",
    .usage = "[options] --uri URI SUBCOMMAND [ARGUMENT...]",
    .description = description,
    .options = options,
    .examples = examples,
    .run = run,
};
