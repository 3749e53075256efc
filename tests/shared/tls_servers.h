/* SPDX-License-Identifier: MIT */
/* Servers over TLS, and a folder of certificates by an authority of the test's own. */
#ifndef LOCUS_TESTS_TLS_SERVERS_H
#define LOCUS_TESTS_TLS_SERVERS_H

#include <stdio.h>
#include <stdlib.h>

#include "redis_server.h"

static char folder[] = "/tmp/locus-tls-XXXXXX";

/* An authority, and certificates of it for two servers and a client. */
static const char make_certificates[] =
    "new='req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes'\n"
    "openssl $new -x509 -days 2 -subj /CN=authority -keyout ca.key -out ca.pem\n"
    "sign() {\n"
    "    openssl $new -subj /CN=server -keyout $1.key -out $1.csr\n"
    "    echo \"subjectAltName=$2\" >$1.ext\n"
    "    openssl x509 -req -days 2 -in $1.csr -CA ca.pem -CAkey ca.key -CAcreateserial "
    "\\\n"
    "        -extfile $1.ext -out $1.pem\n"
    "}\n"
    "sign right DNS:localhost,IP:127.0.0.1\n"
    "sign other DNS:other.example,IP:127.0.0.2\n"
    "sign client DNS:client.example\n"
    "cat client.key client.pem >'client & key.pem'\n"
    "openssl ec -in client.key -aes128 -passout pass:x -out secret.key\n"
    "test -s secret.key\n";

static inline bool make_folder(void)
{
    char command[sizeof(make_certificates) + 100];

    if (mkdtemp(folder) == NULL) {
        return false;
    }
    snprintf(command, sizeof(command), "cd %s && {\n%s} >log 2>&1", folder,
             make_certificates);
    return system(command) == 0;
}

/* asks: for the clients' certificates. */
static inline bool start_tls_server(struct redis_server *tls, const char *name,
                                    bool asks)
{
    char port[8], certificate[64], key[64], authority[64];
    const char *const extra[] = {"--tls-port",
                                 port,
                                 "--tls-cert-file",
                                 certificate,
                                 "--tls-key-file",
                                 key,
                                 "--tls-ca-cert-file",
                                 authority,
                                 "--tls-auth-clients",
                                 asks ? "yes" : "no",
                                 NULL};
    bool started = false;

    snprintf(certificate, sizeof(certificate), "%s/%s.pem", folder, name);
    snprintf(key, sizeof(key), "%s/%s.key", folder, name);
    snprintf(authority, sizeof(authority), "%s/ca.pem", folder);
    for (int tries = 0; !started && tries < 5; tries++) { /* a port may be lost again */
        int number = redis_server_port();
        snprintf(port, sizeof(port), "%d", number);
        started = redis_server_start(tls, 0, extra);
        tls->port = number; /* of TLS */
        if (!started) {
            redis_server_stop(tls);
        }
    }
    return started;
}

#endif
