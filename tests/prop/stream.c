/* SPDX-License-Identifier: MIT */
#include "stream.h"

#include "../support/random.h"

uint32_t stream_one_of(uint64_t *random, const uint32_t *values, uint32_t count)
{
    return values[random_below(random, count)];
}

uint32_t stream_weight(uint64_t *random, enum weights style)
{
    static const uint32_t edges[] = {0,
                                     1,
                                     2,
                                     3,
                                     40000,
                                     65535,
                                     65536,
                                     1u << 30,
                                     1000,
                                     INT32_MAX,
                                     INT32_MAX - 1,
                                     INT32_MAX / 2,
                                     257,
                                     INT32_MAX / 2 + 1};
    if (random_below(random, 400) == 0) {
        return INT32_MAX + 1u + random_below(random, 2);
    }
    switch (style) {
    case EVEN_WEIGHTS:
        return random_percent(random, 3) ? 0 : 4;
    case HUGE_WEIGHTS:
        return random_percent(random, 60)
                   ? stream_one_of(random, edges, sizeof(edges) / sizeof(edges[0]))
                   : (uint32_t)random_next(random) >> 1 >> random_below(random, 31);
    case SMALL_WEIGHTS:
        break;
    }
    if (random_percent(random, 12)) {
        return 0;
    }
    return 1 + random_below(random, random_percent(random, 8) ? 120 : 9);
}

static uint32_t random_count(uint64_t *random)
{
    static const uint32_t edges[] = {
        0, 1, 2, INT32_MAX, INT32_MAX - 1, INT32_MAX / 2, 8388607, 8388608};
    if (random_percent(random, 30)) {
        return stream_one_of(random, edges, sizeof(edges) / sizeof(edges[0]));
    }
    return (uint32_t)random_next(random) >> 1 >> random_below(random, 31);
}

static void random_thresholds(uint64_t *random, const struct profile *profile,
                              struct op *op)
{
    if (!random_percent(random, profile->threshold_percent)) {
        return;
    }
    op->c = random_below(random, 12);
    op->n = random_percent(random, 50) ? 0 : random_below(random, op->c + 1);
    if (random_percent(random, 3)) {
        op->n = op->c + 1;
    } else if (random_percent(random, 2)) {
        op->c = 3000000000;
    }
}

static uint32_t random_capacity(uint64_t *random, const struct profile *profile)
{
    static const uint32_t edges[] = {INT32_MAX, INT32_MAX - 1, 1000000, 1};
    if (profile->capacity_percent == 0 ||
        !random_percent(random, profile->capacity_percent)) {
        return 0;
    }
    return random_percent(random, 10) ? stream_one_of(random, edges, 4)
                                      : 1 + random_below(random, 12);
}

static int64_t random_ticks(uint64_t *random, bool long_steps, uint32_t hz)
{
    uint32_t dice = random_below(random, 100);
    if (long_steps) {
        dice = 70 + dice * 29 / 99;
    }
    if (dice < 40) {
        return random_below(random, 4);
    }
    if (dice < 70) {
        return random_below(random, hz);
    }
    if (dice < 90) {
        return random_below(random, 70 * hz);
    }
    return random_below(random, (dice < 99 ? 600 : 10000) * hz);
}

int64_t stream_expiration(uint64_t *random, uint32_t hz)
{
    static const int32_t seconds[] = {1, 5, 10, 60, 61, 400, 1800, 86400, 200000};
    uint32_t dice = random_below(random, 10);
    if (dice == 0) {
        return (int64_t)random_below(random, 6) - 3;
    }
    return seconds[random_below(random, 9)] * (int64_t)hz + random_below(random, 2);
}

static void random_time(uint64_t *random, const struct profile *profile, uint32_t hz,
                        struct op *op)
{
    static const uint32_t budgets[] = {0, 0, 1, 7, 100, 5000};
    /* Ages that are exactly a multiple of the interval meet every comparison's edge. */
    op->small = random_percent(random, 25) ? 2 : 0;
    op->n = random_ticks(random, profile->long_steps, hz);
    op->c = stream_one_of(random, budgets, profile->destinations > 1000000 ? 2 : 6);
}

static enum op_kind random_kind(uint64_t *random, const struct profile *profile)
{
    uint32_t sum = 0;
    for (int i = 0; i < OP_KINDS; i++) {
        sum += profile->mix[i];
    }
    uint32_t dice = random_below(random, sum);
    int kind = 0;
    while (dice >= profile->mix[kind]) {
        dice -= profile->mix[kind++];
    }
    return (enum op_kind)kind;
}

/* Destinations of unequal popularity: some are hot, some come once. */
static uint32_t random_destination(uint64_t *random, uint32_t count)
{
    return random_below(random, 1 + random_below(random, count));
}

struct op stream_op(uint64_t *random, const struct profile *profile,
                    enum model_scheduler scheduler, uint32_t hz)
{
    struct op op = {.kind = random_kind(random, profile)};
    op.small = random_below(random, 2);
    op.a = (uint32_t)random_next(random);
    op.b = random_below(random, 1000);
    op.c = random_below(random, 65536);
    switch (op.kind) {
    case OP_CONNECT:
    case OP_BACK:
        op.a = random_destination(random, profile->destinations);
        op.small = random_percent(random, 70) ? OP_CONNECT_ACTIVE : 0;
        op.small |= random_percent(random, 5) ? OP_CONNECT_UNBOUND : 0;
        op.n = random_below(random, 3 * hz);
        break;
    case OP_BATCH:
        op.a = random_below(random, profile->destinations);
        break;
    case OP_ADD:
    case OP_EDIT:
        op.a = random_below(random, profile->addresses);
        op.c = 0;
        op.b = stream_weight(random, profile->weights);
        random_thresholds(random, profile, &op);
        op.small = random_capacity(random, profile);
        op.a |= profile->slow_start && random_percent(random, 15) ? 1u << 31 : 0;
        break;
    case OP_WEIGHT:
        op.b = stream_weight(random, profile->weights);
        break;
    case OP_COUNTS:
        op.b = random_count(random);
        op.c = random_count(random);
        break;
    case OP_TIME:
    case OP_LATE:
        random_time(random, profile, hz, &op);
        break;
    case OP_SCHED:
        op.a = random_percent(random, 70) ? (uint32_t)scheduler
                                          : random_below(random, MODEL_SCHEDULERS);
        break;
    case OP_EXPIRE:
        op.n = stream_expiration(random, hz);
        break;
    case OP_BOUND:
        op.n = random_percent(random, 10) ? random_below(random, 20000)
                                          : 101 + random_below(random, 150);
        break;
    case OP_BIND:
    case OP_MOVE:
    case OP_CLOSE:
    case OP_REMOVE:
    case OP_DICE:
    case OP_WHEEL:
    case OP_STRAY:
    case OP_KINDS:
        break;
    }
    return op;
}
