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
#include "ranges.h"
#include "text.h"

enum { SCHEME_MAX = 31, LIST_MAX = 4096 };

/* What a text with commas was read into. */
struct list {
    void *items;
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
    struct list ports;                      /* of struct port_range; NULL: any */
    struct list allow, deny;                /* of struct range */
    struct seen *seen;
};

static bool contains(const struct list *ranges, const uint8_t address[16])
{
    const struct range *range = ranges->items;

    for (size_t i = 0; i < ranges->count; i++) {
        if (locus_range_contains(&range[i], address)) {
            return true;
        }
    }
    return false;
}

static const char *judge_address(const struct locus_eligibility *rules,
                                 const uint8_t address[16])
{
    uint8_t inner[16];
    bool carries = locus_address_carries(address, inner);

    if (contains(&rules->deny, address) || (carries && contains(&rules->deny, inner))) {
        return "address is in a denied range";
    }
    if (contains(&rules->allow, address)) {
        return NULL;
    }
    if (rules->config.only_allowed) {
        return "address is in no allowed range";
    }
    const char *reason = locus_address_not_public(address);
    return reason == NULL && carries ? locus_address_not_public(inner) : reason;
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

    if (length >= 2 && host[0] == '[' && host[length - 1] == ']') {
        host++;
        length -= 2;
    }
    if (length < sizeof(bare)) {
        memcpy(bare, host, length);
        bare[length] = '\0';
        if (locus_address_read(bare, address)) {
            /* A mapped address is the IPv4 one, and a duplicate of it. */
            locus_address_write(address, out, size);
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
        out[i] = text_lower(host[i]);
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
        char c = text_lower(scheme[i]);
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
    const struct port_range *ports = rules->ports.items;
    for (size_t i = 0; i < rules->ports.count; i++) {
        if (port >= ports[i].first && port <= ports[i].last) {
            return NULL;
        }
    }
    return ports != NULL ? "port is not wanted" : NULL;
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

static bool read_port_range(const char *text, size_t length, void *item)
{
    struct port_range *out = item;
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

/* How the items of a list are read. */
struct kind {
    size_t size;
    bool (*read)(const char *text, size_t length, void *item);
    const char *expected;
};

static bool read_range(const char *text, size_t length, void *item)
{
    return locus_range_read(text, length, item);
}

static const struct kind port_ranges = {sizeof(struct port_range), read_port_range,
                                        "expected ports such as 80 or 8000-8999"};
static const struct kind ranges = {sizeof(struct range), read_range,
                                   "expected a range such as 10.0.0.0/8 or "
                                   "2001:db8::/32, zero behind its prefix"};

static int parse_list(const char *text, const struct kind *kind, struct list *out,
                      char *error, size_t size)
{
    if (text == NULL) {
        return LOCUS_OK;
    }
    out->items = calloc(items_of(text), kind->size);
    if (out->items == NULL) {
        return LOCUS_ENOMEM;
    }
    for (;;) {
        size_t length = strcspn(text, ",");
        char *item = (char *)out->items + out->count++ * kind->size;
        if (!kind->read(text, length, item)) {
            return malformed(error, size, kind->expected, text, length);
        }
        if (text[length] == '\0') {
            return LOCUS_OK;
        }
        text += length + 1;
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
        rules->schemes[i + 1] = text_lower(list[i]);
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
        status =
            parse_list(config->ports, &port_ranges, &rules->ports, error, error_size);
    }
    if (status == LOCUS_OK) {
        status = parse_list(config->allow, &ranges, &rules->allow, error, error_size);
    }
    if (status == LOCUS_OK) {
        status = parse_list(config->deny, &ranges, &rules->deny, error, error_size);
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
    free(rules->ports.items);
    free(rules->allow.items);
    free(rules->deny.items);
    free(rules);
}
