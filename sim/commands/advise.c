/* SPDX-License-Identifier: MIT */
/*
 * locus advise: which policy, which weights, which expiration for this trace, and the lines
 * that apply them.
 */
#include "commands.h"

#include <string.h>

#include "../advise/report.h"
#include "../advise/search.h"

#define AT(field) offsetof(struct advise_args, field)

static const struct option_spec options[] = {
    OPT_TEXT("policy", 'p', AT(policies), "LIST",
             "The policies to choose from (default wlc,wrr,dh,sh,mh,lblc,lblcr)."),
    OPT_TEXT("max-imbalance", 0, AT(max_imbalance), "RATIO",
             "Choose none with a mean imbalance above this, if one can be found."),
    OPT_GROUP(setup_options, AT(setup)),
    OPT_FLAG("json", 'j', AT(json), "JSON instead of text."),
    OPT_GROUP(read_options, AT(read)),
    OPT_END,
};

static int read_request(struct advise *advise, char *const *paths, size_t count)
{
    const char *limit = advise->args.max_imbalance;

    if (count == 0) {
        return usage_error("advise", "which trace? ('-' is stdin)");
    }
    if (limit != NULL &&
        (!read_decimal(limit, strlen(limit), 6, &advise->max_imbalance_ppm) ||
         advise->max_imbalance_ppm < 1000000)) {
        return usage_error("advise",
                           "--max-imbalance: expected a ratio of 1 or more, not '%s'",
                           limit);
    }
    int status = setup_check_stdin("advise", &advise->args.setup, NULL, paths, count);
    if (status == EXIT_OK) {
        status = setup_args_resolve("advise", &advise->args.setup, &advise->setup);
    }
    if (status == EXIT_OK && advise->setup.servers.event_count > 0) {
        return usage_error("advise",
                           "the pool's script has events; advise takes servers only");
    }
    return status;
}

static int print_advice(const struct advise *advise, char *const *paths, size_t count)
{
    struct advice advice = {
        .setup = &advise->setup,
        .setup_args = &advise->args.setup,
        .read_args = &advise->args.read,
        .paths = paths,
        .path_count = count,
        .candidates = advise->candidates,
        .count = advise->count,
        .choice = advise->choice,
        .arrivals = advise->arrivals,
        .max_imbalance_ppm = advise->max_imbalance_ppm,
    };

    return advise->args.json ? advice_print_json(&advice) : advice_print(&advice);
}

static int run(int argc, char **argv)
{
    struct advise advise = {
        .args = {.setup = SETUP_ARGS_DEFAULT, .read = READ_ARGS_DEFAULT},
    };
    struct arguments arguments;
    int status = options_parse(&cmd_advise, argc, argv, &advise.args, &arguments);

    if (status != 0) {
        return status < 0 ? EXIT_OK : status;
    }
    session_init(&advise.session, "advise");
    progress_catch_interrupt();
    status = read_request(&advise, arguments.items, arguments.count);
    if (status == EXIT_OK) {
        status = advise_search(&advise, arguments.items, arguments.count);
    }
    if (status == EXIT_OK) {
        status = print_advice(&advise, arguments.items, arguments.count);
    }
    advise_free(&advise);
    return status;
}

const struct command cmd_advise = {
    .name = "advise",
    .summary = "find the policy, weights, expiration and bounds for a trace",
    .usage = "[options] TRACE...",
    .description =
        "Replays the trace under many settings: each policy, and for lblc and lblcr "
        "weights that make 1 to 5 times the trace's 99th percentile of concurrency "
        "together (in the proportions that the servers have) with destinations that "
        "expire after ten minutes, an hour or a day; then, on the best of each policy, "
        "upper thresholds at 1.25 and 2 times a server's share of all connections and "
        "maps that hold all or a quarter of the destinations. Prints those that no "
        "other "
        "beats in both locality (hit ratio with --cache, else warm) and balance "
        "(imbal/c "
        "of replay), the one nearest to the best of both that IPVS can be set to, why, "
        "the lines that apply it, and the replay that shows its figures again.",
    .options = options,
    .examples = "# what should these four caches run?\n"
                "locus advise --servers 4 --cache 10GiB access.log\n"
                "# the pool as it is, and no server much busier than the others\n"
                "ipvsadm -S -n > pool.rules\n"
                "locus advise --pool pool.rules --max-imbalance 1.3 conn.log.gz",
    .run = run,
};
