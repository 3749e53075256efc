/* SPDX-License-Identifier: MIT */
/* Every format: lines as they should be, lines as they are, and what must come of them. */
#include "../suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../trace/trace_text.h"

struct reader_case {
    const char *what;
    const char *format; /* NULL: must be found by looking */
    enum trace_key key;
    const char *columns;
    const char *text;
    const char *expected;
};

#define ZEEK_HEADER                                                                   \
    "#separator \\x09\n#unset_field\t-\n#path\tconn\n"                                \
    "#fields\tts\tuid\tid.orig_h\tid.orig_p\tid.resp_h\tid.resp_p\tproto\tduration\t" \
    "resp_bytes\n"

#define ARGUS_HEADER \
    "StartTime,Dur,Proto,SrcAddr,Sport,Dir,DstAddr,Dport,State,TotBytes,SrcBytes\n"

#define NFDUMP_OLD "ts,te,td,sa,da,sp,dp,pr,flg,fwd,stos,ipkt,ibyt,opkt,obyt\n"
#define NFDUMP_NEW \
    "firstSeen,duration,proto,srcAddr,srcPort,dstAddr,dstPort,packets,bytes,flows\n"

static const struct reader_case cases[] = {
    /* ---- squid */
    {"squid: start is the stamp minus elapsed; the peer is the destination", NULL,
     KEY_AUTO, NULL,
     "1000.500    200 10.0.0.9 TCP_MISS/200 77 GET http://a.example:8080/x - "
     "HIER_DIRECT/192.0.2.1 text/html\n",
     "1000.3 0.2 192.0.2.1:8080 < 10.0.0.9 6 77\n"},
    {"squid: without a peer the URL's host is the destination", NULL, KEY_AUTO, NULL,
     "1000.000 0 10.0.0.9 TCP_HIT/200 5 GET http://a.example/x - HIER_NONE/- "
     "text/html\n"
     "1001.000 0 10.0.0.9 TCP_DENIED/403 5 CONNECT b.example:443 - HIER_NONE/- -\n"
     "1002.000 0 ::1 TCP_HIT/200 5 GET http://[2001:db8::7]:81/ - HIER_NONE/- -\n"
     "1003.000 0 10.0.0.9 NONE/400 5 GET bare.example - NONE/- text/html\n",
     "1000 0 a.example:80 < 10.0.0.9 6 5\n1001 0 b.example:443 < 10.0.0.9 6 5\n"
     "1002 0 2001:db8::7:81 < ::1 6 5\n1003 0 bare.example < 10.0.0.9 6 5\n"},
    {"squid: the peer may be a name or IPv6", NULL, KEY_AUTO, NULL,
     "1000.000 0 10.0.0.9 TCP_MISS/200 5 GET http://a.example/ - DIRECT/cache.example "
     "-\n"
     "1001.000 0 10.0.0.9 TCP_MISS/200 5 GET https://a.example/ - PINNED/2001:db8::5 "
     "-\n",
     "1000 0 cache.example:80 < 10.0.0.9 6 5\n1001 0 2001:db8::5:443 < 10.0.0.9 6 5\n"},
    {"squid: key host, whatever the peer", NULL, KEY_HOST, NULL,
     "1000.000 0 10.0.0.9 TCP_MISS/200 5 GET http://u@a.example/ - DIRECT/192.0.2.1 "
     "-\n",
     "1000 0 a.example:80 < 10.0.0.9 6 5\n"},
    {"squid: key url", NULL, KEY_URL, NULL,
     "1000.000 0 10.0.0.9 TCP_MISS/200 5 GET http://a.example/x?y - DIRECT/192.0.2.1 "
     "-\n",
     "1000 0 http://a.example/x?y:80 < 10.0.0.9 6 5\n"},
    {"squid: key client", NULL, KEY_CLIENT, NULL,
     "1000.000 0 10.0.0.9 TCP_MISS/200 5 GET - - DIRECT/192.0.2.1 -\n",
     "1000 0 10.0.0.9 < 10.0.0.9 6 5\n"},
    {"squid: a syslog header in front is skipped", "squid", KEY_AUTO, NULL,
     "Dec  4 03:31:46 host (squid-1): 1000.000 45 10.0.0.9 TCP_MISS/302 2 GET "
     "http://a.b/ "
     "- HIER_DIRECT/192.0.2.1 text/html\n",
     "999.955 0.045 192.0.2.1:80 < 10.0.0.9 6 2\n"},
    {"squid: questions between caches are UDP", "squid", KEY_AUTO, NULL,
     "1000.000 0 10.0.0.9 UDP_MISS/000 38 ICP_QUERY http://www.a/ - NONE/- -\n",
     "1000 0 www.a:80 < 10.0.0.9 17 38\n"},
    {"squid: mime headers behind the type, and a type that is missing", "squid",
     KEY_AUTO, NULL,
     "1000.000 0 10.0.0.9 TCP_MISS/200 5 GET http://a.b/ - DIRECT/192.0.2.1 - [a: b] "
     "[]\n"
     "1001.000 0 10.0.0.9 TCP_MISS/200 5 GET http://a.b/ - DIRECT/192.0.2.1\n",
     "1000 0 192.0.2.1:80 < 10.0.0.9 6 5\n1001 0 192.0.2.1:80 < 10.0.0.9 6 5\n"},
    {"squid: what is wrong has a name", "squid", KEY_AUTO, NULL,
     "1000.000 -1 10.0.0.9 TCP_HIT/200 5 GET http://a.b/ - NONE/- -\n"
     "1000.000 x 10.0.0.9 TCP_HIT/200 5 GET http://a.b/ - NONE/- -\n"
     "1000.000 1 10.0.0.9 TCP_HIT/200 5x GET http://a.b/ - NONE/- -\n"
     "1000.000 1 10.0.0.9 TCP_HIT/200 5 GET error:invalid-request - NONE/- -\n"
     "1000.000 1 10.0.0.9 TCP_HIT/200 5 \001\002 %BF%7B3 - NONE/- -\n"
     "1000.000 1 10.0.0.9 TCP_HIT/200 5 GET http://a.b/\n"
     "1.000 1001 10.0.0.9 TCP_HIT/200 5 GET http://a.b/ - NONE/- -\n"
     "1.000 0 10.0.0.9 TCP_HIT/200 5 GET http://a.b/ - NONE -\n"
     "99999999999.000 0 10.0.0.9 TCP_HIT/200 5 GET http://a.b/ - NONE/- -\n"
     "some words\n\n",
     "! 1 elapsed time is negative\n! 1 elapsed time is no number\n"
     "! 1 bytes are no number\n! 2 request names no destination\n! 1 line is cut "
     "short\n"
     "! 1 elapsed time is longer than the clock\n! 1 hierarchy has no peer\n"
     "! 2 line does not begin with a time stamp\n"},
    {"squid: a last line without an end may be cut in its last field", "squid",
     KEY_AUTO, NULL,
     "1000.000 0 10.0.0.9 TCP_MISS/200 5 GET http://a.b/ - DIRECT/192.0.2.1",
     "! 1 line is cut short\n"},
    /* ---- zeek-tsv */
    {"zeek-tsv: columns by name, unset values, every protocol", NULL, KEY_AUTO, NULL,
     ZEEK_HEADER "1000.5\tC1\t10.0.0.9\t4000\t192.0.2.1\t443\ttcp\t1.25\t99\n"
                 "1001.0\tC2\t2001:db8::9\t5353\tff02::fb\t5353\tudp\t-\t-\n"
                 "1002.0\tC3\t10.0.0.9\t8\t192.0.2.2\t0\ticmp\t0.000001\t0\n",
     "1000.5 1.25 192.0.2.1:443 < 10.0.0.9:4000 6 99\n"
     "1001 - ff02::fb:5353 < 2001:db8::9:5353 17 -\n"
     "1002 0.000001 192.0.2.2 < 10.0.0.9:8 1 0\n= 4\n"},
    {"zeek-tsv: headers come again, with other columns; close ends them", NULL,
     KEY_AUTO, NULL,
     ZEEK_HEADER
     "1000.0\tC1\t10.0.0.9\t1\t192.0.2.1\t2\ttcp\t-\t-\n#close\tx\n"
     "1000.0\tC1\t10.0.0.9\t1\t192.0.2.1\t2\ttcp\t-\t-\n"
     "\t#separator \\x09\n"
     "#fields\tnode\tts\tid.orig_h\tid.resp_h\nw1\t1001.0\t10.0.0.8\t192.0.2.2\n",
     "1000 - 192.0.2.1:2 < 10.0.0.9:1 6 -\n1001 - 192.0.2.2 < 10.0.0.8 0 -\n"
     "! 1 record without a #fields line before it\n= 7\n"},
    {"zeek-tsv: other separators and words for unset", "zeek-tsv", KEY_AUTO, NULL,
     "#separator ,\n#unset_field,none\n#fields,ts,id.orig_h,id.resp_h,duration\n"
     "1000.0,10.0.0.9,192.0.2.1,none\n",
     "1000 - 192.0.2.1 < 10.0.0.9 0 -\n= 3\n"},
    {"zeek-tsv: a JSON record in the stream", NULL, KEY_AUTO, NULL,
     ZEEK_HEADER
     "{\"ts\":1000.25,\"id.orig_h\":\"10.0.0.9\",\"id.resp_h\":\"192.0.2.1\"}\n",
     "1000.25 - 192.0.2.1 < 10.0.0.9 0 -\n= 4\n"},
    {"zeek-tsv: key client", NULL, KEY_CLIENT, NULL,
     ZEEK_HEADER "1000.0\tC1\t10.0.0.9\t1\t192.0.2.1\t2\ttcp\t-\t-\n",
     "1000 - 10.0.0.9:2 < 10.0.0.9:1 6 -\n= 4\n"},
    {"zeek-tsv: what is wrong has a name", NULL, KEY_AUTO, NULL,
     ZEEK_HEADER "x\tC1\t10.0.0.9\t1\t192.0.2.1\t2\ttcp\t-\t-\n"
                 "1.0\tC1\t10.0.0\t1\t192.0.2.1\t2\ttcp\t-\t-\n"
                 "1.0\tC1\t10.0.0.9\t1\thost\t2\ttcp\t-\t-\n"
                 "1.0\tC1\t10.0.0.9\t65536\t192.0.2.1\t2\ttcp\t-\t-\n"
                 "1.0\tC1\t10.0.0.9\t1\t192.0.2.1\t2\ttcp\t-1\t-\n"
                 "1.0\tC1\t10.0.0.9\t1\t192.0.2.1\t2\ttcp\t-\t1e5\n"
                 "1.0\tC1\t10.0.0.9\t1\t192.0.2.1\t2\ttcp\t-\t-\t-\n"
                 "Lorem ipsum\n"
                 "#fields\tts\tid.orig_h\n",
     "! 1 ts is no time\n! 1 client is no address\n! 1 destination is no address\n"
     "! 1 port is out of range\n! 1 duration is no number\n! 1 bytes are no number\n"
     "! 1 more columns than #fields\n! 1 fewer columns than #fields\n"
     "! 1 #fields lacks ts, id.orig_h or id.resp_h\n= 5\n"},
    {"zeek-tsv: without its header it is known, and says what it lacks", NULL, KEY_AUTO,
     NULL, "1000.0\tCabcdefghijklmn\t10.0.0.9\t1\t192.0.2.1\t2\ttcp\t-\t-\n",
     "! 1 record without a #fields line before it\n"},
    /* ---- zeek-json */
    {"zeek-json: dots, underscores, nesting; numbers and ISO times", NULL, KEY_AUTO,
     NULL,
     "{\"ts\":1000.5,\"id.orig_h\":\"10.0.0.9\",\"id.orig_p\":4,\"id.resp_h\":\"192.0."
     "2.1\","
     "\"id.resp_p\":80,\"proto\":\"tcp\",\"duration\":0.0012309551239013672,"
     "\"resp_bytes\":7}\n"
     "{\"ts\":\"1970-01-01T00:16:41.5Z\",\"id_orig_h\":\"10.0.0.9\",\"id_resp_h\":\"::"
     "1\"}\n"
     "{\"ts\":1002,\"id\":{\"orig_h\":\"10.0.0.9\",\"resp_h\":\"192.0.2.3\",\"resp_p\":"
     "5}}\n",
     "1000.5 0.001230955 192.0.2.1:80 < 10.0.0.9:4 6 7\n1001.5 - ::1 < 10.0.0.9 0 -\n"
     "1002 - 192.0.2.3:5 < 10.0.0.9 0 -\n"},
    {"zeek-json: microseconds survive the double", NULL, KEY_AUTO, NULL,
     "{\"ts\":1704738946.055436,\"id.orig_h\":\"10.0.0.9\",\"id.resp_h\":\"192.0.2.1\"}"
     "\n",
     "1704738946.055436 - 192.0.2.1 < 10.0.0.9 0 -\n"},
    {"zeek-json: what is wrong has a name", "zeek-json", KEY_AUTO, NULL,
     "{\"ts\":-1,\"id.orig_h\":\"10.0.0.9\",\"id.resp_h\":\"192.0.2.1\"}\n"
     "{\"ts\":1,\"id.orig_h\":\"10.0.0.9\"}\n"
     "{\"ts\":1,\"id.orig_h\":7,\"id.resp_h\":\"192.0.2.1\"}\n"
     "{\"ts\":1,\"id.orig_h\":\"10.0.0.9\",\"id.orig_p\":93145,\"id.resp_h\":\"::1\"}\n"
     "{\"ts\":1,\"duration\":-0.5,\"id.orig_h\":\"10.0.0.9\",\"id.resp_h\":\"::1\"}\n"
     "{\"ts\":1,\"resp_bytes\":1.5,\"id.orig_h\":\"10.0.0.9\",\"id.resp_h\":\"::1\"}\n"
     "[1]\n{\"ts\":1,,}\n{\"ts\":1,\"id.or",
     "! 1 ts is no time\n! 1 destination is no address\n! 1 client is no address\n"
     "! 1 port is out of range\n! 1 duration is no number\n! 1 bytes are no number\n"
     "! 1 JSON is no object\n! 1 line is no JSON\n! 1 JSON ends within the record\n"},
    /* ---- weblog */
    {"weblog: the URL is the destination; zones count; a dash is no byte", NULL,
     KEY_AUTO, NULL,
     "10.0.0.9 - - [01/Jan/1970:01:00:01 +0100] \"GET /x HTTP/1.1\" 200 12 \"-\" \"a "
     "\\\" "
     "b\"\n"
     "host.example - u [01/Jan/1970:00:00:02 +0000] \"GET /y\" 304 -\r\n",
     "1 - /x < 10.0.0.9 6 12\n2 - /y < host.example 6 0\n"},
    {"weblog: key client, key host", "weblog", KEY_CLIENT, NULL,
     "10.0.0.9 - - [01/Jan/1970:00:00:01 +0000] \"-\" 408 -\n",
     "1 - 10.0.0.9 < 10.0.0.9 6 0\n"},
    {"weblog: key host needs an absolute URL", "weblog", KEY_HOST, NULL,
     "10.0.0.9 - - [01/Jan/1970:00:00:01 +0000] \"GET http://a.example/ HTTP/1.0\" 200 "
     "1\n"
     "10.0.0.9 - - [01/Jan/1970:00:00:01 +0000] \"GET / HTTP/1.0\" 200 1\n",
     "1 - a.example:80 < 10.0.0.9 6 1\n! 1 URL has no host\n"},
    {"weblog: fields between client and date, and behind the agent", "weblog", KEY_AUTO,
     NULL,
     "10.0.0.9 - - 6 0 - - [01/Jan/1970:00:00:01 +0000] - \"GET /x HTTP/1.1\" 200 5 "
     "\"-\" "
     "\"-\" a=b TLSv1.3\n",
     "1 - /x < 10.0.0.9 6 5\n"},
    {"weblog: what is wrong has a name", "weblog", KEY_AUTO, NULL,
     "10.0.0.9 - - [01/Jan/1970:00:00:01 +0000] \"-\" 408 -\n"
     "10.0.0.9 - - [01/Jan/1970:00:00:01 +0000] \"\\x16\\x03 x\" 400 1\n"
     "\" 400 226 \"-\" \"-\"\n"
     "10.0.0.9 - - [31/Feb/1970:00:00:01 +0000] \"GET / HTTP/1.0\" 200 1\n"
     "10.0.0.9 - - [01/Jan/1970:00:00:01 +0000] GET / 200 1\n"
     "10.0.0.9 - - [01/Jan/1970:00:00:01 +0000] \"GET /\" 200\n"
     "10.0.0.9 - - [01/Jan/1970:00:00:01 +0000] \"GET /\" 200 x\n"
     "2001:db8:2ce:1 - - [01/Jan/1970:00:00:01 +0000] \"GET /\" 200 1\n",
     "! 1 no request was made\n! 1 request is no HTTP\n! 1 no time in brackets\n"
     "! 1 time is none\n! 1 no request in quotes\n! 1 line is cut short\n"
     "! 1 bytes are no number\n! 1 client is no address\n"},
    /* ---- nginx */
    {"nginx: start is the stamp minus the request time; the last upstream answered",
     NULL, KEY_AUTO, NULL,
     "10.0.0.9 - - [01/Jan/1970:00:00:10 +0000] \"GET /x HTTP/1.1\" 200 12 \"-\" \"-\" "
     "100 "
     "2.500 [ns-svc-80] [] 192.0.2.1:8080 12 2.500 200 id\n"
     "10.0.0.9 - - [01/Jan/1970:00:00:11 +0000] \"GET /x HTTP/1.1\" 200 12 \"-\" \"-\" "
     "100 "
     "1.000 [ns-svc-80] 192.0.2.1:8080, 192.0.2.2:8080 0, 12 0.5, 0.5 502, 200 id\n"
     "10.0.0.9 - - [01/Jan/1970:00:00:12 +0000] \"GET /x HTTP/1.1\" 200 12 \"-\" \"-\" "
     "100 "
     "1.000 [ns-svc-80] [] 192.0.2.1:8080 : [2001:db8::2]:81 0 : 12 0.5 : 0.5 200 id\n",
     "7.5 2.5 192.0.2.1:8080 < 10.0.0.9 6 12\n10 1 192.0.2.2:8080 < 10.0.0.9 6 12\n"
     "11 1 2001:db8::2:81 < 10.0.0.9 6 12\n"},
    {"nginx: what is wrong has a name", "nginx", KEY_AUTO, NULL,
     "10.0.0.9 - - [01/Jan/1970:00:00:10 +0000] \"GET /x HTTP/1.1\" 400 0 \"-\" \"-\" "
     "0 "
     "0.000 [] [] - - - - id\n"
     "10.0.0.9 - - [01/Jan/1970:00:00:10 +0000] \"GET /x HTTP/1.1\" 200 12 \"-\" "
     "\"-\"\n"
     "10.0.0.9 - - [01/Jan/1970:00:00:10 +0000] \"GET /x HTTP/1.1\" 200 12 \"-\" \"-\" "
     "1 x\n"
     "10.0.0.9 - - [01/Jan/1970:00:00:10 +0000] \"GET /x HTTP/1.1\" 200 12 \"-\" \"-\" "
     "1 1 "
     "192.0.2.1:80\n",
     "! 1 no upstream was asked\n! 1 request length is no number\n"
     "! 1 request time is no number\n! 1 no upstream name in brackets\n"},
    /* ---- haproxy */
    {"haproxy: tcplog and httplog, syslog header or none", NULL, KEY_AUTO, NULL,
     "Jan  1 00:00:06 host haproxy[1]: 10.0.0.9:3333 [01/Jan/1970:00:00:01.443] fnt "
     "bck/srv1 "
     "0/0/5007 212 -- 0/0/0/0/3 0/0\n"
     "haproxy[2]: 10.0.0.9:3334 [01/Jan/1970:00:00:02.000] fe~ be/srv2 10/0/30/69/109 "
     "200 "
     "2750 - - ---- 1/1/1/1/0 0/0 {1wt.eu} {} \"GET /x HTTP/1.1\"\n"
     "2001:db8::9:3335 [01/Jan/1970:00:00:03.000] fe be/srv2 0/0/1 5 -- 0/0/0/0/3 "
     "0/0\n",
     "1.443 5.007 bck/srv1 < 10.0.0.9:3333 6 212\n2 0.109 be/srv2 < 10.0.0.9:3334 6 "
     "2750\n"
     "3 0.001 be/srv2 < 2001:db8::9:3335 6 5\n"},
    {"haproxy: what was still going on has no duration and no bytes", "haproxy",
     KEY_AUTO, NULL,
     "h[1]: 10.0.0.9:1 [01/Jan/1970:00:00:01.000] fe be/s 9/0/7/14/+30 200 +243 - - "
     "---- "
     "3/3/3/1/0 0/0 \"GET /i HTTP/1.0\"\n",
     "1 - be/s < 10.0.0.9:1 6 -\n"},
    {"haproxy: key url", "haproxy", KEY_URL, NULL,
     "h[1]: 10.0.0.9:1 [01/Jan/1970:00:00:01.000] fe be/s 9/0/7/14/30 200 243 - - ---- "
     "3/3/3/1/0 0/0 \"GET /i HTTP/1.0\"\n",
     "1 0.03 /i < 10.0.0.9:1 6 243\n"},
    {"haproxy: key host, from the URL or from the first captured header", "haproxy",
     KEY_HOST, NULL,
     "h[1]: 10.0.0.9:1 [01/Jan/1970:00:00:01.000] fe be/s 9/0/7/14/30 200 243 - - ---- "
     "3/3/3/1/0 0/0 {a.example:8080|agent {x}} {} \"GET /i HTTP/1.0\"\n"
     "h[1]: 10.0.0.9:1 [01/Jan/1970:00:00:02.000] fe be/s 9/0/7/14/30 200 243 - - ---- "
     "3/3/3/1/0 0/0 {a.example} \"GET http://b.example/i HTTP/1.0\"\n"
     "h[1]: 10.0.0.9:1 [01/Jan/1970:00:00:03.000] fe be/s 9/0/7/14/30 200 243 - - ---- "
     "3/3/3/1/0 0/0 {[2001:db8::1]:81} \"GET /i HTTP/1.0\"\n",
     "1 0.03 a.example:8080 < 10.0.0.9:1 6 243\n2 0.03 b.example:80 < 10.0.0.9:1 6 "
     "243\n"
     "3 0.03 2001:db8::1:81 < 10.0.0.9:1 6 243\n"},
    {"haproxy: key host needs a host", "haproxy", KEY_HOST, NULL,
     "h[1]: 10.0.0.9:1 [01/Jan/1970:00:00:01.000] fe be/s 9/0/7/14/30 200 243 - - ---- "
     "3/3/3/1/0 0/0 {|agent} {} \"GET /i HTTP/1.0\"\n"
     "h[1]: 10.0.0.9:1 [01/Jan/1970:00:00:01.000] fe be/s 9/0/7/14/30 200 243 - - ---- "
     "3/3/3/1/0 0/0 {Mozilla/5.0 (X11)} \"GET /i HTTP/1.0\"\n"
     "h[1]: 10.0.0.9:1 [01/Jan/1970:00:00:01.000] fe be/s 9/0/7/14/30 200 243 - - ---- "
     "3/3/3/1/0 0/0 \"GET /i HTTP/1.0\"\n",
     "! 3 URL has no host\n"},
    {"haproxy: what is wrong has a name", "haproxy", KEY_AUTO, NULL,
     "h[1]: 10.0.0.9:1 [01/Jan/1970:00:00:01.000] fe/f1: Connection error\n"
     "h[1]: 10.0.0.9:1 [01/Jan/1970:00:00:01.000] fe be/<NOSRV> -1/-1/-1/-1/8490 -1 0 "
     "- - "
     "CR-- 2/2/2/0/0 0/0 \"\"\n"
     "h[1]: -:- [01/Jan/1970:00:00:01.000] <OCSP> -/- 2/0/-1/-1/3009 503 217 - - SC-- "
     "0/0/0/0/3 0/0 {} \"GET http://a/ HTTP/1.1\"\n"
     "h[1]: 10.0.0.9:1 [01/Jan/1970:00:00:01.000] fe be/s 1/2/3/4 1 -- 0/0/0/0/3 0/0\n"
     "h[1]: 10.0.0.9:1 [01/Jan/1970:00:00:01.000] fe be/s 1/2/-3 1 -- 0/0/0/0/3 0/0\n"
     "h[1]: 10.0.0.9:1 [01/Jan/1970:00:00:01.000] fe be/s 1/2/3 x -- 0/0/0/0/3 0/0\n"
     "h[1]: 10.0.0.9:x [01/Jan/1970:00:00:01.000] fe be/s 1/2/3 1 -- 0/0/0/0/3 0/0\n"
     "h[1]: 10.0.0.9:1 [01/Jan/1970:00:00:01.000] fe be/s\n"
     "no date at all\n",
     "! 1 error line, no connection\n! 2 no server was chosen\n"
     "! 1 timers are neither three nor five\n! 1 total time is no number\n"
     "! 1 bytes are no number\n! 1 client is no address:port\n! 1 line is cut short\n"
     "! 1 no date in brackets\n"},
    /* ---- nfdump */
    {"nfdump: JSON, a member a line, both directions joined", NULL, KEY_AUTO, NULL,
     "[\n{\n\t\"type\" : \"FLOW\",\n\t\"first\" : \"1970-01-01T00:00:10.000\",\n"
     "\t\"last\" : \"1970-01-01T00:00:12.500\",\n\t\"in_bytes\" : 100,\n"
     "\t\"proto\" : 6,\n\t\"src_port\" : 4000,\n\t\"dst_port\" : 443,\n"
     "\t\"src4_addr\" : \"10.0.0.9\",\n\t\"dst4_addr\" : \"192.0.2.1\"\n}\n,\n{\n"
     "\t\"first\" : \"1970-01-01T00:00:10.001\",\n"
     "\t\"last\" : \"1970-01-01T00:00:12.599\",\n\t\"in_bytes\" : 900,\n"
     "\t\"proto\" : 6,\n\t\"src_port\" : 443,\n\t\"dst_port\" : 4000,\n"
     "\t\"src4_addr\" : \"192.0.2.1\",\n\t\"dst4_addr\" : \"10.0.0.9\"\n},\n]\n",
     "10 2.599 192.0.2.1:443 < 10.0.0.9:4000 6 900\n= 3\n"},
    {"nfdump: JSON, an object a line", NULL, KEY_AUTO, NULL,
     "{\"first\":\"1970-01-01T00:00:10.000\",\"last\":\"1970-01-01T00:00:11.000\","
     "\"in_bytes\":5,\"out_bytes\":7,\"proto\":17,\"src_port\":4000,\"dst_port\":53,"
     "\"src6_addr\":\"2001:db8::9\",\"dst6_addr\":\"2001:db8::1\"}\n",
     "10 1 2001:db8::1:53 < 2001:db8::9:4000 17 7\n"},
    {"nfdump: what is wrong in JSON has a name", "nfdump", KEY_AUTO, NULL,
     "[\n{\"first\":\"then\"}\n"
     "{\"first\":\"1970-01-01T00:00:10\",\"last\":\"1970-01-01T00:00:09\"}\n"
     "{\"first\":\"1970-01-01T00:00:10\",\"last\":\"1970-01-01T00:00:11\"}\n"
     "{\"first\":\"1970-01-01T00:00:10\",\"last\":\"1970-01-01T00:00:11\",\"proto\":6,"
     "\"in_bytes\":-1}\n"
     "{\"first\":\"1970-01-01T00:00:10\",\"last\":\"1970-01-01T00:00:11\",\"proto\":6,"
     "\"src4_addr\":\"x\"}\n"
     "{\"first\":\"1970-01-01T00:00:10\",\"last\":\"1970-01-01T00:00:11\",\"proto\":6,"
     "\"src4_addr\":\"10.0.0.1\",\"dst4_addr\":\"::1\"}\n"
     "{\"first\":\"1970-01-01T00:00:10\",\"last\":\"1970-01-01T00:00:11\",\"proto\":6,"
     "\"src4_addr\":\"10.0.0.1\",\"dst4_addr\":\"10.0.0.2\",\"src_port\":70000}\n"
     "{first}\n{\n",
     "! 1 first seen is no time\n! 1 last seen is before first seen or no time\n"
     "! 1 protocol is no number\n! 1 bytes are no number\n! 1 source is no address\n"
     "! 1 destination is no address\n! 1 port is out of range\n! 1 line is no JSON\n"
     "! 1 file ends within an object\n= 1\n"},
    {"nfdump: old layout, both directions joined, the summary left out", NULL, KEY_AUTO,
     NULL,
     NFDUMP_OLD
     "1970-01-01 00:00:10,1970-01-01 "
     "00:00:12,2.500,192.0.2.1,10.0.0.9,443,4000,TCP,....S.,"
     "0,0,5,900,0,0\n"
     "1970-01-01 00:00:10,1970-01-01 "
     "00:00:12,2.599,10.0.0.9,192.0.2.1,4000,443,TCP,....S.,"
     "0,0,5,100,0,0\n"
     "Summary\nflows,bytes,packets,avg_bps,avg_pps,avg_bpp\n2,1000,10,1,1,1\n",
     "10 2.599 192.0.2.1:443 < 10.0.0.9:4000 6 900\n= 4\n"},
    {"nfdump: new layout; pieces of a long connection are one; a reply alone is turned",
     NULL, KEY_AUTO, NULL,
     NFDUMP_NEW
     "1970-01-01 00:00:10.100,60.000,TCP,10.0.0.9,4000,192.0.2.1,443,5,100,1\n"
     "1970-01-01 00:01:15.000,30.000,TCP,10.0.0.9,4000,192.0.2.1,443,5,100,1\n"
     "1970-01-01 00:05:00.000,1.000,TCP,10.0.0.9,4000,192.0.2.1,443,5,100,1\n"
     "1970-01-01 00:06:00.000,1.000,UDP,192.0.2.1,53,10.0.0.9,5000,5,100,1\n"
     "1970-01-01 00:07:00.000,0.000,ICMP,10.0.0.9,0,192.0.2.1,8.0,1,64,1\n",
     "10.1 94.9 192.0.2.1:443 < 10.0.0.9:4000 6 0\n300 1 192.0.2.1:443 < 10.0.0.9:4000 "
     "6 0\n"
     "360 1 192.0.2.1:53 < 10.0.0.9:5000 17 100\n420 0 192.0.2.1 < 10.0.0.9 1 0\n= "
     "1\n"},
    {"nfdump: raw times, last seen in place of a duration", NULL, KEY_AUTO, NULL,
     "cnt,af,firstSeen,lastSeen,proto,srcAddr,srcPort,dstAddr,dstPort,packets,bytes\n"
     "1,10,1000.5,1001.0,6,2001:db8::9,4000,2001:db8::1,80,3,77\n",
     "1000.5 0.5 2001:db8::1:80 < 2001:db8::9:4000 6 0\n= 1\n"},
    {"nfdump: what is wrong has a name", NULL, KEY_AUTO, NULL,
     NFDUMP_NEW "x,1,TCP,10.0.0.9,4000,192.0.2.1,443,5,100,1\n"
                "1,-1,TCP,10.0.0.9,4000,192.0.2.1,443,5,100,1\n"
                "1,1,TCP,10.0.0,4000,192.0.2.1,443,5,100,1\n"
                "1,1,TCP,10.0.0.9,4000,::1,443,5,100,1\n"
                "1,1,TCP,10.0.0.9,4000,192.0.2.1,443000,5,100,1\n"
                "1,1,TCP,10.0.0.9,4000,192.0.2.1,443,5,1 M,1\n"
                "1,1,TCP\n",
     "! 1 first seen is no time\n! 1 duration is no number\n! 1 source is no address\n"
     "! 1 destination is no address\n! 1 port is out of range\n! 1 bytes are no "
     "number\n"
     "! 1 row has too few columns\n= 1\n"},
    /* ---- binetflow */
    {"binetflow: bytes from the server; hexadecimal ports of ICMP are none", NULL,
     KEY_AUTO, NULL,
     ARGUS_HEADER
     "1970/01/01 00:00:10.500000,2.5,tcp,10.0.0.9,4000,   ->,192.0.2.1,443,"
     "CON,1000,300\n"
     "1970/01/01 00:00:11.000000,0.0,icmp,10.0.0.9,0x0008,  <->,192.0.2.2,"
     "0x0f72,ECO,220,110\n"
     "1970/01/01 00:00:12.000000,1,igmp,10.0.0.9,,   ->,0.0.0.1,,INT,60,60\n",
     "10.5 2.5 192.0.2.1:443 < 10.0.0.9:4000 6 700\n11 0 192.0.2.2 < 10.0.0.9 1 110\n"
     "12 1 0.0.0.1 < 10.0.0.9 2 0\n= 1\n"},
    {"binetflow: the header comes again with other columns, and tabs will do", NULL,
     KEY_AUTO, NULL,
     ARGUS_HEADER "StartTime\tDur\tProto\tSrcAddr\tSport\tDir\tDstAddr\tDport\n"
                  "1970/01/01 00:00:10\t1\tudp\t10.0.0.9\t5\t <?>\t192.0.2.1\t6\n",
     "10 1 192.0.2.1:6 < 10.0.0.9:5 17 -\n= 2\n"},
    {"binetflow: what is wrong has a name", NULL, KEY_AUTO, NULL,
     ARGUS_HEADER "1970/01/01 00:00:10,1,man,0,0,,0,0,STA,0,0\n"
                  "1970/01/01 00:00:10,1,arp,10.0.0.9,,who,192.0.2.1,,CON,0,0\n"
                  "now,1,tcp,10.0.0.9,1,->,192.0.2.1,2,CON,0,0\n"
                  "1970/01/01 00:00:10,long,tcp,10.0.0.9,1,->,192.0.2.1,2,CON,0,0\n"
                  "1970/01/01 00:00:10,1,tcp,10.0.0.9,0x1,->,192.0.2.1,2,CON,0,0\n"
                  "1970/01/01 00:00:10,1,tcp,10.0.0.9,1,->,192.0.2.1,2,CON,1,2\n"
                  "1970/01/01 00:00:10,1,tcp,10.0.0.9,1,->,x,2,CON,0,0\n"
                  "1970/01/01 00:00:10,1,tcp\n",
     "! 1 management record, no connection\n! 1 not IP traffic\n! 1 StartTime is no "
     "time\n"
     "! 1 duration is no number\n! 1 port is out of range\n! 1 bytes are no number\n"
     "! 1 destination is no address\n! 1 row has too few columns\n= 1\n"},
    /* ---- eve */
    {"eve: flow events only; zones count", NULL, KEY_AUTO, NULL,
     "{\"timestamp\":\"x\",\"event_type\":\"dns\"}\n"
     "{\"timestamp\":\"x\",\"event_type\":\"flow\",\"src_ip\":\"10.0.0.9\",\"src_"
     "port\":5,"
     "\"dest_ip\":\"192.0.2.1\",\"dest_port\":80,\"proto\":\"TCP\",\"flow\":{"
     "\"bytes_toclient\":9,\"start\":\"1970-01-01T02:00:01.500000+0200\","
     "\"end\":\"1970-01-01T02:00:02.000000+0200\"}}\n",
     "1.5 0.5 192.0.2.1:80 < 10.0.0.9:5 6 9\n= 1\n"},
    {"eve: what is wrong has a name", "eve", KEY_AUTO, NULL,
     "{\"event_type\":\"flow\"}\n"
     "{\"event_type\":\"flow\",\"flow\":{\"start\":\"1970-01-01T00:00:02Z\","
     "\"end\":\"1970-01-01T00:00:01Z\"}}\n"
     "{\"event_type\":\"flow\",\"flow\":{\"start\":\"1970-01-01T00:00:02Z\"}}\n"
     "{\"event_type\":\"flow\",\"src_ip\":\"10.0.0.9\",\"dest_port\":70000,\"flow\":{"
     "\"start\":\"1970-01-01T00:00:02Z\"}}\n"
     "{}\n",
     "! 1 start is no time\n! 1 end is before the start or no time\n"
     "! 1 client is no address\n! 1 port is out of range\n! 1 event has no type\n"},
    /* ---- csv */
    {"csv: names in the header say what columns are", NULL, KEY_AUTO, NULL,
     "time,dst,bytes,client,duration\n1.5,192.0.2.1:80,7,10.0.0.9,0.25\n"
     "2,\"a,b\",,,\n",
     "1.5 0.25 192.0.2.1:80 < 10.0.0.9 6 7\n2 - a,b < - 6 -\n= 1\n"},
    {"csv: --columns in any order; the header is no bad row", "csv", KEY_AUTO,
     "dst=3,time=1,client=2", "when;who;what;x\n1;10.0.0.9;obj;y\n2;10.0.0.8;obj;z\n",
     "1 - obj < 10.0.0.9 6 -\n2 - obj < 10.0.0.8 6 -\n= 1\n"},
    {"csv: in libCacheSim's words, and no header", "csv", KEY_AUTO,
     "time-col=2,obj-id-col=3,obj-size-col=1,delimiter=|", "5|1|77\n6|2|78\n",
     "1 - 77 < - 6 5\n2 - 78 < - 6 6\n"},
    {"csv: without a time the order is all there is", "csv", KEY_AUTO, "object=1",
     "a\nb\n", "- - a < - 6 -\n- - b < - 6 -\n"},
    {"csv: end and duration make a start", "csv", KEY_AUTO, "end=1,duration=2,dst=3",
     "10,2.5,192.0.2.1\n", "7.5 2.5 192.0.2.1 < - 6 -\n"},
    {"csv: dates are times", "csv", KEY_AUTO, "time=1,end=2,dst=3",
     "1970-01-01T00:00:01Z,1970-01-01 00:00:03,192.0.2.1\n", "1 2 192.0.2.1 < - 6 -\n"},
    {"csv: a web log in columns calls its client host", NULL, KEY_AUTO, NULL,
     "host\tlogname\ttime\tmethod\turl\tresponse\tbytes\treferer\n"
     "h.example\t-\t5\tGET\t/x\t200\t7\n",
     "5 - /x < h.example 6 7\n= 1\n"},
    {"csv: what is wrong has a name", "csv", KEY_AUTO,
     "time=1,end=2,duration=3,dst=4,bytes=5,dst_port=6",
     "1,,,a,1,1\nx,,,a,1,1\n1,x,,a,1,1\n1,,x,a,1,1\n2,1,,a,1,1\n1,,,a,-5,1\n1,,,a,1,"
     "65536\n"
     "1,,,-,1,1\n1,,\n",
     "1 - a:1 < - 6 1\n! 1 time is none\n! 1 end is no time\n! 1 duration is no "
     "number\n"
     "! 1 end is before the start\n! 1 bytes are no number\n! 1 port is out of range\n"
     "! 1 no destination\n! 1 row has too few columns\n"},
    {"csv: --columns that are none are refused", "csv", KEY_AUTO, "time=0,dst=1", "1\n",
     "exit 2\n"},
    {"csv: a name twice is refused", "csv", KEY_AUTO, "time=1,time=2", "1\n",
     "exit 2\n"},
    {"csv: no column that could be a destination", "csv", KEY_AUTO, "time=1", "1\n",
     "exit 2\n"},
    {"csv: a key that no column is", "csv", KEY_CLIENT, "time=1,dst=2", "1,a\n",
     "exit 2\n"},
    {"csv: nothing says what the columns are", "csv", KEY_AUTO, NULL, "1,2,3\n",
     "exit 2\n"},
    /* ---- object traces */
    {"libcachesim: the header of its sample", NULL, KEY_AUTO, NULL,
     "version,time,op,size,lbn\n1,5,2a,512,42\n1,5,2a,512,42,1\n1,5\n",
     "5 - 42 < - 6 512\n! 1 row has too many columns\n! 1 row has too few columns\n= "
     "1\n"},
    {"libcachesim: block traces", NULL, KEY_AUTO, NULL,
     "op_time,block_id,block_id_size,io_size,io_offset,host_name\n7,ab-cd,40,8,0,h1\n",
     "7 - ab-cd < h1 6 8\n= 1\n"},
    {"objects: time, id, size", NULL, KEY_AUTO, NULL, "158 3 2\n159 341 2\n\n160 3 9\n",
     "158 - 3 < - 6 2\n159 - 341 < - 6 2\n160 - 3 < - 6 9\n"},
    {"objects: what is wrong has a name", "objects", KEY_AUTO, NULL,
     "x 1 1\n1 x 1\n1 1 x\n1 1\n1 1 1 1\n",
     "! 1 time is none\n! 1 id is no number\n! 1 size is no number\n"
     "! 2 line is not of three columns\n"},
    /* ---- all */
    {"a key that the format lacks", "zeek-tsv", KEY_URL, NULL, ZEEK_HEADER, "exit 2\n"},
    {"a format that there is not", "nonesuch", KEY_AUTO, NULL, "x\n", "exit 2\n"},
    {"text that is no trace", NULL, KEY_AUTO, NULL, "Dear reader,\nthis is prose.\n",
     "exit 2\n"},
    {"an empty file is of any format", NULL, KEY_AUTO, NULL, "", ""},
};

START_TEST(lines_become_what_they_say)
{
    const struct reader_case *c = &cases[_i];
    struct trace_options options = {.format = c->format,
                                    .key = c->key,
                                    .columns = c->columns,
                                    .max_bad = UINT64_MAX};

    const char *got = read_text(&options, c->text, strlen(c->text));
    ck_assert_msg(strcmp(got, c->expected) == 0, "%s\nexpected:\n%sgot:\n%s", c->what,
                  c->expected, got);
}
END_TEST

/* The same file, shorter and shorter: nothing crashes. */
START_TEST(a_file_cut_anywhere_is_read_up_to_there)
{
    const struct reader_case *c = &cases[_i];
    struct trace_options options = {.format = c->format,
                                    .key = c->key,
                                    .columns = c->columns,
                                    .max_bad = UINT64_MAX};

    /* Complaints about formats that are not known yet help nobody here. */
    ck_assert_ptr_nonnull(freopen("/dev/null", "w", stderr));
    for (size_t length = strlen(c->text) % 7; length < strlen(c->text); length += 7) {
        struct trace *trace;
        int status = open_text(&options, c->text, length, &trace);
        ck_assert(trace != NULL || status == 2);
        trace_close(trace);
    }
}
END_TEST

struct oracle {
    uint32_t time;
    uint64_t object;
    uint32_t size;
    int64_t next;
};

static size_t put_oracle(char *to, const struct oracle *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        memcpy(to + 24 * i, &rows[i].time, 4);
        memcpy(to + 24 * i + 4, &rows[i].object, 8);
        memcpy(to + 24 * i + 12, &rows[i].size, 4);
        memcpy(to + 24 * i + 16, &rows[i].next, 8);
    }
    return 24 * count;
}

static const char *const zeek_members[][8] = {
    {"\"ts\":", "1.5", "1700000000.123456", "1700000000.1234567", "12", "-1",
     "\"1970-01-01T00:00:05Z\"", "8999999999.123457"},
    {"\"duration\":", "0.25", "999999.123456789", "1000000.1", "7", "1e1", "\"0.5\"",
     "null"},
    {"\"resp_bytes\":", "0", "123456789012345678", "1234567890123456789", "01", "1.0",
     "true", "\"5\""},
    {"\"id.orig_h\":", "\"10.0.0.1\"", "\"::1\"", "\"10.0.0.1\"", "\"x\"", "5",
     "\"10.0.0.2\"", "null"},
    {"\"id.resp_h\":", "\"10.1.0.1\"", "\"::2\"", "\"10.1.0.1\"", "\"10.1.0.1\"", "[1]",
     "\"10.1.0.2\"", "{}"},
    {"\"id_resp_h\":", NULL, NULL, NULL, NULL, "\"10.1.0.3\"", NULL, NULL},
    {"\"id\":", NULL, "{\"orig_p\":5}", NULL, "{\"resp_h\":\"10.1.0.4\"}", NULL,
     "{\"a\":{}}", "[{}]"},
    {"\"id.resp_p\":", "80", "65535", "65536", "0", "8.0", " 81 ", "\"80\""},
    {"\"proto\":", "\"tcp\"", "\"udp\"", "\"tcp\"", "6", "\"icmp\"", "\"t\\u0063p\"",
     "\"\xc3\xa9\""},
    {"\"id\":", NULL, NULL, "{\"orig_p\":6}", "{\"resp_h\":\"10.1.0.5\"}", NULL, "5",
     "{}"},
    {"\"tags\":", "[]", "[1,\"a\",null]", "[1,]", "tru", NULL, "\"a\tb\"", NULL},
};

static const char *const eve_members[][8] = {
    {"\"event_type\":", "\"flow\"", "\"flow\"", "\"flow\"", "\"dns\"", "\"\"", "1",
     "\"flow\""},
    {"\"src_ip\":", "\"10.0.0.1\"", "\"::1\"", "\"10.0.0.1\"", "\"x\"", "5",
     "\"10.0.0.2\"", "null"},
    {"\"dest_ip\":", "\"10.1.0.1\"", "\"::2\"", "\"10.1.0.1\"", "\"10.1.0.1\"", "7",
     "\"10.1.0.2\"", "{}"},
    {"\"dest_port\":", "80", "65535", "65536", "0", "8.0", NULL, "\"80\""},
    {"\"proto\":", "\"TCP\"", "\"UDP\"", "\"TCP\"", "6", "\"ICMP\"", "\"t\\u0063p\"",
     NULL},
    {"\"flow\":", "{\"start\":\"1970-01-01T00:00:05.000001+0000\"}",
     "{\"start\":\"1970-01-01T00:00:05Z\",\"end\":\"1970-01-01T00:00:07Z\","
     "\"bytes_toclient\":9}",
     "{\"start\":\"1970-01-01T00:00:05Z\",\"end\":\"1970-01-01T00:00:04Z\"}",
     "{\"start\":5,\"start\":6}", "{\"start\":5,\"bytes_toclient\":-1}", "{}", "7"},
    {"\"flow\":", NULL, NULL, NULL, "{\"end\":\"1970-01-01T00:00:09Z\"}",
     "{\"start\":\"1970-01-01T00:00:04Z\"}", "{}", "7"},
};

/* An object of these members, some left out, each with one of its values; the first values
 * more often than the odd ones behind them. */
static size_t put_object(const char *const (*members)[8], size_t count, unsigned *seed,
                         const char *first, char *out)
{
    size_t length = (size_t)sprintf(out, "{%s\"uid\":\"C\"", first);

    for (size_t i = 0; i < count; i++) {
        unsigned draw = (unsigned)rand_r(seed) >> 8;
        unsigned which = 1 + (draw % 4 != 0 ? draw / 4 % 2 : draw / 4 % 7);
        if (draw % 64 != 1 && members[i][which] != NULL) {
            length += (size_t)sprintf(out + length, ",%s%s", members[i][0],
                                      members[i][which]);
        }
    }
    return length + (size_t)sprintf(out + length, "}\n");
}

/* With objects that deep in it a line is left to the library. */
START_TEST(plain_lines_of_json_are_read_as_the_library_reads_them)
{
    enum { LINES = 60, LINE = 1024 };
    static char plain[LINES * LINE], escaped[LINES * LINE];
    bool zeek = _i % 2 == 0;
    struct trace_options options = {.format = zeek ? "zeek-json" : "eve",
                                    .key = _i % 4 < 2 ? KEY_DST : KEY_CLIENT,
                                    .max_bad = UINT64_MAX};
    size_t length[2] = {0, 0};
    unsigned seed = (unsigned)_i;

    for (int i = 0; i < LINES; i++) {
        const char *const(*members)[8] = zeek ? zeek_members : eve_members;
        size_t count = zeek ? sizeof(zeek_members) / sizeof(*zeek_members)
                            : sizeof(eve_members) / sizeof(*eve_members);
        unsigned again = seed;
        length[0] += put_object(members, count, &seed, "", plain + length[0]);
        length[1] += put_object(members, count, &again, "\"x\":{\"y\":{}},",
                                escaped + length[1]);
    }
    char *expected = strdup(read_text(&options, escaped, length[1]));
    ck_assert_ptr_nonnull(expected);
    const char *got = read_text(&options, plain, length[0]);
    ck_assert_msg(strcmp(got, expected) == 0, "%s\nexpected:\n%sgot:\n%s", plain,
                  expected, got);
    free(expected);
}
END_TEST

/* A search for one of some characters finds the end of their string as well. */
START_TEST(a_zero_byte_between_objects_of_nfdump_is_a_bad_line)
{
    static const char text[] =
        "[\n\0\n{\"first\":\"1970-01-01T00:00:10.000\",\"last\":"
        "\"1970-01-01T00:00:11.000\",\"in_bytes\":5,\"proto\":6,\"src_port\":4000,"
        "\"dst_port\":53,\"src4_addr\":\"10.0.0.9\",\"dst4_addr\":\"10.0.0.1\"}\n]\n";
    struct trace_options options = {.format = "nfdump", .max_bad = UINT64_MAX};

    ck_assert_str_eq(
        read_text(&options, text, sizeof(text) - 1),
        "10 1 10.0.0.1:53 < 10.0.0.9:4000 6 0\n! 1 line is no JSON\n= 2\n");
    options.format = NULL;
    ck_assert_str_eq(read_text(&options, "\0{\"src4_addr\":1}\n", 18), "exit 2\n");
}
END_TEST

START_TEST(oracle_general_is_found_by_its_shape_and_a_cut_record_is_bad)
{
    static const struct oracle rows[] = {
        {5, 9, 100, 3}, {5, 7, 50, -1}, {6, 9, 100, INT64_MAX}};
    struct trace_options options = {.max_bad = UINT64_MAX};
    char bytes[24 * 3 + 5] = {0};

    size_t length = put_oracle(bytes, rows, 3);
    ck_assert_str_eq(read_text(&options, bytes, length),
                     "5 - 9 < - 6 100\n5 - 7 < - 6 50\n6 - 9 < - 6 100\n");
    options.format = "oraclegeneral";
    ck_assert_str_eq(read_text(&options, bytes, length + 5),
                     "5 - 9 < - 6 100\n5 - 7 < - 6 50\n6 - 9 < - 6 100\n"
                     "! 1 file ends within a record\n");
}
END_TEST

START_TEST(object_traces_that_only_count_lines_have_no_times)
{
    struct trace_options options = {.max_bad = UINT64_MAX, .arrival_per_s = 10};
    struct trace *trace;
    struct record records[100];
    char text[100 * 16];
    size_t length = 0;

    for (int i = 1; i <= 100; i++) {
        length += (size_t)snprintf(text + length, sizeof(text) - length, "%d 1 1\n", i);
    }
    ck_assert_int_eq(open_text(&options, text, length, &trace), 0);
    ck_assert(trace_summary(trace)->timeless);
    ck_assert_int_eq(trace_next(trace, records, 100), 100);
    ck_assert_uint_eq(records[99].start_ns, 9900000000);
    trace_close(trace);
    options.time_unit_ns = 1000000000; /* who says a unit says that they are times */
    ck_assert_int_eq(open_text(&options, text, length, &trace), 0);
    ck_assert(!trace_summary(trace)->timeless);
    trace_close(trace);
}
END_TEST

START_TEST(too_many_bad_records_give_exit_3_and_a_summary)
{
    static const char text[] = "158 3 2\nx y z\n159 3 2\nx\nx\n160 1 1\n";
    struct trace_options options = {.format = "objects", .max_bad = 1};
    struct trace *trace;

    ck_assert_int_eq(open_text(&options, text, strlen(text), &trace), 3);
    ck_assert_uint_eq(trace_summary(trace)->bad, 2);
    ck_assert_uint_eq(trace_summary(trace)->records, 2);
    trace_close(trace);
}
END_TEST

START_TEST(examples_say_file_line_field_expectation_and_what_was_there)
{
    static const char text[] = "158 3 2\nx\001y 3 2\n";
    struct trace_options options = {.format = "objects", .max_bad = UINT64_MAX};
    struct trace *trace;

    ck_assert_int_eq(open_text(&options, text, strlen(text), &trace), 0);
    const struct trace_summary *summary = trace_summary(trace);
    ck_assert_uint_eq(summary->example_count, 1);
    ck_assert_ptr_nonnull(
        strstr(summary->examples[0], ":2: time: expected a number, not 'x\\x01y'"));
    trace_close(trace);
}
END_TEST

START_TEST(windows_and_samples_count_what_they_leave_out)
{
    static const char text[] = "10 1 1\n20 2 1\n30 3 1\n40 1 1\n";
    struct trace_options options = {.format = "objects",
                                    .max_bad = UINT64_MAX,
                                    .from_ns = 10000000000,
                                    .to_ns = 30000000000};
    struct trace *trace;

    ck_assert_int_eq(open_text(&options, text, strlen(text), &trace), 0);
    ck_assert_uint_eq(trace_summary(trace)->records, 2);
    ck_assert_uint_eq(trace_summary(trace)->skipped, 2);
    ck_assert_uint_eq(trace_summary(trace)->destinations, 2);
    ck_assert_uint_eq(trace_summary(trace)->first_ns, 20000000000);
    ck_assert_uint_eq(trace_summary(trace)->last_ns, 30000000000);
    ck_assert_str_eq(trace_text(trace), "20 - 2 < - 6 1\n30 - 3 < - 6 1\n");
    ck_assert(trace_rewind(trace));
    ck_assert_str_eq(trace_text(trace), "20 - 2 < - 6 1\n30 - 3 < - 6 1\n");
    trace_close(trace);
}
END_TEST

START_TEST(a_sample_keeps_all_of_a_destination_or_nothing)
{
    struct trace_options options = {
        .format = "objects", .max_bad = UINT64_MAX, .sample_one_in = 4};
    struct trace *trace;
    static char text[4000 * 16];
    size_t length = 0;
    uint64_t seen[400] = {0};
    struct record r;

    for (int i = 0; i < 4000; i++) {
        length +=
            (size_t)snprintf(text + length, sizeof(text) - length, "7 %d 1\n", i % 400);
    }
    ck_assert_int_eq(open_text(&options, text, length, &trace), 0);
    const struct trace_summary *summary = trace_summary(trace);
    ck_assert_uint_eq(summary->records + summary->skipped, 4000);
    ck_assert_uint_eq(summary->records, summary->destinations * 10);
    ck_assert_uint_gt(summary->destinations, 60);
    ck_assert_uint_lt(summary->destinations, 140);
    while (trace_next(trace, &r, 1) == 1) {
        char name[16];
        trace_key_text(trace, r.dst_family, &r.dst, name, sizeof(name));
        seen[strtoul(name, NULL, 10)]++;
    }
    for (int i = 0; i < 400; i++) {
        ck_assert(seen[i] == 0 || seen[i] == 10);
    }
    trace_close(trace);
}
END_TEST

START_TEST(steps_back_are_counted_by_the_files_own_stamps)
{
    static const char text[] =
        "1000.000 900000 10.0.0.9 TCP_HIT/200 5 GET http://a.b/ - NONE/- -\n"
        "1001.000 0 10.0.0.9 TCP_HIT/200 5 GET http://a.b/ - NONE/- -\n"
        "1000.500 0 10.0.0.9 TCP_HIT/200 5 GET http://a.b/ - NONE/- -\n";
    struct trace_options options = {.max_bad = UINT64_MAX};
    struct trace *trace;

    ck_assert_int_eq(open_text(&options, text, strlen(text), &trace), 0);
    ck_assert_uint_eq(trace_summary(trace)->steps_back, 1);
    ck_assert_uint_eq(trace_summary(trace)->first_ns, 100000000000);
    ck_assert_uint_eq(trace_summary(trace)->end_ns, 1001000000000);
    ck_assert(!trace_summary(trace)->all_ipv4);
    trace_close(trace);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("readers");
    TCase *tcase = suite_case(suite, "readers");

    tcase_add_loop_test(tcase, lines_become_what_they_say, 0,
                        (int)(sizeof(cases) / sizeof(cases[0])));
    tcase_add_loop_test(tcase, a_file_cut_anywhere_is_read_up_to_there, 0,
                        (int)(sizeof(cases) / sizeof(cases[0])));
    tcase_add_loop_test(tcase, plain_lines_of_json_are_read_as_the_library_reads_them,
                        0, 40);
    tcase_add_test(tcase, a_zero_byte_between_objects_of_nfdump_is_a_bad_line);
    tcase_add_test(tcase, oracle_general_is_found_by_its_shape_and_a_cut_record_is_bad);
    tcase_add_test(tcase, object_traces_that_only_count_lines_have_no_times);
    tcase_add_test(tcase, too_many_bad_records_give_exit_3_and_a_summary);
    tcase_add_test(tcase, examples_say_file_line_field_expectation_and_what_was_there);
    tcase_add_test(tcase, windows_and_samples_count_what_they_leave_out);
    tcase_add_test(tcase, a_sample_keeps_all_of_a_destination_or_nothing);
    tcase_add_test(tcase, steps_back_are_counted_by_the_files_own_stamps);
    return suite_run(suite);
}
