/* SPDX-License-Identifier: MIT */
/*
 * For each request of a trace, when its object is asked for next. Memory is one number per
 * request; where that is more than allowed, the numbers lie in a temporary file.
 */
#ifndef LOCUS_SIM_NEXT_REQUESTS_H
#define LOCUS_SIM_NEXT_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

struct next_requests;

/* NULL after a message on stderr. */
struct next_requests *next_requests_create(uint64_t requests, uint64_t objects,
                                           uint64_t memory_bytes);
/* The next request, from number 0 on, is for that object. */
void next_requests_see(struct next_requests *next, uint32_t object);
/* All were seen. */
void next_requests_settle(struct next_requests *next);
/* The number of the next request of the same object; -1: none. */
int64_t next_requests_after(const struct next_requests *next, uint64_t number);
/* NULL is fine. */
void next_requests_destroy(struct next_requests *next);

#endif
