/* SPDX-License-Identifier: MIT */
#include "client.h"

#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include <locus/status.h>

#include "../base/errors.h"
#include "../base/values.h"

/* Wrong arguments, rather than a failure. */
static bool is_usage(int status)
{
    return status == LOCUS_EINVAL || status == LOCUS_ERANGE;
}

int client_opened(const char *command, int status, const char *why)
{
    if (status == LOCUS_EINVAL) {
        return usage_error(command, "%s", why);
    }
    if (status != LOCUS_OK) {
        fprintf(stderr, "locus %s: %s\n", command, why);
        return EXIT_RUNTIME;
    }
    return EXIT_OK;
}

int client_failed(const char *command, const char *what, int status, const char *words)
{
    bool shown = words[0] != '\0' && status != LOCUS_ENOENT && !is_usage(status);

    fprintf(stderr, "locus %s: %s: %s%s%s%s\n", command, what, locus_strerror(status),
            shown ? " (" : "", shown ? words : "", shown ? ")" : "");
    return is_usage(status) ? EXIT_USAGE : EXIT_RUNTIME;
}

int client_watch(const struct client_watch *watch, int (*look)(void *arg), void *arg)
{
    const struct timespec pause = {
        .tv_sec = (time_t)(watch->interval_ns / NS_PER_S),
        .tv_nsec = (long)(watch->interval_ns % NS_PER_S),
    };

    for (uint64_t round = 1; *watch->stop == 0; round++) {
        int code = look(arg);
        if (code != EXIT_OK || ferror(stdout) || round == watch->rounds) {
            return code;
        }
        nanosleep(&pause, NULL);
    }
    return EXIT_OK;
}
