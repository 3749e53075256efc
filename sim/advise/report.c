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
    printf("%c %-*s  %12s  %7s  %15s  %7s  %7s  %6s\n",
           c == advice_choice(advice) ? '*' : ' ', width, c->policy.text, weights,
           expiration_text(c, expiration), bounds_text(c, bounds),
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
    print_merits(advice, advice_choice(advice));
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
        candidate_imbalance(advice_choice(advice)) > advice->max_imbalance_ppm) {
        printf("     none keeps the imbalance asked for\n");
    }
    print_beyond(advice);
}

int advice_print(const struct advice *advice)
{
    size_t count;
    const struct candidate **front = sorted_front(advice, &count);

    if (front == NULL) {
        return memory_error("advise");
    }
    print_front(advice, front, count);
    print_why(advice, front, count);
    advice_print_apply(advice);
    advice_print_replay(advice);
    free(front);
    return EXIT_OK;
}

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
    json_t *object =
        json_pack("{sssIsIsIso}", "policy", c->policy.text, "headroom_percent",
                  (json_int_t)c->headroom_percent, "expiration_ms",
                  (json_int_t)(c->expiration_ns / 1000000u), "max_entries",
                  (json_int_t)c->max_entries, "servers", servers_array(c));

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
    json_t *array = json_array();
    bool ok = front != NULL;

    for (size_t i = 0; ok && i < count; i++) {
        ok = json_array_append_new(array, candidate_object(advice, front[i])) == 0;
    }
    free(front);
    json_t *object =
        json_pack("{sIsIsoso}", "connections", (json_int_t)advice->arrivals,
                  "candidates", (json_int_t)advice->count, "front", array, "choice",
                  candidate_object(advice, advice_choice(advice)));
    if (!ok || object == NULL) {
        json_decref(object);
        return memory_error("advise");
    }
    ok = json_dumpf(object, stdout, JSON_INDENT(1)) == 0;
    putchar('\n');
    json_decref(object);
    return ok || ferror(stdout) ? EXIT_OK : memory_error("advise");
}
