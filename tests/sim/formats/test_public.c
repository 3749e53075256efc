/* SPDX-License-Identifier: MIT */
/*
 * The public traces, when their folder is at hand: counts of records, destinations, clients
 * and shares of the most frequent ones as published with them; and what becomes of each odd
 * line, decided one by one.
 */
#include "../suite.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../trace/trace_text.h"
#include "records/keyset.h"

static const char *folder;

struct public_case {
    const char *file;
    enum trace_key key;
    const char *formats;
    uint64_t records, bad;
    uint64_t destinations, clients; /* 0: not published */
    unsigned top1, top10;           /* tenths of a percent; 0: not published */
};

static const struct public_case cases[] = {
    {"squid/access-2020-03.log.gz", KEY_HOST, "squid", 1247, 0, 76, 1, 209, 767},
    {"squid/access-2020-03.log.gz", KEY_AUTO, "squid", 1247, 0, 115, 1, 198, 654},
    {"squid/access-2007-12-squidview.log.gz", KEY_HOST, "squid", 94, 0, 16, 1, 351,
     936},
    /* 15 peers, and the hosts of the two requests that had none. */
    {"squid/access-2007-12-squidview.log.gz", KEY_AUTO, "squid", 94, 0, 17, 1, 0, 0},
    {"zeek/conn-lab-16h.log.gz", KEY_AUTO, "zeek-tsv", 7260, 0, 772, 22, 223, 691},
    {"zeek/conn-scanned-host-3days.log.gz", KEY_AUTO, "zeek-tsv", 105918, 0, 876, 14991,
     946, 986},
    {"zeek/conn-scanned-host-3days.log.gz", KEY_CLIENT, "zeek-tsv", 105918, 0, 14991,
     14991, 153, 304},
    {"zeek/conn-2013.log.gz", KEY_AUTO, "zeek-tsv", 360, 0, 245, 22, 114, 317},
    {"zeek/conn-json.log.gz", KEY_AUTO, "zeek-json", 50, 0, 4, 1, 920, 0},
    {"web/nasa-http-1995-08-01.tsv.gz", KEY_AUTO, "csv", 30969, 0, 2088, 2365, 69, 438},
    {"web/nasa-http-1995-08-01.tsv.gz", KEY_CLIENT, "csv", 30969, 0, 2365, 2365, 12,
     66},
    {"web/apache-combined-2015.log.gz", KEY_AUTO, "weblog", 10000, 0, 1498, 1753, 81,
     425},
    {"web/apache-combined-2015.log.gz", KEY_CLIENT, "weblog", 10000, 0, 1753, 1753, 48,
     204},
    {"flow/ctu-argus-24h.binetflow.gz", KEY_AUTO, "binetflow", 6751, 0, 496, 5, 392,
     565},
    {"flow/suricata-eve-flow.json.gz", KEY_AUTO, "eve", 3512, 0, 10, 954, 786, 0},
    {"flow/suricata-eve-flow.json.gz", KEY_CLIENT, "eve", 3512, 0, 954, 954, 214, 0},
    {"cdn/cloudPhysicsIO.csv.zst", KEY_AUTO, "libcachesim", 113872, 0, 48974, 0, 14,
     61},
    {"cdn/cloudPhysicsIO.oracleGeneral.bin.zst", KEY_AUTO, "oraclegeneral", 113872, 0,
     48974, 0, 14, 61},
    {"cdn/adaptsize-request.trace.zst", KEY_AUTO, "objects", 66987, 0, 36815, 0, 15,
     77},
    {"cdn/webcachesim-test.tr.zst", KEY_AUTO, "objects", 10492, 0, 960, 0, 97, 308},
    {"cdn/tectonic-blocks-1.csv.gz", KEY_AUTO, "libcachesim", 999, 0, 625, 446, 8, 61},
    {"odd/squid.txt", KEY_AUTO, "squid", 11, 8, 11, 0, 0, 0},
    {"odd/weblog.txt", KEY_AUTO, "weblog", 4, 8, 4, 0, 0, 0},
    {"odd/haproxy.txt", KEY_AUTO, "haproxy", 4, 3, 3, 0, 0, 0},
    {"odd/zeek.txt", KEY_AUTO, "zeek-tsv", 4, 4, 4, 0, 0, 0},
    {"odd/netflow.txt", KEY_AUTO, "binetflow", 3, 4, 3, 0, 0, 0},
    {"odd/cachetrace.txt", KEY_AUTO, "libcachesim", 1, 5, 1, 0, 0, 0},
    {"odd/truncated.log", KEY_AUTO, "zeek-tsv", 58, 1, 8, 0, 0, 0},
    {"odd/truncated-json.log", KEY_AUTO, "zeek-json", 2, 2, 2, 0, 0, 0},
#ifdef HAVE_PCAP
    /* Published: 760 pairs of endpoints. 14 of them are used again after a FIN or RST, 15
     * after the time-out; the first packet is cut to 4 bytes. */
    {"pcap/ndpi-gnutella-hdr.pcap.gz", KEY_AUTO, "pcap", 760 + 14 + 15, 1, 518, 0, 0,
     0},
    /* 321 pairs, one of them again after the time-out. */
    {"pcap/slips-test7-hdr.pcap.gz", KEY_AUTO, "pcap", 321 + 1, 0, 287, 0, 0, 0},
    {"pcap/ndpi-quic_interop_V.pcapng.gz", KEY_AUTO, "pcap", 77, 0, 23, 0, 0, 0},
    {"odd/cut-mid-record-slips7.pcap", KEY_AUTO, "pcap", 38, 1, 15, 0, 0, 0},
#endif
};

static int most_first(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return x < y ? 1 : x > y ? -1 : 0;
}

static void count_top(struct trace *trace, uint64_t *top1, uint64_t *top10)
{
    uint64_t *counts = calloc(200000, sizeof(*counts));
    struct keyset keys;
    struct record r;

    keyset_init(&keys);
    while (trace_next(trace, &r, 1) == 1) {
        counts[keyset_add(&keys, r.dst_family, &r.dst, (struct slice){NULL, 0})]++;
    }
    qsort(counts, keys.count, sizeof(*counts), most_first);
    *top1 = counts[0];
    *top10 = 0;
    for (int i = 0; i < 10; i++) {
        *top10 += counts[i];
    }
    keyset_free(&keys);
    free(counts);
}

static unsigned per_mille(uint64_t part, uint64_t whole)
{
    return (unsigned)((part * 2000 + whole) / (2 * whole));
}

START_TEST(public_traces_hold_what_was_published)
{
    const struct public_case *c = &cases[_i];
    struct trace_options options = {.key = c->key, .max_bad = UINT64_MAX};
    struct trace *trace;
    char path[1024];
    char *paths[] = {path};
    uint64_t top1;
    uint64_t top10;

    snprintf(path, sizeof(path), "%s/%s", folder, c->file);
    ck_assert_msg(trace_open(&options, paths, 1, &trace) == 0, "%s", c->file);
    const struct trace_summary *s = trace_summary(trace);
    ck_assert_msg(strcmp(s->formats, c->formats) == 0, "%s: %s", c->file, s->formats);
    ck_assert_msg(s->records == c->records && s->bad == c->bad,
                  "%s: %" PRIu64 ", %" PRIu64, c->file, s->records, s->bad);
    ck_assert_msg(s->destinations == c->destinations, "%s: %" PRIu64, c->file,
                  s->destinations);
    ck_assert_msg(c->clients == 0 || s->clients == c->clients, "%s: %" PRIu64, c->file,
                  s->clients);
    count_top(trace, &top1, &top10);
    ck_assert_msg(c->top1 == 0 || per_mille(top1, s->records) == c->top1, "%s: %u",
                  c->file, per_mille(top1, s->records));
    ck_assert_msg(c->top10 == 0 || per_mille(top10, s->records) == c->top10, "%s: %u",
                  c->file, per_mille(top10, s->records));
    trace_close(trace);
}
END_TEST

enum { NO_DURATION = -1 };

/* A line by itself, with the header that it was written under where the file lacks it. */
struct odd_case {
    const char *file;
    int line;
    const char *format;
    const char *front;   /* what stands before it, or NULL */
    const char *columns; /* for csv */
    enum trace_key key;
    const char *reason; /* why it is bad; NULL: it is read, as follows */
    int64_t duration_ms;
    uint8_t proto, family;
};

#define ZEEK                                                                         \
    "#fields\tts\tuid\tid.orig_h\tid.orig_p\tid.resp_h\tid.resp_p\tproto\tservice\t" \
    "duration\torig_bytes\tresp_bytes\tconn_state\tlocal_orig\tlocal_resp\t"         \
    "missed_bytes\thistory\torig_pkts\torig_ip_bytes\tresp_pkts\tresp_ip_bytes\t"    \
    "tunnel_parents\n"
#define ZEEK_NODE                                                                     \
    "#fields\t_node_name\tts\tuid\tid.orig_h\tid.orig_p\tid.resp_h\tid.resp_"         \
    "p\tproto\t"                                                                      \
    "service\tduration\torig_bytes\tresp_bytes\tconn_state\tlocal_orig\tlocal_resp\t" \
    "missed_bytes\thistory\torig_pkts\torig_ip_bytes\tresp_pkts\tresp_ip_bytes\t"     \
    "tunnel_parents\n"
#define ARGUS_16                                                                   \
    "StartTime,Dur,Proto,SrcAddr,Sport,Dir,DstAddr,Dport,State,sTos,dTos,TotPkts," \
    "TotBytes,SrcBytes,SrcPkts,Label\n"
#define ARGUS_15                                                                   \
    "StartTime,Dur,Proto,SrcAddr,Sport,Dir,DstAddr,Dport,State,sTos,dTos,TotPkts," \
    "TotBytes,SrcBytes,Label\n"
#define ARGUS_TABS                                                                    \
    "StartTime\tDur\tProto\tSrcAddr\tSport\tDir\tDstAddr\tDport\tState\tsTos\tdTos\t" \
    "TotPkts\tTotBytes\tSrcBytes\tSrcPkts\tLabel\n"

#define READ(duration_ms, proto, family) NULL, duration_ms, proto, family
#define BAD(reason) reason, 0, 0, 0

static const struct odd_case odd[] = {
    /* TLS on the plain port: nobody to send it to; as load by client it counts. */
    {"squid", 1, "squid", NULL, NULL, KEY_AUTO, BAD("request names no destination")},
    {"squid", 1, "squid", NULL, NULL, KEY_CLIENT, READ(0, 6, LOCUS_IPV4)},
    /* No method, which nobody needs; no peer, but a URL. */
    {"squid", 2, "squid", NULL, NULL, KEY_AUTO, READ(120355, 6, LOCUS_NAME)},
    {"squid", 3, "squid", NULL, NULL, KEY_AUTO, READ(45, 6, LOCUS_IPV4)},
    /* Broken within the user's name: the peer is on the other line. */
    {"squid", 4, "squid", NULL, NULL, KEY_AUTO, BAD("line is cut short")},
    {"squid", 5, "squid", NULL, NULL, KEY_AUTO, READ(39, 6, LOCUS_IPV4)},
    {"squid", 6, "squid", NULL, NULL, KEY_AUTO, READ(1, 6, LOCUS_NAME)},
    /* Caches asking each other: read, as the UDP that it is. */
    {"squid", 7, "squid", NULL, NULL, KEY_AUTO, READ(0, 17, LOCUS_NAME)},
    {"squid", 8, "squid", NULL, NULL, KEY_AUTO, READ(304, 6, LOCUS_IPV6)},
    {"squid", 9, "squid", NULL, NULL, KEY_AUTO, BAD("request names no destination")},
    {"squid", 10, "squid", NULL, NULL, KEY_AUTO, READ(59376, 6, LOCUS_IPV4)},
    {"squid", 11, "squid", NULL, NULL, KEY_AUTO, BAD("request names no destination")},
    {"squid", 11, "squid", NULL, NULL, KEY_CLIENT, READ(0, 6, LOCUS_IPV6)},
    {"squid", 12, "squid", NULL, NULL, KEY_AUTO, READ(50824, 6, LOCUS_IPV4)},
    {"squid", 13, "squid", NULL, NULL, KEY_AUTO, READ(0, 6, LOCUS_NAME)},
    {"squid", 14, "squid", NULL, NULL, KEY_AUTO, READ(2828, 6, LOCUS_IPV4)},
    {"squid", 15, "squid", NULL, NULL, KEY_AUTO, READ(1226, 6, LOCUS_NAME)},
    /* Another log's format. */
    {"squid", 16, "squid", NULL, NULL, KEY_AUTO,
     BAD("line does not begin with a time stamp")},
    {"squid", 17, "squid", NULL, NULL, KEY_AUTO,
     BAD("line does not begin with a time stamp")},
    /* The clock was set back meanwhile: neither start nor end is known. */
    {"squid", 18, "squid", NULL, NULL, KEY_AUTO, BAD("elapsed time is negative")},
    {"squid", 19, "squid", NULL, NULL, KEY_AUTO, BAD("line is cut short")},

    {"weblog", 1, "weblog", NULL, NULL, KEY_AUTO, READ(NO_DURATION, 6, LOCUS_NAME)},
    /* A connection without a request has no URL; as load by client it counts. */
    {"weblog", 2, "weblog", NULL, NULL, KEY_AUTO, BAD("no request was made")},
    {"weblog", 2, "weblog", NULL, NULL, KEY_CLIENT, READ(NO_DURATION, 6, LOCUS_IPV4)},
    {"weblog", 3, "weblog", NULL, NULL, KEY_AUTO, BAD("no time in brackets")},
    {"weblog", 4, "weblog", NULL, NULL, KEY_AUTO, BAD("request is no HTTP")},
    {"weblog", 5, "weblog", NULL, NULL, KEY_AUTO, BAD("no request was made")},
    {"weblog", 6, "weblog", NULL, NULL, KEY_AUTO, BAD("no request was made")},
    {"weblog", 6, "weblog", NULL, NULL, KEY_CLIENT, READ(NO_DURATION, 6, LOCUS_IPV4)},
    {"weblog", 7, "weblog", NULL, NULL, KEY_AUTO, BAD("no request was made")},
    {"weblog", 8, "weblog", NULL, NULL, KEY_AUTO, READ(NO_DURATION, 6, LOCUS_NAME)},
    {"weblog", 9, "weblog", NULL, NULL, KEY_AUTO, READ(NO_DURATION, 6, LOCUS_NAME)},
    /* Half an IPv6 address is neither an address nor a name. */
    {"weblog", 10, "weblog", NULL, NULL, KEY_AUTO, BAD("client is no address")},
    {"weblog", 11, "weblog", NULL, NULL, KEY_AUTO, BAD("no time in brackets")},
    {"weblog", 12, "weblog", NULL, NULL, KEY_AUTO, READ(NO_DURATION, 6, LOCUS_NAME)},

    {"haproxy", 1, "haproxy", NULL, NULL, KEY_AUTO, READ(5007, 6, LOCUS_NAME)},
    {"haproxy", 2, "haproxy", NULL, NULL, KEY_AUTO, READ(109, 6, LOCUS_NAME)},
    {"haproxy", 3, "haproxy", NULL, NULL, KEY_AUTO, BAD("error line, no connection")},
    /* "+30": still going on, so that its duration is not known. */
    {"haproxy", 4, "haproxy", NULL, NULL, KEY_AUTO, READ(NO_DURATION, 6, LOCUS_NAME)},
    {"haproxy", 5, "haproxy", NULL, NULL, KEY_AUTO, BAD("no server was chosen")},
    /* Never connected, but it was this server's turn: an arrival like any other. */
    {"haproxy", 6, "haproxy", NULL, NULL, KEY_AUTO, READ(11215, 6, LOCUS_NAME)},
    {"haproxy", 7, "haproxy", NULL, NULL, KEY_AUTO, BAD("no server was chosen")},

    {"zeek", 5, "zeek-tsv", ZEEK, NULL, KEY_AUTO, READ(7, 17, LOCUS_IPV6)},
    {"zeek", 11, "zeek-tsv", ZEEK_NODE, NULL, KEY_AUTO,
     READ(NO_DURATION, 17, LOCUS_IPV4)},
    /* As it stands in the file, where the new header lacks its #fields. */
    {"zeek", 11, "zeek-tsv", ZEEK "#close\tx\n", NULL, KEY_AUTO,
     BAD("record without a #fields line before it")},
    {"zeek", 11, "zeek-tsv", ZEEK, NULL, KEY_AUTO, BAD("more columns than #fields")},
    {"zeek", 12, "zeek-tsv", ZEEK_NODE, NULL, KEY_AUTO,
     READ(NO_DURATION, 17, LOCUS_IPV4)},
    {"zeek", 17, "zeek-tsv", ZEEK, NULL, KEY_AUTO, READ(NO_DURATION, 6, LOCUS_IPV4)},
    {"zeek", 18, "zeek-tsv", ZEEK, NULL, KEY_AUTO, READ(10, 17, LOCUS_IPV4)},
    {"zeek", 19, "zeek-tsv", ZEEK, NULL, KEY_AUTO, READ(96, 17, LOCUS_IPV6)},
    {"zeek", 20, "zeek-tsv", ZEEK, NULL, KEY_AUTO, BAD("fewer columns than #fields")},
    {"zeek", 21, "zeek-tsv", ZEEK, NULL, KEY_AUTO, BAD("fewer columns than #fields")},

    /* Direction unknown: read as it is written. */
    {"netflow", 2, "binetflow", ARGUS_16, NULL, KEY_AUTO, READ(2696, 6, LOCUS_IPV4)},
    {"netflow", 3, "binetflow", ARGUS_16, NULL, KEY_AUTO, READ(0, 1, LOCUS_IPV4)},
    {"netflow", 5, "binetflow", ARGUS_15, NULL, KEY_AUTO, READ(2996, 1, LOCUS_IPV4)},
    {"netflow", 6, "binetflow", ARGUS_TABS, NULL, KEY_AUTO,
     BAD("management record, no connection")},
    {"netflow", 7, "binetflow", ARGUS_TABS, NULL, KEY_AUTO, BAD("not IP traffic")},
    {"netflow", 8, "binetflow", ARGUS_16, NULL, KEY_AUTO, READ(891366, 2, LOCUS_IPV4)},
    /* As it stands in the file, under a header of 15 columns. */
    {"netflow", 8, "binetflow", ARGUS_15, NULL, KEY_AUTO,
     BAD("row has too many columns")},
    {"netflow", 9, "binetflow", ARGUS_TABS, NULL, KEY_AUTO, READ(458, 6, LOCUS_IPV4)},

    {"cachetrace", 2, "libcachesim", "version,time,op,size,lbn\n", NULL, KEY_AUTO,
     READ(NO_DURATION, 6, LOCUS_NAME)},
    {"cachetrace", 3, "csv", NULL, "time=1,object=2,bytes=4,client=10", KEY_AUTO,
     READ(NO_DURATION, 6, LOCUS_NAME)},
    /* Three requests in one line; it is read as one, whose size is what they moved. */
    {"cachetrace", 4, "csv", NULL, "time=1,object=2,bytes=6", KEY_AUTO,
     READ(NO_DURATION, 6, LOCUS_NAME)},
    {"cachetrace", 5, "objects", NULL, NULL, KEY_AUTO,
     READ(NO_DURATION, 6, LOCUS_NAME)},
    {"cachetrace", 6, "csv", NULL, "time=1,duration=2,object=5,bytes=6", KEY_AUTO,
     READ(0, 6, LOCUS_NAME)},
    {"cachetrace", 7, "csv", NULL, "time=1,client=2,object=6,bytes=10", KEY_AUTO,
     READ(NO_DURATION, 6, LOCUS_NAME)},
};

static size_t odd_line(const char *file, int number, char *out, size_t size)
{
    char path[1024];

    snprintf(path, sizeof(path), "%s/odd/%s.txt", folder, file);
    FILE *f = fopen(path, "r");
    ck_assert_ptr_nonnull(f);
    for (int at = 1; at <= number; at++) {
        ck_assert_ptr_nonnull(fgets(out, (int)size, f));
    }
    fclose(f);
    return strlen(out);
}

START_TEST(odd_lines_are_read_right_or_bad_for_a_named_reason)
{
    const struct odd_case *c = &odd[_i];
    struct trace_options options = {.format = c->format,
                                    .columns = c->columns,
                                    .key = c->key,
                                    .max_bad = UINT64_MAX};
    struct trace *trace;
    struct record r = {0};
    const char *before = c->front == NULL ? "" : c->front;
    char text[8192];

    size_t front = strlen(before);
    memcpy(text, before, front);
    size_t length =
        front + odd_line(c->file, c->line, text + front, sizeof(text) - front);
    int status = open_text(&options, text, length, &trace);
    ck_assert_ptr_nonnull(trace);
    const struct trace_summary *s = trace_summary(trace);
    if (c->reason != NULL) {
        ck_assert_int_eq(status, 3);
        ck_assert_uint_eq(s->bad, 1);
        ck_assert_msg(strcmp(s->reasons[0].reason, c->reason) == 0, "%s:%d: %s",
                      c->file, c->line, s->reasons[0].reason);
        ck_assert_ptr_nonnull(strstr(s->examples[0], front > 0 ? ":" : ":1: "));
    } else {
        ck_assert_msg(status == 0 && s->bad == 0 && s->records == 1, "%s:%d: %s",
                      c->file, c->line,
                      s->bad > 0 ? s->reasons[0].reason : "no record");
        ck_assert_int_eq(trace_next(trace, &r, 1), 1);
        bool timed = r.flags & RECORD_HAS_DURATION;
        int64_t duration_ms = timed ? (int64_t)(r.duration_ns / 1000000) : NO_DURATION;
        ck_assert_int_eq(duration_ms, c->duration_ms);
        ck_assert_uint_eq(r.proto, c->proto);
        ck_assert_uint_eq(r.dst_family, c->family);
    }
    trace_close(trace);
}
END_TEST

START_TEST(a_zeek_log_without_its_header_says_what_it_lacks)
{
    struct trace_options options = {.max_bad = UINT64_MAX};
    struct trace *trace;
    char path[1024];
    char *paths[] = {path};

    snprintf(path, sizeof(path), "%s/odd/no-header.log", folder);
    ck_assert_int_eq(trace_open(&options, paths, 1, &trace), 3);
    ck_assert_str_eq(trace_summary(trace)->reasons[0].reason,
                     "record without a #fields line before it");
    trace_close(trace);
}
END_TEST

int main(int argc, char **argv)
{
    if (argc < 2 || argv[1][0] == '\0') {
        printf("1..0 # SKIP no folder of public traces: meson option shared_traces\n");
        return EXIT_SUCCESS;
    }
    folder = argv[1];
    Suite *suite = suite_create("public");
    TCase *tcase = suite_case(suite, "public");

    tcase_add_loop_test(tcase, public_traces_hold_what_was_published, 0,
                        (int)(sizeof(cases) / sizeof(cases[0])));
    tcase_add_loop_test(tcase, odd_lines_are_read_right_or_bad_for_a_named_reason, 0,
                        (int)(sizeof(odd) / sizeof(odd[0])));
    tcase_add_test(tcase, a_zeek_log_without_its_header_says_what_it_lacks);
    return suite_run(suite);
}
