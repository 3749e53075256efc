/* SPDX-License-Identifier: MIT */
#include "policy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../base/values.h"

static const struct policy_ops *const own_policies[] = {
#define POLICY(name) &name##_ops,
#include "policies.def"
#undef POLICY
    NULL,
};

static bool is_word(const char *word, const char *text, size_t length)
{
    return strlen(word) == length && memcmp(word, text, length) == 0;
}

/* "1.25", from 1.01 to 100, once and no finer. */
static bool parse_bound(const char *text, size_t length, uint32_t *percent)
{
    const char *dot = memchr(text, '.', length);
    size_t digits = dot != NULL ? (size_t)(text + length - dot) - 1 : 0;
    uint64_t value;

    if (*percent != 0 || digits > 2 || !read_decimal(text, length, 2, &value) ||
        value < LOCUS_LOAD_BOUND_PERCENT_MIN || value > LOCUS_LOAD_BOUND_PERCENT_MAX) {
        return false;
    }
    *percent = (uint32_t)value;
    return true;
}

/* ":fallback:port", ":1.25" of chbl, or nothing. */
static bool parse_options(const char *text, size_t length, struct policy *out)
{
    bool bounded = strcmp(out->scheduler, "chbl") == 0;

    while (length > 0) {
        const char *colon = memchr(text + 1, ':', length - 1);
        size_t part = colon != NULL ? (size_t)(colon - text) : length;
        if (is_word("fallback", text + 1, part - 1)) {
            out->flags |= LOCUS_FLAG_FALLBACK;
        } else if (is_word("port", text + 1, part - 1)) {
            out->flags |= LOCUS_FLAG_PORT;
        } else if (!bounded ||
                   !parse_bound(text + 1, part - 1, &out->load_bound_percent)) {
            return false;
        }
        text += part;
        length -= part;
    }
    return true;
}

bool policy_parse(const char *text, size_t length, struct policy *out)
{
    const char *colon = memchr(text, ':', length);
    size_t name = colon != NULL ? (size_t)(colon - text) : length;

    memset(out, 0, sizeof(*out));
    if (length >= sizeof(out->text)) {
        return false;
    }
    memcpy(out->text, text, length);
    for (size_t i = 0; own_policies[i] != NULL; i++) {
        if (is_word(own_policies[i]->name, text, name)) {
            out->scheduler = "none";
            out->ops = own_policies[i];
            return colon == NULL;
        }
    }
    for (size_t i = 0; locus_scheduler_name(i, NULL) != NULL; i++) {
        if (is_word(locus_scheduler_name(i, NULL), text, name)) {
            out->scheduler = locus_scheduler_name(i, NULL);
            return parse_options(text + name, length - name, out);
        }
    }
    return false;
}

bool policy_parse_directors(const char *text, size_t length, struct policy *out)
{
    const char *at = memchr(text, '@', length);
    size_t before = at != NULL ? (size_t)(at - text) : length;
    uint64_t directors = 0;

    if (!policy_parse(text, before, out)) {
        return false;
    }
    if (at == NULL) {
        return true;
    }
    if (length >= sizeof(out->text) || out->ops != NULL ||
        !read_number(at + 1, length - before - 1, &directors) || directors < 2 ||
        directors > DIRECTORS_MAX) {
        return false;
    }
    memcpy(out->text, text, length);
    out->directors = (uint32_t)directors;
    return true;
}

void policy_text(const char *scheduler, uint32_t flags, uint32_t load_bound_percent,
                 char *text, size_t size)
{
    char bound[24] = "";

    if (load_bound_percent != 0) {
        snprintf(bound, sizeof(bound), ":%" PRIu32 ".%02" PRIu32,
                 load_bound_percent / 100, load_bound_percent % 100);
    }
    snprintf(text, size, "%s%s%s%s", scheduler,
             (flags & LOCUS_FLAG_FALLBACK) != 0 ? ":fallback" : "",
             (flags & LOCUS_FLAG_PORT) != 0 ? ":port" : "", bound);
}

const char *policy_name(size_t index, const char **about)
{
    size_t count = 0;

    while (locus_scheduler_name(count, NULL) != NULL) {
        count++;
    }
    if (index < count) {
        return locus_scheduler_name(index, about);
    }
    for (size_t i = 0; own_policies[i] != NULL; i++) {
        if (i == index - count) {
            if (about != NULL) {
                *about = own_policies[i]->about;
            }
            return own_policies[i]->name;
        }
    }
    return NULL;
}

bool policy_is_of_ipvs(const struct policy *policy)
{
    return policy->ops == NULL && strcmp(policy->scheduler, "chbl") != 0 &&
           strcmp(policy->scheduler, "p2c") != 0;
}

bool policy_has_map(const struct policy *policy)
{
    return strncmp(policy->scheduler, "lblc", 4) == 0;
}

bool policy_hashes_clients(const struct policy *policy)
{
    return strcmp(policy->scheduler, "sh") == 0 || strcmp(policy->scheduler, "mh") == 0;
}
