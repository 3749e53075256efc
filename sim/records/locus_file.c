/* SPDX-License-Identifier: MIT */
#include "locus_file.h"

#include <string.h>

static const char *check_header(const struct locus_file_header *header)
{
    if (memcmp(header->magic, LOCUS_FILE_MAGIC, sizeof(header->magic)) != 0) {
        return "is no locus trace file";
    }
    if (header->version != LOCUS_FILE_VERSION ||
        header->record_bytes != sizeof(struct numbered_record)) {
        return "is a locus trace file of another version";
    }
    if (header->destinations > KEYSET_FULL || header->clients > KEYSET_FULL) {
        return "says that it has more keys than there can be";
    }
    return NULL;
}

/* Memory grows with what is there, not with what the header promises. */
static const char *read_keys(locus_file_get_fn *get, void *arg, uint64_t count,
                             struct keyset *keys)
{
    char name[UINT16_MAX];

    for (uint64_t i = 0; i < count; i++) {
        struct locus_file_key key;
        struct slice text = {NULL, 0};
        if (!get(arg, &key, sizeof(key))) {
            return "ends within its keys";
        }
        if (key.family < LOCUS_IPV4 || key.family > LOCUS_NAME ||
            (key.name_bytes > 0 && key.family != LOCUS_NAME)) {
            return "has a damaged key";
        }
        if (key.name_bytes > 0) {
            if (!get(arg, name, key.name_bytes)) {
                return "ends within its keys";
            }
            text = (struct slice){name, key.name_bytes};
        }
        size_t number = keyset_add(keys, key.family, &key.key, text);
        if (number == SIZE_MAX) {
            return "out of memory for its keys";
        }
        if (number != i) {
            return "has the same key twice";
        }
    }
    return NULL;
}

const char *locus_file_begin(locus_file_get_fn *get, void *arg,
                             struct locus_file_header *header, struct record_keys *keys)
{
    if (!get(arg, header, sizeof(*header))) {
        return "is no locus trace file";
    }
    const char *wrong = check_header(header);
    if (wrong == NULL) {
        wrong = read_keys(get, arg, header->destinations, &keys->destinations);
    }
    if (wrong == NULL) {
        wrong = read_keys(get, arg, header->clients, &keys->clients);
    }
    return wrong;
}
