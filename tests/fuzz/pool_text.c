/* SPDX-License-Identifier: MIT */
#include "pool_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void require(int ok, const char *what)
{
    if (!ok) {
        dprintf(STDERR_FILENO, "fuzz: %s\n", what);
        abort();
    }
}

const char *file_of(const uint8_t *data, size_t size)
{
    static int file = -1;
    static char path[64];

    if (file < 0) {
        file = memfd_create("pool", 0);
        require(file >= 0, "no memory file");
        snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
        /* Complaints go nowhere; what sanitizers say does not come through stdio. */
        FILE *nowhere = fopen("/dev/null", "w");
        require(nowhere != NULL, "no /dev/null");
        stderr = nowhere;
    }
    require(ftruncate(file, 0) == 0 && pwrite(file, data, size, 0) == (ssize_t)size,
            "memory file not written");
    return path;
}

static void check_server(const struct server_list *list, size_t index)
{
    const struct server_spec *s = &list->items[index];

    require(memchr(s->name, '\0', sizeof(s->name)) != NULL && s->name[0] != '\0',
            "a server without a name");
    require(s->weight <= LOCUS_WEIGHT_MAX && s->upper <= LOCUS_WEIGHT_MAX &&
                s->lower <= LOCUS_WEIGHT_MAX,
            "a number is out of range");
    require(servers_find(list, &s->address) == (int64_t)index,
            "a server is there twice");
}

static void check_event(const struct server_list *list, size_t index)
{
    const struct server_event *e = &list->events[index];
    bool of_none = e->kind == EVENT_SCHEDULER || e->kind == EVENT_GUARD;

    require(index == 0 || list->events[index - 1].at_ns <= e->at_ns,
            "events are out of order");
    require(of_none || e->server < list->count, "an event of no server");
    require(e->weight <= LOCUS_WEIGHT_MAX && e->upper <= LOCUS_WEIGHT_MAX &&
                e->lower <= LOCUS_WEIGHT_MAX,
            "an event's number is out of range");
    require(memchr(e->scheduler, '\0', sizeof(e->scheduler)) != NULL,
            "a scheduler's name does not end");
    require(!e->percent || e->floor <= 100, "a guard above 100 %");
}

void check_list(const struct server_list *list)
{
    require(list->count <= SERVERS_MAX, "too many servers");
    for (size_t i = 0; i < list->count; i++) {
        check_server(list, i);
    }
    for (size_t i = 0; i < list->event_count; i++) {
        check_event(list, i);
    }
    require(memchr(list->service, '\0', sizeof(list->service)) != NULL &&
                memchr(list->scheduler, '\0', sizeof(list->scheduler)) != NULL,
            "a name does not end");
}

void require_same(const struct server_list *a, const struct server_list *b)
{
    require(a->count == b->count && a->event_count == b->event_count &&
                a->kind == b->kind && strcmp(a->service, b->service) == 0,
            "another list when read again");
    for (size_t i = 0; i < a->count; i++) {
        const struct server_spec *x = &a->items[i];
        const struct server_spec *y = &b->items[i];
        require(strcmp(x->name, y->name) == 0 && x->weight == y->weight &&
                    x->upper == y->upper && x->lower == y->lower &&
                    x->active == y->active && x->inactive == y->inactive &&
                    x->later == y->later,
                "another server when read again");
    }
    for (size_t i = 0; i < a->event_count; i++) {
        require(a->events[i].kind == b->events[i].kind &&
                    a->events[i].server == b->events[i].server &&
                    a->events[i].at_ns == b->events[i].at_ns,
                "another event when read again");
    }
}
