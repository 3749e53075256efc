/* SPDX-License-Identifier: MIT */
/*
 * What was asked for: everything that can be wrong with the command line is found here, before
 * a long trace is read.
 */
#include "replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../engine/map_file.h"
#include "../pool/scenario.h"

const char *const replay_directors[] = {"connection", "client", "destination", NULL};
const char *const replay_no_server[] = {"refuse", "bypass", "any", NULL};

/* The default, with what the pool runs now in front if it is not in it. */
static const char *default_policies(const struct replay *replay, char *text,
                                    size_t size)
{
    const char *now = replay->setup.servers.scheduler;
    struct policy policy;
    size_t length = strlen(now);

    for (const char *at = DEFAULT_POLICIES; *at != '\0'; at += strspn(at, ",")) {
        size_t word = strcspn(at, ",");
        if (word == length && memcmp(at, now, length) == 0) {
            return DEFAULT_POLICIES;
        }
        at += word;
    }
    if (!policy_parse(now, length, &policy)) {
        return DEFAULT_POLICIES;
    }
    snprintf(text, size, "%s,%s", now, DEFAULT_POLICIES);
    return text;
}

static int unknown_policy(const char *text, size_t length)
{
    const char *at = memchr(text, '@', length);
    struct policy policy;

    if (at == NULL || !policy_parse(text, (size_t)(at - text), &policy)) {
        return setup_unknown_policy("replay", text, length);
    }
    return usage_error(
        "replay",
        "--policy: '%.*s': expected 2 to %d directors behind a scheduler, "
        "as in wlc@8",
        (int)length, text, DIRECTORS_MAX);
}

static int read_policies(struct replay *replay)
{
    char with_pool[sizeof(DEFAULT_POLICIES) + sizeof(replay->setup.servers.scheduler)];
    const char *text = replay->args.policies;

    if (text == NULL) {
        text = default_policies(replay, with_pool, sizeof(with_pool));
    }
    for (;; text++) {
        size_t length = strcspn(text, ",");
        if (replay->policy_count == POLICIES_MAX) {
            return usage_error("replay", "--policy: more than %d policies",
                               POLICIES_MAX);
        }
        if (!policy_parse_directors(text, length,
                                    &replay->policies[replay->policy_count])) {
            return unknown_policy(text, length);
        }
        for (size_t i = 0; i < replay->policy_count; i++) {
            if (strcmp(replay->policies[i].text,
                       replay->policies[replay->policy_count].text) == 0) {
                return usage_error("replay", "--policy: '%.*s' is there twice",
                                   (int)length, text);
            }
        }
        replay->policy_count++;
        text += length;
        if (*text == '\0') {
            return EXIT_OK;
        }
    }
}

/* One line on stderr; an exit_code. */
int replay_policy_failed(const struct replay *replay, size_t i, int status)
{
    const char *words = replay->errors[i];
    bool misconfigured =
        status == LOCUS_EINVAL || status == LOCUS_ENOENT || status == LOCUS_ERANGE;

    fprintf(stderr, "locus replay: %s: %s\n", replay->policies[i].text,
            words[0] != '\0' ? words : locus_strerror(status));
    return misconfigured ? EXIT_USAGE : EXIT_RUNTIME;
}

/* What a policy of the simulator's own cannot do is said before a long trace is read. */
static int try_policies(struct replay *replay)
{
    bool pool = false;

    replay->errors = calloc(replay->policy_count, sizeof(*replay->errors));
    if (replay->errors == NULL) {
        return memory_error("replay");
    }
    for (size_t i = 0; i < replay->policy_count; i++) {
        const struct policy_ops *ops = replay->policies[i].ops;
        const struct policy_setup setup = {
            .servers = &replay->setup.servers,
            .pool_uri = replay->args.pool_uri,
            .error = replay->errors[i],
        };
        void *state = NULL;
        if (ops == NULL) {
            continue;
        }
        int status = ops->make(&setup, &state);
        ops->destroy(state);
        if (status != LOCUS_OK) {
            return replay_policy_failed(replay, i, status);
        }
        pool = pool || ops == &leastalloc_ops;
    }
    if (replay->args.pool_uri != NULL && !pool) {
        return usage_error("replay", "--pool-uri: only leastalloc has a pool, and "
                                     "--policy does not name it");
    }
    return EXIT_OK;
}

bool replay_has_directors(const struct replay *replay)
{
    for (size_t i = 0; i < replay->policy_count; i++) {
        if (replay->policies[i].directors > 1) {
            return true;
        }
    }
    return false;
}

static int check_directors(struct replay *replay)
{
    const struct replay_args *args = &replay->args;

    if ((args->director_by != 0 || args->stagger) && !replay_has_directors(replay)) {
        return usage_error(
            "replay", "--%s: no policy of --policy has several directors, as wlc@8",
            args->stagger ? "stagger" : "director-by");
    }
    return EXIT_OK;
}

static int set_slow_start(struct replay *replay)
{
    const struct replay_args *args = &replay->args;
    struct locus_rules *rules = &replay->rules;

    if (args->slow_start_ns == 0 &&
        (args->slow_start_exponent != 0 || args->slow_start_floor != 0)) {
        return usage_error("replay", "--slow-start-%s: there is no --slow-start",
                           args->slow_start_exponent != 0 ? "exponent" : "floor");
    }
    if (args->slow_start_ns > LOCUS_SLOW_START_NS_MAX) {
        return usage_error("replay", "--slow-start: at most 24h");
    }
    rules->slow_start_ns = args->slow_start_ns;
    if (args->slow_start_exponent != 0) {
        rules->slow_start_exponent = (uint32_t)args->slow_start_exponent;
    }
    if (args->slow_start_floor != 0) {
        rules->slow_start_floor_percent = (uint32_t)args->slow_start_floor;
    }
    return EXIT_OK;
}

/* --save and --load are of one map. Whether that can be read is known before a long trace
 * is. */
static int open_map(struct replay *replay)
{
    const struct replay_args *args = &replay->args;

    if (args->save == NULL && args->load == NULL) {
        return EXIT_OK;
    }
    const char *option = args->save != NULL ? "--save" : "--load";
    if (replay->policy_count != 1 || !policy_has_map(&replay->policies[0]) ||
        replay_has_directors(replay)) {
        return usage_error("replay",
                           "%s: one policy with a map, --policy lblc or lblcr", option);
    }
    if (args->save != NULL && strcmp(args->save, "-") == 0) {
        return usage_error("replay", "--save: a file, not '-'");
    }
    if (args->load != NULL) {
        replay->map = map_file_open("replay", args->load);
        return replay->map != NULL ? EXIT_OK : EXIT_RUNTIME;
    }
    return EXIT_OK;
}

static void set_capacities(struct replay *replay)
{
    for (size_t i = 0; i < replay->setup.servers.count; i++) {
        struct server_spec *spec = &replay->setup.servers.items[i];
        spec->capacity =
            spec->capacity != 0 ? spec->capacity : (uint32_t)replay->args.capacity;
    }
}

static int change_rules(struct replay *replay)
{
    const struct replay_args *args = &replay->args;

    replay->rules = *replay->setup.rules;
    replay->rules.no_server = (enum locus_no_server)args->no_server;
    if (args->replace) {
        replay->rules.evict = true;
        replay->rules.leak_entries = false;
    }
    replay->setup.rules = &replay->rules;
    set_capacities(replay);
    return set_slow_start(replay);
}

static int check_words(struct replay *replay)
{
    const struct replay_args *args = &replay->args;

    if (replay->path_count == 0) {
        return usage_error("replay", "which trace? ('-' is stdin)");
    }
    if (args->json && args->csv) {
        return usage_error("replay", "--json and --csv exclude each other");
    }
    return setup_check_stdin("replay", &args->setup, args->scenario, replay->paths,
                             replay->path_count);
}

static int resolve_setup(struct replay *replay)
{
    return setup_args_resolve("replay", &replay->args.setup, &replay->setup);
}

static int read_scenario(struct replay *replay)
{
    return replay->args.scenario == NULL
               ? EXIT_OK
               : scenario_read("replay", replay->args.scenario, &replay->setup.servers);
}

int replay_request(struct replay *replay)
{
    static int (*const steps[])(struct replay *) = {
        check_words,   replay_check_outputs, resolve_setup,
        read_policies, check_directors,      open_map,
        try_policies,  read_scenario,        change_rules,
    };
    int status = EXIT_OK;

    for (size_t i = 0; status == EXIT_OK && i < sizeof(steps) / sizeof(*steps); i++) {
        status = steps[i](replay);
    }
    return status;
}
