/* SPDX-License-Identifier: MIT */
#include "options.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "command.h"

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

int usage_error(const char *command, const char *format, ...)
{
    va_list ap;

    fprintf(stderr, "locus %s: ", command);
    va_start(ap, format);
    vfprintf(stderr, format, ap);
    va_end(ap);
    fprintf(stderr, " (see 'locus %s --help')\n", command);
    return EXIT_USAGE;
}

static int bad_value(const struct command *command, const struct option_spec *spec,
                     const char *expected, const char *value)
{
    return usage_error(command->name, "--%s: expected %s, not '%s'", spec->name,
                       expected, value);
}

static bool in_range(const struct option_spec *spec, uint64_t value)
{
    return value >= spec->min && (spec->max == 0 || value <= spec->max);
}

static int store_choice(const struct command *command, const struct option_spec *spec,
                        const char *value, int *out)
{
    char expected[256] = "one of";

    for (int i = 0; spec->choices[i] != NULL; i++) {
        if (strcmp(value, spec->choices[i]) == 0) {
            *out = i;
            return 0;
        }
        size_t used = strlen(expected);
        snprintf(expected + used, sizeof(expected) - used, " %s", spec->choices[i]);
    }
    return bad_value(command, spec, expected, value);
}

static int store(const struct command *command, const struct option_spec *spec,
                 const char *value, void *target)
{
    void *field = (char *)target + spec->offset;
    char expected[128];
    bool ok;

    switch (spec->type) {
    case OPTION_FLAG:
        *(bool *)field = true;
        return 0;
    case OPTION_STRING:
        *(const char **)field = value;
        return 0;
    case OPTION_CHOICE:
        return store_choice(command, spec, value, field);
    case OPTION_NUMBER:
        ok = read_number(value, strlen(value), field) &&
             in_range(spec, *(uint64_t *)field);
        if (!ok && spec->max != 0) {
            snprintf(expected, sizeof(expected), "a whole number from %llu to %llu",
                     (unsigned long long)spec->min, (unsigned long long)spec->max);
        } else if (!ok) {
            snprintf(expected, sizeof(expected), "a whole number of %llu or more",
                     (unsigned long long)spec->min);
        }
        break;
    case OPTION_BYTES:
        ok = read_bytes(value, strlen(value), field) &&
             in_range(spec, *(uint64_t *)field);
        snprintf(expected, sizeof(expected), "a size such as 4096, 64k, 512M or 10GiB");
        break;
    case OPTION_DURATION:
        ok = read_duration_ns(value, strlen(value), field) &&
             in_range(spec, *(uint64_t *)field);
        snprintf(expected, sizeof(expected),
                 "a time such as 90, 1.5s, 250ms, 2h or 7d");
        break;
    default:
        return EXIT_USAGE;
    }
    return ok ? 0 : bad_value(command, spec, expected, value);
}

static const struct option_spec *find_long(const struct option_spec *specs,
                                           const char *name, size_t length)
{
    for (const struct option_spec *s = specs; s != NULL && s->name != NULL; s++) {
        if (strlen(s->name) == length && memcmp(s->name, name, length) == 0) {
            return s;
        }
    }
    return NULL;
}

static const struct option_spec *find_letter(const struct option_spec *specs,
                                             char letter)
{
    for (const struct option_spec *s = specs; s != NULL && s->name != NULL; s++) {
        if (s->letter != 0 && s->letter == letter) {
            return s;
        }
    }
    return NULL;
}

/* One word that begins with a dash; *next is the word behind it or NULL, *used whether it
 * was taken as the value. */
static int parse_option(const struct command *command, const char *word,
                        const char *next, void *target, bool *used)
{
    bool is_long = word[1] == '-';
    const char *equals = is_long ? strchr(word, '=') : NULL;
    size_t length = equals != NULL ? (size_t)(equals - word - 2) : strlen(word + 1) - 1;
    const struct option_spec *spec = is_long
                                         ? find_long(command->options, word + 2, length)
                                         : find_letter(command->options, word[1]);
    const char *value = NULL;

    if (spec == NULL) {
        return usage_error(command->name, "unknown option '%s'", word);
    }
    if (is_long && equals != NULL) {
        value = equals + 1;
    } else if (!is_long && word[2] != '\0') {
        value = word + 2;
    }
    if (spec->type == OPTION_FLAG) {
        if (value != NULL) {
            return usage_error(command->name, "--%s takes no value", spec->name);
        }
    } else if (value == NULL) {
        if (next == NULL) {
            return usage_error(command->name, "--%s needs a value", spec->name);
        }
        value = next;
        *used = true;
    }
    return store(command, spec, value, target);
}

int options_parse(const struct command *command, int argc, char **argv, void *target,
                  struct arguments *arguments)
{
    size_t kept = 0;
    bool options_end = false;

    for (int i = 1; i < argc; i++) {
        char *word = argv[i];
        if (options_end || word[0] != '-' || word[1] == '\0') {
            argv[kept++] = word;
        } else if (strcmp(word, "--") == 0) {
            options_end = true;
        } else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
            command_help(command);
            return -1;
        } else {
            bool used = false;
            const char *next = i + 1 < argc ? argv[i + 1] : NULL;
            int status = parse_option(command, word, next, target, &used);
            if (status != 0) {
                return status;
            }
            i += used;
        }
    }
    arguments->items = argv;
    arguments->count = kept;
    return 0;
}
