/* SPDX-License-Identifier: MIT */
#include "texts.h"

#include <inttypes.h>
#include <stdio.h>

const char *text_count(uint64_t count, char text[TEXT_SIZE])
{
    char digits[24];
    int length = snprintf(digits, sizeof(digits), "%" PRIu64, count);
    char *out = text;

    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) {
            *out++ = ',';
        }
        *out++ = digits[i];
    }
    *out = '\0';
    return text;
}

const char *text_time(uint64_t ms, char text[TEXT_SIZE])
{
    uint64_t s = ms / 1000;
    unsigned rest = (unsigned)(ms % 1000);

    if (s < 60 && (rest == 0 || (s >= 10 && rest < 100))) {
        snprintf(text, TEXT_SIZE, "%" PRIu64 "s", s);
    } else if (s < 60 && (s >= 10 || rest % 100 == 0)) {
        snprintf(text, TEXT_SIZE, "%" PRIu64 ".%us", s, rest / 100);
    } else if (s < 10) {
        snprintf(text, TEXT_SIZE, "%" PRIu64 ".%03us", s, rest);
    } else if (s < 3600) {
        snprintf(text, TEXT_SIZE, "%" PRIu64 "m%02us", s / 60, (unsigned)(s % 60));
    } else if (s < 86400) {
        snprintf(text, TEXT_SIZE, "%" PRIu64 "h%02um", s / 3600,
                 (unsigned)(s / 60 % 60));
    } else {
        snprintf(text, TEXT_SIZE, "%" PRIu64 "d%02uh", s / 86400,
                 (unsigned)(s / 3600 % 24));
    }
    return text;
}

const char *text_bytes(uint64_t bytes, char text[TEXT_SIZE])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    uint64_t tenths = 0;
    size_t unit = 0;

    while (bytes >= 1024 && unit + 1 < sizeof(units) / sizeof(*units)) {
        tenths = bytes % 1024 * 10 / 1024;
        bytes /= 1024;
        unit++;
    }
    if (unit == 0 || bytes >= 100) {
        snprintf(text, TEXT_SIZE, "%" PRIu64 "%s", bytes, units[unit]);
    } else {
        snprintf(text, TEXT_SIZE, "%" PRIu64 ".%u%s", bytes, (unsigned)tenths,
                 units[unit]);
    }
    return text;
}

const char *text_share(uint64_t ppm, char text[TEXT_SIZE])
{
    uint64_t tenths = (ppm + 500) / 1000;

    if (tenths == 1000 && ppm < 1000000) {
        tenths = 999;
    }
    snprintf(text, TEXT_SIZE, "%" PRIu64 ".%u%%", tenths / 10, (unsigned)(tenths % 10));
    return text;
}

const char *text_ratio(uint64_t ppm, char text[TEXT_SIZE])
{
    uint64_t hundredths = (ppm + 5000) / 10000;

    snprintf(text, TEXT_SIZE, "%" PRIu64 ".%02u", hundredths / 100,
             (unsigned)(hundredths % 100));
    return text;
}
