/* SPDX-License-Identifier: MIT */
/*
 * The reference model: what a service decides, recomputed from the written rules with
 * arrays and linear searches. It shares no line and no header with the library, so that an
 * error has to be made twice, in two shapes, to go unseen. Everything is open to read;
 * only the functions below write.
 *
 * Time is counted in ticks (jiffies), signed and 64 bits wide: nothing wraps here.
 * Servers, destinations and tables refer to servers by their index in model.servers.
 * Memory that cannot be had ends the program: it is a test.
 */
#ifndef LOCUS_TESTS_MODEL_H
#define LOCUS_TESTS_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MODEL_NONE UINT32_MAX
#define MODEL_NEVER INT64_MAX
#define MODEL_BUCKETS 1024
#define MODEL_MH_SIZE 4093
#define MODEL_HASH_SIZE 256

enum model_no_server { MODEL_REFUSE, MODEL_PASS_BY, MODEL_TAKE_ANY };

enum model_threshold { MODEL_EDGE, MODEL_CLASSIC, MODEL_PLAIN };

/* The same choices as the library's rules, named after what they do. */
struct model_rules {
    int64_t active_cost;
    enum model_threshold threshold;
    bool oldest_first; /* ties */
    int64_t max_entries, soft_entries;
    bool evict;
    bool leak_entries;
    int64_t gc_full_every;
    bool gc_strict;
    int64_t gc_interval, gc_stale;
    bool spill_counts_total, spill_eligible_only;
    bool lblc_checks_threshold;
    bool trim_on_every_hit, return_member_only;
    bool lastuse_on_failure;
    int64_t set_decay; /* MODEL_NEVER: the expiration */
    int64_t load_bound_percent;
    enum model_no_server no_server;
    int64_t slow_start; /* the window; 0: off */
    int64_t slow_start_step;
    int64_t slow_start_exponent, slow_start_floor_percent;
    bool purge_removed;
    int64_t trash_interval, trash_idle;
    bool timer_wheel;
};

enum model_scheduler {
    MODEL_RR,
    MODEL_WRR,
    MODEL_LC,
    MODEL_WLC,
    MODEL_SED,
    MODEL_NQ,
    MODEL_FO,
    MODEL_OVF,
    MODEL_DH,
    MODEL_SH,
    MODEL_MH,
    MODEL_TWOS,
    MODEL_LBLC,
    MODEL_LBLCR,
    MODEL_CHBL,
    MODEL_P2C,
    MODEL_NO_SCHEDULER,
    MODEL_SCHEDULERS /* how many */
};

/* Any address or name as two numbers; IPv4 is the low half of lo. */
struct model_key {
    uint64_t hi, lo;
};

struct model_server {
    bool used;   /* the slot holds a server */
    bool listed; /* in service; else in the trash */
    struct model_key address;
    int64_t port;
    int64_t weight, last_weight, upper, lower;
    int64_t capacity; /* of the spill test; 0: the weight */
    int64_t active, inactive;
    bool overloaded;
    int64_t idle_start; /* 0: not seen idle in the trash yet */
    uint32_t tag;       /* the caller's own */
    bool warm;          /* its weight counts at once */
    /* The weight in force, in 1/256, and its way from one to another. */
    int64_t share, share_from, share_to;
    int64_t grows_since; /* MODEL_NEVER: nobody has looked yet */
    bool grows;
    int64_t handle; /* what p2c goes by; the caller's own too, else the index */
};

struct model_dest {
    struct model_key key;
    int64_t lastuse, lastmod;
    uint64_t turn;     /* evict: lower ones are asked first */
    int64_t asked;     /* lastuse when it was given that turn */
    uint32_t *members; /* newest first */
    size_t size;
};

/* Why, in the words of the interface; the library's numbers are its own. */
enum model_why {
    MODEL_HIT = 1,
    MODEL_NEW = 2,
    MODEL_FORGOTTEN = 4,
    MODEL_MOVED = 8,
    MODEL_GROWN = 16,
    MODEL_TRIMMED = 32,
    MODEL_SPILLED = 64,
    MODEL_DOWN = 128,
    MODEL_REFUSED = 256,
    MODEL_BYPASS = 512,
    MODEL_ANY = 1024,
};

struct model_pick {
    uint32_t server;
    uint32_t trimmed;
    unsigned why;
};

struct model_stats {
    uint64_t picks, refusals, hits, added, moved, grown, trimmed, forgotten, expired;
    uint64_t evicted, bypasses, any;
};

enum model_status {
    MODEL_OK,
    MODEL_EINVAL,
    MODEL_ERANGE,
    MODEL_EEXIST,
    MODEL_ENOENT,
};

struct model_request {
    struct model_key dst, src;
    int64_t src_port;
};

struct model {
    struct model_rules rules;
    enum model_scheduler scheduler;
    bool fallback, port; /* flags of sh and mh */
    int64_t now;
    int64_t expiration;
    uint64_t dice; /* splitmix64 state of twos and p2c */
    bool wide;     /* keys are of 128 bits; the caller says so */

    struct model_server *servers;
    size_t slots;
    uint32_t *list, *trash; /* newest first */
    size_t listed, trashed;

    int64_t gc_due, trash_due; /* MODEL_NEVER: not armed */
    bool gc_armed_later;       /* both due at once: the one armed first runs first */
    int64_t slow_start_due;
    int64_t weight_max; /* ever */

    uint32_t rr_last;
    uint32_t wrr_current;
    int64_t wrr_weight, wrr_max, wrr_step;
    uint32_t table[MODEL_MH_SIZE]; /* dh, sh, mh */
    size_t table_size;
    int64_t mh_gcd, mh_shift;

    struct model_dest *dests; /* in order of creation */
    size_t linked, dests_room;
    int64_t entries; /* as the rules count them */
    int64_t rover, counter;
    uint64_t turns;

    struct model_stats stats;
};

/* "kernel", "kernel-classic", "article", "locus"; hz ticks make a second. False: no such rules. */
bool model_rules_find(struct model_rules *rules, const char *name, int64_t hz);
/* MODEL_SCHEDULERS when there is none of that name. */
enum model_scheduler model_scheduler_find(const char *name);
const char *model_scheduler_name(enum model_scheduler scheduler);

/* Begins with no server and no scheduler ("none"). */
struct model *model_create(const struct model_rules *rules, int64_t now, uint64_t seed);
void model_destroy(struct model *m);

void model_set_scheduler(struct model *m, enum model_scheduler scheduler, bool fallback,
                         bool port);

/* Whether add or edit take these numbers. */
enum model_status model_check_numbers(const struct model *m, int64_t weight,
                                      int64_t upper, int64_t lower);
uint32_t model_find(const struct model *m, struct model_key address, int64_t port);
enum model_status model_add(struct model *m, const struct model_server *wanted,
                            uint32_t *out);
enum model_status model_edit(struct model *m, uint32_t server, int64_t weight,
                             int64_t upper, int64_t lower);
/* An edit changes the capacity as well, a new weight alone does not. */
void model_set_capacity(struct model *m, uint32_t server, int64_t capacity);
/* What an edit that calls the server warm does besides. */
void model_set_warm(struct model *m, uint32_t server);
enum model_status model_remove(struct model *m, uint32_t server);
/* What still refers to a server besides its connections. */
size_t model_references(const struct model *m, uint32_t server);

struct model_pick model_schedule(struct model *m, const struct model_request *request);
enum model_status model_bind(struct model *m, uint32_t server, bool active);
enum model_status model_move(struct model *m, uint32_t server, bool from, bool to);
enum model_status model_unbind(struct model *m, uint32_t server, bool active);
/* Sets the counts; a threshold flag that is remembered stays as it is. */
void model_set_counts(struct model *m, uint32_t server, int64_t active,
                      int64_t inactive);

/* The next time at which a timer fires, MODEL_NEVER if none is armed. */
int64_t model_due(const struct model *m);
/* Sets the clock; each timer due by then fires at its own tick, in order. */
void model_advance(struct model *m, int64_t now);
/* Sets the clock without firing anything. */
void model_set_clock(struct model *m, int64_t now);
/* Fires once, at the clock's time, every timer that is due by then: a late tick. */
void model_tick_late(struct model *m);

const struct model_dest *model_dest_find(const struct model *m, struct model_key key);
/* The kernel's hash of 32 bits, and of a key folded to them. */
uint32_t model_hash32(uint32_t value, unsigned bits);
uint32_t model_fold(struct model_key key);

#endif
