/* SPDX-License-Identifier: MIT */
/*
 * Library and reference model in lockstep over random events. A run is a profile (what the
 * stream is like), a rule set and a scheduler; its events follow from the seed and the
 * run's number alone. What an event touched is compared at once, everything every so
 * often. A difference is reported with the shortest prefix of the run that shows it. In some
 * runs the library is saved and loaded now and then, of which the model knows nothing.
 *
 *     LOCUS_SEED=n    other events in every run
 *     LOCUS_STEPS=n   n events per run, for soaking
 *     LOCUS_RUN=n     that run only
 */
#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../support/random.h"
#include "../support/suite.h"
#include "pair.h"
#include "stream.h"

enum { RULE_SETS = 4, LAST_EVENTS = 16 };

static const struct profile profiles[] = {
    {
        .name = "a few servers, a few destinations",
        .steps = 11000,
        .check_every = 50,
        .addresses = 6,
        .begin_with = 3,
        .destinations = 8,
        .threshold_percent = 20,
        .mix = {[OP_CONNECT] = 40,
                [OP_BATCH] = 2,
                [OP_BIND] = 2,
                [OP_MOVE] = 12,
                [OP_CLOSE] = 25,
                [OP_ADD] = 3,
                [OP_EDIT] = 2,
                [OP_WEIGHT] = 3,
                [OP_REMOVE] = 2,
                [OP_TIME] = 8,
                [OP_BACK] = 1,
                [OP_STRAY] = 1,
                [OP_BOUND] = 1},
    },
    {
        .name = "heavy churn, thresholds, expirations and schedulers that change",
        .steps = 9000,
        .check_every = 40,
        .addresses = 12,
        .begin_with = 6,
        .destinations = 40,
        .threshold_percent = 60,
        .mix = {[OP_CONNECT] = 30,
                [OP_BATCH] = 2,
                [OP_BIND] = 2,
                [OP_MOVE] = 8,
                [OP_CLOSE] = 20,
                [OP_ADD] = 10,
                [OP_EDIT] = 5,
                [OP_WEIGHT] = 6,
                [OP_REMOVE] = 8,
                [OP_COUNTS] = 1,
                [OP_TIME] = 14,
                [OP_BACK] = 1,
                [OP_SCHED] = 1,
                [OP_EXPIRE] = 2,
                [OP_DICE] = 1,
                [OP_WHEEL] = 1,
                [OP_STRAY] = 1,
                [OP_BOUND] = 1},
    },
    {
        .name = "equal weights: ties everywhere",
        .schedulers = LEAST_SCHEDULERS,
        .steps = 8000,
        .check_every = 50,
        .addresses = 100,
        .begin_with = 90,
        .destinations = 300,
        .weights = EVEN_WEIGHTS,
        .threshold_percent = 5,
        .mix = {[OP_CONNECT] = 50,
                [OP_BATCH] = 2,
                [OP_MOVE] = 10,
                [OP_CLOSE] = 40,
                [OP_ADD] = 2,
                [OP_WEIGHT] = 2,
                [OP_REMOVE] = 1,
                [OP_TIME] = 6,
                [OP_EXPIRE] = 1},
    },
    {
        .name = "hundreds of servers",
        .steps = 5000,
        .check_every = 250,
        .addresses = 700,
        .begin_with = 400,
        .destinations = 2000,
        .threshold_percent = 20,
        .mix = {[OP_CONNECT] = 60,
                [OP_BATCH] = 4,
                [OP_BIND] = 3,
                [OP_MOVE] = 15,
                [OP_CLOSE] = 25,
                [OP_ADD] = 5,
                [OP_EDIT] = 2,
                [OP_WEIGHT] = 4,
                [OP_REMOVE] = 4,
                [OP_COUNTS] = 3,
                [OP_TIME] = 8,
                [OP_EXPIRE] = 1},
    },
    {
        .name = "weights and counts up to 2^31 - 1",
        .steps = 7000,
        .check_every = 50,
        .addresses = 30,
        .begin_with = 10,
        .destinations = 50,
        .weights = HUGE_WEIGHTS,
        .threshold_percent = 10,
        .mix = {[OP_CONNECT] = 40,
                [OP_BATCH] = 1,
                [OP_BIND] = 2,
                [OP_MOVE] = 10,
                [OP_CLOSE] = 15,
                [OP_ADD] = 5,
                [OP_EDIT] = 4,
                [OP_WEIGHT] = 8,
                [OP_REMOVE] = 4,
                [OP_COUNTS] = 12,
                [OP_TIME] = 6,
                [OP_EXPIRE] = 1},
    },
    {
        .name = "a small bound on destinations, collections, late and sliced ticks",
        .schedulers = MAP_SCHEDULERS,
        .steps = 30000,
        .check_every = 100,
        .addresses = 9,
        .begin_with = 5,
        .destinations = 400,
        .threshold_percent = 10,
        .max_entries = 150,
        .long_steps = true,
        .mix = {[OP_CONNECT] = 70,
                [OP_BATCH] = 3,
                [OP_MOVE] = 10,
                [OP_CLOSE] = 30,
                [OP_ADD] = 2,
                [OP_WEIGHT] = 3,
                [OP_REMOVE] = 2,
                [OP_TIME] = 9,
                [OP_LATE] = 1,
                [OP_EXPIRE] = 1},
    },
    {
        .name = "thousands of destinations",
        .schedulers = MAP_SCHEDULERS,
        .steps = 30000,
        .check_every = 1000,
        .addresses = 20,
        .begin_with = 12,
        .destinations = 6000,
        .threshold_percent = 10,
        .mix = {[OP_CONNECT] = 80,
                [OP_BATCH] = 4,
                [OP_MOVE] = 10,
                [OP_CLOSE] = 60,
                [OP_ADD] = 1,
                [OP_WEIGHT] = 2,
                [OP_REMOVE] = 1,
                [OP_TIME] = 5,
                [OP_EXPIRE] = 1},
    },
    {
        .name = "a flood of new destinations, up to the kernel's own bounds",
        .schedulers = MAP_SCHEDULERS,
        .steps = 12000,
        .check_every = 4000,
        .addresses = 6,
        .begin_with = 4,
        .destinations = 2000000,
        .long_steps = true,
        .mix = {[OP_CONNECT] = 60,
                [OP_BATCH] = 20,
                [OP_MOVE] = 10,
                [OP_CLOSE] = 100,
                [OP_WEIGHT] = 1,
                [OP_TIME] = 1},
    },
    {
        .name = "capacities apart from weights",
        .schedulers = MAP_SCHEDULERS,
        .steps = 15000,
        .check_every = 50,
        .addresses = 10,
        .begin_with = 4,
        .destinations = 30,
        .threshold_percent = 30,
        .capacity_percent = 70,
        .mix = {[OP_CONNECT] = 40,
                [OP_BATCH] = 2,
                [OP_BIND] = 2,
                [OP_MOVE] = 10,
                [OP_CLOSE] = 35,
                [OP_ADD] = 6,
                [OP_EDIT] = 6,
                [OP_WEIGHT] = 6,
                [OP_REMOVE] = 4,
                [OP_COUNTS] = 1,
                [OP_SCHED] = 1,
                [OP_TIME] = 8},
    },
    {
        .name = "a full map forgets the old for the new",
        .schedulers = MAP_SCHEDULERS,
        .steps = 20000,
        .check_every = 100,
        .addresses = 9,
        .begin_with = 5,
        .destinations = 150,
        .max_entries = 50,
        .evict = true,
        .mix = {[OP_CONNECT] = 70,
                [OP_BATCH] = 1,
                [OP_MOVE] = 10,
                [OP_CLOSE] = 60,
                [OP_ADD] = 2,
                [OP_WEIGHT] = 3,
                [OP_REMOVE] = 2,
                [OP_TIME] = 15,
                [OP_LATE] = 1,
                [OP_EXPIRE] = 1},
    },
    {
        .name = "a full map of many chunks forgets and collects",
        .schedulers = MAP_SCHEDULERS,
        .steps = 20000,
        .check_every = 1000,
        .addresses = 9,
        .begin_with = 5,
        .destinations = 5000,
        .max_entries = 1500,
        .long_steps = true,
        .evict = true,
        .mix = {[OP_CONNECT] = 70,
                [OP_BATCH] = 30,
                [OP_CLOSE] = 200,
                [OP_ADD] = 1,
                [OP_REMOVE] = 1,
                [OP_TIME] = 1},
    },
    {
        .name = "newcomers start slowly, a few at a time",
        .schedulers = SHARE_SCHEDULERS,
        .steps = 6000,
        .check_every = 50,
        .addresses = 12,
        .begin_with = 4,
        .destinations = 30,
        .threshold_percent = 20,
        .capacity_percent = 30,
        .slow_start = true,
        .mix = {[OP_CONNECT] = 40,
                [OP_BATCH] = 4,
                [OP_MOVE] = 8,
                [OP_CLOSE] = 40,
                [OP_ADD] = 5,
                [OP_EDIT] = 5,
                [OP_WEIGHT] = 6,
                [OP_REMOVE] = 4,
                [OP_COUNTS] = 1,
                [OP_TIME] = 20,
                [OP_LATE] = 2,
                [OP_BACK] = 2,
                [OP_SCHED] = 1,
                [OP_WHEEL] = 1},
    },
    {
        .name = "hundreds start slowly, with weights up to 2^31 - 1",
        .schedulers = SHARE_SCHEDULERS,
        .steps = 3000,
        .check_every = 100,
        .addresses = 500,
        .begin_with = 300,
        .destinations = 500,
        .weights = HUGE_WEIGHTS,
        .threshold_percent = 5,
        .capacity_percent = 30,
        .slow_start = true,
        .mix = {[OP_CONNECT] = 40,
                [OP_BATCH] = 4,
                [OP_CLOSE] = 30,
                [OP_ADD] = 8,
                [OP_EDIT] = 4,
                [OP_WEIGHT] = 10,
                [OP_REMOVE] = 6,
                [OP_COUNTS] = 8,
                [OP_TIME] = 15,
                [OP_LATE] = 2},
    },
};

static const enum model_scheduler least_schedulers[] = {
    MODEL_LC, MODEL_WLC, MODEL_SED, MODEL_NQ, MODEL_LBLC, MODEL_LBLCR};

static const enum model_scheduler share_schedulers[] = {
    MODEL_WLC,  MODEL_SED,   MODEL_NQ, MODEL_TWOS,
    MODEL_LBLC, MODEL_LBLCR, MODEL_LC, MODEL_WRR};

struct run {
    const struct profile *profile;
    unsigned rules; /* RULE_SETS - 1: a mixture */
    enum model_scheduler scheduler;
    bool restarts;
    uint64_t seed;
};

static struct run
    runs[2 * sizeof(profiles) / sizeof(profiles[0]) * RULE_SETS * MODEL_SCHEDULERS];
static int run_count;
static uint64_t base_seed = 1;
static uint32_t steps_wanted;

/* ---- runs ------------------------------------------------------------------------ */

static const char *rules_name(unsigned rules)
{
    static const char *const names[RULE_SETS + 1] = {"kernel", "kernel-classic",
                                                     "article", "a mixture", "locus"};
    return names[rules];
}

static uint64_t one_of_ns(uint64_t *random, uint64_t a, uint64_t b, uint64_t c)
{
    const uint64_t values[] = {a, b, c};
    return values[random_below(random, 3)];
}

/* Every choice of a rule set taken by itself. 504 and 4,032 ticks are where the grain of the
 * timer wheel changes. */
static struct locus_rules mixed_rules(uint64_t *random, uint64_t tick_ns)
{
    static const uint32_t costs[] = {1, 2, 256, 257, 65536};
    static const uint32_t bounds[] = {3, 50, 1000, 24576, UINT32_MAX};
    static const uint32_t percents[] = {101, 125, 150, 300, 10000};
    static const uint32_t softs[] = {2, 30, 600, 16384, UINT32_MAX};
    const uint64_t second_ns = 1000000000;
    uint64_t bits = random_next(random);
    return (struct locus_rules){
        .active_cost = stream_one_of(random, costs, 5),
        .threshold = (enum locus_threshold_rule)random_below(random, 3),
        .tie_break = bits & 1 ? LOCUS_TIE_OLDEST : LOCUS_TIE_NEWEST,
        .max_entries = stream_one_of(random, bounds, 5),
        .soft_entries = stream_one_of(random, softs, 5),
        .evict = bits & 2048 && !(bits & 2),
        .leak_entries = bits & 2,
        .gc_full_every = 1 + random_below(random, 4),
        .gc_strict = bits & 4,
        .gc_interval_ns =
            one_of_ns(random, 504 * tick_ns, 60 * second_ns, 4032 * tick_ns),
        .gc_stale_ns = one_of_ns(random, second_ns, 360 * second_ns, 60 * second_ns),
        .spill_counts_total = bits & 8,
        .spill_eligible_only = bits & 16,
        .lblc_checks_threshold = bits & 32,
        .trim_on_every_hit = bits & 64,
        .return_member_only = bits & 128,
        .lastuse_on_failure = bits & 256,
        .set_decay_ns = one_of_ns(random, UINT64_MAX, 5 * second_ns, 0),
        .load_bound_percent = stream_one_of(random, percents, 5),
        .no_server = (enum locus_no_server)((bits >> 12) % 3),
        .purge_removed = bits & 512,
        .trash_ns = one_of_ns(random, 60 * second_ns, 5 * second_ns, second_ns),
        .trash_idle_ns = one_of_ns(random, 120 * second_ns, second_ns, 0),
        .timer_wheel = bits & 1024,
    };
}

static void start_slowly(uint64_t *random, struct locus_rules *rules, uint64_t tick_ns)
{
    static const uint32_t windows[] = {1, 50, 1000, 7000, 1000000};
    static const uint32_t floors[] = {1, 10, 50, 100};
    rules->slow_start_ns =
        stream_one_of(random, windows, 5) * tick_ns - random_below(random, 2);
    rules->slow_start_exponent = 1 + random_below(random, 8);
    rules->slow_start_floor_percent = stream_one_of(random, floors, 4);
}

/* The clock begins at 0, anywhere, or a little before its ticks leave 32 bits. */
static uint64_t random_start_ns(uint64_t *random, uint64_t tick_ns)
{
    switch (random_below(random, 3)) {
    case 0:
        return 0;
    case 1:
        return random_next(random) >> 8;
    default:
        return ((UINT64_C(1) << 32) - random_below(random, 100000)) * tick_ns;
    }
}

static struct pair *begin(const struct run *run, uint64_t *random, uint32_t *hz)
{
    static const uint32_t frequencies[] = {1000, 250, 100};
    static const uint32_t loads[] = {0, 0, 20, 50, 85};
    const struct profile *profile = run->profile;
    struct locus_rules rules;
    *hz = stream_one_of(random, frequencies, 3);
    if (run->rules == RULE_SETS - 1) {
        rules = mixed_rules(random, 1000000000 / *hz);
    } else {
        rules = *locus_rules_find(rules_name(run->rules));
        rules.timer_wheel = random_percent(random, 30);
    }
    rules.evict = (rules.evict || profile->evict) && !rules.leak_entries;
    if (profile->slow_start) {
        start_slowly(random, &rules, 1000000000 / *hz);
    }
    struct pair_config config = {
        .addresses = profile->addresses,
        .destinations = profile->destinations,
        .scattered = random_percent(random, 50),
        .service =
            {
                .scheduler = model_scheduler_name(run->scheduler),
                .scheduler_flags = random_below(random, 4),
                .family = (enum locus_family)(1 + random_below(random, 3)),
                .rules = &rules,
                .seed = random_next(random),
                .tick_ns = 1000000000 / *hz,
                .expiration_ns = stream_expiration(random, *hz) * (1000000000 / *hz),
                .max_entries = profile->max_entries,
                .expected_entries = random_percent(random, 20) ? 5000 : 0,
                .map_load_percent = stream_one_of(random, loads, 5),
            },
    };
    config.service.now_ns = random_start_ns(random, config.service.tick_ns);
    return pair_create(&config);
}

static bool add_first_servers(struct pair *p, const struct run *run, uint64_t *random)
{
    for (uint32_t i = 0; i < run->profile->begin_with; i++) {
        struct op op = {.kind = OP_ADD, .a = i};
        op.b = stream_weight(random, run->profile->weights) & INT32_MAX;
        if (!pair_apply(p, &op)) {
            return false;
        }
    }
    return true;
}

struct outcome {
    bool agreed;
    bool leaked;
    uint32_t events; /* applied, the one that differed included */
    uint32_t good;   /* of them, events after which everything was compared */
    char error[512];
    struct op last[LAST_EVENTS];
};

/* From that event on everything is compared after each. */
static struct outcome follow(const struct run *run, uint32_t steps, uint32_t each_from)
{
    struct outcome outcome = {.agreed = true};
    uint64_t random = run->seed;
    uint64_t restart = run->seed;
    uint32_t hz = 0;
    struct pair *p = begin(run, &random, &hz);
    if (!p) {
        outcome.agreed = false;
        strcpy(outcome.error, "the library refuses the configuration");
        return outcome;
    }
    bool good = add_first_servers(p, run, &random);
    for (uint32_t i = 0; good && i < steps; i++) {
        struct op op = stream_op(&random, run->profile, run->scheduler, hz);
        outcome.last[outcome.events++ % LAST_EVENTS] = op;
        good = pair_apply(p, &op);
        if (good && run->restarts && random_below(&restart, 200) == 0) {
            good = pair_restart(p, random_percent(&restart, 50));
        }
        bool everything =
            i >= each_from || i % run->profile->check_every == 0 || i + 1 == steps;
        if (good && everything) {
            good = pair_check(p);
            outcome.good = good ? i + 1 : outcome.good;
        }
    }
    outcome.agreed = good;
    memcpy(outcome.error, p->error, sizeof(outcome.error));
    outcome.leaked = !pair_destroy(p);
    return outcome;
}

static void report(const struct run *run, uint32_t steps, struct outcome outcome)
{
    struct outcome shortest = follow(run, steps, outcome.good);
    if (!shortest.agreed) {
        outcome = shortest;
    }
    fprintf(stderr,
            "LOCUS_SEED=%" PRIu64 " LOCUS_RUN=%d LOCUS_STEPS=%" PRIu32
            ": %s, %s, %s%s: %s\n",
            base_seed, (int)(run - runs), outcome.events, run->profile->name,
            rules_name(run->rules), model_scheduler_name(run->scheduler),
            run->restarts ? ", with restarts" : "", outcome.error);
    uint32_t from = outcome.events > LAST_EVENTS ? outcome.events - LAST_EVENTS : 0;
    for (uint32_t i = from; i < outcome.events; i++) {
        fprintf(stderr, "%8" PRIu32 "  ", i + 1);
        op_print(stderr, &outcome.last[i % LAST_EVENTS]);
    }
}

START_TEST(library_and_model_agree)
{
    const struct run *run = &runs[_i];
    uint32_t steps = steps_wanted ? steps_wanted : run->profile->steps;
    struct outcome outcome = follow(run, steps, steps);
    if (!outcome.agreed) {
        report(run, steps, outcome);
    }
    ck_assert_msg(outcome.agreed, "%s, %s, %s, seed %" PRIu64 ": %s",
                  run->profile->name, rules_name(run->rules),
                  model_scheduler_name(run->scheduler), base_seed, outcome.error);
    ck_assert_msg(!outcome.leaked, "memory is left after the run");
}
END_TEST

static void add_run(const struct profile *profile, unsigned rules,
                    enum model_scheduler scheduler, bool restarts)
{
    struct run *run = &runs[run_count];
    *run = (struct run){profile, rules, scheduler, restarts, 0};
    run->seed =
        base_seed * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)run_count * 7919 + 1;
    run_count++;
}

static void add_runs(const struct profile *profile, unsigned rules)
{
    if (profile->schedulers == MAP_SCHEDULERS) {
        add_run(profile, rules, MODEL_LBLC, false);
        add_run(profile, rules, MODEL_LBLCR, false);
    } else if (profile->schedulers == SHARE_SCHEDULERS) {
        for (size_t i = 0; i < sizeof(share_schedulers) / sizeof(share_schedulers[0]);
             i++) {
            add_run(profile, rules, share_schedulers[i], false);
        }
    } else if (profile->schedulers == LEAST_SCHEDULERS) {
        for (size_t i = 0; i < sizeof(least_schedulers) / sizeof(least_schedulers[0]);
             i++) {
            add_run(profile, rules, least_schedulers[i], false);
        }
    } else {
        for (int i = 0; i < MODEL_SCHEDULERS; i++) {
            add_run(profile, rules, (enum model_scheduler)i, false);
        }
    }
}

/* But slow starts end with a restart. */
static void add_restarts(const struct profile *profile, unsigned rules)
{
    if (profile->schedulers == SHARE_SCHEDULERS) {
        return;
    }
    add_run(profile, rules, MODEL_LBLC, true);
    add_run(profile, rules, MODEL_LBLCR, true);
    if (profile->schedulers == ALL_SCHEDULERS) {
        for (int i = 0; i < 3; i++) {
            add_run(
                profile, rules,
                (enum model_scheduler)((rules * 3 + (unsigned)i) % MODEL_SCHEDULERS),
                true);
        }
    }
}

static uint64_t from_environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

int main(void)
{
    base_seed = from_environment("LOCUS_SEED", 1);
    steps_wanted = (uint32_t)from_environment("LOCUS_STEPS", 0);
    uint64_t events = 0;
    for (size_t i = 0; i < sizeof(profiles) / sizeof(profiles[0]); i++) {
        for (unsigned rules = 0; rules < RULE_SETS; rules++) {
            add_runs(&profiles[i], rules);
        }
    }
    for (size_t i = 0; i < sizeof(profiles) / sizeof(profiles[0]); i++) {
        for (unsigned rules = 0; rules <= RULE_SETS; rules++) {
            add_restarts(&profiles[i], rules);
        }
    }
    int first = (int)from_environment("LOCUS_RUN", 0);
    int end = getenv("LOCUS_RUN") ? first + 1 : run_count;
    for (int i = first; i < end; i++) {
        events += steps_wanted ? steps_wanted : runs[i].profile->steps;
    }
    printf("# seed %" PRIu64 ", %d runs, %" PRIu64 " events\n", base_seed, end - first,
           events);
    fflush(stdout);
    Suite *suite = suite_create("lockstep");
    TCase *tcase = suite_case(suite, "lockstep");
    tcase_set_timeout(tcase, 0);
    tcase_add_loop_test(tcase, library_and_model_agree, first, end);
    return suite_run(suite);
}
