/* SPDX-License-Identifier: MIT */
#include "temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *temporary_folder(void)
{
    const char *folder = getenv("TMPDIR");

    return folder != NULL && folder[0] != '\0' ? folder : "/tmp";
}

bool temporary_failed(const char *what)
{
    fprintf(stderr, "locus: cannot %s the temporary file in %s: %s\n", what,
            temporary_folder(), strerror(errno));
    return false;
}

int temporary_open(void)
{
    char path[4096];
    int length = snprintf(path, sizeof(path), "%s/locus-XXXXXX", temporary_folder());

    if (length < 0 || (size_t)length >= sizeof(path)) {
        errno = ENAMETOOLONG;
        temporary_failed("make");
        return -1;
    }
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0) {
        temporary_failed("make");
        return -1;
    }
    unlink(path);
    return fd;
}
