/* SPDX-License-Identifier: MIT */
/*
 * A progress line on a terminal's stderr, with rate and time left; elsewhere nothing. And the
 * first Ctrl-C, which asks for an early end; the second one kills.
 */
#ifndef LOCUS_SIM_PROGRESS_H
#define LOCUS_SIM_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    bool shown;
    const char *what; /* "reading", "replaying" */
    const char *unit; /* "B", "connections" */
    uint64_t total;   /* 0: unknown */
    uint64_t begin_ns, last_ns;
};

void progress_begin(struct progress *progress, const char *what, const char *unit,
                    uint64_t total);
void progress_update(struct progress *progress, uint64_t done);
/* Wipes the line. */
void progress_end(struct progress *progress);

/* Non-zero once Ctrl-C came. */
extern volatile int progress_stop;
void progress_catch_interrupt(void);

#endif
