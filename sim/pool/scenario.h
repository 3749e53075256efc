/* SPDX-License-Identifier: MIT */
/*
 * What-if files: one event a line, times since the first record.
 *
 *     # the cache in rack 2 is rebooted
 *     30m    weight 10.0.0.2:80 0
 *     32m    fail 10.0.0.2:80
 *     1h     restore 10.0.0.2:80
 *     1h5m   weight 10.0.0.2:80 40
 *     2h     guard 50%
 *     2h     remove 10.0.0.2:80
 *
 * From a guard on, no remove and no weight 0 takes effect that would leave fewer servers in
 * service with a weight than that many, or than that percentage (rounded up) of the most
 * there were at once. A fail is a fact, which no guard prevents.
 */
#ifndef LOCUS_SIM_SCENARIO_H
#define LOCUS_SIM_SCENARIO_H

#include <stddef.h>

#include "../servers/servers.h"

/* Adds the file's events, and the servers that it alone knows. An exit_code, after a line on
 * stderr. */
int scenario_read(const char *command, const char *path, struct server_list *list);

/* An event as a line of such a file has it, without its time. */
enum { EVENT_TEXT = 160 };
void server_event_text(const struct server_list *list, const struct server_event *event,
                       char text[EVENT_TEXT]);

#endif
