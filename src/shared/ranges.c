/* SPDX-License-Identifier: MIT */
#include "ranges.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

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

bool locus_address_read(const char *text, uint8_t out[16])
{
    bool is_ipv4;

    return parse_address(text, out, &is_ipv4);
}

void locus_address_write(const uint8_t address[16], char *out, size_t size)
{
    char text[INET6_ADDRSTRLEN];
    bool is_ipv4 = memcmp(address, mapped, sizeof(mapped)) == 0;

    inet_ntop(is_ipv4 ? AF_INET : AF_INET6, is_ipv4 ? address + 12 : address, text,
              sizeof(text));
    snprintf(out, size, is_ipv4 ? "%s" : "[%s]", text);
}

bool locus_range_read(const char *text, size_t length, struct range *out)
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

bool locus_range_contains(const struct range *range, const uint8_t address[16])
{
    unsigned bytes = range->prefix / 8;
    unsigned bits = range->prefix % 8;

    if (memcmp(range->base, address, bytes) != 0) {
        return false;
    }
    return bits == 0 || ((range->base[bytes] ^ address[bytes]) >> (8 - bits)) == 0;
}

const char *locus_address_not_public(const uint8_t address[16])
{
    for (size_t i = 0; i < sizeof(not_public) / sizeof(not_public[0]); i++) {
        struct range range;
        if (locus_range_read(not_public[i].text, strlen(not_public[i].text), &range) &&
            locus_range_contains(&range, address)) {
            return not_public[i].reason;
        }
    }
    /* Of IPv6, 2000::/3 is all that has been given out to anybody. */
    bool given = (address[0] & 0xe0) == 0x20 ||
                 memcmp(address, mapped, sizeof(mapped)) == 0 ||
                 memcmp(address, nat64, sizeof(nat64)) == 0;
    return given ? NULL : "address is reserved";
}

bool locus_address_carries(const uint8_t address[16], uint8_t out[16])
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
