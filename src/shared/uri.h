/* SPDX-License-Identifier: MIT */
/*
 * Redis URIs, read strictly. A message never repeats the URI, since it holds a password.
 */
#ifndef LOCUS_SHARED_URI_H
#define LOCUS_SHARED_URI_H

#include <stdbool.h>
#include <stddef.h>

#include <locus/status.h>

enum { REDIS_URI_HOSTS = 16, REDIS_URI_BYTES = 1024 };

struct redis_uri {
    bool tls;
    const char *path; /* of a Unix socket; NULL: hosts */
    struct redis_uri_host {
        const char *name; /* an address or a name, IPv6 without its brackets */
        const char *port; /* decimal */
    } hosts[REDIS_URI_HOSTS];
    size_t host_count;
    const char *user;     /* NULL: the server's default user */
    const char *password; /* NULL: no AUTH */
    unsigned db;
    const char *authorities; /* with TLS: files in PEM, NULL: not given */
    const char *certificate;
    const char *key; /* NULL: it is in the certificate's file */
    char storage[2 *
                 REDIS_URI_BYTES]; /* what the pointers point into: not to be copied */
};

/* EINVAL with the reason in error. *out may be filled in part then. */
int locus_redis_uri_parse(const char *text, struct redis_uri *out, char *error,
                          size_t error_size) LOCUS_NODISCARD;

#endif
