/* SPDX-License-Identifier: MIT */
/* The servers of a snapshot: read, and found in the service or prepared to come into it. */
#ifndef LOCUS_SNAPSHOT_SERVERS_H
#define LOCUS_SNAPSHOT_SERVERS_H

#include "loading.h"

/* LOCUS_ENOMEM, LOCUS_EFORMAT, or what the stream says. */
int locus_loading_servers(struct loading *load);

#endif
