/* SPDX-License-Identifier: MIT */
#include "arrivals.h"

#include <endian.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/mix.h"
#include "../base/values.h"
#include "plan.h"

__extension__ typedef unsigned __int128 figure_time;

enum { PREFETCH_AHEAD = 16 };

static bool split_prefix(const char *text, const char *prefix, const char **rest)
{
    size_t length = strlen(prefix);

    *rest = text + length;
    return strncmp(text, prefix, length) == 0;
}

bool duration_model_parse(const char *text, struct duration_model *out)
{
    const char *rest;

    memset(out, 0, sizeof(*out));
    if (split_prefix(text, "const:", &rest)) {
        out->kind = DURATION_CONST;
        return read_duration_ns(rest, strlen(rest), &out->time_ns);
    }
    if (split_prefix(text, "rate:", &rest)) {
        out->kind = DURATION_RATE;
        return read_bytes(rest, strlen(rest), &out->bytes_per_s) &&
               out->bytes_per_s > 0;
    }
    if (split_prefix(text, "lognormal:", &rest)) {
        size_t median = strcspn(rest, ":");
        out->kind = DURATION_LOGNORMAL;
        return rest[median] == ':' && read_duration_ns(rest, median, &out->time_ns) &&
               read_decimal(rest + median + 1, strlen(rest + median + 1), 3,
                            &out->sigma_milli) &&
               out->sigma_milli <= 10000;
    }
    return false;
}

/* A well-mixed number per record, the same in every pass and for every policy. */
static uint64_t dice(uint64_t seed, uint64_t ordinal)
{
    return mix64(seed + 0x9e3779b97f4a7c15u * (ordinal + 1));
}

static uint64_t as_time(double ns)
{
    return ns >= 9.2e18 ? (uint64_t)9200000000000000000 : (uint64_t)ns;
}

static uint64_t model_duration(const struct arrival_source *source,
                               const struct numbered_record *r)
{
    const struct duration_model *model = &source->options.duration;

    switch (model->kind) {
    case DURATION_CONST:
        return model->time_ns;
    case DURATION_RATE:
        return as_time((double)r->bytes * 1e9 / (double)model->bytes_per_s);
    case DURATION_LOGNORMAL: {
        /* Box-Muller, from the two halves of one throw. */
        uint64_t throw = dice(source->options.seed, source->counts.arrivals);
        double u = ((double)(throw >> 32) + 1) / 4294967296.0;
        double v = (double)(throw &UINT32_MAX) / 4294967296.0;
        double z = sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
        double sigma = (double)model->sigma_milli / 1000;
        return as_time((double)model->time_ns * exp(sigma * z));
    }
    }
    return 0;
}

static union locus_key name_key(uint8_t family, const union locus_key *key)
{
    if (family == LOCUS_NAME) {
        return *key;
    }
    if (family == LOCUS_IPV4) {
        uint32_t address = htobe32(key->ipv4);
        return locus_key_from_name(&address, sizeof(address));
    }
    return locus_key_from_name(key->bytes, sizeof(key->bytes));
}

/* A key of any family as one of the service's. */
static union locus_key service_key(enum locus_family service, uint8_t family,
                                   const union locus_key *key)
{
    union locus_key out = {.words = {0, 0}};

    if (service == LOCUS_NAME) {
        return name_key(family, key);
    }
    out.ipv4 =
        family == LOCUS_IPV4 ? key->ipv4 : (uint32_t)name_key(family, key).words[0];
    return out;
}

static bool chosen(enum proto_choice choice, uint8_t proto)
{
    /* Requests of a proxy or web server say no protocol: they came over TCP. */
    bool tcp = proto == PROTO_TCP || proto == PROTO_UNKNOWN;

    switch (choice) {
    case CHOOSE_TCP:
        return tcp;
    case CHOOSE_UDP:
        return proto == PROTO_UDP;
    case CHOOSE_ALL:
        return true;
    }
    return false;
}

static uint64_t start_time(const struct arrival_source *source,
                           const struct numbered_record *r)
{
    uint64_t start_ns =
        r->start_ns > source->first_ns ? r->start_ns - source->first_ns : 0;

    if (source->options.speed_milli != 1000) {
        start_ns =
            (uint64_t)((figure_time)start_ns * 1000 / source->options.speed_milli);
    }
    return start_ns;
}

static uint32_t arrival_number(struct arrival_source *source, uint32_t trace_number)
{
    struct arrival_destination *destination = &source->destinations[trace_number];

    if (destination->number == NO_DESTINATION) {
        destination->number = source->number_count;
        source->numbers[source->number_count++] = trace_number;
    }
    return destination->number;
}

static void convert(struct arrival_source *source, const struct numbered_record *r,
                    struct arrival *a)
{
    struct arrival_counts *counts = &source->counts;

    a->start_ns = start_time(source, r);
    if (a->start_ns < counts->last_ns) {
        a->start_ns = counts->last_ns;
    }
    counts->last_ns = a->start_ns;
    if ((r->flags & RECORD_HAS_DURATION) != 0) {
        a->duration_ns = r->duration_ns;
    } else {
        a->duration_ns = model_duration(source, r);
        counts->without_duration++;
    }
    counts->without_bytes += (r->flags & RECORD_HAS_BYTES) == 0;
    a->bytes = r->bytes;
    a->udp = r->proto == PROTO_UDP;
    a->request.dst = source->destinations[r->dst].key;
    a->request.src = source->clients[r->src != NO_CLIENT ? r->src : source->nobody];
    a->request.src_port = r->src_port;
    a->destination = arrival_number(source, r->dst);
    counts->arrivals++;
}

static int make_tables(struct arrival_source *source)
{
    const struct keyset *destinations = &trace_keys(source->trace)->destinations;
    const struct keyset *clients = &trace_keys(source->trace)->clients;
    static const union locus_key zero;

    source->nobody = (uint32_t)clients->count;
    source->records = malloc(ARRIVAL_BATCH * sizeof(*source->records));
    source->destinations =
        malloc((destinations->count + 1) * sizeof(*source->destinations));
    source->numbers = malloc((destinations->count + 1) * sizeof(*source->numbers));
    source->clients = malloc((clients->count + 1) * sizeof(*source->clients));
    if (source->records == NULL || source->destinations == NULL ||
        source->numbers == NULL || source->clients == NULL) {
        return LOCUS_ENOMEM;
    }
    for (size_t i = 0; i < destinations->count; i++) {
        const struct keyset_entry *e = &destinations->entries[i];
        source->destinations[i] = (struct arrival_destination){
            .key = service_key(source->family, e->family, &e->key),
            .number = NO_DESTINATION,
        };
    }
    for (size_t i = 0; i < clients->count; i++) {
        const struct keyset_entry *e = &clients->entries[i];
        source->clients[i] = service_key(source->family, e->family, &e->key);
    }
    source->clients[source->nobody] = service_key(source->family, 0, &zero);
    return LOCUS_OK;
}

int arrivals_open(struct arrival_source *source, struct trace *trace,
                  const struct arrival_options *options)
{
    memset(source, 0, sizeof(*source));
    source->trace = trace;
    source->options = *options;
    source->family = trace_summary(trace)->all_ipv4 ? LOCUS_IPV4 : LOCUS_NAME;
    source->first_ns = trace_summary(trace)->first_ns;
    if (make_tables(source) != LOCUS_OK) {
        arrivals_close(source);
        return LOCUS_ENOMEM;
    }
    return LOCUS_OK;
}

void arrivals_close(struct arrival_source *source)
{
    free(source->records);
    free(source->destinations);
    free(source->numbers);
    free(source->clients);
    memset(source, 0, sizeof(*source));
}

ssize_t arrivals_next(struct arrival_source *source, struct arrival *batch)
{
    ssize_t used = 0;

    while (used == 0) {
        ssize_t got =
            trace_next_numbered(source->trace, source->records, ARRIVAL_BATCH);
        if (got <= 0) {
            return got;
        }
        for (ssize_t i = 0; i < got; i++) {
            const struct numbered_record *r = &source->records[i];
            if (i + PREFETCH_AHEAD < got) {
                __builtin_prefetch(&source->destinations[r[PREFETCH_AHEAD].dst], 1);
            }
            if (chosen(source->options.proto, r->proto)) {
                convert(source, r, &batch[used++]);
            } else {
                source->counts.other_protocols++;
            }
        }
    }
    return used;
}

void arrivals_destination_text(const struct arrival_source *source, uint32_t number,
                               char *text, size_t size)
{
    const struct keyset_entry *e =
        &trace_keys(source->trace)->destinations.entries[source->numbers[number]];

    trace_key_text(source->trace, e->family, &e->key, text, size);
}

bool arrivals_rewind(struct arrival_source *source)
{
    source->counts = (struct arrival_counts){0};
    return trace_rewind(source->trace);
}

/* ---- concurrency ----------------------------------------------------------------- */

struct levels {
    uint64_t *time_ns; /* spent with that many active */
    size_t count;
    size_t level;
    uint64_t now_ns;
};

static bool reach(struct levels *levels, size_t level)
{
    if (level >= levels->count) {
        size_t count = levels->count == 0 ? 1024 : 2 * levels->count;
        uint64_t *time_ns = realloc(levels->time_ns, count * sizeof(*time_ns));
        if (time_ns == NULL) {
            return false;
        }
        memset(time_ns + levels->count, 0, (count - levels->count) * sizeof(*time_ns));
        levels->time_ns = time_ns;
        levels->count = count;
    }
    return true;
}

static void pass_time(struct levels *levels, uint64_t now_ns)
{
    levels->time_ns[levels->level] += now_ns - levels->now_ns;
    levels->now_ns = now_ns;
}

static void leave(struct levels *levels, const struct timed *departure)
{
    pass_time(levels, departure->at_ns);
    levels->level--;
}

static bool count_batch(struct levels *levels, const struct arrival_batch *batch,
                        uint64_t *peak)
{
    const struct timed *d = batch->departures;
    const struct timed *end = d + batch->departure_count;

    for (size_t i = 0; i < batch->count; i++) {
        uint64_t now_ns = batch->arrivals[i].start_ns;
        for (; d < end && d->at_ns <= now_ns && departure_after(d) <= i; d++) {
            leave(levels, d);
        }
        pass_time(levels, now_ns);
        levels->level++;
        *peak = levels->level > *peak ? levels->level : *peak;
        if (!reach(levels, levels->level)) {
            return false;
        }
    }
    for (; d < end; d++) {
        leave(levels, d);
    }
    return true;
}

static int64_t quantile(const struct levels *levels, uint64_t part_ppm)
{
    figure_time total = 0, seen = 0;
    size_t level = 0;

    for (size_t i = 0; i < levels->count; i++) {
        total += levels->time_ns[i];
    }
    while (level + 1 < levels->count) {
        seen += levels->time_ns[level];
        if (seen * 1000000 >= total * part_ppm) {
            break;
        }
        level++;
    }
    return (int64_t)level;
}

/* -1: no memory; -2: reading failed. */
static int count_all(struct arrival_source *source, struct plan *plan,
                     struct arrival_batch *batch, struct levels *levels, uint64_t *peak)
{
    ssize_t got;

    if (batch->arrivals == NULL || !reach(levels, 0)) {
        return -1;
    }
    while ((got = arrivals_next(source, batch->arrivals)) > 0) {
        batch->count = (size_t)got;
        if (plan_batch(plan, batch) != LOCUS_OK || !count_batch(levels, batch, peak)) {
            return -1;
        }
    }
    if (got < 0) {
        return -2;
    }
    do {
        if (plan_rest(plan, batch) != LOCUS_OK || !count_batch(levels, batch, peak)) {
            return -1;
        }
    } while (batch->departure_count > 0);
    return 0;
}

int64_t arrivals_concurrency(struct arrival_source *source, uint64_t part_ppm,
                             uint64_t after_fin_ns, uint64_t *peak)
{
    struct arrival_batch batch = {.arrivals =
                                      malloc(ARRIVAL_BATCH * sizeof(*batch.arrivals))};
    struct levels levels = {0};
    struct plan plan;
    int64_t result = -1;

    *peak = 0;
    plan_init(&plan, after_fin_ns, source->options.udp_ns);
    int status = count_all(source, &plan, &batch, &levels, peak);
    if (status == -1) {
        fprintf(stderr, "locus: out of memory\n");
    } else if (status == 0) {
        result = quantile(&levels, part_ppm);
    }
    plan_fini(&plan);
    free(levels.time_ns);
    free(batch.departures);
    free(batch.arrivals);
    return result;
}
