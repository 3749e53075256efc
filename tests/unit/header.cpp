/* SPDX-License-Identifier: MIT */
/* The public headers are C++11 as well, and go together in one file. */
#include <locus/coalesce.h>
#include <locus/locus.h>
#include <locus/pool.h>
#include <locus/registry.h>
#include <locus/status.h>

int main()
{
    locus_service_config config = locus_service_config();
    locus_service *svc = nullptr;
    locus_server_config server = locus_server_config();
    locus_request request = locus_request();
    locus_pick pick;
    uint32_t handle = LOCUS_NO_SERVER;
    config.scheduler = "lblcr";
    server.address.family = LOCUS_IPV4;
    server.address.key.ipv4 = 0x0a000001;
    server.weight = 1;
    if (locus_service_create(&config, &svc) != LOCUS_OK) {
        return 1;
    }
    bool served =
        locus_server_add(svc, &server, 0, &handle) == LOCUS_OK &&
        locus_connect(svc, &request, 0, LOCUS_ACTIVE, &pick) == LOCUS_OK &&
        pick.server == handle;
    locus_service_destroy(svc);
    return served ? 0 : 1;
}
