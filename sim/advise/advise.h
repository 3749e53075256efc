/* SPDX-License-Identifier: MIT */
/*
 * The search behind locus advise: candidates (policy, weights, expiration, bounds), their
 * figures, the front of those that nobody beats in both locality and balance, and the choice.
 */
#ifndef LOCUS_SIM_ADVISE_H
#define LOCUS_SIM_ADVISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../engine/figures.h"
#include "../policy/policy.h"
#include "../servers/servers.h"

struct candidate {
    struct policy policy;
    uint64_t
        headroom_percent;   /* weights together, of the p99 concurrency; 0: as given */
    uint64_t expiration_ns; /* 0: the policy has none */
    uint64_t threshold_percent; /* upper thresholds together, of the p99 of all
                                   connections; 0: as given */
    uint32_t max_entries;       /* of the map; 0: as the rules say */
    struct server_list servers; /* with this candidate's weights; servers_free() */
    struct figures figures;
    bool on_front;
};

/* Hit ratio with a cache model, else warm. */
uint64_t candidate_locality(const struct candidate *c, bool cache);
/* Averaged over connections: over time alone the idle end of a short trace would decide. */
uint64_t candidate_imbalance(const struct candidate *c);
/* Whether IPVS has all of it: no scheduler of our own, no bound that is fixed there. */
bool candidate_is_for_ipvs(const struct candidate *c);
/* Marks the front: nobody else has fewer refusals, or as many and at least as much of both
 * locality and balance with more of one. Of equals the first is on it. */
void advise_mark_front(struct candidate *candidates, size_t count, bool cache);

struct advise_limits {
    uint64_t max_imbalance_ppm; /* 0: none */
    bool ipvs_only;             /* candidate_is_for_ipvs() */
};
/*
 * The one on the front that is nearest to the best of both: each distance is measured in the
 * front's own range. Who is outside the limits is passed over unless all are. The first of
 * equals. SIZE_MAX when the front is empty.
 */
size_t advise_choose(const struct candidate *candidates, size_t count, bool cache,
                     const struct advise_limits *limits);

/* Whether any server of the list came with a weight. */
bool advise_weights_given(const struct server_list *list);
/* A copy of list with weights that make about total together, in the proportions that it has
 * (even where none were given), at least 2 where there was any; connections that were found there are left
 * out: the advice is for the long run. total 0: weights as they are. LOCUS_ENOMEM. */
int advise_scale_weights(const struct server_list *list, uint64_t total,
                         struct server_list *out);
/* Upper thresholds that make about total together, in the proportions of the weights, and
 * lower ones as IPVS has them by default: three quarters. */
void advise_set_thresholds(struct server_list *list, uint64_t total);

#endif
