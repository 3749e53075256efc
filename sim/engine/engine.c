/* SPDX-License-Identifier: MIT */
#include "engine.h"

#include <stdlib.h>
#include <string.h>

#include "../base/mix.h"

enum { PREFETCH_AHEAD = 8 };

/*
 * A server as one director has it: the director's handle of it and, in the low bits, which
 * director that is.
 */
typedef uint32_t place;

/* One that the server there loses. */
struct leaving {
    uint64_t at_ns;
    place place;
};

/* Connections between FIN and oblivion, all for the same time: first in, first out. */
struct inactive_queue {
    struct leaving *ring;
    size_t capacity;   /* a power of two, or 0 */
    size_t head, tail; /* counted up; index = & (capacity - 1) */
};

#define NOT_OPEN UINT32_MAX

/* One of several machines that share the arrivals, each with its own counts and map. */
struct director {
    struct locus_service *svc;
    uint32_t *handles; /* by server; LOCUS_NO_SERVER: not in service */
};

struct engine {
    struct engine_config config;
    struct director *directors;
    uint32_t director_count, director_bits, director_mask;
    uint32_t director;            /* that of the arrival now */
    uint64_t arrivals;            /* so far */
    const struct policy_ops *ops; /* NULL: the service decides */
    void *ops_state;
    char error[POLICY_ERROR_SIZE]; /* for a caller that wants no words */
    struct recorder recorder;
    struct cache **caches; /* by server; NULL without a cache model */

    uint32_t server_count;
    uint32_t *numbers; /* server by place */
    size_t number_count;
    struct locus_server_config *specs; /* by server: what it has or comes back with */
    bool *broken;                      /* by server */
    bool thresholds; /* any server has one, so that availability must be asked for */

    const struct arrival_batch *batch; /* while it runs */
    size_t next_departure;             /* of the batch */
    size_t arrival;                    /* of the batch, now */
    place *open;                       /* by slot; NOT_OPEN: refused */
    size_t open_count;                 /* room */
    struct leaving *found;             /* active before the first arrival; by time */
    size_t found_count, next_found;
    struct inactive_queue inactive;

    uint64_t tick_ns, event_ns, interval_ns;
    uint64_t due_ns;                /* the earliest of them */
    size_t event;                   /* the next one */
    uint64_t phase_ns;              /* when the phase began */
    uint64_t expired, forgotten;    /* counted to a phase already; expired or evicted */
    uint32_t serving, serving_peak; /* servers in service with a weight; the most */
    uint32_t floor;                 /* the guard's */
    bool floor_percent;
};

const struct recorder *engine_recorder(const struct engine *engine)
{
    return &engine->recorder;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static place place_of(const struct engine *e, uint32_t director, uint32_t handle)
{
    return handle << e->director_bits | director;
}

static uint32_t handle_at(const struct engine *e, place at)
{
    return at >> e->director_bits;
}

static struct locus_service *service_at(const struct engine *e, place at)
{
    return e->directors[at & e->director_mask].svc;
}

/* All directors have the same servers. */
static bool in_service(const struct engine *e, uint32_t server)
{
    return e->directors[0].handles[server] != LOCUS_NO_SERVER;
}

/* To the director whose turn it is. */
static bool available(void *arg, uint32_t server)
{
    const struct engine *e = arg;
    const struct director *d = &e->directors[e->director];
    struct locus_server_info info;

    if (!in_service(e, server) || e->specs[server].weight == 0) {
        return false;
    }
    return !e->thresholds ||
           (locus_server_get(d->svc, d->handles[server], &info) == LOCUS_OK &&
            !info.overloaded);
}

/* Keeps a policy of the simulator's own informed. */
static void offer(struct engine *e, uint32_t server)
{
    if (e->ops != NULL) {
        e->ops->offer(e->ops_state, server, available(e, server));
    }
}

/* The same after a connection has come or gone. */
static void offer_loaded(struct engine *e, place at)
{
    if (e->thresholds) {
        offer(e, e->numbers[at]);
    }
}

/* ---- departures ------------------------------------------------------------------ */

static int push_inactive(struct inactive_queue *queue, uint64_t gone_ns, place at)
{
    if (queue->tail - queue->head == queue->capacity) {
        size_t capacity = queue->capacity == 0 ? 1024 : 2 * queue->capacity;
        struct leaving *ring = malloc(capacity * sizeof(*ring));
        if (ring == NULL) {
            return LOCUS_ENOMEM;
        }
        size_t count = queue->tail - queue->head;
        for (size_t i = 0; i < count; i++) {
            ring[i] = queue->ring[(queue->head + i) & (queue->capacity - 1)];
        }
        free(queue->ring);
        *queue =
            (struct inactive_queue){.ring = ring, .capacity = capacity, .tail = count};
    }
    queue->ring[queue->tail++ & (queue->capacity - 1)] =
        (struct leaving){.at_ns = gone_ns, .place = at};
    return LOCUS_OK;
}

static uint64_t next_found_ns(const struct engine *e)
{
    return e->next_found < e->found_count ? e->found[e->next_found].at_ns : LOCUS_NEVER;
}

/* LOCUS_NEVER: not before the arrival that is now. */
static uint64_t next_planned_ns(const struct engine *e)
{
    const struct timed *d = &e->batch->departures[e->next_departure];

    return e->next_departure < e->batch->departure_count &&
                   departure_after(d) <= e->arrival
               ? d->at_ns
               : LOCUS_NEVER;
}

static uint64_t next_gone_ns(const struct engine *e)
{
    const struct inactive_queue *q = &e->inactive;

    return q->head != q->tail ? q->ring[q->head & (q->capacity - 1)].at_ns
                              : LOCUS_NEVER;
}

static int unbind(struct engine *e, place at)
{
    int status = locus_conn_unbind(service_at(e, at), handle_at(e, at), LOCUS_INACTIVE);

    offer_loaded(e, at);
    return status;
}

static int close_one(struct engine *e, place at, bool udp, uint64_t at_ns)
{
    recorder_close(&e->recorder, e->numbers[at], at_ns);
    if (udp) {
        return unbind(e, at);
    }
    int status = locus_conn_move(service_at(e, at), handle_at(e, at), LOCUS_ACTIVE,
                                 LOCUS_INACTIVE);
    return status == LOCUS_OK
               ? push_inactive(&e->inactive, add_time(at_ns, e->config.tcpfin_ns), at)
               : status;
}

static int close_planned(struct engine *e)
{
    const struct timed *d = &e->batch->departures[e->next_departure++];
    place at = e->open[departure_slot(d)];

    if (at == NOT_OPEN) {
        return LOCUS_OK;
    }
    return close_one(e, at, departure_is_udp(d), d->at_ns);
}

static int close_found(struct engine *e)
{
    const struct leaving *found = &e->found[e->next_found++];

    return close_one(e, found->place, false, found->at_ns);
}

static int depart(struct engine *e, uint64_t now_ns)
{
    int status = LOCUS_OK;

    while (status == LOCUS_OK) {
        uint64_t planned_ns = next_planned_ns(e);
        uint64_t found_ns = next_found_ns(e);
        if (earlier(planned_ns, found_ns) > now_ns) {
            break;
        }
        status = planned_ns <= found_ns ? close_planned(e) : close_found(e);
    }
    while (status == LOCUS_OK && next_gone_ns(e) <= now_ns) {
        struct inactive_queue *q = &e->inactive;
        status = unbind(e, q->ring[q->head++ & (q->capacity - 1)].place);
    }
    return status;
}

/* ---- events ---------------------------------------------------------------------- */

/* What the maps of all directors come to. */
static struct locus_service_stats add_stats(const struct engine *e)
{
    struct locus_service_stats sum = {0}, stats;

    for (uint32_t d = 0; d < e->director_count; d++) {
        locus_service_get_stats(e->directors[d].svc, &stats);
        sum.destinations += stats.destinations;
        sum.map_bytes += stats.map_bytes;
        sum.expired += stats.expired;
        sum.evicted += stats.evicted;
        sum.forgotten += stats.forgotten;
    }
    return sum;
}

/* The map is largest just before something is taken out of it. */
static void sample_map(struct engine *e)
{
    struct tally *tally = e->recorder.tally;
    struct locus_service_stats stats = add_stats(e);

    if (stats.destinations > tally->map_entries_peak) {
        tally->map_entries_peak = stats.destinations;
    }
    if (stats.map_bytes > tally->map_bytes_peak) {
        tally->map_bytes_peak = stats.map_bytes;
    }
    tally->evicted += stats.expired + stats.evicted - e->expired;
    tally->forgotten += stats.forgotten - e->forgotten;
    e->expired = stats.expired + stats.evicted;
    e->forgotten = stats.forgotten;
}

static int remember_number(struct engine *e, place at, uint32_t server)
{
    if (at >= e->number_count) {
        size_t count = 2 * ((size_t)at + 1);
        uint32_t *numbers = realloc(e->numbers, count * sizeof(*numbers));
        if (numbers == NULL) {
            return LOCUS_ENOMEM;
        }
        e->numbers = numbers;
        e->number_count = count;
    }
    e->numbers[at] = server;
    return LOCUS_OK;
}

static int add_to_director(struct engine *e, uint32_t director, uint32_t server,
                           uint64_t now_ns)
{
    struct director *d = &e->directors[director];
    uint32_t handle;
    int status = locus_server_add(d->svc, &e->specs[server], now_ns, &handle);

    if (status != LOCUS_OK) {
        return status;
    }
    d->handles[server] = handle;
    return handle < NOT_OPEN >> e->director_bits
               ? remember_number(e, place_of(e, director, handle), server)
               : LOCUS_ERANGE;
}

/* All directors have it. */
static void begin_service(struct engine *e, uint32_t server, uint64_t now_ns)
{
    recorder_set_weight(&e->recorder, server, e->specs[server].weight, now_ns);
    offer(e, server);
}

static int bring_in(struct engine *e, uint32_t server, uint64_t now_ns)
{
    int status = LOCUS_OK;

    if (in_service(e, server)) {
        return LOCUS_OK; /* an event too many changes nothing */
    }
    for (uint32_t d = 0; status == LOCUS_OK && d < e->director_count; d++) {
        status = add_to_director(e, d, server, now_ns);
    }
    if (status == LOCUS_OK) {
        begin_service(e, server, now_ns);
    }
    return status;
}

static int take_out(struct engine *e, uint32_t server, uint64_t now_ns)
{
    if (!in_service(e, server)) {
        return LOCUS_OK;
    }
    for (uint32_t i = 0; i < e->director_count; i++) {
        struct director *d = &e->directors[i];
        int status = locus_server_remove(d->svc, d->handles[server], now_ns);
        if (status != LOCUS_OK) {
            return status;
        }
        d->handles[server] = LOCUS_NO_SERVER;
    }
    e->recorder.tally->cut += e->recorder.servers[server].active;
    recorder_set_weight(&e->recorder, server, 0, now_ns);
    offer(e, server);
    if (e->caches != NULL) {
        cache_clear(e->caches[server]);
    }
    return recorder_fail(&e->recorder, server);
}

static int edit(struct engine *e, uint32_t server, uint64_t now_ns)
{
    int status = LOCUS_OK;

    if (!in_service(e, server)) {
        return LOCUS_OK; /* it comes back with what was changed meanwhile */
    }
    recorder_set_weight(&e->recorder, server, e->specs[server].weight, now_ns);
    for (uint32_t i = 0; status == LOCUS_OK && i < e->director_count; i++) {
        struct director *d = &e->directors[i];
        status = locus_server_edit(d->svc, d->handles[server], &e->specs[server]);
    }
    offer(e, server);
    return status;
}

static bool serves(const struct engine *e, uint32_t server)
{
    return in_service(e, server) && e->specs[server].weight > 0;
}

static void count_serving(struct engine *e)
{
    e->serving = 0;
    for (uint32_t i = 0; i < e->server_count; i++) {
        e->serving += serves(e, i);
    }
    if (e->serving > e->serving_peak) {
        e->serving_peak = e->serving;
    }
}

/* Whether the guard keeps a server that would be taken out of service or quiesced. */
static bool guard_keeps(struct engine *e, uint32_t server)
{
    uint64_t floor =
        e->floor_percent ? ((uint64_t)e->serving_peak * e->floor + 99) / 100 : e->floor;

    if (!serves(e, server) || e->serving > floor) {
        return false;
    }
    e->recorder.tally->kept++;
    return true;
}

static int change_scheduler(struct engine *e, const struct server_event *event)
{
    int status = LOCUS_OK;

    e->ops = NULL;
    for (uint32_t i = 0; status == LOCUS_OK && i < e->director_count; i++) {
        struct locus_service *svc = e->directors[i].svc;
        status = locus_service_set_scheduler(svc, event->scheduler, event->flags,
                                             event->at_ns);
        if (status == LOCUS_OK && event->load_bound_percent != 0) {
            status = locus_service_set_load_bound(svc, event->load_bound_percent);
        }
    }
    return status;
}

static int run_event(struct engine *e, const struct server_event *event)
{
    struct locus_server_config *spec = &e->specs[event->server];

    count_serving(e);
    switch (event->kind) {
    case EVENT_ADD:
        if (in_service(e, event->server)) {
            return LOCUS_OK; /* as ipvsadm -a refuses it: what is there stays */
        }
        spec->weight = event->weight;
        spec->upper_threshold = event->upper;
        spec->lower_threshold = event->lower;
        return bring_in(e, event->server, event->at_ns);
    case EVENT_RESTORE:
        return bring_in(e, event->server, event->at_ns);
    case EVENT_REMOVE:
        if (guard_keeps(e, event->server)) {
            return LOCUS_OK;
        }
        return take_out(e, event->server, event->at_ns);
    case EVENT_FAIL:
        return take_out(e, event->server, event->at_ns);
    case EVENT_WEIGHT:
        if (event->weight == 0 && guard_keeps(e, event->server)) {
            return LOCUS_OK;
        }
        spec->weight = event->weight;
        return edit(e, event->server, event->at_ns);
    case EVENT_THRESHOLDS:
        spec->upper_threshold = event->upper;
        spec->lower_threshold = event->lower;
        return edit(e, event->server, event->at_ns);
    case EVENT_BREAK:
    case EVENT_MEND:
        e->broken[event->server] = event->kind == EVENT_BREAK;
        return LOCUS_OK;
    case EVENT_SCHEDULER:
        return change_scheduler(e, event);
    case EVENT_GUARD:
        e->floor = event->floor;
        e->floor_percent = event->percent;
        return LOCUS_OK;
    }
    return LOCUS_EINVAL;
}

static void find_tick(struct engine *e)
{
    e->tick_ns = LOCUS_NEVER;
    for (uint32_t d = 0; d < e->director_count; d++) {
        e->tick_ns = earlier(e->tick_ns, locus_tick_due(e->directors[d].svc));
    }
}

static int run_events(struct engine *e)
{
    const struct server_list *list = e->config.servers;
    uint64_t now_ns = e->event_ns;
    int status = LOCUS_OK;

    sample_map(e);
    /* Events at time zero are how the replay begins, not a change in it. */
    if (e->config.phases && e->event_ns > e->phase_ns) {
        e->phase_ns = e->event_ns;
        status = recorder_phase(&e->recorder, e->event_ns);
    }
    while (status == LOCUS_OK && e->event < list->event_count &&
           list->events[e->event].at_ns <= e->event_ns) {
        status = run_event(e, &list->events[e->event++]);
    }
    e->event_ns =
        e->event < list->event_count ? list->events[e->event].at_ns : LOCUS_NEVER;
    find_tick(e);
    if (e->tick_ns < now_ns) {
        e->tick_ns = now_ns; /* at once; a service may not know yet how late it is */
    }
    return status;
}

static void run_tick(struct engine *e)
{
    sample_map(e);
    for (uint32_t d = 0; d < e->director_count; d++) {
        locus_tick(e->directors[d].svc, e->tick_ns, SIZE_MAX);
    }
    find_tick(e);
}

static void run_interval(struct engine *e)
{
    sample_map(e);
    recorder_flush(&e->recorder, e->interval_ns);
    e->config.interval(e->config.interval_arg, e, e->interval_ns);
    e->interval_ns = add_time(e->interval_ns, e->config.interval_ns);
}

static void find_due(struct engine *e)
{
    e->due_ns = earlier(earlier(e->tick_ns, e->event_ns), e->interval_ns);
}

static int run_due(struct engine *e)
{
    int status = LOCUS_OK;

    if (e->tick_ns == e->due_ns) {
        run_tick(e);
    } else if (e->interval_ns == e->due_ns) {
        run_interval(e);
    } else {
        status = run_events(e);
    }
    find_due(e);
    return status;
}

/* Everything up to and including now_ns but arrivals. */
static int advance(struct engine *e, uint64_t now_ns)
{
    int status = LOCUS_OK;

    while (status == LOCUS_OK && e->due_ns <= now_ns) {
        status = depart(e, e->due_ns);
        if (status == LOCUS_OK) {
            status = run_due(e);
        }
    }
    return status == LOCUS_OK ? depart(e, now_ns) : status;
}

/* ---- arrivals -------------------------------------------------------------------- */

static uint64_t key_number(const struct engine *e, const union locus_key *key)
{
    return e->config.family == LOCUS_IPV4 ? key->ipv4
                                          : key->words[0] ^ mix64(key->words[1]);
}

/* The one that a router sends it to, by a hash. */
static uint32_t choose_director(struct engine *e, const struct arrival *a)
{
    uint64_t number = e->arrivals++;

    if (e->config.director_by == BY_CLIENT) {
        number = key_number(e, &a->request.src);
    } else if (e->config.director_by == BY_DESTINATION) {
        number = key_number(e, &a->request.dst);
    }
    return (uint32_t)(mix64(number + e->config.seed * 0x9e3779b97f4a7c15u) %
                      e->director_count);
}

static int connect(struct engine *e, const struct arrival *a, struct locus_pick *pick)
{
    enum locus_conn_state state = a->udp ? LOCUS_INACTIVE : LOCUS_ACTIVE;
    const struct director *d = &e->directors[e->director];
    uint32_t server;

    if (e->ops == NULL) {
        return locus_connect(d->svc, &a->request, a->start_ns, state, pick);
    }
    *pick = (struct locus_pick){.server = LOCUS_NO_SERVER,
                                .trimmed = LOCUS_NO_SERVER,
                                .why = LOCUS_WHY_REFUSED};
    int status = e->ops->pick(e->ops_state, &server);
    if (status != LOCUS_OK) {
        return status;
    }
    pick->server = d->handles[server];
    pick->why = 0;
    status = locus_conn_bind(d->svc, pick->server, state);
    offer_loaded(e, place_of(e, e->director, pick->server));
    return status;
}

static int refuse(struct engine *e, const struct arrival *a,
                  const struct locus_pick *pick)
{
    recorder_flush(&e->recorder, a->start_ns);
    e->recorder.tally->refused++;
    if (e->config.decision != NULL) {
        e->config.decision(e->config.decision_arg, a, LOCUS_NO_SERVER, pick, false);
    }
    return LOCUS_OK;
}

static int arrive(struct engine *e, const struct arrival *a)
{
    struct locus_pick pick;
    bool hit = false;

    e->open[a->slot] = NOT_OPEN;
    if (e->director_count > 1) {
        e->director = choose_director(e, a);
    }
    int status = connect(e, a, &pick);
    if (status == LOCUS_ENOSERVER || status == LOCUS_ERANGE) {
        return refuse(e, a, &pick);
    }
    if (status != LOCUS_OK) {
        return status;
    }
    place at = place_of(e, e->director, pick.server);
    uint32_t server = e->numbers[at];
    e->open[a->slot] = at;
    recorder_open(&e->recorder, server, a->start_ns);
    if (e->config.herd) {
        recorder_herd(&e->recorder, server);
    }
    status = recorder_contact(&e->recorder, a->destination, server, a->bytes);
    if (status == LOCUS_OK && e->broken[server]) {
        e->open[a->slot] = NOT_OPEN;
        e->recorder.tally->errors++;
        status = close_one(e, at, a->udp, a->start_ns);
    } else if (status == LOCUS_OK && e->caches != NULL) {
        status = cache_request(e->caches[server], a->destination, a->bytes, &hit);
        e->recorder.tally->hits += hit;
        e->recorder.tally->hit_bytes += hit ? a->bytes : 0;
    }
    if (e->config.decision != NULL) {
        e->config.decision(e->config.decision_arg, a, server, &pick, hit);
    }
    return status;
}

static int make_slots(struct engine *e, size_t count)
{
    if (count > e->open_count) {
        place *open = realloc(e->open, 2 * count * sizeof(*open));
        if (open == NULL) {
            return LOCUS_ENOMEM;
        }
        e->open = open;
        e->open_count = 2 * count;
    }
    return LOCUS_OK;
}

/* What departs after the batch's arrivals. Those that were refused move no clock. */
static int run_rest(struct engine *e)
{
    const struct arrival_batch *batch = e->batch;
    int status = LOCUS_OK;

    while (status == LOCUS_OK && e->next_departure < batch->departure_count) {
        const struct timed *d = &batch->departures[e->next_departure];
        if (e->open[departure_slot(d)] == NOT_OPEN) {
            e->next_departure++;
        } else {
            status = advance(e, d->at_ns);
        }
    }
    return status;
}

int engine_run(struct engine *engine, const struct arrival_batch *batch)
{
    const struct recorder *r = &engine->recorder;
    int status = make_slots(engine, batch->slot_count);

    engine->batch = batch;
    engine->next_departure = 0;
    for (size_t i = 0; status == LOCUS_OK && i < batch->count; i++) {
        const struct arrival *a = &batch->arrivals[i];
        if (i + PREFETCH_AHEAD < batch->count &&
            a[PREFETCH_AHEAD].destination < r->contact_count) {
            __builtin_prefetch(&r->contacts[a[PREFETCH_AHEAD].destination], 1);
        }
        engine->arrival = i;
        status = advance(engine, a->start_ns);
        if (status == LOCUS_OK) {
            status = arrive(engine, a);
        }
    }
    engine->arrival = batch->count;
    return status == LOCUS_OK ? run_rest(engine) : status;
}

int engine_finish(struct engine *engine)
{
    sample_map(engine);
    recorder_flush(&engine->recorder, engine->recorder.now_ns);
    if (engine->config.interval != NULL) {
        engine->config.interval(engine->config.interval_arg, engine,
                                engine->recorder.now_ns);
    }
    return engine->config.policy->ops != NULL
               ? engine->config.policy->ops->finish(engine->ops_state)
               : LOCUS_OK;
}

/* ---- beginning and end ----------------------------------------------------------- */

/* Connections that were there before: nobody knows since when, so they leave evenly over the
 * time that one of their kind has left at most. */
enum { FOUND_ACTIVE_S = 900 };

/* Directors have their parts of them. */
static int take_over_one(struct engine *e, uint32_t server, uint32_t number,
                         enum locus_conn_state state, place *out)
{
    uint32_t director = number % e->director_count;
    uint32_t handle = e->directors[director].handles[server];

    *out = place_of(e, director, handle);
    return locus_conn_bind(e->directors[director].svc, handle, state);
}

static int take_over(struct engine *e, uint32_t server, const struct server_spec *spec)
{
    int status = LOCUS_OK;
    uint64_t active_ns = FOUND_ACTIVE_S * (uint64_t)1000000000;
    place at;

    for (uint32_t i = 0; status == LOCUS_OK && i < spec->active; i++) {
        status = take_over_one(e, server, i, LOCUS_ACTIVE, &at);
        if (status == LOCUS_OK) {
            recorder_open(&e->recorder, server, 0);
            e->found[e->found_count++] = (struct leaving){
                .at_ns = active_ns / spec->active * (i + 1),
                .place = at,
            };
        }
    }
    for (uint32_t i = 0; status == LOCUS_OK && i < spec->inactive; i++) {
        status = take_over_one(e, server, i, LOCUS_INACTIVE, &at);
        if (status == LOCUS_OK) {
            status = push_inactive(&e->inactive,
                                   e->config.tcpfin_ns / spec->inactive * (i + 1), at);
        }
    }
    return status;
}

static int by_time(const void *a, const void *b)
{
    const struct leaving *x = a, *y = b;

    return x->at_ns != y->at_ns ? (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns)
                                : (x->place > y->place) - (x->place < y->place);
}

static int take_over_all(struct engine *e)
{
    const struct server_list *list = e->config.servers;
    const struct inactive_queue *q = &e->inactive; /* with its head at 0 */
    size_t count = 0;
    int status = LOCUS_OK;

    for (uint32_t i = 0; i < e->server_count; i++) {
        count += list->items[i].active;
    }
    e->found = malloc((count + 1) * sizeof(*e->found));
    if (e->found == NULL) {
        return LOCUS_ENOMEM;
    }
    for (uint32_t i = 0; status == LOCUS_OK && i < e->server_count; i++) {
        if (in_service(e, i)) {
            status = take_over(e, i, &list->items[i]);
        }
    }
    qsort(e->found, e->found_count, sizeof(*e->found), by_time);
    if (q->tail > 0) {
        qsort(q->ring, q->tail, sizeof(*q->ring), by_time);
    }
    return status;
}

static int make_caches(struct engine *e)
{
    if (e->config.cache.capacity == 0) {
        return LOCUS_OK;
    }
    e->caches = calloc(e->server_count, sizeof(*e->caches));
    if (e->caches == NULL) {
        return LOCUS_ENOMEM;
    }
    for (uint32_t i = 0; i < e->server_count; i++) {
        int status = cache_create(&e->config.cache, &e->caches[i]);
        if (status != LOCUS_OK) {
            return status;
        }
    }
    return LOCUS_OK;
}

/* With what serves already when the replay begins, in the order of the list. */
static int fill_director(struct engine *e, uint32_t director)
{
    uint32_t first =
        e->config.stagger
            ? (uint32_t)((uint64_t)director * e->server_count / e->director_count)
            : 0;
    int status = LOCUS_OK;

    for (uint32_t i = 0; status == LOCUS_OK && i < e->server_count; i++) {
        uint32_t server = (first + i) % e->server_count;
        if (!e->config.servers->items[server].later) {
            status = add_to_director(e, director, server, 0);
        }
    }
    return status;
}

static int make_servers(struct engine *e)
{
    const struct server_list *list = e->config.servers;
    int status = LOCUS_OK;

    for (uint32_t i = 0; i < e->server_count; i++) {
        const struct server_spec *spec = &list->items[i];
        e->specs[i] = (struct locus_server_config){
            .address = spec->address,
            .weight = spec->weight,
            .capacity = spec->capacity,
            .upper_threshold = spec->upper,
            .lower_threshold = spec->lower,
            .tag = i,
            .warm = true,
        };
        e->thresholds = e->thresholds || spec->upper > 0;
    }
    for (size_t i = 0; i < list->event_count; i++) {
        e->thresholds = e->thresholds || list->events[i].upper > 0;
    }
    for (uint32_t d = 0; status == LOCUS_OK && d < e->director_count; d++) {
        status = fill_director(e, d);
    }
    for (uint32_t i = 0; status == LOCUS_OK && i < e->server_count; i++) {
        e->specs[i].warm = false;
        if (in_service(e, i)) {
            begin_service(e, i, 0);
        }
    }
    return status;
}

static int make_director(struct engine *e, struct director *d,
                         const struct locus_service_config *service)
{
    d->handles = malloc(e->server_count * sizeof(*d->handles));
    if (d->handles == NULL) {
        return LOCUS_ENOMEM;
    }
    for (uint32_t i = 0; i < e->server_count; i++) {
        d->handles[i] = LOCUS_NO_SERVER;
    }
    return locus_service_create(service, &d->svc);
}

static int make_directors(struct engine *e)
{
    const struct engine_config *c = &e->config;
    struct locus_rules rules = c->rules != NULL ? *c->rules : *locus_rules_find(NULL);
    struct locus_service_config service = {
        .scheduler = c->policy->scheduler,
        .scheduler_flags = c->policy->flags,
        .family = c->family,
        .rules = &rules,
        .seed = c->seed,
        .expiration_ns = c->expiration_ns,
        .max_entries = c->max_entries,
    };
    uint32_t count = c->policy->directors > 1 ? c->policy->directors : 1;
    int status = LOCUS_OK;

    if (c->policy->load_bound_percent != 0) {
        rules.load_bound_percent = c->policy->load_bound_percent;
    }
    e->directors = calloc(count, sizeof(*e->directors));
    if (e->directors == NULL) {
        return LOCUS_ENOMEM;
    }
    while (1u << e->director_bits < count) {
        e->director_bits++;
    }
    e->director_mask = (1u << e->director_bits) - 1;
    while (status == LOCUS_OK && e->director_count < count) {
        status = make_director(e, &e->directors[e->director_count++], &service);
        service.seed++;
    }
    return status;
}

static int make_policy(struct engine *e)
{
    const struct engine_config *c = &e->config;
    const struct policy_setup setup = {
        .servers = c->servers,
        .steady = !e->thresholds && c->servers->event_count == 0,
        .pool_uri = c->pool_uri,
        .error = c->error != NULL ? c->error : e->error,
    };

    if (c->policy->ops == NULL) {
        return LOCUS_OK;
    }
    int status = c->policy->ops->make(&setup, &e->ops_state);
    if (status == LOCUS_OK) {
        e->ops = c->policy->ops;
        for (uint32_t i = 0; i < e->server_count; i++) {
            offer(e, i);
        }
    }
    return status;
}

static int make(struct engine *e)
{
    int status;

    e->specs = calloc(e->server_count, sizeof(*e->specs));
    e->broken = calloc(e->server_count, sizeof(*e->broken));
    if (e->specs == NULL || e->broken == NULL) {
        return LOCUS_ENOMEM;
    }
    status = recorder_init(&e->recorder, e->server_count, available, e);
    if (status == LOCUS_OK) {
        status = make_directors(e);
    }
    if (status == LOCUS_OK) {
        status = make_caches(e);
    }
    if (status == LOCUS_OK) {
        status = make_servers(e);
    }
    if (status == LOCUS_OK) {
        status = take_over_all(e);
    }
    return status == LOCUS_OK ? make_policy(e) : status;
}

int engine_create(const struct engine_config *config, struct engine **out)
{
    struct engine *e = calloc(1, sizeof(*e));

    *out = NULL;
    if (e == NULL) {
        return LOCUS_ENOMEM;
    }
    e->config = *config;
    e->server_count = (uint32_t)config->servers->count;
    int status = e->server_count == 0 ? LOCUS_EINVAL : make(e);
    if (status != LOCUS_OK) {
        engine_destroy(e);
        return status;
    }
    e->event_ns = config->servers->event_count > 0 ? config->servers->events[0].at_ns
                                                   : LOCUS_NEVER;
    e->interval_ns = config->interval != NULL ? config->interval_ns : LOCUS_NEVER;
    find_tick(e);
    find_due(e);
    *out = e;
    return LOCUS_OK;
}

int engine_load(struct engine *engine, locus_read_fn *read, void *arg,
                struct locus_snapshot_report *report)
{
    static const struct locus_snapshot_options options = {.now_ns = 0};
    int status =
        locus_snapshot_load(engine->directors[0].svc, &options, read, arg, report);

    find_tick(engine);
    find_due(engine);
    return status;
}

int engine_save(struct engine *engine, locus_write_fn *write, void *arg)
{
    return locus_snapshot_save(engine->directors[0].svc, engine->recorder.now_ns, write,
                               arg);
}

void engine_destroy(struct engine *engine)
{
    if (engine == NULL) {
        return;
    }
    for (uint32_t i = 0; engine->caches != NULL && i < engine->server_count; i++) {
        cache_destroy(engine->caches[i]);
    }
    free(engine->caches);
    if (engine->config.policy->ops != NULL) {
        engine->config.policy->ops->destroy(engine->ops_state);
    }
    for (uint32_t d = 0; d < engine->director_count; d++) {
        locus_service_destroy(engine->directors[d].svc);
        free(engine->directors[d].handles);
    }
    free(engine->directors);
    recorder_fini(&engine->recorder);
    free(engine->found);
    free(engine->open);
    free(engine->inactive.ring);
    free(engine->numbers);
    free(engine->specs);
    free(engine->broken);
    free(engine);
}
