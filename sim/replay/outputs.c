/* SPDX-License-Identifier: MIT */
/* The outputs: which files were asked for, whether they can be written, and what goes there. */
#include "replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../base/output.h"
#include "../engine/map_file.h"

enum { DEFAULT_WIDTH = 80 };

static int terminal_width(uint64_t wanted)
{
    struct winsize size;

    if (wanted != 0) {
        return (int)wanted;
    }
    if (isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
        size.ws_col >= 40) {
        return size.ws_col;
    }
    return DEFAULT_WIDTH;
}

static int write_timeline(const struct replay *replay, FILE *out)
{
    report_timeline(out, &replay->report);
    return EXIT_OK;
}

static int write_metrics(const struct replay *replay, FILE *out)
{
    report_metrics(out, &replay->report, replay->args.per_server);
    return EXIT_OK;
}

static int write_html(const struct replay *replay, FILE *out)
{
    return report_html(out, &replay->report) ? EXIT_OK : memory_error("replay");
}

static int write_svg(const struct replay *replay, FILE *out)
{
    report_svg(out, &replay->report);
    return EXIT_OK;
}

static int write_decisions(const struct replay *replay, FILE *out)
{
    bool ok = true;

    decisions_header(out);
    for (size_t i = 0; ok && i < replay->policy_count; i++) {
        ok = decisions_write(&replay->decisions[i], out, replay->policies[i].text,
                             &replay->setup.servers, &replay->session.source);
    }
    return ok ? EXIT_OK : EXIT_RUNTIME;
}

/* The files, in the order in which they are written. */
static const struct output {
    size_t path; /* offset of its option in struct replay_args */
    int (*write)(const struct replay *replay, FILE *out); /* NULL: map_file_save() */
} outputs[] = {
    {offsetof(struct replay_args, timeline), write_timeline},
    {offsetof(struct replay_args, metrics), write_metrics},
    {offsetof(struct replay_args, html), write_html},
    {offsetof(struct replay_args, svg), write_svg},
    {offsetof(struct replay_args, decisions), write_decisions},
    {offsetof(struct replay_args, save), NULL},
};
enum { OUTPUTS = sizeof(outputs) / sizeof(*outputs) };

/* NULL: it was not asked for. */
static const char *output_path(const struct replay *replay, size_t i)
{
    return *(const char *const *)((const char *)&replay->args + outputs[i].path);
}

static int write_main(const struct replay *replay)
{
    const struct replay_args *args = &replay->args;
    struct table_options table = {
        .width = (size_t)terminal_width(args->width),
        .per_server = args->per_server,
    };

    if (replay->stdout_taken) {
        return EXIT_OK;
    }
    if (args->csv) {
        report_csv(stdout, &replay->report);
    } else if (!args->json) {
        report_table(stdout, &replay->report, &table);
    } else if (!report_json(stdout, &replay->report) && !ferror(stdout)) {
        return memory_error("replay");
    }
    return EXIT_OK;
}

static void print_timing(const struct replay *replay)
{
    for (size_t i = 0; i < replay->policy_count; i++) {
        fprintf(stderr, "%-10s %7.1f ns CPU per connection, opened and closed\n",
                replay->policies[i].text,
                (double)replay->members[i].cpu_ns / (double)replay->counts.arrivals);
    }
}

/* Every output has a place of its own that can be written. A file on stdout takes the
 * table's place. */
int replay_check_outputs(struct replay *replay)
{
    const struct replay_args *args = &replay->args;

    for (size_t i = 0; i < OUTPUTS; i++) {
        const char *path = output_path(replay, i);
        if (path == NULL) {
            continue;
        }
        for (size_t k = 0; k < i; k++) {
            const char *other = output_path(replay, k);
            /* Twice the same device, as /dev/null, loses nothing. */
            if (other != NULL && strcmp(other, path) == 0 &&
                strncmp(path, "/dev/", 5) != 0) {
                return usage_error("replay", "'%s' is there for two outputs", path);
            }
        }
        if (strcmp(path, "-") == 0) {
            replay->stdout_taken = true;
        }
        if (!output_apart("replay", path, replay->paths, replay->path_count)) {
            return EXIT_USAGE;
        }
        if (!output_check("replay", path)) {
            return EXIT_RUNTIME;
        }
    }
    if (replay->stdout_taken && (args->json || args->csv)) {
        return usage_error("replay", "two outputs for stdout: %s and a FILE of '-'",
                           args->json ? "--json" : "--csv");
    }
    return EXIT_OK;
}

static int write_output(const struct replay *replay, size_t i)
{
    const char *path = output_path(replay, i);

    if (path == NULL) {
        return EXIT_OK;
    }
    if (outputs[i].write == NULL) {
        return map_file_save("replay", path, replay->members[0].engine);
    }
    FILE *out = output_open("replay", path);
    if (out == NULL) {
        return EXIT_RUNTIME;
    }
    int status = outputs[i].write(replay, out);
    return output_close("replay", path, out) ? status : EXIT_RUNTIME;
}

int replay_write(struct replay *replay)
{
    int status = write_main(replay);

    for (size_t i = 0; status == EXIT_OK && i < OUTPUTS; i++) {
        status = write_output(replay, i);
    }
    if (replay->args.timing) {
        print_timing(replay);
    }
    if (status == EXIT_OK && replay->interrupted) {
        fprintf(stderr,
                "locus replay: interrupted: the first %" PRIu64 " connections\n",
                replay->counts.arrivals);
        return EXIT_RUNTIME;
    }
    return status;
}
