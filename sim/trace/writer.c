/* SPDX-License-Identifier: MIT */
#include "writer.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../base/slice.h"
#include "../base/temporary.h"
#include "../formats/compress.h"
#include "../formats/fields.h"
#include "../records/keyset.h"
#include "../records/locus_file.h"
#include "../records/sort.h"

enum { OUTPUT_BUFFER = 1 << 18, NAME_MAX_TEXT = 1024 };

static const uint64_t SECOND_NS = 1000000000;

struct writer {
    struct writer_options options;
    FILE *out;
    char *buffer;
    struct sorter
        *sorter; /* for formats whose order or header needs all records first */
    struct record_keys keys; /* of what the sorter holds */
    uint64_t records;        /* so far; with a sorter, in all */
    uint64_t written;
    int64_t
        *nexts; /* oraclegeneral: the number of the next record of the same object */
    size_t nexts_mapped; /* bytes, in a temporary file; 0: in memory */
    bool failed;         /* in begin(), which said why */
};

/* A name as one word of a log: what would end it or the line is percent-encoded. */
static void encode(const char *name, const char *special, char out[NAME_MAX_TEXT])
{
    size_t used = 0;

    for (; *name != '\0' && used + 4 < NAME_MAX_TEXT; name++) {
        unsigned char c = (unsigned char)*name;
        if (c <= ' ' || c >= 0x7f || c == '%' || strchr(special, c) != NULL) {
            used += (size_t)snprintf(out + used, NAME_MAX_TEXT - used, "%%%02X", c);
        } else {
            out[used++] = (char)c;
        }
    }
    out[used] = '\0';
}

static bool is_host(const char *name)
{
    size_t allowed = strspn(
        name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_");

    return name[0] != '\0' && name[allowed] == '\0';
}

/* The client as a word, "-" when there is none. */
static const char *client_word(const struct record *record,
                               const struct writer_names *names,
                               char out[NAME_MAX_TEXT])
{
    if (!(record->flags & RECORD_HAS_CLIENT)) {
        return "-";
    }
    encode(names->src, "\"\\", out);
    return out;
}

/* A URL for the destination: itself if it is one, with it as the host if it can be one, with
 * it as the path otherwise. */
static void destination_url(const struct record *record,
                            const struct writer_names *names, char *out, size_t size)
{
    char word[NAME_MAX_TEXT];
    bool default_port = record->dst_port == 0 || record->dst_port == 80;
    char port[8] = "";

    if (!default_port) {
        snprintf(port, sizeof(port), ":%u", record->dst_port);
    }
    if (record->dst_family == LOCUS_IPV4) {
        snprintf(out, size, "http://%s%s/", names->dst, port);
    } else if (record->dst_family == LOCUS_IPV6) {
        snprintf(out, size, "http://[%s]%s/", names->dst, port);
    } else if (is_host(names->dst)) {
        snprintf(out, size, "http://%s%s/", names->dst, port);
    } else {
        encode(names->dst, "\"\\", word);
        bool url = strstr(names->dst, "://") != NULL;
        const char *slash = word[0] == '/' ? "" : "/";
        snprintf(out, size, "%s%s%s", url ? "" : "http://trace.invalid",
                 url ? "" : slash, word);
    }
}

static uint64_t end_ns(const struct record *record)
{
    return record->start_ns + record->duration_ns;
}

static void squid_record(struct writer *w, const struct record *r,
                         const struct writer_names *names)
{
    char client[NAME_MAX_TEXT];
    char url[NAME_MAX_TEXT * 2];
    bool peer = r->dst_family != LOCUS_NAME;
    uint64_t stamp_ms = (end_ns(r) + 500000) / 1000000;
    uint64_t elapsed_ms = (r->duration_ns + 500000) / 1000000;

    destination_url(r, names, url, sizeof(url));
    fprintf(w->out,
            "%" PRIu64 ".%03u %6" PRIu64 " %s TCP_MISS/200 %" PRIu64
            " GET %s - HIER_%s/%s text/plain\n",
            stamp_ms / 1000, (unsigned)(stamp_ms % 1000),
            elapsed_ms < stamp_ms ? elapsed_ms : stamp_ms,
            client_word(r, names, client), r->bytes, url, peer ? "DIRECT" : "NONE",
            peer ? names->dst : "-");
}

/* As logs of flows spell it. Requests of a proxy or web server say none: they came over TCP. */
static const char *proto_word(uint8_t proto, char out[12])
{
    const char *name = slice_proto_name(proto == PROTO_UNKNOWN ? PROTO_TCP : proto);

    if (name == NULL) {
        snprintf(out, 12, "%u", proto);
    } else {
        snprintf(out, 12, "%s", name);
    }
    return out;
}

static const char *proto_upper(uint8_t proto, char out[12])
{
    proto_word(proto, out);
    for (char *at = out; *at != '\0'; at++) {
        *at = (char)(*at >= 'a' && *at <= 'z' ? *at - 'a' + 'A' : *at);
    }
    return out;
}

/* "seconds.micros" or "-". */
static const char *seconds(bool there, uint64_t ns, char out[32])
{
    if (!there) {
        return "-";
    }
    snprintf(out, 32, "%" PRIu64 ".%06u", ns / SECOND_NS,
             (unsigned)(ns % SECOND_NS / 1000));
    return out;
}

/* Zeek has addresses only: a name gets one of the documentation range, by its hash. */
static void address_word(uint8_t family, const union locus_key *key, const char *name,
                         char out[64])
{
    if (family == LOCUS_NAME) {
        snprintf(out, 64, "2001:db8:%x:%x:%x:%x:%x:%x",
                 (unsigned)(key->words[0] & 0xffff),
                 (unsigned)(key->words[0] >> 16 & 0xffff),
                 (unsigned)(key->words[0] >> 32 & 0xffff),
                 (unsigned)(key->words[0] >> 48), (unsigned)(key->words[1] & 0xffff),
                 (unsigned)(key->words[1] >> 16 & 0xffff));
    } else {
        snprintf(out, 64, "%s", name);
    }
}

static void client_address(const struct record *r, const struct writer_names *names,
                           char out[64])
{
    if (r->flags & RECORD_HAS_CLIENT) {
        address_word(r->src_family, &r->src, names->src, out);
    } else {
        snprintf(out, 64, "192.0.2.1");
    }
}

static void zeek_tsv_begin(struct writer *w)
{
    fprintf(
        w->out,
        "#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n"
        "#unset_field\t-\n#path\tconn\n"
        "#fields\tts\tuid\tid.orig_h\tid.orig_p\tid.resp_h\tid.resp_p\tproto\tservice\t"
        "duration\torig_bytes\tresp_bytes\tconn_state\n"
        "#types\ttime\tstring\taddr\tport\taddr\tport\tenum\tstring\tinterval\tcount\t"
        "count\tstring\n");
}

static void zeek_tsv_record(struct writer *w, const struct record *r,
                            const struct writer_names *names)
{
    char dst[64];
    char src[64];
    char start[32];
    char duration[32];
    char proto[12];

    address_word(r->dst_family, &r->dst, names->dst, dst);
    client_address(r, names, src);
    fprintf(w->out, "%s\tC%" PRIx64 "\t%s\t%u\t%s\t%u\t%s\t-\t%s\t-\t%" PRIu64 "\tSF\n",
            seconds(true, r->start_ns, start), w->written, src, r->src_port, dst,
            r->dst_port, proto_word(r->proto, proto),
            seconds(r->flags & RECORD_HAS_DURATION, r->duration_ns, duration),
            r->bytes);
}

static void zeek_json_record(struct writer *w, const struct record *r,
                             const struct writer_names *names)
{
    char dst[64];
    char src[64];
    char number[32];
    char proto[12];

    address_word(r->dst_family, &r->dst, names->dst, dst);
    client_address(r, names, src);
    fprintf(w->out, "{\"ts\":%s,\"uid\":\"C%" PRIx64 "\",\"id.orig_h\":\"%s\",",
            seconds(true, r->start_ns, number), w->written, src);
    fprintf(w->out, "\"id.orig_p\":%u,\"id.resp_h\":\"%s\",\"id.resp_p\":%u,",
            r->src_port, dst, r->dst_port);
    if (r->flags & RECORD_HAS_DURATION) {
        fprintf(w->out, "\"duration\":%s,", seconds(true, r->duration_ns, number));
    }
    fprintf(w->out,
            "\"proto\":\"%s\",\"resp_bytes\":%" PRIu64 ",\"conn_state\":\"SF\"}\n",
            proto_word(r->proto, proto), r->bytes);
}

/* "17/May/2015:10:05:03" with what strftime would take from the locale written out. */
static void clf_time(uint64_t ns, char out[32])
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    time_t when = (time_t)(ns / SECOND_NS);
    struct tm tm;

    if (gmtime_r(&when, &tm) == NULL) {
        memset(&tm, 0, sizeof(tm));
    }
    snprintf(out, 32, "%02d/%.3s/%04d:%02d:%02d:%02d", tm.tm_mday,
             months + 3 * tm.tm_mon, tm.tm_year + 1900, tm.tm_hour, tm.tm_min,
             tm.tm_sec);
}

/* The path of a web log's request. */
static void request_url(const struct record *r, const struct writer_names *names,
                        char *out, size_t size)
{
    char word[NAME_MAX_TEXT];

    if (r->dst_family == LOCUS_NAME && names->dst[0] == '/') {
        encode(names->dst, "\"\\", word);
        snprintf(out, size, "%s", word);
    } else {
        destination_url(r, names, out, size);
    }
}

static void weblog_record(struct writer *w, const struct record *r,
                          const struct writer_names *names)
{
    char client[NAME_MAX_TEXT];
    char url[NAME_MAX_TEXT * 2];
    char stamp[32];

    clf_time(r->start_ns, stamp);
    request_url(r, names, url, sizeof(url));
    fprintf(w->out,
            "%s - - [%s +0000] \"GET %s HTTP/1.1\" 200 %" PRIu64 " \"-\" \"-\"\n",
            client_word(r, names, client), stamp, url, r->bytes);
}

static void haproxy_record(struct writer *w, const struct record *r,
                           const struct writer_names *names)
{
    char client[NAME_MAX_TEXT];
    char server[NAME_MAX_TEXT];
    char stamp[32];

    clf_time(r->start_ns, stamp);
    encode(names->dst, "", server);
    /* A destination that came from such a log is "backend/server" already. */
    const char *backend = strchr(server, '/') != NULL ? "" : "trace/";
    fprintf(w->out,
            "haproxy[1]: %s:%u [%s.%03u] trace %s%s 0/0/%" PRIu64 " %" PRIu64
            " -- 0/0/0/0/0 0/0\n",
            client_word(r, names, client), r->src_port, stamp,
            (unsigned)(r->start_ns % SECOND_NS / 1000000), backend, server,
            (r->duration_ns + 500000) / 1000000, r->bytes);
}

static void nginx_record(struct writer *w, const struct record *r,
                         const struct writer_names *names)
{
    char client[NAME_MAX_TEXT];
    char url[NAME_MAX_TEXT * 2];
    char upstream[NAME_MAX_TEXT];
    char stamp[32];
    uint64_t ms = (r->duration_ns + 500000) / 1000000;

    clf_time(end_ns(r), stamp);
    request_url(r, names, url, sizeof(url));
    encode(names->dst, "\"\\[],", upstream);
    bool v6 = r->dst_family == LOCUS_IPV6;
    fprintf(w->out,
            "%s - - [%s +0000] \"GET %s HTTP/1.1\" 200 %" PRIu64
            " \"-\" \"-\" 0 %" PRIu64 ".%03u [trace] [] %s%s%s:%u %" PRIu64 " %" PRIu64
            ".%03u 200 -\n",
            client_word(r, names, client), stamp, url, r->bytes, ms / 1000,
            (unsigned)(ms % 1000), v6 ? "[" : "", upstream, v6 ? "]" : "",
            r->dst_port == 0 ? 80u : r->dst_port, r->bytes, ms / 1000,
            (unsigned)(ms % 1000));
}

static void csv_begin(struct writer *w)
{
    fprintf(w->out, "%sdst,dst_port,client,client_port,proto,bytes,duration\n",
            w->options.timeless ? "" : "time,");
}

static const char *nanos(uint64_t ns, char out[32])
{
    snprintf(out, 32, "%" PRIu64 ".%09u", ns / SECOND_NS, (unsigned)(ns % SECOND_NS));
    return out;
}

static void csv_record(struct writer *w, const struct record *r,
                       const struct writer_names *names)
{
    char dst[NAME_MAX_TEXT];
    char src[NAME_MAX_TEXT] = "";
    char number[32];
    char proto[12];

    /* A colon in a name would be read as the one in front of a port. */
    encode(names->dst, r->dst_family == LOCUS_NAME ? "\",:" : "\",", dst);
    if (r->flags & RECORD_HAS_CLIENT) {
        encode(names->src, "\",", src);
    }
    if (!w->options.timeless) {
        fprintf(w->out, "%s,", nanos(r->start_ns, number));
    }
    fprintf(w->out, "%s,%u,%s,%u,%s,", dst, r->dst_port, src, r->src_port,
            proto_word(r->proto, proto));
    if (r->flags & RECORD_HAS_BYTES) {
        fprintf(w->out, "%" PRIu64, r->bytes);
    }
    fprintf(w->out, ",%s\n",
            r->flags & RECORD_HAS_DURATION ? nanos(r->duration_ns, number) : "");
}

/* Objects have numbers: a name that is one keeps it, others get one by their hash. */
static uint64_t object_number(const struct record *r, const char *name)
{
    uint64_t number;

    if (r->dst_family == LOCUS_NAME && slice_u64(slice_of(name), &number)) {
        return number;
    }
    if (r->dst_family == LOCUS_IPV4) {
        return r->dst.ipv4;
    }
    return r->dst.words[0] ^ r->dst.words[1];
}

static void objects_record(struct writer *w, const struct record *r,
                           const struct writer_names *names)
{
    char number[32];

    fprintf(w->out, "%s %" PRIu64 " %" PRIu64 "\n", nanos(r->start_ns, number),
            object_number(r, names->dst), r->bytes);
}

static void libcachesim_begin(struct writer *w)
{
    fprintf(w->out, "time,obj_id,obj_size\n");
}

static void libcachesim_record(struct writer *w, const struct record *r,
                               const struct writer_names *names)
{
    char number[32];

    fprintf(w->out, "%s,%" PRIu64 ",%" PRIu64 "\n", nanos(r->start_ns, number),
            object_number(r, names->dst), r->bytes);
}

static void binetflow_begin(struct writer *w)
{
    fprintf(w->out,
            "StartTime,Dur,Proto,SrcAddr,Sport,Dir,DstAddr,Dport,State,sTos,dTos,"
            "TotPkts,TotBytes,SrcBytes,SrcPkts,Label\n");
}

static void binetflow_record(struct writer *w, const struct record *r,
                             const struct writer_names *names)
{
    char dst[64];
    char src[64];
    char duration[32];
    char proto[12];
    time_t when = (time_t)(r->start_ns / SECOND_NS);
    struct tm tm = {0};

    gmtime_r(&when, &tm);
    address_word(r->dst_family, &r->dst, names->dst, dst);
    client_address(r, names, src);
    fprintf(
        w->out,
        "%04d/%02d/%02d %02d:%02d:%02d.%06u,%s,%s,%s,%u,   ->,%s,%u,CON,0,0,2,%" PRIu64
        ",0,1,\n",
        tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
        (unsigned)(r->start_ns % SECOND_NS / 1000),
        seconds(true, r->duration_ns, duration), proto_word(r->proto, proto), src,
        r->src_port, dst, r->dst_port, r->bytes);
}

/* NetFlow has ports for all clients; what shares one with another is one flow. Who has none
 * gets one by turns. */
static unsigned client_port(const struct writer *w, const struct record *r)
{
    return r->src_port != 0 ? r->src_port : 1024 + (unsigned)(w->written % 64512);
}

/* "2023-11-14 22:13:20.100", with that in front of the time and so many digits. */
static void iso_time(uint64_t ns, char between, unsigned digits, char out[40])
{
    time_t when = (time_t)(ns / SECOND_NS);
    struct tm tm = {0};
    char fraction[10];

    gmtime_r(&when, &tm);
    snprintf(fraction, sizeof(fraction), "%09u", (unsigned)(ns % SECOND_NS));
    snprintf(out, 40, "%04d-%02d-%02d%c%02d:%02d:%02d.%.*s", tm.tm_year + 1900,
             tm.tm_mon + 1, tm.tm_mday, between, tm.tm_hour, tm.tm_min, tm.tm_sec,
             (int)digits, fraction);
}

/* NetFlow knows no flow from one family to the other. */
static void map_to_ipv6(char address[64])
{
    char ipv4[64];

    if (strchr(address, ':') == NULL) {
        snprintf(ipv4, sizeof(ipv4), "%s", address);
        snprintf(address, 64, "::ffff:%.45s", ipv4);
    }
}

static void nfdump_begin(struct writer *w)
{
    fprintf(w->out, "ts,te,td,sa,da,sp,dp,pr,flg,fwd,stos,ipkt,ibyt,opkt,obyt\n");
}

/* Both directions in one row, so that nobody has to guess which is which. */
static void nfdump_record(struct writer *w, const struct record *r,
                          const struct writer_names *names)
{
    char dst[64];
    char src[64];
    char first[40];
    char last[40];
    char proto[12];

    address_word(r->dst_family, &r->dst, names->dst, dst);
    client_address(r, names, src);
    if ((strchr(dst, ':') == NULL) != (strchr(src, ':') == NULL)) {
        map_to_ipv6(dst);
        map_to_ipv6(src);
    }
    iso_time(r->start_ns, ' ', 3, first);
    iso_time(end_ns(r), ' ', 3, last);
    fprintf(w->out,
            "%s,%s,%" PRIu64 ".%03u,%s,%s,%u,%u,%s,........,0,0,1,0,1,%" PRIu64 "\n",
            first, last, r->duration_ns / SECOND_NS,
            (unsigned)(r->duration_ns % SECOND_NS / 1000000), src, dst,
            client_port(w, r), r->dst_port, proto_upper(r->proto, proto), r->bytes);
}

static void eve_record(struct writer *w, const struct record *r,
                       const struct writer_names *names)
{
    char dst[64];
    char src[64];
    char start[40];
    char end[40];
    char proto[12];

    address_word(r->dst_family, &r->dst, names->dst, dst);
    client_address(r, names, src);
    iso_time(r->start_ns, 'T', 6, start);
    iso_time(end_ns(r), 'T', 6, end);
    fprintf(w->out,
            "{\"timestamp\":\"%s+0000\",\"flow_id\":%" PRIu64
            ",\"event_type\":\"flow\",\"src_ip\":\"%s\",\"src_port\":%u,",
            end, w->written, src, r->src_port);
    fprintf(w->out, "\"dest_ip\":\"%s\",\"dest_port\":%u,\"proto\":\"%s\",", dst,
            r->dst_port, proto_upper(r->proto, proto));
    fprintf(w->out,
            "\"flow\":{\"bytes_toserver\":0,\"bytes_toclient\":%" PRIu64
            ",\"start\":\"%s+0000\"",
            r->bytes, start);
    if (r->flags & RECORD_HAS_DURATION) {
        fprintf(w->out, ",\"end\":\"%s+0000\"", end);
    }
    fprintf(w->out, "}}\n");
}

/* Room for a number a record: in memory, or in a temporary file where that would be more than
 * sorting may take. False after a message. */
static bool make_nexts(struct writer *w)
{
    size_t bytes = (size_t)(w->records + 1) * sizeof(*w->nexts);

    if (bytes <= sorter_memory(w->options.memory_bytes)) {
        w->nexts = malloc(bytes);
        if (w->nexts == NULL) {
            fprintf(stderr, "locus: out of memory for objects\n");
        }
        return w->nexts != NULL;
    }
    int fd = temporary_open();
    if (fd < 0) {
        return false;
    }
    errno = posix_fallocate(fd, 0, (off_t)bytes);
    void *mapped = MAP_FAILED;
    if (errno == 0) {
        mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    if (mapped == MAP_FAILED) {
        temporary_failed("write");
    } else {
        w->nexts = mapped;
        w->nexts_mapped = bytes;
    }
    close(fd);
    return w->nexts != NULL;
}

/* Notes for the record of that number whether and where its object comes again. last: by
 * object; -1: not seen yet. */
static void look_ahead(struct writer *w, int64_t *last, uint32_t object, int64_t number)
{
    w->nexts[number] = -1;
    if (last[object] >= 0) {
        w->nexts[last[object]] = number;
    }
    last[object] = number;
}

/* Each record says when its object is asked for next: one pass ahead finds out. */
static bool oracle_begin_pass(struct writer *w)
{
    enum { BATCH = 256 };
    struct numbered_record batch[BATCH];
    size_t bytes = (w->keys.destinations.count + 1) * sizeof(int64_t);
    int64_t *last = malloc(bytes);
    int64_t number = 0;
    ssize_t got;

    if (last == NULL) {
        fprintf(stderr, "locus: out of memory for objects\n");
        return false;
    }
    memset(last, 0xff, bytes);
    while ((got = sorter_next(w->sorter, batch, BATCH)) > 0) {
        for (ssize_t i = 0; i < got; i++) {
            look_ahead(w, last, batch[i].dst, number++);
        }
    }
    free(last);
    return got == 0 && sorter_rewind(w->sorter);
}

static void oracle_begin(struct writer *w)
{
    w->failed = !make_nexts(w) || !oracle_begin_pass(w);
}

/* Seconds, object, size, number of the object's next request: little-endian, packed. Sizes end
 * at 4 GiB, times in 2106. */
static void oracle_record(struct writer *w, const struct record *r,
                          const struct writer_names *names)
{
    uint64_t seconds = r->start_ns / SECOND_NS;
    uint32_t time = htole32(seconds < UINT32_MAX ? (uint32_t)seconds : UINT32_MAX);
    uint32_t size = htole32(r->bytes < UINT32_MAX ? (uint32_t)r->bytes : UINT32_MAX);
    uint64_t object = htole64(object_number(r, names->dst));
    uint64_t next = htole64((uint64_t)w->nexts[w->written - 1]);

    fwrite(&time, sizeof(time), 1, w->out);
    fwrite(&object, sizeof(object), 1, w->out);
    fwrite(&size, sizeof(size), 1, w->out);
    fwrite(&next, sizeof(next), 1, w->out);
}

static void locus_keys(struct writer *w, const struct keyset *keys)
{
    for (size_t i = 0; i < keys->count; i++) {
        struct slice name = keyset_text(keys, i);
        struct locus_file_key key = {
            .key = keys->entries[i].key,
            .name_bytes = (uint16_t)name.length,
            .family = keys->entries[i].family,
        };
        fwrite(&key, sizeof(key), 1, w->out);
        if (name.length > 0) {
            fwrite(name.text, 1, name.length, w->out);
        }
    }
}

static void locus_begin(struct writer *w)
{
    const struct record_keys *keys =
        w->options.keys != NULL ? w->options.keys : &w->keys;
    struct locus_file_header header = {
        .magic = {'L', 'O', 'C', 'U', 'S', '\r', '\n', '\x1a'},
        .version = LOCUS_FILE_VERSION,
        .record_bytes = sizeof(struct numbered_record),
        .count = w->records,
        .destinations = keys->destinations.count,
        .clients = keys->clients.count,
        .flags = w->options.timeless ? LOCUS_FILE_TIMELESS : 0,
    };

    fwrite(&header, sizeof(header), 1, w->out);
    locus_keys(w, &keys->destinations);
    locus_keys(w, &keys->clients);
}

const struct writer_format writer_formats[] = {
    {
        .name = "squid",
        .about = "Squid access.log",
        .by_end = true,
        .record = squid_record,
    },
    {
        .name = "zeek-tsv",
        .about = "Zeek conn.log",
        .by_end = true,
        .begin = zeek_tsv_begin,
        .record = zeek_tsv_record,
    },
    {
        .name = "zeek-json",
        .about = "Zeek conn.log as JSON",
        .by_end = true,
        .record = zeek_json_record,
    },
    {
        .name = "weblog",
        .about = "Combined Log Format, no durations",
        .record = weblog_record,
    },
    {
        .name = "haproxy",
        .about = "HAProxy tcplog",
        .by_end = true,
        .record = haproxy_record,
    },
    {
        .name = "nginx",
        .about = "nginx with upstream fields",
        .by_end = true,
        .record = nginx_record,
    },
    {
        .name = "nfdump",
        .about = "nfdump CSV, both directions in a row",
        .by_end = true,
        .begin = nfdump_begin,
        .record = nfdump_record,
    },
    {
        .name = "eve",
        .about = "Suricata flow events",
        .by_end = true,
        .record = eve_record,
    },
    {
        .name = "binetflow",
        .about = "Argus flows",
        .begin = binetflow_begin,
        .record = binetflow_record,
    },
    {
        .name = "libcachesim",
        .about = "time,obj_id,obj_size",
        .begin = libcachesim_begin,
        .record = libcachesim_record,
    },
    {
        .name = "oraclegeneral",
        .about = "seconds, object, size, next request",
        .ahead = true,
        .begin = oracle_begin,
        .record = oracle_record,
    },
    {
        .name = "objects",
        .about = "time id size",
        .record = objects_record,
    },
    {
        .name = "csv",
        .about = "all that locus knows, with a header",
        .begin = csv_begin,
        .record = csv_record,
    },
    {
        .name = "locus",
        .about = "locus' own binary, the fastest to read",
        .binary = true,
        .begin = locus_begin,
    },
    {.name = NULL},
};

const struct writer_format *writer_find(const char *name)
{
    for (const struct writer_format *f = writer_formats; f->name != NULL; f++) {
        if (strcmp(f->name, name) == 0) {
            return f;
        }
    }
    return NULL;
}

static const char *target(const struct writer *writer)
{
    return writer->options.path != NULL ? writer->options.path : "stdout";
}

static bool failed(const struct writer *writer, int why)
{
    fprintf(stderr, "locus: %s: cannot be written: %s\n", target(writer),
            strerror(why));
    return false;
}

void writer_abandon(struct writer *writer)
{
    if (writer == NULL) {
        return;
    }
    if (writer->out != NULL && writer->options.path != NULL) {
        fclose(writer->out);
    }
    sorter_destroy(writer->sorter);
    record_keys_free(&writer->keys);
    if (writer->nexts_mapped > 0) {
        munmap(writer->nexts, writer->nexts_mapped);
    } else {
        free(writer->nexts);
    }
    free(writer->buffer);
    free(writer);
}

static bool open_output(struct writer *writer)
{
    const struct writer_options *o = &writer->options;

    if (o->path == NULL) {
        writer->out = stdout;
        if ((o->format->binary || o->format->ahead) && isatty(STDOUT_FILENO)) {
            fprintf(stderr, "locus: %s is not for terminals; --output names a file\n",
                    o->format->name);
            return false;
        }
        return true;
    }
    writer->out =
        compress_wanted(o->path) ? compress_open(o->path) : fopen(o->path, "wbe");
    if (writer->out == NULL) {
        return failed(writer, errno);
    }
    writer->buffer = malloc(OUTPUT_BUFFER);
    if (writer->buffer != NULL) {
        setvbuf(writer->out, writer->buffer, _IOFBF, OUTPUT_BUFFER);
    }
    return true;
}

struct writer *writer_open(const struct writer_options *options)
{
    struct writer *writer = calloc(1, sizeof(*writer));

    if (writer == NULL) {
        fprintf(stderr, "locus: out of memory\n");
        return NULL;
    }
    writer->options = *options;
    record_keys_init(&writer->keys);
    if (!open_output(writer)) {
        writer_abandon(writer);
        return NULL;
    }
    writer->records = options->records;
    bool wait = options->format->by_end || options->format->ahead ||
                (options->format->binary && options->keys == NULL);
    if (wait) {
        writer->sorter = sorter_create(options->memory_bytes);
        if (writer->sorter == NULL) {
            writer_abandon(writer);
            return NULL;
        }
    } else if (options->format->begin != NULL) {
        options->format->begin(writer);
    }
    return writer;
}

static void name_of(const struct writer *writer, uint8_t family,
                    const union locus_key *key, char text[NAME_MAX_TEXT])
{
    writer->options.name(writer->options.name_arg, family, key, text, NAME_MAX_TEXT);
}

/* The text of a name that is not kept yet; NULL of anything else. */
static struct slice new_name(const struct writer *writer, const struct keyset *keys,
                             uint8_t family, const union locus_key *key,
                             char text[NAME_MAX_TEXT])
{
    if (!writer->options.format->binary || family != LOCUS_NAME ||
        keyset_find(keys, family, key) != SIZE_MAX) {
        return (struct slice){NULL, 0};
    }
    name_of(writer, family, key, text);
    return slice_of(text);
}

static bool sort_one(struct writer *writer, const struct record *record)
{
    char dst[NAME_MAX_TEXT], src[NAME_MAX_TEXT];
    struct numbered_record numbered;
    struct record_keys *keys = &writer->keys;
    struct slice src_name = {NULL, 0};
    struct slice dst_name =
        new_name(writer, &keys->destinations, record->dst_family, &record->dst, dst);

    if (record->flags & RECORD_HAS_CLIENT) {
        src_name =
            new_name(writer, &keys->clients, record->src_family, &record->src, src);
    }
    if (!record_number(keys, record, dst_name, src_name, &numbered)) {
        fprintf(stderr, "locus: out of memory for keys\n");
        return false;
    }
    if (writer->options.format->by_end) { /* moved back when written */
        numbered.start_ns += numbered.duration_ns;
    }
    return sorter_add(writer->sorter, &numbered);
}

static bool write_one(struct writer *writer, const struct record *record)
{
    char dst[NAME_MAX_TEXT];
    char src[NAME_MAX_TEXT] = "";
    struct writer_names names = {dst, src};

    name_of(writer, record->dst_family, &record->dst, dst);
    if (record->flags & RECORD_HAS_CLIENT) {
        name_of(writer, record->src_family, &record->src, src);
    }
    writer->written++;
    writer->options.format->record(writer, record, &names);
    return !ferror(writer->out) || failed(writer, errno);
}

bool writer_record(struct writer *writer, const struct record *record)
{
    writer->records++;
    return writer->sorter == NULL ? write_one(writer, record)
                                  : sort_one(writer, record);
}

static bool write_text(struct writer *writer, const struct numbered_record *batch,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct record record;
        record_restore(&writer->keys, &batch[i], &record);
        record.start_ns -= writer->options.format->by_end ? record.duration_ns : 0;
        if (!write_one(writer, &record)) {
            return false;
        }
    }
    return true;
}

bool writer_numbered(struct writer *writer, const struct numbered_record *batch,
                     size_t count)
{
    writer->written += count;
    return fwrite(batch, sizeof(*batch), count, writer->out) == count ||
           failed(writer, errno);
}

static bool write_sorted(struct writer *writer)
{
    enum { BATCH = 256 };
    const struct writer_format *format = writer->options.format;
    struct numbered_record batch[BATCH];
    ssize_t got;

    if (!sorter_finish(writer->sorter)) {
        return false;
    }
    if (format->begin != NULL) {
        format->begin(writer);
        if (writer->failed) {
            return false;
        }
    }
    while ((got = sorter_next(writer->sorter, batch, BATCH)) > 0) {
        bool ok = format->binary ? writer_numbered(writer, batch, (size_t)got)
                                 : write_text(writer, batch, (size_t)got);
        if (!ok) {
            return false;
        }
    }
    return got == 0;
}

bool writer_close(struct writer *writer)
{
    bool ok = writer->sorter == NULL || write_sorted(writer);

    if (ok && (fflush(writer->out) != 0 || ferror(writer->out))) {
        ok = failed(writer, errno);
    }
    if (writer->options.path != NULL) {
        FILE *out = writer->out;
        writer->out = NULL;
        if (fclose(out) != 0 && ok) {
            ok = failed(writer, errno);
        }
    }
    writer_abandon(writer);
    return ok;
}
