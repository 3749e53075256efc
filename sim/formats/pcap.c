/* SPDX-License-Identifier: MIT */
/*
 * Captured packets, pcap and pcapng, by libpcap. A connection is a flow between two
 * endpoints: it begins with its first packet, whose sender is the client (the receiver when
 * that packet answers a SYN; for TCP flows that were there before the capture, the side with
 * the port above 1023), and ends with a RST, the second FIN, the next SYN behind either, or
 * silence for as long as IPVS would wait. Bytes are payload from the server. Fragments but
 * the first, and what is not IP, are no records.
 */
#include "formats.h"
#include "packet.h"

#include <stdio.h>

#include "../base/errors.h"

#ifdef HAVE_PCAP
#include <pcap/pcap.h>

enum { CLOSED = 4, FIN_OF_0 = 1 }; /* flow flags; FIN_OF_0 << endpoint */

struct state {
    struct flow_table table;
    uint64_t newest_ns;
};

static uint64_t idle_ns(uint8_t proto)
{
    const uint64_t second = 1000000000;

    return (proto == PROTO_TCP ? 900 : proto == PROTO_UDP ? 300 : 60) * second;
}

static ssize_t stream_read(void *cookie, char *to, size_t size)
{
    size_t got = 0;

    return input_some(cookie, to, size, &got) == INPUT_OK ? (ssize_t)got : -1;
}

/* Who opened it, as seen from its first packet. */
static uint8_t client_of(const struct packet *packet, uint8_t from)
{
    if (packet->proto != PROTO_TCP) {
        return from;
    }
    if (packet->tcp_flags & TCP_SYN) {
        return packet->tcp_flags & TCP_ACK ? 1 - from : from;
    }
    bool from_service = packet->from.port < 1024 && packet->to.port >= 1024;
    return from_service ? 1 - from : from;
}

/* Whether the packet begins another connection between the same endpoints. */
static bool begins_anew(const struct flow *flow, const struct packet *packet,
                        uint64_t now_ns)
{
    bool opens = (packet->tcp_flags & (TCP_SYN | TCP_ACK | TCP_RST)) == TCP_SYN;

    if (now_ns > flow->last_ns && now_ns - flow->last_ns > idle_ns(packet->proto)) {
        return true;
    }
    return packet->proto == PROTO_TCP && opens && flow->flags != 0;
}

static void count_packet(struct flow *flow, const struct packet *packet, uint8_t from,
                         uint64_t now_ns)
{
    flow->seen[from] = true;
    flow->bytes_from[from] += packet->payload_bytes;
    if (flow->flags & CLOSED) { /* the last acknowledgements keep nothing open */
        return;
    }
    flow->first_ns = now_ns < flow->first_ns ? now_ns : flow->first_ns;
    flow->last_ns = now_ns > flow->last_ns ? now_ns : flow->last_ns;
    if (packet->proto != PROTO_TCP) {
        return;
    }
    if (packet->tcp_flags & TCP_FIN) {
        flow->flags |= (uint8_t)(FIN_OF_0 << from);
    }
    if ((packet->tcp_flags & TCP_RST) ||
        (flow->flags & (FIN_OF_0 | FIN_OF_0 << 1)) == (FIN_OF_0 | FIN_OF_0 << 1)) {
        flow->flags |= CLOSED;
    }
}

static int take_packet(struct reader *reader, const struct packet *packet,
                       uint64_t now_ns)
{
    struct state *state = reader->state;
    struct flow_key key;
    int status = 0;

    uint8_t from = flow_key_make(&key, &packet->from, &packet->to, packet->proto);
    struct flow *flow = flow_find(&state->table, &key);
    if (flow != NULL && begins_anew(flow, packet, now_ns)) {
        status = flow_emit(reader, &state->table, flow);
        flow = NULL;
    }
    if (flow == NULL && status == 0) {
        flow = flow_add(reader, &state->table, &key, &status);
        if (flow != NULL) {
            flow->first_ns = flow->last_ns = now_ns;
            flow->client = client_of(packet, from);
        }
    } else if (flow != NULL && !flow_touch(&state->table, flow)) {
        return EXIT_RUNTIME;
    }
    if (flow == NULL) {
        return status;
    }
    count_packet(flow, packet, from, now_ns);
    return 0;
}

/* What has been silent for the longest time-out goes out, so that open flows are bounded by
 * what is open. */
static int expire(struct reader *reader, uint64_t now_ns)
{
    struct state *state = reader->state;
    uint64_t longest_ns = idle_ns(PROTO_TCP);

    if (now_ns <= state->newest_ns) {
        return 0;
    }
    state->newest_ns = now_ns;
    return now_ns <= longest_ns
               ? 0
               : flow_flush(reader, &state->table, now_ns - longest_ns);
}

static int take_frame(struct reader *reader, int link, const struct pcap_pkthdr *header,
                      const uint8_t *frame)
{
    static const struct slice cut = {"a part of them", 14};
    struct packet packet;
    uint64_t now_ns;

    reader->line_number++;
    if (header->ts.tv_sec < 0 || header->ts.tv_sec >= INT64_MAX / 1000000000 ||
        header->ts.tv_usec < 0) {
        return reader_bad(reader, "packet time is out of range", "time", "after 1970",
                          (struct slice){"", 0});
    }
    now_ns = (uint64_t)header->ts.tv_sec * 1000000000 + (uint64_t)header->ts.tv_usec;
    switch (packet_parse(link, frame, header->caplen, &packet)) {
    case PACKET_OTHER:
        reader_other(reader);
        return 0;
    case PACKET_SHORT:
        return reader_bad(reader, "packet is cut before its ports", "packet",
                          "whole headers", cut);
    case PACKET_MALFORMED:
        return reader_bad(reader, "packet's lengths contradict", "packet",
                          "headers that fit", cut);
    case PACKET_OK:
    default:
        break;
    }
    int status = expire(reader, now_ns);
    return status != 0 ? status : take_packet(reader, &packet, now_ns);
}

static int read_packets(struct reader *reader, pcap_t *capture)
{
    const volatile int *stop = reader->options->stop;
    int link = pcap_datalink(capture);
    struct pcap_pkthdr *header;
    const uint8_t *frame;

    if (!packet_link_known(link)) {
        fprintf(stderr, "locus: %s: packets of link type %d cannot be read\n",
                input_name(reader->input), link);
        return EXIT_RUNTIME;
    }
    while (stop == NULL || *stop == 0) {
        int got = pcap_next_ex(capture, &header, &frame);
        if (got == PCAP_ERROR_BREAK) {
            return 0;
        }
        if (got != 1) {
            /* What was captured before the damage still counts. */
            reader->line_number++;
            return reader_bad(reader, "capture is damaged or cut here", "packet",
                              "a whole packet", slice_of(pcap_geterr(capture)));
        }
        int status = take_frame(reader, link, header, frame);
        if (status != 0) {
            return status;
        }
    }
    return 0;
}

static int pcap_read(struct reader *reader)
{
    char why[PCAP_ERRBUF_SIZE] = "";
    cookie_io_functions_t io = {.read = stream_read};

    FILE *stream = fopencookie(reader->input, "rb", io);
    if (stream == NULL) {
        fprintf(stderr, "locus: out of memory\n");
        return EXIT_RUNTIME;
    }
    pcap_t *capture = pcap_fopen_offline_with_tstamp_precision(
        stream, PCAP_TSTAMP_PRECISION_NANO, why);
    if (capture == NULL) {
        fprintf(stderr, "locus: %s: %s\n", input_name(reader->input), why);
        fclose(stream);
        return EXIT_RUNTIME;
    }
    int status = read_packets(reader, capture);
    pcap_close(capture); /* and the stream with it */
    return status;
}

static int pcap_finish(struct reader *reader)
{
    return flow_flush(reader, &((struct state *)reader->state)->table, UINT64_MAX);
}

static void pcap_stop(struct reader *reader)
{
    flow_table_free(&((struct state *)reader->state)->table);
}
#else
struct state {
    int unused;
};

static int pcap_read(struct reader *reader)
{
    fprintf(stderr, "locus: %s: this locus was built without libpcap\n",
            input_name(reader->input));
    return EXIT_RUNTIME;
}
#define pcap_finish NULL
#define pcap_stop NULL
#endif

static bool certain(struct slice head)
{
    static const uint32_t magics[] = {0xa1b2c3d4, 0xa1b23c4d, 0xd4c3b2a1, 0x4d3cb2a1,
                                      0x0a0d0d0a};
    uint32_t magic;

    if (head.length < 24) {
        return false;
    }
    memcpy(&magic, head.text, 4);
    for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++) {
        if (magic == magics[i]) {
            return true;
        }
    }
    return false;
}

const struct format format_pcap = {
    .name = "pcap",
    .about = "pcap and pcapng captures; destination: who was asked",
    .key = KEY_DST,
    .keys = 1u << KEY_DST | 1u << KEY_CLIENT,
    .state_size = sizeof(struct state),
    .read = pcap_read,
    .finish = pcap_finish,
    .stop = pcap_stop,
    .certain = certain,
};
