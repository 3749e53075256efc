/* SPDX-License-Identifier: MIT */
/* Addresses, hosts and URLs in fields; each takes the whole slice or refuses it. */
#ifndef LOCUS_SIM_ADDRESSES_H
#define LOCUS_SIM_ADDRESSES_H

#include <stdint.h>

#include <locus/locus.h>

#include "../base/slice.h"

/* Strict IPv4 and IPv6 text without port, as locus_address_parse(). */
bool slice_ip(struct slice s, uint8_t *family, union locus_key *key);
/* "host", "host:port", "[v6]:port", bare "v6": host and port apart (0: none). False only
 * when a port is there that is none, or a bracket stays open, or there is no host. */
bool slice_host_port(struct slice s, struct slice *host, uint16_t *port);
/* Host and port of a URL: "scheme://user@host:port/path?", "host:port", "host". The port
 * is the scheme's own when the URL names none and the scheme is known. */
bool slice_url_host(struct slice url, struct slice *host, uint16_t *port);

#endif
