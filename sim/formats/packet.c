/* SPDX-License-Identifier: MIT */
/*
 * Link layers: Ethernet with any number of VLAN tags, PPPoE, Linux cooked (both), BSD
 * loopback, bare IP. Then IPv4 or IPv6 with its extension headers, then TCP, UDP, SCTP;
 * anything else over IP has ports 0.
 */
#include "packet.h"

enum { /* link types, as in the capture file's header */
       LINK_NULL = 0,
       LINK_ETHERNET = 1,
       LINK_RAW_BSD = 12,
       LINK_RAW_OPENBSD = 14,
       LINK_RAW = 101,
       LINK_LOOP = 108,
       LINK_COOKED = 113,
       LINK_IPV4 = 228,
       LINK_IPV6 = 229,
       LINK_COOKED2 = 276,
};

enum {
    ETHER_IPV4 = 0x0800,
    ETHER_IPV6 = 0x86dd,
    ETHER_VLAN = 0x8100,
    ETHER_QINQ = 0x88a8,
    ETHER_QINQ_OLD = 0x9100,
    ETHER_PPPOE = 0x8864,
};

struct bytes {
    const uint8_t *at;
    size_t left;
};

static bool skip(struct bytes *b, size_t count)
{
    if (b->left < count) {
        return false;
    }
    b->at += count;
    b->left -= count;
    return true;
}

static uint16_t read16(const uint8_t *at)
{
    return (uint16_t)(at[0] << 8 | at[1]);
}

static uint32_t read32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

bool packet_link_known(int link)
{
    static const int known[] = {
        LINK_NULL, LINK_ETHERNET, LINK_RAW_BSD, LINK_RAW_OPENBSD, LINK_RAW,
        LINK_LOOP, LINK_COOKED,   LINK_IPV4,    LINK_IPV6,        LINK_COOKED2};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (known[i] == link) {
            return true;
        }
    }
    return false;
}

/* Behind an EtherType at the start of b, tags and all; b then begins with the IP header. */
static enum packet_status skip_tags(struct bytes *b)
{
    for (;;) {
        if (b->left < 2) {
            return PACKET_SHORT;
        }
        uint16_t type = read16(b->at);
        skip(b, 2);
        if (type == ETHER_IPV4 || type == ETHER_IPV6) {
            return PACKET_OK;
        }
        if (type == ETHER_VLAN || type == ETHER_QINQ || type == ETHER_QINQ_OLD) {
            if (!skip(b, 2)) {
                return PACKET_SHORT;
            }
            continue;
        }
        if (type != ETHER_PPPOE) {
            return PACKET_OTHER;
        }
        /* Version, code, session, length; then PPP's own protocol number. */
        if (b->left < 8) {
            return PACKET_SHORT;
        }
        uint16_t ppp = read16(b->at + 6);
        skip(b, 8);
        return ppp == 0x0021 || ppp == 0x0057 ? PACKET_OK : PACKET_OTHER;
    }
}

static enum packet_status skip_link(int link, struct bytes *b)
{
    switch (link) {
    case LINK_ETHERNET:
        return skip(b, 12) ? skip_tags(b) : PACKET_SHORT;
    case LINK_COOKED:
        return skip(b, 14) ? skip_tags(b) : PACKET_SHORT;
    case LINK_COOKED2: {
        if (b->left < 20) {
            return PACKET_SHORT;
        }
        uint16_t type = read16(b->at);
        skip(b, 20);
        return type == ETHER_IPV4 || type == ETHER_IPV6 ? PACKET_OK : PACKET_OTHER;
    }
    case LINK_NULL:
    case LINK_LOOP:
        return skip(b, 4) ? PACKET_OK : PACKET_SHORT;
    default:
        return PACKET_OK;
    }
}

/* Ports, TCP flags and what follows; length is what IP says is behind its header. */
static enum packet_status parse_transport(struct bytes b, size_t length,
                                          struct packet *out)
{
    size_t header = 8;

    if (out->proto != PROTO_TCP && out->proto != PROTO_UDP && out->proto != 132) {
        out->payload_bytes = (uint32_t)length;
        return PACKET_OK;
    }
    if (b.left < (out->proto == PROTO_TCP ? 14 : 4)) {
        return PACKET_SHORT;
    }
    out->from.port = read16(b.at);
    out->to.port = read16(b.at + 2);
    if (out->proto == PROTO_TCP) {
        header = (size_t)(b.at[12] >> 4) * 4;
        out->tcp_flags = b.at[13];
        if (header < 20) {
            return PACKET_MALFORMED;
        }
    }
    out->payload_bytes = length > header ? (uint32_t)(length - header) : 0;
    return PACKET_OK;
}

static enum packet_status parse_ipv4(struct bytes b, struct packet *out)
{
    if (b.left < 20) {
        return PACKET_SHORT;
    }
    size_t header = (size_t)(b.at[0] & 15) * 4;
    size_t total = read16(b.at + 2);
    if (total == 0) { /* left to the network card to fill in */
        total = b.left;
    }
    if (header < 20 || total < header) {
        return PACKET_MALFORMED;
    }
    out->proto = b.at[9];
    out->from.family = out->to.family = LOCUS_IPV4;
    out->from.address.ipv4 = read32(b.at + 12);
    out->to.address.ipv4 = read32(b.at + 16);
    if ((read16(b.at + 6) & 0x1fff) != 0) {
        return PACKET_OTHER;
    }
    return skip(&b, header) ? parse_transport(b, total - header, out) : PACKET_SHORT;
}

/* True for an extension header that has its length in its second byte. */
static bool extension(uint8_t next)
{
    return next == 0 || next == 43 || next == 60 || next == 135 || next == 139 ||
           next == 140 || next == 51;
}

static enum packet_status parse_ipv6(struct bytes b, struct packet *out)
{
    if (b.left < 40) {
        return PACKET_SHORT;
    }
    uint8_t next = b.at[6];
    size_t length = read16(b.at + 4);
    out->from.family = out->to.family = LOCUS_IPV6;
    memcpy(out->from.address.bytes, b.at + 8, 16);
    memcpy(out->to.address.bytes, b.at + 24, 16);
    skip(&b, 40);
    while (extension(next) || next == 44) {
        if (b.left < 8) {
            return PACKET_SHORT;
        }
        size_t size = next == 44   ? 8
                      : next == 51 ? ((size_t)b.at[1] + 2) * 4
                                   : ((size_t)b.at[1] + 1) * 8;
        if (next == 44 && (read16(b.at + 2) & 0xfff8) != 0) {
            return PACKET_OTHER;
        }
        if (length < size) {
            return PACKET_MALFORMED;
        }
        next = b.at[0];
        length -= size;
        if (!skip(&b, size)) {
            return PACKET_SHORT;
        }
    }
    out->proto = next;
    return parse_transport(b, length, out);
}

enum packet_status packet_parse(int link, const uint8_t *frame, size_t length,
                                struct packet *out)
{
    struct bytes b = {frame, length};

    memset(out, 0, sizeof(*out));
    enum packet_status status = skip_link(link, &b);
    if (status != PACKET_OK) {
        return status;
    }
    if (b.left == 0) {
        return PACKET_SHORT;
    }
    switch (b.at[0] >> 4) {
    case 4:
        return parse_ipv4(b, out);
    case 6:
        return parse_ipv6(b, out);
    default:
        return PACKET_OTHER;
    }
}
