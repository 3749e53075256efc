/* SPDX-License-Identifier: MIT */
/* Random events: what a profile says about them, and one event after the other. */
#ifndef LOCUS_TESTS_STREAM_H
#define LOCUS_TESTS_STREAM_H

#include "pair.h"

enum schedulers { ALL_SCHEDULERS, MAP_SCHEDULERS, LEAST_SCHEDULERS, SHARE_SCHEDULERS };
enum weights { SMALL_WEIGHTS, EVEN_WEIGHTS, HUGE_WEIGHTS };

struct profile {
    const char *name;
    enum schedulers schedulers;
    uint32_t steps, check_every;
    uint32_t addresses, begin_with, destinations;
    enum weights weights;
    uint32_t threshold_percent;
    uint32_t capacity_percent; /* of servers whose capacity is not their weight */
    uint32_t max_entries;
    bool long_steps; /* of time: a minute and more */
    bool evict;      /* where the rules let it */
    bool slow_start;
    uint32_t mix[OP_KINDS];
};

/* The next event of a stream; random is all that it remembers. */
struct op stream_op(uint64_t *random, const struct profile *profile,
                    enum model_scheduler scheduler, uint32_t hz);

uint32_t stream_one_of(uint64_t *random, const uint32_t *values, uint32_t count);
uint32_t stream_weight(uint64_t *random, enum weights style);
int64_t stream_expiration(uint64_t *random, uint32_t hz);

#endif
