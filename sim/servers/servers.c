/* SPDX-License-Identifier: MIT */
/* The list of real servers of a service, found by address, and the events that change it. */
#include "servers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/values.h"

void servers_free(struct server_list *list)
{
    free(list->items);
    free(list->slots);
    free(list->events);
    memset(list, 0, sizeof(*list));
}

static bool is_host_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '-' || c == '_' || c == '.';
}

bool server_address_parse(const char *text, size_t length, struct locus_address *out)
{
    size_t host = 0;
    uint64_t port = 0;

    if (locus_address_parse(text, length, out) == LOCUS_OK) {
        return true;
    }
    while (host < length && is_host_character(text[host])) {
        host++;
    }
    /* What begins with a digit is a mistyped number or address. */
    if (host == 0 || host > 255 || text[0] == '-' || text[0] == '.' ||
        (text[0] >= '0' && text[0] <= '9')) {
        return false;
    }
    if (host < length &&
        (text[host] != ':' || !read_number(text + host + 1, length - host - 1, &port) ||
         port > UINT16_MAX)) {
        return false;
    }
    *out = (struct locus_address){
        .family = LOCUS_NAME,
        .port = (uint16_t)port,
        .key = locus_key_from_name(text, host),
    };
    return true;
}

void server_name(const struct locus_address *address, const char *written,
                 char name[SERVER_NAME_SIZE])
{
    if (address->family != LOCUS_NAME) {
        locus_address_format(address, name, SERVER_NAME_SIZE);
    } else if (address->port == 0) {
        snprintf(name, SERVER_NAME_SIZE, "%s", written);
    } else {
        snprintf(name, SERVER_NAME_SIZE, "%.*s:%u", (int)strcspn(written, ":"), written,
                 address->port);
    }
}

static bool same_address(const struct locus_address *a, const struct locus_address *b)
{
    if (a->family != b->family || a->port != b->port) {
        return false;
    }
    if (a->family == LOCUS_IPV4) {
        return a->key.ipv4 == b->key.ipv4;
    }
    return memcmp(a->key.bytes, b->key.bytes, sizeof(a->key.bytes)) == 0;
}

static size_t hash_address(const struct locus_address *address)
{
    const uint64_t odd = 0x9e3779b97f4a7c15u;
    uint64_t x = (uint64_t)address->family << 16 | address->port;

    if (address->family == LOCUS_IPV4) {
        x ^= (uint64_t)address->key.ipv4 << 32;
    } else {
        x = (x ^ address->key.words[0]) * odd ^ address->key.words[1];
    }
    x = (x ^ x >> 32) * odd;
    return (size_t)(x ^ x >> 32);
}

/* The slot of the server of that address, or the free one where it belongs. */
static uint32_t *find_slot(const struct server_list *list,
                           const struct locus_address *address)
{
    size_t mask = list->slot_count - 1;
    size_t at = hash_address(address) & mask;

    while (list->slots[at] != 0 &&
           !same_address(&list->items[list->slots[at] - 1].address, address)) {
        at = (at + 1) & mask;
    }
    return &list->slots[at];
}

/* Puts all servers into slots that are at most half full. Without memory for them servers are
 * found all the same, one by one. */
static void index_again(struct server_list *list)
{
    size_t wanted = 16;

    while (wanted < 4 * list->count) {
        wanted *= 2;
    }
    free(list->slots);
    list->slots = calloc(wanted, sizeof(*list->slots));
    list->slot_count = list->slots != NULL ? wanted : 0;
    list->indexed = list->slots != NULL ? list->count : 0;
    for (size_t i = 0; i < list->indexed; i++) {
        *find_slot(list, &list->items[i].address) = (uint32_t)i + 1;
    }
}

/* The last server is new. */
static void index_last(struct server_list *list)
{
    size_t last = list->count - 1;

    if (list->indexed < last || 2 * list->count > list->slot_count) {
        index_again(list);
        return;
    }
    *find_slot(list, &list->items[last].address) = (uint32_t)list->count;
    list->indexed = list->count;
}

int64_t servers_find(const struct server_list *list,
                     const struct locus_address *address)
{
    if (list->count > 0 && list->indexed == list->count) {
        return (int64_t)*find_slot(list, address) - 1;
    }
    for (size_t i = 0; i < list->count; i++) {
        if (same_address(&list->items[i].address, address)) {
            return (int64_t)i;
        }
    }
    return -1;
}

/* Room for one more of size each; counts are powers of two when they are full. */
static void *room_for_one(void *items, size_t count, size_t size)
{
    if (count != 0 && (count & (count - 1)) != 0) {
        return items;
    }
    return realloc(items, (count == 0 ? 1 : 2 * count) * size);
}

bool servers_have_one_destination(const struct server_list *list)
{
    static const char *const kinds[] = {"tcp ", "udp ", "sctp ", "service "};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        if (strncmp(list->service, kinds[i], strlen(kinds[i])) == 0) {
            return true;
        }
    }
    return false;
}

bool policy_goes_by_destination(const char *scheduler)
{
    return strcmp(scheduler, "dh") == 0 || strcmp(scheduler, "lblc") == 0 ||
           strcmp(scheduler, "lblcr") == 0 || strcmp(scheduler, "chbl") == 0;
}

int servers_add(struct server_list *list, const struct server_spec *spec)
{
    struct server_spec *items;

    if (list->count >= SERVERS_MAX) {
        return LOCUS_EFULL;
    }
    items = room_for_one(list->items, list->count, sizeof(*items));
    if (items == NULL) {
        return LOCUS_ENOMEM;
    }
    list->items = items;
    list->items[list->count++] = *spec;
    index_last(list);
    return LOCUS_OK;
}

void servers_drop(struct server_list *list, size_t number)
{
    list->count--;
    memmove(list->items + number, list->items + number + 1,
            (list->count - number) * sizeof(*list->items));
    index_again(list);
}

void servers_clear(struct server_list *list)
{
    list->count = 0;
    index_again(list);
}

void servers_reverse(struct server_list *list)
{
    for (size_t i = 0, j = list->count; i + 1 < j; i++) {
        j--;
        struct server_spec spec = list->items[i];
        list->items[i] = list->items[j];
        list->items[j] = spec;
    }
    index_again(list);
}

int servers_add_event(struct server_list *list, const struct server_event *event)
{
    struct server_event *events =
        room_for_one(list->events, list->event_count, sizeof(*events));

    if (events == NULL) {
        return LOCUS_ENOMEM;
    }
    list->events = events;
    list->events[list->event_count] = *event;
    list->events[list->event_count].order = list->event_count;
    list->event_count++;
    return LOCUS_OK;
}

static int by_time(const void *a, const void *b)
{
    const struct server_event *x = a, *y = b;

    return x->at_ns != y->at_ns ? (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns)
                                : (x->order > y->order) - (x->order < y->order);
}

void servers_sort_events(struct server_list *list)
{
    if (list->event_count > 0) {
        qsort(list->events, list->event_count, sizeof(*list->events), by_time);
    }
}
