/* SPDX-License-Identifier: MIT */
/*
 * The table of events and the loop that reads a script. A new event is a function and a
 * line of the table.
 *
 * Between two events nothing is pending: after each, whatever the core has due is done.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../base/errors.h"
#include "drive.h"
#include "state.h"

enum { DEFAULT_HZ = 250, DEFAULT_EXPIRATION_S = 86400 };

struct event {
    const char *name;
    const char *usage;
    size_t min_words, max_words; /* the event's name included */
    bool needs_service;
    int (*run)(struct drive *drive); /* an exit code */
};

int drive_failure(const struct drive *drive, int status)
{
    script_fail(&drive->script, "%s", locus_strerror(status));
    return EXIT_RUNTIME;
}

/* A refusal is an answer of the service, as a kernel gives it; the script goes on. Anything
 * else ends it. */
int drive_refusal(const struct drive *drive, const char *what, int status)
{
    const char *name;

    switch (status) {
    case LOCUS_OK:
        return EXIT_OK;
    case LOCUS_EEXIST:
        name = "EEXIST";
        break;
    case LOCUS_ENOENT:
        name = "ENOENT";
        break;
    case LOCUS_ERANGE:
        name = "ERANGE";
        break;
    case LOCUS_EINVAL:
        name = "EINVAL";
        break;
    default:
        return drive_failure(drive, status);
    }
    fprintf(drive->out, "err %s %s %s\n", drive->script.words[0], what, name);
    return EXIT_OK;
}

/* Fires what is due up to now, each at its own jiffy. */
static void settle(struct drive *drive)
{
    uint64_t now = jiffy_clock_core(&drive->clock);
    uint64_t due;

    if (drive->service == NULL) {
        return;
    }
    while ((due = locus_tick_due(drive->service)) <= now) {
        locus_tick(drive->service, due, SIZE_MAX);
    }
}

static int advance_to(struct drive *drive, struct jiffy_time target)
{
    const uint64_t limit_s = drive->clock_limit_s;

    if (jiffy_time_compare(target, jiffy_time_of(drive->clock.hz, limit_s, 0)) > 0) {
        return script_fail(&drive->script,
                           "expected the clock to stay within %" PRIu64 " seconds",
                           limit_s);
    }
    drive->clock.elapsed = target;
    return EXIT_OK;
}

/* Seconds beyond the limit come as just beyond it, so that sums stay small. */
static bool read_time(const struct drive *drive, struct jiffy_time *out)
{
    uint64_t seconds;
    uint32_t nanoseconds;

    if (!script_seconds(&drive->script, 1, &seconds, &nanoseconds)) {
        return false;
    }
    if (seconds > drive->clock_limit_s) {
        seconds = drive->clock_limit_s + 1;
    }
    *out = jiffy_time_of(drive->clock.hz, seconds, nanoseconds);
    return true;
}

static int event_time(struct drive *drive)
{
    struct jiffy_time step;

    if (!read_time(drive, &step)) {
        return EXIT_USAGE;
    }
    return advance_to(drive, jiffy_time_sum(drive->clock.elapsed, step));
}

static int event_at(struct drive *drive)
{
    struct jiffy_time target;

    if (!read_time(drive, &target)) {
        return EXIT_USAGE;
    }
    if (jiffy_time_compare(target, drive->clock.elapsed) < 0) {
        return script_expected(&drive->script, 1, "S",
                               "a moment that the clock has not passed yet");
    }
    return advance_to(drive, target);
}

static int event_jiffies(struct drive *drive)
{
    const uint64_t limit = drive->clock.hz * drive->clock_limit_s;
    uint64_t jiffies;

    if (!script_number(&drive->script, 1, "N", UINT64_MAX, &jiffies)) {
        return EXIT_USAGE;
    }
    if (jiffies > limit) {
        jiffies = limit + 1;
    }
    return advance_to(drive,
                      (struct jiffy_time){drive->clock.elapsed.jiffies + jiffies, 0});
}

static int event_print(struct drive *drive)
{
    fputc('#', drive->out);
    for (size_t i = 1; i < drive->script.count; i++) {
        fprintf(drive->out, " %s", drive->script.words[i]);
    }
    fputc('\n', drive->out);
    return EXIT_OK;
}

static const struct event events[] = {
    {"set", "set KEY VALUE", 3, 3, false, event_set},
    {"sched", "sched NAME [fallback] [port]", 2, 4, false, event_sched},
    {"server", "server ID W [U L] [ADDR:PORT]", 3, 6, true, event_server},
    {"weight", "weight ID W", 3, 3, true, event_weight},
    {"edit", "edit ID W U L", 5, 5, true, event_edit},
    {"del", "del ID", 2, 2, true, event_del},
    {"time", "time S[.frac]", 2, 2, false, event_time},
    {"at", "at S[.frac]", 2, 2, false, event_at},
    {"jiffies", "jiffies N", 2, 2, false, event_jiffies},
    {"conn", "conn CID DST [SRC [SPORT]]", 3, 5, true, event_conn},
    {"est", "est CID", 2, 2, false, event_est},
    {"fin", "fin CID", 2, 2, false, event_fin},
    {"pkt", "pkt CID in|out syn|ack|fin|rst", 4, 4, false, event_pkt},
    {"close", "close CID", 2, 2, false, event_close},
    {"dump", "dump [raw]", 1, 2, true, event_dump},
    {"stat", "stat", 1, 1, true, event_stat},
    {"print", "print WORDS", 2, SCRIPT_WORDS, false, event_print},
    {NULL, NULL, 0, 0, false, NULL},
};

static int run_event(struct drive *drive)
{
    const struct script *script = &drive->script;
    const struct event *event = events;

    while (event->name != NULL && strcmp(event->name, script->words[0]) != 0) {
        event++;
    }
    if (event->name == NULL) {
        return script_fail(script,
                           "expected an event: set sched server weight edit del time"
                           " at jiffies conn est fin pkt close dump stat print");
    }
    if (script->count < event->min_words || script->count > event->max_words) {
        return script_fail(script, "expected '%s'", event->usage);
    }
    if (event->needs_service && drive->service == NULL) {
        return script_fail(script, "expected 'sched NAME' before it");
    }
    if (drive->echo) {
        fprintf(drive->out, "> %s\n", script->raw);
    }
    int code = event->run(drive);
    settle(drive);
    return code;
}

static void forget_all(struct drive *drive)
{
    struct server_id *id, *next_id;
    struct connection *connection, *next_connection;
    struct chained *chained, *next_chained;

    HASH_ITER(hh, drive->ids, id, next_id) {
        HASH_DEL(drive->ids, id);
        free(id);
    }
    HASH_ITER(hh, drive->connections, connection, next_connection) {
        HASH_DEL(drive->connections, connection);
        free(connection);
    }
    HASH_ITER(hh, drive->chain, chained, next_chained) {
        HASH_DEL(drive->chain, chained);
        free(chained);
    }
    locus_service_destroy(drive->service);
}

int drive_run(FILE *in, const char *name, FILE *out, FILE *err,
              const struct locus_rules *rules, uint64_t clock_limit_s)
{
    struct drive *drive = calloc(1, sizeof(*drive));
    int code = EXIT_OK;

    if (drive == NULL) {
        fprintf(err, "locus drive: %s\n", locus_strerror(LOCUS_ENOMEM));
        return EXIT_RUNTIME;
    }
    drive->script.in = in;
    drive->script.name = name;
    drive->script.out = out;
    drive->script.err = err;
    drive->out = out;
    drive->rules = *rules;
    drive->clock.hz = DEFAULT_HZ;
    drive->clock_limit_s = clock_limit_s;
    drive->expirations[0] = (struct expiration){"lblc", DEFAULT_EXPIRATION_S, false};
    drive->expirations[1] = (struct expiration){"lblcr", DEFAULT_EXPIRATION_S, false};
    while (code == EXIT_OK && script_next(&drive->script, &code)) {
        code = run_event(drive);
    }
    forget_all(drive);
    free(drive);
    return code;
}
