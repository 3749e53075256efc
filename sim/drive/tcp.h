/* SPDX-License-Identifier: MIT */
/*
 * TCP as IPVS follows it: which state a packet leads to, and which states count a
 * connection as active.
 */
#ifndef LOCUS_SIM_DRIVE_TCP_H
#define LOCUS_SIM_DRIVE_TCP_H

#include <stdbool.h>

enum tcp_state {
    TCP_NONE,
    TCP_ESTABLISHED,
    TCP_SYN_SENT,
    TCP_SYN_RECV,
    TCP_FIN_WAIT,
    TCP_TIME_WAIT,
    TCP_CLOSE,
    TCP_CLOSE_WAIT,
    TCP_LAST_ACK,
    TCP_LISTEN,
    TCP_SYNACK,
    TCP_STATES,
};

enum tcp_packet { TCP_SYN, TCP_FIN, TCP_ACK, TCP_RST, TCP_PACKETS };

/* Where the packet comes from; TCP_IN_ONLY: from the client, when the director sees
 * nothing of what the server answers (direct routing, tunnels). */
enum tcp_direction { TCP_IN, TCP_OUT, TCP_IN_ONLY, TCP_DIRECTIONS };

enum tcp_state tcp_next(enum tcp_state state, enum tcp_direction direction,
                        enum tcp_packet packet);
bool tcp_active(enum tcp_state state);

#endif
