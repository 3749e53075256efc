/* SPDX-License-Identifier: MIT */
/*
 * The one file that knows hiredis, 0.14 or 1.x: its formatter, reader and (1.x) TLS. Sockets
 * are opened here and never block: hiredis' own time-outs hold for each read(), so a
 * server that drips a byte now and then would keep a caller for ever.
 *
 * A call goes round: choose a node for what is pending, take a connection, exchange, sort
 * the answers; until nothing is pending or the deadline has passed. What may be sent
 * again is decided in one place, settle() and unanswered().
 *
 * Locks: redis->lock guards nodes, the slot map, scripts, stats and the error text. It is
 * never held over a system call that waits, except for the condition itself.
 */
#include "redis.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <hiredis/hiredis.h>
#if LOCUS_HAVE_HIREDIS_SSL
#include <hiredis/hiredis_ssl.h>
#endif

#include "uri.h"

#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)

enum {
    SLOTS = 16384,
    NODES_MAX = 1024, /* of a cluster; a server that names more is not one */
    SCRIPTS_MAX = 64,
    SHA_LENGTH = 40,
    REDIRECTS_MAX = 8, /* per command and call; a moving slot needs two */
    ARGC_MAX = 65536,
    INLINE_ARGS = 32,
    INLINE_PENDING = 16,
    ELEMENTS_MAX = 1 << 20, /* of one array in a reply */
    REPLY_MAX = 64 << 20,   /* bytes of a reply not yet complete */
    BACKOFF_FIRST_MS = 10,
    BACKOFF_LAST_MS = 2000,
};

#define NO_NODE SIZE_MAX

#if HIREDIS_MAJOR >= 1
typedef size_t element_count;
#else
typedef int element_count;
#endif

/* hiredis allocates an array as long as the server claims it to be, before any element
 * has come: the functions of a reader, with a bound put in front of that one. */
struct bound {
    redisReplyObjectFunctions functions;
    void *(*create_array)(const redisReadTask *, element_count);
};

struct connection {
    redisContext *context;
    struct bound bound;
    struct connection *next; /* idle ones of a node */
};

struct node {
    char *host; /* a path for a Unix socket */
    char port[8];
    struct connection *idle;
    size_t open;          /* connections, idle or in use or being made */
    unsigned failures;    /* in a row */
    uint64_t retry_at_ns; /* not before, while failures > 0 */
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
    pthread_cond_t changed; /* a connection came back, or a node works again */
    struct node **nodes;    /* never removed; the URI's hosts come first */
    size_t node_count;
    uint16_t *slots;       /* node index + 1, 0 unknown; NULL: no cluster so far */
    uint64_t map_asked_ns; /* when the slot map was asked for last */
    struct known_script scripts[SCRIPTS_MAX];
    size_t script_count;
    uint64_t random;
    struct locus_redis_stats stats;
    char error[256];
#if LOCUS_HAVE_HIREDIS_SSL
    redisSSLContext *tls;
#endif
};

/* What a call still has to do for one of its commands. */
struct pending {
    size_t target;   /* the node that a redirect named, or NO_NODE */
    size_t end;      /* of its bytes in the output of the exchange at hand */
    const char *sha; /* of its script in the exchange at hand; "" where it has none */
    unsigned redirects;
    bool done;
    bool whole;  /* send the script's source: the server does not know its SHA */
    bool asking; /* target was named by ASK, not MOVED */
    bool here;   /* takes part in the exchange at hand */
};

struct call {
    struct locus_redis *redis;
    const struct locus_redis_command *commands;
    struct pending *pending;
    struct locus_redis_result *results;
    size_t count;
    uint64_t deadline_ns;
    bool wait; /* back off before the next round */
    unsigned waits;
    int last; /* why what is pending is pending: EIO or ETIMEDOUT */
};

uint64_t locus_redis_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static uint64_t later(uint64_t now_ns, uint64_t wait_ns)
{
    return wait_ns > UINT64_MAX - now_ns ? UINT64_MAX : now_ns + wait_ns;
}

static uint64_t earlier_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void say(struct locus_redis *redis, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Bytes of a server go to a log or terminal: only printable ones do. */
static void say(struct locus_redis *redis, const char *format, ...)
{
    char text[sizeof(redis->error)];
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    for (char *c = text; *c != '\0'; c++) {
        if ((unsigned char)*c < ' ' || *c == 127) {
            *c = '?';
        }
    }
    pthread_mutex_lock(&redis->lock);
    memcpy(redis->error, text, sizeof(text));
    pthread_mutex_unlock(&redis->lock);
}

static void count(struct locus_redis *redis, uint64_t *counter, uint64_t by)
{
    pthread_mutex_lock(&redis->lock);
    *counter += by;
    pthread_mutex_unlock(&redis->lock);
}

/* splitmix64; the lock is held. Only for spreading reconnections. */
static uint64_t dice(struct locus_redis *redis)
{
    uint64_t z = redis->random += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* The lock is held. */
static uint64_t backoff_ns(struct locus_redis *redis, unsigned failures)
{
    uint64_t wait_ms = BACKOFF_FIRST_MS;

    while (failures-- > 1 && wait_ms < BACKOFF_LAST_MS) {
        wait_ms *= 2;
    }
    if (wait_ms > BACKOFF_LAST_MS) {
        wait_ms = BACKOFF_LAST_MS;
    }
    uint64_t half_ns = wait_ms * NS_PER_MS / 2;
    return half_ns + dice(redis) % (half_ns + 1);
}

static void sleep_until(uint64_t time_ns)
{
    struct timespec at = {
        .tv_sec = (time_t)(time_ns / NS_PER_S),
        .tv_nsec = (long)(time_ns % NS_PER_S),
    };

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR) {
    }
}

/* ---- replies --------------------------------------------------------------------- */

static const redisReply *raw(const struct locus_redis_reply *reply)
{
    return (const redisReply *)(const void *)reply;
}

enum locus_reply_kind locus_reply_kind(const struct locus_redis_reply *reply)
{
    if (reply == NULL) {
        return LOCUS_REPLY_NONE;
    }
    switch (raw(reply)->type) {
    case REDIS_REPLY_NIL:
        return LOCUS_REPLY_NIL;
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
        return LOCUS_REPLY_TEXT;
    case REDIS_REPLY_INTEGER:
        return LOCUS_REPLY_INTEGER;
    case REDIS_REPLY_ARRAY:
        return LOCUS_REPLY_ARRAY;
    case REDIS_REPLY_ERROR:
        return LOCUS_REPLY_ERROR;
    default:
        return LOCUS_REPLY_NONE;
    }
}

const char *locus_reply_text(const struct locus_redis_reply *reply, size_t *length)
{
    if (locus_reply_kind(reply) != LOCUS_REPLY_TEXT || raw(reply)->str == NULL) {
        return NULL;
    }
    if (length != NULL) {
        *length = raw(reply)->len;
    }
    return raw(reply)->str;
}

bool locus_reply_integer(const struct locus_redis_reply *reply, int64_t *out)
{
    size_t length;

    if (locus_reply_kind(reply) == LOCUS_REPLY_INTEGER) {
        *out = raw(reply)->integer;
        return true;
    }
    const char *text = locus_reply_text(reply, &length);
    if (text == NULL || length == 0 || length > 20) {
        return false;
    }
    bool negative = text[0] == '-';
    if (negative && length == 1) {
        return false;
    }
    uint64_t limit = (uint64_t)INT64_MAX + negative;
    uint64_t value = 0;
    for (size_t i = negative; i < length; i++) {
        uint64_t digit = (uint64_t)(text[i] - '0');
        if (text[i] < '0' || text[i] > '9' || value > (limit - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
    }
    *out = negative ? (int64_t)(~value + 1) : (int64_t)value;
    return true;
}

size_t locus_reply_count(const struct locus_redis_reply *reply)
{
    return locus_reply_kind(reply) == LOCUS_REPLY_ARRAY ? raw(reply)->elements : 0;
}

const struct locus_redis_reply *locus_reply_at(const struct locus_redis_reply *reply,
                                               size_t index)
{
    if (index >= locus_reply_count(reply)) {
        return NULL;
    }
    return (const struct locus_redis_reply *)(const void *)raw(reply)->element[index];
}

void locus_reply_free(struct locus_redis_reply *reply)
{
    if (reply != NULL) {
        freeReplyObject(reply);
    }
}

static bool begins(const redisReply *reply, const char *word)
{
    size_t length = strlen(word);

    return reply->str != NULL && reply->len >= length &&
           memcmp(reply->str, word, length) == 0 &&
           (reply->len == length || reply->str[length] == ' ');
}

/* The reader takes NULL for lack of memory, and gives up. */
static void *bounded_array(const redisReadTask *task, element_count elements)
{
    const struct bound *bound = task->privdata;

    return (size_t)elements > ELEMENTS_MAX ? NULL : bound->create_array(task, elements);
}

static void bound_reader(redisReader *reader, struct bound *bound)
{
    bound->functions = *reader->fn;
    bound->create_array = reader->fn->createArray;
    bound->functions.createArray = bounded_array;
    reader->fn = &bound->functions;
    reader->privdata = bound;
}

/* ---- one connection -------------------------------------------------------------- */

static void connection_free(struct connection *connection)
{
    if (connection->context != NULL) {
        redisFree(connection->context);
    }
    free(connection);
}

/* Waits until the socket is ready or the deadline; 0: ready, else an errno. */
static int wait_ready(int fd, short events, uint64_t deadline_ns)
{
    for (;;) {
        uint64_t now_ns = locus_redis_now_ns();
        if (now_ns >= deadline_ns) {
            return ETIMEDOUT;
        }
        uint64_t left_ns = deadline_ns - now_ns;
        struct timespec left = {
            .tv_sec = (time_t)earlier_of(left_ns / NS_PER_S, 1u << 30),
            .tv_nsec = (long)(left_ns % NS_PER_S),
        };
        struct pollfd ready = {.fd = fd, .events = events};
        int got = ppoll(&ready, 1, &left, NULL);
        if (got > 0) {
            return 0;
        }
        if (got < 0 && errno != EINTR) {
            return errno;
        }
    }
}

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
            error = wait_ready(fd, POLLOUT, deadline_ns);
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
        fd = connect_address(a->ai_family, a->ai_addr, a->ai_addrlen, deadline_ns);
    }
    int last = errno;
    freeaddrinfo(found);
    errno = last;
    return fd;
}

/*
 * hiredis writes with write() or SSL_write(), which raise SIGPIPE on a closed connection.
 * A library must not kill its caller's process: the signal is held back for this thread,
 * and taken away if it came from here. Returns what redisBufferWrite() does.
 */
static int write_quietly(redisContext *context, int *all)
{
    sigset_t pipe, before, waiting;
    const struct timespec at_once = {0};

    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigpending(&waiting);
    if (sigismember(&waiting, SIGPIPE) == 1) {
        return redisBufferWrite(context,
                                all); /* blocked already, and not ours to take */
    }
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
    int status = redisBufferWrite(context, all);
    int error = errno;
    if (status != REDIS_OK) {
        while (sigtimedwait(&pipe, NULL, &at_once) < 0 && errno == EINTR) {
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return status;
}

/*
 * Writes what is in the output buffer and reads one reply, by the deadline. Returns NULL
 * after a failure; context->err then tells, or is 0 for the deadline. What stays in the
 * output buffer was not written.
 */
static redisReply *next_reply(redisContext *context, uint64_t deadline_ns)
{
    void *reply = NULL;

    for (;;) {
        if (redisGetReplyFromReader(context, &reply) != REDIS_OK || reply != NULL) {
            return context->err == 0 ? reply : NULL;
        }
        int all = sdslen(context->obuf) == 0;
        if (!all && write_quietly(context, &all) != REDIS_OK) {
            return NULL;
        }
        int error = wait_ready(context->fd, (short)(all ? POLLIN : POLLIN | POLLOUT),
                               deadline_ns);
        if (error != 0) {
            return NULL;
        }
        if (redisBufferRead(context) != REDIS_OK) {
            return NULL;
        }
        if (context->reader->len > REPLY_MAX) {
            context->err = REDIS_ERR_PROTOCOL;
            snprintf(context->errstr, sizeof(context->errstr), "reply is too long");
            return NULL;
        }
    }
}

/* Errors by which a server says that it did nothing, and that it will do later. */
static bool asks_for_patience(const redisReply *reply)
{
    static const char *const words[] = {"LOADING",
                                        "BUSY",
                                        "TRYAGAIN",
                                        "CLUSTERDOWN",
                                        "MASTERDOWN",
                                        "READONLY",
                                        "ERR max number of clients reached"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (begins(reply, words[i])) {
            return true;
        }
    }
    return false;
}

/* One command while the connection is being made: the answer must be a plain OK. EREFUSED
 * when trying again is of no use. */
static int must_ok(struct locus_redis *redis, redisContext *context, int argc,
                   const char **argv, uint64_t deadline_ns)
{
    if (redisAppendCommandArgv(context, argc, argv, NULL) != REDIS_OK) {
        say(redis, "out of memory");
        return LOCUS_ENOMEM;
    }
    redisReply *reply = next_reply(context, deadline_ns);
    if (reply == NULL) {
        say(redis, "%s: %s", argv[0],
            context->err != 0 ? context->errstr : "no answer");
        return LOCUS_EIO;
    }
    int status = LOCUS_EREFUSED;
    if (reply->type == REDIS_REPLY_STATUS && begins(reply, "OK")) {
        status = LOCUS_OK;
    } else if (reply->type == REDIS_REPLY_ERROR) {
        say(redis, "%s: %s", argv[0], reply->str);
        status = asks_for_patience(reply) ? LOCUS_EIO : LOCUS_EREFUSED;
    } else {
        say(redis, "%s: expected OK, not another reply", argv[0]);
    }
    freeReplyObject(reply);
    return status;
}

static int greet(struct locus_redis *redis, redisContext *context, uint64_t deadline_ns)
{
    const struct redis_uri *uri = &redis->uri;
    char db[16];

    if (uri->password != NULL) {
        const char *with_user[] = {"AUTH", uri->user, uri->password};
        const char *without[] = {"AUTH", uri->password};
        int status = uri->user != NULL
                         ? must_ok(redis, context, 3, with_user, deadline_ns)
                         : must_ok(redis, context, 2, without, deadline_ns);
        if (status != LOCUS_OK) {
            return status;
        }
    }
    if (uri->db != 0) {
        snprintf(db, sizeof(db), "%u", uri->db);
        const char *argv[] = {"SELECT", db};
        return must_ok(redis, context, 2, argv, deadline_ns);
    }
    return LOCUS_OK;
}

#if LOCUS_HAVE_HIREDIS_SSL
/* The handshake blocks inside OpenSSL; the socket's own time-outs bound each of its steps. */
static bool secure(struct locus_redis *redis, redisContext *context)
{
    const struct timeval step = {
        .tv_sec = (time_t)(redis->options.connect_timeout_ns / NS_PER_S),
        .tv_usec = (suseconds_t)(redis->options.connect_timeout_ns % NS_PER_S / 1000),
    };
    int flags = fcntl(context->fd, F_GETFL);

    (void)fcntl(context->fd, F_SETFL, flags & ~O_NONBLOCK);
    (void)setsockopt(context->fd, SOL_SOCKET, SO_RCVTIMEO, &step, sizeof(step));
    (void)setsockopt(context->fd, SOL_SOCKET, SO_SNDTIMEO, &step, sizeof(step));
    context->flags |= REDIS_BLOCK;
    bool ok = redisInitiateSSLWithContext(context, redis->tls) == REDIS_OK;
    context->flags &= ~REDIS_BLOCK;
    (void)fcntl(context->fd, F_SETFL, flags);
    if (!ok) {
        say(redis, "TLS: %s", context->errstr);
    }
    return ok;
}
#endif

/* A connection that is ready for commands; or EIO, EREFUSED, ENOMEM with the reason said. */
static int connection_make(struct locus_redis *redis, const struct node *node,
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
        say(redis, "%s%s%s: %s", node->host, node->port[0] != '\0' ? ":" : "",
            node->port, why != NULL ? why : strerror(errno));
        goto free_connection;
    }
    connection->context = redisConnectFd(fd);
    if (connection->context == NULL || connection->context->err != 0) {
        status = LOCUS_ENOMEM;
        close(fd);
        goto free_connection;
    }
    connection->context->flags &= ~REDIS_BLOCK;
    bound_reader(connection->context->reader, &connection->bound);
#if LOCUS_HAVE_HIREDIS_SSL
    if (redis->tls != NULL && !secure(redis, connection->context)) {
        goto free_connection;
    }
#endif
    status = greet(redis, connection->context, deadline_ns);
    if (status == LOCUS_OK) {
        *out = connection;
        return LOCUS_OK;
    }

free_connection:
    connection_free(connection);
    return status;
}

/* Nothing may be waiting to be read on an idle connection: if there is, the server has
 * closed it, or speaks out of turn. */
static bool idle_alive(const struct connection *connection)
{
    struct pollfd ready = {.fd = connection->context->fd, .events = POLLIN};

    return poll(&ready, 1, 0) == 0;
}

/* ---- nodes ----------------------------------------------------------------------- */

/* The lock is held. NO_NODE: no memory, or too many. */
static size_t node_add(struct locus_redis *redis, const char *host, size_t length,
                       const char *port)
{
    for (size_t i = 0; i < redis->node_count; i++) {
        const struct node *node = redis->nodes[i];
        if (strlen(node->host) == length && memcmp(node->host, host, length) == 0 &&
            strcmp(node->port, port) == 0) {
            return i;
        }
    }
    if (redis->node_count == NODES_MAX) {
        return NO_NODE;
    }
    struct node *node = calloc(1, sizeof(*node));
    if (node == NULL) {
        return NO_NODE;
    }
    node->host = strndup(host, length);
    struct node **grown =
        realloc(redis->nodes, (redis->node_count + 1) * sizeof(*redis->nodes));
    if (grown != NULL) {
        redis->nodes = grown;
    }
    if (node->host == NULL || grown == NULL) {
        free(node->host);
        free(node);
        return NO_NODE;
    }
    snprintf(node->port, sizeof(node->port), "%s", port);
    redis->nodes[redis->node_count] = node;
    return redis->node_count++;
}

/* Waits for a change, or until the time. The lock is held. */
static void wait_changed(struct locus_redis *redis, uint64_t until_ns)
{
    const struct timespec at = {
        .tv_sec = (time_t)(until_ns / NS_PER_S),
        .tv_nsec = (long)(until_ns % NS_PER_S),
    };

    pthread_cond_timedwait(&redis->changed, &redis->lock, &at);
}

/* Makes a connection; the caller has counted it in node->open. The lock is held, but not
 * while connecting. */
static int node_connect(struct locus_redis *redis, struct node *node,
                        uint64_t deadline_ns, struct connection **out)
{
    if (node->failures > 0) {
        /* The others wait until this try is over. */
        node->retry_at_ns = UINT64_MAX;
    }
    pthread_mutex_unlock(&redis->lock);
    uint64_t until_ns = earlier_of(
        deadline_ns, later(locus_redis_now_ns(), redis->options.connect_timeout_ns));
    int status = connection_make(redis, node, until_ns, out);
    pthread_mutex_lock(&redis->lock);
    if (status == LOCUS_OK) {
        redis->stats.connects++;
        node->failures = 0;
        node->retry_at_ns = 0;
    } else {
        redis->stats.connect_failures++;
        node->open--;
        node->failures++;
        node->retry_at_ns =
            later(locus_redis_now_ns(), backoff_ns(redis, node->failures));
    }
    pthread_cond_broadcast(&redis->changed);
    return status;
}

/* An idle connection that works, or a new one. ETIMEDOUT: none came free by the deadline;
 * else the failure of one try to connect. */
static int checkout(struct locus_redis *redis, struct node *node, uint64_t deadline_ns,
                    struct connection **out)
{
    struct connection *connection = NULL;
    int status = LOCUS_OK;

    pthread_mutex_lock(&redis->lock);
    while (connection == NULL) {
        if (node->idle != NULL) {
            connection = node->idle;
            node->idle = connection->next;
            if (!idle_alive(connection)) {
                connection_free(connection);
                connection = NULL;
                node->open--;
            }
            continue;
        }
        uint64_t now_ns = locus_redis_now_ns();
        if (now_ns >= deadline_ns) {
            status = node->failures > 0 ? LOCUS_EIO : LOCUS_ETIMEDOUT;
            break;
        }
        if (node->open < redis->options.connections && now_ns >= node->retry_at_ns) {
            node->open++;
            status = node_connect(redis, node, deadline_ns, &connection);
            break;
        }
        wait_changed(redis, now_ns < node->retry_at_ns
                                ? earlier_of(node->retry_at_ns, deadline_ns)
                                : deadline_ns);
    }
    pthread_mutex_unlock(&redis->lock);
    *out = connection;
    return status;
}

static void checkin(struct locus_redis *redis, struct node *node,
                    struct connection *connection, bool usable)
{
    if (!usable) {
        connection_free(connection);
    }
    pthread_mutex_lock(&redis->lock);
    if (usable) {
        connection->next = node->idle;
        node->idle = connection;
    } else {
        node->open--;
    }
    pthread_cond_signal(&redis->changed);
    pthread_mutex_unlock(&redis->lock);
}

/* ---- the cluster's map ----------------------------------------------------------- */

unsigned locus_redis_slot(const char *key, size_t length)
{
    const char *open = memchr(key, '{', length);
    unsigned crc = 0;

    if (open != NULL) {
        size_t rest = length - (size_t)(open - key) - 1;
        const char *close = memchr(open + 1, '}', rest);
        if (close != NULL && close != open + 1) {
            key = open + 1;
            length = (size_t)(close - key);
        }
    }
    for (size_t i = 0; i < length; i++) { /* CRC-16/XMODEM, as the cluster spec says */
        crc ^= (unsigned)(unsigned char)key[i] << 8;
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc & 0x8000) != 0 ? (crc << 1 ^ 0x1021) & 0xffff : crc << 1;
        }
    }
    return crc % SLOTS;
}

static bool read_port(const char *text, size_t length, char out[8])
{
    if (length == 0 || length > 5 || strspn(text, "0123456789") < length ||
        strtoul(text, NULL, 10) - 1 >= 65535) {
        return false;
    }
    memcpy(out, text, length);
    out[length] = '\0';
    return true;
}

/* "MOVED 3999 host:port" or "ASK ..."; an empty host is the node that said so. */
static size_t redirected(struct locus_redis *redis, const redisReply *reply,
                         const struct node *from, unsigned *slot)
{
    const char *number = strchr(reply->str, ' ');
    const char *where = number != NULL ? strchr(number + 1, ' ') : NULL;
    const char *colon = where != NULL ? strrchr(where, ':') : NULL;
    char port[8];

    if (colon == NULL || !read_port(colon + 1, strlen(colon + 1), port)) {
        return NO_NODE;
    }
    unsigned long parsed = strtoul(number + 1, NULL, 10);
    if (parsed >= SLOTS) {
        return NO_NODE;
    }
    *slot = (unsigned)parsed;
    const char *host = where + 1;
    size_t length = (size_t)(colon - host);
    if (length == 0) {
        host = from->host;
        length = strlen(host);
    }
    pthread_mutex_lock(&redis->lock);
    size_t node = node_add(redis, host, length, port);
    pthread_mutex_unlock(&redis->lock);
    return node;
}

/* The lock is held. */
static void map_set(struct locus_redis *redis, unsigned slot, size_t node)
{
    if (redis->slots == NULL) {
        redis->slots = calloc(SLOTS, sizeof(*redis->slots));
    }
    if (redis->slots != NULL) { /* without memory, each command is redirected */
        redis->slots[slot] = (uint16_t)(node + 1);
    }
}

/* One row of CLUSTER SLOTS: first, last, [host, port, ...] of the master, then replicas. */
static void map_row(struct locus_redis *redis, const struct locus_redis_reply *row,
                    const struct node *from)
{
    int64_t first, last, port;
    char digits[8];

    if (!locus_reply_integer(locus_reply_at(row, 0), &first) ||
        !locus_reply_integer(locus_reply_at(row, 1), &last) || first < 0 ||
        last >= SLOTS || first > last) {
        return;
    }
    for (size_t i = 2; i < locus_reply_count(row); i++) {
        const struct locus_redis_reply *at = locus_reply_at(row, i);
        size_t length = 0;
        const char *host = locus_reply_text(locus_reply_at(at, 0), &length);
        if (!locus_reply_integer(locus_reply_at(at, 1), &port) || port < 1 ||
            port > 65535) {
            continue;
        }
        if (host == NULL || length == 0) {
            host = from->host;
            length = strlen(host);
        }
        snprintf(digits, sizeof(digits), "%d", (int)port);
        size_t node = node_add(redis, host, length, digits);
        for (int64_t slot = first; i == 2 && node != NO_NODE && slot <= last; slot++) {
            map_set(redis, (unsigned)slot, node);
        }
    }
}

/* Asks the node for the whole map, at most once a second: after a MOVED other slots have
 * moved as well. A map that cannot be had is learnt slot by slot. */
static bool map_ask(struct locus_redis *redis, const struct node *from,
                    struct connection *connection, uint64_t deadline_ns)
{
    const char *argv[] = {"CLUSTER", "SLOTS"};
    uint64_t now_ns = locus_redis_now_ns();

    pthread_mutex_lock(&redis->lock);
    bool due = redis->map_asked_ns == 0 || now_ns - redis->map_asked_ns > NS_PER_S;
    if (due) {
        redis->map_asked_ns = now_ns;
    }
    pthread_mutex_unlock(&redis->lock);
    if (!due) {
        return true;
    }
    if (redisAppendCommandArgv(connection->context, 2, argv, NULL) != REDIS_OK) {
        return false;
    }
    redisReply *reply = next_reply(connection->context, deadline_ns);
    if (reply == NULL) {
        return false;
    }
    const struct locus_redis_reply *rows =
        (const struct locus_redis_reply *)(const void *)reply;
    pthread_mutex_lock(&redis->lock);
    for (size_t i = 0; i < locus_reply_count(rows); i++) {
        map_row(redis, locus_reply_at(rows, i), from);
    }
    pthread_mutex_unlock(&redis->lock);
    freeReplyObject(reply);
    return true;
}

/*
 * Where a slot is: as the map says; and while that node fails, or nothing is known, the
 * node with the fewest failures, the URI's first of those. Any of a cluster's nodes
 * knows where a slot has gone.
 */
static size_t node_for(struct locus_redis *redis, bool keyed, unsigned slot)
{
    size_t best = 0;

    pthread_mutex_lock(&redis->lock);
    if (keyed && redis->slots != NULL && redis->slots[slot] != 0) {
        size_t mapped = redis->slots[slot] - 1u;
        if (redis->nodes[mapped]->failures == 0) {
            pthread_mutex_unlock(&redis->lock);
            return mapped;
        }
    }
    for (size_t i = 1; i < redis->node_count; i++) {
        if (redis->nodes[i]->failures < redis->nodes[best]->failures) {
            best = i;
        }
    }
    pthread_mutex_unlock(&redis->lock);
    return best;
}

/* ---- a call ---------------------------------------------------------------------- */

static void finish(struct call *call, size_t i, int status, redisReply *reply)
{
    call->pending[i].done = true;
    call->results[i].status = status;
    call->results[i].reply = (struct locus_redis_reply *)(void *)reply;
}

/* The SHA of a script, asked for once; "" where the server will not tell. NULL: the
 * connection failed. */
static const char *script_sha(struct locus_redis *redis, struct connection *connection,
                              const char *source, uint64_t deadline_ns)
{
    const char *argv[] = {"SCRIPT", "LOAD", source};
    const char *sha = NULL;

    pthread_mutex_lock(&redis->lock);
    for (size_t i = 0; i < redis->script_count; i++) {
        if (redis->scripts[i].source == source) {
            sha = redis->scripts[i].sha;
        }
    }
    pthread_mutex_unlock(&redis->lock);
    if (sha != NULL) {
        return sha;
    }
    if (redisAppendCommandArgv(connection->context, 3, argv, NULL) != REDIS_OK) {
        return NULL;
    }
    redisReply *reply = next_reply(connection->context, deadline_ns);
    if (reply == NULL) {
        return NULL;
    }
    sha = "";
    if (reply->type == REDIS_REPLY_STRING && reply->len == SHA_LENGTH &&
        strspn(reply->str, "0123456789abcdef") == SHA_LENGTH) {
        pthread_mutex_lock(&redis->lock);
        if (redis->script_count < SCRIPTS_MAX) {
            struct known_script *known = &redis->scripts[redis->script_count++];
            known->source = source;
            memcpy(known->sha, reply->str, SHA_LENGTH + 1);
            sha = known->sha;
        }
        pthread_mutex_unlock(&redis->lock);
    }
    freeReplyObject(reply);
    return sha;
}

/* Puts one command into the output buffer, a script behind its three words. */
static int append(redisContext *context, const struct locus_redis_command *command,
                  bool whole, const char *sha)
{
    const char *inline_argv[INLINE_ARGS];
    size_t inline_lengths[INLINE_ARGS];
    const char **argv = inline_argv;
    size_t *lengths = inline_lengths;
    char keys[24];
    size_t used = 0;
    int status = LOCUS_ENOMEM;

    if (command->argc + 3 > INLINE_ARGS) {
        argv = calloc(command->argc + 3, sizeof(*argv));
        lengths = calloc(command->argc + 3, sizeof(*lengths));
    }
    if (argv == NULL || lengths == NULL) {
        goto free_arrays;
    }
    if (command->script != NULL) {
        whole = whole || sha[0] == '\0';
        snprintf(keys, sizeof(keys), "%zu", command->keys);
        argv[used++] = whole ? "EVAL" : "EVALSHA";
        argv[used++] = whole ? command->script->source : sha;
        argv[used++] = keys;
        for (size_t i = 0; i < used; i++) {
            lengths[i] = strlen(argv[i]);
        }
    }
    for (size_t i = 0; i < command->argc; i++, used++) {
        argv[used] = command->argv[i];
        lengths[used] =
            command->lengths != NULL ? command->lengths[i] : strlen(command->argv[i]);
    }
    if (redisAppendCommandArgv(context, (int)used, argv, lengths) == REDIS_OK) {
        status = LOCUS_OK;
    }

free_arrays:
    if (argv != inline_argv) {
        free(argv);
    }
    if (lengths != inline_lengths) {
        free(lengths);
    }
    return status;
}

static int append_asking(redisContext *context)
{
    const char *argv[] = {"ASKING"};

    return redisAppendCommandArgv(context, 1, argv, NULL) == REDIS_OK ? LOCUS_OK
                                                                      : LOCUS_ENOMEM;
}

static void follow(struct call *call, size_t i, const redisReply *reply,
                   const struct node *from)
{
    struct pending *pending = &call->pending[i];
    struct locus_redis *redis = call->redis;
    unsigned slot = 0;
    size_t node = redirected(redis, reply, from, &slot);

    say(redis, "%s", reply->str);
    if (node == NO_NODE) {
        finish(call, i, LOCUS_EFORMAT, NULL);
        return;
    }
    pending->target = node;
    pending->asking = begins(reply, "ASK");
    call->last = LOCUS_EIO;
    /* Nodes that send each other's way settle their dispute in time, or never. */
    call->wait = call->wait || ++pending->redirects > REDIRECTS_MAX;
    pthread_mutex_lock(&redis->lock);
    redis->stats.redirects++;
    if (!pending->asking) {
        map_set(redis, slot, node);
    }
    pthread_mutex_unlock(&redis->lock);
}

/* A node that works, but takes no writes, or none yet: others come first for a while. */
static void shun(struct locus_redis *redis, struct node *node)
{
    pthread_mutex_lock(&redis->lock);
    node->failures++;
    node->retry_at_ns = later(locus_redis_now_ns(), backoff_ns(redis, node->failures));
    pthread_mutex_unlock(&redis->lock);
}

/* Sorts one answer: done, or pending still because nothing was done. The reply is taken. */
static void settle(struct call *call, size_t i, redisReply *reply, struct node *from)
{
    struct pending *pending = &call->pending[i];

    if (reply->type != REDIS_REPLY_ERROR) {
        finish(call, i, LOCUS_OK, reply);
        return;
    }
    pending->target = NO_NODE;
    pending->asking = false;
    if (begins(reply, "MOVED") || begins(reply, "ASK")) {
        follow(call, i, reply, from);
    } else if (begins(reply, "NOSCRIPT") && call->commands[i].script != NULL &&
               !pending->whole) {
        pending->whole = true;
        count(call->redis, &call->redis->stats.noscript, 1);
    } else {
        say(call->redis, "%s", reply->str);
        if (asks_for_patience(reply)) {
            call->wait = true;
            call->last = LOCUS_ETIMEDOUT;
            if (begins(reply, "READONLY") || begins(reply, "MASTERDOWN") ||
                begins(reply, "LOADING")) {
                shun(call->redis, from);
            }
        } else if (begins(reply, "WRONGTYPE")) {
            finish(call, i, LOCUS_EFORMAT, NULL);
        } else {
            finish(call, i, begins(reply, "OOM") ? LOCUS_EFULL : LOCUS_EREFUSED, NULL);
        }
    }
    freeReplyObject(reply);
}

/* The connection failed before this one was answered. */
static void unanswered(struct call *call, size_t i, bool sent, bool garbage)
{
    call->wait = true;
    call->last = sent ? LOCUS_ETIMEDOUT : LOCUS_EIO;
    call->pending[i].target = NO_NODE;
    call->pending[i].asking = false;
    if (garbage && sent) {
        finish(call, i, LOCUS_EFORMAT, NULL);
    } else if (sent && !call->commands[i].repeatable) {
        finish(call, i, LOCUS_EAMBIGUOUS, NULL);
        count(call->redis, &call->redis->stats.ambiguous, 1);
    } else {
        count(call->redis, &call->redis->stats.retries, 1);
    }
}

static bool is_garbage(const redisContext *context)
{
    return context->err == REDIS_ERR_PROTOCOL || context->err == REDIS_ERR_OOM;
}

/* After next_reply() has returned NULL. */
static void say_failure(struct locus_redis *redis, const struct node *node,
                        const redisContext *context)
{
    if (context->err == 0) {
        count(redis, &redis->stats.timeouts, 1);
    }
    say(redis, "%s%s%s: %s", node->host, node->port[0] != '\0' ? ":" : "", node->port,
        context->err != 0 ? context->errstr : "no answer within the deadline");
}

/* Reads the answers to what was appended; false when the connection is of no more use. */
static bool read_answers(struct call *call, struct connection *connection,
                         struct node *node, uint64_t deadline_ns, size_t appended)
{
    redisContext *context = connection->context;
    uint64_t answered = 0;
    bool moved = false;
    size_t i;

    for (i = 0; i < call->count; i++) {
        if (!call->pending[i].here) {
            continue;
        }
        redisReply *reply = next_reply(context, deadline_ns);
        if (reply != NULL && call->pending[i].asking) {
            freeReplyObject(reply); /* ASKING's own */
            reply = next_reply(context, deadline_ns);
        }
        if (reply == NULL) {
            break;
        }
        moved = moved || (reply->type == REDIS_REPLY_ERROR && begins(reply, "MOVED"));
        settle(call, i, reply, node);
        answered++;
    }
    count(call->redis, &call->redis->stats.commands, answered);
    if (i == call->count) {
        return !moved || map_ask(call->redis, node, connection, deadline_ns);
    }
    bool garbage = is_garbage(context);
    say_failure(call->redis, node, context);
    size_t written = appended - sdslen(context->obuf);
    for (; i < call->count; i++) {
        if (call->pending[i].here) {
            unanswered(call, i, call->pending[i].end <= written, garbage);
        }
    }
    return false;
}

/* Puts the commands of this exchange into the output buffer; *appended is its length. */
static int write_commands(struct call *call, struct connection *connection,
                          const struct node *node, uint64_t deadline_ns,
                          size_t *appended)
{
    redisContext *context = connection->context;

    for (size_t i = 0; i < call->count; i++) {
        const struct locus_redis_command *command = &call->commands[i];
        struct pending *pending = &call->pending[i];
        pending->sha = "";
        if (!pending->here || command->script == NULL) {
            continue;
        }
        /* All SHAs are asked for before anything is appended, and only once: a server that
         * did not tell one might do so, or fail, the second time. */
        pending->sha =
            script_sha(call->redis, connection, command->script->source, deadline_ns);
        if (pending->sha == NULL) {
            say_failure(call->redis, node, context);
            return is_garbage(context) ? LOCUS_EFORMAT : LOCUS_EIO;
        }
    }
    for (size_t i = 0; i < call->count; i++) {
        const struct locus_redis_command *command = &call->commands[i];
        struct pending *pending = &call->pending[i];
        if (!pending->here) {
            continue;
        }
        int status = pending->asking ? append_asking(context) : LOCUS_OK;
        if (status == LOCUS_OK) {
            status = append(context, command, pending->whole, pending->sha);
        }
        if (status != LOCUS_OK) {
            return status;
        }
        pending->end = sdslen(context->obuf);
    }
    *appended = sdslen(context->obuf);
    return LOCUS_OK;
}

static size_t target_of(const struct call *call, size_t i)
{
    const struct locus_redis_command *command = &call->commands[i];
    bool keyed = command->route < command->argc;
    unsigned slot = 0;

    if (call->pending[i].target != NO_NODE) {
        return call->pending[i].target;
    }
    if (keyed) {
        const char *key = command->argv[command->route];
        slot = locus_redis_slot(key, command->lengths != NULL
                                         ? command->lengths[command->route]
                                         : strlen(key));
    }
    return node_for(call->redis, keyed, slot);
}

/* Marks those pending that go to the same node as the first of them. NO_NODE: none is. */
static size_t choose(struct call *call)
{
    size_t chosen = NO_NODE;

    for (size_t i = 0; i < call->count; i++) {
        call->pending[i].here = false;
        if (call->pending[i].done) {
            continue;
        }
        size_t target = target_of(call, i);
        if (chosen == NO_NODE) {
            chosen = target;
        }
        call->pending[i].here = target == chosen;
    }
    return chosen;
}

/* No connection: those meant for this node stay pending, or end if that is final. */
static void unconnected(struct call *call, int status)
{
    call->last = status;
    for (size_t i = 0; i < call->count; i++) {
        if (!call->pending[i].here) {
            continue;
        }
        call->pending[i].target = NO_NODE;
        call->pending[i].asking = false;
        if (status != LOCUS_EIO && status != LOCUS_ETIMEDOUT) {
            finish(call, i, status, NULL);
        }
    }
}

/* One exchange with one node. */
static void exchange(struct call *call, size_t at)
{
    struct locus_redis *redis = call->redis;
    struct connection *connection;
    size_t appended;

    pthread_mutex_lock(&redis->lock);
    struct node *node = redis->nodes[at];
    pthread_mutex_unlock(&redis->lock);
    int status = checkout(redis, node, call->deadline_ns, &connection);
    if (status != LOCUS_OK) {
        unconnected(call, status);
        return;
    }
    uint64_t until_ns =
        earlier_of(call->deadline_ns,
                   later(locus_redis_now_ns(), redis->options.command_timeout_ns));
    count(redis, &redis->stats.round_trips, 1);
    status = write_commands(call, connection, node, until_ns, &appended);
    if (status != LOCUS_OK) {
        call->wait = true;
        unconnected(call, status);
        checkin(redis, node, connection, false);
        return;
    }
    bool usable = read_answers(call, connection, node, until_ns, appended);
    checkin(redis, node, connection, usable);
}

static void back_off(struct call *call)
{
    pthread_mutex_lock(&call->redis->lock);
    uint64_t wait_ns = backoff_ns(call->redis, ++call->waits);
    pthread_mutex_unlock(&call->redis->lock);
    sleep_until(earlier_of(call->deadline_ns, later(locus_redis_now_ns(), wait_ns)));
    call->wait = false;
}

static void run(struct call *call)
{
    size_t at;

    while ((at = choose(call)) != NO_NODE) {
        if (call->wait) {
            back_off(call);
        }
        if (locus_redis_now_ns() >= call->deadline_ns) {
            break;
        }
        exchange(call, at);
    }
    for (size_t i = 0; i < call->count; i++) {
        if (!call->pending[i].done) {
            finish(call, i, call->last, NULL);
        }
    }
}

static bool sendable(const struct locus_redis_command *command)
{
    return command->argc <= ARGC_MAX &&
           (command->argc > 0 || command->script != NULL) &&
           command->keys <= command->argc;
}

int locus_redis_run(struct locus_redis *redis,
                    const struct locus_redis_command *commands, size_t count,
                    uint64_t timeout_ns, struct locus_redis_result *results)
{
    struct pending inline_pending[INLINE_PENDING];
    uint64_t wait_ns = timeout_ns != 0 ? timeout_ns : redis->options.total_timeout_ns;
    struct call call = {
        .redis = redis,
        .commands = commands,
        .pending = inline_pending,
        .results = results,
        .count = count,
        .deadline_ns = later(locus_redis_now_ns(), wait_ns),
        .last = LOCUS_ETIMEDOUT,
    };
    int status = LOCUS_OK;

    for (size_t i = 0; i < count; i++) {
        results[i] = (struct locus_redis_result){.status = LOCUS_EINVAL};
        status = sendable(&commands[i]) ? status : LOCUS_EINVAL;
    }
    if (status != LOCUS_OK || count == 0) {
        return status;
    }
    if (count > INLINE_PENDING) {
        call.pending = calloc(count, sizeof(*call.pending));
        if (call.pending == NULL) {
            for (size_t i = 0; i < count; i++) {
                results[i].status = LOCUS_ENOMEM;
            }
            return LOCUS_ENOMEM;
        }
    }
    for (size_t i = 0; i < count; i++) {
        call.pending[i] = (struct pending){.target = NO_NODE};
    }
    run(&call);
    for (size_t i = 0; i < count && status == LOCUS_OK; i++) {
        status = results[i].status;
    }
    if (call.pending != inline_pending) {
        free(call.pending);
    }
    return status;
}

int locus_redis_run_one(struct locus_redis *redis,
                        const struct locus_redis_command *command, uint64_t timeout_ns,
                        struct locus_redis_reply **reply)
{
    struct locus_redis_result result;
    int status = locus_redis_run(redis, command, 1, timeout_ns, &result);

    *reply = result.reply;
    return status;
}

void locus_redis_results_clear(struct locus_redis_result *results, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        locus_reply_free(results[i].reply);
        results[i].reply = NULL;
    }
}

/* ---- the handle ------------------------------------------------------------------ */

static bool add_hosts(struct locus_redis *redis)
{
    const struct redis_uri *uri = &redis->uri;

    if (uri->path != NULL) {
        return node_add(redis, uri->path, strlen(uri->path), "") != NO_NODE;
    }
    for (size_t i = 0; i < uri->host_count; i++) {
        if (node_add(redis, uri->hosts[i].name, strlen(uri->hosts[i].name),
                     uri->hosts[i].port) == NO_NODE) {
            return false;
        }
    }
    return true;
}

static void name_handle(struct locus_redis *redis)
{
    const struct redis_uri *uri = &redis->uri;

    if (uri->path != NULL) {
        snprintf(redis->name, sizeof(redis->name), "%.200s/%u", uri->path, uri->db);
    } else {
        snprintf(redis->name, sizeof(redis->name), "%.200s:%s/%u", uri->hosts[0].name,
                 uri->hosts[0].port, uri->db);
    }
}

static int start_tls(struct locus_redis *redis, char *error, size_t error_size)
{
    if (!redis->uri.tls) {
        return LOCUS_OK;
    }
#if LOCUS_HAVE_HIREDIS_SSL
    redisSSLContextError why;
    redisInitOpenSSL();
    redis->tls = redisCreateSSLContext(NULL, "/etc/ssl/certs", NULL, NULL,
                                       redis->uri.hosts[0].name, &why);
    if (redis->tls == NULL) {
        snprintf(error, error_size, "TLS: %s", redisSSLContextGetError(why));
        return LOCUS_EIO;
    }
    return LOCUS_OK;
#else
    snprintf(error, error_size, "this build's hiredis has no TLS");
    return LOCUS_ENOTSUP;
#endif
}

static void set_options(struct locus_redis *redis,
                        const struct locus_redis_options *options)
{
    const struct locus_redis_options none = {0};
    struct locus_redis_options *o = &redis->options;

    *o = options != NULL ? *options : none;
    o->connect_timeout_ns =
        o->connect_timeout_ns != 0 ? o->connect_timeout_ns : NS_PER_S;
    o->command_timeout_ns =
        o->command_timeout_ns != 0 ? o->command_timeout_ns : NS_PER_S;
    o->total_timeout_ns = o->total_timeout_ns != 0 ? o->total_timeout_ns : 3 * NS_PER_S;
    o->connections = o->connections != 0 ? o->connections : 8;
}

static int init_lock(struct locus_redis *redis)
{
    pthread_condattr_t attributes;

    if (pthread_condattr_init(&attributes) != 0) {
        return LOCUS_ENOMEM;
    }
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    int failed = pthread_cond_init(&redis->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    if (failed != 0) {
        return LOCUS_ENOMEM;
    }
    if (pthread_mutex_init(&redis->lock, NULL) != 0) {
        pthread_cond_destroy(&redis->changed);
        return LOCUS_ENOMEM;
    }
    return LOCUS_OK;
}

int locus_redis_open(const char *uri, const struct locus_redis_options *options,
                     struct locus_redis **out, char *error, size_t error_size)
{
    struct locus_redis *redis = calloc(1, sizeof(*redis));

    *out = NULL;
    if (redis == NULL || init_lock(redis) != LOCUS_OK) {
        snprintf(error, error_size, "out of memory");
        free(redis);
        return LOCUS_ENOMEM;
    }
    if (getrandom(&redis->random, sizeof(redis->random), GRND_NONBLOCK) < 0) {
        redis->random = locus_redis_now_ns();
    }
    set_options(redis, options);
    int status = locus_redis_uri_parse(uri, &redis->uri, error, error_size);
    if (status == LOCUS_OK) {
        status = start_tls(redis, error, error_size);
    }
    if (status == LOCUS_OK && !add_hosts(redis)) {
        snprintf(error, error_size, "out of memory");
        status = LOCUS_ENOMEM;
    }
    if (status != LOCUS_OK) {
        locus_redis_close(redis);
        return status;
    }
    name_handle(redis);
    *out = redis;
    return LOCUS_OK;
}

void locus_redis_close(struct locus_redis *redis)
{
    if (redis == NULL) {
        return;
    }
    for (size_t i = 0; i < redis->node_count; i++) {
        struct node *node = redis->nodes[i];
        while (node->idle != NULL) {
            struct connection *connection = node->idle;
            node->idle = connection->next;
            connection_free(connection);
        }
        free(node->host);
        free(node);
    }
#if LOCUS_HAVE_HIREDIS_SSL
    if (redis->tls != NULL) {
        redisFreeSSLContext(redis->tls);
    }
#endif
    free(redis->nodes);
    free(redis->slots);
    pthread_mutex_destroy(&redis->lock);
    pthread_cond_destroy(&redis->changed);
    explicit_bzero(redis, sizeof(*redis));
    free(redis);
}

void locus_redis_get_stats(struct locus_redis *redis, struct locus_redis_stats *out)
{
    pthread_mutex_lock(&redis->lock);
    *out = redis->stats;
    pthread_mutex_unlock(&redis->lock);
}

void locus_redis_error(struct locus_redis *redis, char *text, size_t size)
{
    pthread_mutex_lock(&redis->lock);
    snprintf(text, size, "%s", redis->error);
    pthread_mutex_unlock(&redis->lock);
}

const char *locus_redis_name(const struct locus_redis *redis)
{
    return redis->name;
}

int locus_redis_parse(const char *bytes, size_t length, struct locus_redis_reply **out)
{
    redisReader *reader = redisReaderCreate();
    struct bound bound;
    void *reply = NULL;
    int status = LOCUS_OK;

    *out = NULL;
    if (reader == NULL) {
        return LOCUS_ENOMEM;
    }
    bound_reader(reader, &bound);
    if (redisReaderFeed(reader, bytes, length) != REDIS_OK) {
        status = LOCUS_ENOMEM;
    } else if (redisReaderGetReply(reader, &reply) != REDIS_OK) {
        status = LOCUS_EFORMAT;
    }
    redisReaderFree(reader);
    *out = reply;
    return status;
}
