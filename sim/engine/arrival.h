/* SPDX-License-Identifier: MIT */
/*
 * One connection as the engine takes it: a record of the trace with everything decided that
 * does not depend on the policy (time zero, duration model, key family, destination number),
 * so that all policies read the same memory.
 */
#ifndef LOCUS_SIM_ARRIVAL_H
#define LOCUS_SIM_ARRIVAL_H

#include <stdint.h>

#include <locus/locus.h>

struct arrival {
    uint64_t start_ns; /* since the first record; never decreases */
    uint64_t duration_ns;
    uint64_t bytes;
    struct locus_request request;
    uint32_t destination; /* dense number, in order of first appearance */
    uint32_t slot; /* which no other connection has until it departs; see plan.h */
    bool udp;
};

#endif
