/* SPDX-License-Identifier: MIT */
/*
 * libarchive undoes the compression ("raw" format: the stream is one entry), and hands out
 * blocks of its own. They are copied into one buffer, behind what is left of the last line,
 * so that every line lies in one piece.
 */
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <archive.h>
#include <archive_entry.h>

/* A line of the greatest length always fits, whole blocks behind it as well. */
enum { BUFFER_BYTES = INPUT_LINE_MAX + (1 << 18), READ_BYTES = 1 << 16 };

struct input {
    char name[4096];
    struct archive *archive;
    int fd;
    uint64_t total_bytes;
    uint64_t line_number;
    const char *block; /* what libarchive gave and is not in the buffer yet */
    size_t block_left;
    char *buffer;
    size_t begin, end; /* what of the buffer is not handed out yet */
    bool ended;        /* libarchive has nothing more */
    bool line_ended;
};

static void complain(const struct input *input, const char *why)
{
    fprintf(stderr, "locus: %s: %s\n", input->name, why);
}

/* libarchive's numbers are errno's, its own or none. */
static const char *archive_why(struct input *input)
{
    const char *text = archive_error_string(input->archive);

    return text != NULL ? text : "cannot be read";
}

static bool start_archive(struct input *input)
{
    struct archive *a = archive_read_new();
    struct archive_entry *entry;

    if (a == NULL) {
        complain(input, "out of memory");
        return false;
    }
    input->archive = a;
    archive_read_support_format_raw(a);
    archive_read_support_format_empty(a);
    archive_read_support_filter_gzip(a);
    archive_read_support_filter_bzip2(a);
    archive_read_support_filter_xz(a);
    archive_read_support_filter_zstd(a);
    if (archive_read_open_fd(a, input->fd, READ_BYTES) != ARCHIVE_OK) {
        complain(input, archive_why(input));
        return false;
    }
    int status = archive_read_next_header(a, &entry);
    if (status == ARCHIVE_EOF) {
        input->ended = true;
    } else if (status < ARCHIVE_WARN) {
        complain(input, archive_why(input));
        return false;
    }
    return true;
}

static bool open_file(struct input *input, const char *path)
{
    struct stat st;

    if (strcmp(path, "-") == 0) {
        input->fd = STDIN_FILENO;
    } else {
        input->fd = open(path, O_RDONLY | O_CLOEXEC);
    }
    if (input->fd < 0 || fstat(input->fd, &st) != 0) {
        complain(input, strerror(errno));
        return false;
    }
    if (S_ISDIR(st.st_mode)) {
        complain(input, "is a folder; expected a file");
        return false;
    }
    if (S_ISREG(st.st_mode)) {
        input->total_bytes = (uint64_t)st.st_size;
        posix_fadvise(input->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    }
    return true;
}

struct input *input_open(const char *path)
{
    struct input *input = calloc(1, sizeof(*input));

    if (input == NULL) {
        fprintf(stderr, "locus: %s: out of memory\n", path);
        return NULL;
    }
    input->fd = -1;
    snprintf(input->name, sizeof(input->name), "%s",
             strcmp(path, "-") == 0 ? "stdin" : path);
    input->buffer = malloc(BUFFER_BYTES);
    if (input->buffer == NULL) {
        complain(input, "out of memory");
        input_close(input);
        return NULL;
    }
    if (!open_file(input, path) || !start_archive(input)) {
        input_close(input);
        return NULL;
    }
    return input;
}

void input_close(struct input *input)
{
    if (input == NULL) {
        return;
    }
    archive_read_free(input->archive);
    if (input->fd > STDIN_FILENO) {
        close(input->fd);
    }
    free(input->buffer);
    free(input);
}

/* Puts more behind what the buffer holds, as much as fits or one block. False after an
 * error; at the end of the input nothing is put and ended is set. */
static bool fill(struct input *input)
{
    if (input->begin > 0) {
        memmove(input->buffer, input->buffer + input->begin, input->end - input->begin);
        input->end -= input->begin;
        input->begin = 0;
    }
    while (input->block_left == 0 && !input->ended) {
        const void *block;
        size_t size;
        la_int64_t offset;
        int status = archive_read_data_block(input->archive, &block, &size, &offset);
        if (status == ARCHIVE_EOF) {
            input->ended = true;
        } else if (status < ARCHIVE_WARN) {
            complain(input, archive_why(input));
            return false;
        } else {
            input->block = block;
            input->block_left = size;
        }
    }
    size_t room = BUFFER_BYTES - input->end;
    size_t take = input->block_left < room ? input->block_left : room;
    if (take > 0) {
        memcpy(input->buffer + input->end, input->block, take);
        input->end += take;
        input->block += take;
        input->block_left -= take;
    }
    return true;
}

bool input_head(struct input *input, struct slice *head)
{
    while (input->end - input->begin < INPUT_HEAD && !input->ended) {
        if (!fill(input)) {
            return false;
        }
    }
    size_t size = input->end - input->begin;
    *head = (struct slice){input->buffer + input->begin,
                           size < INPUT_HEAD ? size : INPUT_HEAD};
    return true;
}

/* The rest of a line that is too long goes unread. */
static enum input_status skip_line(struct input *input, struct slice *line)
{
    *line = (struct slice){"", 0};
    for (;;) {
        input->begin = input->end = 0;
        if (!fill(input)) {
            return INPUT_ERROR;
        }
        char *newline = memchr(input->buffer, '\n', input->end);
        if (newline != NULL || input->end == 0) {
            input->begin = newline != NULL ? (size_t)(newline - input->buffer) + 1 : 0;
            input->line_ended = newline != NULL;
            return INPUT_LONG;
        }
    }
}

enum input_status input_line(struct input *input, struct slice *line)
{
    size_t searched = 0;

    for (;;) {
        char *start = input->buffer + input->begin;
        size_t held = input->end - input->begin;
        char *newline = memchr(start + searched, '\n', held - searched);
        if (newline != NULL) {
            size_t length = (size_t)(newline - start);
            input->begin += length + 1;
            input->line_number++;
            input->line_ended = true;
            if (length > 0 && start[length - 1] == '\r') {
                length--;
            }
            *line = (struct slice){start, length};
            return INPUT_OK;
        }
        searched = held;
        if (input->ended && input->block_left == 0) {
            if (held == 0) {
                return INPUT_END;
            }
            input->begin = input->end;
            input->line_number++;
            input->line_ended = false;
            *line = (struct slice){start, held};
            return INPUT_OK;
        }
        if (held >= INPUT_LINE_MAX) {
            input->line_number++;
            return skip_line(input, line);
        }
        if (!fill(input)) {
            return INPUT_ERROR;
        }
    }
}

bool input_line_ended(const struct input *input)
{
    return input->line_ended;
}

uint64_t input_line_number(const struct input *input)
{
    return input->line_number;
}

enum input_status input_some(struct input *input, void *to, size_t size, size_t *got)
{
    size_t done = 0;

    while (done < size) {
        size_t held = input->end - input->begin;
        if (held == 0) {
            if (input->ended && input->block_left == 0) {
                break;
            }
            if (!fill(input)) {
                return INPUT_ERROR;
            }
            continue;
        }
        size_t take = held < size - done ? held : size - done;
        memcpy((char *)to + done, input->buffer + input->begin, take);
        input->begin += take;
        done += take;
    }
    *got = done;
    return INPUT_OK;
}

enum input_status input_bytes(struct input *input, void *to, size_t size)
{
    size_t got = 0;

    if (input_some(input, to, size, &got) == INPUT_ERROR) {
        return INPUT_ERROR;
    }
    if (got == size) {
        return INPUT_OK;
    }
    return got == 0 ? INPUT_END : INPUT_LONG;
}

const char *input_name(const struct input *input)
{
    return input->name;
}

uint64_t input_done_bytes(const struct input *input)
{
    la_int64_t bytes = archive_filter_bytes(input->archive, -1);

    return bytes > 0 ? (uint64_t)bytes : 0;
}

uint64_t input_total_bytes(const struct input *input)
{
    return input->total_bytes;
}
