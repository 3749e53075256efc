/* SPDX-License-Identifier: MIT */
/* Which home of a pool or registry a URI names. */
#ifndef LOCUS_SHARED_SCHEME_H
#define LOCUS_SHARED_SCHEME_H

#include <stdbool.h>
#include <string.h>

#define URI_FORMS \
    "expected mem:, redis://host[:port][/db], rediss://... or redis+unix:///path"

/* "mem:" is the whole URI, "redis" the beginning of three schemes. */
static inline bool uri_has_scheme(const char *uri, const char *scheme)
{
    size_t length = strlen(scheme);

    return strncmp(uri, scheme, length) == 0 &&
           (scheme[length - 1] != ':' || uri[length] == '\0');
}

#endif
