/* SPDX-License-Identifier: MIT */
#include "compress.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <archive.h>
#include <archive_entry.h>

/* Equal traces are to be equal files: gzip would say when it was made. */
static int add_gzip(struct archive *archive)
{
    int status = archive_write_add_filter_gzip(archive);

    archive_write_set_filter_option(archive, "gzip", "timestamp", NULL);
    return status;
}

static const struct {
    const char *ending;
    int (*add)(struct archive *archive);
} filters[] = {
    {".gz", add_gzip},
    {".bz2", archive_write_add_filter_bzip2},
    {".xz", archive_write_add_filter_xz},
    {".zst", archive_write_add_filter_zstd},
};
enum { FILTERS = sizeof(filters) / sizeof(*filters) };

struct compressed {
    struct archive *archive;
    int fd;
};

static size_t find_filter(const char *path)
{
    size_t length = strlen(path);
    size_t i = 0;

    for (; i < FILTERS; i++) {
        size_t ending = strlen(filters[i].ending);
        if (length > ending && strcmp(path + length - ending, filters[i].ending) == 0) {
            break;
        }
    }
    return i;
}

bool compress_wanted(const char *path)
{
    return find_filter(path) < FILTERS;
}

/* libarchive's number of the last error is an errno, its own, or none. */
static void take_errno(struct archive *archive)
{
    int number = archive_errno(archive);

    errno = number > 0 ? number : EIO;
}

static ssize_t write_some(void *cookie, const char *data, size_t size)
{
    struct compressed *c = cookie;
    la_ssize_t written = archive_write_data(c->archive, data, size);

    if (written < 0 || (written == 0 && size > 0)) {
        take_errno(c->archive);
        return 0; /* how a stream's writer says that it failed */
    }
    return (ssize_t)written;
}

static int close_all(void *cookie)
{
    struct compressed *c = cookie;
    int failed = 0;

    if (archive_write_close(c->archive) < ARCHIVE_WARN) {
        take_errno(c->archive);
        failed = errno;
    }
    archive_write_free(c->archive);
    if (close(c->fd) != 0 && failed == 0) {
        failed = errno;
    }
    free(c);
    errno = failed;
    return failed == 0 ? 0 : -1;
}

/* The one entry of the "raw" format, which is nothing but its bytes. */
static bool begin(struct compressed *c, size_t filter)
{
    struct archive_entry *entry = archive_entry_new();
    bool ok = entry != NULL && filters[filter].add(c->archive) >= ARCHIVE_WARN &&
              archive_write_set_format_raw(c->archive) == ARCHIVE_OK &&
              archive_write_open_fd(c->archive, c->fd) == ARCHIVE_OK;

    if (ok) {
        archive_entry_set_filetype(entry, AE_IFREG);
        ok = archive_write_header(c->archive, entry) >= ARCHIVE_WARN;
    }
    if (entry == NULL) {
        errno = ENOMEM;
    } else if (!ok) {
        take_errno(c->archive);
    }
    archive_entry_free(entry);
    return ok;
}

FILE *compress_open(const char *path)
{
    struct compressed *c = calloc(1, sizeof(*c));
    FILE *file = NULL;

    if (c == NULL) {
        return NULL;
    }
    c->archive = archive_write_new();
    c->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (c->archive != NULL && c->fd >= 0 && begin(c, find_filter(path))) {
        cookie_io_functions_t functions = {.write = write_some, .close = close_all};
        file = fopencookie(c, "w", functions);
    }
    if (file == NULL) {
        int why = errno;
        archive_write_free(c->archive);
        if (c->fd >= 0) {
            close(c->fd);
        }
        free(c);
        errno = why;
    }
    return file;
}
