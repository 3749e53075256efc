/* SPDX-License-Identifier: MIT */
/* What the measurements of liblocus alone start from. */
#ifndef LOCUS_BENCH_FIXTURE_H
#define LOCUS_BENCH_FIXTURE_H

#include <locus/locus.h>

/* Ends the program when there is no memory. */
void *must(void *ptr);

/* A service of lblc under the rules "article" (unbounded, expiry looked at on every run,
 * removed servers purged), expiration an hour, with that many servers of weight 1000. */
struct locus_service *make_service(enum locus_family family, uint32_t load_percent,
                                   uint32_t servers);

#define HOUR_NS (3600 * UINT64_C(1000000000))

/* xorshift64; *state is not 0. */
uint64_t random_next(uint64_t *state);

#endif
