/* SPDX-License-Identifier: MIT */
#include "uri.h"

#include <stdio.h>
#include <string.h>

#include "scheme.h"
#include "text.h"

enum { DB_MAX = 65535, PATH_LIMIT = 107 }; /* sun_path is 108 bytes with its NUL */

struct cursor {
    struct redis_uri *uri;
    size_t used; /* of uri->storage */
    char *error;
    size_t error_size;
};

static int refuse(struct cursor *c, const char *reason)
{
    snprintf(c->error, c->error_size, "%s", reason);
    return LOCUS_EINVAL;
}

static int hex(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Copies length bytes with %XX decoded. NULL when an escape is malformed or is a NUL. The
 * storage holds every part of a text of REDIS_URI_BYTES, each with its NUL. */
static const char *decoded(struct cursor *c, const char *text, size_t length)
{
    char *start = c->uri->storage + c->used;
    char *to = start;

    for (size_t i = 0; i < length; i++) {
        if (text[i] != '%') {
            *to++ = text[i];
            continue;
        }
        int high = i + 2 < length ? hex(text[i + 1]) : -1;
        int low = i + 2 < length ? hex(text[i + 2]) : -1;
        if (high < 0 || low < 0 || high + low == 0) {
            return NULL;
        }
        *to++ = (char)(high * 16 + low);
        i += 2;
    }
    *to++ = '\0';
    c->used += (size_t)(to - start);
    return start;
}

static int parse_user(struct cursor *c, const char *text, size_t length)
{
    const char *colon = memchr(text, ':', length);
    size_t user = colon != NULL ? (size_t)(colon - text) : length;

    if (colon == NULL) {
        return refuse(c,
                      "expected 'user:password@' or ':password@' in front of the host");
    }
    if (user > 0) {
        c->uri->user = decoded(c, text, user);
        if (c->uri->user == NULL) {
            return refuse(c, "the user has a malformed percent escape");
        }
    }
    c->uri->password = decoded(c, colon + 1, length - user - 1);
    if (c->uri->password == NULL) {
        return refuse(c, "the password has a malformed percent escape");
    }
    return LOCUS_OK;
}

static int parse_host(struct cursor *c, const char *text, size_t length)
{
    struct redis_uri *uri = c->uri;
    const char *name = text;
    const char *end = text + length;
    const char *rest;
    unsigned port = 6379;

    if (uri->host_count == REDIS_URI_HOSTS) {
        return refuse(c, "expected at most 16 hosts");
    }
    if (length > 0 && text[0] == '[') {
        name = text + 1;
        const char *bracket = memchr(text, ']', length);
        if (bracket == NULL) {
            return refuse(c, "expected ']' behind an IPv6 address");
        }
        length = (size_t)(bracket - name);
        rest = bracket + 1;
    } else {
        rest = memchr(text, ':', length);
        rest = rest != NULL ? rest : end;
        length = (size_t)(rest - text);
    }
    if (length == 0) {
        return refuse(c, "expected a host, as in redis://127.0.0.1:6379/0");
    }
    if (rest != end &&
        (rest[0] != ':' ||
         !text_is_number(rest + 1, (size_t)(end - rest - 1), 65535, &port) ||
         port == 0)) {
        return refuse(c, "expected a port from 1 to 65535 behind the host");
    }
    char digits[8];
    snprintf(digits, sizeof(digits), "%u", port);
    struct redis_uri_host *host = &uri->hosts[uri->host_count++];
    host->name = decoded(c, name, length);
    host->port = decoded(c, digits, strlen(digits));
    return host->name != NULL ? LOCUS_OK : refuse(c, "the host has a malformed escape");
}

static int parse_hosts(struct cursor *c, const char *text, size_t length)
{
    for (;;) {
        const char *comma = memchr(text, ',', length);
        size_t part = comma != NULL ? (size_t)(comma - text) : length;
        int status = parse_host(c, text, part);
        if (status != LOCUS_OK || comma == NULL) {
            return status;
        }
        text = comma + 1;
        length -= part + 1;
    }
}

/* One NAME=FILE of what is behind a '?'. */
static int parse_file(struct cursor *c, const char *text, size_t length)
{
    struct redis_uri *uri = c->uri;
    const struct {
        const char *name;
        const char **file;
    } known[] = {{"cacert=", &uri->authorities},
                 {"cert=", &uri->certificate},
                 {"key=", &uri->key}};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        size_t name = strlen(known[i].name);
        const char *file;
        if (length < name || memcmp(text, known[i].name, name) != 0) {
            continue;
        }
        file = decoded(c, text + name, length - name);
        if (*known[i].file != NULL || !text_is_name(file, REDIS_URI_BYTES, "")) {
            return refuse(c, "expected each of cacert, cert and key at most once, with "
                             "the name of a file");
        }
        *known[i].file = file;
        return LOCUS_OK;
    }
    return refuse(c, "expected cacert=FILE, cert=FILE or key=FILE behind '?' and '&'");
}

static int parse_files(struct cursor *c, const char *text, size_t length)
{
    const char *end = text + length;

    if (!c->uri->tls) {
        return refuse(c, "expected '?' and files only in rediss://");
    }
    for (;;) {
        const char *ampersand = memchr(text, '&', (size_t)(end - text));
        const char *until = ampersand != NULL ? ampersand : end;
        int status = parse_file(c, text, (size_t)(until - text));
        if (status != LOCUS_OK) {
            return status;
        }
        if (ampersand == NULL) {
            break;
        }
        text = ampersand + 1;
    }
    return c->uri->key == NULL || c->uri->certificate != NULL
               ? LOCUS_OK
               : refuse(c, "expected cert=FILE beside key=FILE");
}

static int parse_tcp(struct cursor *c, const char *text, size_t length)
{
    const char *mark = memchr(text, '?', length);

    if (mark != NULL) {
        size_t front = (size_t)(mark - text);
        int status = parse_files(c, mark + 1, length - front - 1);
        if (status != LOCUS_OK) {
            return status;
        }
        length = front;
    }
    const char *slash = memchr(text, '/', length);
    size_t hosts = slash != NULL ? (size_t)(slash - text) : length;

    if (slash != NULL && hosts + 1 < length &&
        !text_is_number(slash + 1, length - hosts - 1, DB_MAX, &c->uri->db)) {
        return refuse(c, "expected a database number behind the host's '/'");
    }
    return parse_hosts(c, text, hosts);
}

static int parse_unix(struct cursor *c, const char *text, size_t length)
{
    static const char query[] = "?db=";
    const char *mark = memchr(text, '?', length);
    size_t path = mark != NULL ? (size_t)(mark - text) : length;

    if (mark != NULL &&
        (length - path < sizeof(query) || memcmp(mark, query, sizeof(query) - 1) != 0 ||
         !text_is_number(mark + sizeof(query) - 1, length - path - (sizeof(query) - 1),
                         DB_MAX, &c->uri->db))) {
        return refuse(c, "expected nothing or '?db=N' behind the socket's path");
    }
    if (path == 0 || text[0] != '/') {
        return refuse(c,
                      "expected an absolute path, as in redis+unix:///run/redis.sock");
    }
    c->uri->path = decoded(c, text, path);
    if (c->uri->path == NULL) {
        return refuse(c, "the path has a malformed percent escape");
    }
    if (strlen(c->uri->path) > PATH_LIMIT) {
        return refuse(c, "the socket's path is longer than 107 bytes");
    }
    return LOCUS_OK;
}

int locus_redis_uri_parse(const char *text, struct redis_uri *out, char *error,
                          size_t error_size)
{
    static const struct {
        const char *prefix;
        bool tls, local;
    } schemes[] = {
        {"redis://", false, false},
        {"rediss://", true, false},
        {"redis+unix://", false, true},
    };
    struct cursor c = {.uri = out, .error = error, .error_size = error_size};
    size_t length = strnlen(text, REDIS_URI_BYTES);

    memset(out, 0, sizeof(*out));
    if (length == REDIS_URI_BYTES) {
        return refuse(&c, "the URI is too long");
    }
    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        size_t prefix = strlen(schemes[i].prefix);
        if (strncmp(text, schemes[i].prefix, prefix) != 0) {
            continue;
        }
        text += prefix;
        length -= prefix;
        out->tls = schemes[i].tls;
        /* The last '@' before the path ends the user: a path may contain one. */
        size_t authority = strcspn(text, "/");
        const char *at = memrchr(text, '@', authority);
        if (at != NULL) {
            size_t user = (size_t)(at - text);
            int status = parse_user(&c, text, user);
            if (status != LOCUS_OK) {
                return status;
            }
            text += user + 1;
            length -= user + 1;
        }
        return schemes[i].local ? parse_unix(&c, text, length)
                                : parse_tcp(&c, text, length);
    }
    return refuse(&c, URI_FORMS);
}
