/* SPDX-License-Identifier: MIT */
/*
 * One of locus' own files read where it lies: no copy of it is kept, sorted or spooled. That
 * asks for a plain file (not compressed, not a pipe) whose records are all sound, timed and
 * in order; anything else is left to the reader of the format, which has words for it.
 */
#ifndef LOCUS_SIM_STREAM_H
#define LOCUS_SIM_STREAM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../records/numbered.h"

struct stream;

struct stream_summary {
    uint64_t records, destinations, clients; /* the latter distinct, of the records */
    uint64_t first_ns, last_ns, end_ns;      /* as in struct trace_summary */
    bool all_ipv4;
};

struct stream_progress {
    const volatile int *stop; /* non-zero: no more records than were looked at */
    void (*show)(void *arg, uint64_t done_bytes, uint64_t total_bytes); /* or NULL */
    void *arg;
};

/*
 * Looks at the whole file. NULL, and nothing said, when it is not for streaming; keys are
 * then empty, else they are the file's. Once open, its records may be read again and again.
 */
struct stream *stream_open(const char *path, const struct stream_progress *progress,
                           struct record_keys *keys, struct stream_summary *summary);
void stream_close(struct stream *stream);
void stream_rewind(struct stream *stream);
/* How many; 0 at the end; -1 after a message on stderr: the file cannot be read, or is no
 * longer what it was. */
ssize_t stream_next(struct stream *stream, struct numbered_record *batch,
                    size_t capacity);

#endif
