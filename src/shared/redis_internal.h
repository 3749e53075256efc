/* SPDX-License-Identifier: MIT */
/*
 * What the files of the Redis client share. No other file knows hiredis, 0.14 or 1.x. Of it
 * they use the formatter, the reader, and the context as the place for what is to be sent and
 * for what went wrong. Sockets and TLS are this client's own. From the top down:
 *
 *   redis_life.c        a handle, opened and closed
 *   redis_call.c        a call with all that it tries
 *   redis_command.c     commands as the server gets them, scripts by their SHA
 *   redis_cluster.c     which node has a slot
 *   redis_nodes.c       the nodes, and the connections to each
 *   redis_connection.c  one connection
 *   redis_tls.c         its TLS by OpenSSL; redis_tls_none.c without
 *   redis_wait.c        waiting for a socket
 *   redis_reply.c       replies
 *   redis_figures.c     what has happened
 *
 * Locks: redis->lock guards nodes, the slot map, scripts, stats and the error text. It is
 * never held over a system call that waits, except for the condition itself.
 */
#ifndef LOCUS_SHARED_REDIS_INTERNAL_H
#define LOCUS_SHARED_REDIS_INTERNAL_H

#include <pthread.h>
#include <sys/types.h>

#include <hiredis/hiredis.h>

#include "clock.h"
#include "redis.h"
#include "uri.h"

#define NO_NODE SIZE_MAX

enum { SCRIPTS_MAX = 64, SHA_LENGTH = 40 };

#if HIREDIS_MAJOR >= 1
typedef size_t redis_element_count;
#else
typedef int redis_element_count;
#endif

/* hiredis allocates an array as long as the server claims it to be, before any element
 * has come: the functions of a reader, with a bound put in front of that one. */
struct bound {
    redisReplyObjectFunctions functions;
    void *(*create_array)(const redisReadTask *, redis_element_count);
};

struct connection {
    redisContext *context;
    void *tls; /* redis_tls.c's; NULL: none */
    struct bound bound;
    unsigned failures;       /* of the node, when it was made */
    struct connection *next; /* idle ones of a node */
};

struct node {
    char *host; /* a path for a Unix socket */
    char port[8];
    struct connection *idle;
    size_t open;            /* connections, idle or in use or being made */
    unsigned failures;      /* in a row, of connecting and of exchanges */
    uint64_t retry_at_ns;   /* not before, while failures > 0 */
    pthread_cond_t changed; /* a connection came back, or it works again */
};

struct known_script {
    const char *source;
    char sha[SHA_LENGTH + 1];
};

struct locus_redis {
    struct redis_uri uri;
    struct locus_redis_options options;
    char name[REDIS_URI_BYTES];

    pthread_mutex_t lock;
    struct node **nodes; /* never removed; the URI's hosts come first */
    size_t node_count;
    uint16_t *slots;       /* node index + 1, 0 unknown; NULL: no cluster so far */
    uint64_t map_asked_ns; /* when the slot map was asked for last */
    struct known_script scripts[SCRIPTS_MAX];
    size_t script_count;
    uint64_t random;
    struct locus_redis_stats stats;
    char error[256];
    void *tls; /* redis_tls.c's; NULL: none */
};

/* ---- redis_figures.c ------------------------------------------------------------- */

/* The words of a failure. The lock is not held. */
void locus_redis_say(struct locus_redis *redis, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void locus_redis_count(struct locus_redis *redis, uint64_t *counter, uint64_t by);

/* ---- redis_reply.c --------------------------------------------------------------- */

bool locus_reply_begins(const redisReply *reply, const char *word);
/* Errors by which a server says that it did nothing, and that it will do later. */
bool locus_reply_asks_for_patience(const redisReply *reply);
void locus_reply_bound(redisReader *reader, struct bound *bound);

/* ---- redis_connection.c ---------------------------------------------------------- */

/* A connection that is ready for commands; or EIO, EREFUSED, ENOMEM with the reason said. */
int locus_redis_connect(struct locus_redis *redis, const struct node *node,
                        uint64_t deadline_ns, struct connection **out);
void locus_redis_disconnect(struct connection *connection);
/* Nothing may be left to read or to send on an idle connection: if there is, the server has
 * closed it, or speaks out of turn. */
bool locus_redis_idle_alive(const struct connection *connection);
/* Waits until the socket is ready or the deadline; 0: ready, else an errno. */
int locus_redis_wait_ready(int fd, short events, uint64_t deadline_ns);
/*
 * Writes what is in the output buffer and reads one reply, by the deadline. Returns NULL
 * after a failure; context->err then tells, or is 0 for the deadline. What stays in the
 * output buffer, locus_redis_unsent() bytes, was not written.
 */
redisReply *locus_redis_next_reply(struct connection *connection, uint64_t deadline_ns);
size_t locus_redis_unsent(const struct connection *connection);

/* ---- redis_nodes.c --------------------------------------------------------------- */

/* The index of that node, known or new. The lock is held. NO_NODE: no memory,
 * too many, or no name: to TLS an empty one would mean any. */
size_t locus_redis_node_add(struct locus_redis *redis, const char *host, size_t length,
                            const char *port);
/* With all its connections, none of which is in use. */
void locus_redis_node_free(struct node *node);
/* An idle connection that works, or a new one. ETIMEDOUT: none came free by the deadline;
 * else the failure of one try to connect. */
int locus_redis_checkout(struct locus_redis *redis, struct node *node,
                         uint64_t deadline_ns, struct connection **out);
/* works: so did the exchange; else the connection ends, and other nodes come first for a
 * while. */
void locus_redis_checkin(struct locus_redis *redis, struct node *node,
                         struct connection *connection, bool works);
/* The lock is held. */
uint64_t locus_redis_backoff_ns(struct locus_redis *redis, unsigned failures);

/* ---- redis_command.c -------------------------------------------------------------- */

/* The SHA of a script, asked for once; "" where the server will not tell. NULL: the connection
 * has failed. */
const char *locus_redis_script_sha(struct locus_redis *redis,
                                   struct connection *connection, const char *source,
                                   uint64_t deadline_ns);
/* Puts one command into the output buffer, a script behind its three words. ENOMEM. */
int locus_redis_append(redisContext *context, const struct locus_redis_command *command,
                       bool whole, const char *sha);
int locus_redis_append_asking(redisContext *context);

/* ---- redis_cluster.c ------------------------------------------------------------- */

/* Where a MOVED or ASK leads, and of which slot. NO_NODE: it is none. */
size_t locus_redis_redirected(struct locus_redis *redis, const redisReply *reply,
                              const struct node *from, unsigned *slot);
/* The lock is held. */
void locus_redis_map_set(struct locus_redis *redis, unsigned slot, size_t node);
/* Asks the node for the whole map, at most once a second: after a MOVED other slots have
 * moved as well. A map that cannot be had is learnt slot by slot. false: the connection is of
 * no more use. */
bool locus_redis_map_ask(struct locus_redis *redis, const struct node *from,
                         struct connection *connection, uint64_t deadline_ns);
/*
 * Where a slot is: as the map says; and while that node is left alone, or nothing is known, the
 * node with the fewest failures, the URI's first of those. Any of a cluster's nodes
 * knows where a slot has gone.
 */
size_t locus_redis_node_for(struct locus_redis *redis, bool keyed, unsigned slot);

/* ---- redis_tls.c, redis_tls_none.c ----------------------------------------------- */

/* What all connections of a handle share. ENOTSUP, ENOMEM, EIO, EINVAL for one of the URI's
 * files; with the reason. What was made is locus_redis_tls_stop()'s, whatever the status. */
int locus_redis_tls_start(struct locus_redis *redis, char *error, size_t error_size);
void locus_redis_tls_stop(struct locus_redis *redis);
/* The handshake, and whether the node is who it should be. EREFUSED: it is not; EIO, ENOMEM.
 * The reason is said. */
int locus_redis_tls_secure(struct locus_redis *redis, const struct node *node,
                           struct connection *connection, uint64_t deadline_ns);
void locus_redis_tls_free(struct connection *connection);
/* As send() and recv() on a socket that does not block: -1 with errno, EAGAIN for later; a
 * buffer to read into must hold 16 KiB, since only then nothing stays in between. */
ssize_t locus_redis_tls_write(struct connection *connection, const char *bytes,
                              size_t length);
ssize_t locus_redis_tls_read(struct connection *connection, char *bytes, size_t size);

#endif
