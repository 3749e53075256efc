/* SPDX-License-Identifier: MIT */
#include "tcp.h"

/* Short names, so that a row of the table is a line. */
enum {
    NONE = TCP_NONE,
    EST = TCP_ESTABLISHED,
    SYNS = TCP_SYN_SENT,
    SYNR = TCP_SYN_RECV,
    FINW = TCP_FIN_WAIT,
    TIMW = TCP_TIME_WAIT,
    CLOS = TCP_CLOSE,
    CLOW = TCP_CLOSE_WAIT,
    LACK = TCP_LAST_ACK,
    LIST = TCP_LISTEN,
    SYNA = TCP_SYNACK,
};

/* [where from][state] = the next state on SYN, FIN, ACK, RST */
/* clang-format off */
static const unsigned char next_state[TCP_DIRECTIONS][TCP_STATES][TCP_PACKETS] = {
    [TCP_IN] = {
        [NONE] = {SYNR, CLOS, EST , CLOS},
        [EST]  = {EST , CLOW, EST , CLOS},
        [SYNS] = {EST , SYNS, SYNS, CLOS},
        [SYNR] = {SYNR, TIMW, EST , SYNR},
        [FINW] = {SYNR, TIMW, FINW, CLOS},
        [TIMW] = {SYNR, TIMW, TIMW, CLOS},
        [CLOS] = {SYNR, CLOS, CLOS, CLOS},
        [CLOW] = {SYNR, CLOW, CLOW, CLOS},
        [LACK] = {SYNR, LACK, CLOS, LACK},
        [LIST] = {SYNR, LIST, LIST, LIST},
        [SYNA] = {SYNR, TIMW, EST , SYNR},
    },
    [TCP_OUT] = {
        [NONE] = {SYNS, TIMW, EST , CLOS},
        [EST]  = {EST , FINW, EST , CLOS},
        [SYNS] = {SYNS, SYNS, SYNS, SYNS},
        [SYNR] = {SYNR, TIMW, EST , CLOS},
        [FINW] = {SYNS, FINW, FINW, CLOS},
        [TIMW] = {SYNS, TIMW, TIMW, TIMW},
        [CLOS] = {SYNS, CLOS, CLOS, CLOS},
        [CLOW] = {SYNS, TIMW, CLOW, CLOS},
        [LACK] = {SYNS, LACK, LACK, CLOS},
        [LIST] = {LIST, LIST, EST , CLOS},
        [SYNA] = {SYNR, TIMW, EST , CLOS},
    },
    [TCP_IN_ONLY] = {
        [NONE] = {SYNR, CLOS, EST , CLOS},
        [EST]  = {EST , FINW, EST , CLOS},
        [SYNS] = {EST , SYNS, SYNS, CLOS},
        [SYNR] = {SYNR, TIMW, EST , SYNR},
        [FINW] = {SYNR, FINW, FINW, CLOS},
        [TIMW] = {SYNR, TIMW, TIMW, CLOS},
        [CLOS] = {SYNR, CLOS, CLOS, CLOS},
        [CLOW] = {SYNR, CLOW, CLOW, CLOS},
        [LACK] = {SYNR, LACK, CLOS, LACK},
        [LIST] = {SYNR, LIST, LIST, LIST},
        [SYNA] = {SYNR, TIMW, EST , CLOS},
    },
};
/* clang-format on */

enum tcp_state tcp_next(enum tcp_state state, enum tcp_direction direction,
                        enum tcp_packet packet)
{
    return (enum tcp_state)next_state[direction][state][packet];
}

bool tcp_active(enum tcp_state state)
{
    return state == TCP_ESTABLISHED || state == TCP_SYN_SENT || state == TCP_SYN_RECV ||
           state == TCP_SYNACK;
}
