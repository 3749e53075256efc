/* SPDX-License-Identifier: MIT */
/*
 * locus registry: endpoints by cluster from the shell, and drain, which takes everything out at
 * once and shows where the guard stops it. What is more than one change is in
 * shared/registry_*.c.
 */
#include "commands.h"

#include <string.h>

#include "../cli/progress.h"
#include "../cli/subcommands.h"
#include "../shared/registry_client.h"

#define AT(field) offsetof(struct registry_client, field)

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
    OPT_NUMBER("threads", 't', AT(threads), "N", 1, REGISTRY_THREADS_MAX,
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

/* The same change to each address after the cluster. */
static int change_each(const struct registry_client *c, enum locus_registry_op op)
{
    int code = EXIT_OK;

    for (size_t i = 1; i < c->count; i++) {
        struct locus_registry_change change = {
            .op = op,
            .cluster = c->arguments[0],
            .address = c->arguments[i],
            .weight = (uint32_t)c->weight,
            .healthy = !c->down,
            .guard = c->guard,
        };
        int status = locus_registry_change(c->registry, &change);
        if (status != LOCUS_OK) {
            code = registry_failed(c, change.address, status);
        }
    }
    return code;
}

static int resize(const struct registry_client *c)
{
    const char *cluster = c->arguments[0], *text = c->arguments[1];
    uint64_t size;

    if (!read_number(text, strlen(text), &size) || size > LOCUS_CLUSTER_ENDPOINTS) {
        return usage_error("registry", "resize: expected a size of 0 to %d, not '%s'",
                           LOCUS_CLUSTER_ENDPOINTS, text);
    }
    struct locus_registry_change change = {
        .op = LOCUS_REGISTRY_RESIZE, .cluster = cluster, .size = (uint32_t)size};
    int status = locus_registry_change(c->registry, &change);
    return status == LOCUS_OK ? EXIT_OK : registry_failed(c, cluster, status);
}

static int watch(const struct registry_client *c)
{
    progress_catch_interrupt();
    return registry_watch(c, &progress_stop);
}

static const struct registry_subcommand {
    struct subcommand words;
    int (*run)(const struct registry_client *c); /* NULL: change_each() */
    enum locus_registry_op op;
} subcommands[] = {
    {{"put", 2, SIZE_MAX, "CLUSTER ADDRESS..."}, .op = LOCUS_REGISTRY_PUT},
    {{"remove", 2, SIZE_MAX, "CLUSTER ADDRESS..."}, .op = LOCUS_REGISTRY_REMOVE},
    {{"quiesce", 2, SIZE_MAX, "CLUSTER ADDRESS..."}, .op = LOCUS_REGISTRY_QUIESCE},
    {{"down", 2, SIZE_MAX, "CLUSTER ADDRESS..."}, .op = LOCUS_REGISTRY_DOWN},
    {{"resize", 2, 2, "CLUSTER N"}, .run = resize},
    {{"list", 0, SIZE_MAX, "[CLUSTER...]"}, .run = registry_list},
    {{"import", 1, 1, "one FILE, or -"}, .run = registry_import},
    {{"watch", 0, SIZE_MAX, "[CLUSTER...]"}, .run = watch},
    {{"drain", 0, SIZE_MAX, "[CLUSTER...]"}, .run = registry_drain},
    {{.name = NULL}, .run = NULL},
};

static const char description[] =
    "Which endpoints serve which cluster. With --min-healthy, what takes an endpoint "
    "out is decided against the cluster's live endpoints, in one step with the change, "
    "so that a removal of everything stops exactly at the floor, from however many "
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

static int run(int argc, char **argv)
{
    struct registry_client client = {
        .name = "default",
        .weight = 1,
        .threads = 64,
        .timeout_ns = 3 * NS_PER_S,
        .interval_ns = NS_PER_S,
    };
    struct arguments arguments;
    int status = options_parse(&cmd_registry, argc, argv, &client, &arguments);

    if (status != 0) {
        return status < 0 ? EXIT_OK : status;
    }
    const struct registry_subcommand *subcommand = subcommand_find(
        "registry", "list", &arguments, subcommands, sizeof(subcommands[0]));
    if (subcommand == NULL) {
        return EXIT_USAGE;
    }
    client.arguments = arguments.items + 1;
    client.count = arguments.count - 1;
    int code = registry_client_open(&client);
    if (code == EXIT_OK) {
        code = subcommand->run != NULL ? subcommand->run(&client)
                                       : change_each(&client, subcommand->op);
    }
    locus_registry_close(client.registry);
    return code;
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
