/* SPDX-License-Identifier: MIT */
/* Services with many IPv4 servers that tests of one scheduler make; what goes wrong here ends
 * the test. */
#ifndef LOCUS_TESTS_FLEET_H
#define LOCUS_TESTS_FLEET_H

#include <locus/locus.h>

#include "suite.h"

static inline struct locus_service *
fleet_service(const char *scheduler, const struct locus_rules *rules, uint64_t seed)
{
    struct locus_service_config config = {
        .scheduler = scheduler, .rules = rules, .seed = seed};
    struct locus_service *svc = NULL;
    MUST(locus_service_create(&config, &svc) == LOCUS_OK);
    return svc;
}

/* The tag of a server is its address. */
static inline uint32_t fleet_add(struct locus_service *svc, uint32_t ip,
                                 uint32_t weight)
{
    struct locus_server_config config = {.weight = weight, .tag = ip};
    uint32_t server = LOCUS_NO_SERVER;
    config.address.family = LOCUS_IPV4;
    config.address.port = 80;
    config.address.key.ipv4 = ip;
    MUST(locus_server_add(svc, &config, 0, &server) == LOCUS_OK);
    return server;
}

static inline void fleet_set_threshold(struct locus_service *svc, uint32_t server,
                                       uint32_t weight, uint32_t upper)
{
    struct locus_server_config config = {.weight = weight, .upper_threshold = upper};
    MUST(locus_server_edit(svc, server, &config) == LOCUS_OK);
}

static inline struct locus_server_info fleet_info(const struct locus_service *svc,
                                                  uint32_t server)
{
    struct locus_server_info info;
    MUST(locus_server_get(svc, server, &info) == LOCUS_OK);
    return info;
}

/* Decides, and counts nothing. */
static inline struct locus_pick fleet_ask(struct locus_service *svc, uint32_t dst)
{
    struct locus_request request = {.dst.ipv4 = dst, .src.ipv4 = dst};
    struct locus_pick pick;
    int status = locus_schedule(svc, &request, 0, &pick);
    MUST(status == (pick.server == LOCUS_NO_SERVER ? LOCUS_ENOSERVER : LOCUS_OK));
    return pick;
}

/* Decides and opens an active connection. */
static inline struct locus_pick fleet_connect(struct locus_service *svc, uint32_t dst)
{
    struct locus_pick pick = fleet_ask(svc, dst);
    MUST(pick.server == LOCUS_NO_SERVER ||
         locus_conn_bind(svc, pick.server, LOCUS_ACTIVE) == LOCUS_OK);
    return pick;
}

#endif
