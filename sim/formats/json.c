/* SPDX-License-Identifier: MIT */
#include "json.h"

#include <math.h>
#include <stdio.h>

json_t *json_line(struct reader *reader, struct slice line, int *status)
{
    json_error_t error;
    json_t *object = json_loadb(line.text, line.length, 0, &error);

    if (object == NULL) {
        bool cut = json_error_code(&error) == json_error_premature_end_of_input;
        *status = cut ? reader_bad(reader, "JSON ends within the record", "line",
                                   "an object in braces", line)
                      : reader_bad(reader, "line is no JSON", "line",
                                   "an object in braces", line);
        return NULL;
    }
    if (!json_is_object(object)) {
        json_decref(object);
        *status = reader_bad(reader, "JSON is no object", "line", "an object in braces",
                             line);
        return NULL;
    }
    return object;
}

struct slice json_slice(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    if (!json_is_string(value)) {
        return (struct slice){"", 0};
    }
    return (struct slice){json_string_value(value), json_string_length(value)};
}

/* Whole seconds are exact in a double; only the rest is rounded. */
static bool real_ns(double seconds, double step_ns, uint64_t *out_ns)
{
    if (!(seconds >= 0) || seconds >= 9.2e9) {
        return false;
    }
    double whole = floor(seconds);
    double rest = nearbyint((seconds - whole) * 1e9 / step_ns) * step_ns;
    *out_ns = (uint64_t)whole * 1000000000 + (uint64_t)rest;
    return true;
}

static bool number_ns(const json_t *value, double step_ns, uint64_t *out_ns)
{
    if (json_is_integer(value)) {
        json_int_t seconds = json_integer_value(value);
        if (seconds < 0 || seconds >= INT64_MAX / 1000000000) {
            return false;
        }
        *out_ns = (uint64_t)seconds * 1000000000;
        return true;
    }
    return json_is_real(value) && real_ns(json_real_value(value), step_ns, out_ns);
}

bool json_time(const json_t *value, uint64_t *out_ns)
{
    if (json_is_string(value)) {
        struct slice text = {json_string_value(value), json_string_length(value)};
        return slice_iso_time(text, out_ns) || slice_time(text, 1000000000, out_ns);
    }
    return number_ns(value, 1000, out_ns);
}

bool json_seconds(const json_t *value, uint64_t *out_ns)
{
    if (json_is_string(value)) {
        struct slice text = {json_string_value(value), json_string_length(value)};
        return slice_time(text, 1000000000, out_ns);
    }
    return number_ns(value, 1, out_ns);
}

bool json_u64(const json_t *value, uint64_t *out)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0) {
        return false;
    }
    *out = (uint64_t)json_integer_value(value);
    return true;
}

bool json_port(const json_t *value, uint16_t *out)
{
    uint64_t port;

    if (!json_u64(value, &port) || port > UINT16_MAX) {
        return false;
    }
    *out = (uint16_t)port;
    return true;
}

struct slice json_show(const json_t *value, char *buffer, size_t size)
{
    char *text =
        value == NULL ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);

    snprintf(buffer, size, "%s", text == NULL ? "nothing" : text);
    free(text);
    return slice_of(buffer);
}
