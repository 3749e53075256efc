/* SPDX-License-Identifier: MIT */
/*
 * dump and stat: what the core tells of itself, as lines.
 *
 *     rr last=3
 *     sh size=256 3*1 2*1 1*254            buckets, as server*run
 *     lblcr jiffies=2500 entries=1 linked=1 max_size=16384 rover=0 counter=1
 *      10.0.0.1 lastuse=2500 lastmod=0 size=2 set=1,2!
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../base/errors.h"
#include "state.h"

/* Destinations hash into as many chains in the kernel. */
enum { CHAIN_BITS = 10 };

static void print_server(const struct drive *drive, uint32_t server)
{
    struct locus_server_info info;

    if (locus_server_get(drive->service, server, &info) != LOCUS_OK) {
        fputc('-', drive->out);
        return;
    }
    fprintf(drive->out, "%" PRIu64 "%s", info.tag, info.in_service ? "" : "!");
}

/* Buckets, as they come from the core. */
struct buckets {
    const struct drive *drive;
    size_t count;
    uint32_t server; /* of the run */
    size_t run;
};

static bool is_bucket(const char *name)
{
    return strcmp(name, "bucket") == 0;
}

static void count_bucket(void *arg, const char *name, enum locus_value_kind kind,
                         uint64_t value)
{
    struct buckets *buckets = arg;

    (void)kind;
    (void)value;
    buckets->count += is_bucket(name);
}

static void print_run(struct buckets *buckets)
{
    if (buckets->run > 0) {
        fputc(' ', buckets->drive->out);
        print_server(buckets->drive, buckets->server);
        fprintf(buckets->drive->out, "*%zu", buckets->run);
    }
    buckets->run = 0;
}

static void print_value(void *arg, const char *name, enum locus_value_kind kind,
                        uint64_t value)
{
    struct buckets *buckets = arg;
    const struct drive *drive = buckets->drive;

    if (is_bucket(name)) {
        if (buckets->server != value) {
            print_run(buckets);
        }
        buckets->server = (uint32_t)value;
        buckets->run++;
        return;
    }
    fprintf(drive->out, " %s=", name);
    if (kind == LOCUS_VALUE_NUMBER) {
        fprintf(drive->out, "%" PRIu64, value);
    } else if (value == LOCUS_NO_SERVER) {
        fputs("head", drive->out);
    } else {
        print_server(drive, (uint32_t)value);
    }
}

static void count_value(void *arg, const char *name, enum locus_value_kind kind,
                        uint64_t value)
{
    (void)name;
    (void)kind;
    (void)value;
    ++*(size_t *)arg;
}

static void print_header(const struct drive *drive, const char *scheduler, bool has_map)
{
    struct buckets buckets = {.drive = drive, .server = LOCUS_NO_SERVER};
    size_t values = 0;

    fputs(scheduler, drive->out);
    locus_scheduler_describe(drive->service, count_value, &values);
    if (values == 0) {
        fputs(" stateless", drive->out);
    }
    if (has_map) {
        fprintf(drive->out, " jiffies=%" PRIu64,
                jiffy_clock_print(&drive->clock, jiffy_clock_core(&drive->clock)));
    }
    locus_scheduler_describe(drive->service, count_bucket, &buckets);
    if (buckets.count > 0) {
        fprintf(drive->out, " size=%zu", buckets.count);
    }
    locus_scheduler_describe(drive->service, print_value, &buckets);
    print_run(&buckets);
    fputc('\n', drive->out);
}

/* One line of the table to come. Sorted by bucket, then newest first, then address; bucket
 * and turn are 0 unless raw. */
struct row {
    uint32_t key;
    uint32_t bucket;
    uint64_t turn;
};

struct rows {
    const struct drive *drive;
    struct row *items;
    size_t count, capacity;
    size_t widest; /* servers of the largest set */
    bool raw;
};

static void collect_row(void *arg, const struct locus_destination *destination,
                        const uint32_t *servers)
{
    struct rows *rows = arg;
    struct row row = {.key = destination->key.ipv4};
    struct chained *chained;

    (void)servers;
    if (rows->count == rows->capacity) {
        return;
    }
    if (rows->raw) {
        row.bucket = (row.key * 0x61c88647u) >> (32 - CHAIN_BITS);
        HASH_FIND(hh, rows->drive->chain, &row.key, sizeof(row.key), chained);
        row.turn = chained != NULL ? chained->turn : 0;
    }
    if (destination->servers > rows->widest) {
        rows->widest = destination->servers;
    }
    rows->items[rows->count++] = row;
}

static int compare_rows(const void *left, const void *right)
{
    const struct row *a = left, *b = right;

    if (a->bucket != b->bucket) {
        return a->bucket < b->bucket ? -1 : 1;
    }
    if (a->turn != b->turn) {
        return a->turn > b->turn ? -1 : 1;
    }
    return (a->key > b->key) - (a->key < b->key);
}

static void print_row(const struct rows *rows, const struct row *row, uint32_t *servers,
                      bool has_sets)
{
    const struct drive *drive = rows->drive;
    const struct locus_address address = {.family = LOCUS_IPV4, .key.ipv4 = row->key};
    char text[LOCUS_ADDRESS_TEXT];
    struct locus_destination d;

    if (!locus_destination_get(drive->service, &address.key, &d, servers,
                               rows->widest)) {
        return;
    }
    locus_address_format(&address, text, sizeof(text));
    fprintf(drive->out, " %s lastuse=%" PRIu64, text,
            jiffy_clock_print(&drive->clock, d.lastuse_ns));
    if (has_sets) {
        fprintf(drive->out, " lastmod=%" PRIu64 " size=%" PRIu32 " set=",
                jiffy_clock_print(&drive->clock, d.lastmod_ns), d.servers);
    } else {
        fputs(" server=", drive->out);
    }
    for (uint32_t i = 0; i < d.servers; i++) {
        if (i > 0) {
            fputc(',', drive->out);
        }
        print_server(drive, servers[i]);
    }
    if (rows->raw) {
        fprintf(drive->out, " bucket=%" PRIu32, row->bucket);
    }
    fputc('\n', drive->out);
}

static int print_rows(struct drive *drive, bool has_sets, bool raw)
{
    struct locus_service_stats stats;
    struct rows rows = {.drive = drive, .raw = raw};
    uint32_t *servers = NULL;
    int status = LOCUS_ENOMEM;

    locus_service_get_stats(drive->service, &stats);
    if (stats.destinations == 0) {
        return EXIT_OK;
    }
    rows.items = calloc(stats.destinations, sizeof(*rows.items));
    if (rows.items == NULL) {
        goto done;
    }
    rows.capacity = stats.destinations;
    status = locus_destinations_visit(drive->service, collect_row, &rows);
    if (status != LOCUS_OK) {
        goto done;
    }
    qsort(rows.items, rows.count, sizeof(*rows.items), compare_rows);
    servers = calloc(rows.widest + 1, sizeof(*servers));
    if (servers == NULL) {
        status = LOCUS_ENOMEM;
        goto done;
    }
    for (size_t i = 0; i < rows.count; i++) {
        print_row(&rows, &rows.items[i], servers, has_sets);
    }
done:
    free(servers);
    free(rows.items);
    return status == LOCUS_OK ? EXIT_OK : drive_failure(drive, status);
}

int event_dump(struct drive *drive)
{
    static const char *const orders[] = {"raw", NULL};
    bool raw = drive->script.count > 1;
    int chosen;

    if (raw && !script_choice(&drive->script, 1, "order", orders, &chosen)) {
        return EXIT_USAGE;
    }
    const char *scheduler = locus_service_scheduler(drive->service, NULL);
    bool has_sets = strcmp(scheduler, "lblcr") == 0;
    bool has_map = has_sets || strcmp(scheduler, "lblc") == 0;

    print_header(drive, scheduler, has_map);
    return has_map ? print_rows(drive, has_sets, raw) : EXIT_OK;
}

static void print_stat(const struct drive *drive, const char *prefix, uint32_t server)
{
    struct locus_server_info info;

    if (locus_server_get(drive->service, server, &info) != LOCUS_OK) {
        return;
    }
    uint64_t total = (uint64_t)info.active + info.inactive;
    /* The kernel's references: the server itself, its connections, the destinations and
     * hash buckets that point to it. */
    uint64_t references = 1 + total + info.destinations;

    fputs(prefix, drive->out);
    print_server(drive, server);
    fprintf(drive->out,
            " weight=%" PRIu32 " last_weight=%" PRIu32 " active=%" PRIu32
            " inact=%" PRIu32 " total=%" PRIu64 " persist=0 overload=%d u=%" PRIu32
            " l=%" PRIu32 " refcnt=%" PRIu64 "\n",
            info.weight, info.last_weight, info.active, info.inactive, total,
            info.overloaded, info.upper_threshold, info.lower_threshold, references);
}

int event_stat(struct drive *drive)
{
    const struct locus_service *service = drive->service;
    struct locus_service_stats stats;
    uint32_t server = LOCUS_NO_SERVER;

    locus_service_get_stats(service, &stats);
    fprintf(drive->out, "stat jiffies=%" PRIu64 " dests=%" PRIu32 "\n",
            jiffy_clock_print(&drive->clock, jiffy_clock_core(&drive->clock)),
            stats.servers);
    while ((server = locus_server_next(service, server)) != LOCUS_NO_SERVER) {
        print_stat(drive, " ", server);
    }
    while ((server = locus_trash_next(service, server)) != LOCUS_NO_SERVER) {
        print_stat(drive, " trash ", server);
    }
    return EXIT_OK;
}
