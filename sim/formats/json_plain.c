/* SPDX-License-Identifier: MIT */
#include "json_plain.h"

struct cursor {
    const char *at, *end;
};

static inline void skip_blanks(struct cursor *c)
{
    const char *at = c->at;

    while (at < c->end && (*at == ' ' || *at == '\t')) {
        at++;
    }
    c->at = at;
}

/* Takes that character, and the blanks behind it. */
static inline bool take(struct cursor *c, char wanted)
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
    const char *start = c->at + 1;
    size_t length = plain_length((struct slice){start, (size_t)(c->end - start)});
    *out = (struct slice){start, length};
    c->at = start + length;
    return take(c, '"');
}

static size_t take_digits(struct cursor *c)
{
    const char *at = c->at;

    while (at < c->end && *at >= '0' && *at <= '9') {
        at++;
    }
    size_t digits = (size_t)(at - c->at);
    c->at = at;
    return digits;
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
    const struct json_wanted *wanted;
    struct json_plain *values;
    size_t next; /* of the keys: behind the one that was found last */
    bool outer_seen;
};

static bool same(struct slice a, struct slice b)
{
    return a.length == b.length && memcmp(a.text, b.text, a.length) == 0;
}

/* NULL: it is not asked for. Lines of a log say their members in one order, mostly that of
 * the keys, so that the one behind the last is looked at first. */
static const struct json_key *find_key(struct asked *asked,
                                       const struct json_keys *keys, struct slice name)
{
    size_t i = asked->next < keys->count ? asked->next : 0;

    for (size_t n = 0; n < keys->count; n++) {
        const struct json_key *key = &keys->items[i];
        i = i + 1 < keys->count ? i + 1 : 0;
        if (same(key->name, name)) {
            asked->next = i;
            return key;
        }
    }
    return NULL;
}

/* Puts the value where it is asked for. False when something is there already. */
static bool keep(struct asked *asked, const struct json_keys *keys, struct slice name,
                 const struct json_plain *value)
{
    const struct json_key *key = find_key(asked, keys, name);

    if (key == NULL) {
        return true;
    }
    if (asked->values[key->place].kind != JSON_ABSENT) {
        return false;
    }
    asked->values[key->place] = *value;
    return true;
}

/* The keys of which the object inside that has this name is asked for. NULL: the name comes
 * again, and the later one would count, not both. */
static const struct json_keys *inner_keys(struct asked *asked, struct slice name)
{
    static const struct json_keys none = {NULL, 0};
    const struct slice outer = asked->wanted->outer;

    if (outer.text == NULL || !same(name, outer)) {
        return &none;
    }
    if (asked->outer_seen) {
        return NULL;
    }
    asked->outer_seen = true;
    return &asked->wanted->inner;
}

/* The members of the object, up to and with its brace; of one inside when inside is true. */
static bool take_members(struct cursor *c, struct asked *asked,
                         const struct json_keys *keys, bool inside)
{
    if (take(c, '}')) {
        return true;
    }
    do {
        struct json_plain value = {.kind = JSON_OTHER};
        const struct json_keys *inner = NULL;
        struct slice name;
        if (!take_string(c, &name) || !take(c, ':') || c->at == c->end ||
            (!inside && (inner = inner_keys(asked, name)) == NULL)) {
            return false;
        }
        if (*c->at == '{' && !inside) {
            take(c, '{');
            if (!take_members(c, asked, inner, true)) {
                return false;
            }
        } else if (*c->at == '[' ? !take_list(c) : !take_scalar(c, &value)) {
            return false;
        }
        if (!keep(asked, keys, name, &value)) {
            return false;
        }
    } while (take(c, ','));
    return take(c, '}');
}

bool json_plain(struct slice line, const struct json_wanted *wanted,
                struct json_plain *values, size_t count)
{
    struct cursor c = {line.text, line.text + line.length};
    struct asked asked = {.wanted = wanted, .values = values};

    for (size_t i = 0; i < count; i++) {
        values[i] = (struct json_plain){.kind = JSON_ABSENT};
    }
    return take(&c, '{') && take_members(&c, &asked, &wanted->keys, false) &&
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
