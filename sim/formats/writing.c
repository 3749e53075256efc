/* SPDX-License-Identifier: MIT */
#include "writing.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "fields.h"

/* A name as one word of a log: what would end it or the line is percent-encoded. */
void writing_encode(const char *name, const char *special, char out[WRITING_NAME])
{
    size_t used = 0;

    for (; *name != '\0' && used + 4 < WRITING_NAME; name++) {
        unsigned char c = (unsigned char)*name;
        if (c <= ' ' || c >= 0x7f || c == '%' || strchr(special, c) != NULL) {
            used += (size_t)snprintf(out + used, WRITING_NAME - used, "%%%02X", c);
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
const char *writing_client(const struct writing *w, const struct record *record,
                           char out[WRITING_NAME])
{
    if (!(record->flags & RECORD_HAS_CLIENT)) {
        return "-";
    }
    writing_encode(w->src, "\"\\", out);
    return out;
}

/* A URL for the destination: itself if it is one, with it as the host if it can be one, with
 * it as the path otherwise. */
void writing_url(const struct writing *w, const struct record *record, char *out,
                 size_t size)
{
    char word[WRITING_NAME];
    bool default_port = record->dst_port == 0 || record->dst_port == 80;
    char port[8] = "";

    if (!default_port) {
        snprintf(port, sizeof(port), ":%u", record->dst_port);
    }
    if (record->dst_family == LOCUS_IPV4) {
        snprintf(out, size, "http://%s%s/", w->dst, port);
    } else if (record->dst_family == LOCUS_IPV6) {
        snprintf(out, size, "http://[%s]%s/", w->dst, port);
    } else if (is_host(w->dst)) {
        snprintf(out, size, "http://%s%s/", w->dst, port);
    } else {
        writing_encode(w->dst, "\"\\", word);
        bool url = strstr(w->dst, "://") != NULL;
        const char *slash = word[0] == '/' ? "" : "/";
        snprintf(out, size, "%s%s%s", url ? "" : "http://trace.invalid",
                 url ? "" : slash, word);
    }
}

/* The path of a web log's request. */
void writing_request_url(const struct writing *w, const struct record *r, char *out,
                         size_t size)
{
    char word[WRITING_NAME];

    if (r->dst_family == LOCUS_NAME && w->dst[0] == '/') {
        writing_encode(w->dst, "\"\\", word);
        snprintf(out, size, "%s", word);
    } else {
        writing_url(w, r, out, size);
    }
}

uint64_t writing_end_ns(const struct record *record)
{
    return record->start_ns + record->duration_ns;
}

/* As logs of flows spell it. Requests of a proxy or web server say none: they came over TCP. */
const char *writing_proto(uint8_t proto, char out[12])
{
    const char *name = slice_proto_name(proto == PROTO_UNKNOWN ? PROTO_TCP : proto);

    if (name == NULL) {
        snprintf(out, 12, "%u", proto);
    } else {
        snprintf(out, 12, "%s", name);
    }
    return out;
}

const char *writing_proto_upper(uint8_t proto, char out[12])
{
    writing_proto(proto, out);
    for (char *at = out; *at != '\0'; at++) {
        *at = (char)(*at >= 'a' && *at <= 'z' ? *at - 'a' + 'A' : *at);
    }
    return out;
}

const char *writing_nanos(uint64_t ns, char out[32])
{
    snprintf(out, 32, "%" PRIu64 ".%09u", ns / NS_PER_S, (unsigned)(ns % NS_PER_S));
    return out;
}

/* "seconds.micros" or "-". */
const char *writing_seconds(bool there, uint64_t ns, char out[32])
{
    if (!there) {
        return "-";
    }
    snprintf(out, 32, "%" PRIu64 ".%06u", ns / NS_PER_S,
             (unsigned)(ns % NS_PER_S / 1000));
    return out;
}

/* Some formats have addresses only: a name gets one of the documentation range, made from
 * its hash. */
void writing_address(uint8_t family, const union locus_key *key, const char *name,
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

void writing_client_address(const struct writing *w, const struct record *r,
                            char out[64])
{
    if (r->flags & RECORD_HAS_CLIENT) {
        writing_address(r->src_family, &r->src, w->src, out);
    } else {
        snprintf(out, 64, "192.0.2.1");
    }
}

/* "17/May/2015:10:05:03" with what strftime would take from the locale written out. */
void writing_clf_time(uint64_t ns, char out[32])
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    time_t when = (time_t)(ns / NS_PER_S);
    struct tm tm;

    if (gmtime_r(&when, &tm) == NULL) {
        memset(&tm, 0, sizeof(tm));
    }
    snprintf(out, 32, "%02d/%.3s/%04d:%02d:%02d:%02d", tm.tm_mday,
             months + 3 * tm.tm_mon, tm.tm_year + 1900, tm.tm_hour, tm.tm_min,
             tm.tm_sec);
}

/* "2023-11-14 22:13:20.100", with that in front of the time and so many digits. */
void writing_iso_time(uint64_t ns, char between, unsigned digits, char out[40])
{
    time_t when = (time_t)(ns / NS_PER_S);
    struct tm tm = {0};
    char fraction[10];

    gmtime_r(&when, &tm);
    snprintf(fraction, sizeof(fraction), "%09u", (unsigned)(ns % NS_PER_S));
    snprintf(out, 40, "%04d-%02d-%02d%c%02d:%02d:%02d.%.*s", tm.tm_year + 1900,
             tm.tm_mon + 1, tm.tm_mday, between, tm.tm_hour, tm.tm_min, tm.tm_sec,
             (int)digits, fraction);
}

/* Objects have numbers: a name that is one keeps it, others get one by their hash. */
uint64_t writing_object(const struct record *r, const char *name)
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
