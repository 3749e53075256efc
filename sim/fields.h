/* SPDX-License-Identifier: MIT */
/*
 * Pieces of lines and what they say. A slice is borrowed text without a NUL; every reader
 * of a value takes the whole slice or refuses it: no sign, no blank, no trailing junk, no
 * wrap-around. Nothing here allocates.
 */
#ifndef LOCUS_SIM_FIELDS_H
#define LOCUS_SIM_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <locus/locus.h>

struct slice {
    const char *text;
    size_t length;
};

static inline struct slice slice_of(const char *text)
{
    return (struct slice){text, strlen(text)};
}

static inline bool slice_equals(struct slice s, const char *text)
{
    return s.length == strlen(text) && memcmp(s.text, text, s.length) == 0;
}

static inline bool slice_is_dash(struct slice s)
{
    return s.length == 1 && s.text[0] == '-';
}

bool slice_starts(struct slice s, const char *prefix);
struct slice slice_trim(struct slice s); /* without blanks and tabs at both ends */
/* What is left of the first separator; *rest what is right of it. Without a separator the
 * whole, and *rest is empty with a text of NULL. */
struct slice slice_cut(struct slice s, char separator, struct slice *rest);

/* Splits at every separator; fields beyond capacity are counted, not stored. Returns how
 * many there are: at least 1. */
size_t split_each(struct slice line, char separator, struct slice *fields,
                  size_t capacity);
/* Splits at runs of blanks and tabs, none at the ends; 0 for a blank line. */
size_t split_runs(struct slice line, struct slice *fields, size_t capacity);
/* Splits as CSV: a field that begins with a quote ends at the next lone quote and may hold
 * separators; the quotes are not part of it, doubled quotes inside stay doubled. */
size_t split_quoted(struct slice line, char separator, struct slice *fields,
                    size_t capacity);

/* How much of it, from its beginning, stands for itself between quotes: printable ASCII, no
 * quote, no backslash. */
size_t plain_length(struct slice s);

bool slice_u64(struct slice s, uint64_t *out);
bool slice_port(struct slice s, uint16_t *out);
/* Decimal units of unit_ns nanoseconds: "1493737013.541" with 1,000,000,000. What is finer
 * than a nanosecond is read and cut. At most INT64_MAX ns. */
bool slice_time(struct slice s, uint64_t unit_ns, uint64_t *out_ns);
/* "2021-06-06T16:38:55.855844+0200", a blank or T between, any fraction, zone Z, +hh:mm,
 * +hhmm or none (UTC); or with slashes "2018/12/18 14:00:00.000000". From 1970 on. */
bool slice_iso_time(struct slice s, uint64_t *out_ns);
/* "17/May/2015:10:05:03 +0000", with a fraction and without a zone (UTC) as well. */
bool slice_clf_time(struct slice s, uint64_t *out_ns);

/* Strict IPv4 and IPv6 text without port, as locus_address_parse(). */
bool slice_ip(struct slice s, uint8_t *family, union locus_key *key);
/* "host", "host:port", "[v6]:port", bare "v6": host and port apart (0: none). False only
 * when a port is there that is none, or a bracket stays open, or there is no host. */
bool slice_host_port(struct slice s, struct slice *host, uint16_t *port);
/* Host and port of a URL: "scheme://user@host:port/path?", "host:port", "host". The port
 * is the scheme's own when the URL names none and the scheme is known. */
bool slice_url_host(struct slice url, struct slice *host, uint16_t *port);

/* IP protocol number of "tcp", "UDP", "icmp", "6" ...; PROTO_UNKNOWN otherwise. */
uint8_t slice_proto(struct slice s);
/* Its name in small letters; NULL: it has none here. */
const char *slice_proto_name(uint8_t proto);

/* Text for messages: what is not plain ASCII as \xNN, cut with "..." to fit size. */
void slice_show(struct slice s, char *out, size_t size);

#endif
