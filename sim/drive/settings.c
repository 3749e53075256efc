/* SPDX-License-Identifier: MIT */
/*
 * The service and what is set about it: set and sched.
 */
#include <string.h>

#include "../base/errors.h"
#include "drive.h"
#include "state.h"

struct setting {
    const char *name;
    bool before_sched;
    int (*set)(struct drive *drive); /* words[2] is the value; an exit code */
};

static int set_hz(struct drive *drive)
{
    uint64_t hz;

    if (!script_number(&drive->script, 2, "hz", DRIVE_HZ_MAX, &hz)) {
        return EXIT_USAGE;
    }
    if (hz == 0) {
        return script_expected(&drive->script, 2, "hz", "1 or more");
    }
    jiffy_clock_set_hz(&drive->clock, hz);
    return EXIT_OK;
}

static int set_jiffies0(struct drive *drive)
{
    bool ok =
        script_number(&drive->script, 2, "jiffies0", UINT64_MAX, &drive->clock.first);

    return ok ? EXIT_OK : EXIT_USAGE;
}

static int set_proto(struct drive *drive)
{
    static const char *const names[] = {"tcp", "udp", "manual", NULL};
    int chosen;

    if (!script_choice(&drive->script, 2, "proto", names, &chosen)) {
        return EXIT_USAGE;
    }
    drive->proto = (enum proto)chosen;
    return EXIT_OK;
}

static int set_forward(struct drive *drive)
{
    static const char *const names[] = {"masq", "dr", "tun", NULL};
    int chosen;

    if (!script_choice(&drive->script, 2, "fwd", names, &chosen)) {
        return EXIT_USAGE;
    }
    drive->forward = (enum forward)chosen;
    return EXIT_OK;
}

static int set_seed(struct drive *drive)
{
    if (!script_number(&drive->script, 2, "seed", UINT64_MAX, &drive->seed)) {
        return EXIT_USAGE;
    }
    if (drive->service != NULL) {
        locus_service_set_seed(drive->service, drive->seed);
    }
    return EXIT_OK;
}

static int set_switch(struct drive *drive, bool *out)
{
    uint64_t value;

    if (!script_number(&drive->script, 2, drive->script.words[1], 1, &value)) {
        return EXIT_USAGE;
    }
    *out = value == 1;
    return EXIT_OK;
}

static int set_wheel(struct drive *drive)
{
    int status = set_switch(drive, &drive->wheel);

    if (status == EXIT_OK && drive->service != NULL) {
        locus_service_set_timer_wheel(drive->service, drive->wheel);
    }
    return status;
}

static int set_echo(struct drive *drive)
{
    return set_switch(drive, &drive->echo);
}

/* Tells the service the expiration of the scheduler that it has. */
static void apply_expiration(struct drive *drive)
{
    const char *scheduler = locus_service_scheduler(drive->service, NULL);

    for (size_t i = 0; i < EXPIRATIONS; i++) {
        const struct expiration *e = &drive->expirations[i];
        if (strcmp(e->scheduler, scheduler) == 0) {
            /* |value| <= INT32_MAX: in seconds by DRIVE_HZ_MAX and the range below. */
            int64_t factor = e->in_jiffies ? 1 : (int64_t)drive->clock.hz;
            locus_service_set_expiration(drive->service, e->value * factor);
        }
    }
}

static int set_expiration(struct drive *drive, bool in_jiffies)
{
    const char *key = drive->script.words[1];
    int64_t limit = in_jiffies ? INT32_MAX : INT32_MAX / (int64_t)drive->clock.hz;
    int64_t value;

    if (!script_integer(&drive->script, 2, key, &value)) {
        return EXIT_USAGE;
    }
    if (value > limit || value < -limit - in_jiffies) {
        return drive_refusal(drive, key, LOCUS_EINVAL);
    }
    for (size_t i = 0; i < EXPIRATIONS; i++) {
        struct expiration *e = &drive->expirations[i];
        size_t length = strlen(e->scheduler);
        if (strncmp(key, e->scheduler, length) == 0 && key[length] == '_') {
            e->value = value;
            e->in_jiffies = in_jiffies;
        }
    }
    if (drive->service != NULL) {
        apply_expiration(drive);
    }
    return EXIT_OK;
}

static int set_expiration_seconds(struct drive *drive)
{
    return set_expiration(drive, false);
}

static int set_expiration_jiffies(struct drive *drive)
{
    return set_expiration(drive, true);
}

static const struct setting settings[] = {
    {"hz", true, set_hz},
    {"jiffies0", true, set_jiffies0},
    {"proto", true, set_proto},
    {"fwd", false, set_forward},
    {"lblc_expiration", false, set_expiration_seconds},
    {"lblcr_expiration", false, set_expiration_seconds},
    {"lblc_expiration_jiffies", false, set_expiration_jiffies},
    {"lblcr_expiration_jiffies", false, set_expiration_jiffies},
    {"seed", false, set_seed},
    {"wheel", false, set_wheel},
    {"echo", false, set_echo},
    {NULL, false, NULL},
};

int event_set(struct drive *drive)
{
    const char *key = drive->script.words[1];
    const struct setting *setting = settings;

    while (setting->name != NULL && strcmp(setting->name, key) != 0) {
        setting++;
    }
    if (setting->name == NULL) {
        return script_expected(&drive->script, 1, "KEY",
                               "one of hz jiffies0 proto fwd lblc_expiration"
                               " lblcr_expiration lblc_expiration_jiffies"
                               " lblcr_expiration_jiffies seed wheel echo");
    }
    if (setting->before_sched && drive->service != NULL) {
        return script_fail(&drive->script, "%s: expected before the first sched", key);
    }
    return setting->set(drive);
}

/* The rules with jiffies for nanoseconds. */
static struct locus_rules rules_in_jiffies(const struct drive *drive)
{
    struct locus_rules rules = drive->rules;
    uint64_t *const durations[] = {
        &rules.gc_interval_ns, &rules.gc_stale_ns,   &rules.set_decay_ns,
        &rules.trash_ns,       &rules.trash_idle_ns,
    };

    for (size_t i = 0; i < sizeof(durations) / sizeof(durations[0]); i++) {
        *durations[i] = jiffies_from_ns(drive->clock.hz, *durations[i]);
    }
    rules.timer_wheel = drive->wheel;
    return rules;
}

static int create_service(struct drive *drive, const char *scheduler, uint32_t flags)
{
    const struct locus_rules rules = rules_in_jiffies(drive);
    const struct locus_service_config config = {
        .scheduler = scheduler,
        .scheduler_flags = flags,
        .family = LOCUS_IPV4,
        .rules = &rules,
        .seed = drive->seed,
        .now_ns = jiffy_clock_core(&drive->clock),
        .tick_ns = 1,
    };

    return locus_service_create(&config, &drive->service);
}

int event_sched(struct drive *drive)
{
    static const char *const names[] = {"fallback", "port", NULL};
    static const uint32_t bits[] = {LOCUS_FLAG_FALLBACK, LOCUS_FLAG_PORT};
    const struct script *script = &drive->script;
    const char *scheduler = script->words[1];
    uint32_t flags = 0;
    int status, chosen;

    for (size_t i = 2; i < script->count; i++) {
        if (!script_choice(script, i, "flag", names, &chosen)) {
            return EXIT_USAGE;
        }
        if (flags & bits[chosen]) {
            return script_fail(script, "flag: expected %s once", names[chosen]);
        }
        flags |= bits[chosen];
    }
    if (drive->service == NULL) {
        status = create_service(drive, scheduler, flags);
    } else {
        status = locus_service_set_scheduler(drive->service, scheduler, flags,
                                             jiffy_clock_core(&drive->clock));
    }
    if (status == LOCUS_OK) {
        apply_expiration(drive);
    }
    return drive_refusal(drive, scheduler, status);
}
