/* SPDX-License-Identifier: MIT */
/*
 * Records of a trace turned into arrivals: what does not depend on the policy is decided
 * here, once.
 */
#ifndef LOCUS_SIM_ARRIVALS_H
#define LOCUS_SIM_ARRIVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../trace/trace.h"
#include "arrival.h"

/* How long a record without a duration lasts. */
enum duration_kind { DURATION_CONST, DURATION_LOGNORMAL, DURATION_RATE };
struct duration_model {
    enum duration_kind kind;
    uint64_t time_ns;     /* const: it; lognormal: the median */
    uint64_t sigma_milli; /* lognormal: of the logarithm, times 1000 */
    uint64_t bytes_per_s; /* rate */
};
/* "const:1s", "lognormal:500ms:1.2", "rate:1M" (bytes per second). */
bool duration_model_parse(const char *text, struct duration_model *out);

enum proto_choice { CHOOSE_TCP, CHOOSE_UDP, CHOOSE_ALL };

struct arrival_options {
    enum proto_choice proto;
    struct duration_model duration;
    uint64_t speed_milli; /* 1000: as in the trace; 2000: arrivals twice as fast */
    uint64_t udp_ns;      /* how long a UDP flow counts after its last packet */
    uint64_t seed;
};

struct arrival_counts {
    uint64_t arrivals;
    uint64_t other_protocols; /* left out by proto */
    uint64_t without_duration;
    uint64_t without_bytes;
    uint64_t last_ns;
};

/* A key of the trace as the services see it. */
struct arrival_destination {
    union locus_key key;
    uint32_t number; /* in order of first arrival; NO_DESTINATION: not seen yet */
};

#define NO_DESTINATION UINT32_MAX

struct arrival_source {
    struct trace *trace; /* borrowed */
    struct arrival_options options;
    enum locus_family family; /* of the services: IPv4 if every destination is */
    uint64_t first_ns;
    struct arrival_destination *destinations; /* by the trace's number */
    union locus_key *clients;                 /* the same; the last one is nobody */
    uint32_t nobody;
    uint32_t *numbers; /* the trace's, by number of arrival */
    uint32_t number_count;
    struct arrival_counts counts; /* of this pass */
    struct numbered_record *records;
};

enum { ARRIVAL_BATCH = 1024 };

int arrivals_open(struct arrival_source *source, struct trace *trace,
                  const struct arrival_options *options);
void arrivals_close(struct arrival_source *source);
/* Up to ARRIVAL_BATCH; 0 at the end; -1 after an error that was said on stderr. */
ssize_t arrivals_next(struct arrival_source *source, struct arrival *batch);
/* What a person calls the destination of that number. */
void arrivals_destination_text(const struct arrival_source *source, uint32_t number,
                               char *text, size_t size);
/* Back to the first. false after an error said on stderr. */
bool arrivals_rewind(struct arrival_source *source);

/*
 * How many connections there are at once: the number that is not exceeded for the given part
 * (ppm) of the time from the first arrival to the last departure. after_fin_ns: how long a
 * TCP connection still counts after its end; 0 for the active ones. Reads to the end; rewind
 * before and after. -1 after an error said on stderr.
 */
int64_t arrivals_concurrency(struct arrival_source *source, uint64_t part_ppm,
                             uint64_t after_fin_ns, uint64_t *peak);

#endif
