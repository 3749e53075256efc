/* SPDX-License-Identifier: MIT */
/*
 * A server of a test's own making: it answers whatever it is sent with the same bytes, or
 * does worse. One thread per server, one connection at a time.
 */
#ifndef LOCUS_TESTS_FAKE_SERVER_H
#define LOCUS_TESTS_FAKE_SERVER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum fake_manner {
    FAKE_ANSWER,       /* the bytes, at once */
    FAKE_DRIP,         /* the bytes, one every 20 ms, again and again */
    FAKE_HANG_UP,      /* reads, and closes without a word */
    FAKE_CLOSE,        /* closes as soon as somebody connects */
    FAKE_SILENT,       /* reads, and says nothing */
    FAKE_ANSWER_CLOSE, /* the bytes, and closes */
};

struct fake_server {
    char uri[128]; /* redis+unix://... */
    char folder[64];
    const char *bytes;
    size_t length;
    _Atomic(enum fake_manner) manner; /* may be changed while it serves */
    int listening;
    atomic_bool stop;
    atomic_uint connections;
    pthread_t thread;
};

void fake_server_start(struct fake_server *server, enum fake_manner manner,
                       const char *bytes, size_t length);
void fake_server_stop(struct fake_server *server);

#endif
