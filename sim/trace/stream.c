/* SPDX-License-Identifier: MIT */
/*
 * The file is read, not mapped: a mapped file that somebody truncates ends the process. What
 * was looked at once is looked at again, since it may have changed meanwhile.
 */
#include "stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../records/locus_file.h"

enum { CHUNK = 4096, SHOW_EVERY = 64 /* chunks */ };

struct stream {
    char name[4096];
    FILE *file; /* header and keys; then its descriptor, for pread() */
    const struct record_keys *keys;
    uint64_t records_at; /* where in the file */
    uint64_t count;
    uint64_t next;
    uint64_t last_ns; /* of the record in front */
};

static bool get_bytes(void *arg, void *to, size_t size)
{
    return fread(to, 1, size, arg) == size;
}

/* NULL unless it is a regular file. A named pipe is not even opened: closing it again would
 * end who writes to it. */
static FILE *open_plain(const char *path)
{
    struct stat st;
    bool plain = strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode);
    int fd = plain ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    FILE *file = NULL;

    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        file = fdopen(fd, "rb");
    }
    if (fd >= 0 && file == NULL) {
        close(fd);
    }
    return file;
}

/* True when the rest of the file is all of them and nothing else. */
static bool records_fit(const struct stream *stream)
{
    const uint64_t each = sizeof(struct numbered_record);
    struct stat st;

    if (fstat(fileno(stream->file), &st) != 0 ||
        (uint64_t)st.st_size < stream->records_at) {
        return false;
    }
    uint64_t rest = (uint64_t)st.st_size - stream->records_at;
    return rest / each == stream->count && rest % each == 0;
}

static bool begin(struct stream *stream, struct record_keys *keys)
{
    struct locus_file_header header;

    if (locus_file_begin(get_bytes, stream->file, &header, keys) != NULL) {
        return false;
    }
    off_t at = ftello(stream->file);
    stream->records_at = (uint64_t)at;
    stream->count = header.count;
    return at >= 0 && records_fit(stream);
}

void stream_rewind(struct stream *stream)
{
    stream->next = 0;
    stream->last_ns = 0;
}

/* False with errno, which is 0 when the file ends too early. */
static bool read_all(const struct stream *stream, void *to, size_t size, uint64_t at)
{
    size_t done = 0;

    while (done < size) {
        ssize_t got = pread(fileno(stream->file), (char *)to + done, size - done,
                            (off_t)(at + done));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            errno = got == 0 ? 0 : errno;
            return false;
        }
        done += (size_t)got;
    }
    return true;
}

/* Reads; -1 with errno, which is 0 when there are fewer than there should be, or one is not as
 * it must be. */
static ssize_t read_sound(struct stream *stream, struct numbered_record *batch,
                          size_t capacity)
{
    uint64_t left = stream->count - stream->next;
    size_t wanted = left < capacity ? (size_t)left : capacity;
    uint64_t at = stream->records_at + stream->next * sizeof(*batch);

    if (!read_all(stream, batch, wanted * sizeof(*batch), at)) {
        return -1;
    }
    uint64_t last_ns = stream->last_ns;
    for (size_t i = 0; i < wanted; i++) {
        if (!locus_file_sound(stream->keys, &batch[i]) || batch[i].start_ns < last_ns ||
            (batch[i].flags & RECORD_HAS_TIME) == 0) {
            errno = 0;
            return -1;
        }
        last_ns = batch[i].start_ns;
    }
    stream->last_ns = last_ns;
    stream->next += wanted;
    return (ssize_t)wanted;
}

ssize_t stream_next(struct stream *stream, struct numbered_record *batch,
                    size_t capacity)
{
    ssize_t got = read_sound(stream, batch, capacity);

    if (got < 0) {
        fprintf(stderr, "locus: %s: %s\n", stream->name,
                errno == 0 ? "changed while it was read" : strerror(errno));
    }
    return got;
}

/* ---- the first look -------------------------------------------------------------- */

/* One byte for each key: whether a record has it. */
struct used {
    uint8_t *destinations, *clients;
};

static void count_used(const struct record_keys *keys, const struct used *used,
                       struct stream_summary *summary)
{
    summary->all_ipv4 = true;
    for (size_t i = 0; i < keys->destinations.count; i++) {
        if (used->destinations[i] != 0) {
            summary->destinations++;
            summary->all_ipv4 =
                summary->all_ipv4 && keys->destinations.entries[i].family == LOCUS_IPV4;
        }
    }
    for (size_t i = 0; i < keys->clients.count; i++) {
        summary->clients += used->clients[i];
    }
}

static void count_records(const struct numbered_record *batch, size_t count,
                          const struct used *used, struct stream_summary *summary)
{
    if (summary->records == 0) {
        summary->first_ns = batch[0].start_ns;
    }
    for (size_t i = 0; i < count; i++) {
        const struct numbered_record *r = &batch[i];
        uint64_t end_ns = r->start_ns + r->duration_ns;
        summary->end_ns = end_ns > summary->end_ns ? end_ns : summary->end_ns;
        used->destinations[r->dst] = 1;
        if (r->src != NO_CLIENT) {
            used->clients[r->src] = 1;
        }
    }
    summary->last_ns = batch[count - 1].start_ns;
    summary->records += count;
}

static void show(const struct stream *stream, const struct stream_progress *progress)
{
    if (progress->show != NULL && stream->next / CHUNK % SHOW_EVERY == 0) {
        progress->show(progress->arg, stream->next * sizeof(struct numbered_record),
                       stream->count * sizeof(struct numbered_record));
    }
}

static bool look(struct stream *stream, const struct stream_progress *progress,
                 const struct used *used, struct stream_summary *summary)
{
    struct numbered_record *batch = malloc(CHUNK * sizeof(*batch));
    ssize_t got = batch == NULL ? -1 : 1;

    while (got > 0 && (progress->stop == NULL || *progress->stop == 0)) {
        got = read_sound(stream, batch, CHUNK);
        if (got > 0) {
            count_records(batch, (size_t)got, used, summary);
            show(stream, progress);
        }
    }
    free(batch);
    stream->count = stream->next;
    count_used(stream->keys, used, summary);
    return got >= 0;
}

static bool look_at_all(struct stream *stream, const struct stream_progress *progress,
                        struct stream_summary *summary)
{
    const struct record_keys *keys = stream->keys;
    struct used used = {
        .destinations = calloc(keys->destinations.count + 1, 1),
        .clients = calloc(keys->clients.count + 1, 1),
    };
    bool ok = used.destinations != NULL && used.clients != NULL &&
              look(stream, progress, &used, summary);

    free(used.destinations);
    free(used.clients);
    stream_rewind(stream);
    return ok;
}

struct stream *stream_open(const char *path, const struct stream_progress *progress,
                           struct record_keys *keys, struct stream_summary *summary)
{
    struct stream *stream = calloc(1, sizeof(*stream));

    if (stream == NULL) {
        return NULL;
    }
    memset(summary, 0, sizeof(*summary));
    snprintf(stream->name, sizeof(stream->name), "%s", path);
    stream->keys = keys;
    stream->file = open_plain(path);
    if (stream->file == NULL || !begin(stream, keys) ||
        !look_at_all(stream, progress, summary)) {
        stream_close(stream);
        record_keys_free(keys);
        record_keys_init(keys);
        return NULL;
    }
    return stream;
}

void stream_close(struct stream *stream)
{
    if (stream == NULL) {
        return;
    }
    if (stream->file != NULL) {
        fclose(stream->file);
    }
    free(stream);
}
