/* SPDX-License-Identifier: MIT */
#include "map_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../base/errors.h"
#include "../base/output.h"

FILE *map_file_open(const char *command, const char *path)
{
    FILE *file = fopen(path, "rb");

    if (file == NULL) {
        fprintf(stderr, "locus %s: cannot read %s: %s\n", command, path,
                strerror(errno));
    }
    return file;
}

static int read_file(void *arg, void *bytes, size_t size)
{
    FILE *file = arg;

    if (fread(bytes, 1, size, file) == size) {
        return LOCUS_OK;
    }
    return ferror(file) ? LOCUS_EIO : LOCUS_EFORMAT;
}

static int write_file(void *arg, const void *bytes, size_t size)
{
    return fwrite(bytes, 1, size, arg) == size ? LOCUS_OK : LOCUS_EIO;
}

/* A line on stderr, and the exit_code. */
static int not_loaded(const char *command, const char *path, int status, int error)
{
    const char *why = locus_strerror(status);

    if (status == LOCUS_EFORMAT) {
        why = "damaged, or not what --save writes";
    } else if (status == LOCUS_ENOTSUP) {
        why = "written by a later version of locus";
    } else if (status == LOCUS_EINVAL) {
        why = "of another policy, or destinations of another kind (IPv4, IPv6, names)";
    } else if (status == LOCUS_EIO) {
        why = strerror(error);
    }
    fprintf(stderr, "locus %s: --load: %s: %s\n", command, path, why);
    return status == LOCUS_EINVAL ? EXIT_USAGE : EXIT_RUNTIME;
}

static void tell_what_is_left_out(const char *command, const char *path,
                                  const struct locus_snapshot_report *report)
{
    if (report->skipped > 0) {
        fprintf(stderr,
                "locus %s: --load: %s: destinations left out, since their servers are "
                "not in the pool: %" PRIu32 "; loaded: %" PRIu32 "\n",
                command, path, report->skipped, report->loaded);
    }
    if (report->beyond_bound > 0) {
        fprintf(stderr,
                "locus %s: --load: %s: destinations left out, since no more may be "
                "remembered: %" PRIu32 "; loaded: %" PRIu32 "\n",
                command, path, report->beyond_bound, report->loaded);
    }
}

int map_file_load(const char *command, const char *path, FILE *file,
                  struct engine *engine)
{
    struct locus_snapshot_report report;

    errno = 0;
    int status = engine_load(engine, read_file, file, &report);
    int error = errno;
    fclose(file);
    if (status != LOCUS_OK) {
        return not_loaded(command, path, status, error);
    }
    tell_what_is_left_out(command, path, &report);
    return EXIT_OK;
}

int map_file_save(const char *command, const char *path, struct engine *engine)
{
    FILE *file = output_open(command, path);

    if (file == NULL) {
        return EXIT_RUNTIME;
    }
    int status = engine_save(engine, write_file, file);
    if (!output_close(command, path, file)) {
        return EXIT_RUNTIME;
    }
    if (status != LOCUS_OK) {
        fprintf(stderr, "locus %s: --save: %s: %s\n", command, path,
                locus_strerror(status));
        return EXIT_RUNTIME;
    }
    return EXIT_OK;
}
