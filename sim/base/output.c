/* SPDX-License-Identifier: MIT */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "errors.h"

FILE *output_open(const char *command, const char *path)
{
    if (strcmp(path, "-") == 0) {
        return stdout;
    }
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        fprintf(stderr, "locus %s: cannot write %s: %s\n", command, path,
                strerror(errno));
    }
    return file;
}

bool output_check(const char *command, const char *path)
{
    struct stat file;
    bool is_there = stat(path, &file) == 0;

    /* Opening a pipe would wait for its reader, and end it by closing. */
    if (strcmp(path, "-") == 0 || (is_there && !S_ISREG(file.st_mode))) {
        return true;
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) {
        fprintf(stderr, "locus %s: cannot write %s: %s\n", command, path,
                strerror(errno));
        return false;
    }
    close(fd);
    if (!is_there) {
        unlink(path);
    }
    return true;
}

bool output_apart(const char *command, const char *path, char *const *inputs,
                  size_t count)
{
    struct stat out, in;

    if (stat(path, &out) != 0 || !S_ISREG(out.st_mode)) {
        return true;
    }
    for (size_t i = 0; i < count; i++) {
        if (stat(inputs[i], &in) == 0 && in.st_dev == out.st_dev &&
            in.st_ino == out.st_ino) {
            usage_error(command, "'%s' is to be read and written", path);
            return false;
        }
    }
    return true;
}

bool output_close(const char *command, const char *path, FILE *file)
{
    bool failed = fflush(file) != 0 || ferror(file);
    int error = errno;

    if (file != stdout && fclose(file) != 0 && !failed) {
        failed = true;
        error = errno;
    }
    if (failed) {
        fprintf(stderr, "locus %s: cannot write %s: %s\n", command, path,
                strerror(error));
    }
    return !failed;
}

int output_json_line(const char *command, json_t *object)
{
    if (object == NULL || json_dumpf(object, stdout, JSON_COMPACT) != 0) {
        json_decref(object);
        fprintf(stderr, "locus %s: cannot print JSON\n", command);
        return EXIT_RUNTIME;
    }
    json_decref(object);
    putchar('\n');
    return EXIT_OK;
}

int output_json(const char *command, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    json_t *object = json_vpack_ex(NULL, 0, format, ap);
    va_end(ap);
    return output_json_line(command, object);
}
