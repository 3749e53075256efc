/* SPDX-License-Identifier: MIT */
/* What the files of the model share among themselves. */
#ifndef LOCUS_TESTS_MODEL_PARTS_H
#define LOCUS_TESTS_MODEL_PARTS_H

#include "model.h"

__extension__ typedef __int128 model_wide; /* cross products: 2^47 * 2^31 */

enum model_cost {
    MODEL_COST_OVERHEAD, /* active_cost * active + inactive */
    MODEL_COST_EXPECTED, /* active + 1 */
};

int64_t model_cost(const struct model *m, uint32_t server, enum model_cost kind);
/* In service, weight > 0, not overloaded. */
bool model_usable(const struct model *m, uint32_t server);
/* What stands for the weight where loads are compared; positive if the weight is. */
int64_t model_divisor(const struct model *m, uint32_t server);
/* Whether a's cost / divisor is strictly below b's; both weights are positive. */
bool model_less(const struct model *m, uint32_t a, uint32_t b, enum model_cost kind);
/* The least loaded usable one of ids (newest first), MODEL_NONE if there is none. */
uint32_t model_least(const struct model *m, const uint32_t *ids, size_t count,
                     enum model_cost kind);

/* The state of the simple schedulers: begun afresh; after an add, edit or removal (where
 * the removed server was in the list; 0 for the others). */
enum model_event { MODEL_ADDED, MODEL_EDITED, MODEL_REMOVED };
void model_simple_init(struct model *m);
void model_simple_event(struct model *m, enum model_event event, uint32_t server,
                        size_t place);
uint32_t model_simple_pick(struct model *m, const struct model_request *request);

struct model_pick model_chbl(struct model *m, struct model_key key);
uint32_t model_p2c(struct model *m);

/* SipHash-1-3, key (key, key). */
uint64_t model_sip13(const uint8_t *bytes, size_t length, uint64_t key);
/* splitmix64: the next of 64 bits; a number below range, from the model's own dice. */
uint64_t model_dice(uint64_t *state);
uint64_t model_roll(struct model *m, uint64_t range);

struct model_pick model_lblc(struct model *m, struct model_key key);
struct model_pick model_lblcr(struct model *m, struct model_key key);
void model_map_gc(struct model *m);
void model_map_flush(struct model *m);
void model_map_purge(struct model *m, uint32_t server);

void *model_resize(void *old, size_t count, size_t size);

#endif
