/* SPDX-License-Identifier: MIT */
#include "fields.h"

#include <strings.h>

#include "../records/record.h"

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

bool slice_flow_port(struct slice s, uint8_t proto, uint16_t *out)
{
    bool has_ports = proto == PROTO_TCP || proto == PROTO_UDP;

    return !has_ports || s.length == 0 || slice_port(s, out);
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
