/* SPDX-License-Identifier: MIT */
/*
 * locus replay: one trace, many policies, side by side.
 */
#include "commands.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../base/output.h"
#include "../cli/progress.h"
#include "../cli/session.h"
#include "../cli/setup_args.h"
#include "../engine/crew.h"
#include "../engine/decisions.h"
#include "../engine/map_file.h"
#include "../pool/scenario.h"
#include "../report/report.h"

#define DEFAULT_POLICIES "wlc,lblc,lblcr,dh,sh,mh,wrr"

enum { DEFAULT_WIDTH = 80, POLICIES_MAX = 64 };

struct replay_args {
    struct setup_args setup;
    struct read_args read;
    const char *policies, *scenario, *pool_uri;
    const char *timeline, *decisions, *metrics, *html, *svg;
    const char *save, *load;
    bool json, csv, per_server, timing, replace;
    int no_server, director_by;
    bool stagger;
    uint64_t expiration_ns, max_entries, capacity, interval_ns, width;
    uint64_t slow_start_ns, slow_start_exponent, slow_start_floor; /* 0: not given */
};

#define AT(field) offsetof(struct replay_args, field)

static const char *const director_choices[] = {"connection", "client", "destination",
                                               NULL};
static const char *const no_server_choices[] = {"refuse", "bypass", "any", NULL};

static const struct option_spec options[] = {
    OPT_TEXT("policy", 'p', AT(policies), "LIST",
             "Policies, separated by commas; sh and mh take flags: mh:fallback:port; "
             "chbl its factor: chbl:1.25; wlc@8: by 8 directors, each with counts of "
             "its own. Default: " DEFAULT_POLICIES ", and what the pool file says."),
    OPT_GROUP(setup_options, AT(setup)),
    OPT_CHOICE("director-by", 0, AT(director_by), director_choices,
               "What decides which of several directors has a connection: connection "
               "(default, as a router spreads them), client (as each node of "
               "kube-proxy has its own), destination (so that one of them learns it)."),
    OPT_FLAG("stagger", 0, AT(stagger),
             "Directors list the servers from different ones on, so that not all take "
             "the same among equals."),
    OPT_TEXT("scenario", 0, AT(scenario), "FILE",
             "What happens meanwhile, a line each: TIME weight SERVER N | add SERVER N "
             "| remove SERVER | fail SERVER | restore SERVER | break SERVER (answers "
             "at once, with errors, and passes its checks) | mend SERVER | thresholds "
             "SERVER UPPER LOWER | guard N or N% | scheduler NAME."),
    OPT_TEXT("pool-uri", 0, AT(pool_uri), "URI",
             "Where leastalloc keeps its counts, as of 'locus pool': mem: (the "
             "default), or redis://[[user]:password@]host[:port][/db], or "
             "redis+unix:///path, which is slower and picks the same. Its pool there "
             "is a new one, locus-replay-PID-RANDOM, removed in the end; by the server "
             "a day after a run that was killed."),
    OPT_TIME(
        "expiration", 0, AT(expiration_ns), 0, 0,
        "Destinations idle for so long are forgotten by lblc and lblcr (default 24h)."),
    OPT_NUMBER("max-entries", 0, AT(max_entries), "N", 1, 1u << 27,
               "Bound on the destinations that lblc and lblcr remember (default: as "
               "the rules say)."),
    OPT_FLAG("replace", 0, AT(replace),
             "When that many are remembered, a new one takes the place of one that was "
             "not asked for lately, as by the rules locus (default: it is not "
             "remembered, as with IPVS)."),
    OPT_TEXT("save", 0, AT(save), "FILE",
             "What the policy, lblc or lblcr alone, has learnt in the end: which "
             "servers are each destination's."),
    OPT_TEXT("load", 0, AT(load), "FILE",
             "Begins with what --save wrote, as if this trace followed that one at "
             "once: a director that was restarted. Servers are known by their "
             "addresses; caches and all figures begin anew."),
    OPT_CHOICE(
        "no-server", 0, AT(no_server), no_server_choices,
        "When no server is available: refuse (default, as IPVS), bypass (counts as "
        "refused, but says so in --decisions: the client is to go to the destination "
        "itself), any (an overloaded or quiesced one all the same)."),
    OPT_NUMBER("capacity", 0, AT(capacity), "N", 1, LOCUS_WEIGHT_MAX,
               "Connections above which lblc and lblcr leave a server, of all servers "
               "that have no own (default: the weight, as IPVS). liblocus' alone."),
    OPT_TIME("slow-start", 0, AT(slow_start_ns), 0, 0,
             "A server that a scenario adds or restores, or whose weight it raises, "
             "takes its share over so long, by wlc, sed, nq, twos, p2c, chbl, lblc and "
             "lblcr; connections should be shorter (default: at once, as IPVS; 24h at "
             "most). liblocus' alone."),
    OPT_NUMBER("slow-start-exponent", 0, AT(slow_start_exponent), "N", 1, 8,
               "Its share grows with that power of the time: 1 (default) evenly, up to "
               "8, late."),
    OPT_NUMBER("slow-start-floor", 0, AT(slow_start_floor), "PERCENT", 1, 100,
               "The part of its share that it has at once (default 10)."),
    OPT_FLAG("json", 'j', AT(json), "JSON instead of the table."),
    OPT_FLAG("csv", 0, AT(csv), "CSV instead of the table."),
    OPT_FLAG("per-server", 0, AT(per_server),
             "Each server's shares too, in the table and in --metrics."),
    OPT_TEXT("html", 0, AT(html), "FILE", "A page with charts, in one file."),
    OPT_TEXT("svg", 0, AT(svg), "FILE",
             "A picture: locality against imbalance, and each server's connections "
             "over time."),
    OPT_TEXT("timeline", 0, AT(timeline), "FILE",
             "The course as CSV: per interval, policy and server."),
    OPT_TIME("interval", 0, AT(interval_ns), 1, 0,
             "Of --timeline, --html and --svg (default: some 200 over the trace)."),
    OPT_TEXT(
        "decisions", 0, AT(decisions), "FILE",
        "Every pick and why, as CSV: policy,time_us,destination,server,why,cache."),
    OPT_TEXT("metrics", 0, AT(metrics), "FILE",
             "The figures as Prometheus text. One of these five files may be '-': "
             "stdout, in the table's place."),
    OPT_NUMBER("width", 0, AT(width), "N", 40, 1000,
               "Columns of the table (default: the terminal's, else 80)."),
    OPT_FLAG("timing", 0, AT(timing),
             "CPU time per connection of each policy, on stderr."),
    OPT_GROUP(read_options, AT(read)),
    OPT_END,
};

/* Everything of one run of the command, so that one place frees it. */
struct replay {
    struct replay_args args;
    struct session session;
    struct setup setup;
    struct locus_rules rules; /* those of setup, changed */
    struct policy policies[POLICIES_MAX];
    size_t policy_count;
    bool stdout_taken; /* by a FILE of '-': no table */
    FILE *map;         /* of --load, until it is loaded */
    struct crew_member *members;
    struct timeline *timelines;
    struct decisions *decisions;
    char (*errors)[POLICY_ERROR_SIZE]; /* of each policy, "" for none */
    struct arrival_counts counts;
    struct report_phase phases[PHASES_MAX];
    struct report report;
    bool interrupted;
};

static int out_of_memory(void)
{
    fprintf(stderr, "locus replay: out of memory\n");
    return EXIT_RUNTIME;
}

/* ---- what was asked for ---------------------------------------------------------- */

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

enum { OUTPUTS = 6 };

/* Every output has a place of its own that can be written. A file on stdout takes the table's
 * place. */
static int check_outputs(struct replay *replay, char *const *traces, size_t count)
{
    const struct replay_args *args = &replay->args;
    const char *const paths[OUTPUTS] = {args->timeline, args->decisions, args->metrics,
                                        args->html,     args->svg,       args->save};

    for (size_t i = 0; i < OUTPUTS; i++) {
        if (paths[i] == NULL) {
            continue;
        }
        for (size_t k = 0; k < i; k++) {
            /* Twice the same device, as /dev/null, loses nothing. */
            if (paths[k] != NULL && strcmp(paths[k], paths[i]) == 0 &&
                strncmp(paths[i], "/dev/", 5) != 0) {
                return usage_error("replay", "'%s' is there for two outputs", paths[i]);
            }
        }
        if (strcmp(paths[i], "-") == 0) {
            replay->stdout_taken = true;
        }
        if (!output_apart("replay", paths[i], traces, count)) {
            return EXIT_USAGE;
        }
        if (!output_check("replay", paths[i])) {
            return EXIT_RUNTIME;
        }
    }
    if (replay->stdout_taken && (args->json || args->csv)) {
        return usage_error("replay", "two outputs for stdout: %s and a FILE of '-'",
                           args->json ? "--json" : "--csv");
    }
    return EXIT_OK;
}

/* One line on stderr; an exit_code. */
static int policy_failed(const struct replay *replay, size_t i, int status)
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
        return out_of_memory();
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
            return policy_failed(replay, i, status);
        }
        pool = pool || ops == &leastalloc_ops;
    }
    if (replay->args.pool_uri != NULL && !pool) {
        return usage_error("replay", "--pool-uri: only leastalloc has a pool, and "
                                     "--policy does not name it");
    }
    return EXIT_OK;
}

static bool has_directors(const struct replay *replay)
{
    for (size_t i = 0; i < replay->policy_count; i++) {
        if (replay->policies[i].directors > 1) {
            return true;
        }
    }
    return false;
}

static int check_directors(const struct replay *replay)
{
    const struct replay_args *args = &replay->args;

    if ((args->director_by != 0 || args->stagger) && !has_directors(replay)) {
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
        has_directors(replay)) {
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
    return set_slow_start(replay);
}

static void set_capacities(struct replay *replay)
{
    for (size_t i = 0; i < replay->setup.servers.count; i++) {
        struct server_spec *spec = &replay->setup.servers.items[i];
        spec->capacity =
            spec->capacity != 0 ? spec->capacity : (uint32_t)replay->args.capacity;
    }
}

static int read_request(struct replay *replay, char *const *paths, size_t count)
{
    const struct replay_args *args = &replay->args;

    if (count == 0) {
        return usage_error("replay", "which trace? ('-' is stdin)");
    }
    if (args->json && args->csv) {
        return usage_error("replay", "--json and --csv exclude each other");
    }
    int status =
        setup_check_stdin("replay", &args->setup, args->scenario, paths, count);
    if (status == EXIT_OK) {
        status = check_outputs(replay, paths, count);
    }
    if (status == EXIT_OK) {
        status = setup_args_resolve("replay", &args->setup, &replay->setup);
    }
    if (status == EXIT_OK) {
        status = read_policies(replay);
    }
    if (status == EXIT_OK) {
        status = check_directors(replay);
    }
    if (status == EXIT_OK) {
        status = open_map(replay);
    }
    if (status == EXIT_OK) {
        status = try_policies(replay);
    }
    if (status == EXIT_OK && args->scenario != NULL) {
        status = scenario_read("replay", args->scenario, &replay->setup.servers);
    }
    if (status == EXIT_OK) {
        status = change_rules(replay);
        set_capacities(replay);
    }
    return status;
}

/* ---- the run --------------------------------------------------------------------- */

static int choose_interval(struct replay *replay)
{
    const struct replay_args *args = &replay->args;
    const struct trace_summary *t = replay->session.summary;
    uint64_t span_ns = t->end_ns > t->first_ns ? t->end_ns - t->first_ns : 0;

    /* With events the intervals tell how long a recovery takes. */
    if (args->timeline == NULL && args->html == NULL && args->svg == NULL &&
        replay->setup.servers.event_count == 0) {
        replay->args.interval_ns = 0;
        return EXIT_OK;
    }
    if (args->interval_ns == 0) {
        replay->args.interval_ns = timeline_choose_interval(span_ns);
    }
    if (span_ns / replay->args.interval_ns >= TIMELINE_MAX) {
        return usage_error("replay",
                           "--interval: too short: %" PRIu64 " intervals, at most %d",
                           span_ns / replay->args.interval_ns, TIMELINE_MAX);
    }
    return EXIT_OK;
}

/* 0 of the engine is the default; 0 of the command line is no time at all, and one
 * nanosecond is less than a tick. */
static int64_t expiration(uint64_t ns)
{
    if (ns == 0) {
        return 1;
    }
    return ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
}

static int make_engine(struct replay *replay, size_t i)
{
    const struct replay_args *args = &replay->args;
    struct engine_config config = {
        .policy = &replay->policies[i],
        .rules = replay->setup.rules,
        .family = replay->session.source.family,
        .expiration_ns = expiration(args->expiration_ns),
        .max_entries = (uint32_t)args->max_entries,
        .seed = args->setup.seed,
        .servers = &replay->setup.servers,
        .tcpfin_ns = args->setup.tcpfin_ns,
        .director_by = (enum director_by)args->director_by,
        .stagger = args->stagger,
        .herd = has_directors(replay),
        .pool_uri = args->pool_uri,
        .error = replay->errors[i],
        .cache = replay->setup.cache,
        .phases = true,
        .interval_ns = args->interval_ns,
    };

    if (args->interval_ns != 0) {
        config.interval = timeline_note;
        config.interval_arg = &replay->timelines[i];
        if (timeline_init(&replay->timelines[i], (uint32_t)config.servers->count) !=
            LOCUS_OK) {
            return out_of_memory();
        }
    }
    if (args->decisions != NULL) {
        config.decision = decisions_note;
        config.decision_arg = &replay->decisions[i];
        if (!decisions_init(&replay->decisions[i], replay->setup.cache.capacity > 0)) {
            return EXIT_RUNTIME;
        }
    }
    int status = engine_create(&config, &replay->members[i].engine);
    return status == LOCUS_OK ? EXIT_OK : policy_failed(replay, i, status);
}

static void show_replaying(void *arg, uint64_t arrivals)
{
    progress_update(arg, arrivals);
}

/* A Ctrl-C ends what goes on: the reading, of which the result is replayed, or the replay. */
static void note_interrupt(struct replay *replay)
{
    if (progress_stop != 0) {
        replay->interrupted = true;
        progress_stop = 0;
        progress_catch_interrupt();
    }
}

static int run_engines(struct replay *replay)
{
    struct progress progress;
    int status;

    progress_begin(&progress, "replaying", "connections",
                   replay->session.summary->records);
    status = crew_run(&replay->session.source, replay->members, replay->policy_count,
                      &progress_stop, show_replaying, &progress);
    progress_end(&progress);
    for (size_t i = 0; i < replay->policy_count && status == 0; i++) {
        if (replay->members[i].status != LOCUS_OK) {
            (void)policy_failed(replay, i, replay->members[i].status);
            return EXIT_RUNTIME;
        }
    }
    note_interrupt(replay);
    replay->counts = replay->session.source.counts;
    if (replay->counts.arrivals == 0 && replay->interrupted) {
        fprintf(stderr, "locus replay: interrupted before the first connection\n");
        return EXIT_RUNTIME;
    }
    if (status == 0 && replay->counts.arrivals == 0) {
        fprintf(stderr,
                "locus replay: no connection to replay: all %" PRIu64
                " records are of other protocols (see --proto)\n",
                replay->counts.other_protocols);
        return EXIT_EMPTY;
    }
    return status == 0 ? EXIT_OK : EXIT_RUNTIME;
}

static int replay_trace(struct replay *replay)
{
    size_t count = replay->policy_count;
    int status = choose_interval(replay);

    replay->members = calloc(count, sizeof(*replay->members));
    replay->timelines = calloc(count, sizeof(*replay->timelines));
    replay->decisions = calloc(count, sizeof(*replay->decisions));
    replay->report.policies = calloc(count, sizeof(*replay->report.policies));
    if (replay->members == NULL || replay->timelines == NULL ||
        replay->decisions == NULL || replay->report.policies == NULL) {
        return out_of_memory();
    }
    for (size_t i = 0; status == EXIT_OK && i < count; i++) {
        status = make_engine(replay, i);
    }
    if (status == EXIT_OK && replay->map != NULL) {
        status = map_file_load("replay", replay->args.load, replay->map,
                               replay->members[0].engine);
        replay->map = NULL;
    }
    return status == EXIT_OK ? run_engines(replay) : status;
}

/* ---- the report ------------------------------------------------------------------ */

/* Which phases there are, and which of them the trace was too short for. */
static void list_phases(struct replay *replay)
{
    size_t listed = report_list_phases(&replay->setup.servers, replay->phases);
    struct report *report = &replay->report;
    char at[TEXT_SIZE];

    report->phases = replay->phases;
    report->phase_count = 1;
    for (size_t i = 0; i < replay->policy_count; i++) {
        size_t reached = engine_recorder(replay->members[i].engine)->phase_count;
        if (reached > report->phase_count) {
            report->phase_count = reached;
        }
    }
    for (size_t i = report->phase_count; i < listed && !replay->interrupted; i++) {
        fprintf(stderr,
                "locus replay: the trace ends before %s, so that this does not happen: "
                "%s\n",
                text_time(replay->phases[i].from_ns / 1000000u, at),
                replay->phases[i].events);
    }
}

static int report_policy(struct replay *replay, size_t i)
{
    struct policy_report *p = &replay->report.policies[i];
    const struct recorder *r = engine_recorder(replay->members[i].engine);

    p->name = replay->policies[i].text;
    p->has_map = policy_has_map(&replay->policies[i]);
    p->hashes_clients = policy_hashes_clients(&replay->policies[i]);
    p->recorder = r;
    p->phase_count = r->phase_count;
    p->phases = calloc(r->phase_count, sizeof(*p->phases));
    p->recovery_ms = calloc(r->phase_count, sizeof(*p->recovery_ms));
    p->servers = calloc(r->server_count, sizeof(*p->servers));
    if (p->phases == NULL || p->servers == NULL || p->recovery_ms == NULL) {
        return out_of_memory();
    }
    recorder_figures(r, SIZE_MAX, &p->total);
    recorder_server_figures(r, SIZE_MAX, p->servers);
    for (size_t phase = 0; phase < r->phase_count; phase++) {
        recorder_figures(r, phase, &p->phases[phase]);
    }
    if (replay->args.interval_ns != 0) {
        p->timeline = &replay->timelines[i];
        if (p->timeline->status != LOCUS_OK) {
            return out_of_memory();
        }
        report_find_recoveries(&replay->report, p);
    }
    return EXIT_OK;
}

/* The busiest destinations of the first policy's run, earlier ones first among equals. */
static void find_hot(struct replay *replay)
{
    struct report *report = &replay->report;
    const struct recorder *r = report->policies[0].recorder;

    for (size_t d = 0; d < r->contact_count; d++) {
        uint64_t connections = r->contacts[d].connections;
        size_t at = report->hot_count;
        while (at > 0 && report->hot[at - 1].connections < connections) {
            at--;
        }
        if (at == HOT_DESTINATIONS || connections == 0) {
            continue;
        }
        report->hot_count += report->hot_count < HOT_DESTINATIONS;
        memmove(report->hot + at + 1, report->hot + at,
                (report->hot_count - 1 - at) * sizeof(*report->hot));
        report->hot[at].number = (uint32_t)d;
        report->hot[at].connections = connections;
    }
    for (size_t i = 0; i < report->hot_count; i++) {
        struct hot_destination *hot = &report->hot[i];
        arrivals_destination_text(&replay->session.source, hot->number, hot->name,
                                  sizeof(hot->name));
    }
}

static char *next_change(struct report *report)
{
    return report->rules_changed[report->rules_changed_count++];
}

static void list_slow_start(const struct locus_rules *rules,
                            const struct locus_rules *named, struct report *report)
{
    char window[DURATION_TEXT];

    if (rules->slow_start_ns == 0) {
        return;
    }
    snprintf(next_change(report), RULE_CHANGED_SIZE, "--slow-start %s",
             duration_text(rules->slow_start_ns, window));
    if (rules->slow_start_exponent != named->slow_start_exponent) {
        snprintf(next_change(report), RULE_CHANGED_SIZE,
                 "--slow-start-exponent %" PRIu32, rules->slow_start_exponent);
    }
    if (rules->slow_start_floor_percent != named->slow_start_floor_percent) {
        snprintf(next_change(report), RULE_CHANGED_SIZE, "--slow-start-floor %" PRIu32,
                 rules->slow_start_floor_percent);
    }
}

/* What the options made of the named set, as far as it was not so before. */
static void list_changed_rules(const struct replay *replay, struct report *report)
{
    const struct replay_args *args = &replay->args;
    const struct locus_rules *named = locus_rules_find(replay->setup.rules_name);
    const struct locus_rules *rules = &replay->rules;

    if (rules->evict != named->evict) {
        snprintf(next_change(report), RULE_CHANGED_SIZE, "--replace");
    }
    if (rules->no_server != named->no_server) {
        snprintf(next_change(report), RULE_CHANGED_SIZE, "--no-server %s",
                 no_server_choices[args->no_server]);
    }
    if (args->max_entries != 0 && args->max_entries != named->max_entries) {
        snprintf(next_change(report), RULE_CHANGED_SIZE, "--max-entries %" PRIu64,
                 args->max_entries);
    }
    list_slow_start(rules, named, report);
}

static int make_report(struct replay *replay, char *const *paths, size_t path_count)
{
    const struct replay_args *args = &replay->args;
    const struct session *session = &replay->session;
    struct report *report = &replay->report;
    int status = EXIT_OK;

    list_phases(replay);
    report->paths = paths;
    report->path_count = path_count;
    report->trace = session->summary;
    report->counts = &replay->counts;
    report->arrivals = &replay->setup.arrivals;
    report->servers = &replay->setup.servers;
    report->rules = replay->setup.rules_name;
    list_changed_rules(replay, report);
    report->tcpfin_ns = args->setup.tcpfin_ns;
    report->udp_ns = args->setup.udp_ns;
    report->expiration_ns = args->expiration_ns;
    report->cache = replay->setup.cache;
    report->weights_from_trace = session->weights_from_trace;
    report->concurrency_p99 = (uint64_t)session->concurrency_p99;
    report->concurrency_peak = session->concurrency_peak;
    report->interrupted = replay->interrupted;
    report->pool = args->setup.pool;
    report->policy_count = replay->policy_count;
    report->interval_ns = args->interval_ns;
    report->director_by =
        has_directors(replay) ? director_choices[args->director_by] : NULL;
    report->stagger = args->stagger;
    for (size_t i = 0; status == EXIT_OK && i < replay->policy_count; i++) {
        status = report_policy(replay, i);
    }
    if (status == EXIT_OK) {
        find_hot(replay);
    }
    return status;
}

static int terminal_width(uint64_t wanted)
{
    struct winsize size;

    if (wanted != 0) {
        return (int)wanted;
    }
    if (isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
        size.ws_col >= 40) {
        return size.ws_col;
    }
    return DEFAULT_WIDTH;
}

static bool write_timeline(const struct replay *replay, FILE *out)
{
    report_timeline(out, &replay->report);
    return true;
}

static bool write_metrics(const struct replay *replay, FILE *out)
{
    report_metrics(out, &replay->report, replay->args.per_server);
    return true;
}

static bool write_html(const struct replay *replay, FILE *out)
{
    return report_html(out, &replay->report);
}

static bool write_svg(const struct replay *replay, FILE *out)
{
    report_svg(out, &replay->report);
    return true;
}

/* One file that was asked for; path NULL: it was not. An exit_code. */
static int write_file(const struct replay *replay, const char *path,
                      bool (*write)(const struct replay *replay, FILE *out))
{
    if (path == NULL) {
        return EXIT_OK;
    }
    FILE *out = output_open("replay", path);
    if (out == NULL) {
        return EXIT_RUNTIME;
    }
    bool enough_memory = write(replay, out);
    if (!output_close("replay", path, out)) {
        return EXIT_RUNTIME;
    }
    return enough_memory ? EXIT_OK : out_of_memory();
}

static int write_decisions(struct replay *replay)
{
    const char *path = replay->args.decisions;
    bool ok = true;

    if (path == NULL) {
        return EXIT_OK;
    }
    FILE *out = output_open("replay", path);
    if (out == NULL) {
        return EXIT_RUNTIME;
    }
    decisions_header(out);
    for (size_t i = 0; ok && i < replay->policy_count; i++) {
        ok = decisions_write(&replay->decisions[i], out, replay->policies[i].text,
                             &replay->setup.servers, &replay->session.source);
    }
    return output_close("replay", path, out) && ok ? EXIT_OK : EXIT_RUNTIME;
}

static int write_main(const struct replay *replay)
{
    const struct replay_args *args = &replay->args;
    struct table_options table = {
        .width = (size_t)terminal_width(args->width),
        .per_server = args->per_server,
    };

    if (replay->stdout_taken) {
        return EXIT_OK;
    }
    if (args->csv) {
        report_csv(stdout, &replay->report);
    } else if (!args->json) {
        report_table(stdout, &replay->report, &table);
    } else if (!report_json(stdout, &replay->report) && !ferror(stdout)) {
        return out_of_memory();
    }
    return EXIT_OK;
}

static void print_timing(const struct replay *replay)
{
    for (size_t i = 0; i < replay->policy_count; i++) {
        fprintf(stderr, "%-10s %7.1f ns CPU per connection, opened and closed\n",
                replay->policies[i].text,
                (double)replay->members[i].cpu_ns / (double)replay->counts.arrivals);
    }
}

static int write_all(struct replay *replay)
{
    const struct replay_args *args = &replay->args;
    int status = write_main(replay);

    if (status == EXIT_OK) {
        status = write_file(replay, args->timeline, write_timeline);
    }
    if (status == EXIT_OK) {
        status = write_file(replay, args->metrics, write_metrics);
    }
    if (status == EXIT_OK) {
        status = write_file(replay, args->html, write_html);
    }
    if (status == EXIT_OK) {
        status = write_file(replay, args->svg, write_svg);
    }
    if (status == EXIT_OK) {
        status = write_decisions(replay);
    }
    if (status == EXIT_OK && args->save != NULL) {
        status = map_file_save("replay", args->save, replay->members[0].engine);
    }
    if (args->timing) {
        print_timing(replay);
    }
    if (status == EXIT_OK && replay->interrupted) {
        fprintf(stderr,
                "locus replay: interrupted: the first %" PRIu64 " connections\n",
                replay->counts.arrivals);
        return EXIT_RUNTIME;
    }
    return status;
}

static void replay_free(struct replay *replay)
{
    for (size_t i = 0; i < replay->policy_count; i++) {
        if (replay->report.policies != NULL) {
            free(replay->report.policies[i].phases);
            free(replay->report.policies[i].recovery_ms);
            free(replay->report.policies[i].servers);
        }
        if (replay->members != NULL) {
            engine_destroy(replay->members[i].engine);
        }
        if (replay->timelines != NULL) {
            timeline_fini(&replay->timelines[i]);
        }
        if (replay->decisions != NULL) {
            decisions_fini(&replay->decisions[i]);
        }
    }
    if (replay->map != NULL) {
        fclose(replay->map);
    }
    free(replay->report.policies);
    free(replay->members);
    free(replay->timelines);
    free(replay->decisions);
    free(replay->errors);
    session_fini(&replay->session);
    servers_free(&replay->setup.servers);
}

static int run(int argc, char **argv)
{
    struct replay replay = {
        .args =
            {
                .setup = SETUP_ARGS_DEFAULT,
                .read = READ_ARGS_DEFAULT,
                .expiration_ns = 86400 * (uint64_t)1000000000,
            },
    };
    struct arguments arguments;
    int status = options_parse(&cmd_replay, argc, argv, &replay.args, &arguments);

    if (status != 0) {
        return status < 0 ? EXIT_OK : status;
    }
    session_init(&replay.session, "replay");
    progress_catch_interrupt();
    status = read_request(&replay, arguments.items, arguments.count);
    if (status == EXIT_OK) {
        status = session_open(&replay.session, &replay.args.read,
                              &replay.setup.arrivals, arguments.items, arguments.count);
        note_interrupt(&replay);
    }
    if (status == EXIT_OK) {
        status = session_weights(&replay.session, 125, &replay.setup.servers);
    }
    if (status == EXIT_OK) {
        status = replay_trace(&replay);
    }
    if (status == EXIT_OK) {
        status = make_report(&replay, arguments.items, arguments.count);
    }
    if (status == EXIT_OK) {
        status = write_all(&replay);
    }
    replay_free(&replay);
    return status;
}

const struct command cmd_replay = {
    .name = "replay",
    .summary = "replay a trace under several policies and compare them",
    .usage = "[options] TRACE...",
    .description =
        "Reads logs of connections or requests, sorts them by their start, and lets "
        "each "
        "policy spread them over the servers, all side by side: what would have "
        "happened "
        "with another 'ipvsadm -s'? '-' is stdin; compressed files are read as they "
        "are. Ctrl-C ends the reading, or the replay, prints what there is and exits "
        "with "
        "1.\n"
        "\n"
        "Every policy gets a row. conns: connections given to a server. stuck: of the "
        "connections to a destination seen before, how many went where the previous "
        "one "
        "went; warm: how many went to any server that knows the destination, which is "
        "what "
        "a cache sees. moves: how many went to a server that did not, though one that "
        "did "
        "was available. imbal: the highest load over the mean load (load is active "
        "connections divided by weight), averaged over time; 1.00 is even. imbal/c: "
        "the "
        "same "
        "averaged over connections, so that idle times count little. repl: servers per "
        "destination. peak: most active connections on one server. above: how much "
        "of "
        "the time servers had more of them than their weight. Wider terminals show "
        "more.\n"
        "\n"
        "With --scenario a table for each phase, before, during and after, follows. "
        "cut: "
        "connections that were active on a server that was removed or failed, none "
        "where it was drained first. even in: the time from the phase's beginning "
        "until "
        "the imbalance was what it had been before, a tenth more at most.\n"
        "\n"
        "High stuck and warm with a low imbal is what one looks for: lblc and lblcr "
        "give up "
        "locality only when a server is above its weight while another is below half "
        "of its "
        "own, so weights must mean capacity. Compare with dh, which never moves, and "
        "wlc, "
        "which knows no destinations.",
    .options = options,
    .examples =
        "# four servers, three policies\n"
        "locus replay --servers 4 --policy wlc,lblc,lblcr access.log\n"
        "# the servers that are running, and what a 10 GiB cache on each would do\n"
        "ipvsadm -S -n > pool.rules\n"
        "locus replay --pool pool.rules --cache 10GiB access.log\n"
        "# the second day, with what was learnt on the first\n"
        "locus replay --servers 4 --policy lblcr --save day1.map day1.log\n"
        "locus replay --servers 4 --policy lblcr --load day1.map day2.log\n"
        "# for a program\n"
        "locus replay --servers 10.0.0.1:80*40,10.0.0.2:80*20 --json conn.log.gz",
    .run = run,
};
