/* SPDX-License-Identifier: MIT */
/*
 * The figures of one policy's run: who served which destination, and how evenly the servers
 * were loaded. Every event costs O(1): integrals over time grow at each change of an active
 * count, and the highest load is searched again only after the highest server lost one.
 *
 * The run may be cut into phases (before, during and after a scenario); what adds up is kept
 * per phase, what is a state goes on.
 */
#ifndef LOCUS_SIM_FIGURES_H
#define LOCUS_SIM_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server_set.h"

/* What one phase came to. Integers in stated units; ppm of a ratio: 1,000,000 is 1. */
struct figures {
    uint64_t connections; /* given to a server */
    uint64_t refused;     /* no server was available */
    uint64_t repeats;     /* connections whose destination had been served before */
    uint64_t
        stuck_ppm;     /* of repeats: to the server of the destination's previous one */
    uint64_t warm_ppm; /* of repeats: to a server that had served the destination since
                               that server last failed */
    uint64_t moves;    /* repeats to a server new to the destination while another that
                               had served it was available */
    uint64_t destinations;      /* that were served at all */
    uint64_t replicas_mean_ppm; /* servers per destination, mean over destinations */
    uint64_t replicas_conn_mean_ppm; /* ... over connections */
    uint64_t replicas_max;
    uint64_t
        imbalance_mean_ppm; /* (highest active / weight) / (mean active / weight) */
    uint64_t imbalance_conn_mean_ppm; /* ... weighted by active, not by time alone */
    uint64_t imbalance_peak_ppm;
    uint64_t cv_ppm;   /* time-weighted coefficient of variation of active / weight */
    uint64_t jain_ppm; /* ... Jain's index; 1 is even */
    uint64_t
        above_weight_ms; /* with more active connections than weight, over servers */
    uint64_t above_weight_ppm; /* ... of all the servers' time */
    uint64_t peak_active;      /* on one server */
    uint64_t busy_ms;          /* with anything active */
    uint64_t span_ms;
    uint64_t hit_ppm; /* with a cache model: requests found in the server's cache */
    uint64_t byte_hit_ppm; /* ... bytes */
    uint64_t origin_bytes; /* ... bytes fetched because they were not */
    uint64_t map_entries_peak;
    uint64_t map_bytes_peak;
    uint64_t evicted;   /* destinations that expired or were pushed out of the map */
    uint64_t forgotten; /* destinations that the map had no room for */
    uint64_t cut;       /* active on a server when it was removed or failed */
    uint64_t kept;      /* servers that a scenario's guard kept in service */
    uint64_t errors;    /* connections given to a server that a scenario has broken */
    uint64_t excess;    /* connections above a server's share when it was given one */
    uint64_t herd_ppm;  /* ... how many times its share it then had */
};

struct server_figures {
    uint64_t connections;
    uint64_t bytes;
    uint64_t peak_active;
    uint64_t above_weight_ms;
    uint64_t connection_share_ppm; /* of the concurrent connections, over time */
    uint64_t request_share_ppm;    /* of the connections, by number */
    uint64_t weight_share_ppm;     /* of the weights in force at the end */
};

/* How tables, JSON, CSV and the page name and print a figure. */
enum figure_unit { FIGURE_COUNT, FIGURE_SHARE, FIGURE_RATIO, FIGURE_MS, FIGURE_BYTES };
enum figure_needs {
    NEEDS_NOTHING,
    NEEDS_CACHE,
    NEEDS_MAP,
    NEEDS_REFUSALS,
    NEEDS_REMOVALS,
    NEEDS_GUARD,
    NEEDS_BREAKS,
    NEEDS_DIRECTORS,
};

struct figure_spec {
    const char *name;  /* in JSON and CSV; NULL ends the table */
    const char *label; /* over the table's column */
    enum figure_unit unit;
    size_t offset; /* in struct figures; of an uint64_t */
    int rank;      /* columns of low rank come first when room is short; 0: none */
    enum figure_needs needs;
    bool run_wide; /* says nothing about a single phase */
    const char *about;
};
extern const struct figure_spec figure_specs[];

static inline uint64_t figure_value(const struct figures *f,
                                    const struct figure_spec *spec)
{
    return *(const uint64_t *)((const char *)f + spec->offset);
}

__extension__ typedef unsigned __int128 figure_sum;

/*
 * Integrals over time without a multiplication per event: what begins at t counts -t, what
 * ends counts +t; what is open in the end is closed when it is read. Until then sums wrap.
 */
struct server_tally {
    uint64_t connections, bytes;
    figure_sum active_ns; /* integral of active */
    uint64_t above_ns;    /* with active > weight */
    uint32_t peak_active;
};

/* What adds up over one phase. */
struct tally {
    uint64_t connections, refused, repeats, stuck, warm, moves;
    uint64_t bytes, hits, hit_bytes;
    uint64_t span_ns, busy_ns;
    figure_sum server_ns;                /* servers in service, over time */
    double imbalance_ns, cv_ns, jain_ns; /* integrals over busy time */
    double active_ns, imbalance_active_ns;
    double imbalance_peak;
    double excess,
        herd; /* of the connection that went farthest beyond its server's share */
    uint64_t map_entries_peak, map_bytes_peak, evicted, forgotten, cut, kept, errors;
    struct server_tally *servers;
};

struct server_state {
    double inverse; /* 1 / weight */
    uint32_t active;
    uint32_t weight;
    bool counted; /* in service with a weight above 0 */
};

struct contact {
    server_set served; /* ever */
    uint64_t connections : 44;
    uint64_t last : 20; /* the server of the latest one */
};

enum { PHASES_MAX = 64 };

/* The state of a run. The engine writes it through the functions below. */
struct recorder {
    uint32_t server_count;
    struct server_state *servers;
    double *load; /* active / weight; 0 where not counted */
    uint64_t now_ns;
    uint64_t settled_ns;           /* up to when spans are counted */
    uint64_t active, weight;       /* sums over counted servers */
    uint32_t counted;              /* how many */
    double load_sum, load_squares; /* of the loads */
    double top;                    /* the highest load, unless top_stale */
    uint32_t top_server;
    bool top_stale;

    struct contact *contacts; /* by destination */
    size_t contact_count;     /* room */
    server_set *warm; /* served since the server last failed; NULL until one fails */
    bool (*available)(void *arg, uint32_t server);
    void *available_arg;

    struct tally phases[PHASES_MAX];
    size_t phase_count;
    struct tally *tally; /* of the phase now */
};

int recorder_init(struct recorder *r, uint32_t server_count,
                  bool (*available)(void *arg, uint32_t server), void *arg);
void recorder_fini(struct recorder *r);

/* A server comes, goes (weight 0) or changes its weight. */
void recorder_set_weight(struct recorder *r, uint32_t server, uint32_t weight,
                         uint64_t now_ns);
/* A server lost what it knew. */
int recorder_fail(struct recorder *r, uint32_t server);
/* Ends a phase. Beyond PHASES_MAX the last one goes on. */
int recorder_phase(struct recorder *r, uint64_t now_ns);

void recorder_open(struct recorder *r, uint32_t server, uint64_t now_ns);
void recorder_close(struct recorder *r, uint32_t server, uint64_t now_ns);
/* After recorder_open(): how far it went beyond the server's share, by weight, of what is
 * active. */
void recorder_herd(struct recorder *r, uint32_t server);
/* Brings every integral up to now. */
void recorder_flush(struct recorder *r, uint64_t now_ns);
/* A connection for destination went to server. ENOMEM: not counted. */
int recorder_contact(struct recorder *r, uint32_t destination, uint32_t server,
                     uint64_t bytes);

/* The sum of all phases, without its servers. */
void recorder_total(const struct recorder *r, struct tally *out);
/* phase: 0.. or SIZE_MAX for the whole run, which alone has the figures that are run_wide. */
void recorder_figures(const struct recorder *r, size_t phase, struct figures *out);
/* The same of every server: out has room for all. */
void recorder_server_figures(const struct recorder *r, size_t phase,
                             struct server_figures *out);

#endif
