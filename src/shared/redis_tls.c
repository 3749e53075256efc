/* SPDX-License-Identifier: MIT */
/*
 * TLS by OpenSSL, so that it does not depend on how hiredis was built. The server's certificate
 * must be valid for the host's name or address as the URI or the cluster gives it. Trusted
 * are the authorities of the URI's file; without one the system's, or what SSL_CERT_FILE and
 * SSL_CERT_DIR of the environment name.
 */
#include "redis_internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

/* A file's password would be asked for at the terminal, which is not a library's. */
static int no_password(char *to, int size, int writing, void *asked)
{
    (void)to;
    (void)size;
    (void)writing;
    *(bool *)asked = true;
    return -1;
}

static bool load_authorities(SSL_CTX *context, const char *file)
{
    return SSL_CTX_load_verify_file(context, file) == 1;
}

static bool load_certificate(SSL_CTX *context, const char *file)
{
    return SSL_CTX_use_certificate_chain_file(context, file) == 1;
}

static bool load_key(SSL_CTX *context, const char *file)
{
    return SSL_CTX_use_PrivateKey_file(context, file, SSL_FILETYPE_PEM) == 1;
}

static bool load_files(SSL_CTX *context, const struct redis_uri *uri, char *error,
                       size_t error_size)
{
    const struct {
        bool (*load)(SSL_CTX *context, const char *file);
        const char *what, *file;
    } files[] = {
        {load_authorities, "the authorities", uri->authorities},
        {load_certificate, "the certificate", uri->certificate},
        {load_key, "the key", uri->key != NULL ? uri->key : uri->certificate},
    };
    bool asked = false;

    SSL_CTX_set_default_passwd_cb(context, no_password);
    SSL_CTX_set_default_passwd_cb_userdata(context, &asked);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        ERR_clear_error();
        if (files[i].file == NULL || files[i].load(context, files[i].file)) {
            continue;
        }
        unsigned long first = ERR_peek_error();
        const char *why = asked                     ? "it has a password"
                          : ERR_SYSTEM_ERROR(first) ? strerror(ERR_GET_REASON(first))
                                                    : ERR_reason_error_string(first);
        snprintf(error, error_size, "TLS: cannot take %s from %s: %s", files[i].what,
                 files[i].file, why != NULL ? why : "unknown reason");
        return false;
    }
    SSL_CTX_set_default_passwd_cb_userdata(context, NULL);
    return true;
}

int locus_redis_tls_start(struct locus_redis *redis, char *error, size_t error_size)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());

    if (context == NULL) {
        snprintf(error, error_size, "out of memory");
        return LOCUS_ENOMEM;
    }
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    /* A reply tells its own length: nobody can cut one off unnoticed by closing. */
    SSL_CTX_set_options(context,
                        SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE |
                                  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    int status = LOCUS_OK;
    if (SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1 ||
        (redis->uri.authorities == NULL &&
         SSL_CTX_set_default_verify_paths(context) != 1)) {
        snprintf(error, error_size, "TLS: cannot load the trusted authorities");
        status = LOCUS_EIO;
    } else if (!load_files(context, &redis->uri, error, error_size)) {
        status = LOCUS_EINVAL;
    }
    ERR_clear_error();
    redis->tls = context; /* stopped by the close that follows a failure */
    return status;
}

void locus_redis_tls_stop(struct locus_redis *redis)
{
    SSL_CTX_free(redis->tls);
    redis->tls = NULL;
}

/* ---- quiet ----------------------------------------------------------------------- */

/* OpenSSL writes with write(), which raises SIGPIPE on a closed connection. The signal is held
 * back for this thread, and taken away if it came from here. */
struct quiet {
    sigset_t before;
    bool theirs; /* one waits already, blocked by the caller and not ours to take */
};

static void quiet_begin(struct quiet *quiet)
{
    sigset_t pipe, waiting;

    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigpending(&waiting);
    quiet->theirs = sigismember(&waiting, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe, &quiet->before);
}

/* Keeps errno. */
static void quiet_end(const struct quiet *quiet)
{
    const struct timespec at_once = {0};
    int error = errno;
    sigset_t pipe;

    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    while (!quiet->theirs && sigtimedwait(&pipe, NULL, &at_once) < 0 &&
           errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &quiet->before, NULL);
    errno = error;
}

/* SSL_get_error() goes by the thread's queue of errors and by errno, whoever left them there. */
static void forget_errors(void)
{
    ERR_clear_error();
    errno = 0;
}

/* ---- the handshake --------------------------------------------------------------- */

/* Whom the certificate must name. */
static bool expect(SSL *tls, char *host)
{
    unsigned char address[sizeof(struct in6_addr)];

    if (inet_pton(AF_INET, host, address) == 1 ||
        inet_pton(AF_INET6, host, address) == 1) {
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls), host) == 1;
    }
    SSL_set_hostflags(tls, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set_tlsext_host_name(tls, host) == 1 && SSL_set1_host(tls, host) == 1;
}

static void say_failure(struct locus_redis *redis, const struct node *node,
                        const SSL *tls, int error)
{
    long verdict = tls != NULL ? SSL_get_verify_result(tls) : X509_V_OK;
    const char *why = ERR_reason_error_string(ERR_peek_last_error());

    if (verdict != X509_V_OK) {
        why = X509_verify_cert_error_string(verdict);
    } else if (error != 0) {
        why = strerror(error);
    } else if (why == NULL) {
        why = "the server closed the connection";
    }
    locus_redis_say(redis, "%s:%s: TLS: %s", node->host, node->port, why);
    ERR_clear_error();
}

/* 0; else why not: an errno, or -1 for OpenSSL's own reasons. */
static int shake_hands(SSL *tls, int fd, uint64_t deadline_ns)
{
    int error = 0;

    while (error == 0) {
        forget_errors();
        int got = SSL_connect(tls);
        if (got == 1) {
            return 0;
        }
        switch (SSL_get_error(tls, got)) {
        case SSL_ERROR_WANT_READ:
            error = locus_redis_wait_ready(fd, POLLIN, deadline_ns);
            break;
        case SSL_ERROR_WANT_WRITE:
            error = locus_redis_wait_ready(fd, POLLOUT, deadline_ns);
            break;
        case SSL_ERROR_SYSCALL:
            error = errno != 0 ? errno : -1;
            break;
        default:
            error = -1;
        }
    }
    return error;
}

int locus_redis_tls_secure(struct locus_redis *redis, const struct node *node,
                           struct connection *connection, uint64_t deadline_ns)
{
    SSL *tls = SSL_new(redis->tls);
    struct quiet quiet;

    connection->tls = tls;
    if (tls == NULL || !expect(tls, node->host) ||
        SSL_set_fd(tls, connection->context->fd) != 1) {
        say_failure(redis, node, NULL, ENOMEM);
        return LOCUS_ENOMEM;
    }
    quiet_begin(&quiet);
    int error = shake_hands(tls, connection->context->fd, deadline_ns);
    quiet_end(&quiet);
    if (error == 0) {
        return LOCUS_OK;
    }
    say_failure(redis, node, tls, error > 0 ? error : 0);
    return SSL_get_verify_result(tls) != X509_V_OK ? LOCUS_EREFUSED : LOCUS_EIO;
}

void locus_redis_tls_free(struct connection *connection)
{
    SSL_free(connection->tls);
    connection->tls = NULL;
}

/* ---- what goes over it ----------------------------------------------------------- */

/* What SSL_read() or SSL_write() came to, as of recv() and send(); with OpenSSL's own words
 * where it has any. */
static ssize_t outcome(const struct connection *connection, int got)
{
    redisContext *context = connection->context;
    const char *why;

    if (got > 0) {
        return got;
    }
    switch (SSL_get_error(connection->tls, got)) {
    case SSL_ERROR_ZERO_RETURN:
        return 0;
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        errno = EAGAIN;
        break;
    case SSL_ERROR_SYSCALL:
        errno = errno != 0 ? errno : ECONNRESET;
        break;
    default: /* an alert, or tampered with */
        errno = EPROTO;
        why = ERR_reason_error_string(ERR_peek_last_error());
        snprintf(context->errstr, sizeof(context->errstr), "TLS: %s",
                 why != NULL ? why : strerror(errno));
        context->err = REDIS_ERR_IO;
    }
    ERR_clear_error();
    return -1;
}

/*
 * A server that refuses a client says so, closes, and answers what still comes with a reset: a
 * slow client meets that before it has read why, and the kernel keeps what it received. After
 * such a failure OpenSSL wants nothing done any more; nothing else is. Keeps errno.
 */
static void hear_last_word(const struct connection *connection)
{
    int error = errno;
    char unwanted;

    forget_errors();
    (void)outcome(connection, SSL_read(connection->tls, &unwanted, 1));
    errno = error;
}

ssize_t locus_redis_tls_write(struct connection *connection, const char *bytes,
                              size_t length)
{
    struct quiet quiet;

    quiet_begin(&quiet);
    forget_errors();
    ssize_t sent =
        outcome(connection, SSL_write(connection->tls, bytes,
                                      length < INT_MAX ? (int)length : INT_MAX));
    if (sent < 0 && errno != EAGAIN && connection->context->err == 0) {
        hear_last_word(connection);
    }
    quiet_end(&quiet);
    return sent;
}

/* An alert may be the answer to what is read. */
ssize_t locus_redis_tls_read(struct connection *connection, char *bytes, size_t size)
{
    struct quiet quiet;

    quiet_begin(&quiet);
    forget_errors();
    ssize_t got = outcome(connection, SSL_read(connection->tls, bytes, (int)size));
    quiet_end(&quiet);
    return got;
}
