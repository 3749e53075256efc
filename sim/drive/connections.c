/* SPDX-License-Identifier: MIT */
/*
 * Connections from first packet to close: conn, est, fin, pkt, close. The core counts;
 * which connection is where, and in which state, is kept here.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "../base/errors.h"
#include "state.h"

#define DEFAULT_CLIENT UINT32_C(0xac100001) /* 172.16.0.1 */
#define DEFAULT_CLIENT_PORT 40000

static struct connection *find_connection(const struct drive *drive, uint64_t cid)
{
    struct connection *found;

    HASH_FIND(hh, drive->connections, &cid, sizeof(cid), found);
    return found;
}

static bool read_cid(const struct drive *drive, uint64_t *out)
{
    return script_number(&drive->script, 1, "CID", UINT64_MAX, out);
}

/* DST [SRC [SPORT]] */
static bool read_request(const struct drive *drive, struct locus_request *request)
{
    const struct script *script = &drive->script;
    uint64_t port = DEFAULT_CLIENT_PORT;

    *request = (struct locus_request){.src.ipv4 = DEFAULT_CLIENT};
    if (!script_ipv4(script, 2, "DST", &request->dst.ipv4) ||
        (script->count > 3 && !script_ipv4(script, 3, "SRC", &request->src.ipv4)) ||
        (script->count > 4 && !script_number(script, 4, "SPORT", UINT16_MAX, &port))) {
        return false;
    }
    request->src_port = (uint16_t)port;
    return true;
}

/* Notes that the destination has gone to the head of its hash chain. */
static int note_chained(struct drive *drive, uint32_t key)
{
    struct chained *chained;
    bool in_table = true;

    HASH_FIND(hh, drive->chain, &key, sizeof(key), chained);
    if (chained == NULL) {
        chained = calloc(1, sizeof(*chained));
        if (chained == NULL) {
            return drive_failure(drive, LOCUS_ENOMEM);
        }
        chained->key = key;
        HASH_ADD(hh, drive->chain, key, sizeof(chained->key), chained);
        if (!in_table) {
            free(chained);
            return drive_failure(drive, LOCUS_ENOMEM);
        }
    }
    chained->turn = ++drive->turns;
    return EXIT_OK;
}

/* Counts on a connection that the core has bound, and says where. */
static int keep_connection(struct drive *drive, struct connection *connection)
{
    const struct server_id *server;
    struct locus_server_info info;
    bool in_table = true;
    int status = locus_server_get(drive->service, connection->server, &info);

    if (status != LOCUS_OK) {
        return drive_failure(drive, status);
    }
    HASH_ADD(hh, drive->connections, cid, sizeof(connection->cid), connection);
    if (!in_table) {
        return drive_failure(drive, LOCUS_ENOMEM);
    }
    server = drive_find_id(drive, (uint32_t)info.tag);
    connection->in_only = server != NULL && server->forward != FORWARD_MASQ;
    fprintf(drive->out, "%" PRIu64 " %" PRIu64 "\n", connection->cid, info.tag);
    return EXIT_OK;
}

static int connect_request(struct drive *drive, struct connection *connection,
                           const struct locus_request *request)
{
    struct locus_pick pick;
    int code;

    /* A TCP connection is active at once, by its own first SYN. */
    connection->tcp = tcp_next(TCP_NONE, TCP_IN, TCP_SYN);
    connection->state =
        drive->proto == PROTO_TCP_STATES ? LOCUS_ACTIVE : LOCUS_INACTIVE;
    int status = locus_connect(drive->service, request, jiffy_clock_core(&drive->clock),
                               connection->state, &pick);
    if (status != LOCUS_OK && status != LOCUS_ENOSERVER) {
        free(connection);
        return drive_failure(drive, status);
    }
    if (pick.why & (LOCUS_WHY_NEW | LOCUS_WHY_MOVED)) {
        code = note_chained(drive, request->dst.ipv4);
        if (code != EXIT_OK) {
            free(connection);
            return code;
        }
    }
    if (status == LOCUS_ENOSERVER) {
        fprintf(drive->out, "%" PRIu64 " -\n", connection->cid);
        free(connection);
        return EXIT_OK;
    }
    connection->server = pick.server;
    code = keep_connection(drive, connection);
    if (code != EXIT_OK) {
        free(connection);
    }
    return code;
}

int event_conn(struct drive *drive)
{
    struct connection *connection;
    struct locus_request request;
    uint64_t cid;

    if (!read_cid(drive, &cid) || !read_request(drive, &request)) {
        return EXIT_USAGE;
    }
    if (find_connection(drive, cid) != NULL) {
        return script_expected(&drive->script, 1, "CID", "one that is not open");
    }
    connection = calloc(1, sizeof(*connection));
    if (connection == NULL) {
        return drive_failure(drive, LOCUS_ENOMEM);
    }
    connection->cid = cid;
    return connect_request(drive, connection, &request);
}

static int move_connection(struct drive *drive, struct connection *connection,
                           enum locus_conn_state state)
{
    enum locus_conn_state from = connection->state;
    int status;

    if (state == from) {
        return EXIT_OK;
    }
    status = locus_conn_move(drive->service, connection->server, from, state);
    if (status != LOCUS_OK) {
        return drive_failure(drive, status);
    }
    connection->state = state;
    return EXIT_OK;
}

static int receive(struct drive *drive, struct connection *connection, bool from_client,
                   enum tcp_packet packet)
{
    enum tcp_direction direction = TCP_OUT;

    if (from_client) {
        direction = connection->in_only ? TCP_IN_ONLY : TCP_IN;
    } else {
        connection->in_only = false;
    }
    connection->tcp = tcp_next(connection->tcp, direction, packet);
    return move_connection(drive, connection,
                           tcp_active(connection->tcp) ? LOCUS_ACTIVE : LOCUS_INACTIVE);
}

/* est and fin: what they are depends on the protocol. */
static int change_connection(struct drive *drive, enum tcp_packet packet,
                             enum locus_conn_state state)
{
    struct connection *connection;
    uint64_t cid;

    if (!read_cid(drive, &cid)) {
        return EXIT_USAGE;
    }
    connection = find_connection(drive, cid);
    if (connection == NULL || drive->proto == PROTO_UDP_INACTIVE) {
        return EXIT_OK;
    }
    if (drive->proto == PROTO_MANUAL) {
        return move_connection(drive, connection, state);
    }
    return receive(drive, connection, true, packet);
}

int event_est(struct drive *drive)
{
    return change_connection(drive, TCP_ACK, LOCUS_ACTIVE);
}

int event_fin(struct drive *drive)
{
    return change_connection(drive, TCP_FIN, LOCUS_INACTIVE);
}

int event_pkt(struct drive *drive)
{
    static const char *const directions[] = {"in", "out", NULL};
    static const char *const packets[] = {
        [TCP_SYN] = "syn", [TCP_FIN] = "fin",    [TCP_ACK] = "ack",
        [TCP_RST] = "rst", [TCP_PACKETS] = NULL,
    };
    struct connection *connection;
    uint64_t cid;
    int direction, packet;

    if (!read_cid(drive, &cid) ||
        !script_choice(&drive->script, 2, "direction", directions, &direction) ||
        !script_choice(&drive->script, 3, "packet", packets, &packet)) {
        return EXIT_USAGE;
    }
    connection = find_connection(drive, cid);
    if (connection == NULL || drive->proto != PROTO_TCP_STATES) {
        return EXIT_OK;
    }
    return receive(drive, connection, direction == 0, (enum tcp_packet)packet);
}

int event_close(struct drive *drive)
{
    struct connection *connection;
    uint64_t cid;
    int status;

    if (!read_cid(drive, &cid)) {
        return EXIT_USAGE;
    }
    connection = find_connection(drive, cid);
    if (connection == NULL) {
        return EXIT_OK;
    }
    status = locus_conn_unbind(drive->service, connection->server, connection->state);
    HASH_DEL(drive->connections, connection);
    free(connection);
    return status == LOCUS_OK ? EXIT_OK : drive_failure(drive, status);
}
