/* SPDX-License-Identifier: MIT */
#include "registry_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/errors.h"
#include "../base/values.h"
#include "client.h"

static int parse_guard(const char *text, struct locus_guard *out)
{
    size_t length = strlen(text);
    bool percent = length > 0 && text[length - 1] == '%';
    uint64_t value;

    if (!read_number(text, length - percent, &value) ||
        value > (percent ? 100 : UINT32_MAX)) {
        return usage_error("registry",
                           "--min-healthy: expected a count, or 0%% to 100%%, not '%s'",
                           text);
    }
    *(percent ? &out->min_percent : &out->min_healthy) = (uint32_t)value;
    return EXIT_OK;
}

int registry_client_open(struct registry_client *client)
{
    const struct locus_registry_config config = {
        .total_timeout_ns = client->timeout_ns,
        .command_timeout_ns = client->timeout_ns,
        .connect_timeout_ns = client->timeout_ns,
    };
    const char *uri = client->uri != NULL ? client->uri : getenv("LOCUS_REGISTRY_URI");
    char name[LOCUS_CLUSTER_MAX + 8];
    char why[CLIENT_WORDS] = "out of memory";

    if (client->min_healthy != NULL) {
        int code = parse_guard(client->min_healthy, &client->guard);
        if (code != EXIT_OK) {
            return code;
        }
    }
    if (uri == NULL) {
        return usage_error("registry",
                           "which registry? Give --uri, or set LOCUS_REGISTRY_URI");
    }
    snprintf(name, sizeof(name), "%s%s", client->name, client->demo > 0 ? "-demo" : "");
    int status =
        locus_registry_open(uri, name, &config, &client->registry, why, sizeof(why));
    return client_opened("registry", status, why);
}

int registry_failed(const struct registry_client *c, const char *what, int status)
{
    char words[CLIENT_WORDS] = "";

    if (status == LOCUS_EREFUSED && c->min_healthy != NULL) {
        fprintf(stderr, "locus registry: %s: refused, fewer than %s would remain\n",
                what, c->min_healthy);
        return EXIT_RUNTIME;
    }
    locus_registry_error(c->registry, words, sizeof(words));
    return client_failed("registry", what, status, words);
}

static int visit_one(const struct registry_client *c, const char *cluster,
                     bool missing_ok, registry_visit_fn *visit, void *arg)
{
    struct locus_endpoints list;
    int status = locus_registry_list_endpoints(c->registry, cluster, 0, &list);

    if (status == LOCUS_ENOENT && missing_ok) {
        return EXIT_OK;
    }
    if (status != LOCUS_OK) {
        return registry_failed(c, cluster, status);
    }
    int code = visit(c, cluster, &list, arg);
    locus_endpoints_release(&list);
    return code;
}

int registry_each_cluster(const struct registry_client *c, bool missing_ok,
                          registry_visit_fn *visit, void *arg)
{
    struct locus_clusters all;
    int code = EXIT_OK;

    for (size_t i = 0; i < c->count && code == EXIT_OK; i++) {
        code = visit_one(c, c->arguments[i], missing_ok, visit, arg);
    }
    if (c->count > 0) {
        return code;
    }
    int status = locus_registry_list_clusters(c->registry, &all);
    if (status != LOCUS_OK) {
        return registry_failed(c, "list", status);
    }
    for (size_t i = 0; i < all.count && code == EXIT_OK; i++) {
        code = visit_one(c, all.names[i], missing_ok, visit, arg);
    }
    locus_clusters_release(&all);
    return code;
}
