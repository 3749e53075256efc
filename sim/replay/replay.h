/* SPDX-License-Identifier: MIT */
/*
 * One run of locus replay, in the order in which it happens:
 *
 *     replay_request()   what was asked for: servers, policies, rules, outputs   request.c
 *     replay_run()       all policies over the trace                             run.c
 *     replay_result()    what they came to                                       result.c
 *     replay_write()     the table and the files                                 outputs.c
 *
 * Each returns an exit_code, after a line on stderr unless it is EXIT_OK.
 */
#ifndef LOCUS_SIM_REPLAY_H
#define LOCUS_SIM_REPLAY_H

#include "../cli/session.h"
#include "../cli/setup_args.h"
#include "../engine/crew.h"
#include "../engine/decisions.h"
#include "../report/report.h"

#define DEFAULT_POLICIES "wlc,lblc,lblcr,dh,sh,mh,wrr"

enum { POLICIES_MAX = 64 };

/* The values of --director-by and --no-server. */
extern const char *const replay_directors[];
extern const char *const replay_no_server[];

/* The command line, as the option table fills it in. */
struct replay_args {
    struct setup_args setup;
    struct read_args read;
    const char *policies, *scenario, *pool_uri;
    const char *timeline, *decisions, *metrics, *html, *svg;
    const char *save, *load;
    bool json, csv, per_server, timing, replace;
    int no_server, director_by;
    bool stagger;
    uint64_t expiration_ns, max_entries, capacity, interval_ns, width;
    uint64_t slow_start_ns, slow_start_exponent, slow_start_floor; /* 0: not given */
};

/* Everything of one run of the command, so that one place frees it. */
struct replay {
    struct replay_args args;
    char *const *paths; /* of the traces */
    size_t path_count;
    struct session session;
    struct setup setup;
    struct locus_rules rules; /* those of setup, changed */
    struct policy policies[POLICIES_MAX];
    size_t policy_count;
    bool stdout_taken; /* by a FILE of '-': no table */
    FILE *map;         /* of --load, until it is loaded */
    struct crew_member *members;
    struct timeline *timelines;
    struct decisions *decisions;
    char (*errors)[POLICY_ERROR_SIZE]; /* of each policy, "" for none */
    struct arrival_counts counts;
    struct report_phase phases[PHASES_MAX];
    struct report report;
    bool interrupted;
};

int replay_request(struct replay *replay);
int replay_run(struct replay *replay);
int replay_result(struct replay *replay);
int replay_write(struct replay *replay);
void replay_free(struct replay *replay);

/* Whether any policy has several directors. */
bool replay_has_directors(const struct replay *replay);
/* Whether every file that was asked for can be written and is none of the traces. */
int replay_check_outputs(struct replay *replay);
/* Says on stderr why a policy failed. */
int replay_policy_failed(const struct replay *replay, size_t i, int status);

#endif
