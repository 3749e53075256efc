/* SPDX-License-Identifier: MIT */
/*
 * locus advise: which policy, which weights, which expiration for this trace, and the lines
 * that apply them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "advise.h"
#include "command.h"
#include "crew.h"
#include "progress.h"
#include "report.h"
#include "session.h"
#include "setup_args.h"

enum { CANDIDATES_MAX = 1024, AT_ONCE = 8 };

struct advise_args {
    struct setup_args setup;
    struct read_args read;
    const char *policies, *max_imbalance;
    bool json;
};

#define AT(field) offsetof(struct advise_args, field)

static const struct option_spec options[] = {
    {"policy", 'p', OPTION_STRING, AT(policies), "LIST",
     "The policies to choose from (default wlc,wrr,dh,sh,mh,lblc,lblcr).", 0, 0, NULL},
    {"max-imbalance", 0, OPTION_STRING, AT(max_imbalance), "RATIO",
     "Choose none with a mean imbalance above this, if one can be found.", 0, 0, NULL},
    SETUP_ARGS_OPTIONS(struct advise_args),
    {"json", 'j', OPTION_FLAG, AT(json), NULL, "JSON instead of text.", 0, 0, NULL},
    READ_ARGS_OPTIONS(struct advise_args),
    {.name = NULL},
};

/* What is tried for lblc and lblcr; other policies have one candidate each, since scaling
 * all weights changes none of their picks. */
static const uint64_t headrooms[] = {100, 125, 150, 200, 300, 500};
static const uint64_t expirations_s[] = {600, 3600, 86400};

struct advise {
    struct advise_args args;
    struct setup setup;
    struct session session;
    uint64_t max_imbalance_ppm;
    struct candidate *candidates;
    size_t count;
    size_t choice;
    uint64_t arrivals;
};

static int out_of_memory(void)
{
    fprintf(stderr, "locus advise: out of memory\n");
    return EXIT_RUNTIME;
}

static bool weights_given(const struct advise *advise)
{
    const struct server_list *list = &advise->setup.servers;
    bool given = false;

    for (size_t i = 0; i < list->count; i++) {
        given = given || list->items[i].weighted;
    }
    return given;
}

/* ---- the search ------------------------------------------------------------------ */

static int add_candidate(struct advise *advise, const struct policy *policy,
                         uint64_t headroom_percent, uint64_t expiration_s)
{
    struct candidate *c = &advise->candidates[advise->count];
    uint64_t p99 = (uint64_t)advise->session.concurrency_p99;
    uint64_t total = headroom_percent == 0 ? 0 : (p99 * headroom_percent + 99) / 100;

    if (advise->count == CANDIDATES_MAX) {
        return usage_error("advise", "--policy: too many");
    }
    /* Never 0: that would mean "as given". */
    total = headroom_percent != 0 && total == 0 ? 1 : total;
    *c = (struct candidate){
        .policy = *policy,
        .headroom_percent = headroom_percent,
        .expiration_ns = expiration_s * 1000000000u,
    };
    if (advise_scale_weights(&advise->setup.servers, total, &c->servers) != LOCUS_OK) {
        return out_of_memory();
    }
    advise->count++;
    return EXIT_OK;
}

static int add_policy(struct advise *advise, const struct policy *policy)
{
    bool given = weights_given(advise);
    int status = EXIT_OK;

    if (!policy_has_map(policy)) {
        return add_candidate(advise, policy, given ? 0 : 125, 0);
    }
    for (size_t e = 0; e < sizeof(expirations_s) / sizeof(*expirations_s); e++) {
        if (status == EXIT_OK && given) {
            status = add_candidate(advise, policy, 0, expirations_s[e]);
        }
        for (size_t h = 0; h < sizeof(headrooms) / sizeof(*headrooms); h++) {
            if (status == EXIT_OK) {
                status = add_candidate(advise, policy, headrooms[h], expirations_s[e]);
            }
        }
    }
    return status;
}

static int add_policies(struct advise *advise)
{
    const char *text = advise->args.policies;
    struct policy policy;

    if (text == NULL) {
        text = "wlc,wrr,dh,sh,mh,lblc,lblcr";
    }
    advise->candidates = calloc(CANDIDATES_MAX, sizeof(*advise->candidates));
    if (advise->candidates == NULL) {
        return out_of_memory();
    }
    for (;; text++) {
        size_t length = strcspn(text, ",");
        if (!policy_parse(text, length, &policy)) {
            return usage_error("advise", "--policy: no policy '%.*s'", (int)length,
                               text);
        }
        int status = add_policy(advise, &policy);
        text += length;
        if (status != EXIT_OK || *text == '\0') {
            return status;
        }
    }
}

static int make_engine(struct advise *advise, struct candidate *c, struct engine **out)
{
    struct engine_config config = {
        .policy = &c->policy,
        .rules = advise->setup.rules,
        .family = advise->session.source.family,
        .expiration_ns = (int64_t)c->expiration_ns,
        .seed = advise->args.setup.seed,
        .servers = &c->servers,
        .tcpfin_ns = advise->args.setup.tcpfin_ns,
        .cache = advise->setup.cache,
    };
    int status = engine_create(&config, out);

    if (status != LOCUS_OK) {
        fprintf(stderr, "locus advise: %s: %s\n", c->policy.text,
                locus_strerror(status));
        return status == LOCUS_ENOMEM ? EXIT_RUNTIME : EXIT_USAGE;
    }
    return EXIT_OK;
}

/* A few candidates over the whole trace. */
static int run_some(struct advise *advise, struct candidate *candidates, size_t count)
{
    struct crew_member members[AT_ONCE] = {0};
    int status = EXIT_OK;

    for (size_t i = 0; status == EXIT_OK && i < count; i++) {
        status = make_engine(advise, &candidates[i], &members[i].engine);
    }
    if (status == EXIT_OK && crew_run(&advise->session.source, members, count,
                                      &progress_stop, NULL, NULL) != 0) {
        status = EXIT_RUNTIME;
    }
    for (size_t i = 0; i < count; i++) {
        if (status == EXIT_OK && members[i].status != LOCUS_OK) {
            fprintf(stderr, "locus advise: %s: %s\n", candidates[i].policy.text,
                    locus_strerror(members[i].status));
            status = EXIT_RUNTIME;
        }
        if (status == EXIT_OK) {
            recorder_figures(engine_recorder(members[i].engine), SIZE_MAX,
                             &candidates[i].figures);
        }
        engine_destroy(members[i].engine);
    }
    advise->arrivals = advise->session.source.counts.arrivals;
    if (status == EXIT_OK && !arrivals_rewind(&advise->session.source)) {
        status = EXIT_RUNTIME;
    }
    return status;
}

static int search(struct advise *advise)
{
    struct progress progress;
    int status = EXIT_OK;

    progress_begin(&progress, "searching", "candidates", advise->count);
    for (size_t i = 0; status == EXIT_OK && i < advise->count; i += AT_ONCE) {
        size_t left = advise->count - i;
        status =
            run_some(advise, advise->candidates + i, left < AT_ONCE ? left : AT_ONCE);
        progress_update(&progress, i);
        if (status == EXIT_OK && progress_stop != 0) {
            fprintf(stderr, "locus advise: interrupted\n");
            status = EXIT_RUNTIME;
        }
    }
    progress_end(&progress);
    if (status == EXIT_OK && advise->arrivals == 0) {
        fprintf(stderr, "locus advise: no connection to replay (see --proto)\n");
        return EXIT_EMPTY;
    }
    if (status == EXIT_OK) {
        bool cache = advise->setup.cache.capacity > 0;
        advise_mark_front(advise->candidates, advise->count, cache);
        advise->choice = advise_choose(advise->candidates, advise->count, cache,
                                       advise->max_imbalance_ppm);
    }
    return status;
}

/* ---- the advice ------------------------------------------------------------------ */

static void write_weights(FILE *out, const struct candidate *c)
{
    uint64_t total = 0;
    bool even = true;

    for (size_t i = 0; i < c->servers.count; i++) {
        total += c->servers.items[i].weight;
        even = even && c->servers.items[i].weight == c->servers.items[0].weight;
    }
    if (even) {
        fprintf(out, "%" PRIu32 " each", c->servers.items[0].weight);
    } else {
        fprintf(out, "%" PRIu64 " in all", total);
    }
}

static const char *expiration_text(const struct candidate *c, char text[REPORT_TEXT])
{
    if (c->expiration_ns == 0) {
        return "-";
    }
    snprintf(text, REPORT_TEXT, "%" PRIu64 "s", c->expiration_ns / 1000000000u);
    return text;
}

static void percent(uint64_t ppm, char text[REPORT_TEXT])
{
    uint64_t tenths = (ppm + 500) / 1000;

    snprintf(text, REPORT_TEXT, "%" PRIu64 ".%u%%", tenths / 10,
             (unsigned)(tenths % 10));
}

static void ratio(uint64_t ppm, char text[REPORT_TEXT])
{
    uint64_t hundredths = (ppm + 5000) / 10000;

    snprintf(text, REPORT_TEXT, "%" PRIu64 ".%02u", hundredths / 100,
             (unsigned)(hundredths % 100));
}

static void print_candidate(const struct advise *advise, size_t i)
{
    const struct candidate *c = &advise->candidates[i];
    char weights[64] = "", expiration[REPORT_TEXT], locality[REPORT_TEXT];
    char imbalance[REPORT_TEXT], moves[REPORT_TEXT], above[REPORT_TEXT];
    FILE *out = fmemopen(weights, sizeof(weights), "w");

    if (out != NULL) {
        write_weights(out, c);
        fclose(out);
    }
    percent(candidate_locality(c, advise->setup.cache.capacity > 0), locality);
    ratio(c->figures.imbalance_mean_ppm, imbalance);
    percent(c->figures.above_weight_ppm, above);
    printf("%c %-12s %14s  %10s  %7s  %6s  %9s  %6s\n", i == advise->choice ? '*' : ' ',
           c->policy.text, weights, expiration_text(c, expiration), locality, imbalance,
           report_count(c->figures.moves, moves), above);
}

static int by_imbalance(const void *a, const void *b)
{
    const struct candidate *x = *(const struct candidate *const *)a;
    const struct candidate *y = *(const struct candidate *const *)b;

    if (x->figures.imbalance_mean_ppm != y->figures.imbalance_mean_ppm) {
        return x->figures.imbalance_mean_ppm < y->figures.imbalance_mean_ppm ? -1 : 1;
    }
    return x < y ? -1 : 1;
}

/* The front, the best balanced first; the caller frees it. NULL: no memory. */
static struct candidate **sorted_front(const struct advise *advise, size_t *count)
{
    struct candidate **front = calloc(advise->count, sizeof(struct candidate *));

    *count = 0;
    for (size_t i = 0; front != NULL && i < advise->count; i++) {
        if (advise->candidates[i].on_front) {
            front[(*count)++] = &advise->candidates[i];
        }
    }
    if (front != NULL) {
        qsort(front, *count, sizeof(struct candidate *), by_imbalance);
    }
    return front;
}

static void print_why(const struct advise *advise, struct candidate *const *front,
                      size_t count)
{
    const struct candidate *c = &advise->candidates[advise->choice];
    const struct candidate *even = front[0], *local = front[count - 1];
    bool cache = advise->setup.cache.capacity > 0;
    const char *word = cache ? "hits" : "warm";
    char a[REPORT_TEXT], b[REPORT_TEXT], d[REPORT_TEXT], e[REPORT_TEXT];

    percent(candidate_locality(c, cache), a);
    ratio(c->figures.imbalance_mean_ppm, b);
    printf("\nchoice: %s, %s %s at an imbalance of %s\n", c->policy.text, word, a, b);
    if (count == 1) {
        printf("why: no other of the %zu tried has more locality or more balance\n",
               advise->count);
        return;
    }
    percent(candidate_locality(even, cache), a);
    ratio(even->figures.imbalance_mean_ppm, b);
    percent(candidate_locality(local, cache), d);
    ratio(local->figures.imbalance_mean_ppm, e);
    printf(
        "why: nearest to the best of both among %zu tried: %s would be the most even "
        "(%s, %s %s),\n     %s the most local (%s, %s %s)\n",
        advise->count, even->policy.text, b, word, a, local->policy.text, e, word, d);
    if (advise->max_imbalance_ppm != 0 &&
        c->figures.imbalance_mean_ppm > advise->max_imbalance_ppm) {
        printf("     none keeps the imbalance asked for\n");
    }
}

/* A word for the shell, quoted where it has to be. */
static void print_word(const char *word)
{
    if (word[0] != '\0' &&
        word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                          "0123456789._-/:,=+@%")] == '\0') {
        printf("%s", word);
        return;
    }
    putchar('\'');
    for (; *word != '\0'; word++) {
        if (*word == '\'') {
            printf("'\\''");
        } else {
            putchar(*word);
        }
    }
    putchar('\'');
}

static void print_option(const char *name, const char *value)
{
    if (value != NULL) {
        printf(" --%s ", name);
        print_word(value);
    }
}

/* The command that shows the choice's figures again. */
static void print_replay(const struct advise *advise, char *const *paths, size_t count)
{
    const struct candidate *c = &advise->candidates[advise->choice];
    const struct setup_args *s = &advise->args.setup;
    const struct read_args *r = &advise->args.read;

    printf("\ncheck:  locus replay --policy %s --servers '", c->policy.text);
    for (size_t i = 0; i < c->servers.count; i++) {
        const struct server_spec *server = &c->servers.items[i];
        printf("%s%s*%" PRIu32, i > 0 ? "," : "", server->name, server->weight);
        if (server->upper != 0) {
            printf("/%" PRIu32 "/%" PRIu32, server->upper, server->lower);
        }
    }
    printf("'");
    if (c->expiration_ns != 0) {
        printf(" --expiration %" PRIu64 "s", c->expiration_ns / 1000000000u);
    }
    print_option("rules", s->rules);
    print_option("cache", s->cache);
    if (s->cache != NULL) {
        print_option("evict", cache_policy_names[s->evict]);
    }
    print_option("duration", s->duration);
    print_option("speed", s->speed);
    print_option("proto", s->proto != 0 ? setup_proto_choices[s->proto] : NULL);
    print_option("format", r->format);
    print_option("key", r->key != 0 ? read_key_choices[r->key] : NULL);
    print_option("columns", r->columns);
    print_option("sample", r->sample);
    print_option("time-unit",
                 r->time_unit != 0 ? read_unit_choices[r->time_unit] : NULL);
    if (r->from_ns != 0) {
        printf(" --from %" PRIu64 "ns", r->from_ns);
    }
    if (r->to_ns != 0) {
        printf(" --to %" PRIu64 "ns", r->to_ns);
    }
    if (r->arrival != 1000) {
        printf(" --arrival %" PRIu64, r->arrival);
    }
    if (s->seed != 1) {
        printf(" --seed %" PRIu64, s->seed);
    }
    if (s->tcpfin_ns != 120 * (uint64_t)1000000000) {
        printf(" --tcpfin %" PRIu64 "ns", s->tcpfin_ns);
    }
    if (s->udp_ns != 300 * (uint64_t)1000000000) {
        printf(" --udp-timeout %" PRIu64 "ns", s->udp_ns);
    }
    for (size_t i = 0; i < count; i++) {
        putchar(' ');
        print_word(paths[i]);
    }
    printf("\n");
}

static void print_flags(const struct candidate *c)
{
    const char *separator = " -b ";

    if ((c->policy.flags & LOCUS_FLAG_FALLBACK) != 0) {
        printf("%s%s-fallback", separator, c->policy.scheduler);
        separator = ",";
    }
    if ((c->policy.flags & LOCUS_FLAG_PORT) != 0) {
        printf("%s%s-port", separator, c->policy.scheduler);
    }
}

static void print_sysctl(const struct candidate *c)
{
    if (c->expiration_ns != 0) {
        printf("  sysctl -w net.ipv4.vs.%s_expiration=%" PRIu64 "\n",
               c->policy.scheduler, c->expiration_ns / 1000000000u);
    }
}

/* "-t 10.0.0.1:80", "-f 1"; lists have no service, so a fwmark one is made up. */
static void print_service(const struct server_list *list)
{
    const char *behind = strchr(list->service, ' ');

    if (behind == NULL) {
        printf("-f 1");
    } else if (strncmp(list->service, "fwmark", 6) == 0) {
        printf("-f%s", behind);
    } else if (strncmp(list->service, "sctp", 4) == 0) {
        printf("--sctp-service%s", behind);
    } else {
        printf("-%c%s", list->service[0], behind);
    }
}

static void print_ipvsadm(const struct advise *advise)
{
    const struct server_list *list = &advise->setup.servers;
    const struct candidate *c = &advise->candidates[advise->choice];
    bool edit = list->service[0] != '\0';

    printf("  ipvsadm -%c ", edit ? 'E' : 'A');
    print_service(list);
    printf(" -s %s", c->policy.scheduler);
    print_flags(c);
    printf("\n");
    for (size_t i = 0; i < c->servers.count; i++) {
        const struct server_spec *s = &c->servers.items[i];
        printf("  ipvsadm -%c ", edit ? 'e' : 'a');
        print_service(list);
        printf(" -r %s -%c -w %" PRIu32, s->name, s->forward != 0 ? s->forward : 'g',
               s->weight);
        if (s->upper != 0) {
            printf(" -x %" PRIu32 " -y %" PRIu32, s->upper, s->lower);
        }
        printf("\n");
    }
    print_sysctl(c);
}

static void print_keepalived(const struct advise *advise)
{
    const struct server_list *list = &advise->setup.servers;
    const struct candidate *c = &advise->candidates[advise->choice];

    printf("  virtual_server %s {\n    lb_algo %s\n",
           strncmp(list->service, "service ", 8) == 0 ? list->service + 8
                                                      : list->service,
           c->policy.scheduler);
    for (size_t i = 0; i < c->servers.count; i++) {
        printf("    real_server %s { weight %" PRIu32 " }\n", c->servers.items[i].name,
               c->servers.items[i].weight);
    }
    printf("  }\n");
    print_sysctl(c);
}

static void print_text(const struct advise *advise, char *const *paths,
                       size_t path_count)
{
    size_t count;
    struct candidate **front = sorted_front(advise, &count);
    const struct candidate *c = &advise->candidates[advise->choice];
    char a[REPORT_TEXT];

    if (front == NULL) {
        return;
    }
    printf("%s connections, %zu candidates; those that no other beats in both:\n\n",
           report_count(advise->arrivals, a), advise->count);
    printf("  %-12s %14s  %10s  %7s  %6s  %9s  %6s\n", "policy", "weights",
           "expiration", advise->setup.cache.capacity > 0 ? "hits" : "warm", "imbal",
           "moves", "above");
    for (size_t i = 0; i < count; i++) {
        print_candidate(advise, (size_t)(front[i] - advise->candidates));
    }
    print_why(advise, front, count);
    if (c->policy.ops == NULL) {
        printf("\napply:\n");
        if (advise->setup.servers.kind == POOL_KEEPALIVED) {
            print_keepalived(advise);
        } else {
            print_ipvsadm(advise);
        }
    } else {
        printf("\nIPVS has no such scheduler: it is one of the simulator's own\n");
    }
    print_replay(advise, paths, path_count);
    free(front);
}

static json_t *candidate_object(const struct advise *advise, const struct candidate *c)
{
    bool cache = advise->setup.cache.capacity > 0;
    json_t *object = json_object();
    json_t *servers = json_array();

    json_object_set_new(object, "policy", json_string(c->policy.text));
    json_object_set_new(object, "headroom_percent",
                        json_integer((json_int_t)c->headroom_percent));
    json_object_set_new(object, "expiration_ms",
                        json_integer((json_int_t)(c->expiration_ns / 1000000u)));
    for (size_t i = 0; i < c->servers.count; i++) {
        json_array_append_new(
            servers, json_pack("{sssI}", "address", c->servers.items[i].name, "weight",
                               (json_int_t)c->servers.items[i].weight));
    }
    json_object_set_new(object, "servers", servers);
    for (const struct figure_spec *s = figure_specs; s->name != NULL; s++) {
        if (s->needs != NEEDS_GUARD && (s->needs != NEEDS_CACHE || cache) &&
            (s->needs != NEEDS_MAP || policy_has_map(&c->policy))) {
            json_object_set_new(object, s->name,
                                json_integer((json_int_t)figure_value(&c->figures, s)));
        }
    }
    return object;
}

static int print_json(const struct advise *advise)
{
    size_t count;
    struct candidate **front = sorted_front(advise, &count);
    json_t *object = json_object();
    json_t *array = json_array();

    if (front == NULL || object == NULL || array == NULL) {
        free(front);
        json_decref(object);
        json_decref(array);
        return out_of_memory();
    }
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(array, candidate_object(advise, front[i]));
    }
    json_object_set_new(object, "connections",
                        json_integer((json_int_t)advise->arrivals));
    json_object_set_new(object, "candidates", json_integer((json_int_t)advise->count));
    json_object_set_new(object, "front", array);
    json_object_set_new(object, "choice",
                        candidate_object(advise, &advise->candidates[advise->choice]));
    bool ok = json_dumpf(object, stdout, JSON_INDENT(1)) == 0;
    putchar('\n');
    json_decref(object);
    free(front);
    return ok || ferror(stdout) ? EXIT_OK : out_of_memory();
}

/* ---- the command ----------------------------------------------------------------- */

static int read_request(struct advise *advise, size_t paths)
{
    const char *limit = advise->args.max_imbalance;

    if (paths == 0) {
        return usage_error("advise", "which trace? ('-' is stdin)");
    }
    if (limit != NULL &&
        (!read_decimal(limit, strlen(limit), 6, &advise->max_imbalance_ppm) ||
         advise->max_imbalance_ppm < 1000000)) {
        return usage_error("advise",
                           "--max-imbalance: expected a ratio of 1 or more, not '%s'",
                           limit);
    }
    int status = setup_args_resolve("advise", &advise->args.setup, &advise->setup);
    if (status == EXIT_OK && advise->setup.servers.event_count > 0) {
        return usage_error("advise",
                           "the pool's script has events; advise takes servers only");
    }
    return status;
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
    status = read_request(&advise, arguments.count);
    if (status == EXIT_OK) {
        status = session_open(&advise.session, &advise.args.read,
                              &advise.setup.arrivals, arguments.items, arguments.count);
    }
    if (status == EXIT_OK) {
        status = session_concurrency(&advise.session);
    }
    if (status == EXIT_OK) {
        status = add_policies(&advise);
    }
    if (status == EXIT_OK) {
        status = search(&advise);
    }
    if (status == EXIT_OK && advise.args.json) {
        status = print_json(&advise);
    } else if (status == EXIT_OK) {
        print_text(&advise, arguments.items, arguments.count);
    }
    for (size_t i = 0; i < advise.count; i++) {
        servers_free(&advise.candidates[i].servers);
    }
    free(advise.candidates);
    session_fini(&advise.session);
    servers_free(&advise.setup.servers);
    return status;
}

const struct command cmd_advise = {
    .name = "advise",
    .summary = "search policy, weights and expiration that suit a trace",
    .usage = "[options] TRACE...",
    .description =
        "Replays the trace under many settings: each policy, and for lblc and lblcr "
        "weights "
        "that make 1 to 5 times the trace's 99th percentile of concurrency together "
        "(in the "
        "proportions that the servers have) with destinations that expire after ten "
        "minutes, an hour or a day. Prints those that no other beats in both locality "
        "(hit "
        "ratio with --cache, else warm) and balance, the one nearest to the best of "
        "both, "
        "why, the lines that apply it, and the replay that shows its figures again.",
    .options = options,
    .examples = "# what should these four caches run?\n"
                "locus advise --servers 4 --cache 10GiB access.log\n"
                "# the pool as it is, and no server much busier than the others\n"
                "ipvsadm -S -n > pool.rules\n"
                "locus advise --pool pool.rules --max-imbalance 1.3 conn.log.gz",
    .run = run,
};
