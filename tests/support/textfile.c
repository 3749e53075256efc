/* SPDX-License-Identifier: MIT */
#include "textfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static gzFile open_either(const char *path)
{
    gzFile file = gzopen(path, "rb");
    if (file) {
        return file;
    }
    char packed[4096];
    if (snprintf(packed, sizeof(packed), "%s.gz", path) >= (int)sizeof(packed)) {
        return NULL;
    }
    return gzopen(packed, "rb");
}

char *textfile_read(const char *path)
{
    gzFile file = open_either(path);
    if (!file) {
        return NULL;
    }
    size_t room = 1 << 16;
    size_t length = 0;
    char *text = malloc(room);
    for (;;) {
        int got =
            text ? gzread(file, text + length, (unsigned)(room - length - 1)) : -1;
        if (got < 0) {
            free(text);
            text = NULL;
            break;
        }
        length += (size_t)got;
        if (length < room - 1) {
            text[length] = '\0';
            break;
        }
        room *= 2;
        char *grown = realloc(text, room);
        if (!grown) {
            free(text);
        }
        text = grown;
    }
    gzclose(file);
    return text;
}

bool textfile_exists(const char *path)
{
    char packed[4096];
    int length = snprintf(packed, sizeof(packed), "%s.gz", path);
    return length < (int)sizeof(packed) &&
           (access(path, R_OK) == 0 || access(packed, R_OK) == 0);
}

static void copy_line(char *to, const char *from, unsigned size)
{
    size_t length = strcspn(from, "\n");
    snprintf(to, size, "%.*s", (int)length, from);
}

unsigned textfile_differ(const char *got, const char *want, char *got_line,
                         char *want_line, unsigned size)
{
    for (unsigned line = 1;; line++) {
        size_t got_length = strcspn(got, "\n");
        size_t want_length = strcspn(want, "\n");
        /* The byte behind tells a line's end from the text's. */
        if (got_length != want_length || memcmp(got, want, got_length + 1) != 0) {
            copy_line(got_line, got, size);
            copy_line(want_line, want, size);
            return line;
        }
        if (got[got_length] == '\0') {
            return 0;
        }
        got += got_length + 1;
        want += want_length + 1;
    }
}
