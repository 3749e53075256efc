/* SPDX-License-Identifier: MIT */
#include "addresses.h"

#include "fields.h"

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
