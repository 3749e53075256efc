/* SPDX-License-Identifier: MIT */
/*
 * What the commands on shared state have in common: how they find and open it, what they say
 * when it fails, and how they watch it.
 */
#ifndef LOCUS_SIM_CLIENT_H
#define LOCUS_SIM_CLIENT_H

#include <stdint.h>

/* Room for the words of an error. */
enum { CLIENT_WORDS = 256 };

/* The exit_code of an open; if it failed, after a line on stderr with the reason. */
int client_opened(const char *command, int status, const char *why);

/* Says on stderr that something failed. words are those of the server, or "". The exit_code for
 * it. */
int client_failed(const char *command, const char *what, int status, const char *words);

/* How 'watch' goes on. */
struct client_watch {
    uint64_t interval_ns;
    uint64_t rounds;          /* 0: forever */
    const volatile int *stop; /* not 0: no more */
};

/* Calls look(arg) time and again, until it returns another exit_code than EXIT_OK, which is then
 * returned, or stdout is gone. */
int client_watch(const struct client_watch *watch, int (*look)(void *arg), void *arg);

#endif
