/* SPDX-License-Identifier: MIT */
/* A service begins, is configured and ends; and so does its scheduler. */
#include "../load/derived.h"
#include "../load/select.h"
#include "../sched/schedulers.h"
#include "../servers/identities.h"
#include "../servers/slots.h"
#include "../servers/slowstart.h"
#include "../state/clock.h"

#include <stdlib.h>

#define TICK_NS_DEFAULT 1000000u
#define EXPIRATION_NS_DEFAULT (24 * 3600 * INT64_C(1000000000))
#define EXPIRATION_NS_MAX (INT64_C(1) << 62)

/* ---- memory ---- */

static void *heap_alloc(void *ctx, size_t size)
{
    (void)ctx;
    return malloc(size);
}

static void heap_free(void *ctx, void *ptr, size_t size)
{
    (void)ctx;
    (void)size;
    free(ptr);
}

/* ---- the scheduler's life ---- */

static struct load_rule load_of(const struct locus_service *svc,
                                const struct sched_ops *ops)
{
    if (ops->load != NULL) {
        return ops->load(&svc->rules);
    }
    return (struct load_rule){
        .per_active = svc->rules.active_cost, .per_inactive = 1, .weighted = true};
}

/* What a scheduler has memory for: itself, and each slot. NULL where that takes no bytes. */
struct sched_memory {
    void *state, *slots;
};

static int make_state(const struct locus_allocator *allocator,
                      const struct sched_ops *ops, uint32_t capacity,
                      struct sched_memory *out)
{
    size_t slots_size = capacity * ops->slot_size;

    out->state = ops->state_size > 0 ? alloc_zeroed(allocator, ops->state_size) : NULL;
    out->slots = slots_size > 0 ? alloc_zeroed(allocator, slots_size) : NULL;
    if ((out->state == NULL && ops->state_size > 0) ||
        (out->slots == NULL && slots_size > 0)) {
        release(allocator, out->state, ops->state_size);
        release(allocator, out->slots, slots_size);
        return LOCUS_ENOMEM;
    }
    return LOCUS_OK;
}

static void stop_scheduler(struct locus_service *svc)
{
    if (svc->ops->fini != NULL) {
        svc->ops->fini(svc);
    }
    release(&svc->allocator, svc->state, svc->ops->state_size);
    release(&svc->allocator, svc->slot_state, svc->capacity * svc->ops->slot_size);
    svc->state = svc->slot_state = NULL;
}

static void start_scheduler(struct locus_service *svc, const struct sched_ops *ops,
                            const struct sched_memory *memory)
{
    svc->ops = &locus_sched_none; /* init() is the first that ops hears of servers */
    svc->load_rule = load_of(svc, ops);
    svc->cost_of[LOCUS_INACTIVE] = svc->load_rule.per_inactive;
    svc->cost_of[LOCUS_ACTIVE] = svc->load_rule.per_active;
    locus_servers_refresh(svc);
    locus_select_reset(svc);
    svc->ops = ops;
    svc->state = memory->state;
    svc->slot_state = memory->slots;
    if (ops->init != NULL) {
        ops->init(svc);
    }
}

int locus_service_set_scheduler(struct locus_service *svc, const char *name,
                                uint32_t flags, uint64_t now_ns)
{
    const struct sched_ops *ops = name != NULL ? locus_sched_find(name) : NULL;
    struct sched_memory memory;

    if (ops == NULL) {
        return LOCUS_ENOENT;
    }
    if (flags & ~(LOCUS_FLAG_FALLBACK | LOCUS_FLAG_PORT)) {
        return LOCUS_EINVAL;
    }
    if (ops != svc->ops) {
        int status = make_state(&svc->allocator, ops, svc->capacity, &memory);
        if (status != LOCUS_OK) {
            return status;
        }
        clock_set(svc, now_ns);
        stop_scheduler(svc);
        start_scheduler(svc, ops, &memory);
    }
    svc->flags = flags;
    return LOCUS_OK;
}

const char *locus_service_scheduler(const struct locus_service *svc, uint32_t *flags)
{
    if (flags != NULL) {
        *flags = svc->flags;
    }
    return svc->ops->name;
}

/* ---- services ---- */

static bool slow_start_in_range(const struct locus_rules *rules)
{
    return rules->slow_start_ns == 0 ||
           (rules->slow_start_ns <= LOCUS_SLOW_START_NS_MAX &&
            rules->slow_start_exponent >= 1 && rules->slow_start_exponent <= 8 &&
            rules->slow_start_floor_percent >= 1 &&
            rules->slow_start_floor_percent <= 100);
}

static bool is_load_bound(uint32_t percent)
{
    return percent >= LOCUS_LOAD_BOUND_PERCENT_MIN &&
           percent <= LOCUS_LOAD_BOUND_PERCENT_MAX;
}

static int check_config(const struct locus_service_config *config,
                        const struct locus_rules *rules)
{
    if ((unsigned)config->family > LOCUS_NAME ||
        (config->scheduler_flags & ~(LOCUS_FLAG_FALLBACK | LOCUS_FLAG_PORT)) ||
        (unsigned)rules->threshold > LOCUS_THRESHOLD_PLAIN ||
        (unsigned)rules->tie_break > LOCUS_TIE_OLDEST ||
        (unsigned)rules->no_server > LOCUS_NO_SERVER_ANY ||
        (rules->evict && rules->leak_entries)) {
        return LOCUS_EINVAL;
    }
    if (rules->active_cost < 1 || rules->active_cost > 65536 ||
        rules->gc_full_every < 1 || !is_load_bound(rules->load_bound_percent) ||
        config->max_entries > 1u << 27 || config->expected_entries > 1u << 27 ||
        (config->map_load_percent != 0 &&
         (config->map_load_percent < 20 || config->map_load_percent > 85)) ||
        !slow_start_in_range(rules)) {
        return LOCUS_ERANGE;
    }
    return LOCUS_OK;
}

static void configure(struct locus_service *svc,
                      const struct locus_service_config *config)
{
    svc->family = config->family != 0 ? config->family : LOCUS_IPV4;
    svc->wide = svc->family != LOCUS_IPV4;
    svc->seed = svc->rng = config->seed;
    svc->tick_ns = config->tick_ns != 0 ? config->tick_ns : TICK_NS_DEFAULT;
    set_tick(svc, config->now_ns);
    locus_service_set_expiration(svc, config->expiration_ns != 0
                                          ? config->expiration_ns
                                          : EXPIRATION_NS_DEFAULT);
    svc->set_decay = svc->rules.set_decay_ns > INT64_MAX
                         ? INT64_MAX
                         : locus_ticks_of(svc, (int64_t)svc->rules.set_decay_ns);
    if (config->max_entries != 0) {
        svc->rules.max_entries = config->max_entries;
        svc->rules.soft_entries = config->max_entries - config->max_entries / 3;
    }
    svc->expected_entries = config->expected_entries;
    svc->map_load_percent = config->map_load_percent;
    svc->unused = svc->trash_cursor = LOCUS_NO_SERVER;
    svc->list = svc->trash = (struct server_list){LOCUS_NO_SERVER, 0};
    svc->next_rank = 1; /* above that of nobody */
    svc->spills_by[LOCUS_ACTIVE] = true;
    svc->spills_by[LOCUS_INACTIVE] = svc->rules.spill_counts_total;
    svc->trash_timer.due = LOCUS_NEVER;
    locus_slowstart_init(svc);
    svc->flags = config->scheduler_flags;
}

int locus_service_create(const struct locus_service_config *config,
                         struct locus_service **out)
{
    static const struct locus_allocator heap = {heap_alloc, heap_free, NULL};
    const struct locus_allocator *allocator =
        config->allocator != NULL ? config->allocator : &heap;
    const struct locus_rules *rules =
        config->rules != NULL ? config->rules : locus_rules_find(NULL);
    const struct sched_ops *ops =
        locus_sched_find(config->scheduler != NULL ? config->scheduler : "wlc");
    int status = check_config(config, rules);
    struct sched_memory memory;

    *out = NULL;
    if (status != LOCUS_OK || ops == NULL) {
        return status != LOCUS_OK ? status : LOCUS_ENOENT;
    }
    struct locus_service *svc = alloc_zeroed(allocator, sizeof(*svc));
    if (svc == NULL) {
        return LOCUS_ENOMEM;
    }
    status = make_state(allocator, ops, 0, &memory);
    if (status != LOCUS_OK) {
        release(allocator, svc, sizeof(*svc));
        return status;
    }
    svc->allocator = *allocator;
    svc->rules = *rules;
    configure(svc, config);
    start_scheduler(svc, ops, &memory);
    *out = svc;
    return LOCUS_OK;
}

void locus_service_destroy(struct locus_service *svc)
{
    if (svc == NULL) {
        return;
    }
    struct locus_allocator allocator = svc->allocator;
    stop_scheduler(svc);
    locus_identities_fini(svc);
    locus_slots_fini(svc);
    release(&allocator, svc, sizeof(*svc));
}

void locus_service_set_expiration(struct locus_service *svc, int64_t expiration_ns)
{
    if (expiration_ns > EXPIRATION_NS_MAX) {
        expiration_ns = EXPIRATION_NS_MAX;
    } else if (expiration_ns < -EXPIRATION_NS_MAX) {
        expiration_ns = -EXPIRATION_NS_MAX;
    }
    svc->expiration = locus_ticks_of(svc, expiration_ns);
}

void locus_service_set_seed(struct locus_service *svc, uint64_t seed)
{
    svc->rng = seed;
}

int locus_service_set_load_bound(struct locus_service *svc, uint32_t percent)
{
    if (!is_load_bound(percent)) {
        return LOCUS_ERANGE;
    }
    svc->rules.load_bound_percent = percent;
    return LOCUS_OK;
}

void locus_service_set_timer_wheel(struct locus_service *svc, bool on)
{
    svc->rules.timer_wheel = on;
}
