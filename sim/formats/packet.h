/* SPDX-License-Identifier: MIT */
/* From a captured frame to addresses, ports and flags, for the pcap reader. */
#ifndef LOCUS_SIM_READERS_PACKET_H
#define LOCUS_SIM_READERS_PACKET_H

#include "flows.h"

enum packet_status {
    PACKET_OK,
    PACKET_OTHER,     /* no IP, or a fragment that is not the first: has no ports */
    PACKET_SHORT,     /* the capture cut it before the ports */
    PACKET_MALFORMED, /* lengths contradict each other */
};

enum tcp_flag { TCP_FIN = 1, TCP_SYN = 2, TCP_RST = 4, TCP_ACK = 16 };

struct packet {
    struct endpoint from, to;
    uint8_t proto;
    uint8_t tcp_flags;
    uint32_t payload_bytes; /* behind the transport header, as sent, not as captured */
};

/* link is a DLT_ number; false when frames of that kind cannot be taken apart. */
bool packet_link_known(int link);
enum packet_status packet_parse(int link, const uint8_t *frame, size_t length,
                                struct packet *out);

#endif
