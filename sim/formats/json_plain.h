/* SPDX-License-Identifier: MIT */
/*
 * Most lines of JSON logs are plain: one object of strings without escapes, numbers, and at
 * most an object or list inside. Those are taken apart in place here, ten times as fast as a
 * library that builds a tree of them. Whatever is not plain, or odd in any way, is left to
 * the library and to what the readers do with its tree: a plain line says nothing that they
 * would read otherwise.
 */
#ifndef LOCUS_SIM_READERS_JSON_PLAIN_H
#define LOCUS_SIM_READERS_JSON_PLAIN_H

#include "../base/slice.h"
#include "fields.h"

enum json_kind { JSON_ABSENT, JSON_TEXT, JSON_WHOLE, JSON_DECIMAL, JSON_OTHER };

struct json_plain {
    enum json_kind kind;
    struct slice text; /* of a JSON_TEXT what stands between its quotes */
};

/* A member that is asked for. */
struct json_key {
    struct slice name;
    uint8_t place; /* in the values; several keys may share one */
};

#define JSON_KEY(text_, at)                                                   \
    {                                                                         \
        .name = {.text = (text_), .length = sizeof(text_) - 1}, .place = (at) \
    }

struct json_keys {
    const struct json_key *items;
    size_t count;
};

#define JSON_KEYS(array)                                            \
    {                                                               \
        .items = (array), .count = sizeof(array) / sizeof(*(array)) \
    }

struct json_wanted {
    struct json_keys keys;
    struct slice outer;     /* an object inside; text NULL: none */
    struct json_keys inner; /* of it */
};

/* Fills values, all count of them. False when the line is not plain, or says one of them, or
 * what they are inside of, twice. */
bool json_plain(struct slice line, const struct json_wanted *wanted,
                struct json_plain *values, size_t count);

/* As json_time(), json_seconds(), json_u64() and json_port() read them; false as well where
 * it takes their arithmetic to be sure of the last digit. */
bool json_plain_time(const struct json_plain *value, uint64_t *out_ns);
bool json_plain_seconds(const struct json_plain *value, uint64_t *out_ns);
bool json_plain_u64(const struct json_plain *value, uint64_t *out);
bool json_plain_port(const struct json_plain *value, uint16_t *out);

#endif
