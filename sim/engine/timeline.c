/* SPDX-License-Identifier: MIT */
#include "timeline.h"

#include <stdlib.h>
#include <string.h>

int timeline_init(struct timeline *timeline, uint32_t server_count)
{
    memset(timeline, 0, sizeof(*timeline));
    timeline->server_count = server_count;
    timeline->server_connections =
        calloc(server_count, sizeof(*timeline->server_connections));
    return timeline->server_connections != NULL ? LOCUS_OK : LOCUS_ENOMEM;
}

void timeline_fini(struct timeline *timeline)
{
    free(timeline->points);
    free(timeline->servers);
    free(timeline->server_connections);
    memset(timeline, 0, sizeof(*timeline));
}

uint64_t timeline_choose_interval(uint64_t span_ns)
{
    static const uint64_t seconds[] = {1,   2,   5,   10,   15,   30,   60,    120,
                                       300, 600, 900, 1800, 3600, 7200, 21600, 86400};
    uint64_t least_ns = span_ns / 200;
    uint64_t interval_ns = 1000000;

    for (; interval_ns < 1000000000; interval_ns *= 10) {
        if (interval_ns >= least_ns) {
            return interval_ns;
        }
    }
    for (size_t i = 0; i < sizeof(seconds) / sizeof(*seconds); i++) {
        interval_ns = seconds[i] * 1000000000u;
        if (interval_ns >= least_ns) {
            return interval_ns;
        }
    }
    return (least_ns / interval_ns + 1) * interval_ns;
}

static bool make_room(struct timeline *timeline)
{
    if (timeline->count < timeline->capacity) {
        return true;
    }
    size_t capacity = timeline->capacity == 0 ? 256 : 2 * timeline->capacity;
    struct timeline_point *points =
        realloc(timeline->points, capacity * sizeof(*points));
    if (points == NULL) {
        return false;
    }
    timeline->points = points;
    struct timeline_server *servers = realloc(
        timeline->servers, capacity * timeline->server_count * sizeof(*servers));
    if (servers == NULL) {
        return false;
    }
    timeline->servers = servers;
    timeline->capacity = capacity;
    return true;
}

static void note_servers(struct timeline *timeline, const struct recorder *r)
{
    struct timeline_server *row =
        &timeline->servers[timeline->count * timeline->server_count];

    for (uint32_t i = 0; i < timeline->server_count; i++) {
        uint64_t connections = 0;
        for (size_t p = 0; p < r->phase_count; p++) {
            connections += r->phases[p].servers[i].connections;
        }
        row[i] = (struct timeline_server){
            .active = r->servers[i].active,
            .connections = (uint32_t)(connections - timeline->server_connections[i]),
        };
        timeline->server_connections[i] = connections;
    }
}

void timeline_note(void *arg, const struct engine *engine, uint64_t now_ns)
{
    struct timeline *timeline = arg;
    const struct recorder *r = engine_recorder(engine);
    const struct tally *before = &timeline->before;
    struct tally now;

    if (timeline->status != LOCUS_OK || !make_room(timeline)) {
        timeline->status = LOCUS_ENOMEM;
        return;
    }
    recorder_total(r, &now);
    uint64_t busy_ns = now.busy_ns - before->busy_ns;
    double imbalance_ns = now.imbalance_ns - before->imbalance_ns;
    note_servers(timeline, r);
    timeline->points[timeline->count++] = (struct timeline_point){
        .at_ns = now_ns,
        .connections = now.connections - before->connections,
        .refused = now.refused - before->refused,
        .moves = now.moves - before->moves,
        .hits = now.hits - before->hits,
        .imbalance_ppm =
            busy_ns == 0 ? 0 : (uint64_t)(imbalance_ns / (double)busy_ns * 1e6 + 0.5),
    };
    timeline->before = now;
}
