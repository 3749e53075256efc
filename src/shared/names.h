/* SPDX-License-Identifier: MIT */
/*
 * Hash tables by name (uthash), with the core's hash of names: lists of names are written
 * by others, and uthash's own is easy to collide.
 */
#ifndef LOCUS_SHARED_NAMES_H
#define LOCUS_SHARED_NAMES_H

#include <locus/locus.h>

#define HASH_FUNCTION(name, length, hash) \
    ((hash) = (unsigned)locus_key_from_name((name), (length)).words[0])

#include <uthash.h>

#endif
