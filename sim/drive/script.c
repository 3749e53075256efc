/* SPDX-License-Identifier: MIT */
#include "script.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "../base/errors.h"

enum { QUOTED_BYTES = 64 };

/* A word as a message may show it: on one line, of bounded length, whatever is in it. */
static const char *quote(const char *word, char out[QUOTED_BYTES])
{
    size_t used = 0;

    for (const char *c = word; *c != '\0'; c++) {
        if (used + sizeof("\\xff...") > QUOTED_BYTES) {
            memcpy(out + used, "...", 3);
            used += 3;
            break;
        }
        if (*c >= ' ' && *c <= '~') {
            out[used++] = *c;
        } else {
            used += (size_t)snprintf(out + used, QUOTED_BYTES - used, "\\x%02x",
                                     (unsigned)(unsigned char)*c);
        }
    }
    out[used] = '\0';
    return out;
}

static void message_start(const struct script *script)
{
    char quoted[QUOTED_BYTES];

    fflush(script->out);
    fprintf(script->err, "locus drive: %s:%" PRIu64 ": ", script->name, script->line);
    if (script->count > 0) {
        fprintf(script->err, "%s: ", quote(script->words[0], quoted));
    }
}

int script_fail(const struct script *script, const char *format, ...)
{
    va_list ap;

    message_start(script);
    va_start(ap, format);
    vfprintf(script->err, format, ap);
    va_end(ap);
    fputc('\n', script->err);
    return EXIT_USAGE;
}

int script_expected(const struct script *script, size_t index, const char *field,
                    const char *expected)
{
    char quoted[QUOTED_BYTES];

    return script_fail(script, "%s: expected %s, not '%s'", field, expected,
                       quote(script->words[index], quoted));
}

/* One line without its newline into raw. false as script_next(). */
static bool read_line(struct script *script, int *code)
{
    size_t length = 0;
    int c;

    script->count = 0;
    script->line++;
    while ((c = getc_unlocked(script->in)) != EOF && c != '\n') {
        if (c == '\0') {
            *code = script_fail(script, "expected text, not a NUL byte");
            return false;
        }
        if (length == SCRIPT_LINE_BYTES) {
            *code = script_fail(script, "expected a line of at most %d bytes",
                                SCRIPT_LINE_BYTES);
            return false;
        }
        script->raw[length++] = (char)c;
    }
    script->raw[length] = '\0';
    if (c != EOF) {
        return true;
    }
    if (ferror(script->in)) {
        int error = errno;
        fflush(script->out);
        fprintf(script->err, "locus drive: %s: cannot read: %s\n", script->name,
                strerror(error));
        *code = EXIT_RUNTIME;
        return false;
    }
    *code = EXIT_OK;
    return length > 0;
}

static void split(struct script *script)
{
    static const char blanks[] = " \t\r\v\f";
    char *at = script->text;

    strcpy(script->text, script->raw);
    script->text[strcspn(script->text, "#")] = '\0';
    for (;;) {
        at += strspn(at, blanks);
        if (*at == '\0') {
            return;
        }
        script->words[script->count++] = at;
        at += strcspn(at, blanks);
        if (*at != '\0') {
            *at++ = '\0';
        }
    }
}

bool script_next(struct script *script, int *code)
{
    do {
        if (!read_line(script, code)) {
            return false;
        }
        split(script);
    } while (script->count == 0);
    return true;
}

/* Digits, all of them; *fits says whether the value is no more than max. */
static bool read_digits(const char *text, size_t length, uint64_t max, uint64_t *out,
                        bool *fits)
{
    uint64_t value = 0;

    *fits = true;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
        uint64_t digit = (uint64_t)(text[i] - '0');
        if (digit > max || value > (max - digit) / 10) {
            *fits = false;
        } else {
            value = value * 10 + digit;
        }
    }
    *out = value;
    return length > 0;
}

bool script_number(const struct script *script, size_t index, const char *field,
                   uint64_t max, uint64_t *out)
{
    const char *word = script->words[index];
    char expected[64];
    bool fits;

    if (read_digits(word, strlen(word), max, out, &fits) && fits) {
        return true;
    }
    snprintf(expected, sizeof(expected), "a whole number from 0 to %" PRIu64, max);
    script_expected(script, index, field, expected);
    return false;
}

bool script_integer(const struct script *script, size_t index, const char *field,
                    int64_t *out)
{
    const char *word = script->words[index];
    bool minus = word[0] == '-';
    uint64_t value;
    bool fits;

    if (!read_digits(word + minus, strlen(word + minus), INT64_MAX, &value, &fits)) {
        script_expected(script, index, field, "a whole number");
        return false;
    }
    if (!fits) {
        value = INT64_MAX;
    }
    *out = minus ? -(int64_t)value : (int64_t)value;
    return true;
}

bool script_seconds(const struct script *script, size_t index, uint64_t *seconds,
                    uint32_t *nanoseconds)
{
    enum { FRACTION_DIGITS = 9 };
    const char *word = script->words[index];
    size_t whole = strcspn(word, ".");
    const char *fraction = word[whole] == '.' ? word + whole + 1 : "0";
    size_t digits = strlen(fraction);
    uint64_t value;
    bool fits, fraction_fits;

    if (!read_digits(word, whole, UINT64_MAX, seconds, &fits) ||
        !read_digits(fraction, digits, UINT32_MAX, &value, &fraction_fits) ||
        digits > FRACTION_DIGITS) {
        script_expected(
            script, index, "S",
            "seconds such as 60 or 0.004, of at most nine digits of fraction");
        return false;
    }
    for (; digits < FRACTION_DIGITS; digits++) {
        value *= 10;
    }
    if (!fits) {
        *seconds = UINT64_MAX;
    }
    *nanoseconds = (uint32_t)value;
    return true;
}

bool script_ipv4(const struct script *script, size_t index, const char *field,
                 uint32_t *out)
{
    const char *word = script->words[index];
    struct locus_address address;
    uint64_t value;
    bool fits;

    if (strchr(word, ':') == NULL &&
        locus_address_parse(word, strlen(word), &address) == LOCUS_OK) {
        *out = address.key.ipv4;
        return true;
    }
    if (read_digits(word, strlen(word), UINT32_MAX, &value, &fits) && fits) {
        *out = (uint32_t)value;
        return true;
    }
    script_expected(script, index, field,
                    "an IPv4 address such as 10.0.0.1 or a number of 32 bits");
    return false;
}

bool script_endpoint(const struct script *script, size_t index,
                     struct locus_address *out)
{
    const char *word = script->words[index];
    struct locus_address address;

    if (strchr(word, ':') != NULL &&
        locus_address_parse(word, strlen(word), &address) == LOCUS_OK &&
        address.family == LOCUS_IPV4) {
        *out = address;
        return true;
    }
    script_expected(script, index, "ADDR:PORT",
                    "an IPv4 address with a port such as 10.0.0.1:80");
    return false;
}

bool script_choice(const struct script *script, size_t index, const char *field,
                   const char *const *names, int *out)
{
    char expected[128] = "one of";

    for (int i = 0; names[i] != NULL; i++) {
        if (strcmp(script->words[index], names[i]) == 0) {
            *out = i;
            return true;
        }
        size_t used = strlen(expected);
        snprintf(expected + used, sizeof(expected) - used, " %s", names[i]);
    }
    script_expected(script, index, field, expected);
    return false;
}
