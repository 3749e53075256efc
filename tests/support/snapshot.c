/* SPDX-License-Identifier: MIT */
#include "snapshot.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct lines {
    const struct locus_service *svc;
    enum locus_family family;
    FILE *out;
    char **line; /* destinations, sorted before they are written */
    size_t count, room;
};

static void *need(void *memory)
{
    if (!memory) {
        fputs("no memory for a snapshot\n", stderr);
        abort();
    }
    return memory;
}

static void print_server(const struct locus_service *svc, FILE *out, uint32_t server)
{
    struct locus_server_info info;
    char text[LOCUS_ADDRESS_TEXT];
    if (locus_server_get(svc, server, &info) != LOCUS_OK) {
        fputs("-", out);
        return;
    }
    locus_address_format(&info.address, text, sizeof(text));
    fprintf(out, "%s%s", text, info.in_service ? "" : "!");
}

static void print_info(const struct lines *lines, uint32_t server)
{
    struct locus_server_info info;
    if (locus_server_get(lines->svc, server, &info) != LOCUS_OK) {
        return;
    }
    print_server(lines->svc, lines->out, server);
    fprintf(lines->out,
            " tag=%" PRIu64 " weight=%" PRIu32 " last=%" PRIu32 " u=%" PRIu32
            " l=%" PRIu32 " active=%" PRIu32 " inactive=%" PRIu32 " share=%" PRIu64
            " overloaded=%d refs=%" PRIu64 "\n",
            info.tag, info.weight, info.last_weight, info.upper_threshold,
            info.lower_threshold, info.active, info.inactive, info.weight_256ths,
            info.overloaded, info.destinations);
}

static void print_stats(const struct lines *lines)
{
    struct locus_service_stats s;
    locus_service_get_stats(lines->svc, &s);
    fprintf(lines->out,
            "picks=%" PRIu64 " refusals=%" PRIu64 " hits=%" PRIu64 " added=%" PRIu64
            " moved=%" PRIu64 " grown=%" PRIu64 " trimmed=%" PRIu64
            " forgotten=%" PRIu64 " expired=%" PRIu64 " evicted=%" PRIu64
            " servers=%" PRIu32 " trash=%" PRIu32 " destinations=%" PRIu32
            " entries=%" PRIu32 " due=%" PRIu64 "\n",
            s.picks, s.refusals, s.hits, s.added, s.moved, s.grown, s.trimmed,
            s.forgotten, s.expired, s.evicted, s.servers, s.trash, s.destinations,
            s.entries, locus_tick_due(lines->svc));
}

static void print_value(void *arg, const char *name, enum locus_value_kind kind,
                        uint64_t value)
{
    const struct lines *lines = arg;
    fprintf(lines->out, "%s=", name);
    if (kind == LOCUS_VALUE_SERVER) {
        print_server(lines->svc, lines->out, (uint32_t)value);
        fputc('\n', lines->out);
    } else {
        fprintf(lines->out, "%" PRIu64 "\n", value);
    }
}

static void collect_dest(void *arg, const struct locus_destination *dest,
                         const uint32_t *servers)
{
    struct lines *lines = arg;
    struct locus_address address = {.family = lines->family, .key = dest->key};
    char text[LOCUS_ADDRESS_TEXT];
    char *line = NULL;
    size_t length = 0;
    FILE *out = need(open_memstream(&line, &length));
    locus_address_format(&address, text, sizeof(text));
    fprintf(out, "%s lastuse=%" PRIu64 " lastmod=%" PRIu64, text, dest->lastuse_ns,
            dest->lastmod_ns);
    for (uint32_t i = 0; i < dest->servers; i++) {
        fputc(' ', out);
        print_server(lines->svc, out, servers[i]);
    }
    fclose(out);
    if (lines->count == lines->room) {
        lines->room = lines->room * 2 + 64;
        lines->line = need(realloc(lines->line, lines->room * sizeof(*lines->line)));
    }
    lines->line[lines->count++] = need(line);
}

static int by_text(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static void print_destinations(struct lines *lines)
{
    if (locus_destinations_visit(lines->svc, collect_dest, lines) != LOCUS_OK) {
        fputs("destinations cannot be visited\n", lines->out);
    }
    if (lines->count > 0) {
        qsort(lines->line, lines->count, sizeof(*lines->line), by_text);
    }
    for (size_t i = 0; i < lines->count; i++) {
        fprintf(lines->out, "%s\n", lines->line[i]);
        free(lines->line[i]);
    }
    free(lines->line);
}

char *snapshot(const struct locus_service *svc, enum locus_family family)
{
    char *text = NULL;
    size_t length = 0;
    struct lines lines = {.svc = svc, .family = family};
    lines.out = need(open_memstream(&text, &length));
    uint32_t flags = 0;
    const char *scheduler = locus_service_scheduler(svc, &flags);
    fprintf(lines.out, "%s %" PRIu32 "\n", scheduler, flags);
    print_stats(&lines);
    for (uint32_t s = locus_server_next(svc, LOCUS_NO_SERVER); s != LOCUS_NO_SERVER;
         s = locus_server_next(svc, s)) {
        print_info(&lines, s);
    }
    for (uint32_t s = locus_trash_next(svc, LOCUS_NO_SERVER); s != LOCUS_NO_SERVER;
         s = locus_trash_next(svc, s)) {
        print_info(&lines, s);
    }
    locus_scheduler_describe(svc, print_value, &lines);
    print_destinations(&lines);
    fclose(lines.out);
    return need(text);
}
