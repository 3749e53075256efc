/* SPDX-License-Identifier: MIT */
/* Waiting for a socket by a deadline: for connections, and for TLS over them. */
#include "redis_internal.h"

#include <errno.h>
#include <poll.h>

int locus_redis_wait_ready(int fd, short events, uint64_t deadline_ns)
{
    for (;;) {
        uint64_t now_ns = clock_now_ns();
        if (now_ns >= deadline_ns) {
            return ETIMEDOUT;
        }
        uint64_t left_ns = deadline_ns - now_ns;
        struct timespec left = clock_timespec(clock_earlier(left_ns, NS_PER_S << 30));
        struct pollfd ready = {.fd = fd, .events = events};
        int got = ppoll(&ready, 1, &left, NULL);
        if (got > 0) {
            return 0;
        }
        if (got < 0 && errno != EINTR) {
            return errno;
        }
    }
}
