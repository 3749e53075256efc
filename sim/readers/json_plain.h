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

#include "../fields.h"

enum json_kind { JSON_ABSENT, JSON_TEXT, JSON_WHOLE, JSON_DECIMAL, JSON_OTHER };

struct json_plain {
    enum json_kind kind;
    struct slice text; /* of a JSON_TEXT what stands between its quotes */
};

/* A member that is asked for: of the object, or of the object inside that is called outer. */
struct json_key {
    struct slice outer; /* text NULL: none; the same in all keys that have one */
    struct slice key;
    uint8_t place; /* in the values; several keys may share one */
};

#define JSON_KEY(name, at)                                                 \
    {                                                                      \
        .key = {.text = (name), .length = sizeof(name) - 1}, .place = (at) \
    }
#define JSON_INNER(of, name, at)                                           \
    {                                                                      \
        .outer = {.text = (of), .length = sizeof(of) - 1},                 \
        .key = {.text = (name), .length = sizeof(name) - 1}, .place = (at) \
    }

/* Fills values, all count of them. False when the line is not plain, or says one of them, or
 * what they are inside of, twice. */
bool json_plain(struct slice line, const struct json_key *keys, size_t key_count,
                struct json_plain *values, size_t count);

/* As json_time(), json_seconds(), json_u64() and json_port() read them; false as well where
 * it takes their arithmetic to be sure of the last digit. */
bool json_plain_time(const struct json_plain *value, uint64_t *out_ns);
bool json_plain_seconds(const struct json_plain *value, uint64_t *out_ns);
bool json_plain_u64(const struct json_plain *value, uint64_t *out);
bool json_plain_port(const struct json_plain *value, uint16_t *out);

#endif
