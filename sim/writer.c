/* SPDX-License-Identifier: MIT */
#include "writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fields.h"
#include "keyset.h"
#include "locus_file.h"
#include "sort.h"

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

static const char *proto_name(uint8_t proto)
{
    return proto == PROTO_UDP ? "udp" : proto == 1 ? "icmp" : "tcp";
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

    address_word(r->dst_family, &r->dst, names->dst, dst);
    client_address(r, names, src);
    fprintf(w->out, "%s\tC%" PRIx64 "\t%s\t%u\t%s\t%u\t%s\t-\t%s\t-\t%" PRIu64 "\tSF\n",
            seconds(true, r->start_ns, start), w->written, src, r->src_port, dst,
            r->dst_port, proto_name(r->proto),
            seconds(r->flags & RECORD_HAS_DURATION, r->duration_ns, duration),
            r->bytes);
}

static void zeek_json_record(struct writer *w, const struct record *r,
                             const struct writer_names *names)
{
    char dst[64];
    char src[64];
    char number[32];

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
            proto_name(r->proto), r->bytes);
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

    /* A colon in a name would be read as the one in front of a port. */
    encode(names->dst, r->dst_family == LOCUS_NAME ? "\",:" : "\",", dst);
    if (r->flags & RECORD_HAS_CLIENT) {
        encode(names->src, "\",", src);
    }
    if (!w->options.timeless) {
        fprintf(w->out, "%s,", nanos(r->start_ns, number));
    }
    fprintf(w->out, "%s,%u,%s,%u,%s,", dst, r->dst_port, src, r->src_port,
            proto_name(r->proto));
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
        seconds(true, r->duration_ns, duration), proto_name(r->proto), src, r->src_port,
        dst, r->dst_port, r->bytes);
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
    struct locus_file_header header = {
        .magic = {'L', 'O', 'C', 'U', 'S', '\r', '\n', '\x1a'},
        .version = LOCUS_FILE_VERSION,
        .record_bytes = sizeof(struct numbered_record),
        .count = w->records,
        .destinations = w->keys.destinations.count,
        .clients = w->keys.clients.count,
        .flags = w->options.timeless ? LOCUS_FILE_TIMELESS : 0,
    };

    fwrite(&header, sizeof(header), 1, w->out);
    locus_keys(w, &w->keys.destinations);
    locus_keys(w, &w->keys.clients);
}

const struct writer_format writer_formats[] = {
    {"squid", "Squid access.log", true, false, NULL, squid_record},
    {"zeek-tsv", "Zeek conn.log", true, false, zeek_tsv_begin, zeek_tsv_record},
    {"zeek-json", "Zeek conn.log as JSON", true, false, NULL, zeek_json_record},
    {"weblog", "Combined Log Format, no durations", false, false, NULL, weblog_record},
    {"haproxy", "HAProxy tcplog", true, false, NULL, haproxy_record},
    {"nginx", "nginx with upstream fields", true, false, NULL, nginx_record},
    {"binetflow", "Argus flows", false, false, binetflow_begin, binetflow_record},
    {"libcachesim", "time,obj_id,obj_size", false, false, libcachesim_begin,
     libcachesim_record},
    {"objects", "time id size", false, false, NULL, objects_record},
    {"csv", "all that locus knows, with a header", false, false, csv_begin, csv_record},
    {"locus", "locus' own binary, the fastest to read", false, true, locus_begin, NULL},
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
    free(writer->buffer);
    free(writer);
}

static bool open_output(struct writer *writer)
{
    const struct writer_options *o = &writer->options;

    if (o->path == NULL) {
        writer->out = stdout;
        if (o->format->binary && isatty(STDOUT_FILENO)) {
            fprintf(stderr, "locus: %s is not for terminals; --output names a file\n",
                    o->format->name);
            return false;
        }
        return true;
    }
    writer->out = fopen(o->path, "wbe");
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
    if (options->format->by_end || options->format->binary) {
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

static bool write_binary(struct writer *writer, const struct numbered_record *batch,
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
    }
    while ((got = sorter_next(writer->sorter, batch, BATCH)) > 0) {
        bool ok = format->binary ? write_binary(writer, batch, (size_t)got)
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
