/* SPDX-License-Identifier: MIT */
#include "setup_args.h"

#include <stdio.h>
#include <string.h>

#include "../policy/policy.h"
#include "../pool/file.h"

const char *const setup_order_choices[] = {"file", "reverse", NULL};
const char *const setup_proto_choices[] = {"tcp", "udp", "all", NULL};

#define AT(field) offsetof(struct setup_args, field)

const struct option_spec setup_options[] = {
    OPT_TEXT(
        "servers", 's', AT(servers), "LIST",
        "How many servers, or, with commas between, "
        "ADDRESS[:PORT][*WEIGHT[@CAPACITY][/UPPER[/LOWER]]]. Servers without weights "
        "get the same one, chosen so that all together hold 1.25 times the 99th "
        "percentile over time of the trace's concurrency, at least 2 each."),
    OPT_TEXT("pool", 0, AT(pool), "FILE",
             "Servers from the output of ipvsadm -S or -Ln, an ipvsadm script, "
             "keepalived.conf or a plain list."),
    OPT_TEXT("service", 0, AT(service), "NAME",
             "Which of the pool file's services: ADDRESS:PORT or the fwmark's number."),
    OPT_CHOICE("order", 0, AT(order), setup_order_choices,
               "The order in which the pool's servers are added (default file; a table "
               "that is not sorted by address is taken to be newest first, as the "
               "kernel lists it)."),
    OPT_TEXT("rules", 'r', AT(rules), "NAME",
             "kernel (default), kernel-classic (what most machines run), article (as "
             "published) or locus (what we would run)."),
    OPT_TEXT("cache", 0, AT(cache), "SIZE",
             "A cache on each server, 10GiB or 100000objects: shows hit ratios and "
             "origin traffic."),
    OPT_CHOICE("evict", 0, AT(evict), cache_policy_names,
               "What that cache drops (default lru)."),
    OPT_CHOICE("proto", 0, AT(proto), setup_proto_choices,
               "Which records are replayed (default tcp; requests without a protocol "
               "are TCP)."),
    OPT_TEXT("duration", 0, AT(duration), "MODEL",
             "How long a record without a duration lasts: const:TIME, "
             "lognormal:MEDIAN:SIGMA or rate:BYTES per second (default const:1s)."),
    OPT_TEXT("speed", 0, AT(speed), "FACTOR",
             "Arrivals that many times as fast; durations stay (default 1)."),
    OPT_TIME("tcpfin", 0, AT(tcpfin_ns), 0, 0,
             "How long a closed TCP connection counts as inactive (default 120s, as "
             "ipvsadm --set)."),
    OPT_TIME("udp-timeout", 0, AT(udp_ns), 0, 0,
             "How long a UDP flow counts after its last packet (default 300s)."),
    OPT_NUMBER("seed", 0, AT(seed), "N", 0, 0,
               "Seed of everything random: duration models, twos (default 1)."),
    OPT_END,
};

static int resolve_rules(const char *command, const char *name, struct setup *out)
{
    out->rules = locus_rules_find(name);
    if (out->rules == NULL) {
        return usage_error(
            command,
            "--rules: expected kernel, kernel-classic, article or locus, not '%s'",
            name);
    }
    out->rules_name = name != NULL ? name : locus_rules_name(0);
    return EXIT_OK;
}

static int resolve_cache(const char *command, const struct setup_args *args,
                         struct setup *out)
{
    out->cache.policy = (enum cache_policy)args->evict;
    if (args->cache != NULL && !cache_capacity_parse(args->cache, &out->cache)) {
        return usage_error(
            command,
            "--cache: expected a size such as 10GiB or 100000objects, not '%s'",
            args->cache);
    }
    return EXIT_OK;
}

static int resolve_arrivals(const char *command, const struct setup_args *args,
                            struct arrival_options *out)
{
    const char *duration = args->duration != NULL ? args->duration : "const:1s";
    const char *speed = args->speed != NULL ? args->speed : "1";

    out->proto = (enum proto_choice)args->proto;
    out->udp_ns = args->udp_ns;
    out->seed = args->seed;
    if (!read_decimal(speed, strlen(speed), 3, &out->speed_milli) ||
        out->speed_milli == 0 || out->speed_milli > 1000000000) {
        return usage_error(command,
                           "--speed: expected a factor from 0.001 to 1000000, not '%s'",
                           speed);
    }
    if (!duration_model_parse(duration, &out->duration)) {
        return usage_error(command,
                           "--duration: expected const:TIME, lognormal:MEDIAN:SIGMA or "
                           "rate:BYTES, not '%s'",
                           duration);
    }
    return EXIT_OK;
}

static int resolve_servers(const char *command, const struct setup_args *args,
                           struct server_list *out)
{
    if ((args->servers != NULL) == (args->pool != NULL)) {
        return usage_error(command, "say which servers: either --servers or --pool");
    }
    if (args->pool != NULL) {
        return pool_file_read(command, args->pool, args->service, args->order == 1,
                              out);
    }
    if (args->service != NULL) {
        return usage_error(command, "--service is for --pool");
    }
    return servers_parse(command, args->servers, out);
}

int setup_args_resolve(const char *command, const struct setup_args *args,
                       struct setup *out)
{
    memset(out, 0, sizeof(*out));
    int status = resolve_rules(command, args->rules, out);
    if (status == EXIT_OK) {
        status = resolve_cache(command, args, out);
    }
    if (status == EXIT_OK) {
        status = resolve_arrivals(command, args, &out->arrivals);
    }
    if (status == EXIT_OK) {
        status = resolve_servers(command, args, &out->servers);
    }
    return status;
}

int setup_unknown_policy(const char *command, const char *name, size_t length)
{
    if (length >= 5 && memcmp(name, "chbl:", 5) == 0) {
        return usage_error(
            command,
            "--policy: '%.*s': expected a factor from 1.01 to 100, as in "
            "chbl:1.25",
            (int)length, name);
    }
    fprintf(stderr, "locus %s: --policy: no policy '%.*s'; there are", command,
            (int)length, name);
    for (size_t i = 0; policy_name(i, NULL) != NULL; i++) {
        fprintf(stderr, " %s", policy_name(i, NULL));
    }
    fprintf(stderr, "\n");
    return EXIT_USAGE;
}

static size_t is_stdin(const char *path)
{
    return path != NULL && strcmp(path, "-") == 0;
}

int setup_check_stdin(const char *command, const struct setup_args *args,
                      const char *scenario, char *const *paths, size_t count)
{
    size_t readers = is_stdin(args->pool) + is_stdin(scenario);

    for (size_t i = 0; i < count; i++) {
        readers += is_stdin(paths[i]);
    }
    return readers <= 1 ? EXIT_OK
                        : usage_error(command,
                                      "'-' is there %zu times, but the standard "
                                      "input can be read only once",
                                      readers);
}
