/* SPDX-License-Identifier: MIT */
/*
 * One arrival: what every trace format is turned into, and all that the engine knows.
 * 64 bytes, no pointers, so that millions are sorted, spooled and replayed as plain memory.
 */
#ifndef LOCUS_SIM_RECORD_H
#define LOCUS_SIM_RECORD_H

#include <stdint.h>

#include <locus/locus.h>

enum record_flag {
    RECORD_HAS_TIME = 1, /* start_ns is a time stamp, not just the place in the file */
    RECORD_HAS_DURATION = 2, /* duration_ns was in the trace */
    RECORD_HAS_BYTES = 4,
    RECORD_HAS_CLIENT = 8,
};

enum { PROTO_UNKNOWN = 0, PROTO_TCP = 6, PROTO_UDP = 17 };

struct record {
    uint64_t start_ns;    /* since 1970; of the first packet or the request's start */
    uint64_t duration_ns; /* 0 without RECORD_HAS_DURATION */
    uint64_t bytes;      /* from server to client where the format tells; else in all */
    union locus_key dst; /* the destination, as --key chose it */
    union locus_key src; /* the client */
    uint16_t dst_port, src_port;
    uint8_t dst_family, src_family; /* enum locus_family; names are hashed */
    uint8_t proto;                  /* IP protocol number */
    uint8_t flags;                  /* RECORD_* */
};

#endif
