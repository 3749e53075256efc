/* SPDX-License-Identifier: MIT */
/*
 * One connection: made by a deadline, greeted, written to and read from by a deadline. Sockets
 * are opened here and never block: hiredis' own time-outs hold for each read(), so a
 * server that drips a byte now and then would keep a caller for ever. Nor does writing to a
 * closed one raise SIGPIPE: a library must not kill its caller's process.
 */
#include "redis_internal.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <hiredis/sds.h>

#if LOCUS_HAVE_HI_SDSLEN
#define sdslen hi_sdslen
#define sdsclear hi_sdsclear
#define sdsrange hi_sdsrange
#endif

enum {
    REPLY_MAX = 64 << 20, /* bytes of a reply not yet complete */
    RECEIVE_BYTES = 16384,
};

#define ADDRESS_MIN_NS (250 * NS_PER_MS) /* more than a round trip around the globe */

/* A socket connected to the address by the deadline; or -1 and errno. */
static int connect_address(int family, const struct sockaddr *address, socklen_t length,
                           uint64_t deadline_ns)
{
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int on = 1;

    if (fd < 0) {
        return -1;
    }
    int error = 0;
    if (connect(fd, address, length) != 0) {
        error = errno;
        if (error == EINPROGRESS || error == EINTR) {
            error = locus_redis_wait_ready(fd, POLLOUT, deadline_ns);
            socklen_t size = sizeof(error);
            if (error == 0 &&
                getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) {
                error = errno;
            }
        }
    }
    if (error != 0) {
        close(fd);
        errno = error;
        return -1;
    }
    if (family != AF_UNIX) {
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    }
    return fd;
}

static int connect_unix(const char *path, uint64_t deadline_ns)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    memcpy(address.sun_path, path, strlen(path) + 1);
    return connect_address(AF_UNIX, (struct sockaddr *)&address, sizeof(address),
                           deadline_ns);
}

/* When to give an address up for those behind it: one that drops packets must leave them
 * time, and many of them a distant one its own. */
static uint64_t give_up_at_ns(const struct addrinfo *address, uint64_t deadline_ns)
{
    uint64_t now_ns = clock_now_ns();
    uint64_t left_ns = now_ns < deadline_ns ? deadline_ns - now_ns : 0;
    uint64_t addresses = 0;

    for (const struct addrinfo *a = address; a != NULL; a = a->ai_next) {
        addresses++;
    }
    uint64_t share_ns = left_ns / addresses;
    return clock_earlier(
        deadline_ns, now_ns + (share_ns > ADDRESS_MIN_NS ? share_ns : ADDRESS_MIN_NS));
}

/* Every address of the name in turn. -1 with the reason in *why. */
static int connect_tcp(const struct node *node, uint64_t deadline_ns, const char **why)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    int fd = -1;

    int error = getaddrinfo(node->host, node->port, &hints, &found);
    if (error != 0) {
        *why = gai_strerror(error);
        return -1;
    }
    *why = NULL;
    for (struct addrinfo *a = found; a != NULL && fd < 0; a = a->ai_next) {
        fd = connect_address(a->ai_family, a->ai_addr, a->ai_addrlen,
                             give_up_at_ns(a, deadline_ns));
    }
    int last = errno;
    freeaddrinfo(found);
    errno = last;
    return fd;
}

/* ---- what goes over it ----------------------------------------------------------- */

static void fail(redisContext *context, int kind, const char *why)
{
    context->err = kind;
    snprintf(context->errstr, sizeof(context->errstr), "%s", why);
}

static bool fail_unless_later(redisContext *context)
{
    if (errno == EAGAIN || errno == EINTR) {
        return true;
    }
    if (context->err == 0) { /* TLS has words of its own */
        fail(context, REDIS_ERR_IO, strerror(errno));
    }
    return false;
}

size_t locus_redis_unsent(const struct connection *connection)
{
    return sdslen(connection->context->obuf);
}

/* As much as the socket takes; false: the connection has failed. */
static bool send_some(struct connection *connection)
{
    redisContext *context = connection->context;
    size_t length = locus_redis_unsent(connection);
    ssize_t sent = connection->tls != NULL
                       ? locus_redis_tls_write(connection, context->obuf, length)
                       : send(context->fd, context->obuf, length, MSG_NOSIGNAL);

    if (sent < 0) {
        return fail_unless_later(context);
    }
    if ((size_t)sent == length) {
        sdsclear(context->obuf);
    } else {
        sdsrange(context->obuf, (int)sent, -1);
    }
    return true;
}

/* As much as there is; false: the connection has failed. */
static bool receive_some(struct connection *connection)
{
    redisContext *context = connection->context;
    char bytes[RECEIVE_BYTES];
    ssize_t got = connection->tls != NULL
                      ? locus_redis_tls_read(connection, bytes, sizeof(bytes))
                      : recv(context->fd, bytes, sizeof(bytes), 0);

    if (got < 0) {
        return fail_unless_later(context);
    }
    if (got == 0) {
        fail(context, REDIS_ERR_EOF, "the server closed the connection");
        return false;
    }
    if (redisReaderFeed(context->reader, bytes, (size_t)got) != REDIS_OK) {
        fail(context, REDIS_ERR_OOM, "out of memory");
        return false;
    }
    if (context->reader->len > REPLY_MAX) {
        fail(context, REDIS_ERR_PROTOCOL, "reply is too long");
        return false;
    }
    return true;
}

redisReply *locus_redis_next_reply(struct connection *connection, uint64_t deadline_ns)
{
    redisContext *context = connection->context;
    void *reply = NULL;

    for (;;) {
        if (redisGetReplyFromReader(context, &reply) != REDIS_OK || reply != NULL) {
            return context->err == 0 ? reply : NULL;
        }
        if (locus_redis_unsent(connection) > 0 && !send_some(connection)) {
            return NULL;
        }
        bool all = locus_redis_unsent(connection) == 0;
        if (locus_redis_wait_ready(context->fd,
                                   (short)(all ? POLLIN : POLLIN | POLLOUT),
                                   deadline_ns) != 0 ||
            !receive_some(connection)) {
            return NULL;
        }
    }
}

/* The words of an error; but a server that does not know AUTH repeats what came with it. */
static const char *shown(const struct locus_redis *redis, const redisReply *reply)
{
    const char *password = redis->uri.password;

    if (password != NULL && (strstr(reply->str, "with args beginning") != NULL ||
                             (password[0] != '\0' && strstr(reply->str, password)))) {
        return "refused, in words that show what was sent";
    }
    return reply->str;
}

/* One command while the connection is being made: the answer must be a plain OK. EREFUSED
 * when trying again is of no use. */
static int must_ok(struct locus_redis *redis, struct connection *connection, int argc,
                   const char **argv, uint64_t deadline_ns)
{
    redisContext *context = connection->context;

    if (redisAppendCommandArgv(context, argc, argv, NULL) != REDIS_OK) {
        locus_redis_say(redis, "out of memory");
        return LOCUS_ENOMEM;
    }
    redisReply *reply = locus_redis_next_reply(connection, deadline_ns);
    if (reply == NULL) {
        locus_redis_say(redis, "%s: %s", argv[0],
                        context->err != 0 ? context->errstr : "no answer");
        return LOCUS_EIO;
    }
    int status = LOCUS_EREFUSED;
    if (reply->type == REDIS_REPLY_STATUS && locus_reply_begins(reply, "OK")) {
        status = LOCUS_OK;
    } else if (reply->type == REDIS_REPLY_ERROR) {
        locus_redis_say(redis, "%s: %s", argv[0], shown(redis, reply));
        status = locus_reply_asks_for_patience(reply) ? LOCUS_EIO : LOCUS_EREFUSED;
    } else {
        locus_redis_say(redis, "%s: expected OK, not another reply", argv[0]);
    }
    freeReplyObject(reply);
    return status;
}

static int greet(struct locus_redis *redis, struct connection *connection,
                 uint64_t deadline_ns)
{
    const struct redis_uri *uri = &redis->uri;
    char db[16];

    if (uri->password != NULL) {
        const char *with_user[] = {"AUTH", uri->user, uri->password};
        const char *without[] = {"AUTH", uri->password};
        int status = uri->user != NULL
                         ? must_ok(redis, connection, 3, with_user, deadline_ns)
                         : must_ok(redis, connection, 2, without, deadline_ns);
        if (status != LOCUS_OK) {
            return status;
        }
    }
    if (uri->db != 0) {
        snprintf(db, sizeof(db), "%u", uri->db);
        const char *argv[] = {"SELECT", db};
        return must_ok(redis, connection, 2, argv, deadline_ns);
    }
    return LOCUS_OK;
}

/* ---- its life -------------------------------------------------------------------- */

void locus_redis_disconnect(struct connection *connection)
{
    locus_redis_tls_free(connection);
    redisFree(connection->context);
    free(connection);
}

int locus_redis_connect(struct locus_redis *redis, const struct node *node,
                        uint64_t deadline_ns, struct connection **out)
{
    struct connection *connection = calloc(1, sizeof(*connection));
    const char *why = NULL;
    int status = LOCUS_EIO;

    *out = NULL;
    if (connection == NULL) {
        return LOCUS_ENOMEM;
    }
    int fd = redis->uri.path != NULL ? connect_unix(node->host, deadline_ns)
                                     : connect_tcp(node, deadline_ns, &why);
    if (fd < 0) {
        locus_redis_say(redis, "%s%s%s: %s", node->host,
                        node->port[0] != '\0' ? ":" : "", node->port,
                        why != NULL ? why : strerror(errno));
        goto free_connection;
    }
    connection->context = redisConnectFd(fd);
    if (connection->context == NULL) {
        status = LOCUS_ENOMEM;
        close(fd);
        goto free_connection;
    }
    connection->context->flags &= ~REDIS_BLOCK;
    locus_reply_bound(connection->context->reader, &connection->bound);
    status = redis->tls != NULL
                 ? locus_redis_tls_secure(redis, node, connection, deadline_ns)
                 : LOCUS_OK;
    if (status == LOCUS_OK) {
        status = greet(redis, connection, deadline_ns);
    }
    if (status == LOCUS_OK) {
        *out = connection;
        return LOCUS_OK;
    }

free_connection:
    locus_redis_disconnect(connection);
    return status;
}

bool locus_redis_idle_alive(const struct connection *connection)
{
    const redisContext *context = connection->context;
    struct pollfd ready = {.fd = context->fd, .events = POLLIN};

    return context->reader->pos == context->reader->len &&
           locus_redis_unsent(connection) == 0 && poll(&ready, 1, 0) == 0;
}
