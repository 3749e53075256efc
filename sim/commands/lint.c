/* SPDX-License-Identifier: MIT */
/*
 * locus lint: what is odd about a pool, by itself and under the load of a trace.
 */
#include "commands.h"

#include <inttypes.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "../cli/progress.h"
#include "../cli/session.h"
#include "../cli/setup_args.h"
#include "../policy/policy.h"
#include "../report/report.h"

struct lint_args {
    struct setup_args setup;
    struct read_args read;
    const char *policy;
    bool json, resolve;
};

#define AT(field) offsetof(struct lint_args, field)

static const struct option_spec options[] = {
    OPT_TEXT("policy", 'p', AT(policy), "NAME",
             "The scheduler (default: what the pool file says, else lblc)."),
    OPT_GROUP(setup_options, AT(setup)),
    OPT_FLAG("resolve", 0, AT(resolve),
             "Look up the servers' names; asks the network."),
    OPT_FLAG("json", 'j', AT(json), "JSON instead of lines."),
    OPT_GROUP(read_options, AT(read)),
    OPT_END,
};

struct lint {
    struct lint_args args;
    struct setup setup;
    struct session session;
    struct policy policy;
    const char *policy_name;
    size_t findings;
    json_t *list; /* NULL: lines are printed at once */
};

/* One finding: a word for machines, whom it is about, and a sentence. */
static void say(struct lint *lint, const char *word, const char *subject,
                const char *format, ...) __attribute__((format(printf, 4, 5)));

static void say(struct lint *lint, const char *word, const char *subject,
                const char *format, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    lint->findings++;
    if (lint->list == NULL) {
        printf("%s: %s: %s\n", word, subject, text);
        return;
    }
    /* A name that is no UTF-8 is left out. */
    json_array_append_new(lint->list, json_pack("{ssso*ss}", "check", word, "subject",
                                                json_string(subject), "text", text));
}

static bool policy_is(const struct lint *lint, const char *name)
{
    return strncmp(lint->policy_name, name, strlen(name)) == 0;
}

static bool is_lblc(const struct lint *lint)
{
    return policy_is(lint, "lblc");
}

/* ---- the pool by itself ---------------------------------------------------------- */

static void check_weight(struct lint *lint, const struct server_spec *s)
{
    if (is_lblc(lint) && s->weighted && s->weight == 1 && s->capacity == 0) {
        say(lint, "weight-one", s->name,
            "weight 1 is a capacity of 1 under %s: with two active connections it is "
            "overfull, and destinations leave it for any server with less than half of "
            "its weight; let weights be connections that a server can take (with "
            "liblocus: "
            "give it a capacity)",
            lint->policy_name);
    }
    if (s->weight > 65535) {
        say(lint, "weight-large", s->name,
            "weight %" PRIu32
            " is more than the 65535 that ipvsadm(8) promises to take",
            s->weight);
    }
    if (s->weight == 0 && (policy_is(lint, "sh") || policy_is(lint, "mh")) &&
        (lint->policy.flags & LOCUS_FLAG_FALLBACK) == 0) {
        say(lint, "hash-blackhole", s->name,
            "clients that %s gives to this quiesced server are refused; the flag "
            "fallback "
            "(ipvsadm -b %s-fallback) sends them elsewhere",
            lint->policy_name, lint->policy_name);
    }
    if (s->weight == 0 && policy_is(lint, "dh")) {
        say(lint, "hash-blackhole", s->name,
            "destinations that dh gives to this quiesced server are refused until it "
            "is "
            "removed");
    }
}

static void check_thresholds(struct lint *lint, const struct server_spec *s)
{
    if (s->lower > s->upper) {
        say(lint, "threshold-order", s->name,
            "the lower threshold %" PRIu32 " is above the upper %" PRIu32
            ": ipvsadm refuses it",
            s->lower, s->upper);
    }
    if (s->upper == 0 || !is_lblc(lint)) {
        return;
    }
    if (strcmp(lint->policy_name, "lblc") == 0 &&
        !lint->setup.rules->lblc_checks_threshold) {
        say(lint, "threshold-not-kept", s->name,
            "lblc leaves the destinations that it has on an overloaded server: the "
            "upper "
            "threshold %" PRIu32 " keeps new ones away only; lblcr keeps it",
            s->upper);
    } else if (server_capacity(s) > s->upper) {
        say(lint, "threshold-below-weight", s->name,
            "the upper threshold %" PRIu32 " stops it below its %s %" PRIu32
            ", so that it never spills",
            s->upper, s->capacity != 0 ? "capacity" : "weight", server_capacity(s));
    }
}

static void check_name(struct lint *lint, const struct server_spec *s)
{
    struct addrinfo *found = NULL;
    char host[SERVER_NAME_SIZE];

    if (s->address.family != LOCUS_NAME) {
        return;
    }
    if (!lint->args.resolve) {
        say(lint, "name", s->name,
            "is a name: ipvsadm resolves it once, when the rule is loaded (--resolve "
            "looks whether it does)");
        return;
    }
    snprintf(host, sizeof(host), "%.*s", (int)strcspn(s->name, ":"), s->name);
    int error = getaddrinfo(host, NULL, NULL, &found);
    if (error != 0) {
        say(lint, "name-unresolved", s->name, "%s", gai_strerror(error));
    } else {
        freeaddrinfo(found);
    }
}

static void check_servers(struct lint *lint)
{
    const struct server_list *list = &lint->setup.servers;
    bool any = false, even = true;
    uint32_t weight = 0;

    for (size_t i = 0; i < list->count; i++) {
        const struct server_spec *s = &list->items[i];
        check_weight(lint, s);
        check_thresholds(lint, s);
        check_name(lint, s);
        any = any || s->weight > 0 || !s->weighted;
        even = even && (s->weight == 0 || weight == 0 || s->weight == weight);
        weight = s->weight != 0 ? s->weight : weight;
    }
    if (!any) {
        say(lint, "all-quiesced", "pool",
            "every server has weight 0: nobody is served");
    }
    if (!even &&
        (policy_is(lint, "dh") || policy_is(lint, "rr") || policy_is(lint, "lc"))) {
        say(lint, "weights-ignored", "pool",
            "%s does not look at weights, but they differ", lint->policy_name);
    }
    if (policy_goes_by_destination(lint->policy_name) &&
        servers_have_one_destination(list)) {
        say(lint, "one-destination", list->service,
            "%s looks at the packet's destination, which is this one address for every "
            "packet: all goes to one server or set; it is made for fwmark services, "
            "where destinations differ",
            lint->policy_name);
    }
}

/* ---- under the trace's load ------------------------------------------------------ */

static void check_capacity(struct lint *lint, uint64_t active)
{
    const struct server_list *list = &lint->setup.servers;
    uint64_t capacity = 0;
    bool given = false, apart = false;

    for (size_t i = 0; i < list->count; i++) {
        capacity += server_capacity(&list->items[i]);
        given = given || list->items[i].weighted;
        apart = apart || list->items[i].capacity != 0;
    }
    if (given && is_lblc(lint) && capacity < active) {
        say(lint, "capacity-below-load", "pool",
            "the %s make %" PRIu64 " together, the trace has %" PRIu64
            " connections at once (p99 over time): servers stay above their %s, and "
            "as no other is below half of its own, nothing spills",
            apart ? "capacities" : "weights", capacity, active,
            apart ? "capacity" : "weight");
    }
}

static void check_threshold_load(struct lint *lint, uint64_t total)
{
    const struct server_list *list = &lint->setup.servers;
    uint64_t weight = 0;

    for (size_t i = 0; i < list->count; i++) {
        weight += list->items[i].weight;
    }
    for (size_t i = 0; i < list->count && weight > 0; i++) {
        const struct server_spec *s = &list->items[i];
        uint64_t share = (uint64_t)((figure_sum)total * s->weight / weight);
        uint64_t lower = s->lower != 0 ? s->lower : s->upper - s->upper / 4;
        if (s->upper != 0 && share >= s->upper && share >= lower) {
            say(lint, "threshold-never-clears", s->name,
                "its share of the trace's connections, %" PRIu64
                " with those that wait for their time-out, is above both thresholds "
                "(%" PRIu32 " and %" PRIu64 "): once overloaded it stays so",
                share, s->upper, lower);
        }
    }
}

static int check_load(struct lint *lint, char *const *paths, size_t count)
{
    struct session *session = &lint->session;
    uint64_t peak;
    int status =
        session_open(session, &lint->args.read, &lint->setup.arrivals, paths, count);

    if (status == EXIT_OK) {
        status = session_concurrency(session);
    }
    if (status != EXIT_OK) {
        return status;
    }
    int64_t total = arrivals_concurrency(&session->source, 500000,
                                         lint->args.setup.tcpfin_ns, &peak);
    if (total < 0) {
        return EXIT_RUNTIME;
    }
    if (progress_stop != 0) {
        fprintf(stderr, "locus lint: interrupted\n");
        return EXIT_RUNTIME;
    }
    check_capacity(lint, (uint64_t)session->concurrency_p99);
    check_threshold_load(lint, (uint64_t)total);
    return EXIT_OK;
}

/* ---- the command ----------------------------------------------------------------- */

static int choose_policy(struct lint *lint)
{
    const char *name = lint->args.policy;

    if (name == NULL) {
        name = lint->setup.servers.scheduler[0] != '\0' ? lint->setup.servers.scheduler
                                                        : "lblc";
    }
    if (!policy_parse(name, strlen(name), &lint->policy)) {
        return setup_unknown_policy("lint", name, strlen(name));
    }
    lint->policy_name =
        lint->policy.ops != NULL ? lint->policy.ops->name : lint->policy.scheduler;
    return EXIT_OK;
}

static int finish(struct lint *lint)
{
    if (lint->list != NULL) {
        json_t *object =
            json_pack("{sssO}", "policy", lint->policy_name, "findings", lint->list);
        if (object == NULL) {
            return memory_error("lint");
        }
        json_dumpf(object, stdout, JSON_INDENT(1));
        putchar('\n');
        json_decref(object);
    } else if (lint->findings == 0) {
        printf("nothing odd about %zu servers under %s\n", lint->setup.servers.count,
               lint->policy_name);
    }
    return lint->findings == 0 ? EXIT_OK : EXIT_BAD_DATA;
}

static int run(int argc, char **argv)
{
    struct lint lint = {
        .args = {.setup = SETUP_ARGS_DEFAULT, .read = READ_ARGS_DEFAULT},
    };
    struct arguments arguments;
    int status = options_parse(&cmd_lint, argc, argv, &lint.args, &arguments);

    if (status != 0) {
        return status < 0 ? EXIT_OK : status;
    }
    session_init(&lint.session, "lint");
    progress_catch_interrupt();
    status = setup_check_stdin("lint", &lint.args.setup, NULL, arguments.items,
                               arguments.count);
    if (status == EXIT_OK) {
        status = setup_args_resolve("lint", &lint.args.setup, &lint.setup);
    }
    if (status == EXIT_OK) {
        status = choose_policy(&lint);
    }
    if (status == EXIT_OK && lint.args.json) {
        lint.list = json_array();
        status = lint.list != NULL ? EXIT_OK : EXIT_RUNTIME;
    }
    if (status == EXIT_OK) {
        check_servers(&lint);
    }
    if (status == EXIT_OK && arguments.count > 0) {
        status = check_load(&lint, arguments.items, arguments.count);
    }
    if (status == EXIT_OK) {
        status = finish(&lint);
    }
    json_decref(lint.list);
    session_fini(&lint.session);
    servers_free(&lint.setup.servers);
    return status;
}

const struct command cmd_lint = {
    .name = "lint",
    .summary = "find what is odd about a pool of servers",
    .usage = "[options] [TRACE...]",
    .description =
        "Looks at servers, weights and thresholds for what works but is not meant: "
        "weight "
        "1 under lblc, weights that a policy ignores, thresholds that it does not "
        "keep, "
        "hashes onto quiesced servers, names (with --resolve: those that do not "
        "resolve), lblc on a service with a single destination. With a trace also: "
        "weights below the concurrency, thresholds that never clear.\n"
        "\n"
        "Every finding is a line \"check: subject: text\". Exits with 0 when there is "
        "none, with 3 when there is one.",
    .options = options,
    .examples = "ipvsadm -S -n | locus lint --pool -\n"
                "locus lint --pool /etc/keepalived/keepalived.conf access.log",
    .run = run,
};
