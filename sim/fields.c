/* SPDX-License-Identifier: MIT */
#include "fields.h"

#include <endian.h>
#include <stdio.h>
#include <strings.h>

#include "record.h"

bool slice_starts(struct slice s, const char *prefix)
{
    size_t length = strlen(prefix);

    return s.length >= length && memcmp(s.text, prefix, length) == 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

struct slice slice_trim(struct slice s)
{
    while (s.length > 0 && is_blank(s.text[0])) {
        s.text++;
        s.length--;
    }
    while (s.length > 0 && is_blank(s.text[s.length - 1])) {
        s.length--;
    }
    return s;
}

struct slice slice_cut(struct slice s, char separator, struct slice *rest)
{
    const char *at = s.length == 0 ? NULL : memchr(s.text, separator, s.length);

    if (at == NULL) {
        *rest = (struct slice){NULL, 0};
        return s;
    }
    size_t left = (size_t)(at - s.text);
    *rest = (struct slice){at + 1, s.length - left - 1};
    return (struct slice){s.text, left};
}

#define EACH_BYTE(value) (0x0101010101010101ull * (uint8_t)(value))

/* Eight bytes, the first in the lowest place. */
static uint64_t load_word(const char *text)
{
    uint64_t word;

    memcpy(&word, text, sizeof(word));
    return le64toh(word);
}

/* Bytes of word that equal the byte repeated in pattern, as 0x80 each. Exact: no borrow
 * runs from one byte into the next. */
static uint64_t equal_bytes(uint64_t word, uint64_t pattern)
{
    const uint64_t low7 = EACH_BYTE(0x7f);
    uint64_t x = word ^ pattern;

    return ~(((x & low7) + low7) | x | low7);
}

/* Bytes of word that are greater than limit (below 0x80), as 0x80 each. */
static uint64_t greater_bytes(uint64_t word, uint8_t limit)
{
    uint64_t low = (word & EACH_BYTE(0x7f)) + EACH_BYTE(0x7f - limit);

    return (low | word) & EACH_BYTE(0x80);
}

/* Which of eight bytes is marked first. */
static size_t first_byte(uint64_t marks)
{
    return (size_t)__builtin_ctzll(marks) >> 3;
}

/* What is gathered while a line is split. */
struct split {
    struct slice *fields;
    size_t capacity, count;
    const char *start; /* behind the last separator */
};

/* A separator, or the end of the line, stands there. */
static inline void end_field(struct split *split, const char *at)
{
    if (split->count < split->capacity) {
        split->fields[split->count] =
            (struct slice){split->start, (size_t)(at - split->start)};
    }
    split->count++;
    split->start = at + 1;
}

/* Fields of a log are short, so that a memchr() for each costs more than this: eight bytes
 * at a time, one step per separator found. */
size_t split_each(struct slice line, char separator, struct slice *fields,
                  size_t capacity)
{
    const uint64_t pattern = EACH_BYTE(separator);
    const char *at = line.text, *end = line.text + line.length;
    struct split split = {fields, capacity, 0, line.text};

    for (; end - at >= 8; at += 8) {
        uint64_t hits = equal_bytes(load_word(at), pattern);
        for (; hits != 0; hits &= hits - 1) {
            end_field(&split, at + first_byte(hits));
        }
    }
    for (; at < end; at++) {
        if (*at == separator) {
            end_field(&split, at);
        }
    }
    end_field(&split, end);
    return split.count;
}

/* A blank, or the end of the line, stands there. */
static inline void end_run(struct split *split, const char *at)
{
    if (at > split->start) {
        end_field(split, at);
    } else {
        split->start = at + 1;
    }
}

size_t split_runs(struct slice line, struct slice *fields, size_t capacity)
{
    struct split split = {fields, capacity, 0, line.text};
    size_t at = 0;

    for (; at + 8 <= line.length; at += 8) {
        /* Blanks are the only common ones among the bytes up to 0x20. */
        uint64_t low = ~greater_bytes(load_word(line.text + at), ' ') & EACH_BYTE(0x80);
        for (; low != 0; low &= low - 1) {
            const char *hit = line.text + at + first_byte(low);
            if (is_blank(*hit)) {
                end_run(&split, hit);
            }
        }
    }
    for (; at < line.length; at++) {
        if (is_blank(line.text[at])) {
            end_run(&split, line.text + at);
        }
    }
    end_run(&split, line.text + line.length);
    return split.count;
}

size_t plain_length(struct slice s)
{
    size_t at = 0;

    for (; at + 8 <= s.length; at += 8) {
        uint64_t word = load_word(s.text + at);
        uint64_t other = equal_bytes(word, EACH_BYTE('"')) |
                         equal_bytes(word, EACH_BYTE('\\')) | greater_bytes(word, '~') |
                         (~greater_bytes(word, ' ' - 1) & EACH_BYTE(0x80));
        if (other != 0) {
            return at + first_byte(other);
        }
    }
    while (at < s.length && s.text[at] >= ' ' && s.text[at] <= '~' &&
           s.text[at] != '"' && s.text[at] != '\\') {
        at++;
    }
    return at;
}

/* Where the field that begins with a quote ends: at the quote, or at the end of line. */
static size_t quoted_end(struct slice line, size_t at)
{
    for (; at < line.length; at++) {
        if (line.text[at] != '"') {
            continue;
        }
        if (at + 1 < line.length && line.text[at + 1] == '"') {
            at++;
            continue;
        }
        return at;
    }
    return line.length;
}

size_t split_quoted(struct slice line, char separator, struct slice *fields,
                    size_t capacity)
{
    size_t count = 0;
    size_t at = 0;

    if (line.length == 0 || memchr(line.text, '"', line.length) == NULL) {
        return split_each(line, separator, fields, capacity);
    }
    for (;;) {
        size_t start = at;
        size_t end;
        if (at < line.length && line.text[at] == '"') {
            start = at + 1;
            end = quoted_end(line, start);
            at = end < line.length ? end + 1 : end;
        } else {
            end = 0;
        }
        while (at < line.length && line.text[at] != separator) {
            at++;
        }
        if (end == 0) {
            end = at;
        }
        if (count < capacity) {
            fields[count] = (struct slice){line.text + start, end - start};
        }
        count++;
        if (at == line.length) {
            return count;
        }
        at++;
    }
}

/* The digits that a text begins with: how many, and their value, which wraps beyond 19. */
static inline size_t read_digits(const char *text, size_t length, uint64_t *value)
{
    uint64_t sum = 0;
    size_t count = 0;

    for (; count < length; count++) {
        unsigned digit = (unsigned)(unsigned char)text[count] - '0';
        if (digit > 9) {
            break;
        }
        sum = sum * 10 + digit;
    }
    *value = sum;
    return count;
}

bool slice_u64(struct slice s, uint64_t *out)
{
    const uint64_t ten_to_19 = 10000000000000000000u;
    uint64_t value;
    size_t digits = read_digits(s.text, s.length, &value);

    if (digits == 0 || digits < s.length || digits > 20) {
        return false;
    }
    /* 19 digits always fit. Of 20, the first is what the value says, unless it wrapped. */
    if (digits == 20 && value / ten_to_19 != (uint64_t)(s.text[0] - '0')) {
        return false;
    }
    *out = value;
    return true;
}

bool slice_port(struct slice s, uint16_t *out)
{
    uint64_t value;

    if (!slice_u64(s, &value) || value > UINT16_MAX) {
        return false;
    }
    *out = (uint16_t)value;
    return true;
}

/* The digits behind the point as a part of 10^9; false when one is no digit. */
static bool read_fraction(const char *text, size_t length, uint64_t *out)
{
    static const uint32_t scale[10] = {1000000000, 100000000, 10000000, 1000000, 100000,
                                       10000,      1000,      100,      10,      1};
    uint64_t value;
    uint64_t finer;
    size_t digits = read_digits(text, length < 9 ? length : 9, &value);

    *out = value * scale[digits];
    digits += read_digits(text + digits, length - digits, &finer);
    return digits == length && length > 0;
}

bool slice_time(struct slice s, uint64_t unit_ns, uint64_t *out_ns)
{
    uint64_t whole;
    uint64_t fraction = 0;
    size_t digits = read_digits(s.text, s.length, &whole);

    if (digits == 0 || digits > 19) {
        return false;
    }
    if (digits < s.length &&
        (s.text[digits] != '.' ||
         !read_fraction(s.text + digits + 1, s.length - digits - 1, &fraction))) {
        return false;
    }
    /* fraction < 10^9 and unit_ns <= 10^9, so that the product fits. */
    fraction = unit_ns == 1000000000 ? fraction : fraction * unit_ns / 1000000000;
    if (__builtin_mul_overflow(whole, unit_ns, &whole) ||
        whole > (uint64_t)INT64_MAX - fraction) {
        return false;
    }
    *out_ns = whole + fraction;
    return true;
}

/* Days since 1970-01-01 in the Gregorian calendar; years are counted from March so that
 * the leap day is the last of its year. */
static int64_t days_from_civil(unsigned year, unsigned month, unsigned day)
{
    unsigned y = month <= 2 ? year - 1 : year;
    unsigned shifted = (month + 9) % 12;
    unsigned day_of_year = (153 * shifted + 2) / 5 + day - 1;

    return (int64_t)y * 365 + y / 4 - y / 100 + y / 400 + day_of_year - 719468;
}

static bool real_date(unsigned year, unsigned month, unsigned day)
{
    static const uint8_t days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

    if (month < 1 || month > 12 || day < 1) {
        return false;
    }
    return day <= days[month - 1] + (unsigned)(leap && month == 2);
}

/* Exactly digits decimal digits at *at, which moves behind them. */
static bool take_digits(struct slice s, size_t *at, unsigned digits, unsigned *out)
{
    unsigned value = 0;

    if (s.length - *at < digits) {
        return false;
    }
    for (unsigned i = 0; i < digits; i++) {
        unsigned digit = (unsigned)(unsigned char)s.text[*at + i] - '0';
        if (digit > 9) {
            return false;
        }
        value = value * 10 + digit;
    }
    *at += digits;
    *out = value;
    return true;
}

static bool take_char(struct slice s, size_t *at, char c)
{
    if (*at >= s.length || s.text[*at] != c) {
        return false;
    }
    (*at)++;
    return true;
}

/* What follows the seconds: fraction, blanks, zone, the end. */
static bool take_zone(struct slice s, size_t at, int64_t *offset_s, uint64_t *fraction)
{
    *offset_s = 0;
    *fraction = 0;
    if (take_char(s, &at, '.')) {
        size_t start = at;
        while (at < s.length && s.text[at] >= '0' && s.text[at] <= '9') {
            at++;
        }
        if (!read_fraction(s.text + start, at - start, fraction)) {
            return false;
        }
    }
    take_char(s, &at, ' ');
    if (at == s.length) {
        return true;
    }
    if (take_char(s, &at, 'Z')) {
        return at == s.length;
    }
    bool west = s.text[at] == '-';
    unsigned hours;
    unsigned minutes;
    if (!west && s.text[at] != '+') {
        return false;
    }
    at++;
    if (!take_digits(s, &at, 2, &hours)) {
        return false;
    }
    take_char(s, &at, ':');
    if (!take_digits(s, &at, 2, &minutes) || at != s.length || hours > 14 ||
        minutes > 59) {
        return false;
    }
    *offset_s = (int64_t)(hours * 3600 + minutes * 60) * (west ? -1 : 1);
    return true;
}

struct clock {
    unsigned hour, minute, second;
};

static bool take_clock(struct slice s, size_t *at, struct clock *out)
{
    /* A leap second is written as 60. */
    return take_digits(s, at, 2, &out->hour) && take_char(s, at, ':') &&
           take_digits(s, at, 2, &out->minute) && take_char(s, at, ':') &&
           take_digits(s, at, 2, &out->second) && out->hour <= 23 &&
           out->minute <= 59 && out->second <= 60;
}

static bool combine(int64_t days, const struct clock *clock, struct slice s, size_t at,
                    uint64_t *out_ns)
{
    int64_t offset_s;
    uint64_t fraction;

    if (!take_zone(s, at, &offset_s, &fraction)) {
        return false;
    }
    int64_t seconds = days * 86400 + (int64_t)clock->hour * 3600 +
                      (int64_t)clock->minute * 60 + (int64_t)clock->second - offset_s;
    if (seconds < 0 || seconds >= INT64_MAX / 1000000000) {
        return false;
    }
    *out_ns = (uint64_t)seconds * 1000000000 + fraction;
    return true;
}

bool slice_iso_time(struct slice s, uint64_t *out_ns)
{
    unsigned year, month, day;
    struct clock clock;
    size_t at = 0;

    if (s.length < 19 || (s.text[4] != '-' && s.text[4] != '/')) {
        return false;
    }
    char dash = s.text[4];
    if (!take_digits(s, &at, 4, &year) || !take_char(s, &at, dash) ||
        !take_digits(s, &at, 2, &month) || !take_char(s, &at, dash) ||
        !take_digits(s, &at, 2, &day) || !real_date(year, month, day)) {
        return false;
    }
    if (!take_char(s, &at, 'T') && !take_char(s, &at, ' ')) {
        return false;
    }
    if (!take_clock(s, &at, &clock)) {
        return false;
    }
    return combine(days_from_civil(year, month, day), &clock, s, at, out_ns);
}

bool slice_clf_time(struct slice s, uint64_t *out_ns)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    unsigned year, day;
    struct clock clock;
    size_t at = 0;
    unsigned month = 0;

    if (s.length < 20 || !take_digits(s, &at, 2, &day) || !take_char(s, &at, '/')) {
        return false;
    }
    while (month < 12 && memcmp(months + 3 * month, s.text + at, 3) != 0) {
        month++;
    }
    at += 3;
    if (!take_char(s, &at, '/') || !take_digits(s, &at, 4, &year) ||
        !take_char(s, &at, ':') || !real_date(year, month + 1, day) ||
        !take_clock(s, &at, &clock)) {
        return false;
    }
    return combine(days_from_civil(year, month + 1, day), &clock, s, at, out_ns);
}

/* The digit at text[at], or more than 9. */
static inline unsigned digit_at(const char *text, size_t length, size_t at)
{
    return at < length ? (unsigned)(unsigned char)text[at] - '0' : 10;
}

/* One step per digit, and no loop over them: their number is what a processor foresees
 * worst here. */
static bool read_ipv4(const char *text, size_t length, uint32_t *out)
{
    uint32_t address = 0;
    size_t at = 0;

    for (int part = 0; part < 4; part++) {
        if (part > 0 && (at >= length || text[at++] != '.')) {
            return false;
        }
        unsigned value = digit_at(text, length, at++);
        unsigned digit;
        if (value > 9) {
            return false;
        }
        if ((digit = digit_at(text, length, at)) <= 9) {
            if (value == 0) {
                return false;
            }
            value = value * 10 + digit;
            if ((digit = digit_at(text, length, ++at)) <= 9) {
                value = value * 10 + digit;
                at++;
            }
        }
        if (value > 255) {
            return false;
        }
        address = address << 8 | value;
    }
    *out = address;
    return at == length;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* One group of up to four hexadecimal digits at *at. */
static bool take_group(const char *text, size_t length, size_t *at, unsigned *out)
{
    unsigned value = 0;
    size_t digits = 0;

    while (*at < length && digits < 4) {
        int digit = hex_digit(text[*at]);
        if (digit < 0) {
            break;
        }
        value = value << 4 | (unsigned)digit;
        (*at)++;
        digits++;
    }
    *out = value;
    return digits > 0;
}

static bool read_ipv6(const char *text, size_t length, uint8_t out[16])
{
    uint8_t bytes[16] = {0};
    size_t filled = 0;     /* bytes so far */
    size_t gap = SIZE_MAX; /* where "::" stood */
    size_t at = 0;

    if (length >= 2 && text[0] == ':' && text[1] == ':') {
        gap = 0;
        at = 2;
    }
    while (at < length) {
        size_t start = at;
        unsigned group;
        if (filled == 16 || !take_group(text, length, &at, &group)) {
            return false;
        }
        if (at < length && text[at] == '.') {
            uint32_t ipv4;
            if (filled > 12 || !read_ipv4(text + start, length - start, &ipv4)) {
                return false;
            }
            for (int shift = 24; shift >= 0; shift -= 8) {
                bytes[filled++] = (uint8_t)(ipv4 >> shift);
            }
            break;
        }
        bytes[filled++] = (uint8_t)(group >> 8);
        bytes[filled++] = (uint8_t)group;
        if (at == length) {
            break;
        }
        if (text[at++] != ':' || at == length) {
            return false;
        }
        if (text[at] == ':') {
            if (gap != SIZE_MAX) {
                return false;
            }
            gap = filled;
            at++;
        }
    }
    if (gap == SIZE_MAX ? filled != 16 : filled > 14) {
        return false;
    }
    if (gap != SIZE_MAX) {
        size_t tail = filled - gap;
        memmove(bytes + 16 - tail, bytes + gap, tail);
        memset(bytes + gap, 0, 16 - filled);
    }
    memcpy(out, bytes, 16);
    return true;
}

/* An address goes where it is wanted, and not through a union that is copied: a processor
 * waits when it is to read more at once than was just written. */
bool slice_ip(struct slice s, uint8_t *family, union locus_key *key)
{
    uint32_t ipv4;
    uint8_t ipv6[16];

    if (s.length < 2 || s.length > 45) {
        return false;
    }
    /* An IPv4 address has its first dot within four bytes, an IPv6 one a colon in five. */
    if (s.text[0] <= '9' && read_ipv4(s.text, s.length, &ipv4)) {
        *family = LOCUS_IPV4;
        key->words[0] = key->words[1] = 0;
        key->ipv4 = ipv4;
        return true;
    }
    if (memchr(s.text, ':', s.length < 5 ? s.length : 5) != NULL &&
        read_ipv6(s.text, s.length, ipv6)) {
        *family = LOCUS_IPV6;
        memcpy(key->bytes, ipv6, sizeof(ipv6));
        return true;
    }
    return false;
}

bool slice_host_port(struct slice s, struct slice *host, uint16_t *port)
{
    struct slice rest;

    *port = 0;
    if (s.length > 0 && s.text[0] == '[') {
        const char *close = memchr(s.text, ']', s.length);
        if (close == NULL) {
            return false;
        }
        *host = (struct slice){s.text + 1, (size_t)(close - s.text) - 1};
        rest = (struct slice){close + 1, s.length - host->length - 2};
        if (rest.length == 0) {
            return host->length > 0;
        }
        rest.text++;
        rest.length--;
        return host->length > 0 && close[1] == ':' && slice_port(rest, port);
    }
    *host = slice_cut(s, ':', &rest);
    if (rest.text == NULL) {
        return host->length > 0;
    }
    if (memchr(rest.text, ':', rest.length) != NULL) { /* a bare IPv6 address */
        *host = s;
        return true;
    }
    return host->length > 0 && slice_port(rest, port);
}

static uint16_t scheme_port(struct slice scheme)
{
    if (slice_equals(scheme, "http")) {
        return 80;
    }
    if (slice_equals(scheme, "https")) {
        return 443;
    }
    return slice_equals(scheme, "ftp") ? 21 : 0;
}

/* What may stand in a host name; the rest says that this is no host but something else. */
static inline bool host_char(char c)
{
    bool alnum = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');

    return alnum || c == '.' || c == '-' || c == '_' || c == ':' || (c & 0x80);
}

static bool host_like(struct slice host)
{
    size_t i = 0;

    while (i < host.length && host_char(host.text[i])) {
        i++;
    }
    return i > 0 && i == host.length;
}

/* The URL without "scheme://", whose port goes to *port. */
static struct slice skip_scheme(struct slice url, uint16_t *port)
{
    for (size_t i = 0; i + 2 < url.length; i++) {
        char c = url.text[i];
        if (c == ':' && url.text[i + 1] == '/' && url.text[i + 2] == '/') {
            *port = scheme_port((struct slice){url.text, i});
            return (struct slice){url.text + i + 3, url.length - i - 3};
        }
        if (c == '/' || c == '?' || c == '#') {
            break;
        }
    }
    return url;
}

bool slice_url_host(struct slice url, struct slice *host, uint16_t *port)
{
    uint16_t default_port = 0;
    size_t end = 0;
    bool plain = true; /* nothing but what a host may have, so far */

    url = skip_scheme(url, &default_port);
    while (end < url.length && url.text[end] != '/' && url.text[end] != '?' &&
           url.text[end] != '#') {
        if (url.text[end] == '@') { /* user and password end here */
            url.text += end + 1;
            url.length -= end + 1;
            end = 0;
            plain = true;
        } else {
            plain = plain && host_char(url.text[end]);
            end++;
        }
    }
    url.length = end;
    if (!slice_host_port(url, host, port) || !(plain || host_like(*host))) {
        return false;
    }
    if (*port == 0) {
        *port = default_port;
    }
    return true;
}

static const struct {
    const char *name;
    uint8_t number;
} protocols[] = {{"tcp", PROTO_TCP}, {"udp", PROTO_UDP}, {"icmp", 1}, {"igmp", 2},
                 {"gre", 47},        {"esp", 50},        {"ah", 51},  {"icmp6", 58},
                 {"ipv6-icmp", 58},  {"sctp", 132}};
enum { PROTOCOLS = sizeof(protocols) / sizeof(protocols[0]) };

uint8_t slice_proto(struct slice s)
{
    uint64_t number;

    if (slice_equals(s, "tcp")) { /* as almost all logs spell almost all records */
        return PROTO_TCP;
    }
    for (size_t i = 0; i < PROTOCOLS; i++) {
        if (strlen(protocols[i].name) == s.length &&
            strncasecmp(protocols[i].name, s.text, s.length) == 0) {
            return protocols[i].number;
        }
    }
    return slice_u64(s, &number) && number <= UINT8_MAX ? (uint8_t)number
                                                        : PROTO_UNKNOWN;
}

const char *slice_proto_name(uint8_t proto)
{
    for (size_t i = 0; i < PROTOCOLS; i++) {
        if (protocols[i].number == proto) {
            return protocols[i].name;
        }
    }
    return NULL;
}

void slice_show(struct slice s, char *out, size_t size)
{
    size_t used = 0;

    if (size == 0) {
        return;
    }
    for (size_t i = 0; i < s.length; i++) {
        unsigned char c = (unsigned char)s.text[i];
        bool plain = c >= 0x20 && c < 0x7f;
        if (used + (plain ? 1 : 4) + 4 > size) {
            snprintf(out + used, size - used, "...");
            return;
        }
        if (plain) {
            out[used++] = (char)c;
        } else {
            used += (size_t)snprintf(out + used, size - used, "\\x%02x", c);
        }
    }
    out[used] = '\0';
}
