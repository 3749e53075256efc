/* SPDX-License-Identifier: MIT */
/*
 * locus/status.h - status codes and the allocator hook, shared by every part of locus.
 *
 * Every function of locus that can fail returns an int: LOCUS_OK (0) or one of the
 * negative codes below. On failure the outputs are as documented at the function
 * (NULL, or untouched) and the object is as it was before the call.
 */
#ifndef LOCUS_STATUS_H
#define LOCUS_STATUS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define LOCUS_API __attribute__((visibility("default")))
#define LOCUS_NODISCARD __attribute__((warn_unused_result))
#else
#define LOCUS_API
#define LOCUS_NODISCARD
#endif

enum locus_status {
    LOCUS_OK = 0,
    LOCUS_EINVAL = -1, /* an argument is malformed */
    LOCUS_ENOMEM = -2, /* out of memory; nothing changed */
    LOCUS_EEXIST = -3, /* it is there already */
    LOCUS_ENOENT = -4, /* no such server, scheduler, member, key */
    LOCUS_ERANGE = -5, /* a number is outside its range */
    LOCUS_ENOSERVER =
        -6,           /* nobody to pick: the service or pool is empty or unavailable */
    LOCUS_EBUSY = -7, /* in use */
    LOCUS_EFULL = -8, /* a bounded queue or table is full */
    LOCUS_ETIMEDOUT = -9,   /* the deadline passed */
    LOCUS_ECLOSED = -10,    /* shut down while the caller waited */
    LOCUS_EIO = -11,        /* a connection, file or stream failed; nothing was done */
    LOCUS_EAMBIGUOUS = -12, /* sent, but unanswered: it may or may not have been done */
    LOCUS_EFORMAT = -13,    /* input or reply is not of the expected form */
    LOCUS_EREFUSED = -14,   /* a rule or guard said no */
    LOCUS_ENOTSUP = -15,    /* not supported by this build or object */
};

/* A short English text for a status, never NULL, static; unknown codes have one too. */
LOCUS_API const char *locus_strerror(int status);

/*
 * Memory hooks, copied when an object is created; ctx must outlive the object.
 * alloc returns memory aligned for any type, or NULL. free gets a pointer that alloc
 * returned (never NULL) and the size that was asked for.
 */
struct locus_allocator {
    void *(*alloc)(void *ctx, size_t size);
    void (*free)(void *ctx, void *ptr, size_t size);
    void *ctx;
};

#ifdef __cplusplus
}
#endif

#endif
