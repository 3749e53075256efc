/* SPDX-License-Identifier: MIT */
/*
 * Many engines over one trace: the calling thread reads, one thread per engine replays. They
 * share a ring of batches, read-only for the engines; a batch is reused when the last of them
 * is done with it.
 */
#ifndef LOCUS_SIM_CREW_H
#define LOCUS_SIM_CREW_H

#include <stddef.h>
#include <stdint.h>

#include "arrivals.h"
#include "engine.h"

struct crew_member {
    struct engine *engine;
    int status;      /* out: of the library */
    uint64_t cpu_ns; /* out: that the engine used */
};

/*
 * Replays the source from where it stands through every member's engine to its end, or until
 * *stop becomes non-zero (NULL: never), and finishes them. progress (or NULL) is called now
 * and then with the arrivals read. Returns 0; -1 when reading failed (said on stderr). A
 * member that failed has its status, and the others end early.
 */
int crew_run(struct arrival_source *source, struct crew_member *members, size_t count,
             const volatile int *stop, void (*progress)(void *arg, uint64_t arrivals),
             void *progress_arg);

#endif
