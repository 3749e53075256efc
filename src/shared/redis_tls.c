/* SPDX-License-Identifier: MIT */
/*
 * TLS by OpenSSL, handed to hiredis 1.x for reading and writing. The server's certificate must
 * be valid for the host's name or address as the URI or the cluster gives it: hiredis alone
 * would take that of any server. Trusted are the system's authorities, or what SSL_CERT_FILE
 * and SSL_CERT_DIR of the environment name.
 */
#include "redis_internal.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include <hiredis/hiredis_ssl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

int locus_redis_tls_start(struct locus_redis *redis, char *error, size_t error_size)
{
    SSL_CTX *tls = SSL_CTX_new(TLS_client_method());

    if (tls == NULL) {
        snprintf(error, error_size, "out of memory");
        return LOCUS_ENOMEM;
    }
    SSL_CTX_set_verify(tls, SSL_VERIFY_PEER, NULL);
    if (SSL_CTX_set_min_proto_version(tls, TLS1_2_VERSION) != 1 ||
        SSL_CTX_set_default_verify_paths(tls) != 1) {
        snprintf(error, error_size, "TLS: cannot load the trusted authorities");
        SSL_CTX_free(tls);
        ERR_clear_error();
        return LOCUS_EIO;
    }
    /* A server that ends without a word has ended all the same; what was cut off shows. */
    SSL_CTX_set_options(tls, SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
    redis->tls = tls;
    return LOCUS_OK;
}

void locus_redis_tls_stop(struct locus_redis *redis)
{
    SSL_CTX_free(redis->tls);
    redis->tls = NULL;
}

/* Whom the certificate must name. */
static bool expect(SSL *tls, const char *host)
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
                        const SSL *tls, const char *why)
{
    long verdict = SSL_get_verify_result(tls);
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());

    if (verdict != X509_V_OK) {
        why = X509_verify_cert_error_string(verdict);
    } else if (why == NULL) {
        why = reason != NULL ? reason : "the server closed the connection";
    }
    locus_redis_say(redis, "%s:%s: TLS: %s", node->host, node->port, why);
    ERR_clear_error();
}

/* hiredis has begun the handshake, and would go on with it whenever it reads or writes, busily
 * where the socket takes more but nothing comes. */
static bool shake_hands(struct locus_redis *redis, const struct node *node, SSL *tls,
                        int fd, uint64_t deadline_ns)
{
    for (;;) {
        ERR_clear_error();
        int got = SSL_connect(tls);
        if (got == 1) {
            return true;
        }
        int wants = SSL_get_error(tls, got);
        if (wants != SSL_ERROR_WANT_READ && wants != SSL_ERROR_WANT_WRITE) {
            say_failure(redis, node, tls, NULL);
            return false;
        }
        int error = locus_redis_wait_ready(
            fd, wants == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT, deadline_ns);
        if (error != 0) {
            say_failure(redis, node, tls, strerror(error));
            return false;
        }
    }
}

bool locus_redis_tls_secure(struct locus_redis *redis, const struct node *node,
                            redisContext *context, uint64_t deadline_ns)
{
    SSL *tls = SSL_new(redis->tls);

    if (tls == NULL || !expect(tls, node->host)) {
        locus_redis_say(redis, "%s:%s: TLS: cannot check its name", node->host,
                        node->port);
        SSL_free(tls);
        ERR_clear_error();
        return false;
    }
    if (redisInitiateSSL(context, tls) != REDIS_OK) { /* else the context owns it */
        say_failure(redis, node, tls, context->errstr);
        SSL_free(tls);
        return false;
    }
    return shake_hands(redis, node, tls, context->fd, deadline_ns);
}
