/* SPDX-License-Identifier: MIT */
/*
 * The search behind locus advise: candidates (policy, weights, expiration), their figures,
 * the front of those that nobody beats in both locality and balance, and the choice.
 */
#ifndef LOCUS_SIM_ADVISE_H
#define LOCUS_SIM_ADVISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "figures.h"
#include "policy.h"
#include "servers.h"

struct candidate {
    struct policy policy;
    uint64_t
        headroom_percent;   /* weights together, of the p99 concurrency; 0: as given */
    uint64_t expiration_ns; /* 0: the policy has none */
    struct server_list servers; /* with this candidate's weights; servers_free() */
    struct figures figures;
    bool on_front;
};

/* Hit ratio with a cache model, else warm. */
uint64_t candidate_locality(const struct candidate *c, bool cache);
/* Marks the front: nobody else has fewer refusals, or as many and at least as much of both
 * locality and balance with more of one. Of equals the first is on it. */
void advise_mark_front(struct candidate *candidates, size_t count, bool cache);
/*
 * The one on the front that is nearest to the best of both: each distance is measured in the
 * front's own range, and an imbalance above max_imbalance_ppm (0: none) is passed over unless
 * all are. The first of equals. SIZE_MAX when the front is empty.
 */
size_t advise_choose(const struct candidate *candidates, size_t count, bool cache,
                     uint64_t max_imbalance_ppm);

/* A copy of list with weights that make about total together, in the proportions that it has
 * (even where none were given), at least 2 where there was any; connections that were found there are left
 * out: the advice is for the long run. total 0: weights as they are. LOCUS_ENOMEM. */
int advise_scale_weights(const struct server_list *list, uint64_t total,
                         struct server_list *out);

#endif
