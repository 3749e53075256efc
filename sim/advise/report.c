/* SPDX-License-Identifier: MIT */
#include "report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "../base/errors.h"
#include "../report/report.h"

static bool has_cache(const struct advice *advice)
{
    return advice->setup->cache.capacity > 0;
}

static const struct candidate *chosen(const struct advice *advice)
{
    return &advice->candidates[advice->choice];
}

static int out_of_memory(void)
{
    fprintf(stderr, "locus advise: out of memory\n");
    return EXIT_RUNTIME;
}

/* ---- the front ------------------------------------------------------------------- */

static int by_imbalance(const void *a, const void *b)
{
    const struct candidate *x = *(const struct candidate *const *)a;
    const struct candidate *y = *(const struct candidate *const *)b;

    if (candidate_imbalance(x) != candidate_imbalance(y)) {
        return candidate_imbalance(x) < candidate_imbalance(y) ? -1 : 1;
    }
    return x < y ? -1 : 1;
}

/* The front, the best balanced first; the caller frees it. NULL: no memory. */
static const struct candidate **sorted_front(const struct advice *advice, size_t *count)
{
    const struct candidate **front =
        calloc(advice->count, sizeof(const struct candidate *));

    *count = 0;
    for (size_t i = 0; front != NULL && i < advice->count; i++) {
        if (advice->candidates[i].on_front) {
            front[(*count)++] = &advice->candidates[i];
        }
    }
    if (front != NULL) {
        qsort(front, *count, sizeof(const struct candidate *), by_imbalance);
    }
    return front;
}

static void weights_text(const struct candidate *c, char text[TEXT_SIZE])
{
    char count[TEXT_SIZE];
    uint64_t total = 0;
    bool even = true;

    for (size_t i = 0; i < c->servers.count; i++) {
        total += c->servers.items[i].weight;
        even = even && c->servers.items[i].weight == c->servers.items[0].weight;
    }
    text_count(even ? c->servers.items[0].weight : total, count);
    snprintf(text, TEXT_SIZE, "%.20s %s", count, even ? "each" : "in all");
}

static const char *expiration_text(const struct candidate *c, char text[TEXT_SIZE])
{
    if (c->expiration_ns == 0) {
        return "-";
    }
    snprintf(text, TEXT_SIZE, "%" PRIu64 "s", c->expiration_ns / 1000000000u);
    return text;
}

/* The largest upper threshold that the search gave, and the map's size. */
static const char *bounds_text(const struct candidate *c, char text[2 * TEXT_SIZE])
{
    char entries[TEXT_SIZE], count[TEXT_SIZE];
    uint32_t upper = 0;

    for (size_t i = 0; i < c->servers.count; i++) {
        upper = c->servers.items[i].upper > upper ? c->servers.items[i].upper : upper;
    }
    text_count(c->max_entries, entries);
    text_count(upper, count);
    if (upper == 0 && c->max_entries == 0) {
        return "-";
    }
    snprintf(text, 2 * TEXT_SIZE, "%s%s%s%s", upper > 0 ? "-x " : "",
             upper > 0 ? count : "", c->max_entries > 0 && upper > 0 ? ", " : "",
             c->max_entries > 0 ? "map " : "");
    if (c->max_entries > 0) {
        size_t used = strlen(text);
        snprintf(text + used, 2 * TEXT_SIZE - used, "%s", entries);
    }
    return text;
}

static void print_candidate(const struct advice *advice, const struct candidate *c,
                            int width)
{
    char weights[TEXT_SIZE], expiration[TEXT_SIZE], bounds[2 * TEXT_SIZE];
    char locality[TEXT_SIZE], imbalance[TEXT_SIZE], above[TEXT_SIZE];

    weights_text(c, weights);
    printf("%c %-*s  %12s  %7s  %15s  %7s  %7s  %6s\n", c == chosen(advice) ? '*' : ' ',
           width, c->policy.text, weights, expiration_text(c, expiration),
           bounds_text(c, bounds),
           text_share(candidate_locality(c, has_cache(advice)), locality),
           text_ratio(candidate_imbalance(c), imbalance),
           text_share(c->figures.above_weight_ppm, above));
}

static void print_front(const struct advice *advice,
                        const struct candidate *const *front, size_t count)
{
    int width = 6;
    char arrivals[TEXT_SIZE];

    for (size_t i = 0; i < count; i++) {
        int length = (int)strlen(front[i]->policy.text);
        width = length > width ? length : width;
    }
    printf("%s connections, %zu candidates; those that no other beats in both:\n\n",
           text_count(advice->arrivals, arrivals), advice->count);
    printf("  %-*s  %12s  %7s  %15s  %7s  %7s  %6s\n", width, "policy", "weights",
           "expires", "bounds", has_cache(advice) ? "hits" : "warm", "imbal/c",
           "above");
    for (size_t i = 0; i < count; i++) {
        print_candidate(advice, front[i], width);
    }
}

/* "lblc, warm 99.9% at an imbalance of 1.04" */
static void print_merits(const struct advice *advice, const struct candidate *c)
{
    char locality[TEXT_SIZE], imbalance[TEXT_SIZE];

    printf("%s, %s %s at an imbalance of %s", c->policy.text,
           has_cache(advice) ? "hits" : "warm",
           text_share(candidate_locality(c, has_cache(advice)), locality),
           text_ratio(candidate_imbalance(c), imbalance));
}

/* What the library could do that IPVS cannot. */
static void print_beyond(const struct advice *advice)
{
    struct advise_limits limits = {.max_imbalance_ppm = advice->max_imbalance_ppm};
    size_t best =
        advise_choose(advice->candidates, advice->count, has_cache(advice), &limits);
    const struct candidate *c = &advice->candidates[best];

    if (best == advice->choice || candidate_is_for_ipvs(c)) {
        return;
    }
    printf("     nearer still, but no setting of IPVS: ");
    print_merits(advice, c);
    if (c->max_entries > 0) {
        printf(",\n     with max_entries %" PRIu32 " of liblocus", c->max_entries);
    }
    printf("\n");
}

static void print_why(const struct advice *advice, const struct candidate *const *front,
                      size_t count)
{
    printf("\nchoice: ");
    print_merits(advice, chosen(advice));
    if (count == 1) {
        printf("\nwhy: no other of the %zu tried has more locality or more balance\n",
               advice->count);
        return;
    }
    printf("\nwhy: nearest to the best of both among %zu tried\n     most even:  ",
           advice->count);
    print_merits(advice, front[0]);
    printf("\n     most local: ");
    print_merits(advice, front[count - 1]);
    printf("\n");
    if (advice->max_imbalance_ppm != 0 &&
        candidate_imbalance(chosen(advice)) > advice->max_imbalance_ppm) {
        printf("     none keeps the imbalance asked for\n");
    }
    print_beyond(advice);
}

/* ---- the replay that shows it ---------------------------------------------------- */

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

/* The options that were given, as far as they say something. */
static void print_setup(const struct setup_args *s)
{
    char time[DURATION_TEXT];

    print_option("rules", s->rules);
    print_option("cache", s->cache);
    if (s->cache != NULL) {
        print_option("evict", cache_policy_names[s->evict]);
    }
    print_option("duration", s->duration);
    print_option("speed", s->speed);
    print_option("proto", s->proto != 0 ? setup_proto_choices[s->proto] : NULL);
    if (s->seed != 1) {
        printf(" --seed %" PRIu64, s->seed);
    }
    if (s->tcpfin_ns != 120 * (uint64_t)1000000000) {
        printf(" --tcpfin %s", duration_text(s->tcpfin_ns, time));
    }
    if (s->udp_ns != 300 * (uint64_t)1000000000) {
        printf(" --udp-timeout %s", duration_text(s->udp_ns, time));
    }
}

static void print_reading(const struct read_args *r)
{
    char time[DURATION_TEXT];

    print_option("format", r->format);
    print_option("key", r->key != 0 ? read_key_choices[r->key] : NULL);
    print_option("columns", r->columns);
    print_option("sample", r->sample);
    print_option("time-unit",
                 r->time_unit != 0 ? read_unit_choices[r->time_unit] : NULL);
    if (r->from_ns != 0) {
        printf(" --from %s", duration_text(r->from_ns, time));
    }
    if (r->to_ns != 0) {
        printf(" --to %s", duration_text(r->to_ns, time));
    }
    if (r->arrival != 1000) {
        printf(" --arrival %" PRIu64, r->arrival);
    }
}

/* The command that shows the choice's figures again. */
static void print_replay(const struct advice *advice)
{
    const struct candidate *c = chosen(advice);

    printf("\ncheck:  locus replay --policy %s --servers '", c->policy.text);
    for (size_t i = 0; i < c->servers.count; i++) {
        const struct server_spec *server = &c->servers.items[i];
        printf("%s%s*%" PRIu32, i > 0 ? "," : "", server->name, server->weight);
        if (server->capacity != 0) {
            printf("@%" PRIu32, server->capacity);
        }
        if (server->upper != 0) {
            printf("/%" PRIu32 "/%" PRIu32, server->upper, server->lower);
        }
    }
    printf("'");
    if (c->expiration_ns != 0) {
        printf(" --expiration %" PRIu64 "s", c->expiration_ns / 1000000000u);
    }
    if (c->max_entries != 0) {
        printf(" --max-entries %" PRIu32, c->max_entries);
    }
    print_setup(advice->setup_args);
    print_reading(advice->read_args);
    for (size_t i = 0; i < advice->path_count; i++) {
        putchar(' ');
        print_word(advice->paths[i]);
    }
    printf("\n");
}

/* ---- the lines that apply it ----------------------------------------------------- */

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

static void print_ipvsadm(const struct advice *advice)
{
    const struct server_list *list = &advice->setup->servers;
    const struct candidate *c = chosen(advice);
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

/* keepalived writes ADDRESS PORT, and IPv6 without brackets. */
static void print_endpoint(const char *text)
{
    const char *port = strrchr(text, ':');

    if (text[0] == '[') {
        size_t length = strcspn(text, "]");
        printf("%.*s%s%s", (int)(length - 1), text + 1,
               text[length + 1] == ':' ? " " : "",
               text[length + 1] == ':' ? text + length + 2 : "");
    } else if (port != NULL && strchr(text, ':') == port) {
        printf("%.*s %s", (int)(port - text), text, port + 1);
    } else {
        printf("%s", text);
    }
}

static void print_keepalived_flags(const struct candidate *c)
{
    if ((c->policy.flags & LOCUS_FLAG_FALLBACK) != 0) {
        printf("    %s-fallback\n", c->policy.scheduler);
    }
    if ((c->policy.flags & LOCUS_FLAG_PORT) != 0) {
        printf("    %s-port\n", c->policy.scheduler);
    }
}

static void print_keepalived(const struct advice *advice)
{
    const char *service = advice->setup->servers.service;
    const struct candidate *c = chosen(advice);

    printf("  virtual_server ");
    if (strncmp(service, "service ", 8) == 0) {
        print_endpoint(service + 8);
    } else {
        printf("%s", service);
    }
    printf(" {\n    lb_algo %s\n", c->policy.scheduler);
    print_keepalived_flags(c);
    for (size_t i = 0; i < c->servers.count; i++) {
        const struct server_spec *s = &c->servers.items[i];
        printf("    real_server ");
        print_endpoint(s->name);
        printf(" {\n      weight %" PRIu32 "\n", s->weight);
        if (s->upper != 0) {
            printf("      uthreshold %" PRIu32 "\n      lthreshold %" PRIu32 "\n",
                   s->upper, s->lower);
        }
        printf("    }\n");
    }
    printf("  }\n");
    print_sysctl(c);
}

static void print_apply(const struct advice *advice)
{
    if (!policy_is_of_ipvs(&chosen(advice)->policy)) {
        printf("\nIPVS has no such scheduler: it is %s own\n",
               chosen(advice)->policy.ops != NULL ? "one of the simulator's"
                                                  : "liblocus'");
        return;
    }
    printf("\napply:\n");
    if (advice->setup->servers.kind == POOL_KEEPALIVED) {
        print_keepalived(advice);
    } else {
        print_ipvsadm(advice);
    }
    if (strncmp(advice->setup->rules_name, "kernel", 6) != 0) {
        printf("  # measured under the rules '%s', which no kernel has\n",
               advice->setup->rules_name);
    }
    if (servers_have_one_destination(&advice->setup->servers) &&
        policy_goes_by_destination(chosen(advice)->policy.scheduler)) {
        printf(
            "  # %s goes by the packets' destination, which is one address here: it\n"
            "  # needs a fwmark service that many destinations reach\n",
            chosen(advice)->policy.scheduler);
    }
    if (chosen(advice)->max_entries != 0) {
        printf("  # max_entries %" PRIu32 " is liblocus' alone; IPVS' bound is fixed\n",
               chosen(advice)->max_entries);
    }
}

int advice_print(const struct advice *advice)
{
    size_t count;
    const struct candidate **front = sorted_front(advice, &count);

    if (front == NULL) {
        return out_of_memory();
    }
    print_front(advice, front, count);
    print_why(advice, front, count);
    print_apply(advice);
    print_replay(advice);
    free(front);
    return EXIT_OK;
}

/* ---- for programs ---------------------------------------------------------------- */

static json_t *servers_array(const struct candidate *c)
{
    json_t *servers = json_array();

    for (size_t i = 0; i < c->servers.count; i++) {
        const struct server_spec *s = &c->servers.items[i];
        json_array_append_new(servers,
                              json_pack("{sssIsIsI}", "address", s->name, "weight",
                                        (json_int_t)s->weight, "upper_threshold",
                                        (json_int_t)s->upper, "lower_threshold",
                                        (json_int_t)s->lower));
    }
    return servers;
}

static json_t *candidate_object(const struct advice *advice, const struct candidate *c)
{
    json_t *object = json_object();

    json_object_set_new(object, "policy", json_string(c->policy.text));
    json_object_set_new(object, "headroom_percent",
                        json_integer((json_int_t)c->headroom_percent));
    json_object_set_new(object, "expiration_ms",
                        json_integer((json_int_t)(c->expiration_ns / 1000000u)));
    json_object_set_new(object, "max_entries",
                        json_integer((json_int_t)c->max_entries));
    json_object_set_new(object, "servers", servers_array(c));
    for (const struct figure_spec *s = figure_specs; s->name != NULL; s++) {
        if (s->needs < NEEDS_REMOVALS &&
            (s->needs != NEEDS_CACHE || has_cache(advice)) &&
            (s->needs != NEEDS_MAP || policy_has_map(&c->policy))) {
            json_object_set_new(object, s->name,
                                json_integer((json_int_t)figure_value(&c->figures, s)));
        }
    }
    return object;
}

int advice_print_json(const struct advice *advice)
{
    size_t count;
    const struct candidate **front = sorted_front(advice, &count);
    json_t *object = json_object();
    json_t *array = json_array();

    if (front == NULL || object == NULL || array == NULL) {
        free(front);
        json_decref(object);
        json_decref(array);
        return out_of_memory();
    }
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(array, candidate_object(advice, front[i]));
    }
    json_object_set_new(object, "connections",
                        json_integer((json_int_t)advice->arrivals));
    json_object_set_new(object, "candidates", json_integer((json_int_t)advice->count));
    json_object_set_new(object, "front", array);
    json_object_set_new(object, "choice", candidate_object(advice, chosen(advice)));
    bool ok = json_dumpf(object, stdout, JSON_INDENT(1)) == 0;
    putchar('\n');
    json_decref(object);
    free(front);
    return ok || ferror(stdout) ? EXIT_OK : out_of_memory();
}
