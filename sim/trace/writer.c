/* SPDX-License-Identifier: MIT */
#include "writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../formats/compress.h"
#include "../records/keyset.h"
#include "../records/sort.h"

enum { OUTPUT_BUFFER = 1 << 18 };

struct writer {
    struct writer_options options;
    const struct format_writing *hooks; /* of the format */
    struct writing w;                   /* what they work with */
    char *buffer;
    /* For formats whose order or header needs all records first; else NULL. */
    struct sorter *sorter;
    struct record_keys keys; /* of what the sorter holds */
};

static const char *target(const struct writer *writer)
{
    return writer->options.path != NULL ? writer->options.path : "stdout";
}

static bool failed(const struct writer *writer, int why)
{
    fprintf(stderr, "locus: %s: cannot be written: %s\n", target(writer),
            strerror(why));
    return false;
}

void writer_abandon(struct writer *writer)
{
    if (writer == NULL) {
        return;
    }
    if (writer->w.out != NULL && writer->options.path != NULL) {
        fclose(writer->w.out);
    }
    sorter_destroy(writer->sorter);
    record_keys_free(&writer->keys);
    if (writer->hooks->end != NULL) {
        writer->hooks->end(&writer->w);
    }
    free(writer->buffer);
    free(writer);
}

static bool open_output(struct writer *writer)
{
    const struct writer_options *o = &writer->options;

    if (o->path == NULL) {
        writer->w.out = stdout;
        if ((writer->hooks->binary || writer->hooks->prepare != NULL) &&
            isatty(STDOUT_FILENO)) {
            fprintf(stderr, "locus: %s is not for terminals; --output names a file\n",
                    o->format->name);
            return false;
        }
        return true;
    }
    writer->w.out =
        compress_wanted(o->path) ? compress_open(o->path) : fopen(o->path, "wbe");
    if (writer->w.out == NULL) {
        return failed(writer, errno);
    }
    writer->buffer = malloc(OUTPUT_BUFFER);
    if (writer->buffer != NULL) {
        setvbuf(writer->w.out, writer->buffer, _IOFBF, OUTPUT_BUFFER);
    }
    return true;
}

struct writer *writer_open(const struct writer_options *options)
{
    struct writer *writer = calloc(1, sizeof(*writer));

    if (writer == NULL) {
        fprintf(stderr, "locus: out of memory\n");
        return NULL;
    }
    const struct format_writing *hooks = &options->format->write;
    writer->options = *options;
    writer->hooks = hooks;
    record_keys_init(&writer->keys);
    writer->w = (struct writing){
        .timeless = options->timeless,
        .memory_bytes = options->memory_bytes,
        .records = options->records,
        .keys = options->keys != NULL ? options->keys : &writer->keys,
    };
    if (!open_output(writer)) {
        writer_abandon(writer);
        return NULL;
    }
    bool wait = hooks->by_end || hooks->prepare != NULL ||
                (hooks->binary && options->keys == NULL);
    if (wait) {
        writer->sorter = sorter_create(options->memory_bytes);
        if (writer->sorter == NULL) {
            writer_abandon(writer);
            return NULL;
        }
    } else if (hooks->begin != NULL) {
        hooks->begin(&writer->w);
    }
    return writer;
}

static void name_of(const struct writer *writer, uint8_t family,
                    const union locus_key *key, char text[WRITING_NAME])
{
    writer->options.name(writer->options.name_arg, family, key, text, WRITING_NAME);
}

/* The text of a name that is not kept yet; NULL of anything else. */
static struct slice new_name(const struct writer *writer, const struct keyset *keys,
                             uint8_t family, const union locus_key *key,
                             char text[WRITING_NAME])
{
    if (!writer->hooks->binary || family != LOCUS_NAME ||
        keyset_find(keys, family, key) != SIZE_MAX) {
        return (struct slice){NULL, 0};
    }
    name_of(writer, family, key, text);
    return slice_of(text);
}

static bool sort_one(struct writer *writer, const struct record *record)
{
    char dst[WRITING_NAME], src[WRITING_NAME];
    struct numbered_record numbered;
    struct record_keys *keys = &writer->keys;
    struct slice src_name = {NULL, 0};
    struct slice dst_name =
        new_name(writer, &keys->destinations, record->dst_family, &record->dst, dst);

    if (record->flags & RECORD_HAS_CLIENT) {
        src_name =
            new_name(writer, &keys->clients, record->src_family, &record->src, src);
    }
    if (!record_number(keys, record, dst_name, src_name, &numbered)) {
        fprintf(stderr, "locus: out of memory for keys\n");
        return false;
    }
    if (writer->hooks->by_end) { /* moved back when written */
        numbered.start_ns += numbered.duration_ns;
    }
    return sorter_add(writer->sorter, &numbered);
}

static bool write_one(struct writer *writer, const struct record *record)
{
    char dst[WRITING_NAME];
    char src[WRITING_NAME] = "";

    name_of(writer, record->dst_family, &record->dst, dst);
    if (record->flags & RECORD_HAS_CLIENT) {
        name_of(writer, record->src_family, &record->src, src);
    }
    writer->w.written++;
    writer->w.dst = dst;
    writer->w.src = src;
    writer->hooks->record(&writer->w, record);
    return !ferror(writer->w.out) || failed(writer, errno);
}

bool writer_record(struct writer *writer, const struct record *record)
{
    writer->w.records++;
    return writer->sorter == NULL ? write_one(writer, record)
                                  : sort_one(writer, record);
}

static bool write_text(struct writer *writer, const struct numbered_record *batch,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct record record;
        record_restore(&writer->keys, &batch[i], &record);
        record.start_ns -= writer->hooks->by_end ? record.duration_ns : 0;
        if (!write_one(writer, &record)) {
            return false;
        }
    }
    return true;
}

bool writer_numbered(struct writer *writer, const struct numbered_record *batch,
                     size_t count)
{
    writer->w.written += count;
    return fwrite(batch, sizeof(*batch), count, writer->w.out) == count ||
           failed(writer, errno);
}

/* Shows the format all records before the first is written. */
static bool look_ahead(struct writer *writer)
{
    enum { BATCH = 256 };
    struct numbered_record batch[BATCH];
    ssize_t got;

    if (!writer->hooks->prepare(&writer->w)) {
        return false;
    }
    while ((got = sorter_next(writer->sorter, batch, BATCH)) > 0) {
        for (ssize_t i = 0; i < got; i++) {
            writer->hooks->look_ahead(&writer->w, &batch[i]);
        }
    }
    return got == 0 && sorter_rewind(writer->sorter);
}

static bool write_sorted(struct writer *writer)
{
    enum { BATCH = 256 };
    const struct format_writing *hooks = writer->hooks;
    struct numbered_record batch[BATCH];
    ssize_t got;

    if (!sorter_finish(writer->sorter) ||
        (hooks->prepare != NULL && !look_ahead(writer))) {
        return false;
    }
    if (hooks->begin != NULL) {
        hooks->begin(&writer->w);
    }
    while ((got = sorter_next(writer->sorter, batch, BATCH)) > 0) {
        bool ok = hooks->binary ? writer_numbered(writer, batch, (size_t)got)
                                : write_text(writer, batch, (size_t)got);
        if (!ok) {
            return false;
        }
    }
    return got == 0;
}

bool writer_close(struct writer *writer)
{
    bool ok = writer->sorter == NULL || write_sorted(writer);

    if (ok && (fflush(writer->w.out) != 0 || ferror(writer->w.out))) {
        ok = failed(writer, errno);
    }
    if (writer->options.path != NULL) {
        FILE *out = writer->w.out;
        writer->w.out = NULL;
        if (fclose(out) != 0 && ok) {
            ok = failed(writer, errno);
        }
    }
    writer_abandon(writer);
    return ok;
}
