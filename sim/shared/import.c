/* SPDX-License-Identifier: MIT */
#include "import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <jansson.h>

#include "../base/errors.h"
#include "../base/values.h"

enum { LINE_MAX_BYTES = 65536, COLUMNS = 64 };

enum column { COLUMN_LABEL, COLUMN_HOST, COLUMN_PORT, COLUMN_SCHEME };

struct reader {
    const char *path;
    FILE *errors;
    struct locus_eligibility *rules;
    struct import *out;
    enum import_format format;
    uint64_t line;
    enum column columns[COLUMNS]; /* csv */
    size_t column_count;
};

static enum column column_of(const char *name)
{
    static const struct {
        const char *name;
        enum column column;
    } known[] = {
        {"host", COLUMN_HOST},       {"ip", COLUMN_HOST},
        {"address", COLUMN_HOST},    {"port", COLUMN_PORT},
        {"scheme", COLUMN_SCHEME},   {"type", COLUMN_SCHEME},
        {"protocol", COLUMN_SCHEME},
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcasecmp(name, known[i].name) == 0) {
            return known[i].column;
        }
    }
    return COLUMN_LABEL;
}

static void count_reason(struct import *out, const char *reason)
{
    size_t i = 0;

    while (i < out->reason_count && strcmp(out->reasons[i].reason, reason) != 0) {
        i++;
    }
    if (i == IMPORT_REASONS) {
        return; /* there are fewer texts than that */
    }
    if (i == out->reason_count) {
        out->reasons[out->reason_count++].reason = reason;
    }
    out->reasons[i].count++;
}

/* Says why a line gave no member; text is shown, its control characters are not. */
static void refuse(struct reader *r, const char *text, const char *reason)
{
    count_reason(r->out, reason);
    if (r->errors == NULL) {
        return;
    }
    fprintf(r->errors, "%s:%llu: '", r->path, (unsigned long long)r->line);
    for (size_t i = 0; text[i] != '\0' && i < 120; i++) {
        fputc((unsigned char)text[i] < ' ' || text[i] == 127 ? '?' : text[i],
              r->errors);
    }
    fprintf(r->errors, "': %s\n", reason);
}

static void malformed(struct reader *r, const char *text, const char *reason)
{
    r->out->malformed++;
    refuse(r, text, reason);
}

static int keep(struct import *out, const char *member)
{
    if (out->count == out->room) {
        size_t room = out->room == 0 ? 64 : out->room * 2;
        char **grown = realloc(out->members, room * sizeof(*grown));
        if (grown == NULL) {
            return LOCUS_ENOMEM;
        }
        out->members = grown;
        out->room = room;
    }
    out->members[out->count] = strdup(member);
    if (out->members[out->count] == NULL) {
        return LOCUS_ENOMEM;
    }
    out->count++;
    return LOCUS_OK;
}

static int judge(struct reader *r, const struct locus_candidate *candidate,
                 const char *text)
{
    char member[LOCUS_POOL_MEMBER_SIZE];
    const char *reason = NULL;
    int status = locus_eligibility_judge(r->rules, candidate, member, &reason);

    if (status == LOCUS_OK) {
        return keep(r->out, member);
    }
    if (status == LOCUS_EREFUSED || status == LOCUS_EEXIST) {
        *(status == LOCUS_EEXIST ? &r->out->duplicates : &r->out->refused) += 1;
        refuse(r, text, reason);
        return LOCUS_OK;
    }
    return status;
}

static int read_text(struct reader *r, char *line)
{
    char storage[LINE_MAX_BYTES];
    struct locus_candidate candidate;
    const char *reason;

    if (locus_candidate_parse(line, storage, sizeof(storage), &candidate, &reason) !=
        LOCUS_OK) {
        malformed(r, line, reason);
        return LOCUS_OK;
    }
    return judge(r, &candidate, line);
}

/* Splits a line of CSV in place, quotes doubled inside quotes. 0: malformed. */
static size_t split(char *line, char *fields[COLUMNS])
{
    size_t count = 0;

    for (;;) {
        char *to = line;
        if (count == COLUMNS) {
            return 0;
        }
        fields[count++] = line;
        if (*line == '"') {
            char *from = line + 1;
            while (*from != '\0' && !(from[0] == '"' && from[1] != '"')) {
                from += *from == '"';
                *to++ = *from++;
            }
            if (*from != '"') {
                return 0;
            }
            line = from + 1;
        } else {
            line += strcspn(line, ",");
            to = line;
        }
        char next = *line;
        *to = '\0';
        if (next != ',') {
            return next == '\0' ? count : 0;
        }
        line++;
    }
}

static bool read_port(const char *text, uint32_t *out)
{
    uint64_t value;

    if (!read_number(text, strlen(text), &value) || value == 0 || value > 65535) {
        return false;
    }
    *out = (uint32_t)value;
    return true;
}

static int read_csv(struct reader *r, char *line)
{
    char shown[160], labels[1024] = "";
    char *fields[COLUMNS];
    struct locus_candidate candidate = {.labels = labels};

    snprintf(shown, sizeof(shown), "%s", line);
    size_t count = split(line, fields);
    if (count != r->column_count) {
        malformed(r, shown, "has not as many fields as the header");
        return LOCUS_OK;
    }
    for (size_t i = 0; i < count; i++) {
        size_t used = strlen(labels);
        switch (r->columns[i]) {
        case COLUMN_HOST:
            candidate.host = fields[i];
            break;
        case COLUMN_SCHEME:
            candidate.scheme = fields[i];
            break;
        case COLUMN_PORT:
            if (fields[i][0] != '\0' && !read_port(fields[i], &candidate.port)) {
                malformed(r, shown, "port is not a number from 1 to 65535");
                return LOCUS_OK;
            }
            break;
        case COLUMN_LABEL:
        default:
            snprintf(labels + used, sizeof(labels) - used, "%s%s", used > 0 ? " " : "",
                     fields[i]);
        }
    }
    return judge(r, &candidate, shown);
}

static const char *text_of(const json_t *object, const char *const names[3])
{
    for (size_t i = 0; i < 3 && names[i] != NULL; i++) {
        const char *text = json_string_value(json_object_get(object, names[i]));
        if (text != NULL) {
            return text;
        }
    }
    return NULL;
}

static int read_object(struct reader *r, const json_t *object, const char *line)
{
    static const char *const hosts[3] = {"host", "ip", "address"};
    static const char *const schemes[3] = {"scheme", "protocol", "type"};
    const json_t *port = json_object_get(object, "port");
    struct locus_candidate candidate = {
        .host = text_of(object, hosts),
        .scheme = text_of(object, schemes),
    };

    if (candidate.host == NULL) {
        malformed(r, line, "has no text named host, ip or address");
        return LOCUS_OK;
    }
    if (json_is_integer(port) && json_integer_value(port) > 0 &&
        json_integer_value(port) <= 65535) {
        candidate.port = (uint32_t)json_integer_value(port);
    } else if (port != NULL && !json_is_null(port) &&
               (!json_is_string(port) ||
                !read_port(json_string_value(port), &candidate.port))) {
        malformed(r, line, "port is not a number from 1 to 65535");
        return LOCUS_OK;
    }
    char *labels = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
    candidate.labels = labels;
    int status = labels != NULL ? judge(r, &candidate, line) : LOCUS_ENOMEM;
    free(labels);
    return status;
}

static int read_json(struct reader *r, char *line)
{
    json_error_t error;
    json_t *object = json_loads(line, JSON_REJECT_DUPLICATES, &error);

    if (!json_is_object(object)) {
        malformed(r, line, "is not a JSON object");
        json_decref(object);
        return LOCUS_OK;
    }
    int status = read_object(r, object, line);
    json_decref(object);
    return status;
}

/* A header names a host's column and a port's; anything else is no CSV. */
static bool read_header(struct reader *r, const char *line)
{
    char copy[LINE_MAX_BYTES];
    char *fields[COLUMNS];
    unsigned seen = 0;

    snprintf(copy, sizeof(copy), "%s", line);
    r->column_count = split(copy, fields);
    for (size_t i = 0; i < r->column_count; i++) {
        r->columns[i] = column_of(fields[i]);
        seen |= 1u << r->columns[i];
    }
    return (seen & 1u << COLUMN_HOST) != 0 && (seen & 1u << COLUMN_PORT) != 0;
}

/* The first line that is not blank tells the format. False: a header that is none. */
static bool choose_format(struct reader *r, const char *line, bool *consumed)
{
    bool given = r->format == IMPORT_CSV;

    if (r->format == IMPORT_AUTO && line[0] == '{') {
        r->format = IMPORT_JSON;
    }
    if (r->format == IMPORT_AUTO || given) {
        bool header = read_header(r, line);
        if (!header && given) {
            return false;
        }
        r->format = header ? IMPORT_CSV : IMPORT_TEXT;
        *consumed = header;
    }
    return true;
}

static int read_line(struct reader *r, char *line)
{
    switch (r->format) {
    case IMPORT_CSV:
        return read_csv(r, line);
    case IMPORT_JSON:
        return read_json(r, line);
    case IMPORT_TEXT:
    case IMPORT_AUTO:
    default:
        return read_text(r, line);
    }
}

/* Cuts the end of the line and blanks around it. NULL: blank, or a comment. */
static char *trimmed(struct reader *r, char *line, ssize_t length)
{
    while (length > 0 && strchr(" \t\r\n", line[length - 1]) != NULL) {
        line[--length] = '\0';
    }
    line += strspn(line, " \t");
    if (r->line == 1 && strncmp(line, "\xef\xbb\xbf", 3) == 0) {
        line += 3; /* a byte order mark, as spreadsheets write it */
    }
    return line[0] == '\0' || line[0] == '#' ? NULL : line;
}

static int usage_header(const struct reader *r)
{
    return usage_error("pool", "%s:%llu: expected a CSV header with host and port",
                       r->path, (unsigned long long)r->line);
}

int import_read(FILE *in, const char *path, enum import_format format,
                struct locus_eligibility *rules, FILE *errors, struct import *out)
{
    struct reader r = {
        .path = path, .errors = errors, .rules = rules, .out = out, .format = format};
    char *buffer = NULL;
    size_t size = 0;
    ssize_t length;
    bool first = true;
    int code = EXIT_OK;

    while (code == EXIT_OK && (length = getline(&buffer, &size, in)) >= 0) {
        r.line++;
        out->lines++;
        if (length >= LINE_MAX_BYTES || strlen(buffer) != (size_t)length) {
            malformed(&r, "",
                      length >= LINE_MAX_BYTES ? "line is longer than 64 KiB"
                                               : "line holds a NUL");
            continue;
        }
        char *line = trimmed(&r, buffer, length);
        bool consumed = false;
        if (line == NULL) {
            continue;
        }
        if (first && !choose_format(&r, line, &consumed)) {
            code = usage_header(&r);
        } else if (!consumed && read_line(&r, line) != LOCUS_OK) {
            code = memory_error("pool");
        }
        first = false;
    }
    if (code == EXIT_OK && ferror(in)) {
        fprintf(stderr, "locus pool: %s: cannot read: %s\n", path, strerror(errno));
        code = EXIT_RUNTIME;
    }
    free(buffer);
    return code;
}

void import_free(struct import *import)
{
    for (size_t i = 0; i < import->count; i++) {
        free(import->members[i]);
    }
    free(import->members);
    memset(import, 0, sizeof(*import));
}
