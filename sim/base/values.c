/* SPDX-License-Identifier: MIT */
#include "values.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static bool multiply(uint64_t a, uint64_t b, uint64_t *out)
{
    if (b != 0 && a > UINT64_MAX / b) {
        return false;
    }
    *out = a * b;
    return true;
}

bool read_number(const char *text, size_t length, uint64_t *out)
{
    uint64_t value = 0;

    if (length == 0) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9' || !multiply(value, 10, &value)) {
            return false;
        }
        uint64_t digit = (uint64_t)(text[i] - '0');
        if (value > UINT64_MAX - digit) {
            return false;
        }
        value += digit;
    }
    *out = value;
    return true;
}

bool read_decimal(const char *text, size_t length, unsigned digits, uint64_t *out)
{
    const char *dot = memchr(text, '.', length);
    size_t whole = dot != NULL ? (size_t)(dot - text) : length;
    uint64_t value;

    if (!read_number(text, whole, &value) || (dot != NULL && whole + 1 == length)) {
        return false;
    }
    for (unsigned i = 0; i < digits; i++) {
        size_t at = whole + 1 + i;
        uint64_t digit = 0;
        if (at < length) {
            if (text[at] < '0' || text[at] > '9') {
                return false;
            }
            digit = (uint64_t)(text[at] - '0');
        }
        if (!multiply(value, 10, &value) || value > UINT64_MAX - digit) {
            return false;
        }
        value += digit;
    }
    for (size_t at = whole + 1 + digits; at < length; at++) {
        if (text[at] < '0' || text[at] > '9') {
            return false;
        }
    }
    *out = value;
    return true;
}

struct unit {
    const char *name;
    uint64_t factor;
};

/* The number in front, the unit behind it looked up in units; no unit means plain. */
static bool read_with_unit(const char *text, size_t length, const struct unit *units,
                           uint64_t plain, uint64_t *out)
{
    size_t number = strspn(text, "0123456789.");
    uint64_t factor = plain;
    uint64_t scaled;

    if (number > length) {
        number = length;
    }
    if (number < length) {
        const struct unit *u = units;
        size_t rest = length - number;
        while (u->name != NULL && !(strlen(u->name) == rest &&
                                    strncasecmp(u->name, text + number, rest) == 0)) {
            u++;
        }
        if (u->name == NULL) {
            return false;
        }
        factor = u->factor;
    }
    if (memchr(text, '.', number) == NULL) {
        return read_number(text, number, &scaled) && multiply(scaled, factor, out);
    }
    /* A fraction: nine digits, multiplied out in two halves so that nothing is lost. */
    if (!read_decimal(text, number, 9, &scaled)) {
        return false;
    }
    uint64_t whole;
    if (!multiply(scaled / 1000000000u, factor, &whole)) {
        return false;
    }
    uint64_t part =
        (uint64_t)((double)(scaled % 1000000000u) * 1e-9 * (double)factor + 0.5);
    if (whole > UINT64_MAX - part) {
        return false;
    }
    *out = whole + part;
    return true;
}

bool read_bytes(const char *text, size_t length, uint64_t *out)
{
    static const struct unit units[] = {
        {"b", 1},
        {"k", 1u << 10},
        {"kb", 1u << 10},
        {"kib", 1u << 10},
        {"m", 1u << 20},
        {"mb", 1u << 20},
        {"mib", 1u << 20},
        {"g", 1u << 30},
        {"gb", 1u << 30},
        {"gib", 1u << 30},
        {"t", (uint64_t)1 << 40},
        {"tb", (uint64_t)1 << 40},
        {"tib", (uint64_t)1 << 40},
        {NULL, 0},
    };
    return read_with_unit(text, length, units, 1, out);
}

/* Of equal ones the first is written. */
static const struct unit durations[] = {
    {"ns", 1},
    {"us", 1000},
    {"ms", 1000000},
    {"s", 1000000000},
    {"sec", 1000000000},
    {"m", 60ull * 1000000000},
    {"min", 60ull * 1000000000},
    {"h", 3600ull * 1000000000},
    {"d", 86400ull * 1000000000},
    {NULL, 0},
};

bool read_duration_ns(const char *text, size_t length, uint64_t *out)
{
    return read_with_unit(text, length, durations, 1000000000, out);
}

const char *duration_text(uint64_t ns, char out[DURATION_TEXT])
{
    const struct unit *largest = durations;

    for (const struct unit *u = durations; u->name != NULL; u++) {
        if (u->factor > largest->factor && ns % u->factor == 0) {
            largest = u;
        }
    }
    snprintf(out, DURATION_TEXT, "%" PRIu64 "%s", ns / largest->factor, largest->name);
    return out;
}
