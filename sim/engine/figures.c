/* SPDX-License-Identifier: MIT */
#include "figures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <locus/status.h>

#define FIGURE(field) .name = #field, .offset = offsetof(struct figures, field)

const struct figure_spec figure_specs[] = {
    {FIGURE(connections), .label = "conns", .unit = FIGURE_COUNT, .rank = 1,
     .about = "connections given to a server"},
    {FIGURE(refused), .label = "refused", .unit = FIGURE_COUNT, .rank = 6,
     .needs = NEEDS_REFUSALS, .about = "connections that found no available server"},
    {FIGURE(repeats), .label = "repeats", .unit = FIGURE_COUNT, .rank = 18,
     .about = "connections whose destination had been served before"},
    {FIGURE(stuck_ppm), .label = "stuck", .unit = FIGURE_SHARE, .rank = 2,
     .about = "repeats that went to the same server as the destination's previous one"},
    {FIGURE(warm_ppm), .label = "warm", .unit = FIGURE_SHARE, .rank = 3,
     .about =
         "repeats that went to a server that had served the destination since that "
         "server last failed"},
    {FIGURE(moves), .label = "moves", .unit = FIGURE_COUNT, .rank = 4,
     .about =
         "repeats to a server new to the destination while one that had served it was "
         "available"},
    {FIGURE(destinations), .run_wide = true, .label = "dests", .unit = FIGURE_COUNT,
     .rank = 19, .about = "destinations that were served"},
    {FIGURE(replicas_mean_ppm), .run_wide = true, .label = "repl", .unit = FIGURE_RATIO,
     .rank = 7, .about = "servers per destination, mean over destinations"},
    {FIGURE(replicas_conn_mean_ppm), .run_wide = true, .label = "repl/c",
     .unit = FIGURE_RATIO, .rank = 14,
     .about = "servers per destination, mean over connections"},
    {FIGURE(replicas_max), .run_wide = true, .label = "most", .unit = FIGURE_COUNT,
     .rank = 13, .about = "the most servers that one destination went to"},
    {FIGURE(imbalance_mean_ppm), .label = "imbal", .unit = FIGURE_RATIO, .rank = 5,
     .about =
         "(highest active / weight) / (mean active / weight), time-weighted mean while "
         "anything is active"},
    {FIGURE(imbalance_conn_mean_ppm), .label = "imbal/c", .unit = FIGURE_RATIO,
     .rank = 5,
     .about =
         "(highest active / weight) / (mean active / weight), mean weighted by active "
         "connections, so that idle times count little"},
    {FIGURE(imbalance_peak_ppm), .label = "i.peak", .unit = FIGURE_RATIO, .rank = 12,
     .about = "the highest imbalance"},
    {FIGURE(cv_ppm), .label = "cv", .unit = FIGURE_RATIO, .rank = 15,
     .about = "coefficient of variation of active / weight, time-weighted mean"},
    {FIGURE(jain_ppm), .label = "jain", .unit = FIGURE_RATIO, .rank = 11,
     .about =
         "Jain's fairness index of active / weight, time-weighted mean; 1 is even"},
    {FIGURE(above_weight_ms), .label = "above/t", .unit = FIGURE_MS, .rank = 20,
     .about = "time with more active connections than weight, summed over servers"},
    {FIGURE(above_weight_ppm), .label = "above", .unit = FIGURE_SHARE, .rank = 9,
     .about = "share of the servers' time with more active connections than weight"},
    {FIGURE(peak_active), .label = "peak", .unit = FIGURE_COUNT, .rank = 8,
     .about = "the most active connections on one server"},
    {FIGURE(busy_ms), .label = "busy", .unit = FIGURE_MS, .rank = 22,
     .about = "time with anything active"},
    {FIGURE(span_ms), .label = "span", .unit = FIGURE_MS, .rank = 23,
     .about = "time from the first connection to the end of the last"},
    {FIGURE(hit_ppm), .label = "hits", .unit = FIGURE_SHARE, .rank = 2,
     .needs = NEEDS_CACHE, .about = "requests found in the cache of their server"},
    {FIGURE(byte_hit_ppm), .label = "b.hits", .unit = FIGURE_SHARE, .rank = 10,
     .needs = NEEDS_CACHE, .about = "bytes found in the cache of their server"},
    {FIGURE(origin_bytes), .label = "origin", .unit = FIGURE_BYTES, .rank = 6,
     .needs = NEEDS_CACHE, .about = "bytes fetched from the origin"},
    {FIGURE(map_entries_peak), .label = "map", .unit = FIGURE_COUNT, .rank = 16,
     .needs = NEEDS_MAP, .about = "the most destinations in the map of lblc or lblcr"},
    {FIGURE(map_bytes_peak), .label = "mem", .unit = FIGURE_BYTES, .rank = 17,
     .needs = NEEDS_MAP, .about = "the most memory of that map"},
    {FIGURE(evicted), .label = "evicted", .unit = FIGURE_COUNT, .rank = 21,
     .needs = NEEDS_MAP, .about = "destinations that expired or were pushed out of it"},
    {FIGURE(forgotten), .label = "forgot", .unit = FIGURE_COUNT, .rank = 24,
     .needs = NEEDS_MAP, .about = "destinations that it had no room for"},
    {FIGURE(cut), .label = "cut", .unit = FIGURE_COUNT, .rank = 6,
     .needs = NEEDS_REMOVALS,
     .about = "connections that were active on a server when it was removed or failed"},
    {FIGURE(kept), .label = "kept", .unit = FIGURE_COUNT, .rank = 7,
     .needs = NEEDS_GUARD, .about = "servers that the guard kept in service"},
    {FIGURE(errors), .label = "errors", .unit = FIGURE_COUNT, .rank = 3,
     .needs = NEEDS_BREAKS,
     .about = "connections given to a server that answers with errors"},
    {FIGURE(excess), .label = "excess", .unit = FIGURE_COUNT, .rank = 6,
     .needs = NEEDS_DIRECTORS,
     .about =
         "the most active connections that a server had beyond its share of all, by "
         "weight, when it was given one"},
    {FIGURE(herd_ppm), .label = "herd", .unit = FIGURE_RATIO, .rank = 6,
     .needs = NEEDS_DIRECTORS,
     .about = "how many times that share it then had; a share below 1 counts as 1"},
    {.name = NULL},
};

static int start_phase(struct recorder *r)
{
    struct tally *tally = &r->phases[r->phase_count];

    tally->servers = calloc(r->server_count, sizeof(*tally->servers));
    if (tally->servers == NULL) {
        return LOCUS_ENOMEM;
    }
    for (uint32_t i = 0; i < r->server_count; i++) {
        tally->servers[i].peak_active = r->servers[i].active;
    }
    r->tally = tally;
    r->phase_count++;
    return LOCUS_OK;
}

int recorder_init(struct recorder *r, uint32_t server_count,
                  bool (*available)(void *arg, uint32_t server), void *arg)
{
    memset(r, 0, sizeof(*r));
    r->server_count = server_count;
    r->available = available;
    r->available_arg = arg;
    r->servers = calloc(server_count, sizeof(*r->servers));
    r->load = calloc(server_count, sizeof(*r->load));
    if (r->servers == NULL || r->load == NULL || start_phase(r) != LOCUS_OK) {
        recorder_fini(r);
        return LOCUS_ENOMEM;
    }
    return LOCUS_OK;
}

void recorder_fini(struct recorder *r)
{
    for (size_t d = 0; r->server_count > 64 && d < r->contact_count; d++) {
        server_set_free(&r->contacts[d].served, r->server_count);
        if (r->warm != NULL) {
            server_set_free(&r->warm[d], r->server_count);
        }
    }
    for (size_t p = 0; p < r->phase_count; p++) {
        free(r->phases[p].servers);
    }
    free(r->warm);
    free(r->contacts);
    free(r->load);
    free(r->servers);
    memset(r, 0, sizeof(*r));
}

/* ---- balance --------------------------------------------------------------------- */

__attribute__((noinline)) static void find_top(struct recorder *r)
{
    r->top = 0;
    r->top_server = 0;
    for (uint32_t i = 0; i < r->server_count; i++) {
        if (r->load[i] > r->top) {
            r->top = r->load[i];
            r->top_server = i;
        }
    }
    r->top_stale = false;
}

static void integrate(struct recorder *r, uint64_t now_ns)
{
    struct tally *tally = r->tally;

    if (now_ns <= r->now_ns) {
        return;
    }
    uint64_t elapsed_ns = now_ns - r->now_ns;
    r->now_ns = now_ns;
    if (r->active == 0) {
        return;
    }
    if (r->top_stale) {
        find_top(r);
    }
    /* Signed, since that conversion is one instruction; none of them reaches 2^63. */
    double dt = (double)(int64_t)elapsed_ns;
    double imbalance = r->top * (double)(int64_t)r->weight / (double)(int64_t)r->active;
    /* n * sum of squares / square of sum: 1 / Jain's index, and 1 + cv^2. */
    double spread = r->counted * r->load_squares / (r->load_sum * r->load_sum);
    if (spread < 1) {
        spread = 1;
    }
    if (imbalance > tally->imbalance_peak) {
        tally->imbalance_peak = imbalance;
    }
    tally->busy_ns += elapsed_ns;
    tally->imbalance_ns += dt * imbalance;
    tally->active_ns += dt * (double)(int64_t)r->active;
    tally->imbalance_active_ns += dt * imbalance * (double)(int64_t)r->active;
    tally->cv_ns += dt * sqrt(spread - 1);
    tally->jain_ns += dt / spread;
}

/* What grows evenly until a weight changes need not grow at every event. */
static void settle(struct recorder *r, uint64_t now_ns)
{
    integrate(r, now_ns);
    uint64_t passed_ns = r->now_ns - r->settled_ns;
    r->settled_ns = r->now_ns;
    r->tally->span_ns += passed_ns;
    r->tally->server_ns += (figure_sum)passed_ns * r->counted;
}

static bool is_above(const struct server_state *s)
{
    return s->counted && s->active > s->weight;
}

/* Begins (or ends) the integrals of a server with what it has at this moment. */
static void begin_integrals(struct recorder *r, uint32_t server, uint64_t now_ns)
{
    const struct server_state *s = &r->servers[server];
    struct server_tally *t = &r->tally->servers[server];

    t->active_ns -= (figure_sum)now_ns * s->active;
    t->above_ns -= is_above(s) ? now_ns : 0;
}

static void end_integrals(struct recorder *r, uint32_t server, uint64_t now_ns)
{
    const struct server_state *s = &r->servers[server];
    struct server_tally *t = &r->tally->servers[server];

    t->active_ns += (figure_sum)now_ns * s->active;
    t->above_ns += is_above(s) ? now_ns : 0;
}

void recorder_open(struct recorder *r, uint32_t server, uint64_t now_ns)
{
    struct server_state *s = &r->servers[server];
    struct server_tally *t = &r->tally->servers[server];

    integrate(r, now_ns);
    s->active++;
    t->active_ns -= now_ns;
    if (s->active > t->peak_active) {
        t->peak_active = s->active;
    }
    if (!s->counted) {
        return;
    }
    if (s->active == s->weight + 1) {
        t->above_ns -= now_ns;
    }
    double load = s->active * s->inverse;
    r->active++;
    r->load[server] = load;
    r->load_sum += s->inverse;
    r->load_squares += (2.0 * s->active - 1) * s->inverse * s->inverse;
    if (load > r->top) {
        r->top = load;
        r->top_server = server;
        r->top_stale = false;
    }
}

void recorder_herd(struct recorder *r, uint32_t server)
{
    const struct server_state *s = &r->servers[server];

    if (!s->counted) {
        return;
    }
    double share = (double)r->active * s->weight / (double)r->weight;
    double excess = s->active - share;
    if (excess > r->tally->excess) {
        r->tally->excess = excess;
        r->tally->herd = s->active / (share > 1 ? share : 1);
    }
}

void recorder_close(struct recorder *r, uint32_t server, uint64_t now_ns)
{
    struct server_state *s = &r->servers[server];
    struct server_tally *t = &r->tally->servers[server];

    integrate(r, now_ns);
    t->active_ns += now_ns;
    s->active--;
    if (!s->counted) {
        return;
    }
    if (s->active == s->weight) {
        t->above_ns += now_ns;
    }
    r->active--;
    r->load[server] = s->active * s->inverse;
    r->load_sum -= s->inverse;
    r->load_squares -= (2.0 * s->active + 1) * s->inverse * s->inverse;
    if (r->active == 0) {
        /* Rounding does not pile up over idle moments. */
        r->load_sum = 0;
        r->load_squares = 0;
    }
    if (server == r->top_server) {
        r->top_stale = true;
    }
}

/* Sums from scratch: after a change of weight, and free of rounding. */
static void recount(struct recorder *r)
{
    r->active = 0;
    r->weight = 0;
    r->counted = 0;
    r->load_sum = 0;
    r->load_squares = 0;
    for (uint32_t i = 0; i < r->server_count; i++) {
        const struct server_state *s = &r->servers[i];
        double load = s->counted ? s->active * s->inverse : 0;
        r->load[i] = load;
        r->load_sum += load;
        r->load_squares += load * load;
        if (s->counted) {
            r->active += s->active;
            r->weight += s->weight;
            r->counted++;
        }
    }
    find_top(r);
}

void recorder_set_weight(struct recorder *r, uint32_t server, uint32_t weight,
                         uint64_t now_ns)
{
    struct server_state *s = &r->servers[server];

    settle(r, now_ns);
    end_integrals(r, server, now_ns);
    s->weight = weight;
    s->counted = weight > 0;
    s->inverse = weight > 0 ? 1.0 / weight : 0;
    begin_integrals(r, server, now_ns);
    recount(r);
}

void recorder_flush(struct recorder *r, uint64_t now_ns)
{
    settle(r, now_ns);
}

int recorder_phase(struct recorder *r, uint64_t now_ns)
{
    settle(r, now_ns);
    if (r->phase_count == PHASES_MAX) {
        return LOCUS_OK;
    }
    for (uint32_t i = 0; i < r->server_count; i++) {
        end_integrals(r, i, now_ns);
    }
    int status = start_phase(r);
    for (uint32_t i = 0; i < r->server_count; i++) {
        begin_integrals(r, i, now_ns);
    }
    return status;
}

/* ---- locality -------------------------------------------------------------------- */

static int make_room(struct recorder *r, uint32_t destination)
{
    size_t count = r->contact_count == 0 ? 1024 : r->contact_count;
    struct contact *contacts;

    while (count <= destination) {
        count *= 2;
    }
    if (r->warm != NULL) {
        server_set *warm = realloc(r->warm, count * sizeof(*warm));
        if (warm == NULL) {
            return LOCUS_ENOMEM;
        }
        memset(warm + r->contact_count, 0, (count - r->contact_count) * sizeof(*warm));
        r->warm = warm;
    }
    contacts = realloc(r->contacts, count * sizeof(*contacts));
    if (contacts == NULL) {
        return LOCUS_ENOMEM;
    }
    memset(contacts + r->contact_count, 0,
           (count - r->contact_count) * sizeof(*contacts));
    r->contacts = contacts;
    r->contact_count = count;
    return LOCUS_OK;
}

/* From the first failure on, what was served and what is still known are two sets. */
static int split_warm(struct recorder *r)
{
    r->warm = calloc(r->contact_count + 1, sizeof(*r->warm));
    if (r->warm == NULL) {
        return LOCUS_ENOMEM;
    }
    for (size_t d = 0; d < r->contact_count; d++) {
        if (server_set_copy(&r->warm[d], r->contacts[d].served, r->server_count) !=
            LOCUS_OK) {
            return LOCUS_ENOMEM;
        }
    }
    return LOCUS_OK;
}

int recorder_fail(struct recorder *r, uint32_t server)
{
    if (r->warm == NULL && split_warm(r) != LOCUS_OK) {
        return LOCUS_ENOMEM;
    }
    for (size_t d = 0; d < r->contact_count; d++) {
        server_set_remove(&r->warm[d], r->server_count, server);
    }
    return LOCUS_OK;
}

static bool any_available(const struct recorder *r, server_set served)
{
    for (uint32_t s = server_set_next(served, r->server_count, 0); s != SERVER_SET_END;
         s = server_set_next(served, r->server_count, s + 1)) {
        if (r->available(r->available_arg, s)) {
            return true;
        }
    }
    return false;
}

static void count_repeat(struct recorder *r, uint32_t destination, uint32_t server)
{
    const struct contact *c = &r->contacts[destination];
    struct tally *tally = r->tally;
    bool served = server_set_has(c->served, r->server_count, server);
    bool warm = r->warm == NULL
                    ? served
                    : server_set_has(r->warm[destination], r->server_count, server);

    tally->repeats++;
    tally->stuck += c->last == server;
    tally->warm += warm;
    if (!served && any_available(r, c->served)) {
        tally->moves++;
    }
}

int recorder_contact(struct recorder *r, uint32_t destination, uint32_t server,
                     uint64_t bytes)
{
    struct tally *tally = r->tally;

    if (destination >= r->contact_count && make_room(r, destination) != LOCUS_OK) {
        return LOCUS_ENOMEM;
    }
    struct contact *c = &r->contacts[destination];
    if (c->connections > 0) {
        count_repeat(r, destination, server);
    }
    if (server_set_add(&c->served, r->server_count, server) != LOCUS_OK ||
        (r->warm != NULL &&
         server_set_add(&r->warm[destination], r->server_count, server) != LOCUS_OK)) {
        return LOCUS_ENOMEM;
    }
    c->connections++;
    c->last = server & 0xfffffu;
    tally->connections++;
    tally->bytes += bytes;
    tally->servers[server].connections++;
    tally->servers[server].bytes += bytes;
    return LOCUS_OK;
}

/* ---- results --------------------------------------------------------------------- */

/* part / whole in ppm, rounded to nearest; 0 of nothing is 0. */
static uint64_t ppm(figure_sum part, figure_sum whole)
{
    return whole == 0 ? 0 : (uint64_t)((part * 1000000u + whole / 2) / whole);
}

static uint64_t mean_ppm(double integral, double whole)
{
    return whole > 0 ? (uint64_t)(integral / whole * 1e6 + 0.5) : 0;
}

static void add_tally(struct tally *sum, const struct tally *t)
{
    sum->connections += t->connections;
    sum->refused += t->refused;
    sum->repeats += t->repeats;
    sum->stuck += t->stuck;
    sum->warm += t->warm;
    sum->moves += t->moves;
    sum->bytes += t->bytes;
    sum->hits += t->hits;
    sum->hit_bytes += t->hit_bytes;
    sum->span_ns += t->span_ns;
    sum->busy_ns += t->busy_ns;
    sum->server_ns += t->server_ns;
    sum->imbalance_ns += t->imbalance_ns;
    sum->active_ns += t->active_ns;
    sum->imbalance_active_ns += t->imbalance_active_ns;
    sum->cv_ns += t->cv_ns;
    sum->jain_ns += t->jain_ns;
    sum->evicted += t->evicted;
    sum->forgotten += t->forgotten;
    sum->cut += t->cut;
    sum->kept += t->kept;
    sum->errors += t->errors;
    if (t->imbalance_peak > sum->imbalance_peak) {
        sum->imbalance_peak = t->imbalance_peak;
    }
    if (t->excess > sum->excess) {
        sum->excess = t->excess;
        sum->herd = t->herd;
    }
    if (t->map_entries_peak > sum->map_entries_peak) {
        sum->map_entries_peak = t->map_entries_peak;
    }
    if (t->map_bytes_peak > sum->map_bytes_peak) {
        sum->map_bytes_peak = t->map_bytes_peak;
    }
}

static void add_server_tally(struct server_tally *sum, const struct server_tally *t)
{
    sum->connections += t->connections;
    sum->bytes += t->bytes;
    sum->active_ns += t->active_ns;
    sum->above_ns += t->above_ns;
    if (t->peak_active > sum->peak_active) {
        sum->peak_active = t->peak_active;
    }
}

static bool in_phase(size_t wanted, size_t phase)
{
    return wanted == SIZE_MAX || wanted == phase;
}

static void sum_phases(const struct recorder *r, size_t phase, struct tally *out)
{
    memset(out, 0, sizeof(*out));
    for (size_t p = 0; p < r->phase_count; p++) {
        if (in_phase(phase, p)) {
            add_tally(out, &r->phases[p]);
        }
    }
}

void recorder_total(const struct recorder *r, struct tally *out)
{
    sum_phases(r, SIZE_MAX, out);
}

static struct server_tally server_total(const struct recorder *r, size_t phase,
                                        uint32_t server)
{
    struct server_tally sum = {0};

    for (size_t p = 0; p < r->phase_count; p++) {
        if (in_phase(phase, p)) {
            add_server_tally(&sum, &r->phases[p].servers[server]);
        }
    }
    if (in_phase(phase, r->phase_count - 1)) {
        /* What is open now. */
        const struct server_state *s = &r->servers[server];
        sum.active_ns += (figure_sum)r->now_ns * s->active;
        sum.above_ns += is_above(s) ? r->now_ns : 0;
    }
    return sum;
}

static void count_replicas(const struct recorder *r, struct figures *out)
{
    figure_sum replicas = 0, weighted = 0, connections = 0;

    for (size_t d = 0; d < r->contact_count; d++) {
        const struct contact *c = &r->contacts[d];
        if (c->connections == 0) {
            continue;
        }
        uint32_t count = server_set_count(c->served, r->server_count);
        out->destinations++;
        replicas += count;
        weighted += (figure_sum)count * c->connections;
        connections += c->connections;
        if (count > out->replicas_max) {
            out->replicas_max = count;
        }
    }
    out->replicas_mean_ppm = ppm(replicas, out->destinations);
    out->replicas_conn_mean_ppm = ppm(weighted, connections);
}

void recorder_figures(const struct recorder *r, size_t phase, struct figures *out)
{
    struct tally sum;
    uint64_t above_ns = 0;

    memset(out, 0, sizeof(*out));
    sum_phases(r, phase, &sum);
    for (uint32_t i = 0; i < r->server_count; i++) {
        struct server_tally s = server_total(r, phase, i);
        above_ns += s.above_ns;
        if (s.peak_active > out->peak_active) {
            out->peak_active = s.peak_active;
        }
    }
    out->connections = sum.connections;
    out->refused = sum.refused;
    out->repeats = sum.repeats;
    out->stuck_ppm = ppm(sum.stuck, sum.repeats);
    out->warm_ppm = ppm(sum.warm, sum.repeats);
    out->moves = sum.moves;
    out->imbalance_mean_ppm = mean_ppm(sum.imbalance_ns, (double)sum.busy_ns);
    out->imbalance_conn_mean_ppm = mean_ppm(sum.imbalance_active_ns, sum.active_ns);
    out->imbalance_peak_ppm = (uint64_t)(sum.imbalance_peak * 1e6 + 0.5);
    out->cv_ppm = mean_ppm(sum.cv_ns, (double)sum.busy_ns);
    out->jain_ppm = mean_ppm(sum.jain_ns, (double)sum.busy_ns);
    out->above_weight_ms = above_ns / 1000000u;
    out->above_weight_ppm = ppm(above_ns, sum.server_ns);
    out->busy_ms = sum.busy_ns / 1000000u;
    out->span_ms = sum.span_ns / 1000000u;
    out->hit_ppm = ppm(sum.hits, sum.connections);
    out->byte_hit_ppm = ppm(sum.hit_bytes, sum.bytes);
    out->origin_bytes = sum.bytes - sum.hit_bytes;
    out->map_entries_peak = sum.map_entries_peak;
    out->map_bytes_peak = sum.map_bytes_peak;
    out->evicted = sum.evicted;
    out->forgotten = sum.forgotten;
    out->cut = sum.cut;
    out->kept = sum.kept;
    out->errors = sum.errors;
    out->excess = (uint64_t)(sum.excess + 0.5);
    out->herd_ppm = (uint64_t)(sum.herd * 1e6 + 0.5);
    if (phase == SIZE_MAX) {
        count_replicas(r, out);
    }
}

void recorder_server_figures(const struct recorder *r, size_t phase,
                             struct server_figures *out)
{
    figure_sum connections = 0, active_ns = 0, weight = 0;

    for (uint32_t i = 0; i < r->server_count; i++) {
        struct server_tally s = server_total(r, phase, i);
        connections += s.connections;
        active_ns += s.active_ns;
        weight += r->servers[i].weight;
    }
    for (uint32_t i = 0; i < r->server_count; i++) {
        struct server_tally s = server_total(r, phase, i);
        out[i] = (struct server_figures){
            .connections = s.connections,
            .bytes = s.bytes,
            .peak_active = s.peak_active,
            .above_weight_ms = s.above_ns / 1000000u,
            .connection_share_ppm = ppm(s.active_ns, active_ns),
            .request_share_ppm = ppm(s.connections, connections),
            .weight_share_ppm = ppm(r->servers[i].weight, weight),
        };
    }
}
