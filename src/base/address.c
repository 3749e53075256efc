/* SPDX-License-Identifier: MIT */
/* Text forms of addresses, read strictly, written canonically. */
#include <string.h>

#include <locus/locus.h>

struct cursor {
    const char *at, *end;
};

static bool take(struct cursor *c, char wanted)
{
    if (c->at == c->end || *c->at != wanted) {
        return false;
    }
    c->at++;
    return true;
}

/* Decimal without leading zeros, at most max. */
static bool take_decimal(struct cursor *c, uint32_t max, uint32_t *out)
{
    const char *start = c->at;
    uint32_t value = 0;

    while (c->at < c->end && *c->at >= '0' && *c->at <= '9') {
        value = value * 10 + (uint32_t)(*c->at - '0');
        if (value > max) {
            return false;
        }
        c->at++;
    }
    if (c->at == start || (*start == '0' && c->at - start > 1)) {
        return false;
    }
    *out = value;
    return true;
}

static bool take_ipv4(struct cursor *c, uint32_t *out)
{
    uint32_t address = 0;

    for (int i = 0; i < 4; i++) {
        uint32_t octet;
        if ((i > 0 && !take(c, '.')) || !take_decimal(c, 255, &octet)) {
            return false;
        }
        address = address << 8 | octet;
    }
    *out = address;
    return true;
}

static int hex_digit(char ch)
{
    if (ch >= '0' && ch <= '9') {
        return ch - '0';
    }
    if (ch >= 'a' && ch <= 'f') {
        return ch - 'a' + 10;
    }
    if (ch >= 'A' && ch <= 'F') {
        return ch - 'A' + 10;
    }
    return -1;
}

/* One to four hexadecimal digits. */
static bool take_group(struct cursor *c, uint32_t *out)
{
    const char *start = c->at;
    uint32_t value = 0;

    while (c->at < c->end && c->at - start < 4 && hex_digit(*c->at) >= 0) {
        value = value << 4 | (uint32_t)hex_digit(*c->at);
        c->at++;
    }
    *out = value;
    return c->at > start;
}

/* The dotted quad that may end an IPv6 address, as two groups. */
static bool take_quad(struct cursor *c, uint16_t groups[2])
{
    struct cursor ahead = *c;
    uint32_t quad;

    if (!take_ipv4(&ahead, &quad)) {
        return false;
    }
    *c = ahead;
    groups[0] = (uint16_t)(quad >> 16);
    groups[1] = (uint16_t)quad;
    return true;
}

static void put_groups(const uint16_t *groups, int count, int gap, uint8_t bytes[16])
{
    int shift = gap < 0 ? 0 : 8 - count; /* zero groups that "::" stands for */

    memset(bytes, 0, 16);
    for (int i = 0; i < count; i++) {
        int at = gap >= 0 && i >= gap ? i + shift : i;
        bytes[2 * at] = (uint8_t)(groups[i] >> 8);
        bytes[2 * at + 1] = (uint8_t)groups[i];
    }
}

static bool take_ipv6(struct cursor *c, uint8_t bytes[16])
{
    uint16_t groups[8];
    int count = 0, gap = -1; /* gap: how many groups stand before "::" */

    if (c->end - c->at >= 2 && c->at[0] == ':' && c->at[1] == ':') {
        gap = 0;
        c->at += 2;
    }
    while (count < 8 && c->at < c->end && hex_digit(*c->at) >= 0) {
        uint32_t group;
        if (count <= 6 && take_quad(c, groups + count)) {
            count += 2;
            break;
        }
        if (!take_group(c, &group)) {
            return false;
        }
        groups[count++] = (uint16_t)group;
        if (c->end - c->at >= 2 && c->at[0] == ':' && c->at[1] == ':') {
            if (gap >= 0) {
                return false;
            }
            gap = count;
            c->at += 2;
        } else if (count < 8 && c->end - c->at >= 2 && c->at[0] == ':' &&
                   hex_digit(c->at[1]) >= 0) {
            c->at++;
        } else {
            break;
        }
    }
    if (gap < 0 ? count != 8 : count > 7) {
        return false;
    }
    put_groups(groups, count, gap, bytes);
    return true;
}

int locus_address_parse(const char *text, size_t length, struct locus_address *out)
{
    struct cursor c = {text, text + length};
    struct locus_address address;
    uint32_t port = 0;
    bool ok;

    memset(&address, 0, sizeof(address));
    if (take(&c, '[')) {
        address.family = LOCUS_IPV6;
        ok = take_ipv6(&c, address.key.bytes) && take(&c, ']') &&
             (c.at == c.end || (take(&c, ':') && take_decimal(&c, 65535, &port)));
    } else {
        struct cursor start = c;
        address.family = LOCUS_IPV4;
        ok = take_ipv4(&c, &address.key.ipv4) &&
             (c.at == c.end || (take(&c, ':') && take_decimal(&c, 65535, &port)));
        if (!ok) {
            c = start;
            port = 0;
            address.family = LOCUS_IPV6;
            ok = take_ipv6(&c, address.key.bytes);
        }
    }
    if (!ok || c.at != c.end) {
        return LOCUS_EINVAL;
    }
    address.port = (uint16_t)port;
    *out = address;
    return LOCUS_OK;
}

/* Text that is counted in full and stored as far as it fits. */
struct writer {
    char *text;
    size_t size, length;
};

static void put(struct writer *w, char ch)
{
    if (w->length + 1 < w->size) {
        w->text[w->length] = ch;
    }
    w->length++;
}

static void put_number(struct writer *w, uint32_t value, uint32_t base)
{
    char digits[10];
    int count = 0;

    do {
        digits[count++] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value > 0);
    while (count > 0) {
        put(w, digits[--count]);
    }
}

static void put_ipv4(struct writer *w, uint32_t address)
{
    for (int shift = 24; shift >= 0; shift -= 8) {
        put_number(w, address >> shift & 255, 10);
        if (shift > 0) {
            put(w, '.');
        }
    }
}

/* RFC 5952: the longest run of two or more zero groups becomes "::", the first of equals. */
static void put_ipv6(struct writer *w, const uint8_t bytes[16])
{
    int best = -1, best_length = 1;

    for (int i = 0; i < 8; i++) {
        int run = 0;
        while (i + run < 8 && bytes[2 * (i + run)] == 0 &&
               bytes[2 * (i + run) + 1] == 0) {
            run++;
        }
        if (run > best_length) {
            best = i;
            best_length = run;
        }
        i += run > 0 ? run - 1 : 0;
    }
    for (int i = 0; i < 8; i++) {
        if (i == best) {
            put(w, ':');
            put(w, ':');
            i += best_length - 1;
            continue;
        }
        if (i > 0 && i != best + best_length) {
            put(w, ':');
        }
        put_number(w, (uint32_t)bytes[2 * i] << 8 | bytes[2 * i + 1], 16);
    }
}

static void put_name(struct writer *w, const union locus_key *key)
{
    for (int i = 0; i < 2; i++) {
        for (int shift = 60; shift >= 0; shift -= 4) {
            put(w, "0123456789abcdef"[key->words[i] >> shift & 15]);
        }
    }
}

size_t locus_address_format(const struct locus_address *address, char *text,
                            size_t size)
{
    struct writer w = {text, size, 0};
    bool brackets = address->family == LOCUS_IPV6 && address->port != 0;

    if (brackets) {
        put(&w, '[');
    }
    if (address->family == LOCUS_IPV4) {
        put_ipv4(&w, address->key.ipv4);
    } else if (address->family == LOCUS_IPV6) {
        put_ipv6(&w, address->key.bytes);
    } else {
        put_name(&w, &address->key);
    }
    if (brackets) {
        put(&w, ']');
    }
    if (address->port != 0) {
        put(&w, ':');
        put_number(&w, address->port, 10);
    }
    if (size > 0) {
        text[w.length < size ? w.length : size - 1] = '\0';
    }
    return w.length;
}
