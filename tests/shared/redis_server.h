/* SPDX-License-Identifier: MIT */
/*
 * Real redis-servers for tests: each in a folder of its own, on a Unix socket, and on a
 * port of the loopback where asked for. They die with the process that started them.
 */
#ifndef LOCUS_TESTS_REDIS_SERVER_H
#define LOCUS_TESTS_REDIS_SERVER_H

#include <stdbool.h>
#include <sys/types.h>

struct redis_server {
    pid_t pid;
    int port; /* 0: none */
    char folder[64];
    char uri[128]; /* redis+unix://... */
};

/* Whether there is a redis-server in PATH. */
bool redis_server_installed(void);
/* extra: further arguments, NULL-terminated; NULL for none. false: it did not come up. */
bool redis_server_start(struct redis_server *server, int port,
                        const char *const *extra);
/* On a port of the loopback that is free, too; server->port says which. */
bool redis_server_start_on_a_port(struct redis_server *server,
                                  const char *const *extra);
/* For fixtures: alone on its socket, or the program ends. */
void redis_server_must_start(struct redis_server *server);
/* Ends it in the way of kill -9, its folder stays; starts it again with the same words. */
void redis_server_kill(struct redis_server *server);
bool redis_server_restart(struct redis_server *server, const char *const *extra);
/* Ends it and removes its folder. */
void redis_server_stop(struct redis_server *server);
/* A port of the loopback, free until somebody else takes it, of those where port + 10000 is
 * one as well. */
int redis_server_port(void);
/* Sends one command in words, returns the answer as redis-cli prints it; static buffer of
 * the calling process. */
const char *redis_server_cli(const struct redis_server *server, const char *words);

#endif
