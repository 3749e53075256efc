/* SPDX-License-Identifier: MIT */
/*
 * Servers from what an operator has at hand, told apart by looking:
 *
 *   ipvsadm -S [-n], and ipvsadm scripts   -A, -a, -e, -d, -D, -C, -E with all their options,
 *                                          long or short; "sleep N" lets time pass, and edits
 *                                          behind it become events of the replay
 *   ipvsadm -L [-n] [--thresholds]         the table; its connections are there when the
 *                                          replay begins, up to 10,000,000 of a service
 *   keepalived.conf                        virtual_server blocks with their real_servers
 *   a list                                 ADDRESS[:PORT] [WEIGHT] a line
 *
 * What is not about servers is skipped; an unknown word is said once.
 */
#ifndef LOCUS_SIM_POOL_FILE_H
#define LOCUS_SIM_POOL_FILE_H

#include <stdbool.h>

#include "../servers/servers.h"

/*
 * Adds the servers of one service to list, in the order in which a kernel got them (a table
 * is printed newest first), or the other way round. service: "ADDRESS:PORT", a fwmark's
 * number or a group's name; NULL when there is but one. An exit_code, after a line on stderr.
 */
int pool_file_read(const char *command, const char *path, const char *service,
                   bool reverse, struct server_list *list);

#endif
