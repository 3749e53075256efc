/* SPDX-License-Identifier: MIT */
/*
 * What a running script has: its settings, its clock, the service it drives, and what the
 * core leaves to its caller to remember: which connection is bound where, and in which
 * TCP state.
 */
#ifndef LOCUS_SIM_DRIVE_STATE_H
#define LOCUS_SIM_DRIVE_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <locus/locus.h>

#include "clock.h"
#include "script.h"
#include "tcp.h"

/* The keys are numbers that scripts count up: a multiplication spreads them well. */
#ifndef HASH_NONFATAL_OOM
#define HASH_NONFATAL_OOM 1
#endif
#define HASH_FUNCTION(key, length, hash)                                       \
    do {                                                                       \
        uint64_t hash_word = 0;                                                \
        memcpy(&hash_word, (key), (length));                                   \
        (hash) = (unsigned)((hash_word * UINT64_C(0x9e3779b97f4a7c15)) >> 32); \
    } while (0)
/* HASH_ADD sets the variable in_table of the function around it to false when there is
 * no memory, and leaves the table as it was. */
#define uthash_nonfatal_oom(element) (in_table = false)
#include <string.h>
#include <uthash.h>

enum proto { PROTO_TCP_STATES, PROTO_UDP_INACTIVE, PROTO_MANUAL };
enum forward { FORWARD_MASQ, FORWARD_DR, FORWARD_TUN };

/* A server's ID in the script; kept when it is deleted, for the address. */
struct server_id {
    uint32_t id;
    uint32_t handle; /* LOCUS_NO_SERVER: not in service */
    struct locus_address address;
    enum forward forward; /* as of the last server, weight or edit event */
    UT_hash_handle hh;
};

/* An open connection. */
struct connection {
    uint64_t cid;
    uint32_t server;
    enum locus_conn_state state;
    enum tcp_state tcp;
    bool in_only; /* see TCP_IN_ONLY */
    UT_hash_handle hh;
};

/* When a destination was last put at the head of its hash chain: for dump raw alone. */
struct chained {
    uint32_t key;
    uint64_t turn; /* counts such moments */
    UT_hash_handle hh;
};

/* lblc_expiration or lblcr_expiration: seconds, or raw jiffies when in_jiffies. */
struct expiration {
    const char *scheduler;
    int64_t value;
    bool in_jiffies;
};

enum { EXPIRATIONS = 2 };

struct drive {
    struct script script;
    FILE *out;
    struct locus_rules rules; /* in nanoseconds, as found */
    struct jiffy_clock clock;
    uint64_t clock_limit_s;

    enum proto proto;
    enum forward forward;
    struct expiration expirations[EXPIRATIONS];
    uint64_t seed;
    bool wheel;
    bool echo;

    struct locus_service *service; /* NULL before the first sched */
    struct server_id *ids;
    struct connection *connections;
    struct chained *chain;
    uint64_t turns; /* chained elements so far */
};

/* "locus drive: FILE:LINE: EVENT: " and the status' text; returns 1. */
int drive_failure(const struct drive *drive, int status);

/*
 * Turns the core's answer to an event into the script's: LOCUS_OK says nothing; what a
 * kernel would refuse is printed as "err EVENT what ERRNO", and the script goes on; any
 * other status ends it, as drive_failure(). Returns an exit code.
 */
int drive_refusal(const struct drive *drive, const char *what, int status);

/* NULL: the script has never added such a server. */
struct server_id *drive_find_id(const struct drive *drive, uint32_t id);

/* The events. The script's words are theirs, as many as the table in events.c says; an
 * exit code. */
int event_set(struct drive *drive);
int event_sched(struct drive *drive);
int event_server(struct drive *drive);
int event_weight(struct drive *drive);
int event_edit(struct drive *drive);
int event_del(struct drive *drive);
int event_conn(struct drive *drive);
int event_est(struct drive *drive);
int event_fin(struct drive *drive);
int event_pkt(struct drive *drive);
int event_close(struct drive *drive);
int event_dump(struct drive *drive);
int event_stat(struct drive *drive);

#endif
