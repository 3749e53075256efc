/* SPDX-License-Identifier: MIT */
/*
 * locus' own file (../locus_file.h): records need no parsing, but they are input like any
 * other, so that each is looked at before it is believed.
 */
#include "readers.h"

#include <stdio.h>
#include <stdlib.h>

#include "../command.h"
#include "../locus_file.h"

enum { CHUNK = 1024 };

static int damaged(const struct reader *reader, const char *why)
{
    fprintf(stderr, "locus: %s: %s\n", input_name(reader->input), why);
    return EXIT_RUNTIME;
}

static int read_header(struct reader *reader, struct locus_file_header *header)
{
    enum input_status got = input_bytes(reader->input, header, sizeof(*header));

    if (got == INPUT_ERROR) {
        return EXIT_RUNTIME;
    }
    if (got != INPUT_OK || memcmp(header->magic, LOCUS_FILE_MAGIC, 8) != 0) {
        return damaged(reader, "is no locus trace file");
    }
    if (header->version != LOCUS_FILE_VERSION ||
        header->record_bytes != sizeof(struct record)) {
        return damaged(reader, "is a locus trace file of another version");
    }
    return 0;
}

static int read_name(struct reader *reader, uint64_t *left)
{
    union locus_key key;
    uint16_t length;
    char text[UINT16_MAX];

    if (*left < sizeof(key) + sizeof(length) ||
        input_bytes(reader->input, &key, sizeof(key)) != INPUT_OK ||
        input_bytes(reader->input, &length, sizeof(length)) != INPUT_OK) {
        return damaged(reader, "ends within its names");
    }
    *left -= sizeof(key) + sizeof(length);
    if (*left < length || input_bytes(reader->input, text, length) != INPUT_OK) {
        return damaged(reader, "ends within its names");
    }
    *left -= length;
    return reader_keep_name(reader, &key, (struct slice){text, length});
}

static int read_names(struct reader *reader, uint64_t names_bytes)
{
    uint8_t padding[sizeof(struct record)];
    uint64_t left = names_bytes;

    while (left > 0) {
        int status = read_name(reader, &left);
        if (status != 0) {
            return status;
        }
    }
    size_t pad = (size_t)(-names_bytes % sizeof(padding));
    if (input_bytes(reader->input, padding, pad) == INPUT_ERROR) {
        return EXIT_RUNTIME;
    }
    return 0;
}

static bool sound(const struct record *r)
{
    bool families = r->dst_family >= LOCUS_IPV4 && r->dst_family <= LOCUS_NAME &&
                    (!(r->flags & RECORD_HAS_CLIENT) ||
                     (r->src_family >= LOCUS_IPV4 && r->src_family <= LOCUS_NAME));

    return families && r->start_ns <= INT64_MAX && r->duration_ns <= INT64_MAX &&
           r->flags < RECORD_HAS_CLIENT * 2;
}

static int take(struct reader *reader, struct record *record)
{
    reader->line_number = 0;
    if (!sound(record)) {
        return reader_bad(reader, "record is damaged", "record",
                          "families, flags and times in range", (struct slice){"", 0});
    }
    if (reader->key == KEY_CLIENT && !reader_dst_from_src(reader, record)) {
        return reader_bad(reader, "no client", "client", "an address or name",
                          (struct slice){"", 0});
    }
    return reader_emit(reader, record, record->start_ns);
}

static int read_records(struct reader *reader, uint64_t count)
{
    const volatile int *stop = reader->options->stop;
    struct record *chunk = malloc(CHUNK * sizeof(*chunk));
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
            status =
                reader_bad(reader, "file ends before its last record", "file",
                           "as many records as its header says", (struct slice){"", 0});
            break;
        }
    }
    free(chunk);
    return status;
}

static int locus_read(struct reader *reader)
{
    struct locus_file_header header;

    int status = read_header(reader, &header);
    if (status == 0) {
        status = read_names(reader, header.names_bytes);
    }
    return status != 0 ? status : read_records(reader, header.count);
}

static bool certain(struct slice head)
{
    return head.length >= 8 && memcmp(head.text, LOCUS_FILE_MAGIC, 8) == 0;
}

static unsigned never(struct reader *reader, struct slice head, bool whole)
{
    (void)reader;
    (void)head;
    (void)whole;
    return 0;
}

const struct reader_format reader_locus = {
    .name = "locus",
    .about =
        "locus' own binary, made by 'locus convert'; destination: as it was chosen",
    .key = KEY_DST,
    .keys = 1u << KEY_DST | 1u << KEY_CLIENT,
    .read = locus_read,
    .probe = never,
    .certain = certain,
};
