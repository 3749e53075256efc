/* SPDX-License-Identifier: MIT */
/* How traces are read, and what came of it. */
#ifndef LOCUS_SIM_READING_H
#define LOCUS_SIM_READING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum trace_key { KEY_AUTO, KEY_DST, KEY_HOST, KEY_URL, KEY_CLIENT, KEY_OBJECT };

struct trace_options {
    const char *format; /* NULL: found by looking */
    enum trace_key
        key; /* what stands for the destination; KEY_AUTO: as the format says */
    const char *columns;   /* csv: "time=1,dst=2,..."; NULL */
    uint64_t time_unit_ns; /* csv and object traces: 0 means the format's own (s) */
    uint64_t
        memory_bytes; /* for sorting; 0: 1 GiB. Beyond it runs go to a temporary file */
    uint64_t from_ns, to_ns; /* relative to the first record; 0, 0: all */
    uint32_t sample_one_in;  /* by hash of the destination; 0 or 1: all */
    uint64_t arrival_per_s;  /* for traces without times; 0: 1000 */
    uint64_t max_bad; /* more bad records than this fail; UINT64_MAX: any number */
    void (*progress)(void *arg, uint64_t done_bytes,
                     uint64_t total_bytes); /* or NULL */
    void *progress_arg;
    const volatile int *stop; /* becomes non-zero on Ctrl-C; reading then ends early */
};

struct trace_reason { /* why records were bad, one per kind */
    const char *reason;
    uint64_t count;
};

enum { TRACE_REASONS = 32, TRACE_EXAMPLES = 5 };

struct trace_summary {
    uint64_t records, bad,
        skipped;     /* skipped: good, but outside --from/--to or sample */
    uint64_t others; /* lines that are no records: headers, comments, other events */
    struct trace_reason reasons[TRACE_REASONS];
    size_t reason_count;
    char examples[TRACE_EXAMPLES]
                 [256]; /* "file:line: field: expected ..., not '...'" */
    size_t example_count;
    char formats[128]; /* "squid", "zeek-tsv, squid": what was found or chosen */
    uint64_t first_ns, last_ns; /* of the starts; first_ns is time zero of the replay */
    uint64_t end_ns;            /* the latest start + duration */
    uint64_t steps_back;        /* records stamped before the one in front of them */
    uint64_t spilled_bytes;     /* written to the temporary file */
    uint64_t destinations;      /* distinct */
    uint64_t clients;           /* distinct */
    bool all_ipv4;              /* every destination is an IPv4 address */
    bool timeless;              /* no record had a time; arrival_per_s was used */
};

#endif
