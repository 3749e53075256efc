/* SPDX-License-Identifier: MIT */
/*
 * locus' own file (../locus_file.h): records need no parsing, but they are input like any
 * other, so that each is looked at before it is believed.
 */
#include "formats.h"

#include <stdio.h>
#include <stdlib.h>

#include "../base/errors.h"
#include "../records/locus_file.h"

enum { CHUNK = 1024 };

static int damaged(const struct reader *reader, const char *why)
{
    fprintf(stderr, "locus: %s: %s\n", input_name(reader->input), why);
    return EXIT_RUNTIME;
}

static bool get_bytes(void *arg, void *to, size_t size)
{
    return size == 0 || input_bytes(arg, to, size) == INPUT_OK;
}

static int take(struct reader *reader, const struct numbered_record *numbered)
{
    const struct record_keys *keys = reader->state;
    struct record record;

    reader->line_number = 0;
    if (!locus_file_sound(keys, numbered)) {
        return reader_bad(reader, "record is damaged", "record",
                          "numbers, flags and times in range", (struct slice){"", 0});
    }
    record_restore(keys, numbered, &record);
    reader->dst_name = keyset_text(&keys->destinations, numbered->dst);
    if (numbered->src != NO_CLIENT) {
        reader->src_name = keyset_text(&keys->clients, numbered->src);
    }
    if (reader->key == KEY_CLIENT && !reader_dst_from_src(reader, &record)) {
        return reader_bad(reader, "no client", "client", "an address or name",
                          (struct slice){"", 0});
    }
    return reader_emit(reader, &record, record.start_ns);
}

/* As 'cat' makes it of two files, of which the second would be lost. */
static int expect_end(struct reader *reader)
{
    char byte;
    size_t got;

    if (input_some(reader->input, &byte, 1, &got) == INPUT_ERROR) {
        return EXIT_RUNTIME;
    }
    return got == 0 ? 0
                    : reader_bad(reader, "file goes on after its last record", "file",
                                 "as many records as its header says",
                                 (struct slice){"", 0});
}

static int read_records(struct reader *reader, uint64_t count)
{
    const volatile int *stop = reader->options->stop;
    struct numbered_record *chunk = malloc(CHUNK * sizeof(*chunk));
    int status = 0;

    if (chunk == NULL) {
        return damaged(reader, "out of memory");
    }
    while (count > 0 && status == 0 && (stop == NULL || *stop == 0)) {
        size_t wanted = count < CHUNK ? (size_t)count : CHUNK;
        size_t bytes;
        if (input_some(reader->input, chunk, wanted * sizeof(*chunk), &bytes) ==
            INPUT_ERROR) {
            status = EXIT_RUNTIME;
            break;
        }
        size_t got = bytes / sizeof(*chunk);
        for (size_t i = 0; i < got && status == 0; i++) {
            status = take(reader, &chunk[i]);
        }
        count -= got;
        if (status == 0 && got < wanted) {
            free(chunk);
            return reader_bad(reader, "file ends before its last record", "file",
                              "as many records as its header says",
                              (struct slice){"", 0});
        }
    }
    free(chunk);
    return status == 0 && count == 0 ? expect_end(reader) : status;
}

static int locus_start(struct reader *reader)
{
    record_keys_init(reader->state);
    return 0;
}

static void locus_stop(struct reader *reader)
{
    record_keys_free(reader->state);
}

static int locus_read(struct reader *reader)
{
    struct locus_file_header header;
    const char *wrong =
        locus_file_begin(get_bytes, reader->input, &header, reader->state);

    return wrong != NULL ? damaged(reader, wrong) : read_records(reader, header.count);
}

static bool certain(struct slice head)
{
    return head.length >= 8 && memcmp(head.text, LOCUS_FILE_MAGIC, 8) == 0;
}

static void locus_keys(struct writing *w, const struct keyset *keys)
{
    for (size_t i = 0; i < keys->count; i++) {
        struct slice name = keyset_text(keys, i);
        struct locus_file_key key = {
            .key = keys->entries[i].key,
            .name_bytes = (uint16_t)name.length,
            .family = keys->entries[i].family,
        };
        fwrite(&key, sizeof(key), 1, w->out);
        if (name.length > 0) {
            fwrite(name.text, 1, name.length, w->out);
        }
    }
}

static void locus_begin(struct writing *w)
{
    const struct record_keys *keys = w->keys;
    struct locus_file_header header = {
        .magic = {'L', 'O', 'C', 'U', 'S', '\r', '\n', '\x1a'},
        .version = LOCUS_FILE_VERSION,
        .record_bytes = sizeof(struct numbered_record),
        .count = w->records,
        .destinations = keys->destinations.count,
        .clients = keys->clients.count,
        .flags = w->timeless ? LOCUS_FILE_TIMELESS : 0,
    };

    fwrite(&header, sizeof(header), 1, w->out);
    locus_keys(w, &keys->destinations);
    locus_keys(w, &keys->clients);
}

const struct format format_locus = {
    .name = "locus",
    .about =
        "locus' own binary, made by 'locus convert'; destination: as it was chosen",
    .key = KEY_DST,
    .keys = 1u << KEY_DST | 1u << KEY_CLIENT,
    .state_size = sizeof(struct record_keys),
    .start = locus_start,
    .read = locus_read,
    .stop = locus_stop,
    .certain = certain,
    .write =
        {
            .place = 14,
            .binary = true,
            .begin = locus_begin,
        },
};
