/* SPDX-License-Identifier: MIT */
#include "policy.h"

#include <stdlib.h>
#include <string.h>

static bool usable(const struct locus_server_info *info)
{
    return info->weight > 0 && !info->overloaded;
}

/* leastalloc: the pool's rule as a balancer. Whoever was picked least often is next; what
 * became of the connections does not count. */
struct leastalloc {
    uint64_t *picks; /* by server handle */
    size_t count;
};

static int leastalloc_make(uint64_t seed, void **state)
{
    (void)seed;
    *state = calloc(1, sizeof(struct leastalloc));
    return *state != NULL ? LOCUS_OK : LOCUS_ENOMEM;
}

static void leastalloc_destroy(void *state)
{
    struct leastalloc *self = state;

    if (self != NULL) {
        free(self->picks);
    }
    free(self);
}

static int leastalloc_room(struct leastalloc *self, uint32_t server)
{
    size_t count = 2 * ((size_t)server + 1);
    uint64_t *picks;

    if (server < self->count) {
        return LOCUS_OK;
    }
    picks = realloc(self->picks, count * sizeof(*picks));
    if (picks == NULL) {
        return LOCUS_ENOMEM;
    }
    memset(picks + self->count, 0, (count - self->count) * sizeof(*picks));
    self->picks = picks;
    self->count = count;
    return LOCUS_OK;
}

static int leastalloc_pick(void *state, struct locus_service *svc,
                           const struct locus_request *request, uint64_t now_ns,
                           struct locus_pick *pick)
{
    struct leastalloc *self = state;
    struct locus_server_info info;
    uint32_t best = LOCUS_NO_SERVER;

    (void)request;
    (void)now_ns;
    for (uint32_t s = locus_server_next(svc, LOCUS_NO_SERVER); s != LOCUS_NO_SERVER;
         s = locus_server_next(svc, s)) {
        if (leastalloc_room(self, s) != LOCUS_OK) {
            return LOCUS_ENOMEM;
        }
        if (locus_server_get(svc, s, &info) == LOCUS_OK && usable(&info) &&
            (best == LOCUS_NO_SERVER || self->picks[s] < self->picks[best])) {
            best = s;
        }
    }
    pick->server = best;
    pick->trimmed = LOCUS_NO_SERVER;
    pick->why = best == LOCUS_NO_SERVER ? LOCUS_WHY_REFUSED : 0;
    if (best == LOCUS_NO_SERVER) {
        return LOCUS_ENOSERVER;
    }
    self->picks[best]++;
    return LOCUS_OK;
}

static const struct policy_ops own_policies[] = {
    {
        .name = "leastalloc",
        .about = "the server that was picked least often, as the allocation pool does",
        .make = leastalloc_make,
        .pick = leastalloc_pick,
        .destroy = leastalloc_destroy,
    },
    {.name = NULL},
};

static bool is_word(const char *word, const char *text, size_t length)
{
    return strlen(word) == length && memcmp(word, text, length) == 0;
}

static bool parse_flags(const char *text, size_t length, uint32_t *flags)
{
    while (length > 0) {
        const char *colon = memchr(text + 1, ':', length - 1);
        size_t part = colon != NULL ? (size_t)(colon - text) : length;
        if (is_word("fallback", text + 1, part - 1)) {
            *flags |= LOCUS_FLAG_FALLBACK;
        } else if (is_word("port", text + 1, part - 1)) {
            *flags |= LOCUS_FLAG_PORT;
        } else {
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
    for (const struct policy_ops *p = own_policies; p->name != NULL; p++) {
        if (is_word(p->name, text, name)) {
            out->scheduler = "none";
            out->ops = p;
            return colon == NULL;
        }
    }
    for (size_t i = 0; locus_scheduler_name(i, NULL) != NULL; i++) {
        if (is_word(locus_scheduler_name(i, NULL), text, name)) {
            out->scheduler = locus_scheduler_name(i, NULL);
            return parse_flags(text + name, length - name, &out->flags);
        }
    }
    return false;
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
    for (size_t i = 0; own_policies[i].name != NULL; i++) {
        if (i == index - count) {
            if (about != NULL) {
                *about = own_policies[i].about;
            }
            return own_policies[i].name;
        }
    }
    return NULL;
}

bool policy_has_map(const struct policy *policy)
{
    return strncmp(policy->scheduler, "lblc", 4) == 0;
}
