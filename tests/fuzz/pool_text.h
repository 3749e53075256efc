/* SPDX-License-Identifier: MIT */
/*
 * Shared by the targets that read files of operators: the bytes as a file, and what must hold
 * of any list of servers that comes out.
 */
#ifndef LOCUS_FUZZ_POOL_TEXT_H
#define LOCUS_FUZZ_POOL_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "servers/servers.h"

/* Ends the program when ok is false. */
void require(int ok, const char *what);
/* The path of a file in memory that holds these bytes; stderr goes nowhere from then on. */
const char *file_of(const uint8_t *data, size_t size);
/* Names end, numbers are in range, no two servers are the same, events are in order and of
 * servers that there are. */
void check_list(const struct server_list *list);
void require_same(const struct server_list *a, const struct server_list *b);

#endif
