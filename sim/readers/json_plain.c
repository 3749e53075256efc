/* SPDX-License-Identifier: MIT */
#include "json_plain.h"

struct cursor {
    const char *at, *end;
};

static void skip_blanks(struct cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t')) {
        c->at++;
    }
}

/* Takes that character, and the blanks behind it. */
static bool take(struct cursor *c, char wanted)
{
    if (c->at == c->end || *c->at != wanted) {
        return false;
    }
    c->at++;
    skip_blanks(c);
    return true;
}

/* A string of plain ASCII without escapes. */
static bool take_string(struct cursor *c, struct slice *out)
{
    if (c->at == c->end || *c->at != '"') {
        return false;
    }
    const char *start = ++c->at;
    while (c->at < c->end && *c->at != '"') {
        if (*c->at < ' ' || *c->at > '~' || *c->at == '\\') {
            return false;
        }
        c->at++;
    }
    *out = (struct slice){start, (size_t)(c->at - start)};
    return take(c, '"');
}

static size_t take_digits(struct cursor *c)
{
    const char *start = c->at;

    while (c->at < c->end && *c->at >= '0' && *c->at <= '9') {
        c->at++;
    }
    return (size_t)(c->at - start);
}

/* Digits, with or without a fraction: no sign, no exponent, no zero in front. */
static bool take_number(struct cursor *c, struct json_plain *out)
{
    const char *start = c->at;
    size_t digits = take_digits(c);

    if (digits == 0 || digits > 18 || (digits > 1 && *start == '0')) {
        return false;
    }
    out->kind = JSON_WHOLE;
    if (c->at < c->end && *c->at == '.') {
        c->at++;
        out->kind = JSON_DECIMAL;
        if (take_digits(c) == 0) {
            return false;
        }
    }
    out->text = (struct slice){start, (size_t)(c->at - start)};
    skip_blanks(c);
    return true;
}

static bool take_word(struct cursor *c, struct json_plain *out)
{
    static const char *const words[] = {"true", "false", "null"};
    struct slice rest = {c->at, (size_t)(c->end - c->at)};

    for (size_t i = 0; i < 3; i++) {
        if (slice_starts(rest, words[i])) {
            out->kind = JSON_OTHER;
            c->at += strlen(words[i]);
            skip_blanks(c);
            return true;
        }
    }
    return false;
}

static bool take_scalar(struct cursor *c, struct json_plain *out)
{
    if (c->at == c->end) {
        return false;
    }
    if (*c->at == '"') {
        out->kind = JSON_TEXT;
        return take_string(c, &out->text);
    }
    return *c->at >= '0' && *c->at <= '9' ? take_number(c, out) : take_word(c, out);
}

/* Of scalars; nobody asks for what is in it. */
static bool take_list(struct cursor *c)
{
    struct json_plain ignored;

    take(c, '[');
    if (take(c, ']')) {
        return true;
    }
    do {
        if (!take_scalar(c, &ignored)) {
            return false;
        }
    } while (take(c, ','));
    return take(c, ']');
}

struct asked {
    const struct json_key *keys;
    size_t key_count;
    struct json_plain *values;
    bool outer_seen;
};

static bool same(struct slice a, struct slice b)
{
    return a.length == b.length && memcmp(a.text, b.text, a.length) == 0;
}

/* Puts the value where it is asked for. False when something is there already. */
static bool keep(const struct asked *asked, struct slice outer, struct slice key,
                 const struct json_plain *value)
{
    for (size_t i = 0; i < asked->key_count; i++) {
        const struct json_key *k = &asked->keys[i];
        if (!same(key, k->key) || (outer.text == NULL) != (k->outer.text == NULL) ||
            (outer.text != NULL && !same(outer, k->outer))) {
            continue;
        }
        if (asked->values[k->place].kind != JSON_ABSENT) {
            return false;
        }
        asked->values[k->place] = *value;
        return true;
    }
    return true;
}

/* Whether something inside of the member is asked for, and was a member before: the later one
 * would count, not both. */
static bool is_outer_again(struct asked *asked, struct slice key)
{
    for (size_t i = 0; i < asked->key_count; i++) {
        if (asked->keys[i].outer.text != NULL && same(key, asked->keys[i].outer)) {
            bool again = asked->outer_seen;
            asked->outer_seen = true;
            return again;
        }
    }
    return false;
}

/* The members of the object, up to and with its brace. */
static bool take_members(struct cursor *c, struct asked *asked, struct slice outer)
{
    if (take(c, '}')) {
        return true;
    }
    do {
        struct json_plain value = {.kind = JSON_OTHER};
        struct slice key;
        if (!take_string(c, &key) || !take(c, ':') || c->at == c->end ||
            (outer.text == NULL && is_outer_again(asked, key))) {
            return false;
        }
        if (*c->at == '{' && outer.text == NULL) {
            take(c, '{');
            if (!take_members(c, asked, key)) {
                return false;
            }
        } else if (*c->at == '[' ? !take_list(c) : !take_scalar(c, &value)) {
            return false;
        }
        if (!keep(asked, outer, key, &value)) {
            return false;
        }
    } while (take(c, ','));
    return take(c, '}');
}

bool json_plain(struct slice line, const struct json_key *keys, size_t key_count,
                struct json_plain *values, size_t count)
{
    struct cursor c = {line.text, line.text + line.length};
    struct asked asked = {keys, key_count, values, false};

    for (size_t i = 0; i < count; i++) {
        values[i] = (struct json_plain){.kind = JSON_ABSENT};
    }
    return take(&c, '{') && take_members(&c, &asked, (struct slice){NULL, 0}) &&
           c.at == c.end;
}

/* Up to so many digits in front of the point and behind it, a double and the rounding of it
 * come out at the decimal itself. */
static bool read_seconds(const struct json_plain *value, size_t before, size_t behind,
                         uint64_t *out_ns)
{
    struct slice fraction;
    struct slice whole = slice_cut(value->text, '.', &fraction);

    return value->kind != JSON_TEXT && value->kind != JSON_OTHER &&
           whole.length <= before && fraction.length <= behind &&
           slice_time(value->text, 1000000000, out_ns);
}

bool json_plain_time(const struct json_plain *value, uint64_t *out_ns)
{
    if (value->kind == JSON_TEXT) {
        return slice_iso_time(value->text, out_ns) ||
               slice_time(value->text, 1000000000, out_ns);
    }
    /* To the microsecond, from 2^31 seconds on a double cannot tell them apart safely. */
    return read_seconds(value, 10, 6, out_ns) && *out_ns >> 31 < 1000000000;
}

bool json_plain_seconds(const struct json_plain *value, uint64_t *out_ns)
{
    return value->kind == JSON_TEXT ? slice_time(value->text, 1000000000, out_ns)
                                    : read_seconds(value, 6, 9, out_ns);
}

bool json_plain_u64(const struct json_plain *value, uint64_t *out)
{
    return value->kind == JSON_WHOLE && slice_u64(value->text, out);
}

bool json_plain_port(const struct json_plain *value, uint16_t *out)
{
    return value->kind == JSON_WHOLE && slice_port(value->text, out);
}
