/* SPDX-License-Identifier: MIT */
#include "parse.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "help.h"

static bool in_range(const struct option_spec *spec, uint64_t value)
{
    return value >= spec->min && (spec->max == 0 || value <= spec->max);
}

/* False: it is no such value. */
static bool store(const struct option_spec *spec, const char *value, void *field)
{
    size_t length = value != NULL ? strlen(value) : 0;

    switch (spec->type) {
    case OPTION_FLAG:
        *(bool *)field = true;
        return true;
    case OPTION_TEXT:
        *(const char **)field = value;
        return true;
    case OPTION_NUMBER:
        return read_number(value, length, field) && in_range(spec, *(uint64_t *)field);
    case OPTION_BYTES:
        return read_bytes(value, length, field) && in_range(spec, *(uint64_t *)field);
    case OPTION_TIME:
        return read_duration_ns(value, length, field) &&
               in_range(spec, *(uint64_t *)field);
    case OPTION_CHOICE:
        for (int i = 0; spec->choices[i] != NULL; i++) {
            if (strcmp(value, spec->choices[i]) == 0) {
                *(int *)field = i;
                return true;
            }
        }
        return false;
    case OPTION_GROUP:
    default:
        return false;
    }
}

static int bad_value(const struct command *command, const struct option_spec *spec,
                     const char *value)
{
    char expected[256] = "a time such as 90, 1.5s, 250ms, 2h or 7d";

    if (spec->type == OPTION_BYTES) {
        snprintf(expected, sizeof(expected), "a size such as 4096, 64k, 512M or 10GiB");
    } else if (spec->type == OPTION_NUMBER && spec->max != 0) {
        snprintf(expected, sizeof(expected),
                 "a whole number from %" PRIu64 " to %" PRIu64, spec->min, spec->max);
    } else if (spec->type == OPTION_NUMBER) {
        snprintf(expected, sizeof(expected), "a whole number of %" PRIu64 " or more",
                 spec->min);
    } else if (spec->type == OPTION_CHOICE) {
        size_t used = (size_t)snprintf(expected, sizeof(expected), "one of");
        for (int i = 0; spec->choices[i] != NULL && used < sizeof(expected); i++) {
            used += (size_t)snprintf(expected + used, sizeof(expected) - used, " %s",
                                     spec->choices[i]);
        }
    }
    return usage_error(command->name, "--%s: expected %s, not '%s'", spec->name,
                       expected, value);
}

/* By its long name, or, if that is NULL, by its letter. *offset is that of its target. */
static const struct option_spec *find(const struct command *command, const char *name,
                                      size_t length, char letter, size_t *offset)
{
    struct option_walk walk = option_walk(command->options);
    const struct option_spec *s;

    while ((s = option_next(&walk)) != NULL) {
        *offset = walk.offset;
        if (name != NULL
                ? strlen(s->name) == length && memcmp(s->name, name, length) == 0
                : s->letter == letter) {
            break;
        }
    }
    return s;
}

/* One word that begins with a dash. next is the word after it, or NULL; *used becomes true if
 * that was its value. */
static int parse_option(const struct command *command, const char *word,
                        const char *next, void *target, bool *used)
{
    bool is_long = word[1] == '-';
    const char *equals = is_long ? strchr(word, '=') : NULL;
    size_t length = equals != NULL ? (size_t)(equals - word - 2) : strlen(word + 1) - 1;
    size_t offset = 0;
    const struct option_spec *spec =
        find(command, is_long ? word + 2 : NULL, length, word[1], &offset);
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
    return store(spec, value, (char *)target + offset)
               ? 0
               : bad_value(command, spec, value);
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
