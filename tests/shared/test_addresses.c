/* SPDX-License-Identifier: MIT */
/*
 * A host name with several addresses, the first of which drops packets: the linker puts
 * resolving in this test's hands.
 */
#include <locus/pool.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../support/suite.h"
#include "redis_server.h"

#define MS UINT64_C(1000000)

enum { ADDRESSES = 6, FILLERS = 8 };

static struct redis_server server;
static struct sockaddr_in addresses[ADDRESSES];
static struct addrinfo found[ADDRESSES];
static size_t address_count;

int __wrap_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                       struct addrinfo **out);
void __wrap_freeaddrinfo(struct addrinfo *list);

int __wrap_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                       struct addrinfo **out)
{
    (void)host;
    (void)port;
    for (size_t i = 0; i < address_count; i++) {
        found[i] = (struct addrinfo){
            .ai_family = AF_INET,
            .ai_socktype = hints->ai_socktype,
            .ai_addr = (struct sockaddr *)&addresses[i],
            .ai_addrlen = sizeof(addresses[i]),
            .ai_next = i + 1 < address_count ? &found[i + 1] : NULL,
        };
    }
    *out = found;
    return 0;
}

void __wrap_freeaddrinfo(struct addrinfo *list)
{
    (void)list;
}

static struct sockaddr_in loopback(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port)};

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

/* One that listens, takes nobody, and whose queue is full: the kernel drops what comes. */
struct black_hole {
    int listening, fillers[FILLERS];
    struct sockaddr_in address;
};

/* false: this kernel answers all the same. */
static bool dig(struct black_hole *hole)
{
    socklen_t size = sizeof(hole->address);
    bool full = false;

    hole->address = loopback(0);
    hole->listening = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(hole->listening, (struct sockaddr *)&hole->address, size), 0);
    ck_assert_int_eq(listen(hole->listening, 0), 0);
    ck_assert_int_eq(
        getsockname(hole->listening, (struct sockaddr *)&hole->address, &size), 0);
    for (int i = 0; i < FILLERS; i++) {
        hole->fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)!connect(hole->fillers[i], (struct sockaddr *)&hole->address, size);
        struct pollfd taken = {.fd = hole->fillers[i], .events = POLLOUT};
        full = poll(&taken, 1, 100) == 0;
    }
    return full;
}

static void fill(struct black_hole *hole)
{
    for (int i = 0; i < FILLERS; i++) {
        close(hole->fillers[i]);
    }
    close(hole->listening);
}

static int pick(uint64_t connect_ns, uint64_t total_ns)
{
    const struct locus_pool_config config = {.connect_timeout_ns = connect_ns,
                                             .command_timeout_ns = total_ns,
                                             .total_timeout_ns = total_ns};
    char member[LOCUS_POOL_MEMBER_SIZE];
    struct locus_pool *pool;

    ck_assert_int_eq(
        locus_pool_open("redis://several.example", "p", &config, &pool, NULL, 0),
        LOCUS_OK);
    int status = locus_pool_pick(pool, member);
    locus_pool_close(pool);
    return status;
}

START_TEST(an_address_that_drops_packets_leaves_time_for_the_next)
{
    struct black_hole hole;

    if (!dig(&hole)) {
        fprintf(stderr, "no queue is ever full here: nothing was tested\n");
        return;
    }
    for (address_count = 2; address_count <= ADDRESSES; address_count += 4) {
        for (size_t i = 0; i + 1 < address_count; i++) {
            addresses[i] = hole.address;
        }
        addresses[address_count - 1] = loopback(server.port);
        ck_assert_int_eq(pick(2000 * MS, 60000 * MS), LOCUS_ENOSERVER);
    }
    fill(&hole);
}
END_TEST

START_TEST(addresses_that_all_drop_packets_end_by_the_deadline)
{
    struct black_hole hole;

    if (dig(&hole)) {
        for (address_count = 0; address_count < ADDRESSES; address_count++) {
            addresses[address_count] = hole.address;
        }
        ck_assert_int_eq(pick(300 * MS, 500 * MS), LOCUS_EIO);
    }
    fill(&hole);
}
END_TEST

/* As when a name is given to the next server because the first became its replica. */
START_TEST(a_host_that_takes_no_writes_is_looked_up_again)
{
    const struct locus_pool_config config = {.connect_timeout_ns = 30000 * MS,
                                             .command_timeout_ns = 30000 * MS,
                                             .total_timeout_ns = 30000 * MS,
                                             .connections = 1};
    const char *const members[] = {"a", "b"};
    struct redis_server next;
    struct locus_pool *pool;
    char words[60];

    ck_assert(redis_server_start_on_a_port(&next, NULL));
    addresses[0] = loopback(server.port);
    address_count = 1;
    ck_assert_int_eq(
        locus_pool_open("redis://moving.example", "p", &config, &pool, NULL, 0),
        LOCUS_OK);
    ck_assert_int_eq(locus_pool_add(pool, members, 1, LOCUS_POOL_START_ZERO, 0, NULL),
                     LOCUS_OK);
    snprintf(words, sizeof(words), "replicaof 127.0.0.1 %d", next.port);
    redis_server_cli(&server, words);
    addresses[0] = loopback(next.port);
    ck_assert_int_eq(
        locus_pool_add(pool, members + 1, 1, LOCUS_POOL_START_ZERO, 0, NULL), LOCUS_OK);
    ck_assert_str_eq(redis_server_cli(&next, "exists 'locus:{p}'"), "1");
    redis_server_cli(&server, "replicaof no one");
    locus_pool_close(pool);
    redis_server_stop(&next);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("addresses");
    TCase *tc = suite_case(s, "addresses");

    if (!redis_server_installed()) {
        printf("1..0 # SKIP no redis-server\n");
        return EXIT_SUCCESS;
    }
    tcase_add_test(tc, an_address_that_drops_packets_leaves_time_for_the_next);
    tcase_add_test(tc, a_host_that_takes_no_writes_is_looked_up_again);
    tcase_add_test(tc, addresses_that_all_drop_packets_end_by_the_deadline);
    int code = EXIT_FAILURE;
    if (redis_server_start_on_a_port(&server, NULL)) {
        code = suite_run(s);
    } else {
        printf("Bail out! no redis-server came up\n");
    }
    redis_server_stop(&server);
    return code;
}
