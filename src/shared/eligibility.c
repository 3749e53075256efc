/* SPDX-License-Identifier: MIT */
/*
 * Who may enter a pool. Every list is parsed once; a candidate is judged in the order scheme,
 * port, address (denied, allowed, public), predicate, seen before, and gets the first
 * reason that holds.
 */
#include <locus/pool.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "names.h"
#include "text.h"

enum { SCHEME_MAX = 31, LIST_MAX = 4096 };

/* Always 128 bits: IPv4 as ::ffff:a.b.c.d, its prefix lengths plus 96. */
struct range {
    uint8_t base[16];
    unsigned prefix;
};

struct ranges {
    struct range *items;
    size_t count;
};

struct port_range {
    uint16_t first, last;
};

struct seen {
    UT_hash_handle hh;
    char member[];
};

struct locus_eligibility {
    struct locus_eligibility_config config; /* its texts are not used */
    char *schemes;                          /* ",http,https,", NULL: any */
    struct port_range *ports;
    size_t port_count;
    struct ranges allow, deny;
    struct seen *seen;
};

static const struct {
    const char *text;
    const char *reason;
} not_public[] = {
    {"0.0.0.0/8", "address is of this network"},
    {"10.0.0.0/8", "address is private"},
    {"100.64.0.0/10", "address is of a carrier's own range"},
    {"127.0.0.0/8", "address is loopback"},
    {"169.254.0.0/16", "address is link-local"},
    {"172.16.0.0/12", "address is private"},
    {"192.0.0.0/24", "address is reserved"},
    {"192.0.2.0/24", "address is for documentation"},
    {"192.88.99.0/24", "address is reserved"},
    {"192.168.0.0/16", "address is private"},
    {"198.18.0.0/15", "address is for benchmarks"},
    {"198.51.100.0/24", "address is for documentation"},
    {"203.0.113.0/24", "address is for documentation"},
    {"224.0.0.0/4", "address is multicast"},
    {"240.0.0.0/4", "address is reserved"},
    {"::1/128", "address is loopback"},
    {"::/96", "address is reserved"},
    {"2001::/23", "address is reserved"},
    {"2001:db8::/32", "address is for documentation"},
    {"3fff::/20", "address is for documentation"},
    {"fc00::/7", "address is private"},
    {"fe80::/10", "address is link-local"},
    {"fec0::/10", "address is private"},
    {"ff00::/8", "address is multicast"},
};

static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
static const uint8_t nat64[12] = {0x00, 0x64, 0xff, 0x9b};

static bool parse_address(const char *text, uint8_t out[16], bool *is_ipv4)
{
    if (inet_pton(AF_INET, text, out + 12) == 1) {
        memcpy(out, mapped, sizeof(mapped));
        *is_ipv4 = true;
        return true;
    }
    *is_ipv4 = false;
    return inet_pton(AF_INET6, text, out) == 1;
}

/* "10.0.0.0/8", or an address alone. Bits behind the prefix must be zero: "10.1.2.3/8" is
 * more likely a slip than a wish. */
static bool parse_range(const char *text, size_t length, struct range *out)
{
    char address[INET6_ADDRSTRLEN];
    const char *slash = memchr(text, '/', length);
    size_t bare = slash != NULL ? (size_t)(slash - text) : length;
    bool is_ipv4;

    if (bare >= sizeof(address)) {
        return false;
    }
    memcpy(address, text, bare);
    address[bare] = '\0';
    if (!parse_address(address, out->base, &is_ipv4)) {
        return false;
    }
    unsigned most = is_ipv4 ? 32 : 128;
    out->prefix = most;
    if (slash != NULL &&
        !text_is_number(slash + 1, length - bare - 1, most, &out->prefix)) {
        return false;
    }
    out->prefix += is_ipv4 ? 96 : 0;
    for (unsigned bit = out->prefix; bit < 128; bit++) {
        if ((out->base[bit / 8] >> (7 - bit % 8) & 1) != 0) {
            return false;
        }
    }
    return true;
}

static bool contains(const struct range *range, const uint8_t address[16])
{
    unsigned bytes = range->prefix / 8;
    unsigned bits = range->prefix % 8;

    if (memcmp(range->base, address, bytes) != 0) {
        return false;
    }
    return bits == 0 || ((range->base[bytes] ^ address[bytes]) >> (8 - bits)) == 0;
}

static bool any_contains(const struct ranges *ranges, const uint8_t address[16])
{
    for (size_t i = 0; i < ranges->count; i++) {
        if (contains(&ranges->items[i], address)) {
            return true;
        }
    }
    return false;
}

/* NULL: the address is a public one. */
static const char *why_not_public(const uint8_t address[16])
{
    for (size_t i = 0; i < sizeof(not_public) / sizeof(not_public[0]); i++) {
        struct range range;
        if (parse_range(not_public[i].text, strlen(not_public[i].text), &range) &&
            contains(&range, address)) {
            return not_public[i].reason;
        }
    }
    /* Of IPv6, 2000::/3 is all that has been given out to anybody. */
    bool given = (address[0] & 0xe0) == 0x20 ||
                 memcmp(address, mapped, sizeof(mapped)) == 0 ||
                 memcmp(address, nat64, sizeof(nat64)) == 0;
    return given ? NULL : "address is reserved";
}

/* The IPv4 address that an IPv6 one carries to a translator or tunnel: 64:ff9b::/96 and
 * 2002::/16. The mapped ones, ::ffff:0:0/96, are IPv4 here anyway. */
static bool embedded(const uint8_t address[16], uint8_t out[16])
{
    const uint8_t *ipv4 = NULL;

    if (memcmp(address, nat64, sizeof(nat64)) == 0) {
        ipv4 = address + 12;
    } else if (address[0] == 0x20 && address[1] == 0x02) {
        ipv4 = address + 2;
    }
    if (ipv4 == NULL) {
        return false;
    }
    memcpy(out, mapped, sizeof(mapped));
    memcpy(out + 12, ipv4, 4);
    return true;
}

static const char *judge_address(const struct locus_eligibility *rules,
                                 const uint8_t address[16])
{
    uint8_t inner[16];
    bool carries = embedded(address, inner);

    if (any_contains(&rules->deny, address) ||
        (carries && any_contains(&rules->deny, inner))) {
        return "address is in a denied range";
    }
    if (any_contains(&rules->allow, address)) {
        return NULL;
    }
    if (rules->config.only_allowed) {
        return "address is in no allowed range";
    }
    const char *reason = why_not_public(address);
    return reason == NULL && carries ? why_not_public(inner) : reason;
}

/* A name that ends in a number, 1 or 0x1f, is resolved as an address, or not at all. */
static bool ends_in_number(const char *text)
{
    size_t end = strlen(text);

    end -= end > 0 && text[end - 1] == '.';
    size_t begin = end;
    while (begin > 0 && text[begin - 1] != '.') {
        begin--;
    }
    const char *last = text + begin;
    size_t length = end - begin;
    if (length >= 2 && last[0] == '0' && (last[1] == 'x' || last[1] == 'X')) {
        return strspn(last + 2, "0123456789abcdefABCDEF") >= length - 2;
    }
    return strspn(last, "0123456789") >= length;
}

static bool is_name(const char *text)
{
    size_t length = strlen(text);
    const char *letters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";

    return length > 0 && length < 200 && strspn(text, letters) == length &&
           !ends_in_number(text) && text[0] != '.' && text[0] != '-';
}

static bool is_localhost(const char *name)
{
    static const char word[] = "localhost";
    size_t length = strlen(name);

    length -= length > 0 && name[length - 1] == '.';
    if (length < sizeof(word) - 1 ||
        strncasecmp(name + length - (sizeof(word) - 1), word, sizeof(word) - 1) != 0) {
        return false;
    }
    return length == sizeof(word) - 1 || name[length - sizeof(word)] == '.';
}

/* Judges the host and writes it as a member has it, IPv6 in brackets. */
static const char *judge_host(const struct locus_eligibility *rules, const char *host,
                              char *out, size_t size)
{
    char bare[INET6_ADDRSTRLEN];
    uint8_t address[16];
    size_t length = strlen(host);
    bool is_ipv4;

    if (length >= 2 && host[0] == '[' && host[length - 1] == ']') {
        host++;
        length -= 2;
    }
    if (length < sizeof(bare)) {
        memcpy(bare, host, length);
        bare[length] = '\0';
        if (parse_address(bare, address, &is_ipv4)) {
            char text[INET6_ADDRSTRLEN];
            /* A mapped address is the IPv4 one, and a duplicate of it. */
            is_ipv4 = is_ipv4 || memcmp(address, mapped, sizeof(mapped)) == 0;
            inet_ntop(is_ipv4 ? AF_INET : AF_INET6, is_ipv4 ? address + 12 : address,
                      text, sizeof(text));
            snprintf(out, size, is_ipv4 ? "%s" : "[%s]", text);
            return judge_address(rules, address);
        }
    }
    if (!is_name(host)) {
        return "host is neither an address nor a name";
    }
    if (is_localhost(host)) {
        return "host is loopback";
    }
    if (!rules->config.names) {
        return "host is a name, which is not resolved";
    }
    for (size_t i = 0; i <= length; i++) {
        out[i] = host[i] >= 'A' && host[i] <= 'Z' ? (char)(host[i] + 32) : host[i];
    }
    return NULL;
}

/* A scheme in lower case into out; "" for none. */
static const char *judge_scheme(const struct locus_eligibility *rules,
                                const char *scheme, char out[SCHEME_MAX + 3])
{
    size_t length = scheme != NULL ? strlen(scheme) : 0;

    if (length > SCHEME_MAX) {
        return "scheme is too long";
    }
    out[0] = ',';
    for (size_t i = 0; i < length; i++) {
        char c =
            scheme[i] >= 'A' && scheme[i] <= 'Z' ? (char)(scheme[i] + 32) : scheme[i];
        if (strchr("abcdefghijklmnopqrstuvwxyz0123456789+-.", c) == NULL) {
            return "scheme is malformed";
        }
        out[i + 1] = c;
    }
    memcpy(out + length + 1, ",", 2);
    if (rules->schemes != NULL &&
        (length == 0 || strstr(rules->schemes, out) == NULL)) {
        return length == 0 ? "no scheme is given" : "scheme is not wanted";
    }
    memmove(out, out + 1, length);
    out[length] = '\0';
    return NULL;
}

static const char *judge_port(const struct locus_eligibility *rules, uint32_t port)
{
    if (port > 65535) {
        return "port is above 65535";
    }
    if (port == 0) {
        return "no port is given";
    }
    for (size_t i = 0; i < rules->port_count; i++) {
        if (port >= rules->ports[i].first && port <= rules->ports[i].last) {
            return NULL;
        }
    }
    return rules->ports != NULL ? "port is not wanted" : NULL;
}

static int remember(struct locus_eligibility *rules, const char *member)
{
    size_t length = strlen(member);
    struct seen *seen;

    HASH_FIND(hh, rules->seen, member, length, seen);
    if (seen != NULL) {
        return LOCUS_EEXIST;
    }
    seen = calloc(1, sizeof(*seen) + length + 1);
    if (seen == NULL) {
        return LOCUS_ENOMEM;
    }
    memcpy(seen->member, member, length + 1);
    HASH_ADD_KEYPTR(hh, rules->seen, seen->member, length, seen);
    if (seen->hh.tbl == NULL) { /* uthash had no memory */
        free(seen);
        return LOCUS_ENOMEM;
    }
    return LOCUS_OK;
}

int locus_eligibility_judge(struct locus_eligibility *rules,
                            const struct locus_candidate *candidate, char *member,
                            const char **reason)
{
    char scheme[SCHEME_MAX + 3];
    char host[208];
    const char *why = judge_scheme(rules, candidate->scheme, scheme);

    member[0] = '\0';
    if (why == NULL) {
        why = judge_port(rules, candidate->port);
    }
    if (why == NULL) {
        why = judge_host(rules, candidate->host != NULL ? candidate->host : "", host,
                         sizeof(host));
    }
    if (why == NULL && rules->config.predicate != NULL) {
        const char *said = "refused by the caller";
        if (!rules->config.predicate(rules->config.predicate_arg, candidate, &said)) {
            why = said;
        }
    }
    *reason = why;
    if (why != NULL) {
        return LOCUS_EREFUSED;
    }
    snprintf(member, LOCUS_POOL_MEMBER_SIZE, "%s%s%s:%u", scheme,
             scheme[0] != '\0' ? "://" : "", host, (unsigned)candidate->port);
    int status = remember(rules, member);
    if (status == LOCUS_EEXIST) {
        *reason = "is there already";
    }
    return status;
}

int locus_candidate_parse(const char *text, char *storage, size_t size,
                          struct locus_candidate *out, const char **reason)
{
    size_t length = strlen(text);
    unsigned port;

    memset(out, 0, sizeof(*out));
    if (length == 0 || length >= size) {
        *reason = length == 0 ? "is empty" : "is too long";
        return LOCUS_EFORMAT;
    }
    memcpy(storage, text, length + 1);
    char *host = storage;
    char *blank = storage + strcspn(storage, " \t");
    if (*blank != '\0') {
        *blank = '\0';
        out->labels = blank + 1 + strspn(blank + 1, " \t");
    }
    char *colons = strstr(host, "://");
    if (colons != NULL) {
        *colons = '\0';
        out->scheme = host;
        host = colons + 3;
    }
    /* One colon divides host and port; more of them are an IPv6 address without brackets
     * and without a port. */
    char *colon = host[0] == '[' ? strchr(host, ']') : strchr(host, ':');
    if (host[0] == '[') {
        if (colon == NULL) {
            *reason = "']' is missing";
            return LOCUS_EFORMAT;
        }
        colon = colon[1] != '\0' ? colon + 1 : NULL;
    } else if (colon != NULL && strchr(colon + 1, ':') != NULL) {
        colon = NULL;
    }
    if (colon != NULL) {
        if (*colon != ':' ||
            !text_is_number(colon + 1, strlen(colon + 1), 65535, &port) || port == 0) {
            *reason = "port is not a number from 1 to 65535";
            return LOCUS_EFORMAT;
        }
        *colon = '\0';
        out->port = port;
    }
    out->host = host;
    return LOCUS_OK;
}

/* ---- the lists of a configuration ------------------------------------------------ */

static size_t items_of(const char *list)
{
    size_t items = 1;

    for (; *list != '\0'; list++) {
        items += *list == ',';
    }
    return items;
}

static int malformed(char *error, size_t size, const char *what, const char *item,
                     size_t length)
{
    if (size > 0) {
        snprintf(error, size, "%s, not '%.*s'", what, (int)(length < 64 ? length : 64),
                 item);
    }
    return LOCUS_EINVAL;
}

static int parse_ranges(const char *list, struct ranges *out, char *error, size_t size)
{
    if (list == NULL) {
        return LOCUS_OK;
    }
    out->items = calloc(items_of(list), sizeof(*out->items));
    if (out->items == NULL) {
        return LOCUS_ENOMEM;
    }
    for (;;) {
        size_t length = strcspn(list, ",");
        if (!parse_range(list, length, &out->items[out->count++])) {
            return malformed(error, size,
                             "expected a range such as 10.0.0.0/8 or 2001:db8::/32, "
                             "zero behind its prefix",
                             list, length);
        }
        if (list[length] == '\0') {
            return LOCUS_OK;
        }
        list += length + 1;
    }
}

static bool parse_port_range(const char *text, size_t length, struct port_range *out)
{
    const char *dash = memchr(text, '-', length);
    size_t first = dash != NULL ? (size_t)(dash - text) : length;
    unsigned low, high;

    if (!text_is_number(text, first, 65535, &low) || low == 0) {
        return false;
    }
    high = low;
    if (dash != NULL && !text_is_number(dash + 1, length - first - 1, 65535, &high)) {
        return false;
    }
    out->first = (uint16_t)low;
    out->last = (uint16_t)high;
    return low <= high;
}

static int parse_ports(const char *list, struct locus_eligibility *rules, char *error,
                       size_t size)
{
    if (list == NULL) {
        return LOCUS_OK;
    }
    rules->ports = calloc(items_of(list), sizeof(*rules->ports));
    if (rules->ports == NULL) {
        return LOCUS_ENOMEM;
    }
    for (;;) {
        size_t length = strcspn(list, ",");
        if (!parse_port_range(list, length, &rules->ports[rules->port_count++])) {
            return malformed(error, size, "expected ports such as 80 or 8000-8999",
                             list, length);
        }
        if (list[length] == '\0') {
            return LOCUS_OK;
        }
        list += length + 1;
    }
}

static int parse_schemes(const char *list, struct locus_eligibility *rules, char *error,
                         size_t size)
{
    if (list == NULL) {
        return LOCUS_OK;
    }
    size_t length = strlen(list);
    if (length == 0 || length > LIST_MAX || strstr(list, ",,") != NULL ||
        list[0] == ',' || list[length - 1] == ',' ||
        list[strcspn(list, " \t/:")] != '\0') {
        return malformed(error, size, "expected schemes such as http,https", list,
                         length);
    }
    rules->schemes = calloc(1, length + 3);
    if (rules->schemes == NULL) {
        return LOCUS_ENOMEM;
    }
    rules->schemes[0] = ',';
    for (size_t i = 0; i < length; i++) {
        rules->schemes[i + 1] =
            list[i] >= 'A' && list[i] <= 'Z' ? (char)(list[i] + 32) : list[i];
    }
    rules->schemes[length + 1] = ',';
    return LOCUS_OK;
}

int locus_eligibility_create(const struct locus_eligibility_config *config,
                             struct locus_eligibility **out, char *error,
                             size_t error_size)
{
    const struct locus_eligibility_config defaults = {0};
    struct locus_eligibility *rules = calloc(1, sizeof(*rules));

    *out = NULL;
    if (rules == NULL) {
        return LOCUS_ENOMEM;
    }
    rules->config = config != NULL ? *config : defaults;
    config = &rules->config;
    int status = parse_schemes(config->schemes, rules, error, error_size);
    if (status == LOCUS_OK) {
        status = parse_ports(config->ports, rules, error, error_size);
    }
    if (status == LOCUS_OK) {
        status = parse_ranges(config->allow, &rules->allow, error, error_size);
    }
    if (status == LOCUS_OK) {
        status = parse_ranges(config->deny, &rules->deny, error, error_size);
    }
    if (status != LOCUS_OK) {
        locus_eligibility_destroy(rules);
        return status;
    }
    *out = rules;
    return LOCUS_OK;
}

void locus_eligibility_destroy(struct locus_eligibility *rules)
{
    if (rules == NULL) {
        return;
    }
    struct seen *seen, *next;
    HASH_ITER(hh, rules->seen, seen, next) {
        HASH_DELETE(hh, rules->seen, seen); /* NOLINT(clang-analyzer-*): uthash */
        free(seen);
    }
    free(rules->schemes);
    free(rules->ports);
    free(rules->allow.items);
    free(rules->deny.items);
    free(rules);
}
