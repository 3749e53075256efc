/* SPDX-License-Identifier: MIT */
/* 'locus registry list' and 'watch': endpoints, and what came, went or changed since the last
 * look. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../base/errors.h"
#include "../base/output.h"
#include "client.h"
#include "registry_client.h"

static void format_time(uint64_t ns, char *out, size_t size)
{
    time_t seconds = (time_t)(ns / 1000000000);
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
        code = output_json("registry", "{s:s,s:s,s:I,s:b,s:I}", "cluster", cluster,
                           "address", e->address, "weight", (json_int_t)e->weight,
                           "healthy", (int)e->healthy, "since_ms",
                           (json_int_t)(e->since_ns / 1000000));
    }
    return code;
}

static int list_one(const struct registry_client *c, const char *cluster,
                    const struct locus_endpoints *list, void *arg)
{
    int width = 7;

    (void)arg;
    if (c->json) {
        return list_json(cluster, list);
    }
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
    return EXIT_OK;
}

int registry_list(const struct registry_client *c)
{
    /* Of all clusters, one may go after they were listed. */
    return registry_each_cluster(c, c->count == 0, list_one, NULL);
}

/* ---- watch ----------------------------------------------------------------------- */

struct watch {
    const struct registry_client *client;
    json_t *before; /* what the last look saw: "cluster address" -> "weight up|down" */
};

/* "_nocheck": names may be any bytes, not only UTF-8. */
static int see(const struct registry_client *c, const char *cluster,
               const struct locus_endpoints *list, void *arg)
{
    char key[LOCUS_CLUSTER_MAX + LOCUS_ENDPOINT_MAX + 2];

    (void)c;
    for (size_t i = 0; i < list->count; i++) {
        const struct locus_endpoint *e = &list->items[i];
        snprintf(key, sizeof(key), "%s %s", cluster, e->address);
        if (json_object_set_new_nocheck(arg, key,
                                        json_sprintf("%" PRIu32 " %s", e->weight,
                                                     e->healthy ? "up" : "down")) !=
            0) {
            return memory_error("registry");
        }
    }
    return EXIT_OK;
}

static int print_difference(bool json, const char *endpoint, const char *before,
                            const char *now)
{
    const char *change = before == NULL ? "added" : now == NULL ? "gone" : "changed";
    const char *state = now != NULL ? now : before;

    if (before != NULL && now != NULL && strcmp(before, now) == 0) {
        return EXIT_OK;
    }
    if (json) {
        return output_json("registry", "{s:s,s:s,s:s}", "change", change, "endpoint",
                           endpoint, "state", state);
    }
    printf("%c %s %s\n",
           before == NULL ? '+'
           : now == NULL  ? '-'
                          : '*',
           endpoint, state);
    return EXIT_OK;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* By endpoint, as bytes order. */
static int print_differences(bool json, json_t *before, json_t *now)
{
    json_t *all = json_copy(now);
    const char **keys = NULL, *key;
    json_t *state;
    size_t count = 0;
    int code = EXIT_OK;

    if (all != NULL && json_object_update_missing(all, before) == 0) {
        keys = calloc(json_object_size(all) + 1, sizeof(*keys));
    }
    if (keys == NULL) {
        json_decref(all);
        return memory_error("registry");
    }
    json_object_foreach(all, key, state)
    {
        keys[count++] = key;
    }
    qsort(keys, count, sizeof(*keys), compare_texts);
    for (size_t i = 0; i < count && code == EXIT_OK; i++) {
        code = print_difference(json, keys[i],
                                json_string_value(json_object_get(before, keys[i])),
                                json_string_value(json_object_get(now, keys[i])));
    }
    fflush(stdout);
    free(keys);
    json_decref(all);
    return code;
}

static int look(void *arg)
{
    struct watch *watch = arg;
    json_t *now = json_object();
    int code = registry_each_cluster(watch->client, true, see, now);

    if (code == EXIT_OK) {
        code = print_differences(watch->client->json, watch->before, now);
    }
    json_decref(watch->before);
    watch->before = now;
    return code;
}

int registry_watch(const struct registry_client *c, const volatile int *stop)
{
    const struct client_watch how = {c->interval_ns, c->rounds, stop};
    struct watch watch = {.client = c, .before = json_object()};
    int code = client_watch(&how, look, &watch);

    json_decref(watch.before);
    return code;
}
